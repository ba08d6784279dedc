"""From run folders to evidence: everything that a check may look at, read from disk once.

This module knows where a run keeps what; it refuses to judge. It needs no engine: a run folder
alone suffices to judge again.

    >>> gather(recipe, folders, golden_dir=project.golden_dir).repeats[0].identical
    True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reprokit import adapters, golden, recipes, runs, workspace
from reprokit.capture import environment_diff
from reprokit.core import fingerprint, inputs
from reprokit.core.checklist import Evidence, GoldenEvidence, RunEvidence
from reprokit.core.comparison import Comparison, Problem
from reprokit.errors import GoldenError, MetricsError, UsageError
from reprokit.harness.judging.resume_evidence import resume_evidence
from reprokit.harness.judging.trace_comparison import compare_traces, count_records, update_steps
from reprokit.harness.judging.varied_evidence import varied_evidence
from reprokit.harness.running.lock_files import locked_versions
from reprokit.layout import CHECKPOINTS, CONFIG, ENVIRONMENT, MANIFEST, METRICS, RUNTIME, TRACE, read_json
from reprokit.nested_diff import ABSENT, differences
from reprokit.recipes import Recipe


def gather(
    recipe: Recipe | None,
    folders: Sequence[Path],
    *,
    golden_dir: Path,
    seed: int | None = None,
    rerun: str = "",
    ignore: Sequence[str] = (),
    strict: bool = False,
    interrupted: Sequence[Path] = (),
    varied: Sequence[Path] = (),
) -> Evidence:
    """Read the run folders of one recipe and seed, and the golden they are held against.

    Args:
        recipe: The recipe, or None for a plain command.
        folders: Run folders, in the order they were started.
        golden_dir: Where goldens live.
        seed: The seed that was asked for, or None.
        rerun: The command that anyone can type to check the result.
        ignore: Patterns of metrics that a person asked to leave out (plain commands only).
        strict: Whether advisory rows are required too.
        interrupted: The run that was killed on its way and the one that it was resumed as, if anybody asked.
        varied: Runs under other surroundings, if anybody asked.
    """
    stored = [runs.read(folder) for folder in folders]
    evidence = tuple(_run_evidence(run, recipe) for run in stored)
    environment = evidence[0].environment if evidence else {}
    platform = fingerprint.platform_of(environment)
    finished = [run.path for run in stored if run.complete]
    pairs = [(finished[0], other) for other in finished[1:]] if len(finished) == len(stored) else []
    blessed, missing = _golden_evidence(recipe, stored, environment, platform, golden_dir)
    return Evidence(
        recipe=recipe.as_data() if recipe else None,
        modified=tuple((stored[0].record if stored else {}).get("modified") or ()),
        platform=platform,
        runs=evidence,
        repeats=tuple(_compare_runs(*pair, recipe, ignore=ignore) for pair in pairs),
        trace_repeats=tuple(
            compare_traces(first / TRACE, other / TRACE)
            for first, other in pairs
            if (first / TRACE).is_file() or (other / TRACE).is_file()
        ),
        seed=seed,
        rerun=rerun,
        golden=blessed,
        golden_missing_because=missing,
        ignore=tuple(ignore),
        ignored_metrics=adapters.ignored_metrics(finished, ignore) if ignore else {},
        locked=locked_versions(stored[0].path, stored[0].record, environment) if stored else None,
        strict=strict,
        resume=resume_evidence(folders[0], interrupted) if interrupted else None,
        varied=varied_evidence(folders[0], varied) if varied else None,
    )


def _compare_runs(first: Path, other: Path, recipe: Recipe | None, *, ignore: Sequence[str]) -> Comparison:
    try:
        if recipe is None:
            return adapters.compare_runs(first, other, ignore=ignore)
        return adapters.compare(first / METRICS, other / METRICS)
    except MetricsError as error:
        return _nothing_to_compare(error)


def _nothing_to_compare(error: MetricsError) -> Comparison:
    return Comparison(
        identical=False,
        within_tolerance=False,
        records_compared=0,
        metrics_compared=0,
        divergence=None,
        per_metric={},
        problems=(_unreadable(error),),
    )


def _unreadable(error: MetricsError) -> Problem:
    return Problem(kind=error.kind, side="both", line=None, message=str(error), severity="error")


def _golden_evidence(
    recipe: Recipe | None,
    stored: Sequence[runs.StoredRun],
    environment: Mapping[str, Any],
    platform: str,
    golden_dir: Path,
) -> tuple[GoldenEvidence | None, str]:
    if recipe is None:
        return None, "a plain command has no golden"
    if not stored or not stored[0].complete:
        return None, "no finished run to compare"
    if platform not in recipe.platforms:
        return None, f"the recipe does not declare the platform {platform}"
    seed = int(stored[0].record.get("seed", -1))
    folder = golden.locate(golden_dir, recipe=recipe.name, platform=platform, seed=seed)
    if not folder.is_dir():
        return None, f"there is no golden for {recipe.name} on {platform} with seed {seed}"
    blessed = golden.load(folder)
    changed = inputs.changed(blessed.provenance["digests"], stored[0].record.get("digests") or {})
    return GoldenEvidence(
        path=str(folder),
        provenance=blessed.provenance,
        num_records=adapters.summarise(blessed.metrics).num_records,
        comparison=_compare_with_golden(blessed, stored[0].path / METRICS, recipe),
        fingerprint_equal=fingerprint.same(blessed.provenance["environment"], environment),
        environment_diff=_environment_diff(blessed.provenance["environment"], environment),
        recipe_digest_equal=not changed,
        changed=changed,
        trace=compare_traces(blessed.trace, stored[0].path / TRACE, thinned=True),
        has_trace=True,
    ), ""


def _environment_diff(recorded: Mapping[str, Any], environment: Mapping[str, Any]) -> list[dict[str, Any]]:
    """How the environment differs, in the sections that the golden keeps."""
    return environment_diff.diff(recorded, {name: environment.get(name) for name in recorded})


def _compare_with_golden(blessed: golden.Golden, actual: Path, recipe: Recipe) -> Comparison:
    """At the recipe's tolerances, but never wider than those that the golden was blessed with."""
    tolerances = tolerances_of(recipe, blessed)
    try:
        return adapters.compare(blessed.metrics, actual, tolerances=tolerances)
    except MetricsError as error:
        return _nothing_to_compare(error)


