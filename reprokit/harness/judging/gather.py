"""From run folders to evidence: everything that a check may look at, read from disk once.

No engine is needed: a run folder alone suffices to judge again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from reprokit import adapters, golden, runs, workspace
from reprokit.capture import environment_diff
from reprokit.core import fingerprint, inputs, problems
from reprokit.core.checklist import Evidence, GoldenEvidence, RunEvidence
from reprokit.core.comparison import Comparison, Problem, unreadable
from reprokit.core.environment_record import EnvironmentRecord, sections
from reprokit.core.evidence import ResumeEvidence
from reprokit.core.run_record import RunRecord
from reprokit.core.verdicts.comparability import Objection
from reprokit.errors import MetricsError, MissingExtraError, ReportError
from reprokit.harness.judging.compared_with.reference import Reference, golden_reference
from reprokit.harness.judging.compared_with.run_identity import config_of
from reprokit.harness.judging.compared_with.stopped_runs import (
    common_records,
    compare_beginning,
    recorded_at_start,
)
from reprokit.harness.judging.differences.clock_evidence import only_the_clock
from reprokit.harness.judging.differences.output_files import differing_outputs, patterns_recorded
from reprokit.harness.judging.differences.program_changes import program_changes
from reprokit.harness.judging.differences.rank_traces import compare_ranks
from reprokit.harness.judging.differences.trace_comparison import compare_traces, count_records, update_steps
from reprokit.harness.judging.ensemble_evidence import ensemble_evidence
from reprokit.harness.judging.expected_windows import over_windows
from reprokit.harness.judging.extension_evidence import extensions_of, missing_of
from reprokit.harness.judging.printed_failures import printed_failures
from reprokit.harness.judging.resumed.resume_evidence import resume_evidence
from reprokit.harness.judging.resumed.resumed_program import resumed_program
from reprokit.harness.judging.runs_beside_pair import RunsBesidePair
from reprokit.harness.judging.same_under_evidence import same_under_evidence
from reprokit.harness.judging.seed_response import response_to_seed
from reprokit.harness.judging.stress_evidence import stress_evidence
from reprokit.harness.judging.sweep_evidence import sweep_evidence
from reprokit.harness.judging.varied_evidence import varied_evidence
from reprokit.harness.running.environments.lock_files import locked_versions
from reprokit.layout import (
    CHECKPOINTS,
    INSTRUMENT,
    MANIFEST,
    METRICS,
    OTHER_SEED,
    RUNTIME,
    TRACE,
    read_json,
)
from reprokit.nested_diff import ABSENT, differences
from reprokit.recipes import Recipe
from reprokit.records import environment_json, run_json

_UNFINISHED = "no finished run to compare"
_LEFT = "it is a link, a special file or has a reserved name"


def gather(
    recipe: Recipe | None,
    folders: Sequence[Path],
    *,
    golden_dir: Path | None = None,
    reference: Reference | None = None,
    seed: int | None = None,
    ignore: Sequence[str] = (),
    beside: RunsBesidePair = RunsBesidePair(),  # noqa: B008 - frozen
) -> Evidence:
    """Read the run folders of one recipe (None: a plain command) and seed, and what they are compared with.

    That is the golden in ``golden_dir``, or a ``reference`` in its place; and what was run ``beside`` them.
    How they were asked for (``rerun``, ``strict``, ``options``) is left to the caller.
    """
    stored = [runs.read(folder) for folder in folders]
    evidence = tuple(_run_evidence(run, recipe) for run in stored)
    environment = evidence[0].environment if evidence else {}
    asked = stored[0].record.platform_asked if stored and not environment else None
    platform = asked or fingerprint.platform_of(environment)
    records = common_records(stored)
    finished = [run.path for run in stored if run.complete or records is not None]
    pairs = [(finished[0], other) for other in finished[1:]] if len(finished) == len(stored) else []
    if reference is None:
        found = _golden_of(recipe, stored, environment=environment, golden_dir=golden_dir)
    else:
        found = _usable(reference, stored, platform=platform)
    blessed = None
    if not isinstance(found, Objection):
        blessed = _golden_evidence(found, stored[0], environment, records=records)
    how: dict[str, Any] = {"recipe": recipe, "ignore": ignore, "records": records}
    repeats = tuple(_compare_runs(*pair, **how) for pair in pairs)
    run = reference.run if reference else None
    outputs = patterns_recorded(stored) if all(one.complete for one in stored) else None
    modified = stored[0].record.modified or () if stored else ()
    places = tuple(_resumed(recipe, folders[0], place) for place in beside.places)
    missing, locked, sweep = dict[str, tuple[str, str]](), None, None
    varied = varied_evidence(folders[0], beside.varied) if beside.varied else None
    with _needed_by("versions_locked", missing=missing):
        locked = locked_versions(stored[0].path, stored[0].record, environment) if stored else None
    with _needed_by("statistics", "several_seeds", missing=missing):
        expected = recipe.expected if recipe else {}
        equal = bool(repeats) and all(one.identical for one in repeats)
        about: dict[str, Any] = {"expected": expected, "repeats": equal}
        sweep = sweep_evidence(folders[0], beside.seeds, **about) if beside.seeds else None
    return Evidence(
        recipe=_recipe_data(recipe, overrides=run.overrides if run else ()),
        modified=() if run and modified == run.overrides else modified,
        platform=platform,
        runs=evidence,
        repeats=repeats,
        clock_metrics=only_the_clock(pairs, repeats),
        trace_repeats=tuple(
            compare_ranks(first, other, beginning=records is not None)
            for first, other in pairs
            if (first / TRACE).is_file() or (other / TRACE).is_file()
        ),
        seed=seed,
        golden=blessed,
        reference_run=run,
        golden_missing_because=found.reason if isinstance(found, Objection) else "",
        ensemble_not_asked=_ensemble_not_asked(recipe, platform, golden_dir)
        if isinstance(found, Objection) and reference is None and beside.new_seeds is None
        else "",
        ignore=tuple(ignore),
        volatile_metrics={name: why for run in stored for name, why in run.record.volatile.items()},
        volatile_idle=_idle([run.record.volatile_idle for run in stored]),
        printed_idle=tuple(
            pattern
            for pattern in (stored[0].record.printed_idle if stored else ())
            if all(pattern in run.record.printed_idle for run in stored)
        ),
        outputs=outputs,
        outputs_differing=differing_outputs(stored, outputs) if outputs is not None else {},
        printed_failures=printed_failures(stored),
        left_in_tree={
            path: how for run in stored[1:] for path, how in run.record.left_by_earlier_runs.items()
        },
        tree_unknown=next((why for run in stored if (why := run.record.tree_unknown)), ""),
        ignored_metrics=adapters.ignored_metrics(finished, ignore) if ignore else {},
        locked=locked,
        resume=_resumed(recipe, folders[0], beside.interrupted) if beside.interrupted else (*places, None)[0],
        resume_places=places,
        sweep=sweep,
        missing_extras=missing,
        ensemble=ensemble_evidence(
            recipe, folders[0], beside.new_seeds, platform=platform, golden_dir=golden_dir
        )
        if recipe is not None and golden_dir is not None and beside.new_seeds is not None
        else None,
        same_under=same_under_evidence(folders[0], beside.same_under, beside.twins)
        if beside.same_under
        else None,
        varied=varied,
        extensions=extensions_of([run.record for run in stored], [] if recipe else finished, varied=varied),
        extension_missing=missing_of(blessed.provenance.extensions, whose=blessed.noun) if blessed else "",
        seed_response=response_to_seed(recipe, stored, environment, golden_dir, others=beside.other_seeds),
        stress=stress_evidence(stored, repeats, compare=partial(_compare_runs, **how)),
    )


@contextmanager
def _needed_by(*rows: str, missing: dict[str, tuple[str, str]]) -> Iterator[None]:
    """Where a package of an extra is missing, the rows that need it cannot be judged; the others can."""
    try:
        yield
    except MissingExtraError as error:
        missing |= dict.fromkeys(rows, (error.what, error.fix or ""))


def _idle(found: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Patterns that fit a metric of no run, with the nearest names of the first."""
    first = found[0] if found else {}
    return {pattern: near for pattern, near in first.items() if all(pattern in one for one in found)}


