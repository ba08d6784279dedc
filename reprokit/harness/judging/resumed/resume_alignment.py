"""A resumed run's records against a whole run's, from the step at which it begins to write.

Records that cannot be aligned are an error, never a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

from reprokit import adapters
from reprokit.adapters import MetricsSource
from reprokit.core import problems
from reprokit.core.comparing import steps
from reprokit.core.comparing.comparer import Comparer
from reprokit.core.comparing.difference import Divergence
from reprokit.core.comparing.metric_names import within
from reprokit.core.tolerance import Tolerances
from reprokit.errors import CannotJudgeError

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejoined:
    """How the records of a resumed run compare with the whole run's.

    Attributes:
        from_the_first: Whether every log of the resumed run begins where the whole run's does.
        before_the_stop: Whether the difference lies among the records that the stopped run has too,
            in a log that begins where the whole run's does.
        twice: Name of a log → the first and last step that it holds of both the stopped and the resumed run.
    """

    divergence: Divergence | None
    from_the_first: bool
    before_the_stop: bool
    twice: Mapping[str, tuple[float, float]] = field(default_factory=dict)


def is_cut_short(whole: Path, stopped: Path) -> bool:
    """Whether a run was stopped early: some log of the whole run goes further."""
    pairs, log = adapters.pair_runs(whole, stopped)
    return log.has(problems.DIFFERENCE) or not all(
        _reaches(_records(two), _records(one)) for one, two in pairs
    )


def wrote_alike(one: Path, other: Path) -> bool:
    """Whether two run folders hold the same logs, with as many records and the same steps in each."""
    pairs, log = adapters.pair_runs(one, other)
    return not log.has(problems.DIFFERENCE) and all(
        [_step_of(each) for each in _records(left)] == [_step_of(each) for each in _records(right)]
        for left, right in pairs
    )


def _step_of(record: Record) -> Any:
    name = steps.name_in(record)
    return None if name is None else record[name]


def rejoined(
    whole: Path,
    stopped: Path | None,
    resumed: Path,
    *,
    ignore: Sequence[str] = (),
    shares: Collection[Fraction] = (),
    may_repeat: bool = False,
) -> Rejoined:
    """Compare the logs of three run folders; ``stopped`` is None where a run to the end left a checkpoint.

    Args:
        whole: The folder of the uninterrupted run.
        stopped: That of the stopped one.
        resumed: That of the resumed one.
        ignore: Patterns of metrics to leave out.
        shares: Which share of the whole run's updates the resumed run was seen to make. Records that have no
            steps, or are numbered from 0 again, are the whole run's last ones where they are the same
            share of its.
        may_repeat: Whether a log that holds steps twice, and is the whole run's without what the stopped run
            wrote of these, differs. Else its steps do not increase, and nothing is said of it.

    Raises:
        CannotJudgeError: The records cannot be aligned.
    """
    pairs, log = adapters.pair_runs(whole, resumed)
    cut = {left.name: _records(left) for left, _ in adapters.pair_runs(stopped, whole)[0]} if stopped else {}
    left = None if stopped else _left_before(pairs)
    if not pairs or not _are_the_same_logs(whole, cut, resumed, pairs, left_before=left):
        missing = "; ".join(problem.message for problem in log.problems()) or "no metrics file in either"
        raise _unaligned(f"the resumed run's logs differ from the whole run's ({missing})", resumed)
    every = [(left.name, _records(left), cut.get(left.name, []), _records(right)) for left, right in pairs]
    logs = [one for one in every if one[1] or one[3]]
    if not logs:
        raise _unaligned("every log is empty", resumed)
    counted = [_by_share(one, right, part, shares=shares) for _, one, part, right in logs]
    twice = {
        name: held for name, one, part, right in logs if may_repeat and (held := _twice(one, part, right))
    }
    firsts = [
        0 if name in twice else _first(one, right, part, where=resumed) if at is None else at
        for (name, one, part, right), at in zip(logs, counted, strict=True)
    ]
    for (name, one, part, right), first, at in zip(logs, firsts, counted, strict=True):
        left_out = [pattern for typed in ignore for pattern in within(typed, name)]
        left_out += [step for step in [steps.name_in(right[0])] if at is not None and step]
        found = _compare(one, right, first, ignore=left_out)
        if found is not None:
            before = first == 0 and found.record < (len(part) if stopped else 1)
            return Rejoined(
                divergence=found, from_the_first=not any(firsts), before_the_stop=before, twice=twice
            )
    return Rejoined(divergence=None, from_the_first=not any(firsts), before_the_stop=False)


def _are_the_same_logs(
    whole: Path,
    cut: Mapping[str, list[Record]],
    resumed: Path,
    pairs: Sequence[tuple[MetricsSource, MetricsSource]],
    *,
    left_before: Callable[[Sequence[Record]], bool] | None,
) -> bool:
    """Whether the resumed run has all logs of the whole run, and no other.

    It need not have those that the stopped run had left whole, such as logs next to earlier checkpoints.
    Where none was stopped, ``left_before`` tells which these are.
    """
    sources = [adapters.pair_runs(side, side)[0] for side in (whole, resumed)]
    ours, theirs = ({one.path: one for one, _ in found} for found in sources)
    for left, right in pairs:
        ours.pop(left.path)
        theirs.pop(right.path)
    if left_before is not None:
        return not theirs and all(left_before(_records(one)) for one in ours.values())
    return not theirs and all(cut.get(one.name) and _records(one) == cut[one.name] for one in ours.values())


def _left_before(pairs: Sequence[tuple[MetricsSource, MetricsSource]]) -> Callable[[Sequence[Record]], bool]:
    """Whether a log was complete before the resumed run began: its steps are, or it has no records.

    The resumed run begins where the first of its logs does that does not begin where the whole run's does.
    """
    begun: dict[str, float] = {}
    for left, right in pairs:
        whole, resumed = _records(left), _records(right)
        name = steps.name_in(resumed[0]) if whole and resumed else None
        if name is None or name != steps.name_in(whole[0]):
            continue
        first, later = whole[0][name], resumed[0][name]
        if isinstance(first, (int, float)) and isinstance(later, (int, float)) and later > first:
            begun[name] = min(later, begun.get(name, later))

    def before(records: Sequence[Record]) -> bool:
        named = [(steps.name_in(one), one) for one in records]
        return all(
            name in begun and isinstance(one[name], (int, float)) and one[name] < begun[name]
            for name, one in named
            if name is not None
        ) and all(name for name, _ in named)

    return before


def _records(source: MetricsSource) -> list[Record]:
    readings = list(adapters.adapter_named(source.adapter).read(source.path))
    found = [reading.record for reading in readings if reading.record is not None]
    if len(found) != len(readings):
        raise _unaligned("a log has records that cannot be read", source.path)
    return found


def _reaches(part: Sequence[Record], whole: Sequence[Record]) -> bool:
    """Whether a part of a run reaches the whole run's last step."""
    if not part or not whole:
        return len(part) >= len(whole)
    name = steps.name_in(whole[-1])
    if name is None:
        return len(part) >= len(whole)
    return bool(part[-1].get(name) == whole[-1][name])