def tolerances_of(recipe: Recipe, blessed: golden.Golden) -> recipes.NarrowerTolerances:
    """How far a run may be from a golden: what both recipe and golden grant on the golden's platform.

    Raises:
        GoldenError: The golden's tolerances cannot be read.
    """
    platform = str(blessed.provenance["platform"])
    try:
        then = recipes.tolerances_from(blessed.provenance["tolerances"], platform=platform)
    except (UsageError, TypeError, AttributeError) as error:
        raise GoldenError(f"its tolerances cannot be read: {error}", where=str(blessed.path)) from error
    return recipes.NarrowerTolerances(one=recipe.tolerances_on(platform), other=then)


def _run_evidence(run: runs.StoredRun, recipe: Recipe | None) -> RunEvidence:
    config = _config(run.path)
    trace = run.path / TRACE
    traced = trace.is_file()
    return RunEvidence(
        path=str(run.path),
        complete=run.complete,
        incomplete_because=run.incomplete_because,
        run=run.record,
        environment=read_json(run.path / ENVIRONMENT),
        runtime=read_json(run.path / RUNTIME),
        config=config,
        config_differs=_config_differs(recipe.training_config, config)
        if recipe and config is not None
        else None,
        checkpoints=_checkpoints(run.path),
        checkpoints_removed=_removed(run.path),
        files=run.files,
        update_steps=update_steps(trace),
        trace_records=count_records(trace),
        trace_digest=workspace.sha256_of(trace) if traced else None,
        **_with_leftovers(_summary(run.path, recipe), run.record),
    )


def _with_leftovers(summary: dict[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    """What stayed in ``output/`` was not compared: a run that left something there is not whole."""
    problems = tuple(
        Problem(
            kind="left_in_output",
            side="both",
            line=None,
            message=f"{name} is a link, a special file or a name of the host's, and was not compared",
            severity="error",
        )
        for name in record.get("left_in_output") or ()
    )
    return {**summary, "metrics_problems": (*(summary.get("metrics_problems") or ()), *problems)}


def _summary(folder: Path, recipe: Recipe | None) -> dict[str, Any]:
    """What the metrics of a run come to: one file of a recipe, every file of a plain command."""
    try:
        paths = [folder / METRICS] if recipe else [source.path for source in adapters.find_all(folder)]
        found = [adapters.summarise(path) for path in paths]
    except MetricsError as error:
        return {"metrics_problems": (_unreadable(error),)}
    if not found:
        return {"metrics_problems": (_unreadable(adapters.no_metrics(folder)),)}
    return {
        "num_records": sum(one.num_records for one in found),
        "metric_names": tuple(sorted({name for one in found for name in one.metric_names})),
        "metrics_problems": tuple(problem for one in found for problem in one.problems),
        "last_step": found[-1].last_step,
        "final_values": {name: value for one in found for name, value in one.final_values.items()},
    }


def _checkpoints(folder: Path) -> dict[str, dict[str, Any]]:
    listed = read_json(folder / CHECKPOINTS / MANIFEST).get("files") or {}
    proven = read_json(folder / RUNTIME).get("checkpoints") or {}
    found = {}
    for path in sorted((folder / CHECKPOINTS).glob("*.pt")):
        entry, proof = listed.get(path.name) or {}, proven.get(path.name) or {}
        sha256 = workspace.sha256_of(path)
        found[path.name] = {
            "step": entry.get("step"),
            "sha256_ok": entry.get("sha256") == sha256,
            "loadable": proof.get("loadable") if proof.get("sha256") == sha256 else None,
            "reason": proof.get("reason", "" if entry else "not in MANIFEST.json"),
        }
    return found


def _removed(folder: Path) -> dict[str, dict[str, Any]]:
    removed = read_json(folder / CHECKPOINTS / MANIFEST).get("removed")
    found = removed.items() if isinstance(removed, dict) else ()
    return {name: entry for name, entry in found if isinstance(entry, dict)}


def _config(folder: Path) -> dict[str, Any] | None:
    path = folder / CONFIG
    return recipes.read_mapping(path) if path.is_file() else None


def _config_differs(expected: Mapping[str, Any], actual: Mapping[str, Any]) -> tuple[str, ...]:
    """Settings that are not the recipe's; one that is null may also be left out."""
    nothing = (None, ABSENT)
    return tuple(
        sorted(
            field
            for field, one, other in differences(expected, actual)
            if one not in nothing or other not in nothing
        )
    )