def _compare_runs(
    first: Path, other: Path, recipe: Recipe | None, *, ignore: Sequence[str], records: int | None
) -> Comparison:
    if records is not None:
        return compare_beginning(first / METRICS, other / METRICS, records=records)
    try:
        for folder in (first, other):
            must_have_metrics(folder)
        if recipe is None:
            return adapters.compare_runs(first, other, ignore=ignore)
        return adapters.compare(first / METRICS, other / METRICS)
    except MetricsError as error:
        return _unreadable(error, recipe)


def _resumed(recipe: Recipe | None, whole: Path, interrupted: Sequence[Path]) -> ResumeEvidence:
    has_trace = recipe is None or recipe.traces
    return (resume_evidence if has_trace else resumed_program)(whole, interrupted)


def _golden_of(
    recipe: Recipe | None,
    stored: Sequence[runs.StoredRun],
    *,
    environment: EnvironmentRecord,
    golden_dir: Path | None,
) -> Reference | Objection:
    platform = fingerprint.platform_of(environment)
    if recipe is None:
        return Objection("a plain command has no golden")
    if golden_dir is None:
        return Objection("no folder of goldens was given")
    if not stored or not (stored[0].complete or runs.stopped_at_golden(stored[0])):
        return Objection(_UNFINISHED)
    if platform not in recipe.platforms:
        return Objection(f"the recipe does not declare the platform {platform}")
    recorded = stored[0].record.seed
    seed = -1 if recorded is None else recorded  # no golden is of that seed
    folder = golden.locate_for(golden_dir, recipe=recipe.name, environment=environment, seed=seed)
    if not folder.is_dir():
        return Objection(f"there is no golden for {recipe.name} on {platform} with seed {seed}")
    return _loaded(folder, recipe, stored[0])


