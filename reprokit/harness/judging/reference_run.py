"""A run folder in the golden's part: what it means to reproduce somebody else's run.

The run is repeated from what its own folder holds: recipe and trainer from ``source/``, its
overrides, its seed, the environment that its record names. The new runs are then judged as they
would be against a golden, by the same rules; only this module knows that the golden is a run:

- REPRODUCED: the new runs agree with each other and with the run.
- NONDETERMINISTIC: the new runs differ from each other, so neither side proves anything.
- REGRESSION: they agree, but not with the run, under the same numerics.
- STALE_GOLDEN: they agree, but not with the run, in an environment that computes otherwise.
- NO_GOLDEN: they came to be on another platform than the run.

It refuses to believe a run folder that is not what its COMPLETE says.

    >>> recipe_of(read_yardstick(Path("theirs/20261120T101500Z-3fa9-seed42-1"))).modified
    ('training.gamma=0.98',)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reprokit import adapters, recipes, runs
from reprokit.capture import environment_diff
from reprokit.core import fingerprint, inputs
from reprokit.core.checklist import Evidence, GoldenEvidence, Report, RunEvidence, Verdict
from reprokit.core.comparison import Comparison, unreadable
from reprokit.errors import CannotJudgeError, MetricsError, ReportError, UsageError
from reprokit.harness.judging.build_report import report_of
from reprokit.harness.judging.gather import gather
from reprokit.harness.judging.trace_comparison import compare_traces
from reprokit.harness.running.plan import shell_line
from reprokit.harness.running.request import Request, now
from reprokit.layout import ENVIRONMENT, METRICS, RECIPE, RECORD, SOURCE, TRACE, read_json
from reprokit.recipes import Recipe

_FROM_SNAPSHOT = "ask for the run folder as it was written, with its source/"


def read_yardstick(folder: Path) -> runs.StoredRun:
    """Read a run that others are to be held against.

    Raises:
        ReportError: It is no run folder, or does not say what was run.
        UsageError: It is the run of a plain command, whose environment nobody recorded well enough.
        CannotJudgeError: It did not finish, or was changed since.
    """
    stored = runs.read(folder)
    record = stored.record
    if record.get("plain_command"):
        line = shell_line(["reprokit", "run", "--seed", str(record.get("seed")), "--", "COMMAND"])
        raise UsageError(
            "the run of a plain command cannot be repeated: it ran in an environment that is not pinned",
            where=str(folder),
            fix=f"`{line}` with its command, then `reprokit runs compare` the two",
        )
    if not stored.complete:
        raise CannotJudgeError(
            "the run cannot be the measure of another",
            where=str(folder),
            expected="a run that finished, as it was written",
            actual=stored.incomplete_because,
        )
    if record.get("resumed_from") is not None:
        raise CannotJudgeError(
            "the run cannot be the measure of another: a resumed run holds only the later steps",
            where=str(folder),
            fix="name a run that was never stopped",
        )
    seed, name = record.get("seed"), record.get("recipe")
    if not isinstance(seed, int) or isinstance(seed, bool) or not isinstance(name, str):
        raise ReportError("run.json does not say recipe and seed", where=str(folder), fix=_FROM_SNAPSHOT)
    return stored


def recipe_of(stored: runs.StoredRun) -> Recipe:
    """The recipe as the run had it: from its own snapshot, its overrides applied.

    Raises:
        ReportError: The folder holds no snapshot.
        RecipeError: The snapshot is no recipe that this reprokit reads.
    """
    name = str(stored.record["recipe"])
    if Path(name).name != name or not (stored.path / SOURCE / name / RECIPE).is_file():
        raise ReportError(
            "the run folder holds no snapshot of its recipe", where=str(stored.path), fix=_FROM_SNAPSHOT
        )
    return recipes.load(name, recipes_dir=stored.path / SOURCE, overrides=_overrides(stored.record))


def judge_against(
    folders: Sequence[Path],
    yardstick: runs.StoredRun,
    recipe: Recipe,
    *,
    request: Request,
    phases: Mapping[str, float] | None = None,
) -> Report:
    """Judge runs with another run in the golden's part: nothing run, nothing written.

    Args:
        folders: The new runs, in the order in which they were started.
        yardstick: The run that they repeat.
        recipe: As ``recipe_of`` gives it.
        request: ``strict``, and the command line that asked.
        phases: Seconds that each phase took.
    """
    rerun = f"{shell_line(['reprokit', 'runs', 'reproduce', str(yardstick.path)])}  # {recipe.name}"
    evidence = gather(
        recipe,
        folders,
        golden_dir=yardstick.path,  # a run folder holds no golden: none is looked at
        seed=yardstick.record["seed"],
        rerun=rerun,
        strict=request.strict,
    )
    evidence = _held_against(evidence, yardstick, recipe)
    report = report_of(
        evidence, folders=folders, command=request.command, rerun=rerun, now=now(), phases=phases
    )
    return _in_words(report, yardstick)


def platform_of(stored: runs.StoredRun) -> str:
    """The platform that a run came to be on."""
    return fingerprint.platform_of(read_json(stored.path / ENVIRONMENT))


def _held_against(evidence: Evidence, yardstick: runs.StoredRun, recipe: Recipe) -> Evidence:
    """The evidence with the run as its golden; its overrides are what is to be repeated, no change."""
    overrides = _overrides(yardstick.record)
    golden, missing = _golden(evidence, yardstick, recipe)
    return replace(
        evidence,
        recipe=_relaxed(recipe.as_data(), overrides),
        modified=() if tuple(evidence.modified) == overrides else evidence.modified,
        runs=tuple(_unmodified(run, overrides) for run in evidence.runs),
        golden=golden,
        golden_missing_because=missing,
    )


def _golden(
    evidence: Evidence, yardstick: runs.StoredRun, recipe: Recipe
) -> tuple[GoldenEvidence | None, str]:
    theirs = platform_of(yardstick)
    if not evidence.runs or not evidence.runs[0].complete:
        return None, "no finished run to compare"
    if evidence.platform != theirs:
        return None, f"the run is of {theirs}, these are of {evidence.platform}"
    first = evidence.runs[0]
    changed = inputs.changed(yardstick.record.get("digests") or {}, first.run.get("digests") or {})
    environment = read_json(yardstick.path / ENVIRONMENT)
    ours = Path(first.path)
    comparison, num_records = _compare(yardstick.path / METRICS, ours / METRICS, recipe, theirs)
    traced = (yardstick.path / TRACE).is_file()
    return GoldenEvidence(
        path=str(yardstick.path),
        provenance={
            "recipe": yardstick.record["recipe"],
            "platform": theirs,
            "seed": yardstick.record["seed"],
            "fingerprint": fingerprint.fingerprint(environment),
        },
        num_records=num_records,
        comparison=comparison,
        fingerprint_equal=fingerprint.same(environment, first.environment),
        environment_diff=_environment_diff(environment, first.environment),
        recipe_digest_equal=not changed,
        changed=changed,
        trace=compare_traces(yardstick.path / TRACE, ours / TRACE) if traced else None,
        has_trace=traced,
    ), ""


def _compare(expected: Path, actual: Path, recipe: Recipe, platform: str) -> tuple[Comparison, int]:
    try:
        comparison = adapters.compare(expected, actual, tolerances=recipe.tolerances_on(platform))
        return comparison, adapters.summarise(expected).num_records
    except MetricsError as error:
        return unreadable(error, side="expected"), 0


def _environment_diff(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> list[dict[str, Any]]:
    sections = ("schema", "inside", "host", "image")
    return environment_diff.diff(*({name: one.get(name) for name in sections} for one in (theirs, ours)))


def _relaxed(data: dict[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """The recipe's data; what it promises of its results, it does not promise of a modified run."""
    if overrides:
        because = f"the run was made with --set {' --set '.join(overrides)}"
        rules = data.setdefault("checks", {})
        rules["relax"] = [*(rules.get("relax") or ()), {"check": "headline_results", "because": because}]
    return data


