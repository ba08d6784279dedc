"""Runs of a program that has no recipe yet: in a copy of its project, in the environment that it will have.

The copy is a repository of its own, so nothing of the person's project is touched before they agree.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit import adapters, recipes, runs
from reprokit.capture import git_history
from reprokit.core.comparison import Comparison
from reprokit.core.records import Outcome
from reprokit.core.run_record import RecordedProgram, RunRecord
from reprokit.errors import CannotJudgeError, CannotRunError, MetricsError, UsageError
from reprokit.feature import offered
from reprokit.features.init.recipe_text import recipe_text
from reprokit.features.init.why_not_there import Start, remedy
from reprokit.harness.diagnosing.held_clock import clock_columns
from reprokit.harness.running.failure import failure_of
from reprokit.harness.running.programs import program_files, program_output, unseen_module
from reprokit.harness.running.programs.program_output import PROGRAM_MOUNT, WORK
from reprokit.harness.running.run_kinds import WholeRun
from reprokit.harness.running.start_runs import run_recipe
from reprokit.images import locks
from reprokit.layout import METRICS, PROGRAM, RECIPE, STDERR, STDOUT
from reprokit.project import Project, project_folder
from reprokit.recipes import Program, Recipe
from reprokit.records import run_json
from reprokit.request import Request
from reprokit.session import Progress, Session

_READ_ONLY = "Read-only file system"


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftProject:
    """A copy of a project in which a draft of a recipe can be run.

    Attributes:
        project: The copy.
        progress: Told of what happens.
    """

    project: Project
    progress: Progress

    def recipe(self, values: Mapping[str, Any]) -> Recipe:
        """The draft as a recipe.

        Raises:
            RecipeError: It is none.
        """
        name = str(values["name"])
        file = self.project.recipes_dir / name / RECIPE
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(recipe_text(values), encoding="utf-8")
        return recipes.load(name, recipes_dir=self.project.recipes_dir)

    def run(self, recipe: Recipe, *, seed: int, repeats: int, backend: str = "auto") -> tuple[Path, ...]:
        """Run folders, whether the program ended well or not; made where `reproduce` makes its runs."""
        request = Request(seed=seed, repeats=repeats, backend=backend, side_by_side=False)
        return run_recipe(
            recipe,
            request,
            WholeRun(repeats=repeats),
            session=Session(project=self.project, progress=self.progress),
        )

    def clock_columns(self, recipe: Recipe, folders: Sequence[Path], *, seed: int) -> tuple[str, ...]:
        """Metrics of two runs that differ and follow the clock alone; none where that cannot be seen."""
        try:
            return clock_columns(
                recipe,
                Request(seed=seed, repeats=1, side_by_side=False),
                folders,
                session=Session(project=self.project, progress=self.progress),
            )
        except (CannotJudgeError, CannotRunError, MetricsError):
            return ()


@contextmanager
def trial_of(project: Project, *, progress: Progress) -> Iterator[DraftProject]:
    """A copy of the project's tracked files, removed afterwards.

    Raises:
        UsageError: The project is in no git repository, or git tracks nothing in it.
    """
    with tempfile.TemporaryDirectory(prefix="reprokit-init-", ignore_cleanup_errors=True) as name:
        root = Path(name).resolve() / project.root.name
        root.mkdir()
        for file in program_files.tracked_files(project.root):
            target = root / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(project.root / file, target)
            shutil.copymode(project.root / file, target)
        project_folder(root, "recipes").mkdir(parents=True, exist_ok=True)
        for arguments in (["init", "--quiet"], ["add", "--all", "--force"]):
            git_history.git(root, *arguments)
        yield DraftProject(project=Project.around(root), progress=progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonAsked:
    """What a person says of the program's Python.

    Attributes:
        version: ``3.12``; None where nothing is said.
        fetch: Whether uv may fetch an interpreter that this host does not have.
        is_locked: Whether its packages are locked, where a file names them.
    """

    version: str | None = None
    fetch: bool = False
    is_locked: bool = True


def lock_environment(
    name: str,
    source: Path,
    trial: DraftProject,
    *,
    command: Sequence[str],
    started_in: Path,
    asked: PythonAsked,
) -> str:
    """Lock an environment of the copy from one of its files.

    Returns:
        Its Python, and why it is the one; "" where nothing that locks is installed.
    """
    lock = offered("lock_from")
    if lock is None:
        return ""
    return str(
        lock(
            name,
            source,
            project=trial.project.root,
            command=command,
            started_in=started_in,
            python=asked.version,
            fetch=asked.fetch,
            on_progress=trial.progress.note,
        )
    )


def locked_python(name: str, project: Project, *, asked: PythonAsked) -> str:
    """The Python of an environment that is there already.

    Raises:
        UsageError: Another one is asked for.
    """
    variant = locks.read_lock(project.root).variant(name)
    if asked.version not in {None, variant.python}:
        raise UsageError(
            "the environment that is there does not have the Python that is asked for",
            where=str(variant.declared_in),
            expected=f"Python {asked.version} (--python)",
            actual=f"Python {variant.python} ({variant.declared_in.name})",
            fix=f"reprokit image lock {name} --python {asked.version}",
        )
    return f"{variant.python}, as {variant.declared_in.relative_to(project.root)} says"


def written_files(folder: Path) -> tuple[str, ...]:
    """What a run that wrote into its own files wrote there, but for names with a dot at the top."""
    program = run_json.recorded(folder).program or RecordedProgram()
    changed = program_output.changed_files(folder, program.files)
    return tuple(name for name in changed if not name.startswith("."))


def places_of(names: Iterable[str]) -> tuple[str, ...]:
    """The folders and files at the top in which files lie."""
    return tuple(sorted({f"{name.partition('/')[0]}/" if "/" in name else name for name in names}))


def could_not_write(folder: Path) -> bool:
    """Whether a run in a container ended because the program writes next to its own files."""
    record = run_json.recorded(folder)
    return record.backend == "docker" and not record.completed and _READ_ONLY in _told_by(folder, record)


def _told_by(folder: Path, record: RunRecord) -> str:
    return f"{record.message}\n{printed_by(folder)}"


def must_have_ended(folders: Sequence[Path], *, root: Path, typed: Sequence[str]) -> None:
    """Raise what kept a run from its end, with the last lines that the program printed.

    ``root``: the person's project, of which the runs saw what git tracks; ``typed``: the command there.

    Raises:
        CannotRunError: A run is not complete.
    """
    failure = failure_of(folders, [runs.read(folder, verify=False) for folder in folders])
    if failure is None:
        return
    said = f"{failure['message']}\n{failure['log_tail']}"
    missing = unseen_module.MISSING.search(said)
    fix = "does it run as it was typed? name {seed} and {run_dir} where the program takes them"
    if failure["outcome"] != Outcome.CRASHED:
        fix = str(failure["remedy"])
    elif helps := remedy(said, start=_start(folders[0], root=root, typed=typed)):
        fix = helps
    elif missing:
        fix = f"add the package of {missing[1]!r} to the file that names the dependencies, and try again"
    message = re.sub(rf"/[^\s:]*/{PROGRAM}/", "", str(failure["message"]))  # of a copy that is gone by now
    raise CannotRunError(f"the program did not end well: {message}", fix=fix)


def _start(folder: Path, *, root: Path, typed: Sequence[str]) -> Start:
    seen = (run_json.recorded(folder).program or RecordedProgram()).files
    copies = [*program_output.places_of(folder), str(folder.resolve() / PROGRAM)]
    inside = [copy for copy in copies if copy.endswith((PROGRAM, PROGRAM_MOUNT, WORK))]
    return Start(words=typed, root=root.resolve(), seen=tuple(seen), copies=inside)


def metrics_of(folder: Path, program: Program) -> dict[str, Any]:
    """The run's metrics written again, as ``program`` says; ``metrics_problem`` where there are none."""
    (folder / METRICS).unlink(missing_ok=True)
    return program_output.write_metrics(folder, program)


def compared(first: Path, other: Path) -> Comparison:
    """Two runs' metrics.

    Raises:
        MetricsError: One has none.
    """
    if not (first / METRICS).is_file() or not (other / METRICS).is_file():
        raise MetricsError("a run left no metrics", kind="no_metrics_file", where=str(first))
    return adapters.compare(first / METRICS, other / METRICS)


def printed_by(folder: Path) -> str:
    """What a run's program printed."""
    return "\n".join((folder / log).read_text("utf-8", "replace") for log in (STDOUT, STDERR))
