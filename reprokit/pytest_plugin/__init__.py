"""Goldens in anybody's test suite: the fixture ``reprokit_golden``, with the gate's own comparator.

It is loaded with every pytest that has reprokit beside it, so it imports next to nothing before it is used.

    def test_training_repeats(reprokit_golden):
        reprokit_golden.check(train(seed=42))  # a list of dicts, a dict of arrays, or a path
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

__all__ = ["GoldenFixture", "pytest_addoption", "reprokit_golden"]

_OPTION = "--reprokit-update"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--reprokit-update``."""
    parser.getgroup("reprokit").addoption(
        _OPTION,
        action="store_true",
        default=False,
        help="write the goldens of reprokit_golden.check anew; a test whose golden changed fails once",
    )


@pytest.fixture
def reprokit_golden(request: pytest.FixtureRequest) -> GoldenFixture:
    """Compares metrics with the golden of this test."""
    classes = [one.name for one in request.node.listchain() if isinstance(one, pytest.Class)]
    return GoldenFixture(
        folder=request.path.parent / request.path.stem,
        test=".".join([*classes, request.node.name]),  # methods of two classes may share a name
        update=bool(request.config.getoption(_OPTION)),
    )


class GoldenFixture:
    """What a test asks; counts its questions, so that each has a golden of its own below ``folder``."""

    def __init__(self, *, folder: Path, test: str, update: bool) -> None:
        self._folder, self._test, self._update = folder, test, update
        self._asked = 0

    def check(
        self,
        metrics: Sequence[Mapping[str, Any]] | Mapping[str, Any] | str | Path,
        *,
        name: str = "",
        rtol: float = 0.0,
        atol: float = 0.0,
        tolerances: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """Fail unless metrics are the golden's, bit for bit by default.

        A golden that is not there is written, and the test fails: look at it, commit it, run again. Where
        the variable ``CI`` is set none is written.
        Where they differ, the metrics are written beside the golden (``<test>.obtained.jsonl``).
        The data is never changed.

        Args:
            metrics: Records (a list of dicts), columns (a dict of equally long arrays, lists or
                tensors), or the path of a metrics file or of a folder with ``metrics.jsonl``.
            name: Of this golden, where a test has several; they are numbered otherwise.
            rtol: Relative tolerance of every metric, of the golden's value.
            atol: Absolute tolerance of every metric.
            tolerances: Metric → ``rtol``, ``atol`` and ``mean_of``, instead of those two.

        Raises:
            ReprokitError: The metrics cannot be written down, or the tolerance is none.
        """
        __tracebackhide__ = True
        from reprokit.core.tolerance import Tolerance, Tolerances  # noqa: PLC0415  (numpy)
        from reprokit.pytest_plugin import golden_file  # noqa: PLC0415

        granted = Tolerances(
            default=Tolerance(rtol=rtol, atol=atol),
            metrics={metric: Tolerance(**terms) for metric, terms in (tolerances or {}).items()},
        )
        self._asked += 1
        suffix = name or (str(self._asked) if self._asked > 1 else "")
        stem = golden_file.stem_of(self._test, suffix=suffix)
        failure = golden_file.judge(
            metrics, folder=self._folder, stem=stem, tolerances=granted, update=self._update
        )
        if failure:
            pytest.fail(failure, pytrace=False)