def _unmodified(run: RunEvidence, overrides: tuple[str, ...]) -> RunEvidence:
    same = _overrides(run.run) == overrides and isinstance(run.run.get("modified"), list)
    return replace(run, run={**run.run, "modified": []}) if same else run


def _overrides(record: Mapping[str, Any]) -> tuple[str, ...]:
    modified = record.get("modified")
    return tuple(str(item) for item in modified) if isinstance(modified, list | tuple) else ()


def _in_words(report: Report, yardstick: runs.StoredRun) -> Report:
    """The report with the run called a run."""
    name, overrides = f"the run {yardstick.path.name}", _overrides(yardstick.record)
    where = f"step {report.divergence['step']}" if report.divergence else "the start"
    count = len(report.runs)
    sentences = {
        Verdict.REPRODUCED: report.sentence.replace("the golden", name),
        Verdict.REGRESSION: f"{count} runs agree, but differ from {name} from {where} on, under the same "
        f"numerics; {_changes(report, yardstick)}.",
        Verdict.STALE_GOLDEN: report.sentence.replace("the golden", name),
    }
    commands = {
        Verdict.REGRESSION: ["reprokit", "runs", "compare", str(yardstick.path), *report.runs],
        Verdict.NO_GOLDEN: ["reprokit", "env", "diff", str(yardstick.path), *report.runs[:1]],
    }
    next_command = commands.get(report.verdict)
    told = f"with the run's own settings: --set {' --set '.join(overrides)}"
    return replace(
        report,
        sentence=sentences.get(report.verdict, report.sentence),
        next_command=shell_line(next_command) if next_command else report.next_command,
        checks=tuple(
            replace(row, reason=told)
            if row.id == "unmodified" and overrides and row.status == "PASSED"
            else replace(row, reason=row.reason.replace("the golden", name))
            for row in report.checks
        ),
    )


def _changes(report: Report, yardstick: runs.StoredRun) -> str:
    ours = read_json(Path(report.runs[0]) / RECORD).get("digests") or {}
    changed = inputs.changed(yardstick.record.get("digests") or {}, ours)
    return f"another {', '.join(changed)} than then" if changed else "everything that was recorded is as then"
