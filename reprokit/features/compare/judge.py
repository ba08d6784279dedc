"""The answer on two sides that follows from their run folders alone: nothing is run, nothing written.

Each side is first shown to repeat: its runs are judged as ``reproduce`` judges them. Then the first runs of
the sides are compared bit for bit, metrics, declared output files and traces. What a side may still have in
common with the other is never assumed: a metric or record that one side alone has is a difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reprokit import adapters, runs
from reprokit.checks import repeatable
from reprokit.core import comparison
from reprokit.core.comparison import Comparison
from reprokit.core.evidence import Evidence, RunEvidence, fact
from reprokit.core.verdicts.rows import Status, listed
from reprokit.errors import MetricsError, ReprokitError
from reprokit.features.compare.answer import AS_RUNS_SAY, SIDES, Answer, Asked, Side, Word
from reprokit.features.compare.describe import environment_told, side_told
from reprokit.features.compare.printed_only import what_to_type, who_only_prints
from reprokit.features.compare.sentences import difference, extent
from reprokit.features.compare.what_differs import what_differs
from reprokit.harness.judging.compared_with.reference_run import recipe_of
from reprokit.harness.judging.differences.output_files import differing_outputs, patterns_recorded
from reprokit.harness.judging.differences.rank_traces import compare_ranks
from reprokit.harness.judging.gather import gather, must_have_metrics
from reprokit.harness.judging.varied_evidence import THREADS_OF, varied_evidence
from reprokit.layout import STDERR, TRACE
from reprokit.records import environment_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """Which metrics count: all but those that fit a pattern, or those that are named alone."""

    ignore: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None


class _NoEvidenceError(Exception):
    """Why a side proves nothing, one sentence, and what to do."""

    def __init__(self, sentence: str, hint: str = "") -> None:
        super().__init__(sentence)
        self.hint = hint


def judged(sides: Mapping[str, Sequence[Path]], *, selected: Selected, asked: Asked = AS_RUNS_SAY) -> Answer:
    """What the runs of ``a`` and ``b`` say.

    Args:
        sides: The run folders of each, two or more, in the order in which they were made.
        selected: Which metrics count.
        asked: The commits that were asked for.

    Raises:
        ReportError: A folder is no run folder.
    """
    stored = {name: [runs.read(folder) for folder in sides[name]] for name in SIDES}
    about = {name: side_of(stored[name], commit=asked.commits.get(name)) for name in SIDES}
    for name in SIDES:
        if failed := next((run for run in stored[name] if not run.record.completed), None):
            return not_run(name, failed, about, asked)
    try:
        _must_leave_numbers(stored, asked)
        _must_be_four(stored)
        _must_use_own_code(stored, asked)
        for name in SIDES:
            _must_repeat(name, stored[name], selected)
        return _compared(stored, about, selected, recipes=asked.recipes)
    except _NoEvidenceError as error:
        return Answer(answer=Word.UNJUDGED, sentence=str(error), hint=error.hint, sides=about)


def side_of(stored: Sequence[runs.StoredRun], *, commit: str | None = None) -> Side:
    """What a side is, as its first run says, and which commit was asked for."""
    folders = tuple(str(run.path) for run in stored)
    if not stored:
        return Side(what="nothing ran")
    first = stored[0]
    return Side(what=side_told(first, commit=commit), runs=folders, environment=environment_told(first))


def not_run(name: str, failed: runs.StoredRun, about: Mapping[str, Side], asked: Asked) -> Answer:
    """The answer where a run of a side did not end well; a file that its clean tree lacks is named."""
    why = failed.record.message or failed.incomplete_because
    sentence = f"side {name} did not run: {why.rstrip('.')}"
    hint = failed.record.remedy or f"read the end of {STDERR}"
    hint = hint.replace(f" {STDERR}", f" {failed.path / STDERR}")
    if lacked := asked.lacked.get(name):
        hint = (
            f"{lacked} is not in its clean work tree, since git ignores it: `--share {lacked}` puts it there"
        )
    return Answer(answer=None, sentence=sentence, hint=hint, sides=about)


def other_code_used(stored: Mapping[str, Sequence[runs.StoredRun]], asked: Asked) -> str:
    """What a run used of the working tree or of another run, one sentence; "" where nothing is known.

    Of a pinned program the kernel reported it, of others what stands on their path and next to them is
    known; and of both which files of the working tree they opened.
    """
    for name in SIDES:
        for run in stored[name]:
            outside = run.record.outside_code if asked.working_tree else None
            for file in sorted(outside.files) if outside else ():
                if Path(file).is_relative_to(asked.working_tree):
                    return f"side {name} used code of the working tree, not its own: {file}"
            opened = run.record.other_tree
            if opened and opened.files:
                file = opened.files[0]
                what = "listed a folder" if file.endswith("/") else "opened a file"
                return f"side {name} {what} that is not its own: {file}"
    return ""


def _must_use_own_code(stored: Mapping[str, Sequence[runs.StoredRun]], asked: Asked) -> None:
    if problem := other_code_used(stored, asked):
        raise _NoEvidenceError(problem, _OWN_FILES)


def _must_leave_numbers(stored: Mapping[str, Sequence[runs.StoredRun]], asked: Asked) -> None:
    if sides := who_only_prints(stored):
        who = (
            "both sides only print their numbers"
            if len(sides) > 1
            else f"side {sides[0]} only prints its numbers"
        )
        sentence = f"{who}; those of a plain command are read from files"
        raise _NoEvidenceError(sentence, what_to_type(stored, sides, asked.options))


def _must_be_four(stored: Mapping[str, Sequence[runs.StoredRun]]) -> None:
    """Two finished runs a side, none of which is given twice."""
    every = [run for name in SIDES for run in stored[name]]
    for name in SIDES:
        if len(stored[name]) < 2:
            raise _NoEvidenceError(f"side {name} has fewer than two runs, which cannot show that it repeats")
    for run in every:
        if not run.complete:
            raise _NoEvidenceError(f"{run.path}: {run.incomplete_because}", _WRITTEN)
    for one in ("path", "run id"):
        keys = [str(run.path.resolve()) if one == "path" else run.record.run_id for run in every]
        if len(set(keys)) < len(keys):
            raise _NoEvidenceError(f"two of the runs have one {one}: they are one run")


_OWN_FILES = (
    "let the program name its files from its own folder; a pinned one in a container sees no others: "
    "--backend docker. What a library made once in a cache is there beforehand when you compare again"
)
_WRITTEN = "a program may write to {run_dir} only: see which one wrote elsewhere, and compare again"


def _must_repeat(name: str, stored: Sequence[runs.StoredRun], selected: Selected) -> None:
    """As the row ``repeatable`` judges it, and under the conditions that were asked for."""
    evidence = _evidence(stored, selected)
    found = repeatable.check(evidence)
    if found.status is Status.FAILED or found.status is Status.SKIPPED:
        why = found.reason.partition(": ")[2] if found.status is Status.SKIPPED else found.reason
        raise _NoEvidenceError(f"side {name} does not repeat: {why or found.reason}", _diagnose(stored[0]))
    if found.status is not Status.PASSED:
        raise _NoEvidenceError(f"side {name} proves nothing: {found.reason}", found.remedy or "")
    if stored[0].record.varied is not None:
        seen = varied_evidence(stored[0].path, [run.path for run in stored])
        if seen.unmade:
            told = "; ".join(f"{what}: {why}" for what, why in seen.unmade.items())
            raise _NoEvidenceError(f"side {name} did not run under the conditions asked for: {told}")
        _must_have_threads(name, stored[0])


def _must_have_threads(name: str, stored: runs.StoredRun) -> None:
    """Of threads that were asked for: a library takes fewer where there are fewer cores."""
    asked = stored.record.environment.get("OMP_NUM_THREADS")
    if stored.record.varied is None or "threads" not in (stored.record.varied.names or ()):
        return
    environment = environment_json.recorded(stored.path)
    for library, place in THREADS_OF.items():
        found = fact(environment, place)
        if isinstance(found, int) and str(found) != asked:
            raise _NoEvidenceError(
                f"side {name} did not run under the conditions asked for: {asked} threads: "
                f"{library} computes with {found} here",
                "ask for at most as many threads as there are cores here",
            )


def _evidence(stored: Sequence[runs.StoredRun], selected: Selected) -> Evidence:
    """Of the runs of one side, which are whole ones even where all were made under other conditions."""
    plain = bool(stored[0].record.plain_command)
    recipe = None if plain else recipe_of(stored[0])
    evidence = gather(recipe, [run.path for run in stored], ignore=selected.ignore)
    return replace(evidence, runs=tuple(map(_as_whole, evidence.runs)))


def _as_whole(run: RunEvidence) -> RunEvidence:
    return replace(run, run=run.run._replace(varied=None))


def _diagnose(run: runs.StoredRun) -> str:
    what = "-- COMMAND" if run.record.plain_command else run.record.recipe
    over_seeds = "" if run.record.plain_command else "; --seeds N compares results over seeds, not bits"
    return f"`reprokit diagnose {what}` finds the line{over_seeds}"


def _compared(
    stored: Mapping[str, Sequence[runs.StoredRun]],
    about: Mapping[str, Side],
    selected: Selected,
    *,
    recipes: Mapping[str, Mapping[str, Any]],
) -> Answer:
    first, other = (stored[name][0] for name in SIDES)
    found = _comparison(first, other, selected)
    common = _common_metrics(first.path, other.path, found, selected)
    if not common:
        raise _NoEvidenceError(
            "the sides have no metric with a value in common, so nothing can be compared",
            "`reprokit diff` on a run of each shows what they log",
        )
    trace = _trace(first.path, other.path)
    told = comparison.to_json(found)
    answer = Answer(
        answer=Word.EQUAL,
        sentence="",
        sides=about,
        first=told["divergence"],
        trace=trace,
        what_differs=what_differs(first, other, recipes=recipes),
        metrics=told["per_metric"],
        records_compared=found.records_compared,
        notes=tuple(_notes(stored, found, only=selected.only)),
    )
    if found.identical and trace is None:
        sentence = f"every number is equal, bit for bit, in {extent(found)}"
        return replace(answer, sentence=sentence)
    sentence, hint = difference(found, trace)
    return replace(answer, answer=Word.DIFFERENT, sentence=sentence, hint=hint)


def _comparison(first: runs.StoredRun, other: runs.StoredRun, selected: Selected) -> Comparison:
    """The first runs of both sides, bit for bit.

    Raises:
        _NoEvidenceError: They cannot be compared.
    """
    try:
        for run in (first, other):
            must_have_metrics(run.path)
        found, _ = adapters.compare_paths(
            first.path, other.path, metrics=selected.only, ignore=selected.ignore
        )
    except MetricsError as error:
        raise _NoEvidenceError(f"the sides cannot be compared: {error.told()}", error.fix or "") from error
    if not found.comparable:
        why = next((one.message for one in found.problems if one.severity == "error"), "no record is common")
        raise _NoEvidenceError(f"the sides cannot be compared: {why}")
    if any(problem.kind == "only_nan" for problem in found.problems):
        raise _NoEvidenceError("every metric is NaN, which is no evidence of anything")
    return found


def _common_metrics(first: Path, other: Path, found: Comparison, selected: Selected) -> set[str]:
    """The metrics that both sides have with at least one value."""
    try:
        pairs, _ = adapters.pair_runs(first, other)
        names: set[str] = set()
        for pair in pairs:
            left, right = (adapters.summarise(source.path) for source in pair)
            valued = [set(one.metric_names) - set(one.without_value) for one in (left, right)]
            prefix = f"{pair[0].name}:" if len(pairs) > 1 else ""
            names |= {prefix + name for name in valued[0] & valued[1]}
    except (MetricsError, ReprokitError) as error:
        raise _NoEvidenceError(f"the sides cannot be compared: {error}") from error
    left_out = set(adapters.ignored_metrics([first, other], selected.ignore)) if selected.ignore else set()
    names = {name for name in names if name.rpartition(":")[2] not in left_out and name not in left_out}
    wanted = set(selected.only or names)
    return {name for name in names if name in wanted or name.rpartition(":")[2] in wanted} & set(
        found.per_metric
    )


def _trace(first: Path, other: Path) -> dict[str, Any] | None:
    """The first update and tensor that differ; None where they are equal, or not both sides have a trace."""
    if not all((folder / TRACE).is_file() for folder in (first, other)):
        return None
    compared = compare_ranks(first, other)
    return None if compared.equal else {"record": compared.records_compared - 1, **(compared.first or {})}


def _notes(
    stored: Mapping[str, Sequence[runs.StoredRun]], found: Comparison, *, only: Sequence[str] | None
) -> list[str]:
    notes = [problem.message for problem in found.problems if problem.severity == "warning"]
    every = [run.record for name in SIDES for run in stored[name]]
    kept = {path for record in every for path in record.shared.get("kept", ())}
    left = sorted(kept.union(*(record.left_by_earlier_runs for record in every)))
    if left:
        more = f" and {len(left) - 3} more" if len(left) > 3 else ""
        notes.append(f"a later run could read what an earlier one left: {', '.join(left[:3])}{more}")
    for run in (stored[name][0] for name in SIDES):
        if run.record.other_tree and run.record.other_tree.unknown:
            why = run.record.other_tree.unknown
            notes.append(f"which files of other runs and trees {run.path.name} opened is not known: {why}")
    firsts = [stored[name][0] for name in SIDES]
    patterns = patterns_recorded(firsts)
    if differing := differing_outputs(firsts, patterns) if patterns is not None else {}:
        notes.append(f"output files that differ and were not compared: {listed(sorted(differing))}")
    if len({(stored[name][0].path / TRACE).is_file() for name in SIDES}) == 2:
        notes.append("only one side has a trace, so parameters and random states were not compared")
    if only is not None:
        notes.append(f"only these metrics were compared: {', '.join(only)}")
    if found.identical and found.records_compared == 1:
        notes.append("one record was compared: what it does not show may differ")
    return notes
