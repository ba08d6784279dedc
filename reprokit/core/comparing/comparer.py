"""Two series of records, compared position by position as they stream in.

``Comparer`` holds one record's worth of memory for each metric, not for each record.

    >>> comparer = Comparer()
    >>> comparer.add({"step": 1, "loss": 0.5}, {"step": 1, "loss": 0.25})
    >>> comparer.finish().divergence.abs_error
    0.25
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from reprokit.core import json_values, problems
from reprokit.core.comparing import steps
from reprokit.core.comparing.difference import Comparison, Divergence
from reprokit.core.comparing.metric_names import Selection, name_difference, quoted
from reprokit.core.comparing.metric_stats import Tally, kind_of_difference
from reprokit.core.comparing.record_table import RecordTable
from reprokit.core.comparing.steps import Lines, StepWatch
from reprokit.core.json_values import MISSING, Leaf
from reprokit.core.problems import ProblemLog
from reprokit.core.texts import Placeholders, differing_words
from reprokit.core.tolerance import Tolerance, Tolerances

Record = Mapping[str, Any]
Column = npt.NDArray[np.float64]


class Comparer:
    """The running comparison of an expected series with an actual one.

    Args:
        tolerances: How far each metric may be off. The step is always compared exactly.
        metrics: Names to compare; None for all.
        ignore: Patterns (``fnmatch``, case-sensitive) of names to leave out; each name left out
            is a problem of severity warning, so that it is seen.
        placeholders: What stands for the paths of the two runs in their texts; None for nothing.
    """

    def __init__(
        self,
        *,
        tolerances: Tolerances | None = None,
        metrics: Sequence[str] | None = None,
        ignore: Sequence[str] = (),
        placeholders: Placeholders | None = None,
    ) -> None:
        self.log = ProblemLog()
        self._tolerances = tolerances or Tolerances()
        self._selection = Selection(self.log, metrics=metrics, ignore=ignore)
        self._watch = StepWatch(self.log)
        self._step_name: str | None = None
        self._step_compared = False
        self._tallies: dict[str, Tally] = {}
        self._step_tally = Tally(Tolerance())
        self._position = 0
        self._compared = 0
        self._placeholders = placeholders
        #: The first that is no matter of words alone, which is named before one that is.
        self._divergence: Divergence | None = None
        self._of_words: Divergence | None = None

    @property
    def position(self) -> int:
        return self._position

    @property
    def knows_enough(self) -> bool:
        """Whether what was looked at holds a value, and every metric that was asked for."""
        return any(tally.has_value for tally in self._tallies.values()) and self._selection.all_seen(
            self._tallies
        )

    def add(self, expected: Record, actual: Record, *, lines: Lines = (None, None)) -> None:
        """Compare the next pair of JSON records (else a ``TypeError``); ``lines`` count from 1."""
        step = self._see_step(expected, actual, lines)
        lacking = []
        for name, left in expected.items():
            if name == self._step_name or not self._selection.wants(name):
                continue
            right = actual.get(name, MISSING)
            if right is MISSING:
                lacking.append(name)
            self._see(name, left, right, step, lines)
        extra = [
            name
            for name in actual
            if name not in expected and name != self._step_name and self._selection.wants(name)
        ]
        for name in extra:
            self._see(name, MISSING, actual[name], step, lines)
        if lacking or extra:
            name_difference(self.log, expected, actual, lacking=lacking, extra=extra, lines=lines)
        self._position += 1
        self._compared += 1

    def add_table(self, expected: RecordTable, actual: RecordTable, *, first_lines: Lines) -> None:
        """Compare many pairs of exact records (``RecordTable.is_exact``), with the same names, as ``add``."""
        self._find_step(expected.record(0), actual.record(0))
        if not self._steps_alike(expected, actual):
            for at in range(expected.num_records):
                lines = steps.shifted(first_lines, at)
                self.add(expected.record(at), actual.record(at), lines=lines)
            return
        if self._step_name is not None and self._step_compared:
            self._watch.see_many(expected.column(self._step_name), first_lines=first_lines)
        first: tuple[int, str] | None = None
        for name, left, right in zip(expected.names, expected.columns, actual.columns, strict=True):
            if name == self._step_name or not self._selection.wants(name):
                continue
            at_row = self._see_column(name, left, right, expected)
            if at_row is not None and (first is None or at_row < first[0]):
                first = at_row, name
        if first is not None:
            row, name = first
            left_record, right_record = expected.record(row), actual.record(row)
            leaf = "", left_record[name], right_record[name]
            self._diverge(name, leaf, self._step_of(left_record), position=self._position + row)
        self._position += expected.num_records
        self._compared += expected.num_records

    def skip(self, num_records: int) -> None:
        """Count records that are known to be equal, without looking at them."""
        self._watch.forget()
        self._position += num_records
        self._compared += num_records

    def unreadable(self) -> None:
        """Count a pair of records, at least one of which cannot be read; the log says why."""
        self._watch.forget()
        self._position += 1

    def end(self, *, num_expected: int, num_actual: int, record: Record | None, lines: Lines) -> None:
        """Close series of different lengths; ``record``, None if unreadable, is the first without partner."""
        shorter = num_actual < num_expected
        kind = "missing_record" if shorter else "extra_record"
        detail = f"expected has {num_expected:,} records, actual {num_actual:,}"
        self.log.add(kind, "actual", line=lines[0] if shorter else lines[1], detail=detail)
        if self._divergence is None:
            self._divergence = Divergence(
                record=min(num_expected, num_actual),
                step=None if record is None else self._step_of(record),
                metric=None,
                expected=record if shorter else None,
                actual=None if shorter else record,
                what=f"{problems.KINDS[kind][1]}: {detail}",
            )

    def finish(self) -> Comparison:
        self._name_what_lacks()
        sound = self._compared > 0 and not self.log.has(problems.ERROR)
        alike = sound and not self.log.has(problems.DIFFERENCE)
        tallies = dict(self._tallies)
        if self._step_name is not None and not self._step_tally.identical:
            tallies = {self._step_name: self._step_tally, **tallies}
        return Comparison(
            identical=alike and all(tally.identical for tally in tallies.values()),
            within_tolerance=alike and self._divergence is None and self._of_words is None,
            records_compared=self._compared,
            metrics_compared=sum(tally.compared for tally in self._tallies.values()),
            divergence=self._divergence or self._of_words,
            per_metric={name: tally.summary() for name, tally in tallies.items()},
            problems=self.log.problems(),
        )

    def _name_what_lacks(self) -> None:
        if self._position == 0 and not self.log.has(problems.ERROR):
            self.log.add("no_records", problems.BOTH)
        if self._compared == 0:
            return
        self._selection.name_unknown(self._tallies)
        tallies = self._tallies.values()
        if not any(tally.has_value for tally in tallies):
            if any(tally.has_nan for tally in tallies):
                self.log.add("only_nan", problems.BOTH)
            elif not self.log.has(problems.DIFFERENCE):
                self.log.add("no_values", problems.BOTH)

    def _find_step(self, expected: Record, actual: Record) -> None:
        if self._step_name is None:
            self._step_name = steps.name_in(expected) or steps.name_in(actual)
            self._step_compared = self._step_name is not None and not self._selection.ignores(self._step_name)

    def _step_of(self, record: Record) -> Any:
        return None if self._step_name is None else record.get(self._step_name)

    def _see_step(self, expected: Record, actual: Record, lines: Lines) -> Any:
        self._find_step(expected, actual)
        name = self._step_name
        if name is None:
            return None
        left, right = expected.get(name, MISSING), actual.get(name, MISSING)
        step = next((one for one in (left, right) if one is not MISSING), None)
        if self._step_compared and not self._watch.see(left, right, lines=lines):
            leaf = self._step_tally.see(left, right, step=step)
            if MISSING in (left, right):
                word = "missing_metric" if right is MISSING else "extra_metric"
                self.log.add(word, "actual", line=lines[1], detail=quoted(name))
            self._diverge(name, leaf, step, position=self._position)
        return step

    def _steps_alike(self, expected: RecordTable, actual: RecordTable) -> bool:
        if self._step_name is None or not self._step_compared:
            return True
        if self._step_name not in expected.names:
            return False
        row = expected.names.index(self._step_name)
        left, right = (side.columns[row].view(np.int64) for side in (expected, actual))
        return bool(np.array_equal(left, right))

    def _see(self, name: str, expected: Any, actual: Any, step: Any, lines: Lines) -> None:
        if self._placeholders is not None:
            expected, actual = self._placeholders.put(expected, actual)
        leaf = self._tally(name).see(expected, actual, step=step)
        if leaf is None:
            return
        self._diverge(name, leaf, step, position=self._position)
        kind = kind_of_difference(leaf)
        if kind is not None:
            self.log.add(kind, "actual", line=lines[1], detail=quoted(name))

    def _see_column(self, name: str, left: Column, right: Column, expected: RecordTable) -> int | None:
        tally = self._tally(name)
        known = tally.mismatches
        beyond = tally.see_column(left, right)
        if tally.mismatches == known:
            return None
        at = int(beyond.argmax())
        if known == 0:
            tally.first_step = self._step_of(expected.record(at))
        return at

    def _tally(self, name: str) -> Tally:
        tally = self._tallies.get(name)
        if tally is None:
            tally = self._tallies[name] = Tally(self._tolerances.of(name))
        return tally

    def _diverge(self, metric: str, leaf: Leaf | None, step: Any, *, position: int) -> None:
        if leaf is None or self._divergence is not None:
            return
        path, expected, actual = leaf
        of_words = isinstance(expected, str) and isinstance(actual, str)
        if of_words and self._of_words is not None:
            return
        place = f", at {path[:80]}" if path else ""
        found = Divergence(
            record=position,
            step=step,
            metric=metric,
            expected=None if expected is MISSING else expected,
            actual=None if actual is MISSING else actual,
            abs_error=json_values.absolute_error(expected, actual),
            rel_error=json_values.relative_error(expected, actual),
            ulps=json_values.ulps(expected, actual),
            what=json_values.describe(expected, actual) + place,
        )
        if of_words:
            words = differing_words(expected, actual)
            self._of_words = replace(found, expected=words[0], actual=words[1])
        else:
            self._divergence = found
