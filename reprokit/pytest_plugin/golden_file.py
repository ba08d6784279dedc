"""A test's golden on disk: ``<module>/<test>.jsonl`` and, next to it, where it comes from."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from reprokit import adapters, capture, workspace
from reprokit.capture import environment_diff
from reprokit.core import fingerprint
from reprokit.core.comparison import Comparison, Tolerances
from reprokit.core.environment_record import EnvironmentRecord, InsideFacts
from reprokit.core.records import SCHEMA_VERSION
from reprokit.layout import read_json
from reprokit.pytest_plugin.records import as_bytes
from reprokit.records import environment_json
from reprokit.reports.terminal.diff_to_terminal import diff_to_terminal

_MOST = 120


def stem_of(test: str, *, suffix: str) -> str:
    """A file's name for a test's golden; other tests' names never give the same one."""
    whole = f"{test}-{suffix}" if suffix else test
    safe = re.sub(r"[^\w.\-\[\]]", "_", whole, flags=re.ASCII)[:_MOST].strip(".")
    if safe == whole:
        return safe
    return f"{safe}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"


def judge(
    metrics: Sequence[Mapping[str, Any]] | Mapping[str, Any] | str | Path,
    *,
    folder: Path,
    stem: str,
    tolerances: Tolerances,
    update: bool,
) -> str:
    """What is wrong with metrics, the verdict first; "" where they are as ``GoldenFixture.check`` asks.

    Raises:
        ReprokitError: The metrics cannot be written down or compared.
    """
    content, suffix = as_bytes(metrics)
    _refuse_tolerances_of_nothing(tolerances, content, suffix)
    golden, obtained = folder / f"{stem}{suffix}", folder / f"{stem}.obtained{suffix}"
    provenance = folder / f"{stem}.provenance.json"
    may_write = not os.environ.get("CI")  # a test that is tried again would pass against what it just wrote
    if (
        update
        and may_write
        and golden.is_file()
        and not (_is_written(golden, provenance) and golden.read_bytes() == content)
    ):
        _write(golden, provenance, content)
        return (
            f"The golden was written again: {golden}\n"
            "Look at what changed, commit it, and run the test without the flag."
        )
    if not golden.is_file() and not may_write:
        return (
            f"NO_GOLDEN: there is no golden, and none is written where CI is set: {golden}\n"
            "Run the test on your machine, look at what it writes, and commit it with its provenance."
        )
    if not golden.is_file():
        _write(golden, provenance, content)
        return (
            f"NO_GOLDEN: there was no golden, so one was written: {golden}\n"
            "Look at it, commit it with its provenance, and run the test again."
        )
    if not _is_written(golden, provenance):
        return (
            f"The golden is not the one that was written: {golden}\n"
            "Restore both of its files with git, or write them again with --reprokit-update."
        )
    workspace.write_atomic(obtained, content)
    comparison = adapters.compare(golden, obtained, tolerances=tolerances)
    says_something = comparison.comparable and has_a_value(golden)
    if says_something and comparison.within_tolerance:
        obtained.unlink()
        return ""
    recorded = environment_json.or_empty(read_json(provenance).get("environment") or {})
    return _failure(comparison, recorded, golden=golden, obtained=obtained, says_something=says_something)


def _refuse_tolerances_of_nothing(tolerances: Tolerances, content: bytes, suffix: str) -> None:
    """A tolerance whose metric is misspelt would be none, without a word."""
    if not tolerances.metrics:
        return
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / f"metrics{suffix}"
        path.write_bytes(content)
        names = adapters.summarise(path).metric_names
    for metric in tolerances.metrics:
        if metric not in names:
            raise adapters.fits_no_metric(metric, names, option="tolerances")


def _write(golden: Path, provenance: Path, content: bytes) -> None:
    golden.parent.mkdir(parents=True, exist_ok=True)
    workspace.write_atomic(golden, content)
    environment: EnvironmentRecord = {"inside": _inside()}
    facts = {
        "schema": SCHEMA_VERSION,
        "sha256": workspace.sha256_of(golden),
        "fingerprint": fingerprint.fingerprint(environment),
        "environment": environment,
    }
    workspace.write_json(provenance, facts)


def _is_written(golden: Path, provenance: Path) -> bool:
    """Whether a golden is the one that was written, by its provenance."""
    return bool(read_json(provenance).get("sha256") == workspace.sha256_of(golden))


def has_a_value(golden: Path) -> bool:
    """Whether a file holds one finite value: a golden without agrees with any training that fails."""
    found = adapters.summarise(golden)
    return bool(set(found.metric_names) - set(found.without_value))


def _inside() -> InsideFacts:
    """What this process computes with. torch counts where the test has imported it."""
    return cast("InsideFacts", capture.probe.collect(with_torch="torch" in sys.modules))


def _failure(
    comparison: Comparison,
    recorded: EnvironmentRecord,
    *,
    golden: Path,
    obtained: Path,
    says_something: bool,
) -> str:
    here: EnvironmentRecord = {"inside": _inside()}
    if not says_something:
        verdict = "UNJUDGED: the metrics cannot be compared with the golden"
    elif fingerprint.same(recorded, here):
        verdict = "REGRESSION: the metrics differ from the golden"
    else:
        from reprokit.harness.judging.differences import what_changed  # noqa: PLC0415  (two seconds, which only this case needs)

        why = what_changed.environment_rows(environment_diff.diff(recorded, here))
        verdict = f"STALE_GOLDEN: the metrics differ from the golden, in another environment: {why}"
    page = diff_to_terminal(comparison, expected=str(golden), actual=str(obtained), width=100)
    return f"{verdict}\n\n{page}\nIf they are meant: write the golden again with --reprokit-update."
