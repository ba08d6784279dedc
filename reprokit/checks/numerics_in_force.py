"""Row ``numerics_in_force``: the profile that was asked for is what the libraries report.

It knows the table of profiles and what the record says of each setting; it refuses to believe a
variable that only looks set. A record of another version of a profile is judged by what the runtime
held against its own table.

    >>> check(evidence).reason
    'profile portable (version 1) is in force: 12 settings, 6 reports of the libraries'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from reprokit.core import numerics
from reprokit.core.evidence import Evidence, RunEvidence, fact, is_integer, problems_of_runs
from reprokit.core.numerics import Profile, Setting
from reprokit.core.rows import Finding, failed, passed, unjudged
from reprokit.layout import RECORD, RUNTIME

ID = "numerics_in_force"
TITLE = "The numerics profile is in force"
ORDER = 80
ADVISORY = False
NEEDS_RECIPE = True

_SWITCHED_OFF = "numpy.cpu_features.in_force"


def check(evidence: Evidence) -> Finding:
    """Recipe, host, runtime and libraries agree on one profile, in every run."""
    name = (evidence.recipe or {}).get("numerics")
    profile = next((known for known in numerics.PROFILES if known.name == name), None)
    if profile is None:
        known = " or ".join(profile.name for profile in numerics.PROFILES)
        return unjudged(
            f"the recipe asks for the profile {name!r}", f"declare in recipe.yaml: `numerics: {known}`"
        )
    problems = problems_of_runs(evidence, lambda run: _problem(run, profile))
    if problems:
        remedy = "run it by `reprokit reproduce`, which sets the profile before the interpreter starts"
        return failed(problems[0], remedy, all=list(problems))
    held = evidence.runs[0].runtime["numerics"]
    confirmed = f"{len(held['requested'])} settings, {len(held['in_force'])} reports of the libraries"
    return passed(
        f"profile {name} (version {held['version']}) is in force: {confirmed}",
        profile=name,
        requested=dict(held["requested"]),
        in_force=dict(held["in_force"]),
    )


def _problem(run: RunEvidence, profile: Profile) -> str:
    held = fact(run.runtime, "numerics")
    for place, name in (
        (RECORD, run.run.get("numerics")),
        (RUNTIME, fact(held, "profile")),
        ("the environment record", fact(run.environment, "inside.numerics.profile")),
    ):
        if name != profile.name:
            return f"{place} has the profile {name!r}, the recipe {profile.name}"
    requested, in_force, lacking = (fact(held, key) for key in ("requested", "in_force", "missing"))
    recorded = isinstance(lacking, list) and _is_filled(requested) and _is_filled(in_force)
    if not recorded or not is_integer(fact(held, "version")):
        return "runtime.json does not say what was held against the profile"
    if lacking:
        return f"not in force: {', '.join(str(fact(lack, 'name')) for lack in lacking)}"
    unset = [name for name in requested if fact(run.run, f"environment.{name}") != requested[name]]
    if unset:
        return f"run.json does not set: {', '.join(unset)}"
    return _by_the_table(run, profile, requested) if fact(held, "version") == profile.version else ""


def _by_the_table(run: RunEvidence, profile: Profile, requested: Mapping[str, Any]) -> str:
    """The same once more, from the table of this version and the environment record alone."""
    table = {s.name: s.value for s in profile.settings}
    other = sorted(name for name in {*table, *requested} if requested.get(name) != table.get(name))
    if other:
        return f"the profile sets them otherwise: {', '.join(other)}"
    idle = [
        s.name
        for s in _reported(profile)
        if not _is_in_force(s, fact(run.environment, f"inside.{s.reported_as}"))
    ]
    return f"the libraries report otherwise: {', '.join(idle)}" if idle else ""


def _reported(profile: Profile) -> Iterable[Setting]:
    return (setting for setting in profile.settings if setting.reported_as)


def _is_in_force(setting: Setting, told: Any) -> bool:
    if setting.reported_as == _SWITCHED_OFF:
        return isinstance(told, list) and not set(setting.in_force) & set(told)
    return told is not None and str(told) in setting.in_force


def _is_filled(value: object) -> bool:
    return isinstance(value, Mapping) and bool(value) and None not in value.values()
