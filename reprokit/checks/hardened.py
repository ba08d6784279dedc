"""Row ``hardened``: the container could reach and change nothing but its run folder.

What was asked for does not count, only what the engine says was in force.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reprokit.core.evidence import Evidence, RunEvidence, fact, is_integer
from reprokit.core.verdicts.rows import Finding, failed_runs, passed, skipped, unjudged

ID = "hardened"
TITLE = "The container was hardened"
ORDER = 200
ADVISORY = True
NEEDS_RECIPE = False

_REMEDY = "run it with `--backend docker`; `reprokit doctor` says what the engine cannot do"
_WRITE_RECIPE = "only recipes run in a container: `reprokit help bring-your-own-program`"


def check(evidence: Evidence) -> Finding:
    """Every run's isolation, as the engine reports it."""
    backends = {run.run.isolation.get("backend") for run in evidence.runs}
    if backends == {"local"}:
        remedy = _REMEDY if evidence.recipe else _WRITE_RECIPE
        return skipped("ran as a process of this user, without a container", remedy)
    if None in backends:
        return unjudged("run.json does not say what confined the runs", _REMEDY)
    if broken := failed_runs(evidence, _problem, _REMEDY):
        return broken
    opened = sorted({name for run in evidence.runs for name in run.run.isolation["relaxations"]})
    note = f", opened for {', '.join(opened)}" if opened else ""
    return passed(f"the container was hardened in every run{note}", opened=opened)


def _problem(run: RunEvidence) -> str:
    isolation = run.run.isolation
    soft = ", ".join(name for name, holds in _promises(isolation, run.run.device).items() if not holds)
    return f"not in force: {soft}" if soft else ""


def _promises(isolation: Mapping[str, Any], device: object) -> dict[str, bool]:
    user = str(isolation.get("user")).partition(":")[0]
    writable, opened = isolation.get("writable"), isolation.get("relaxations")
    return {
        # A TPU's chips talk over the host's network: declared in images/lock.toml, named as opened.
        "no network": isolation.get("network") == ("host" if _opens_network(opened, device) else "none"),
        "read-only root": isolation.get("read_only_root") is True,
        "all capabilities dropped": fact(isolation, "capabilities.dropped") == ["ALL"],
        "no capability added": fact(isolation, "capabilities.added") == [],
        "no-new-privileges": isolation.get("no_new_privileges") is True,
        "not privileged": isolation.get("privileged") is False,
        # The root of a rootless engine is the calling user, outside and in what it writes.
        "not root": (user.isdecimal() and int(user) > 0) or isolation.get("rootless") is True,
        "pids limit": _is_positive(isolation.get("pids_limit")),
        "memory limit": _is_positive(isolation.get("memory_bytes")),
        "init": isolation.get("init") is True,
        "only the run folder writable": isinstance(writable, list) and len(writable) <= 1,
        "nothing opened": isinstance(opened, list) and (not opened or device in {"cuda", "tpu"}),
    }


def _opens_network(opened: object, device: object) -> bool:
    return device == "tpu" and isinstance(opened, list) and "host network" in opened


def _is_positive(value: object) -> bool:
    return is_integer(value) and value > 0