def _first(
    whole: Sequence[Record], resumed: Sequence[Record], stopped: Sequence[Record], *, where: Path
) -> int:
    """Position in the whole run of the record that the resumed run begins with."""
    if not whole or not resumed:
        raise _unaligned("a log is empty", where)
    name = steps.name_in(resumed[0])
    if name is None or name != steps.name_in(whole[0]):
        if stopped and list(resumed[: len(stopped)]) == list(stopped):
            return 0
        raise _unaligned("the records have no step numbers, and do not continue the stopped run's", where)
    for records in (whole, resumed):
        if any(not one <= two for one, two in pairwise(_steps(records, name, where))):
            raise _unaligned("a log's steps do not increase", where)
    begun = resumed[0][name]
    at = next((place for place, one in enumerate(whole) if one[name] == begun), None)
    if at is None:
        raise _unaligned(f"the resumed run begins at step {begun}, which the whole run does not have", where)
    return at


def _twice(
    whole: Sequence[Record], stopped: Sequence[Record], resumed: Sequence[Record]
) -> tuple[float, float] | None:
    """The first and last step that a log holds twice, which without the stopped run's is the whole run's."""
    end = len(stopped)
    name = steps.name_in(stopped[0]) if stopped else None
    if name is None or len(resumed) <= end or list(resumed[:end]) != list(stopped):
        return None
    first = resumed[end].get(name)
    kept = next((place for place, one in enumerate(stopped) if one.get(name) == first), None)
    if kept is None or [*stopped[:kept], *resumed[end:]] != list(whole):
        return None
    return float(stopped[kept][name]), float(stopped[-1][name])


def _by_share(
    whole: Sequence[Record],
    resumed: Sequence[Record],
    stopped: Sequence[Record],
    *,
    shares: Collection[Fraction],
) -> int | None:
    """Where records begin that no step places, by their number; None where steps do, or nothing does."""
    if not 0 < len(resumed) < len(whole) or Fraction(len(resumed), len(whole)) not in shares:
        return None
    name = steps.name_in(resumed[0])
    placed = name is not None and resumed[0].get(name) != whole[0].get(name)
    carried = bool(stopped) and list(resumed[: len(stopped)]) == list(stopped)
    return None if placed or carried else len(whole) - len(resumed)


def _steps(records: Sequence[Record], name: str, where: Path) -> list[float]:
    found = [record.get(name) for record in records]
    if not all(isinstance(one, (int, float)) for one in found):
        raise _unaligned("a record has no step number", where)
    return [float(one) for one in found if one is not None]


def _compare(
    whole: Sequence[Record], resumed: Sequence[Record], first: int, *, ignore: Sequence[str]
) -> Divergence | None:
    comparer = Comparer(tolerances=Tolerances(), ignore=ignore)
    comparer.skip(first)
    rest = whole[first:]
    for left, right in zip(rest, resumed, strict=False):
        comparer.add(left, right)
    if len(rest) != len(resumed):
        longer = rest if len(rest) > len(resumed) else resumed
        comparer.end(
            num_expected=len(whole),
            num_actual=first + len(resumed),
            record=longer[min(len(rest), len(resumed))],
            lines=(None, None),
        )
    found = comparer.finish()
    if found.within_tolerance or found.divergence is not None:
        return found.divergence
    raise _unaligned("; ".join(problem.message for problem in found.problems), Path())


def _unaligned(what: str, where: Path) -> CannotJudgeError:
    return CannotJudgeError(
        what,
        where=str(where),
        expected="logs that can be compared from some step on",
        fix="write `step` in every record, and the resumed run's records into its own {run_dir}",
    )
