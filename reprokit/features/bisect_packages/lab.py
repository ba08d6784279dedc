"""The environments of a search made, run and compared: what is known already is not run again."""

from __future__ import annotations

import dataclasses
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from reprokit.core.records import digest
from reprokit.errors import CannotJudgeError, CannotRunError
from reprokit.feature import offered
from reprokit.features.bisect_packages.runner import Runner
from reprokit.features.bisect_packages.search import Finished, Packages, Tried, Wanted, differing
from reprokit.features.bisect_packages.solving import Solver
from reprokit.harness.attribution.compared_runs import CACHE, KeptMetrics, difference, platforms_of
from reprokit.harness.running.numbers import tree_digest
from reprokit.images.locks import read_lock
from reprokit.project import project_folder, settings_of
from reprokit.session import Session

_PROJECT_FILE = "pyproject.toml"
GOOD, BAD, SKIPPED = "good", "bad", "skip"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """An environment and what its run came to.

    Attributes:
        what: How it differs from the good end: ``jax 0.4.38 -> 0.5.0``.
        result: ``good``, ``bad`` or ``skip``.
        detail: Where its numbers part, or why there are none.
        trained: Whether it was run now, not known from an earlier search.
    """

    what: str
    result: str
    detail: str = ""
    trained: bool = True


