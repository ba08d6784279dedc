"""A finished run in place of a golden: reproducing someone else's run.

The run is repeated from its own folder: recipe and trainer from ``source/``, its overrides, its seed, the
environment that its record names. The new runs are judged as against a golden:

- REPRODUCED: the new runs agree with each other and with the run.
- NONDETERMINISTIC: the new runs differ from each other.
- REGRESSION: they agree, but differ from the run, under the same numerics.
- STALE_GOLDEN: they agree, but differ from the run, in an environment that computes differently.
- NO_GOLDEN: they were made on another platform than the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from reprokit import recipes, runs
from reprokit.core import fingerprint
from reprokit.core.checklist import Report
from reprokit.errors import CannotJudgeError, ReportError, UsageError
from reprokit.harness.judging.build_report import report_of
from reprokit.harness.judging.compared_with.reference import run_reference
from reprokit.harness.judging.gather import gather
from reprokit.harness.running.clock import now
from reprokit.harness.running.plan import shell_line
from reprokit.layout import RECIPE, SOURCE
from reprokit.recipes import Recipe
from reprokit.records import environment_json
from reprokit.request import Request

_FROM_SNAPSHOT = "ask for the run folder as it was written, with its source/"


def read_reference_run(folder: Path) -> runs.StoredRun:
    """Read a run that others are to be compared with.

    Raises:
        ReportError: It is no run folder, or does not say what was run.
        UsageError: It is the run of a plain command, whose environment is not pinned.
        CannotJudgeError: It is incomplete, or was changed since.
    """
    stored = runs.read(folder)
    record = stored.record
    if record.plain_command:
        line = shell_line(["reprokit", "run", "--seed", str(record.seed), "--", "COMMAND"])
        raise UsageError(
            "the run of a plain command cannot be repeated: it ran in an environment that is not pinned",
            where=str(folder),
            fix=f"`{line}` with its command, then `reprokit runs compare` the two",
        )
    runs.must_not_be_stopped(folder, what="nothing can be compared with it")
    if not stored.complete:
        raise CannotJudgeError(
            "the run is incomplete, so nothing can be compared with it",
            where=str(folder),
            expected="a run that finished, as it was written",
            actual=stored.incomplete_because,
        )
    if record.resumed_from is not None:
        raise CannotJudgeError(
            "nothing can be compared with a resumed run: it holds only the later steps",
            where=str(folder),
            fix="name a run that was never stopped",
        )
    if record.stopped_by is not None:
        raise CannotJudgeError(
            "nothing can be compared with a run that was stopped early",
            where=str(folder),
            fix="name a run that was never stopped",
        )
    seed, name = record.seed, record.recipe
    if not isinstance(seed, int) or isinstance(seed, bool) or not isinstance(name, str):
        raise ReportError("run.json does not say recipe and seed", where=str(folder), fix=_FROM_SNAPSHOT)
    return stored


def recipe_of(stored: runs.StoredRun) -> Recipe:
    """The recipe as the run had it: from its own snapshot, its overrides applied.

    Raises:
        ReportError: The folder holds no snapshot.
        RecipeError: The snapshot is no recipe that this reprokit reads.
    """
    name = str(stored.record.recipe)
    if Path(name).name != name or not (stored.path / SOURCE / name / RECIPE).is_file():
        raise ReportError(
            "the run folder holds no snapshot of its recipe", where=str(stored.path), fix=_FROM_SNAPSHOT
        )
    return recipes.load(name, recipes_dir=stored.path / SOURCE, overrides=recipes.asked_of(stored.record))


def judge_against(
    folders: Sequence[Path],
    stored: runs.StoredRun,
    recipe: Recipe,
    *,
    request: Request,
    phases: Mapping[str, float] | None = None,
) -> Report:
    """Judge runs with another run in place of a golden: nothing is run, nothing written."""
    rerun = f"{shell_line(['reprokit', 'runs', 'reproduce', str(stored.path)])}  # {recipe.name}"
    evidence = gather(
        recipe,
        folders,
        reference=run_reference(stored, recipe),
        seed=stored.record.seed,
    )
    evidence = replace(evidence, rerun=rerun, strict=request.strict)
    return report_of(evidence, folders=folders, command=request.command, now=now(), phases=phases)


def platform_of(stored: runs.StoredRun) -> str:
    """The platform that a run was made on."""
    return fingerprint.platform_of(environment_json.recorded(stored.path))
