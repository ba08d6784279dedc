"""Which test runs which line of the mutated packages, and for how long: seen once, without a fault.

This module knows tests and lines; it refuses to know what a mutant does.

    >>> known.tests_of(trial)[:1]
    ['tests/unit/core/test_comparison_values.py::test_a_place_inside_is_named']
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import coverage
import hypothesis
import pytest
from planting import PACKAGES, Trial

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 4.0  # times what the tests take without the fault, and as many seconds more
TOO_LONG_S = 5.0  # a test that takes longer kills no mutant


@dataclass(frozen=True, slots=True)
class Map:
    """What the run without faults showed.

    Attributes:
        durations: Test → seconds.
        covering: ``core/values:17`` → the tests that run the line, "" for the import.
    """

    durations: dict[str, float]
    covering: dict[str, list[str]]

    def at_import(self, trial: Trial) -> bool:
        """Whether the mutated code runs while modules are imported, and not only in tests."""
        return not trial.mutant.function or "" in self._on_lines(trial)

    def tests_of(self, trial: Trial) -> list[str]:
        """The tests that can notice a mutant, the quickest first."""
        found = self._on_lines(trial)
        if self.at_import(trial):
            runs_module = (tests for at, tests in self.covering.items() if at.startswith(f"{trial.module}:"))
            found = set().union(*runs_module)
        return self.in_order(found - {""})

    def in_order(self, tests: Iterable[str]) -> list[str]:
        return sorted(tests, key=lambda test: (self.durations[test], test))

    def limit_s(self, tests: Sequence[str]) -> float:
        return PATIENCE * (1 + sum(self.durations[test] for test in tests))

    def _on_lines(self, trial: Trial) -> set[str]:
        first, last = trial.mutant.lines
        return {
            one for line in range(first, last + 1) for one in self.covering.get(f"{trial.module}:{line}", ())
        }


class Patient:
    """A pytest plugin: properties are tried on the same examples every time, and not made small."""

    def pytest_collection(self) -> None:
        hypothesis.settings.register_profile(
            "mutation",
            derandomize=True,
            database=None,
            deadline=None,
            phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
        )
        hypothesis.settings.load_profile("mutation")


class Recorder(Patient):
    """A pytest plugin for the run without faults: which test runs which line, and for how long."""

    def __init__(self) -> None:
        self.coverage = coverage.Coverage(
            data_file=None,
            branch=False,
            source=[str(ROOT / "reprokit" / part) for part in PACKAGES],
        )
        self.durations: Counter[str] = Counter()
        self.failed: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        self.coverage.switch_context(item.nodeid)
        result = yield
        self.coverage.switch_context("")
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.durations[report.nodeid] += report.duration
        if report.failed:
            self.failed.append(report.nodeid)

    def map(self) -> tuple[dict[str, float], dict[str, list[str]]]:
        """What was seen, as ``Map`` takes it; a test that failed or takes long is left out."""
        usable = {test for test, seconds in self.durations.items() if seconds < TOO_LONG_S} - set(self.failed)
        data, covering = self.coverage.get_data(), {}
        for file in data.measured_files():
            module = Path(file).relative_to(ROOT / "reprokit").with_suffix("")
            for line, tests in data.contexts_by_lineno(file).items():
                covering[f"{module}:{line}"] = sorted(usable.intersection(tests) | {""}.intersection(tests))
        return {test: self.durations[test] for test in usable}, covering
