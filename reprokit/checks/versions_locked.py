"""Row ``versions_locked``: every package that trained came from the hashed lock, and is recorded."""

from __future__ import annotations

import re
from collections.abc import Mapping

from reprokit.core.evidence import Evidence, RunEvidence, fact, problems_of_runs
from reprokit.core.run_record import RunImage
from reprokit.core.verdicts.rows import Finding, counted, failed, not_applicable, passed, unjudged

ID = "versions_locked"
TITLE = "Package versions are recorded and locked"
ORDER = 60
ADVISORY = False
NEEDS_RECIPE = True

_AGAIN = "make the environment again from its lock: `reprokit image build`"
_IN_CONTAINER = "run it in a container, where nothing else can be used: `--backend docker`"
_ELSEWHERE = (
    "add it to the lock (`reprokit image lock`) or to the repository; have the program start "
    "processes with `python` or sys.executable, which is the environment's own"
)
_SHOWN = 3
_PYTHON = re.compile(r"/.*/python[\d.]*")
_SHA256 = re.compile(r"sha256:[0-9a-f]{64}")
# What makes an environment is in it before the lock is; none of it is imported by a training.
_INSTALLERS = frozenset({"pip", "setuptools", "wheel", "uv"})


def check(evidence: Evidence) -> Finding:
    """Every run's packages, against the digest of its lock, and its content where that is at hand."""
    if (evidence.recipe or {}).get("variant") == "none":
        return not_applicable(
            "nothing pins the environment: the recipe's variant is none",
            "`reprokit image lock NAME --dependencies requirements.txt`, and `variant: NAME` in recipe.yaml",
        )
    problems = problems_of_runs(
        evidence,
        lambda run: _problem(run, evidence.locked) or _tampered(run) or _not_locked(run, evidence.locked),
    )
    if not problems and (others := problems_of_runs(evidence, _other_python)):
        return failed(others[0], "write `python` in the recipe's command: it is the environment's own")
    if problems:
        folders = sorted({str(_image(run).reference) for run in evidence.runs if _tampered(run)})
        remade = f"remove {', '.join(folders)} and run again: it is made again from its lock"
        remedy = remade if folders else _AGAIN
        return failed(problems[0], remedy, all=list(problems))
    return _used(evidence) or _all_locked(evidence)


def _used(evidence: Evidence) -> Finding | None:
    """What is to be said where not all that the program used is known to be from the lock."""
    if elsewhere := problems_of_runs(evidence, _from_elsewhere):
        return failed(elsewhere[0], _ELSEWHERE, all=list(elsewhere))
    if unseen := problems_of_runs(evidence, _not_looked_at):
        return unjudged(unseen[0], "run again: the environment's files are looked at before each run")
    unknown = problems_of_runs(evidence, _not_known)
    return unjudged(unknown[0], _IN_CONTAINER) if unknown else None


def _all_locked(evidence: Evidence) -> Finding:
    first = evidence.runs[0]
    count, lock = len(fact(first.environment, "inside.packages")), _image(first).lock_digest
    is_all = evidence.locked is not None and all(map(_was_seen, evidence.runs))
    how = "all from the lock" if is_all else "in an environment made from the lock"
    return passed(f"{counted(count, 'package')} recorded, {how} {lock}", packages=count, lock=lock)


def _problem(run: RunEvidence, locked: Mapping[str, str] | None) -> str:
    lock = _image(run).lock_digest
    if lock is None or not _SHA256.fullmatch(lock):
        return f"run.json has {lock!r} instead of the digest of a lock"
    for place, digest in (
        ("its own digests", run.run.digests.get("lock")),
        ("the environment record", fact(run.environment, "image.lock_digest")),
    ):
        if digest != lock:
            return f"the lock is {digest!r} in {place}, but {lock} in run.json"
    packages = fact(run.environment, "inside.packages")
    if not isinstance(packages, Mapping) or not (packages or locked == {}):  # the lock may have none
        return "no package is recorded"
    unnamed = [str(name) for name, version in packages.items() if not isinstance(version, str) or not version]
    return f"packages without a version: {', '.join(unnamed)}" if unnamed else ""


def _tampered(run: RunEvidence) -> str:
    """What of the environment's files is not as installed from the lock; "" where an image was checked."""
    installed = run.run.installed
    if installed is None:
        return ""
    foreign, more = installed.foreign, installed.num_foreign
    if foreign is None:
        return "run.json does not say what of the environment is not as installed"
    if not foreign:
        return ""
    others = f" and {more - len(foreign)} more" if more is not None and more > len(foreign) else ""
    return f"the environment is not as installed from the lock: {', '.join(foreign)}{others}"


def _other_python(run: RunEvidence) -> str:
    """A Python that a command names by its path, outside the environment on this host that was looked at."""
    first = run.run.command[0] if run.run.command else ""
    if _image(run).kind != "venv" or not _PYTHON.fullmatch(first):
        return ""
    inside = first.startswith(f"{_image(run).reference}/")
    return "" if inside else f"the command names a Python that is not the environment's: {first}"


def _from_elsewhere(run: RunEvidence) -> str:
    """Code that the program or what it started used, of neither its environment nor the repository."""
    outside = run.run.outside_code
    if _image(run).kind != "venv" or outside is None or not outside.files:
        return ""
    files = list(outside.files)
    more = f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
    return f"it used code that is not from the lock: {', '.join(files[:_SHOWN])}{more}"


def _not_known(run: RunEvidence) -> str:
    outside = run.run.outside_code
    if _image(run).kind != "venv" or outside is None or outside.unknown is None:
        return ""
    return f"whether all of its code is from the lock is not known: {outside.unknown}"


def _was_seen(run: RunEvidence) -> bool:
    """Whether someone looked at what the program used: of an image all is pinned; older runs do not say."""
    return _image(run).kind != "venv" or run.run.outside_code is not None


def _not_looked_at(run: RunEvidence) -> str:
    """An image has a digest; of any other environment someone must have looked at the files."""
    if _image(run).kind == "image" or run.run.installed is not None:
        return ""
    return "run.json does not say whether the environment's files are as installed from the lock"


def _not_locked(run: RunEvidence, locked: Mapping[str, str] | None) -> str:
    origins = fact(run.environment, "inside.sources")
    if not isinstance(origins, Mapping):
        return "the environment record does not say where packages came from"
    foreign = [
        f"{name} ({origin})" for name, origin in origins.items() if not str(origin).startswith("archive ")
    ]
    if foreign:
        return f"not from the lock, but from a source tree: {', '.join(foreign)}"
    if locked is None:
        return ""
    packages = fact(run.environment, "inside.packages")
    absent = sorted(set(locked) - set(packages))
    if absent:
        return f"the lock lists packages that are not installed: {', '.join(absent)}"
    for name, version in packages.items():
        if name not in _INSTALLERS and locked.get(name) != version:
            return f"{name} {version} is installed, but the lock has {locked.get(name, 'no such package')}"
    return ""


def _image(run: RunEvidence) -> RunImage:
    return run.run.image or RunImage()
