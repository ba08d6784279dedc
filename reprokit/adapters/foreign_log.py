"""A log that someone else published: its numbers, and runs compared with them step by step.

Such a log has other names, fewer metrics and often fewer steps than one's own, so a number is compared with
the one of the same name at the same step, and whatever the log does not have is not looked at.

    >>> read_foreign(Path("published.csv"), metrics=("loss",), renamed={}).records
    (b'{"step": 100, "loss": 0.5}',)
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from reprokit.adapters import from_jsonl, sources
from reprokit.adapters.reading import MetricsSource
from reprokit.core import json_values, problems
from reprokit.core.comparing import steps
from reprokit.core.comparing.comparer import Comparer
from reprokit.core.comparing.difference import Comparison
from reprokit.core.comparing.metric_names import nearest
from reprokit.core.tolerance import Tolerances
from reprokit.errors import MetricsError

MAX_NUMBERS = 1_000_000

_STEP = "step"
_Place = tuple[Any, str, int]  # step, name, and how often both came before


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignLog:
    """The numbers of someone's log.

    Attributes:
        records: Lines of ``metrics.jsonl``, without line ends: ``step`` and numbers.
        metrics: Their names, as one's own runs call them.
        form: The log's format.
        path: The file, or the folder that is one source.
    """

    records: tuple[bytes, ...]
    metrics: tuple[str, ...]
    form: str
    path: Path


def read_foreign(path: Path, *, metrics: Sequence[str], renamed: Mapping[str, str]) -> ForeignLog:
    """Read someone's log.

    Args:
        path: A file, or a folder with one source in it.
        metrics: Names to keep, as the log has them; all numbers when empty.
        renamed: Name in the log → what one's own runs call it.

    Raises:
        MetricsError: It cannot be read whole, has no step or no number, or lacks a metric that was named.
    """
    source = _source_in(path)
    wanted = {*metrics, *renamed} if metrics else None
    lines, names, num_numbers = [], dict[str, None](), 0
    for record in _records(source):
        step_name = steps.name_in(record)
        if step_name is None or json_values.kind(record[step_name]) != "number":
            fix = "a number is compared with that of the same step: give the log a column `step`"
            raise MetricsError(
                "a record of the log has no step", kind="missing_step", where=str(path), fix=fix
            )
        kept = list(_wanted_in(record, step_name, wanted))
        numbers = {renamed.get(name, name): record[name] for name in kept}
        if len(numbers) < len(kept):
            what, fix = "two metrics of the log would have one name", "keep one of them: --metric"
            raise MetricsError(what, kind="duplicate_key", where=str(path), fix=fix)
        num_numbers += len(numbers)
        if num_numbers > MAX_NUMBERS:
            what, fix = f"the log holds more than {MAX_NUMBERS:,} numbers", "name those that matter: --metric"
            raise MetricsError(what, kind="too_large", where=str(path), fix=fix)
        if numbers:
            names |= dict.fromkeys(numbers)
            lines.append(json.dumps({_STEP: record[step_name], **numbers}, ensure_ascii=False))
    _must_have(wanted or (), names, renamed, source)
    return ForeignLog(
        records=tuple(line.encode("utf-8", "surrogatepass") for line in lines),
        metrics=tuple(names),
        form=source.adapter,
        path=source.path,
    )


def compare_at_steps(expected: Path, actual: Path, *, tolerances: Tolerances) -> Comparison:
    """Hold a run's ``metrics.jsonl`` against a foreign log's: each of the log's numbers, and no other.

    Raises:
        MetricsError: A file cannot be opened, or not read whole.
    """
    logs = [MetricsSource(adapter=from_jsonl.NAME, path=path, name=path.name) for path in (expected, actual)]
    asked = [list(_places(record, seen)) for seen in [_Seen()] for record in _records(logs[0])]
    wanted = {place for places in asked for place in places}
    found: dict[_Place, Any] = {}
    seen = _Seen()
    for record in _records(logs[1]):
        found |= {place: record[place[1]] for place in _places(record, seen) if place in wanted}
    comparer = Comparer(tolerances=tolerances)
    for number, (record, places) in enumerate(zip(_records(logs[0]), asked, strict=True), start=1):
        held = {place[1]: found[place] for place in places if place in found}
        comparer.add(record, {_STEP: record[_STEP], **held}, lines=(number, None))
    if not asked:
        comparer.log.add("no_records", problems.BOTH)
    return comparer.finish()


def _wanted_in(record: Mapping[str, Any], step_name: str, wanted: Collection[str] | None) -> Iterator[str]:
    """Names of the numbers to keep."""
    for name, value in record.items():
        is_wanted = wanted is None or name in wanted
        if is_wanted and name != step_name and json_values.kind(value) == "number":
            yield name


def _must_have(
    wanted: Collection[str], names: Collection[str], renamed: Mapping[str, str], source: MetricsSource
) -> None:
    missing = sorted(name for name in wanted if renamed.get(name, name) not in names)
    if not missing and names:
        return
    what, fix = "the log holds no numbers", None
    if missing:
        near = nearest(missing[0], (name for record in _records(source) for name in record))
        what = f"the log has no number called {missing[0]!r}"
        fix = f"correct the name; the nearest: {', '.join(map(repr, near))}"
    raise MetricsError(what, kind="unknown_metric", where=str(source.path), fix=fix)


class _Seen:
    """How often a name came at a step."""

    def __init__(self) -> None:
        self._counts: dict[tuple[Any, str], Iterator[int]] = {}

    def next(self, step: Any, name: str) -> int:
        return next(self._counts.setdefault((step, name), count()))


def _places(record: Mapping[str, Any], seen: _Seen) -> Iterator[_Place]:
    step = record.get(_STEP)
    for name in record:
        if name != _STEP:
            yield step, name, seen.next(step, name)


def _source_in(path: Path) -> MetricsSource:
    if not path.is_dir():
        return sources.source_of(path)
    found = sources.find_all(path, skipped=frozenset())
    if len(found) != 1:
        named = ", ".join(str(one.path) for one in found[:6])
        raise MetricsError(
            "one log is needed, and the folder holds " + (f"{len(found)}: {named}" if found else "none"),
            kind="no_metrics_file",
            where=str(path),
            fix="name one",
        )
    return found[0]


def _records(source: MetricsSource) -> Iterator[Mapping[str, Any]]:
    """Every record of a log that can be read whole."""
    for reading in sources.adapter_named(source.adapter).read(source.path):
        for kind, detail in reading.notes:
            severity, meaning = problems.KINDS[kind]
            if severity == problems.ERROR or reading.record is None:
                what = f"{meaning}{f': {detail}' if detail else ''}"
                raise MetricsError(what, kind=kind, where=f"{source.path}:{reading.line}")
        yield reading.record or {}
