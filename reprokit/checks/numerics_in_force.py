"""Row ``numerics_in_force``: the profile that was asked for is what the libraries report.

A record of another version of a profile is judged by what the runtime compared with its own table.
Of an unmodified program with ``instrument: light`` the watch read what was in force when each process ended.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from reprokit.core import numerics
from reprokit.core.environments.cpu_features import VARIABLE, is_avx512, names_to_switch_off
from reprokit.core.evidence import Evidence, RunEvidence, fact, is_integer
from reprokit.core.numerics import Profile, Setting
from reprokit.core.sampling import seed_following
from reprokit.core.verdicts.rows import (
    Finding,
    failed,
    failed_runs,
    not_applicable,
    passed,
    skipped,
    unjudged,
)
from reprokit.layout import RECORD, RUNTIME

ID = "numerics_in_force"
TITLE = "The numerics profile is in force"
ORDER = 80
ADVISORY = False
NEEDS_RECIPE = True

_RUN = "run it with `reprokit reproduce`, which sets the profile before the interpreter starts"
_WATCH = "start it with Python, and let it end by itself: the watch writes its record when the program ends"
_LOCK = "lock a numpy whose features can be switched off, or declare `numerics: native`"
_UNSEEN = "the program is unmodified, and nothing looked inside it"
_WATCH_IT = "declare `instrument: light`, which watches it from outside: `reprokit help watch-a-program`"
_ALIKE = "have the program set them from its settings alone, not from what it finds"
#: What is said of a program that nothing pins, and what is compared between its runs besides.
_TOLD = ("torch.threads", "torch.interop_threads", "numpy.openblas.threads")
_SWITCHES = ("torch.cpu_capability", "torch.mkl_cbwr", "numpy.openblas.core", "numpy.cpu_features.in_force")
#: A setting that changes no number, and that no library reports.
_NO_NUMBER = frozenset({"PYTHONDONTWRITEBYTECODE"})
_SWITCHED_OFF = "numpy.cpu_features.in_force"
_MOST_NAMED = 3


def check(evidence: Evidence) -> Finding:
    """Recipe, host, runtime and libraries agree on one profile, in every run."""
    if (evidence.recipe or {}).get("instrument"):
        return _of_watched(evidence)
    if "command" in (evidence.recipe or {}):
        return failed_runs(evidence, _left_in_force, _LOCK) or _of_environment(evidence)
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


def _of_watched(evidence: Evidence) -> Finding:
    """What was in force at the end of every process of an unmodified program, compared with the profile."""
    recipe, runs = evidence.recipe or {}, evidence.runs
    if not runs or not all(fact(run.instrument, "processes.0.in_force") for run in runs):
        return skipped("the program left no record of what was in force", _WATCH)
    shown = [_shown(run) for run in runs]
    for run, one in zip(runs[1:], shown[1:], strict=True):
        if one != shown[0]:
            names = sorted(name for name in {*one, *shown[0]} if one.get(name) != shown[0].get(name))
            return failed(
                f"{run.path}: settings different from those in {runs[0].path}: {', '.join(names)}", _ALIKE
            )
    if recipe.get("variant") == "none":
        said = ", ".join(f"{name} {value}" for name, value in shown[0].items() if name in _TOLD)
        reason = f"nothing pins the environment, so no profile was asked for; in force at the end: {said}"
        return not_applicable(reason, "lock an environment: `reprokit image lock`", in_force=shown[0])
    profile = next((known for known in numerics.PROFILES if known.name == recipe.get("numerics")), None)
    if profile is None:
        return unjudged(f"the recipe asks for the profile {recipe.get('numerics')!r}", _RUN)
    problem_of = functools.partial(_problem_of_watched, profile=profile)
    if broken := failed_runs(evidence, problem_of, _RUN):
        return broken
    unseen = list(dict.fromkeys(one for run in runs for one in seed_following.without_record(run.instrument)))
    but = f" that was watched; it is not known of others: {'; '.join(unseen[:_MOST_NAMED])}" if unseen else ""
    return passed(
        f"profile {profile.name} (version {profile.version}) was in force at the end of every process{but}",
        profile=profile.name,
        in_force=shown[0],
    )


def _shown(run: RunEvidence) -> dict[str, Any]:
    """Threads and switches at the end of each process, by name; those of the first without its name."""
    found: dict[str, Any] = {}
    for process, record in sorted((fact(run.instrument, "processes") or {}).items()):
        prefix = "" if process == "0" else f"{process}: "
        for name in (*_TOLD, *_SWITCHES):
            value = fact(record, f"in_force.{name}")
            if value is not None:
                found[f"{prefix}{name}"] = value
        flags = {"": fact(record, "in_force.torch.flags"), "cuda ": fact(record, "in_force.torch.cuda_flags")}
        for kind, values in flags.items():
            for name, value in values.items() if isinstance(values, Mapping) else ():
                found[f"{prefix}{kind}{name}"] = value
    return found


def _problem_of_watched(run: RunEvidence, *, profile: Profile) -> str:
    if run.run.numerics != profile.name:
        return f"run.json has the profile {run.run.numerics!r}, the recipe {profile.name}"
    for process, record in sorted((fact(run.instrument, "processes") or {}).items()):
        at_start = fact(record, "in_force.variables")
        at_start = at_start if isinstance(at_start, Mapping) else {}
        for setting in profile.settings:
            given = run.run.environment.get(setting.name)
            if given != setting.value and not _are_numpys_own_names(setting, given, record, run):
                return f"run.json sets {setting.name} to {given!r}, the profile to {setting.value!r}"
            if setting.name in _NO_NUMBER:
                continue
            if at_start.get(setting.name) != given:
                return f"process {process} was started with {setting.name} {at_start.get(setting.name)!r}"
            library = setting.reported_as.partition(".")[0]
            reported = fact(record, f"in_force.{setting.reported_as}")
            if library and fact(record, f"in_force.{library}") and not _is_in_force(setting, reported):
                return f"process {process} ended with {setting.reported_as} {reported!r}"
    return ""


def _are_numpys_own_names(setting: Setting, given: Any, record: Any, run: RunEvidence) -> bool:
    """Whether a variable has the names that this numpy has for what the profile switches off.

    A process that imports none, one that only starts another, has those of the environment's numpy.
    """
    features = fact(record, "in_force.numpy.cpu_features")
    features = features or fact(run.environment, "inside.numpy.cpu_features")
    return setting.reported_as == _SWITCHED_OFF and given == names_to_switch_off(features)


def _of_environment(evidence: Evidence) -> Finding:
    """What the environment of an unmodified program shows, where numpy has other names than the profile."""
    places = [f"inside.numerics.{key}" for key in ("profile", f"requested.{VARIABLE}")]
    told = [tuple(fact(run.environment, place) for place in places) for run in evidence.runs]
    settings = (setting for known in numerics.PROFILES for setting in known.settings)
    table = {setting.value for setting in settings if setting.name == VARIABLE}
    if not told or any(name is None or given is None or given in table for name, given in told):
        return not_applicable(_UNSEEN, _WATCH_IT)
    reported = [fact(run.environment, f"inside.{_SWITCHED_OFF}") for run in evidence.runs]
    return passed(
        f"before the program started numpy reported nothing of AVX-512 in force, which profile {told[0][0]} "
        "switches off by the names that this numpy has",
        in_force={_SWITCHED_OFF: reported[0]},
    )


def _left_in_force(run: RunEvidence) -> str:
    """What numpy computes with in the environment of an unmodified program, though it is switched off.

    Also in a run that was started with other names than the environment was looked at with.
    """
    looked, given = fact(run.environment, f"inside.numerics.requested.{VARIABLE}"), run.run.environment
    if looked is not None and given.get(VARIABLE, looked) != looked:
        return f"run.json sets {VARIABLE} to {given[VARIABLE]!r}, this numpy's names are {looked!r}"
    lacking = fact(run.environment, "inside.numerics.missing")
    ours = [one for one in lacking if fact(one, "name") == VARIABLE] if isinstance(lacking, list) else []
    return f"{VARIABLE} has no effect in the environment: {fact(ours[0], 'actual')}" if ours else ""


def _problem(run: RunEvidence, profile: Profile) -> str:
    held = fact(run.runtime, "numerics")
    for place, name in (
        (RECORD, run.run.numerics),
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
    unset = [name for name in requested if run.run.environment.get(name) != requested[name]]
    if unset:
        return f"run.json does not set: {', '.join(unset)}"
    by_table = _by_the_table(run, profile, requested) if fact(held, "version") == profile.version else ""
    return by_table or _of_gpu(run, held)


def _of_gpu(run: RunEvidence, held: Any) -> str:
    """On a GPU: every setting of ``core.numerics`` was there at the start, and is what torch reports."""
    if run.run.device != numerics.CUDA:
        return ""
    if fact(held, "cuda.requested") != numerics.cuda_variables():
        return "runtime.json does not say that the settings of GPUs were there at the start"
    unset = [
        name for name, value in numerics.cuda_variables().items() if run.run.environment.get(name) != value
    ]
    if unset:
        return f"run.json does not set: {', '.join(unset)}"
    idle = [
        field
        for field, (wanted, _) in numerics.CUDA_IN_FORCE.items()
        if fact(run.environment, f"inside.{field}") is not wanted
    ]
    return f"torch reports different values: {', '.join(idle)}" if idle else ""


def _by_the_table(run: RunEvidence, profile: Profile, requested: Mapping[str, Any]) -> str:
    """The same once more, from the table of this version and the environment record alone."""
    table = {s.name: s.value for s in profile.settings}
    other = sorted(name for name in {*table, *requested} if requested.get(name) != table.get(name))
    if other:
        return f"the profile sets different values: {', '.join(other)}"
    idle = [
        s.name
        for s in profile.settings
        if s.reported_as and not _is_in_force(s, fact(run.environment, f"inside.{s.reported_as}"))
    ]
    return f"the libraries report different values: {', '.join(idle)}" if idle else ""


def _is_in_force(setting: Setting, reported: Any) -> bool:
    if setting.reported_as == _SWITCHED_OFF:
        return isinstance(reported, list) and not any(is_avx512(str(name)) for name in reported)
    return reported is not None and str(reported) in setting.in_force


def _is_filled(value: object) -> bool:
    return isinstance(value, Mapping) and bool(value) and None not in value.values()
