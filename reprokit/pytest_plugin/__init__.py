"""Goldens and runs in anyone's test suite: ``golden_run``, ``reprokit_golden``, ``reprokit_run``.

It is loaded with every pytest that has reprokit next to it, so it imports next to nothing before it is used.

    def test_ppo(golden_run):
        golden_run("python train.py --seed 1")

    def test_training_repeats(reprokit_golden):
        reprokit_golden.check(train(seed=42))  # a list of dicts, a dict of arrays, or a path

    def test_it_learns(reprokit_run):
        assert reprokit_run("cartpole_baseline", seed=3).series("train/episodic_return")[-1] > 100
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from reprokit.pytest_plugin.run_in_test import FinishedRun, Reproduced

__all__ = [
    "GoldenFixture",
    "GoldenRunFixture",
    "RunFixture",
    "golden_run",
    "pytest_addoption",
    "reprokit_golden",
    "reprokit_run",
]

_OPTION = "--reprokit-update"
_SHORT = "--golden-update"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--reprokit-update``, which is ``--golden-update`` too."""
    parser.getgroup("reprokit").addoption(
        _OPTION,
        _SHORT,
        action="store_true",
        default=False,
        help="write the goldens of tests again; a test whose golden changed fails once",
    )


@pytest.fixture
def reprokit_golden(request: pytest.FixtureRequest) -> GoldenFixture:
    """Compares metrics with the golden of this test."""
    return _golden_of(request)


@pytest.fixture
def golden_run(request: pytest.FixtureRequest, tmp_path: Path) -> GoldenRunFixture:
    """Runs a command and compares its numbers with the golden of this test."""
    return GoldenRunFixture(
        golden=_golden_of(request),
        cwd=request.config.rootpath,
        folder=tmp_path,
        seed=getattr(request.node, "callspec", None) and request.node.callspec.params.get("seed"),
    )


def _golden_of(request: pytest.FixtureRequest) -> GoldenFixture:
    classes = [one.name for one in request.node.listchain() if isinstance(one, pytest.Class)]
    return GoldenFixture(
        folder=request.path.parent / request.path.stem,
        test=".".join([*classes, request.node.name]),  # methods of two classes may share a name
        update=bool(request.config.getoption(_OPTION)),
    )


@pytest.fixture
def reprokit_run(request: pytest.FixtureRequest, tmp_path: Path) -> RunFixture:
    """Runs a recipe of the test's project, or a command, into the test's own folder."""
    return RunFixture(start=request.path.parent, folder=tmp_path)


def _judged(judge: Callable[[], str]) -> None:
    """Fail with what ``judge`` says. Its errors show the line of the test, and no code of this package."""
    __tracebackhide__ = True
    from reprokit.errors import ReprokitError  # noqa: PLC0415  (only where something is compared)

    try:
        failure = judge()
    except ReprokitError as error:
        raise error.with_traceback(None) from None
    if failure:
        pytest.fail(failure, pytrace=False)


