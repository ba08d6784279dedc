"""Row ``numerics_in_force``: the profile that was asked for is what the libraries report.

A record of another version of a profile is judged by what the runtime compared with its own table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reprokit.core import numerics
from reprokit.core.evidence import Evidence, RunEvidence, fact, is_integer
from reprokit.core.numerics import Profile, Setting
from reprokit.core.rows import Finding, failed_runs, passed, unjudged
from reprokit.layout import RECORD, RUNTIME

ID = "numerics_in_force"
TITLE = "The numerics profile is in force"
ORDER = 80
ADVISORY = False
NEEDS_RECIPE = True

_RUN = "run it by `reprokit reproduce`, which sets the profile before the interpreter starts"
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
    if broken := failed_runs(evidence, lambda run: _problem(run, profile), _RUN):
        return broken
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
        return "runtime.json does not say what was compared with the profile"
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
        return f"the profile sets other values: {', '.join(other)}"
    idle = [
        s.name
        for s in profile.settings
        if s.reported_as and not _is_in_force(s, fact(run.environment, f"inside.{s.reported_as}"))
    ]
    return f"the libraries report other values: {', '.join(idle)}" if idle else ""


def _is_in_force(setting: Setting, reported: Any) -> bool:
    if setting.reported_as == _SWITCHED_OFF:
        return isinstance(reported, list) and not set(setting.in_force) & set(reported)
    return reported is not None and str(reported) in setting.in_force


def _is_filled(value: object) -> bool:
    return isinstance(value, Mapping) and bool(value) and None not in value.values()
