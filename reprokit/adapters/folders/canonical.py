"""Every source of metrics that an unmodified program left, as one ``metrics.jsonl``.

Sources stand one after the other, in the order of their names; a record keeps its step, or gets its position
where its source counts none. With several sources, metrics are called ``source:metric``. Numbers keep every
digit that the source has.

    >>> canonical_records(output, logs=(), volatile=(), printed=None, places={})
    Canonical(records=(b'{"step": 0, "loss": 0.5}',), sources={'log.csv': 'csv'}, volatile={})
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from reprokit.adapters import sources
from reprokit.adapters.folders import held_numbers, not_logs
from reprokit.adapters.printed import printed_numbers
from reprokit.adapters.reading import Reading
from reprokit.core import json_values, problems
from reprokit.core.comparing import steps
from reprokit.core.comparing.metric_names import nearest_patterns
from reprokit.core.texts import PathPlaceholders, Places
from reprokit.errors import MetricsError

_STEP = "step"


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonicalMetrics:
    """The metrics of a run.

    Attributes:
        records: Lines of ``metrics.jsonl``, without line ends.
        sources: Name of each source → its format.
        volatile: Metric that was left out → why, as the recipe says.
        idle: Pattern of metrics to leave out that fits none → the nearest names, for a sentence.
        printed_idle: Patterns of what is printed that found no metric of theirs in any line.
    """

    records: tuple[bytes, ...]
    sources: Mapping[str, str]
    volatile: Mapping[str, str]
    idle: Mapping[str, str] = field(default_factory=dict)
    printed_idle: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Source:
    name: str
    form: str
    read: Callable[[], Iterable[Reading]]


def canonical_records(
    output: Path,
    *,
    logs: Sequence[Path] = (),
    volatile: Sequence[tuple[str, str]] = (),
    printed: Sequence[str] | None = None,
    places: Places,
) -> CanonicalMetrics:
    """Read every source of a run's output.

    Args:
        output: The folder that the program wrote to.
        logs: What it printed; read only with ``printed``.
        volatile: Names or patterns of metrics that are left out, each with the reason.
        printed: Regular expressions whose named groups are metrics, ``step`` among them.
        places: Paths of the run → what stands for them in texts.

    Raises:
        MetricsError: There is no metric, none is left, or a source cannot be read whole.
    """
    in_files = _in_files(output, by_content=not printed)
    in_logs = _in_logs(logs, printed) if printed else []
    printed_idle = _idle(printed or (), in_logs)
    if in_files and printed and len(printed_idle) == len(printed):
        what = "no printed line matches a pattern under `printed`"
        raise MetricsError(what, where=str(output), fix="correct it, or leave it out of the recipe")
    found = [*in_files, *in_logs]
    records: list[bytes] = []
    left_out: dict[str, str] = {}
    names: dict[str, None] = {}
    kept = 0
    text = PathPlaceholders(places)
    for source in found:
        prefix = f"{source.name}:" if len(found) > 1 else ""
        own: dict[str, None] = {}
        for position, reading in enumerate(source.read()):
            if in_logs and held_numbers.is_nothing(reading):  # what is printed stands in for an empty log
                continue
            record = _whole(reading, source)
            own |= dict.fromkeys(record)
            line, metrics = _canonical(record, position, prefix, volatile, left_out, text)
            kept += metrics
            if metrics or not set(record) - {
                steps.name_in(record)
            }:  # one of which all is volatile is left out
                records.append(line)
        names |= dict.fromkeys(f"{prefix}{name}" for name in own)
    if not kept:
        raise _nothing(found, left_out, output)
    return CanonicalMetrics(
        records=tuple(records),
        sources={source.name: source.form for source in found},
        volatile=left_out,
        idle={
            pattern: nearest_patterns(pattern, names)
            for pattern, _ in volatile
            if not any(_fits(name, pattern, prefixed=len(found) > 1) for name in names)
        },
        printed_idle=printed_idle,
    )


def _fits(full: str, pattern: str, *, prefixed: bool) -> bool:
    """Whether a pattern fits a metric by its own name, or by that with its source's before it."""
    names = [full, *(full[at + 1 :] for at, one in enumerate(full) if one == ":" and prefixed)]
    return any(fnmatchcase(name, pattern) for name in names)


