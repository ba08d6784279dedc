"""Row ``logs_complete``: metrics to the promised end, timing, and what the program printed."""

from __future__ import annotations

from reprokit.core.comparison import Problem
from reprokit.core.evidence import Evidence, RunEvidence, fact, is_integer
from reprokit.core.verdicts.rows import Finding, counted, failed_runs, passed, unjudged
from reprokit.layout import METRICS, STDERR, STDOUT, TIMING

ID = "logs_complete"
TITLE = "Logs and metrics are complete"
ORDER = 150
ADVISORY = False
NEEDS_RECIPE = False
NEEDS_WHOLE_RUNS = True

_STREAMS = (STDOUT, STDERR)
_RECORDS = (METRICS, TIMING)
# Words of core.problems: what a recipe's metrics may not even be warned of, and what a plain
# command's second file may hold without harm.
_STEPLESS = frozenset({"missing_step", "odd_step", "reordered_step", "no_final_newline"})
# What the host never leaves in the file that it writes of an unmodified program's metrics.
_TORN = frozenset({"no_final_newline"})
_IDLE = frozenset({"empty_file", "no_records"})


def check(evidence: Evidence) -> Finding:
    """Every run's logs; the promised end only where a recipe promises one."""
    remedy = "read stderr.log of that run, then run it again"
    if evidence.runs and all(run.complete and run.num_records == 0 for run in evidence.runs):
        remedy = "see the row repeatable"
    if broken := failed_runs(evidence, lambda run: _problem(run) or _of_recipe(evidence, run), remedy):
        return broken
    if any(run.metrics_problems is None for run in evidence.runs):
        return unjudged("the metrics were not read", "judge it again: `reprokit report show`")
    first = evidence.runs[0]
    reason = (
        f"{counted(first.num_records, 'record')} of {counted(len(first.metric_names), 'metric')} up to "
        f"step {first.last_step!r}"
    )
    return passed(
        f"{reason}, complete in every run", records=first.num_records, metrics=len(first.metric_names)
    )


def _problem(run: RunEvidence) -> str:
    broken = [problem for problem in run.metrics_problems or () if _breaks(problem)]
    if broken and broken[0].kind != "no_metrics_file":
        return broken[0].message.removeprefix(f"{run.path}: ")
    if run.num_records <= 0 or not run.metric_names:
        return "no metric was logged"
    absent = [name for name in _STREAMS if name not in run.files]
    return f"{', '.join(absent)} missing" if absent else ""


def _breaks(problem: Problem) -> bool:
    """Whether something is missing. That a file is empty does not matter where others hold records."""
    return problem.severity != "warning" and problem.kind not in _IDLE


def _of_recipe(evidence: Evidence, run: RunEvidence) -> str:
    if evidence.recipe is None:
        return ""
    unmodified = "command" in evidence.recipe
    kinds = _TORN if unmodified else _STEPLESS  # programs count steps as they like
    wrong = [problem.message for problem in run.metrics_problems or () if problem.kind in kinds]
    if wrong or unmodified:
        return wrong[0] if wrong else ""
    empty = [name for name in _RECORDS if run.files.get(name, 0) <= 0]
    if empty:
        return f"{', '.join(empty)} missing or empty"
    promised = fact(run.config, "training.total_timesteps")
    if not is_integer(promised) or promised <= 0:
        return f"config.yaml promises no end: training.total_timesteps is {promised!r}"
    if not is_integer(run.last_step) or run.last_step < promised:
        return f"metrics.jsonl ends at step {run.last_step!r}, before the promised {promised}"
    return ""