class Lab:
    """Runs a recipe with sets of packages.

    Args:
        solver: Solves sets of packages.
        runner: Makes environments and runs.
        session: The project.
        scratch: A folder for the runs.
        ignore_rounding: Whether what twins show to be rounding alone counts as equal.
    """

    def __init__(
        self,
        *,
        solver: Solver,
        runner: Runner,
        session: Session,
        scratch: Path,
        ignore_rounding: bool = False,
    ) -> None:
        self._ignores_rounding = ignore_rounding
        self._why_not_rounding: dict[Path, Callable[[Path], str]] = {}
        self._recipe, self._request = runner.recipe, runner.request
        self._solver, self._runner, self._session, self._scratch = solver, runner, session, scratch
        self._platforms = platforms_of(self._request, session.project)
        self._known: dict[tuple[tuple[str, str], ...], Tried] = {}
        self._new: set[tuple[tuple[str, str], ...]] = set()
        self._good: Packages | None = None
        self.tested: list[Tested] = []

    def solve(self, wanted: Wanted, *, good: Packages, bad: Packages) -> Packages | None:
        """The packages of ``good``, with ``wanted`` and what must move with it; None where nothing fits."""
        return self._solver.solve(wanted, good=good, bad=bad)

    def releases(self, name: str, first: str | None, last: str | None) -> Sequence[str]:
        """The releases strictly between two, from the first on."""
        return self._solver.releases(name, first, last)

    def end(self, packages: Packages, *, name: str) -> Finished:
        """Run one end of the search, twice.

        Raises:
            CannotRunError: It does not run.
            CannotJudgeError: It does not repeat its own numbers.
        """
        tried = self._made(packages, is_end=True)
        if tried.metrics is None:
            raise CannotRunError(f"the {name} end does not run: {tried.why}")
        self._good = self._good or packages
        finished = Finished(packages=packages, metrics=tried.metrics)
        self.must_repeat(finished)
        return finished

    def run(self, packages: Packages) -> Tried:
        """Run the recipe with these packages; what was run already is known."""
        return self._made(packages, is_end=False)

    def must_repeat(self, finished: Finished) -> None:
        """Run once more what others are compared with, unless two runs are known to agree.

        Raises:
            CannotJudgeError: It does not repeat its own numbers.
        """
        with self._environment(finished.packages) as session:
            kept = self._kept(session)
            if kept.num_runs >= 2:
                return
            again, _ = self._runner.run(session, is_end=True)
            if again is None or again.read_bytes() != finished.metrics.read_bytes():
                kept.drop()
                raise CannotJudgeError(
                    "the numbers do not repeat in one environment, so no package can be blamed",
                    where=self._told(finished.packages),
                    fix=f"`reprokit diagnose {self._recipe.name}` finds the line",
                )
            kept.keep(finished.metrics, runs=2)

    def difference(self, reference: Path, metrics: Path) -> str:
        """Where two runs' numbers differ; "" where they do not, or by rounding alone and that is ignored."""
        found = difference(reference, metrics, recipe=self._recipe, platforms=self._platforms)
        if not found or not self._ignores_rounding:
            return found
        if reference not in self._why_not_rounding:
            self._why_not_rounding[reference] = self._twins(reference)
        why = self._why_not_rounding[reference](metrics)
        return f"{found}; {why}" if why else ""

    def _twins(self, reference: Path) -> Callable[[Path], str]:
        """What judges by twins of the environment whose metrics these are."""
        judge_from = offered("rounding_from_here")
        if judge_from is None:
            raise CannotJudgeError("nothing that is installed here judges rounding")
        packages = next(one.packages for one in self._known.values() if one.metrics == reference)
        with self._environment(packages) as session:
            self._session.progress.note(f"twins of {self._told(packages)}")
            found: Callable[[Path], str] = judge_from(self._recipe, reference, self._request, session=session)
            return found

    def judged(self, tried: Tried, difference: str) -> None:
        """Note what an environment came to."""
        result = SKIPPED if tried.metrics is None else BAD if difference else GOOD
        one = Tested(
            what=self._told(tried.packages),
            result=result,
            detail=difference or tried.why,
            trained=tried.packages.key in self._new,
        )
        self.tested.append(one)
        again = "" if one.trained else ", known from before"
        detail = f" ({one.detail})" if one.detail else ""
        self._session.progress.note(f"{one.what} is {result}{again}{detail}")

    def _told(self, packages: Packages) -> str:
        start = (self._good or packages).versions
        moved = [
            f"{name} {start.get(name, '(none)')} -> {packages.versions.get(name, '(none)')}"
            for name in differing(start, packages.versions)
        ]
        return ", ".join(moved) or "the good end"

    def _made(self, packages: Packages, *, is_end: bool) -> Tried:
        if (known := self._known.get(packages.key)) is not None:
            return known
        with self._environment(packages) as session:
            kept = self._kept(session)
            if (found := kept.found) is not None:
                tried = Tried(packages=packages, metrics=self._copied(found))
            else:
                self._new.add(packages.key)
                metrics, why = self._runner.run(session, is_end=is_end)
                metrics = metrics and self._copied(kept.keep(metrics))
                tried = Tried(packages=packages, metrics=metrics, why=why)
        self._known[packages.key] = tried
        return tried

    def _copied(self, metrics: Path) -> Path:
        """A copy that no one else changes during the search."""
        target = self._scratch / f"metrics-{len(self._known)}.jsonl"
        shutil.copyfile(metrics, target)
        return target

    def _kept(self, session: Session) -> KeptMetrics:
        """Where the metrics of these packages are kept, by all that they stand on."""
        asked = [self._request.seed_of(self._recipe.seeds), self._request.backend, self._request.base]
        found = [tree_digest(session.project.root, self._recipe), *asked, platform.machine()]
        key = digest([*found, self._recipe.platform or ""]).removeprefix("sha256:")
        return KeptMetrics(folder=self._session.project.runs_dir / CACHE / key)

    @contextmanager
    def _environment(self, packages: Packages) -> Iterator[Session]:
        """The project with another lock; its own is not changed."""
        project = self._session.project
        with tempfile.TemporaryDirectory(prefix="reprokit-packages-") as name:
            root = Path(name)
            if (project.root / _PROJECT_FILE).is_file():
                shutil.copyfile(project.root / _PROJECT_FILE, root / _PROJECT_FILE)
            shutil.copytree(project_folder(project.root, "images"), root / settings_of(project.root).images)
            lock = read_lock(root).variant(self._recipe.variant).packages_path
            lock.write_text(packages.text, encoding="utf-8")
            there = dataclasses.replace(project, root=root, runs_dir=self._scratch / "runs")
            yield dataclasses.replace(self._session, project=there)
