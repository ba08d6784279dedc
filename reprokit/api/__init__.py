"""What programs may build on: verbs, records, statistics and errors, under names that stay.

Semantic versioning holds for every name of ``__all__``: one is removed or changes its meaning only after a
release in which its use warns. All other modules of reprokit are internal.

    >>> from reprokit import api
    >>> report = api.reproduce("pinpad", backend="local")  # doctest: +SKIP
    >>> report.verdict, report.exit_code  # doctest: +SKIP
    ('REPRODUCED', 0)
"""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reprokit.api.answers import CompareAnswer, Diagnosis, Gate, GateEntry, ReportCheck, Side, SideOptions
    from reprokit.api.comparisons import Comparison
    from reprokit.api.options import RunOptions
    from reprokit.api.places import (
        check_report,
        list_goldens,
        list_recipes,
        list_reports,
        list_runs,
        load_recipe,
        open_project,
        read_comparison,
        read_ensemble,
        read_golden,
        read_report,
        read_run,
    )
    from reprokit.api.reports import Report, Row
    from reprokit.api.runs import Ensemble, EnsembleMember, Golden, Run
    from reprokit.api.statistics import (
        bootstrap_interval,
        holm_correction,
        interquartile_mean,
        seeds_for_power,
        statistics_of,
        summarise,
        t_interval,
    )
    from reprokit.api.verbs import compare, compare_commands, diagnose, diff, reproduce, run, verify
    from reprokit.core.checklist import Verdict
    from reprokit.core.comparing.difference import Divergence, MetricSummary, Problem
    from reprokit.core.records import Outcome
    from reprokit.core.statistics.intervals import Interval
    from reprokit.core.statistics.summary import SeedSummary
    from reprokit.core.verdicts.rows import Status
    from reprokit.diagnosis import Cause
    from reprokit.errors import (
        BundleError,
        CannotJudgeError,
        CannotRunError,
        CheckpointError,
        DataError,
        DeviceError,
        DiskFullError,
        EngineError,
        GoldenError,
        ImageError,
        MetricsError,
        MissingExtraError,
        RecipeError,
        ReportError,
        ReprokitError,
        SchedulerError,
        UploadError,
        UsageError,
        WorkspaceBusyError,
        WorkspaceError,
    )
    from reprokit.project import Project
    from reprokit.recipes import Recipe
    from reprokit.session import Progress

_ERRORS = (
    "BundleError CannotJudgeError CannotRunError CheckpointError DataError DeviceError DiskFullError "
    "EngineError GoldenError ImageError MetricsError MissingExtraError RecipeError ReportError ReprokitError "
    "SchedulerError UploadError UsageError WorkspaceBusyError WorkspaceError"
)
#: Module → the names that it has. Each is imported when it is used first.
_HOMES = {
    "reprokit.api.answers": "CompareAnswer Diagnosis Gate GateEntry ReportCheck Side SideOptions",
    "reprokit.api.comparisons": "Comparison",
    "reprokit.api.options": "RunOptions",
    "reprokit.api.places": (
        "check_report list_goldens list_recipes list_reports list_runs load_recipe open_project "
        "read_comparison read_ensemble read_golden read_report read_run"
    ),
    "reprokit.api.reports": "Report Row",
    "reprokit.api.runs": "Ensemble EnsembleMember Golden Run",
    "reprokit.api.statistics": (
        "bootstrap_interval holm_correction interquartile_mean seeds_for_power statistics_of summarise "
        "t_interval"
    ),
    "reprokit.api.verbs": "compare compare_commands diagnose diff reproduce run verify",
    "reprokit.core.checklist": "Verdict",
    "reprokit.core.comparing.difference": "Divergence MetricSummary Problem",
    "reprokit.core.records": "Outcome",
    "reprokit.core.statistics.intervals": "Interval",
    "reprokit.core.statistics.summary": "SeedSummary",
    "reprokit.core.verdicts.rows": "Status",
    "reprokit.diagnosis": "Cause",
    "reprokit.errors": _ERRORS,
    "reprokit.project": "Project",
    "reprokit.recipes": "Recipe",
    "reprokit.session": "Progress",
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = [
    "BundleError",
    "CannotJudgeError",
    "CannotRunError",
    "Cause",
    "CheckpointError",
    "CompareAnswer",
    "Comparison",
    "DataError",
    "DeviceError",
    "Diagnosis",
    "DiskFullError",
    "Divergence",
    "EngineError",
    "Ensemble",
    "EnsembleMember",
    "Gate",
    "GateEntry",
    "Golden",
    "GoldenError",
    "ImageError",
    "Interval",
    "MetricSummary",
    "MetricsError",
    "MissingExtraError",
    "Outcome",
    "Problem",
    "Progress",
    "Project",
    "Recipe",
    "RecipeError",
    "Report",
    "ReportCheck",
    "ReportError",
    "ReprokitError",
    "Row",
    "Run",
    "RunOptions",
    "SchedulerError",
    "SeedSummary",
    "Side",
    "SideOptions",
    "Status",
    "UploadError",
    "UsageError",
    "Verdict",
    "WorkspaceBusyError",
    "WorkspaceError",
    "bootstrap_interval",
    "check_report",
    "compare",
    "compare_commands",
    "diagnose",
    "diff",
    "holm_correction",
    "interquartile_mean",
    "list_goldens",
    "list_recipes",
    "list_reports",
    "list_runs",
    "load_recipe",
    "open_project",
    "read_comparison",
    "read_ensemble",
    "read_golden",
    "read_report",
    "read_run",
    "reproduce",
    "run",
    "seeds_for_power",
    "statistics_of",
    "summarise",
    "t_interval",
    "verify",
]


#: A name of the last release → the one to use instead: its use warns, and the next release lacks it.
_OLD: dict[str, str] = {}


def __getattr__(name: str) -> Any:
    if name in _OLD:
        told = f"reprokit.api.{name} will be removed in the next release: use reprokit.api.{_OLD[name]}"
        warnings.warn(told, DeprecationWarning, stacklevel=2)
        return globals().get(_OLD[name]) or __getattr__(_OLD[name])
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