def _ensemble_not_asked(recipe: Recipe | None, platform: str, golden_dir: Path | None) -> str:
    """The folder of the ensemble that could judge new seeds of a recipe; "" where there is none."""
    if recipe is None or not recipe.statistical or golden_dir is None or platform not in recipe.platforms:
        return ""
    place = golden.locate_ensemble(golden_dir, recipe=recipe.name, platform=platform)
    return str(place) if place.is_dir() else ""


def _loaded(folder: Path, recipe: Recipe, first: runs.StoredRun) -> Reference | Objection:
    """The golden of a folder; a plain command, which nothing else identifies, has only its own."""
    blessed = golden.load(folder)
    identity = first.record.digests.get("program")
    if first.record.plain_command and blessed.provenance.digests.get("program") != identity:
        return Objection(f"the golden {folder} is of another command")
    return golden_reference(blessed, recipe)


def _usable(
    reference: Reference, stored: Sequence[runs.StoredRun], *, platform: str
) -> Reference | Objection:
    if not stored or not stored[0].complete:
        return Objection(_UNFINISHED)
    if reference.platform != platform:
        return Objection(f"{reference.noun} was made on {reference.platform}, these runs on {platform}")
    return reference


def _golden_evidence(
    reference: Reference, first: runs.StoredRun, environment: EnvironmentRecord, *, records: int | None
) -> GoldenEvidence:
    digests = first.record.digests
    changed = () if reference.is_foreign else inputs.changed(reference.digests, digests)
    trace = reference.trace if records is None else None
    expected = reference.environment
    if records is not None:
        expected, environment = recorded_at_start(expected), recorded_at_start(environment)
    unknown = "" if reference.is_foreign else fingerprint.why_unknown(expected, environment)
    differs = environment_diff.diff(expected, sections(environment, expected))
    return GoldenEvidence(
        noun=reference.noun,
        path=str(reference.path),
        provenance=reference.provenance,
        num_records=reference.num_records,
        comparison=_compare_with(reference, first.path / METRICS, records=records),
        fingerprint_equal=fingerprint.same(expected, environment),
        environment_unknown=unknown,
        # Next to a record that does not say what is inside, all of the other would be a difference.
        environment_diff=[one for one in differs if not (unknown and one["field"].startswith("inside."))],
        changed=changed,
        program_changes=program_changes(reference.path, reference.provenance, first),
        trace=compare_traces(trace, first.path / TRACE, thinned=reference.thinned) if trace else None,
        has_trace=reference.trace is not None,
        is_foreign=reference.is_foreign,
    )


def _recipe_data(recipe: Recipe | None, *, overrides: Sequence[str]) -> dict[str, Any] | None:
    """The recipe as data; what it promises of its results, it does not promise of overridden settings."""
    if recipe is None:
        return None
    data = recipe.as_data()
    if overrides:
        because = f"the run was made with --set {' --set '.join(overrides)}"
        rules = data.setdefault("checks", {})
        rules["relax"] = [*(rules.get("relax") or ()), {"check": "headline_results", "because": because}]
    return data


