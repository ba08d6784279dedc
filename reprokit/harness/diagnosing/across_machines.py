"""Two comparable runs on two machines: how the machines differ, and where the runs first differ.

Nothing is run, so no cause is named: a difference that can change numbers is only suspected.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from reprokit import adapters, diagnosis, runs
from reprokit.capture import environment_diff
from reprokit.core import rounding
from reprokit.core.comparing.difference import Comparison
from reprokit.core.evidence import TraceComparison
from reprokit.core.records import to_json
from reprokit.core.verdicts.comparability import ACROSS_MACHINES, why_not_comparable
from reprokit.core.verdicts.rows import counted
from reprokit.diagnosis import Began
from reprokit.errors import ReportError, UsageError
from reprokit.harness.diagnosing.diagnosis import DIFFERS, EQUAL
from reprokit.harness.judging.compared_with.run_identity import identity_of
from reprokit.harness.judging.differences.rank_traces import compare_ranks
from reprokit.harness.judging.differences.trace_comparison import first_difference
from reprokit.harness.judging.left_out_metrics import must_leave_out
from reprokit.harness.running.run_kinds import WATCH
from reprokit.layout import METRICS, TRACE
from reprokit.records import environment_json

_NEVER_CHANGES = "no"


@dataclass(frozen=True, slots=True, kw_only=True)
class Across:
    """How two runs on two machines compare.

    Attributes:
        verdict: ``NONDETERMINISTIC`` or ``REPEATABLE``, as of two runs on one machine.
        update: Where their traces first differ: ``update``, ``step``, ``what``, ``groups`` (all that
            differs in it), ``equal_before``; None where they are equal, or one has none.
        began: The first event of the watched training that differs, where both were made under watch.
        environment: What differs between the environment records and can change numbers: ``field``,
            ``expected``, ``actual``, ``can_change_numbers``, ``why``.
    """

    verdict: str
    comparison: Comparison
    update: Mapping[str, Any] | None
    began: Began | None
    environment: tuple[Mapping[str, Any], ...]
    num_harmless: int
    rounds: tuple[str, ...]
    says: tuple[str, ...]
    folders: tuple[str, str]

    def as_data(self) -> dict[str, Any]:
        first = self.comparison.divergence
        return {
            "verdict": self.verdict,
            "divergence": to_json(first) if first else None,
            "update": dict(self.update) if self.update else None,
            "event": to_json(self.began) if self.began else None,
            "environment": [dict(one) for one in self.environment],
            "num_harmless": self.num_harmless,
            "rounds_differently": list(self.rounds),
            "known": list(self.says),
            "cause": None,
            "runs": list(self.folders),
        }


def across(one: Path, other: Path, *, ignore: Sequence[str] = ()) -> Across:
    """Compare two runs that were made on two machines; ``ignore`` is for plain commands only.

    Raises:
        ReportError: One of them is incomplete.
        UsageError: They are not comparable, or one and the same.
        MetricsError: They hold nothing that can be compared.
    """
    stored = [runs.read(folder) for folder in (one, other)]
    _check(*stored)
    must_leave_out((one, other), ignore)
    if stored[0].record.plain_command:
        comparison = adapters.compare_runs(one, other, ignore=ignore)
    else:
        comparison = adapters.compare(one / METRICS, other / METRICS)
    records = [environment_json.recorded(folder) for folder in (one, other)]
    found = environment_diff.diff(*records)
    mattering = tuple(entry for entry in found if entry["can_change_numbers"] != _NEVER_CHANGES)
    rounds = tuple(rounding.compare_records(*records).differing)
    update, began = _first_update(one / TRACE, other / TRACE), _first_event(one / WATCH, other / WATCH)
    ranks = compare_ranks(one, other)
    equal = comparison.identical and update is None and ranks.equal
    traced = (one / TRACE).is_file() and (other / TRACE).is_file()
    says = [*_of_ranks(ranks)]
    if ranks.equal or update is not None:
        says += _says(comparison, update, mattering, rounds, traced=traced)
    return Across(
        verdict=EQUAL if equal else DIFFERS,
        comparison=comparison,
        update=update,
        began=began,
        environment=mattering,
        num_harmless=len(found) - len(mattering),
        rounds=rounds,
        says=tuple(says),
        folders=(str(one), str(other)),
    )


def _check(one: runs.StoredRun, other: runs.StoredRun) -> None:
    for run in (one, other):
        if not run.complete:
            raise ReportError(
                "the run is incomplete",
                where=str(run.path),
                actual=run.incomplete_because,
                fix="copy the whole folder, or run it to its end",
            )
    if one.path.resolve() == other.path.resolve() or one.record.run_id == other.record.run_id:
        raise UsageError(
            "both paths are the same run", where=str(other.path), fix="name a run of each machine"
        )
    objection = why_not_comparable(identity_of(one), identity_of(other), question=ACROSS_MACHINES)
    if objection is not None:
        raise UsageError(
            objection.reason,
            where=str(other.path),
            fix="run the same commit with the same settings on both",
        )


def _first_update(one: Path, other: Path) -> dict[str, Any] | None:
    if not one.is_file() or not other.is_file():
        return None
    for equal, (left, right) in enumerate(zip_longest(_records(one), _records(other))):
        found = first_difference(left or {}, right)
        if left is None or found is not None:
            here = left or right or {}
            groups = [name for name in here if (left or {}).get(name) != (right or {}).get(name)]
            return {
                "update": here.get("update"),
                "step": here.get("step"),
                "groups": groups,
                "what": (found or {}).get("what", "one more record"),
                "equal_before": equal,
            }
    return None


def _records(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as lines:
        for line in lines:
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                value = None
            yield value if isinstance(value, dict) else {"unreadable": line.decode("utf-8", "replace")[:80]}


def _first_event(one: Path, other: Path) -> Began | None:
    """The same of the watch's own traces, where both runs were made under watch."""
    if not one.is_dir() or not other.is_dir():
        return None
    return diagnosis.first_difference(diagnosis.read_trace(one), diagnosis.read_trace(other))