def _in_files(output: Path, *, by_content: bool) -> list[_Source]:
    if not output.is_dir():
        return []
    found = sources.find_all(output, skipped=frozenset(), by_content=by_content)
    named = sources.find_all(output, skipped=frozenset(), by_content=False)
    every = [
        _Source(one.name, one.adapter, lambda one=one: sources.adapter_named(one.adapter).read(one.path))  # type: ignore[misc]
        for one in sorted(found, key=lambda one: one.name)
    ]
    if len(found) == len(named):
        return every
    return [one for one in every if held_numbers.holds_record(one.read())]  # others stand in for the empty


def _in_logs(logs: Sequence[Path], printed: Sequence[str]) -> list[_Source]:
    found = {log.name: printed_numbers.read(log, printed) for log in logs}
    return [_Source(name, "printed", readings.copy) for name, readings in found.items() if readings]


def _idle(printed: Sequence[str], logs: Sequence[_Source]) -> tuple[str, ...]:
    """Patterns that found no metric: another one may have found it in a line of a different form."""
    there = {name for log in logs for reading in log.read() for name in reading.record or ()}
    return tuple(
        pattern
        for pattern in printed
        if not there & (({*re.compile(pattern).groupindex} - {_STEP}) or {_STEP})
    )


def _whole(reading: Reading, source: _Source) -> Mapping[str, Any]:
    """The record; an error where it could not be read, because half a log proves nothing."""
    for kind, detail in reading.notes:
        severity, meaning = problems.KINDS[kind]
        if severity == problems.ERROR or reading.record is None:
            raise MetricsError(
                f"{source.name}: {meaning}{f': {detail}' if detail else ''}",
                kind=kind,
                where=f"{source.name}:{reading.line}",
                fix="have the program close its log before it ends",
            )
    return reading.record or {}


def _canonical(
    record: Mapping[str, Any],
    position: int,
    prefix: str,
    volatile: Sequence[tuple[str, str]],
    left_out: dict[str, str],
    text: PathPlaceholders,
) -> tuple[bytes, int]:
    """One line, and how many metrics are in it."""
    step_name = steps.name_in(record)
    counted = record.get(step_name) if step_name else None
    is_step = json_values.kind(counted) == "number"
    line: dict[str, Any] = {_STEP: counted if is_step else position}
    for name, value in record.items():
        if is_step and name == step_name:
            continue
        full = f"{prefix}{name}"
        because = next(
            (why for pattern, why in volatile if fnmatchcase(name, pattern) or fnmatchcase(full, pattern)),
            None,
        )
        if because is not None:
            left_out.setdefault(full, because)
        else:
            line[full if full != _STEP else _unused(f"{full}_", record)] = text.put(value)
    return json.dumps(line, ensure_ascii=False).encode("utf-8", "surrogatepass"), len(line) - 1


def _unused(name: str, record: Mapping[str, Any]) -> str:
    while name in record:
        name += "_"
    return name


def _nothing(found: Sequence[_Source], left_out: Mapping[str, str], output: Path) -> MetricsError:
    if left_out:
        what = f"every metric is left out as volatile: {', '.join(sorted(left_out))}"
        return MetricsError(what, where="volatile", fix="keep at least one metric that must repeat")
    looked_at = ", ".join(not_logs.why_not(output, skipped=frozenset())) or None
    if found:
        what = f"{', '.join(source.name for source in found)} holds no record"
        return MetricsError(what, kind="no_records", where=str(output), actual=looked_at)
    return MetricsError(
        "the program left no metrics",
        kind="no_metrics_file",
        where=str(output),
        expected="a .jsonl or .csv file, another known log, or numbers in .log or .txt files in {run_dir}",
        actual=looked_at,
        fix="write them there, name the folder under `collect`, or say what it prints under `printed`",
    )
