"""What each verdict says to a person: one sentence, and the command to type next.

Pure: it reads nothing, and judges nothing.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reprokit.core import fingerprint, rounding
from reprokit.core.checklist import Evidence, GoldenEvidence, Judgement, Verdict
from reprokit.core.comparing import clock_metrics
from reprokit.core.comparison import Divergence
from reprokit.core.records import Outcome
from reprokit.core.run_record import RunRecord
from reprokit.core.verdicts.agreement import takes_seed, unresponsive, why_not_responding
from reprokit.core.verdicts.rows import counted, listed
from reprokit.harness.judging import ensemble_wording, stress_wording
from reprokit.harness.judging.differences import what_changed
from reprokit.harness.running import again
from reprokit.layout import OUTPUT


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictCase:
    """A verdict with what it rests on; ``lines``: dotted path in the recipe → line, counted from 1.

    ``failed`` names the required rows that FAILED or are ERROR; ``not_judged`` counts those SKIPPED.
    ``prints_numbers``: a plain command without metrics prints what could be read as such. ``advice``: that of
    the first row that fails for runs beside the pair, which `report show` of the pair would not judge.
    """

    judged: Judgement
    evidence: Evidence
    divergence: Divergence | None
    failure: Mapping[str, Any] | None
    folders: Sequence[Path]
    lines: Mapping[str, int] = field(default_factory=dict)
    failed: Sequence[str] = ()
    not_judged: int = 0
    prints_numbers: bool = False
    advice: str = ""

    @property
    def count(self) -> int:
        return len(self.evidence.runs)

    @property
    def failed_beside_golden(self) -> tuple[str, ...]:
        """The failed rows that a new golden does not mend."""
        return tuple(name for name in self.failed if name not in _OF_THE_GOLDEN)

    @property
    def reference(self) -> str:
        """What the runs were compared with, as a sentence calls it."""
        golden, repeated = self.evidence.golden, self.evidence.reference_run
        return golden.noun if golden else repeated.noun if repeated else "the golden"

    @property
    def differ(self) -> str:
        """That the runs agree with each other, and not with what they were compared with."""
        until = " with each other until they were stopped" if self.evidence.stopped_at_golden else ""
        return f"{self.count} runs agree{until}, but differ from {self.reference} from {self.where} on"

    @property
    def where(self) -> str:
        first = self.divergence
        if first is None:
            return "the start"
        metric = f"metric {first.metric}" if first.metric else ""
        if first.step is None:
            return f"{first.place}{f' ({metric})' if metric else ''}"
        return f"step {first.step} (record {first.record}{f', {metric}' if metric else ''})"


def sentence(case: VerdictCase) -> str:
    """The verdict in one sentence."""
    if told := stress_wording.sentence(case.evidence, case.judged, where=case.where):
        return f"{told}{_by_the_clock(case)}.{_left(case)}"
    told = ensemble_wording.sentence(case.evidence, case.judged, differ=case.differ)
    return told or _SENTENCES[case.judged.verdict](case)


def next_command(case: VerdictCase) -> str:
    """What to type next, or "" when there is nothing to do."""
    if stress_wording.shows_nothing(case.evidence, case.judged):
        return stress_wording.as_they_are(_as_it_stands(case))
    if others := _of_someone_else(case):
        return others
    told = ensemble_wording.next_command(case.evidence, case.judged)
    return _NEXT[case.judged.verdict](case) if told is None else told


def _of_someone_else(case: VerdictCase) -> str:
    """What a reviewer can do, who has neither the author's project nor its golden; "" for one's own runs."""
    if not case.evidence.runs or not case.evidence.runs[0].run.bundle:
        return ""
    told = _OF_A_BUNDLE.get(case.judged.verdict, "")
    return told.removeprefix(_IF_PUBLISHED) if "sha256_asked" in case.evidence.runs[0].run.bundle else told


def _in_what(case: VerdictCase) -> str:
    """In what runs agree, so that no one takes output files for compared; "" of versions without this."""
    outputs = case.evidence.outputs
    if outputs is None:
        return ""
    left_out = sorted({*case.evidence.volatile_metrics, *case.evidence.ignored_metrics})
    metrics = f"every metric but {listed(left_out)}" if left_out else "every metric"
    return f" in {metrics}{f' and in {listed(outputs)}' if outputs else ''}"


def _uncompared(case: VerdictCase) -> str:
    """Which output files differ although nothing compared them; "" where none is known to."""
    found = case.evidence.outputs_differing
    if not found:
        return ""
    differ = "differs and was" if len(found) == 1 else "differ and were"
    return f" {counted(len(found), 'output file')} {differ} not compared: {listed(found)}."


def _left(case: VerdictCase) -> str:
    """What a later run could have read of an earlier one in the tree; "" where nothing is known."""
    found = case.evidence.left_in_tree
    if not found:
        return ""
    changed = f"{counted(len(found), 'file')} of the tree appeared or changed"
    return f" Between the runs {changed}, so that they did not begin alike: {listed(sorted(found))}."


def _kept(case: VerdictCase) -> str:
    """What a later run read in caches and packages that an earlier one had written there."""
    found = sorted({path for run in case.evidence.runs for path in run.run.shared.get("kept", ())})
    if not found:
        return ""
    return f" A later run read what was written in caches while an earlier one ran: {listed(found)}."


def _hidden_failure(case: VerdictCase) -> str:
    """That a log ends with an error, so that no one takes what was logged before it for a whole run."""
    for file, error in sorted(case.evidence.printed_failures.items()):
        return f" {file} ends with an error ({error.rstrip('.')}), and the exit code is 0: did all of it run?"
    return ""


def _beside_metrics(case: VerdictCase) -> str:
    return f"{_uncompared(case)}{_left(case)}{_kept(case)}{_hidden_failure(case)}"


def _nondeterministic(case: VerdictCase) -> str:
    if case.divergence is None:
        return f"{case.judged.because[:1].upper()}{case.judged.because[1:]}."
    if files := _counted_outputs(case):
        differs = "differs" if len(files) == 1 else "differ"
        return f"Two runs with the same seed have equal metrics, but {listed(files)} {differs}.{_left(case)}"
    return f"Two runs with the same seed differ from {case.where} on{_by_the_clock(case)}.{_left(case)}"


def _counted_outputs(case: VerdictCase) -> list[str]:
    """The output files of a plain command that count and differ, where no metric does."""
    if case.evidence.recipe is not None or not case.evidence.outputs:
        return []
    every = (item for repeat in case.evidence.repeats for item in repeat.per_metric.items())
    differing = dict.fromkeys(name for name, how in every if how.mismatches)
    of_files = [name.removeprefix(f"{OUTPUT}/") for name in differing if name.startswith(f"{OUTPUT}/")]
    return of_files if len(of_files) == len(differing) else []


def _by_the_clock(case: VerdictCase) -> str:
    """That nothing differs but metrics of the wall clock, and how to leave them out; "" where more does."""
    kinds, repeats = case.evidence.clock_metrics, case.evidence.repeats
    if not kinds:
        return ""
    every = max(len(repeat.per_metric) for repeat in repeats)
    group = next(iter(kinds)).rpartition("/")[0]
    under = f", all under {group}/" if group and all(name.startswith(f"{group}/") for name in kinds) else ""
    one = len(kinds) == 1
    differ = f"{len(kinds)} of {counted(every, 'metric')} {'differs' if one else 'differ'}{under}"
    measure = "by its values it measures" if one else "by their values they measure"
    name = (case.evidence.recipe or {}).get("name")
    how = (
        f"{clock_metrics.volatile(kinds)} in recipes/{name}/recipe.yaml"
        if name
        else clock_metrics.options(kinds)
    )
    leaves = f"{how} leaves {'it' if one else 'them'} out"
    return f": {differ}, {clock_metrics.sentence(kinds)}; {measure} time, and {leaves}"


def _regression(case: VerdictCase) -> str:
    if case.evidence.modified:
        differ = f"The metrics differ from {case.reference} from {case.where} on"
        return f"{differ}, as expected: the runs {_modified(case)}."
    since = what_changed.code(case.evidence, case.lines)
    return f"{case.differ}, in an environment that computes the same; {since}{_tolerance(case)}."


def _stale(case: VerdictCase) -> str:
    golden = case.evidence.golden
    told = what_changed.environment(golden) if golden else ""
    told = told or "how it differs is not recorded"
    changed = what_changed.code(case.evidence, case.lines)
    also = f"; {changed} too" if changed.startswith("changed") else ""
    if case.evidence.modified:
        also = f"; the runs {_modified(case)}"
    return f"{case.differ}, in another environment: {told}{also}{_tolerance(case)}{_rounding(case)}."


def _tolerance(case: VerdictCase) -> str:
    """That a tolerance was not counted; "" where all were."""
    told = what_changed.uncounted_tolerance(
        case.evidence, case.divergence.metric if case.divergence else None
    )
    return f"; {told}" if told else ""


def _rounding(case: VerdictCase) -> str:
    """Which operations round differently on this CPU than on the golden's; "" where it is not recorded.

    Only next to an environment that computes differently: in one that computes the same it is no cause.
    """
    golden, runs = case.evidence.golden, case.evidence.runs
    recorded = golden.provenance.environment if golden else None
    if not recorded or not runs:
        return ""
    told = rounding.sentence(rounding.compare_records(recorded, runs[0].environment).differing)
    return f"; {told}" if told else ""


def _no_golden(case: VerdictCase) -> str:
    if case.evidence.modified:
        agree = f"{case.count} runs agree, but they {_modified(case)}"
        return f"{agree}, and {case.judged.because}."
    failed = f", and these runs cannot become one: {', '.join(case.failed)} failed" if case.failed else ""
    if not failed and _is_silent(case):
        silent = why_not_responding(case.evidence)
        failed = f", and these runs cannot become one: {silent.reason}" if silent else ""
    agree = f"{case.count} runs agree with each other{_in_what(case)}, bit for bit"
    by_seeds = ""
    if case.evidence.ensemble_not_asked:
        asks = "`reprokit verify --statistical` compares new seeds with it"
        by_seeds = f" There is an ensemble, which was not asked: {asks}."
    held = "" if failed else _held_equal(case)
    return f"{agree}; {case.judged.because}{failed}.{held}{by_seeds}{_beside_metrics(case)}"


def _held_equal(case: VerdictCase) -> str:
    """That runs of a recipe cannot show what another hash seed does, before someone makes them a golden."""
    recipe = case.evidence.recipe or {}
    was_set = any("PYTHONHASHSEED" in run.run.environment for run in case.evidence.runs)
    if _is_plain(case) or not was_set or "hash_seed" in (recipe.get("immune_to") or ()):
        return ""
    diagnose = f"`reprokit diagnose {recipe.get('name')}`"
    return (
        f" All had the same hash seed of Python, which may hide a difference: {diagnose} varies it, and more."
    )


def _is_silent(case: VerdictCase) -> bool:
    """Whether it is known that no metric responds to the seed, or that there is none to respond to."""
    seen, recipe = case.evidence.seed_response, case.evidence.recipe or {}
    looked = seen is not None and (bool(seen.run) or not takes_seed(recipe))
    return looked and why_not_responding(case.evidence) is not None


def _modified(case: VerdictCase) -> str:
    sets = " ".join(f"--set {override}" for override in case.evidence.modified)
    return f"were made with {sets}, not with the recipe's own settings"


def _reproduced(case: VerdictCase) -> str:
    golden = case.evidence.golden
    if golden is None:
        return _repeatable(case)
    told = what_changed.environment(golden)
    note = f" Note: {told}; the metrics equal those of {case.reference} nevertheless." if told else ""
    if not golden.comparison.identical:
        return (
            f"{case.count} runs agree bit for bit, and with {case.reference} within the recipe's tolerance, "
            f"but not exactly{_drift(golden)}; this may be the start of a drift.{note}{_beside_metrics(case)}"
        )
    agree = f"{case.count} runs agree with each other and with {case.reference}{_in_what(case)}, bit for bit"
    return f"{agree}{_unpinned(case)}.{note}{_silent(case)}{_beside_metrics(case)}{_not_judged(case)}"


def _silent(case: VerdictCase) -> str:
    because = unresponsive(case.evidence.recipe or {})
    return f" No metric responds to the seed, as the recipe says: {because.rstrip('.')}." if because else ""


def _unpinned(case: VerdictCase) -> str:
    if (case.evidence.recipe or {}).get("variant") != "none":
        return ""
    unknown = fingerprint.why_unknown(*(run.environment for run in case.evidence.runs))
    return f", in an environment that nothing pins{', and whose Python is not known' if unknown else ''}"


def _not_judged(case: VerdictCase) -> str:
    """How many rows no one asked for, so that no one takes them for passed."""
    if "command" not in (case.evidence.recipe or {}) or not case.not_judged:
        return ""
    is_one = case.not_judged == 1
    asked = "does not apply or was not asked for" if is_one else "do not apply or were not asked for"
    return f" {counted(case.not_judged, 'optional check')} {asked}."


def _drift(golden: GoldenEvidence) -> str:
    """Which metric has the largest relative error, within its tolerance; "" where none has any."""
    errors = {
        name: one.max_rel_error for name, one in golden.comparison.per_metric.items() if one.max_rel_error
    }
    worst = max(errors, key=errors.__getitem__, default=None)
    return "" if worst is None else f" (largest relative error: {errors[worst]:.2g}, of {worst})"


def _repeatable(case: VerdictCase) -> str:
    agree = f"{case.count} runs agree with each other{_in_what(case)}, bit for bit"
    golden = case.evidence.golden
    if golden is None or not golden.is_foreign:
        return f"{agree}.{_beside_metrics(case)}"
    within = f"are within the declared tolerance of {golden.noun}{_unpinned(case)}"
    return f"{agree}, and {within}.{_beside_metrics(case)}"


def _paths(case: VerdictCase) -> str:
    return " ".join(str(folder) for folder in case.folders)


def _show(case: VerdictCase) -> str:
    return f"reprokit report show {_paths(case)}{_asked(case)}"


def _after_unjudged(case: VerdictCase) -> str:
    """A program that logs nothing has nothing to show."""
    plain = case.evidence.recipe is None
    if plain and case.evidence.runs and all(run.num_records == 0 for run in case.evidence.runs):
        if any(how != "removed" for how in case.evidence.left_in_tree.values()):
            return again.with_recipe(case.evidence.rerun)
        if case.prints_numbers:
            return again.with_printed(case.evidence.rerun)
        return "reprokit help bring-your-own-program"
    return _show(case)


def _golden_path(case: VerdictCase) -> str:
    return case.evidence.golden.path if case.evidence.golden else "golden/"


def _after_failure(case: VerdictCase) -> str:
    """Look at the program's own log, unless the host or the engine is to blame, or data is not there.

    A folder that was interrupted, or changed after its run had finished, says nothing of either: run again.
    """
    failure = case.failure or {}
    if failure.get("outcome") in {Outcome.WORKSPACE_BUSY, Outcome.INTERRUPTED}:
        return case.evidence.rerun
    if _MAKES_THERE.fullmatch(remedy := str(failure.get("remedy"))):
        return remedy
    log = failure.get("log")
    if not log and failure.get("outcome") == Outcome.CRASHED:  # it printed nothing: see what was started
        return f"reprokit runs show {failure.get('run')}"
    return "reprokit doctor" if failure.get("outcome") in _OF_THE_HOST or not log else f"tail -n 40 {log}"


def _is_plain(case: VerdictCase) -> bool:
    """Whether a plain command is compared with a golden, as if a recipe said it."""
    return bool(case.evidence.runs and case.evidence.runs[0].run.plain_command)


def _as_it_stands(case: VerdictCase) -> str:
    if _is_plain(case):
        return case.evidence.rerun
    name = (case.evidence.recipe or {}).get("name")
    return f"reprokit reproduce {name} --seed {_seed(case)}{_backend(case)}{_asked(case)}"


def _backend(case: VerdictCase) -> str:
    asked = case.evidence.runs[0].run.backend_asked if case.evidence.runs else None
    return "".join(f" {word}" for word in again.backend_words(asked))


def _asked(case: VerdictCase) -> str:
    """Which folders were asked for, for the end of a command."""
    return "".join(f" {shlex.quote(word)}" for word in case.evidence.options)


def _seed(case: VerdictCase) -> int:
    seed = case.evidence.runs[0].run.seed if case.evidence.runs else None
    return seed if isinstance(seed, int) else 0


def _after_no_golden(case: VerdictCase) -> str:
    """Promote, where that would be accepted; else what must come first."""
    evidence = case.evidence
    if evidence.reference_run is not None:
        return shlex.join(
            ["reprokit", "env", "diff", evidence.reference_run.path, *map(str, case.folders[:1])]
        )
    recipe = evidence.recipe or {}
    if evidence.modified:
        return _as_it_stands(case)
    if case.failed or _is_silent(case):
        return _show(case) if case.failed else _after_silence(case)
    if evidence.ensemble_not_asked:
        words = f"reprokit verify {recipe.get('name')} --seed {_seed(case)} --statistical"
        return f"{words}{_backend(case)}{_asked(case)}"
    if "platforms" in recipe and evidence.platform not in recipe["platforms"]:
        where = what_changed.recipe_line(str(recipe.get("name")), "platforms", case.lines)
        return f"add {evidence.platform} to {where} (platforms), then: {_as_it_stands(case)}"
    return _promotion(case, reason="first golden")


def _after_silence(case: VerdictCase) -> str:
    """What makes runs a golden of which no metric responds to the seed: nothing is to be shown again."""
    if _is_plain(case) or not case.evidence.recipe:
        return _show(case)
    file = f"recipes/{case.evidence.recipe.get('name')}/recipe.yaml"
    meant = f"add `unresponsive: {{because: …}}` to {file} if that is meant"
    return f"have the program use its seed, or {meant}, then: {_as_it_stands(case)}"


def _after_nondeterministic(case: VerdictCase) -> str:
    """Find the line; where only the clock differs, leave its metrics out."""
    evidence = case.evidence
    record = evidence.runs[0].run if evidence.runs else RunRecord()
    if record.bundle:  # someone else's code, which `diagnose` does not take
        return f"reprokit diff {case.folders[0]} {case.folders[1]}"
    if record.plain_command:
        options, words, command = evidence.rerun.partition(" -- ")
        if evidence.clock_metrics:
            return f"{options} {clock_metrics.options(evidence.clock_metrics)}{words}{command}"
        if not evidence.is_stressed:
            options = re.sub(r" --repeats \d+", "", options)
        options = options.replace("reprokit reproduce", "reprokit diagnose", 1)
        return f"{options}{words}{command}"
    name = (evidence.recipe or {}).get("name")
    if evidence.clock_metrics:
        declared = clock_metrics.volatile(evidence.clock_metrics)
        return f"add {declared} to recipes/{name}/recipe.yaml, then: {_as_it_stands(case)}"
    sets = "".join(f" --set {shlex.quote(override)}" for override in evidence.modified)
    again_so = f" --repeats {case.count} --stress" if evidence.is_stressed else ""
    return f"reprokit diagnose {name} --seed {_seed(case)}{sets}{_backend(case)}{again_so}{_asked(case)}"


def _after_regression(case: VerdictCase) -> str:
    """Promote, where what changed is known and meant; where nothing is known to have changed, ask which."""
    if case.evidence.reference_run is not None:
        folders = [case.evidence.reference_run.path, *map(str, case.folders)]
        return shlex.join(["reprokit", "runs", "compare", *folders])
    if case.evidence.modified:
        return _as_it_stands(case)
    golden, recipe = case.evidence.golden, case.evidence.recipe
    if golden is not None and recipe is not None and not golden.changed and not _is_plain(case):
        return _attribution(case, recipe)
    if golden is None or not golden.changed or _is_plain(case) or case.failed_beside_golden:
        return f"reprokit diff {_golden_path(case)} {case.folders[0]}"
    other = "" if recipe is None else f", else: {_attribution(case, recipe)}"
    return f"if it is meant: {_promotion(case, reason='what changed')}{other}"


def _after_stale(case: VerdictCase) -> str:
    """Find the package that moved the numbers, where the locks differ; else show both environments."""
    evidence, recipe = case.evidence, case.evidence.recipe
    golden = evidence.golden
    pinned = recipe is not None and recipe.get("variant") != "none" and not _is_plain(case)
    if golden is None or recipe is None or not pinned or "lock" not in golden.changed:
        return f"reprokit env diff {_golden_path(case)} {case.folders[0]}"
    seed = f" --seed {_seed(case)}"
    sets = "".join(f" --set {shlex.quote(override)}" for override in evidence.modified)
    ends = f"--packages --good {shlex.quote(golden.path)}"
    return f"reprokit bisect {recipe['name']} {ends}{seed}{sets}{_backend(case)}{_asked(case)}"


def _attribution(case: VerdictCase, recipe: Mapping[str, Any]) -> str:
    """The command that finds out whether code or environment is to blame."""
    words = f"reprokit reproduce {recipe['name']} --seed {_seed(case)}"
    return f"{words}{_backend(case)} --attribute{_asked(case)}"


def _promotion(case: VerdictCase, *, reason: str) -> str:
    """The command that makes the runs the golden; whole runs of what git has come first."""
    evidence = case.evidence
    source = evidence.runs[0].environment.get("source") if evidence.runs else None
    is_unrecorded = isinstance(source, Mapping) and source.get("unrecorded")
    if is_unrecorded or evidence.stopped_at_golden:
        first = f"{_without_changes(source)}, then: " if isinstance(source, Mapping) and is_unrecorded else ""
        name = (evidence.recipe or {}).get("name")
        promote = f"reprokit golden promote {name} --reason '{reason}'{_asked(case)}"
        return f"{first}{_as_it_stands(case)}, then: {promote}"
    return f"reprokit golden promote {_paths(case)} --reason '{reason}'{_asked(case)}"


def _without_changes(source: Mapping[str, Any]) -> str:
    """What to do about files that git does not have, which are named if each name is plain."""
    files = [str(file) for file in source.get("changed_files") or ()]
    if files and all(map(_PLAIN_NAME.fullmatch, files)):
        return f"commit or stage {listed(files)} (or list what the program writes in .gitignore)"
    return "commit or stage the changes"


#: A path that can be part of a sentence with commands.
_PLAIN_NAME = re.compile(r"\w[\w./-]*", re.ASCII)

#: Rows about the golden that is to be replaced.
_OF_THE_GOLDEN = frozenset({"equals_golden", "trace_equal", "environment_compatible"})

#: What brings data or a file that is not there; the record may be anyone's, and this is about to be pasted.
_MAKES_THERE = re.compile(r"reprokit data (fetch|prepare) [\w.-]+|git add \w[\w./-]*", re.ASCII)

#: Failures that are not the program's: nothing of its own log explains them.
_OF_THE_HOST = frozenset(
    {
        Outcome.IMAGE_MISSING,
        Outcome.IMAGE_BUILD_FAILED,
        Outcome.ENGINE_MISSING,
        Outcome.ENGINE_LOST,
        Outcome.START_REFUSED,
        Outcome.DISK_FULL,
        Outcome.RUN_FOLDER_NOT_WRITABLE,
        Outcome.MOUNTS_CHANGED,
    }
)

_SENTENCES: Mapping[Verdict, Callable[[VerdictCase], str]] = {
    Verdict.NOT_RUN: lambda case: (
        f"A run did not finish: {case.failure['message'] if case.failure else case.judged.because}."
    ),
    Verdict.NONDETERMINISTIC: _nondeterministic,
    Verdict.REGRESSION: _regression,
    Verdict.STALE_GOLDEN: _stale,
    Verdict.NO_GOLDEN: _no_golden,
    Verdict.CHECK_FAILED: lambda case: f"{case.count} runs agree, but {case.judged.because}.",
    Verdict.UNJUDGED: lambda case: f"There is not enough evidence for a verdict: {case.judged.because}.",
    Verdict.REPRODUCED: _reproduced,
    Verdict.EQUIVALENT: lambda case: f"{case.judged.because[:1].upper()}{case.judged.because[1:]}.",
    Verdict.REPEATABLE: _repeatable,
}

_IF_PUBLISHED = "if the archive has the digest that its author published, "
_ASK_AUTHOR = f"{_IF_PUBLISHED}send the author this report"
#: Of runs that were made from a bundle.
_OF_A_BUNDLE = {
    Verdict.REGRESSION: _ASK_AUTHOR,
    Verdict.STALE_GOLDEN: _ASK_AUTHOR,
    Verdict.NO_GOLDEN: "ask the author for a bundle of the golden, which your runs would be compared with",
}

_NEXT: Mapping[Verdict, Callable[[VerdictCase], str]] = {
    Verdict.NOT_RUN: _after_failure,
    Verdict.NONDETERMINISTIC: _after_nondeterministic,
    Verdict.REGRESSION: _after_regression,
    Verdict.STALE_GOLDEN: _after_stale,
    Verdict.NO_GOLDEN: _after_no_golden,
    Verdict.CHECK_FAILED: lambda case: case.advice or _show(case),
    Verdict.UNJUDGED: _after_unjudged,
    Verdict.REPRODUCED: lambda _case: "",
    Verdict.EQUIVALENT: lambda _case: "",
    Verdict.REPEATABLE: lambda _case: "",
}