class RunFixture:
    """What a test runs. Goldens are the project's; runs and reports lie in the test's folder."""

    def __init__(self, *, start: Path, folder: Path) -> None:
        self._start, self._folder = start, folder

    def __call__(
        self,
        what: str | Sequence[str],
        *,
        seed: int | None = None,
        settings: Mapping[str, Any] | None = None,
        options: Sequence[str] = (),
    ) -> FinishedRun:
        """Run once, without a verdict: a recipe by its name, or a command as a list of words.

        Args:
            what: A name, or words with the placeholders ``{seed}``, ``{run_dir}`` and ``{device}``.
            seed: The recipe's first where it is None; 0 of a command.
            settings: Of a recipe, in the place of its own: what ``--set`` takes.
            options: Further ones of ``reprokit run``, such as ``["--backend", "local"]``.

        Raises:
            ReprokitError: The run did not finish, with the end of its log; or there is no such recipe.
        """
        from reprokit.pytest_plugin import run_in_test  # noqa: PLC0415  (numpy)

        words, project = self._words(what, seed, settings, options)
        return run_in_test.run_once(words, project=project)

    def reproduce(
        self,
        what: str | Sequence[str],
        *,
        seed: int | None = None,
        settings: Mapping[str, Any] | None = None,
        options: Sequence[str] = (),
        expect: str = "",
    ) -> Reproduced:
        """Run twice, compare the runs and the golden.

        Args:
            what: As for a single run, and so are ``seed`` and ``settings``.
            seed: See there.
            settings: See there.
            options: Further ones of ``reprokit reproduce``.
            expect: The verdict that there must be; REPRODUCED or REPEATABLE where it is empty.

        Raises:
            ReprokitError: It is another verdict, or a run did not finish.
        """
        from reprokit.pytest_plugin import run_in_test  # noqa: PLC0415  (numpy)

        reports = ["--reports-dir", str(self._folder / "reports")]
        words, project = self._words(what, seed, settings, [*reports, *options])
        return run_in_test.reproduce(words, project=project, expect=expect)

    def _words(
        self,
        what: str | Sequence[str],
        seed: int | None,
        settings: Mapping[str, Any] | None,
        options: Sequence[str],
    ) -> tuple[list[str], Path]:
        from reprokit.project import Project  # noqa: PLC0415  (only where something is run)

        words = ["--runs-dir", str(self._folder / "runs"), *options]
        words += [] if seed is None else ["--seed", str(seed)]
        for name, value in (settings or {}).items():
            words += ["--set", f"{name}={value}"]
        named = [what] if isinstance(what, str) else []
        command = [] if isinstance(what, str) else ["--", *map(str, what)]
        return [*words, *named, *command], Project.around(self._start).root


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
        Where they differ, the metrics are written next to the golden (``<test>.obtained.jsonl``).
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
        from reprokit.pytest_plugin import golden_file  # noqa: PLC0415  (numpy)

        _judged(lambda: golden_file.judge(metrics, **self.question(name, rtol, atol, tolerances)))

    def question(
        self, name: str, rtol: float, atol: float, tolerances: Mapping[str, Mapping[str, Any]] | None
    ) -> dict[str, Any]:
        """The arguments of ``golden_file.judge`` for the next golden of the test."""
        from reprokit.core.tolerance import Tolerance, Tolerances  # noqa: PLC0415  (numpy)
        from reprokit.pytest_plugin.golden_file import stem_of  # noqa: PLC0415

        self._asked += 1
        suffix = name or (str(self._asked) if self._asked > 1 else "")
        granted = Tolerances(
            default=Tolerance(rtol=rtol, atol=atol),
            metrics={metric: Tolerance(**terms) for metric, terms in (tolerances or {}).items()},
        )
        stem = stem_of(self._test, suffix=suffix)
        return {"folder": self._folder, "stem": stem, "tolerances": granted, "update": self._update}


class GoldenRunFixture:
    """Runs a command for a test; its run folders lie below ``folder``."""

    def __init__(self, *, golden: GoldenFixture, cwd: Path, folder: Path, seed: Any) -> None:
        self._golden, self._cwd, self._folder = golden, cwd, folder
        self._seed: int | None = seed if isinstance(seed, int) else None
        self._asked = 0

    def __call__(
        self,
        command: str | Sequence[str],
        *,
        seed: int | None = None,
        ignore: Sequence[str] = (),
        name: str = "",
        rtol: float = 0.0,
        atol: float = 0.0,
        tolerances: Mapping[str, Mapping[str, Any]] | None = None,
        timeout_s: float | None = None,
    ) -> None:
        """Fail unless the command's numbers are the golden's, bit for bit by default.

        They are what it logs below ``{run_dir}``, or the numbers that it prints where it logs none. A golden
        is written as by ``GoldenFixture.check``, after two equal runs.

        Args:
            command: As typed in pytest's root folder, ``python`` being that of the tests; or its words.
                ``{run_dir}`` is an empty folder, ``{seed}`` the seed.
            seed: The test's parameter ``seed`` where it is None.
            ignore: Patterns of metrics that are left out, such as ``["time/*"]``.
            name: As of ``GoldenFixture.check``, and so are the tolerances.
            rtol: See there.
            atol: See there.
            tolerances: See there.
            timeout_s: Seconds after which it is ended.

        Raises:
            ReprokitError: It logs nothing that can be compared, or a placeholder is wrong.
        """
        __tracebackhide__ = True
        from reprokit.pytest_plugin import command_run  # noqa: PLC0415  (numpy)

        self._asked += 1

        def judge() -> str:
            words = command_run.words_of(command)
            from_test = self._seed if any("{seed}" in word for word in words) else None
            asked = command_run.GoldenCommand(
                words=words,
                seed=from_test if seed is None else seed,
                cwd=self._cwd,
                folder=self._folder / f"golden-run-{self._asked}",
                timeout_s=timeout_s,
                ignore=ignore,
            )
            return command_run.check(asked, **self._golden.question(name, rtol, atol, tolerances))

        _judged(judge)