def _of_ranks(compared: TraceComparison) -> Iterator[str]:
    """The first rank of several that differs."""
    first = compared.first or {}
    if first.get("place"):
        yield f"of the ranks, {first['place']} differs first"


def _says(
    comparison: Comparison,
    update: Mapping[str, Any] | None,
    mattering: Sequence[Mapping[str, Any]],
    rounds: Sequence[str],
    *,
    traced: bool,
) -> Iterator[str]:
    fields = ", ".join(str(entry["field"]) for entry in mattering[:4]) + (" …" if len(mattering) > 4 else "")
    if comparison.identical and update is None:
        exactly = "numbers and traces" if traced else "numbers"
        yield f"the {exactly} are equal, bit for bit"
        if mattering:
            differ = f"{counted(len(mattering), 'field')} that can change numbers differ"
            yield f"{differ}, but did not change them: {fields}"
        return
    if update is not None:
        yield from _of_update(update)
    elif traced:
        yield "the traces are equal: the difference is computed from the model, not by training it"
    if rounds:
        yield rounding.sentence(rounds)
    if mattering:
        differ = f"{counted(len(mattering), 'field')} that can change numbers differ"
        yield f"{differ}: {fields}; none of them is shown to be the cause"
    else:
        yield (
            "nothing that is recorded and can change numbers differs between the machines: look for the "
            "cause on one of them, with reprokit diagnose"
        )


def _of_update(update: Mapping[str, Any]) -> Iterator[str]:
    equal, groups = update["equal_before"], set(update["groups"])
    if equal:
        first = f"the first {counted(equal, 'update')}"
        yield f"{first}: equal, bit for bit, so data, seeds and model are the same"
    else:
        yield "no update is equal: data, seeds, initial model or rounding differ from the start"
    if "random" in groups:
        yield "a random generator is in a different state by then: rounding alone can cause that"
    elif "gradients" in groups:
        yield "every random generator is in the same state by then: the same draws, different gradients"
    elif groups & {"parameters", "optimizer"}:
        yield "the gradients are equal there, the parameters are not: the optimizer's step rounds differently"
