"""A recipe run once in another source tree: an earlier commit, or today's code with another lock.

A tree that brings its own ``reprokit`` is run by that one, since what it sets before the interpreter starts
is part of what is under test; any other tree is run by this one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from reprokit import recipes, runs
from reprokit.core.verdicts.comparability import Objection
from reprokit.errors import ReprokitError
from reprokit.harness.attribution import own_environment
from reprokit.harness.running.numbers import package_of
from reprokit.layout import METRICS
from reprokit.project import project_folder
from reprokit.recipes import Recipe
from reprokit.request import Request
from reprokit.session import Progress

_STOP_S = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class WorktreeRun:
    """What came of a run: its folder, or why there is no finished one.

    Attributes:
        own: That it was made in an environment of the tree's own files, as a sentence; "" where it was not.
    """

    folder: Path | None = None
    why: str = ""
    own: str = ""

    @property
    def metrics(self) -> Path | None:
        return self.folder / METRICS if self.folder else None


def run_at(
    root: Path,
    name: str,
    *,
    request: Request,
    runs_dir: Path,
    progress: Progress,
    cores: Sequence[int] = (),
) -> WorktreeRun:
    """Run a recipe once in a tree; ``runs_dir`` is not the project's own, so that no list shows the run.

    ``cores``: those that a run of a pair had alone; with more of them a library may start more threads, whose
    sums are others. A container is not held to them.

    Where a recipe pins no environment and this Python lacks a package, the run is made again in one that is
    locked from the tree's own files; tree and recipe then have it (``own_environment.removed``).
    """
    with _held_to(cores):
        ran = _run_once(root, name, request=request, runs_dir=runs_dir, progress=progress)
    recipe = None if ran.folder else load(root, name, overrides=tuple(request.overrides))
    if not isinstance(recipe, Recipe):
        return ran
    own = own_environment.lock_own(root, recipe, why=ran.why, progress=progress)
    if not own:
        return ran
    progress.note(own)
    local = replace(request, backend="local")  # as a recipe that pins nothing runs
    with _held_to(cores):
        again = _run_once(root, name, request=local, runs_dir=runs_dir, progress=progress)
    return replace(again, own=own)


def load(root: Path, name: str, *, overrides: tuple[str, ...]) -> Recipe | Objection:
    """A tree's recipe, or why it cannot be read."""
    try:
        return recipes.load(name, recipes_dir=project_folder(root, "recipes"), overrides=overrides)
    except ReprokitError as error:
        return Objection(str(error))


@contextmanager
def _held_to(cores: Sequence[int]) -> Iterator[None]:
    """Have what this thread starts meanwhile use these cores alone; all of them where there are none."""
    if not cores:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, set(cores) & before or before)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _run_once(root: Path, name: str, *, request: Request, runs_dir: Path, progress: Progress) -> WorktreeRun:
    command = [sys.executable, "-P", "-m", "reprokit", "run", name, "--runs-dir", str(runs_dir)]
    command += ["--backend", request.backend, "--base", request.base]  # as older trees spell it
    command += ["--seed", str(request.seed)] if request.seed is not None else []
    command += ["--timeout", str(request.timeout_s)] if request.timeout_s else []
    command += [word for override in request.overrides for word in ("--set", override)]
    progress.note(f"running {name} in {root}")
    out, err = _output(command, root)
    folder = Path(out.splitlines()[-1]) if out.strip() else None
    if folder is None or not folder.is_dir():
        return WorktreeRun(why=_last_line(err))
    stored = runs.read(folder)
    if not stored.complete:
        return WorktreeRun(why=str(stored.record.message or stored.incomplete_because))
    if not (folder / METRICS).is_file():
        return WorktreeRun(why="the run wrote no metrics")
    return WorktreeRun(folder=folder)


def _output(command: list[str], root: Path) -> tuple[str, str]:
    environment = {**os.environ, "PYTHONPATH": str(package_of(root).parent)}
    with subprocess.Popen(
        command,
        cwd=root,
        env=environment,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as program:
        try:
            return program.communicate()
        except BaseException:  # Ctrl-C: it must end its own programs before its tree is removed
            program.terminate()
            try:
                program.wait(timeout=_STOP_S)
            except subprocess.TimeoutExpired:
                program.kill()
            raise


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line.removeprefix("Error: ") for line in lines if line.startswith("Error: ")]
    return (errors or lines or ["the run printed no error"])[-1]