def _compare_with(reference: Reference, actual: Path, *, records: int | None) -> Comparison:
    if records is not None:
        return compare_beginning(reference.metrics, actual, records=records, tolerances=reference.tolerances)
    compare = adapters.compare_at_steps if reference.is_foreign else adapters.compare
    try:
        return compare(reference.metrics, actual, tolerances=reference.tolerances)
    except MetricsError as error:
        return unreadable(error, side="both")


def _run_evidence(run: runs.StoredRun, recipe: Recipe | None) -> RunEvidence:
    config, other_seed = config_of(run.path), read_json(run.path / OTHER_SEED)
    trace = run.path / TRACE
    traced = trace.is_file()
    return RunEvidence(
        path=str(run.path),
        complete=run.complete,
        incomplete_because=run.incomplete_because,
        stopped_at_golden=runs.stopped_at_golden(run),
        run=run.record,
        environment=environment_json.recorded(run.path),
        runtime=read_json(run.path / RUNTIME),
        instrument=read_json(run.path / INSTRUMENT),
        other_seed=other_seed,
        other_run=_other_run(other_seed),
        config=config,
        config_differs=_config_differs(recipe.training_config, config)
        if recipe and config is not None
        else None,
        checkpoints=_checkpoints(run.path),
        checkpoints_removed=_removed(run.path),
        files=run.files,
        windowed=over_windows(run.path / METRICS, recipe.expected) if recipe else {},
        update_steps=update_steps(trace),
        trace_records=count_records(trace),
        trace_digest=workspace.sha256_of(trace) if traced else None,
        **_with_leftovers(_summary(run.path, recipe), run.record),
    )


def _other_run(other_seed: Mapping[str, Any]) -> RunRecord | None:
    """The ``run.json`` that ``other-seed.json`` keeps; None where there is none that can be believed."""
    said = other_seed.get("run")
    try:
        return run_json.of(said, where=OTHER_SEED) if isinstance(said, dict) else None
    except ReportError:
        return None


def _with_leftovers(summary: dict[str, Any], record: RunRecord) -> dict[str, Any]:
    """What stayed in ``output/`` was not compared: a run that left something there is incomplete."""
    problems = tuple(
        Problem(
            kind="left_in_output",
            side="both",
            line=None,
            message=f"{name} was not compared: {record.left_because.get(name, _LEFT)}",
            severity="error",
        )
        for name in record.left_in_output
    )
    return {**summary, "metrics_problems": (*(summary.get("metrics_problems") or ()), *problems)}


def _summary(folder: Path, recipe: Recipe | None) -> dict[str, Any]:
    """What the metrics of a run come to: one file of a recipe, every file of a plain command."""
    try:
        must_have_metrics(folder)
        paths = [folder / METRICS] if recipe else [source.path for source in adapters.find_all(folder)]
        found = [adapters.summarise(path) for path in paths]
    except MetricsError as error:
        return {"metrics_problems": _unreadable(error, recipe).problems}
    if not found:
        return {"metrics_problems": _unreadable(adapters.no_metrics(folder), recipe).problems}
    names = {name for one in found for name in one.metric_names}
    valued = {name for one in found for name in set(one.metric_names) - set(one.without_value)}
    return {
        "num_records": sum(one.num_records for one in found),
        "metric_names": tuple(sorted(names)),
        "without_value": tuple(sorted(names - valued)),
        "metrics_problems": tuple(problem for one in found for problem in one.problems),
        "last_step": found[-1].last_step,
        "final_values": {name: value for one in found for name, value in one.final_values.items()},
    }


def _unreadable(error: MetricsError, recipe: Recipe | None) -> Comparison:
    """The comparison that an error prevented; the next step says what to do where a command logs nothing."""
    return unreadable(error, side="both", with_fix=recipe is not None or error.kind != "no_metrics_file")


def must_have_metrics(folder: Path) -> None:
    """Raise the error that kept an unmodified program's metrics from being read, if there was one."""
    problem = run_json.recorded(folder).metrics_problem
    if problem:
        kind = str(problem.get("kind"))
        raise MetricsError(
            str(problem.get("what")),
            kind=kind if kind in problems.KINDS else "unreadable_file",
            **{name: str(problem[name]) for name in ("where", "expected", "fix") if problem.get(name)},
        )


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
