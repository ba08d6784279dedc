"""What a side is, as its first run tells it: of what someone typed only the commit is here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from reprokit import runs
from reprokit.core.environment_record import EnvironmentRecord, MachineFacts
from reprokit.core.evidence import fact
from reprokit.core.run_record import RunImage, RunRecord
from reprokit.harness.running.plan import shell_line
from reprokit.records import environment_json
from reprokit.redaction import redact_text

_SHORT = 12
#: Name → dotted place in ``environment.json``.
_FACTS = {
    "python": "inside.python.version",
    "cpu": "host.cpu.model",
    "system": "inside.os.name",
    "device": "inside.device.name",
}


def side_told(run: runs.StoredRun, *, commit: str | None = None) -> str:
    """One line: the command, or the commit and what was set.

    Args:
        run: The first run of the side.
        commit: The commit that was asked for; None for that of the run, which may be of an earlier one.

    >>> side_told(runs.read(Path("runs/train/20261126T101500Z-3fa9-seed0-1")))
    'commit 83895378ab12, data.num_workers=4'
    """
    record = run.record
    if record.plain_command:
        return shell_line(record.plain_command)
    return ", ".join(_parts(run, commit)) or "a run that says nothing about itself"


def commit_told(environment: EnvironmentRecord | MachineFacts) -> str:
    """The commit of a source tree, as an environment record has it; "" where there is none."""
    commit = fact(environment, "source.commit")
    if not isinstance(commit, str) or not commit:
        return ""
    changed = " with changes" if fact(environment, "source.dirty") else ""
    return f"commit {commit[:_SHORT]}{changed}"


def _parts(run: runs.StoredRun, commit: str | None) -> Iterator[str]:
    record = run.record
    if told := commit_told(environment_json.recorded(run.path)) if commit is None else commit:
        yield told
    if record.image is not None and record.image.lock_digest:
        lock = record.image.lock_digest.removeprefix("sha256:")[:_SHORT]
        yield f"{record.image.variant} with lock {lock}"
    for one in record.modified or ():
        name, _, value = one.partition("=")
        yield redact_text(f"{name}: {_command(value)}" if name == "command" else one)
    yield from conditions_told(record)


def conditions_told(record: RunRecord) -> Iterator[str]:
    """Threads and CPU, where they were changed on purpose.

    >>> list(conditions_told(runs.read(Path("runs/train/20261126T101500Z-3fa9-seed0-varied1")).record))
    ['CPU Haswell, emulated']
    """
    names = record.varied.names or () if record.varied else ()
    words = record.command or ()
    cpu = next((after for word, after in pairwise(words) if word == "-cpu"), "another")
    told = {
        "cpu_model": f"CPU {cpu}, emulated",
        "threads": f"{record.environment.get('OMP_NUM_THREADS')} threads",
    }
    yield from (told.get(name, name) for name in names)


def _command(value: str) -> str:
    try:
        words = json.loads(value)
    except ValueError:
        return value
    return shell_line([str(word) for word in words]) if isinstance(words, list) else value


def environment_told(run: runs.StoredRun) -> dict[str, Any]:
    """The environment of a side in a few facts; the whole of it is in its runs."""
    record, environment = run.record, environment_json.recorded(run.path)
    image = record.image or RunImage()
    packages = fact(environment, "inside.packages")
    told = {
        **{name: fact(environment, place) for name, place in _FACTS.items()},
        "packages": len(packages) if isinstance(packages, dict) else None,
        "variant": image.variant,
        "lock": image.lock_digest,
        "backend": record.backend,
        "variables": {name: value for name, value in record.environment.items() if "THREADS" in name},
    }
    return {name: value for name, value in told.items() if value not in (None, {}, "")}
