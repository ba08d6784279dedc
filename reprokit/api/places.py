"""What a project holds: its recipes, runs, goldens, reports and comparisons."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reprokit import golden, harness, recipes, runs
from reprokit.api.answers import CompareAnswer, ReportCheck
from reprokit.api.options import load_extensions_of
from reprokit.api.reports import Report, report_of
from reprokit.api.runs import Ensemble, Golden, Run, ensemble_of, golden_of, run_of
from reprokit.errors import CannotRunError
from reprokit.golden import ensemble
from reprokit.layout import COMPARISON, REPORT
from reprokit.project import Project
from reprokit.recipes import Recipe
from reprokit.reports.formats import to_json

AnyProject = Project | Path | str | None


def open_project(folder: Path | str = ".") -> Project:
    """The project of the nearest folder, from this one up, with ``recipes/`` or ``[tool.reprokit]``.

    Raises:
        UsageError: ``[tool.reprokit]`` has something else than it may.

    >>> open_project(".").golden_dir.name
    'golden'
    """
    return Project.around(Path(folder))


def list_recipes(project: AnyProject = None) -> list[str]:
    """The names of a project's recipes.

    >>> list_recipes()
    ['train']
    """
    return recipes.list_names(project_at(project).recipes_dir)


def load_recipe(name: str, *, overrides: Sequence[str] = (), project: AnyProject = None) -> Recipe:
    """A recipe, validated, ``path=value`` overrides applied, defaults filled in.

    Raises:
        RecipeError: It breaks the schema, or there is none of this name.

    >>> load_recipe("train").name
    'train'
    """
    return recipes.load(name, recipes_dir=project_at(project).recipes_dir, overrides=overrides)


def read_run(reference: Path | str, *, verify: bool = True, project: AnyProject = None) -> Run:
    """A run, by its folder, its id, or the beginning of its id.

    Args:
        reference: Which.
        verify: Compare every file with its digest in COMPLETE.
        project: Where ids are looked for.

    Raises:
        ReportError: There is no such run, or several.

    >>> read_run(list_runs()[0]).recipe
    'cartpole_baseline'
    """
    return run_of(runs.read(runs.find(project_at(project).runs_dir, str(reference)), verify=verify))


def list_runs(recipe: str | None = None, *, project: AnyProject = None) -> list[Path]:
    """The run folders of a project, oldest first; of one recipe where it is named.

    >>> len(list_runs("cartpole_baseline")), list_runs("train")
    (2, [])
    """
    return runs.list_all(project_at(project).runs_dir, recipe=recipe)


def read_golden(folder: Path | str) -> Golden:
    """A golden, from its folder ``golden/<recipe>/<platform>/seed-<n>``.

    Raises:
        GoldenError: Something is missing, malformed, or not what was promoted.

    >>> read_golden(list_goldens()[0]).platform
    'cpu-x86_64'
    """
    return golden_of(golden.load(Path(folder)))


def list_goldens(project: AnyProject = None) -> list[Path]:
    """The folders of a project's goldens and ensembles, also of those that are broken.

    >>> [folder.name for folder in list_goldens()]
    ['seed-42']
    """
    folder = project_at(project).golden_dir
    return [row.path for row in (*golden.list_all(folder), *ensemble.list_ensembles(folder))]


def read_ensemble(folder: Path | str) -> Ensemble:
    """An ensemble, from its folder ``golden/<recipe>/<platform>/ensemble``.

    Raises:
        GoldenError: Something is missing, malformed, or not what was promoted.

    >>> read_ensemble("golden/train/cpu-x86_64/ensemble")
    Traceback (most recent call last):
    reprokit.errors.GoldenError: ...
    """
    return ensemble_of(ensemble.load_ensemble(Path(folder)))


def read_report(path: Path | str) -> Report:
    """A report, from its folder or its ``report.json``. Whether it holds is what ``check_report`` says.

    Raises:
        ReportError: It is none.

    >>> read_report(list_reports()[0]).seed
    42
    """
    where = Path(path)
    return report_of(to_json.load(where), where if where.is_dir() else where.parent)


def list_reports(project: AnyProject = None) -> list[Path]:
    """The folders of a project's reports, oldest first by their names.

    >>> [folder.name for folder in list_reports()]
    ['T']
    """
    found = runs.reading.files_two_below(project_at(project).reports_dir, REPORT)
    return [Path(path) for _, _, path in sorted(found, key=lambda one: (one[1], one[0]))]


def check_report(path: Path | str, *, project: AnyProject = None) -> ReportCheck:
    """Judge a report's runs again, as ``reprokit report verify`` does, signatures aside.

    Raises:
        ReportError: It is no report.

    >>> check_report(list_reports()[0]).exit_code in (0, 1, 4)
    True
    """
    where = Path(path)
    found = harness.audit(where / REPORT if where.is_dir() else where, project=project_at(project))
    return ReportCheck(
        follows=found.follows,
        findings=found.findings,
        not_checked=found.not_checked,
        made_by=found.made_by,
        exit_code=found.exit_code,
    )


def read_comparison(path: Path | str) -> CompareAnswer:
    """The answer of ``compare``, from the folder of its report or its ``compare.json``.

    Raises:
        ReportError: It is none.

    >>> read_comparison("reports/none")
    Traceback (most recent call last):
    reprokit.errors.ReportError: ...
    """
    where = Path(path)
    file = where / COMPARISON if where.is_dir() else where
    return CompareAnswer.of(feature("compare.answer").load(file).answer, folder=file.parent)


def project_at(project: AnyProject) -> Project:
    """The project itself, or that of a folder; of the working directory where none is named."""
    found = project if isinstance(project, Project) else Project.around(Path(project or "."))
    load_extensions_of(found)
    return found


def feature(module: str) -> Any:
    """A module of a feature: ``compare.answer``.

    Raises:
        CannotRunError: Its folder was taken out of this installation.
    """
    try:
        return importlib.import_module(f"reprokit.features.{module}")
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("reprokit.features"):
            raise
        name = module.partition(".")[0]
        raise CannotRunError(f"this installation lacks the feature {name}", where="reprokit.api") from error
