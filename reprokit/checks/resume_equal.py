"""Row ``resume_equal``: a training that is killed and resumed ends as if it had never been stopped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from reprokit.core.evidence import Evidence, ResumeEvidence, is_integer
from reprokit.core.verdicts.comparability import Objection
from reprokit.core.verdicts.rows import (
    Finding,
    Status,
    counted,
    failed,
    not_applicable,
    passed,
    skipped,
    unjudged,
)
from reprokit.layout import FINAL_MODEL

ID = "resume_equal"
TITLE = "A resumed run equals the uninterrupted one"
ORDER = 240
ADVISORY = False
NEEDS_RECIPE = True
DECLARED_BY = "resume"
ASKED_BY = "resume"

#: The gravest first, and what is said of places that are so.
_GRAVEST = (Status.FAILED, Status.ERROR, Status.SKIPPED, Status.PASSED)
_SAID = {
    Status.FAILED: "differ from the uninterrupted run",
    Status.ERROR: "could not be judged",
    Status.SKIPPED: "were not resumed",
}
_ASK = "`reprokit reproduce RECIPE --resume`"
_LOOK = "save and restore it with the trainer's checkpoint: reprokit.runtime.checkpoint.training_state"

_FIND = "`reprokit diagnose --resume` with the recipe's command, stop_args and resume_args names what is lost"


def check(evidence: Evidence) -> Finding:
    """Metrics and trace byte for byte, and every value of every checkpoint from the one resumed from on."""
    if evidence.resume_places:
        return _at_places([(seen, _judged(seen)) for seen in evidence.resume_places])
    return _not_resumed(evidence) if evidence.resume is None else _judged(evidence.resume)


def _at_places(found: Sequence[tuple[ResumeEvidence, Finding]]) -> Finding:
    """Of several places: one that differs decides, then one that could not be judged."""
    places = [_told_of(seen, finding) for seen, finding in found]
    gravest = min(found, key=lambda one: _GRAVEST.index(one[1].status))
    seen, finding = gravest
    wrong = [one.place for one, other in found if other.status is finding.status]
    if finding.status is Status.PASSED:
        reason = f"killed at {counted(len(found), 'place')} and resumed: all of them as if never stopped"
        return passed(reason, places=places)
    many = f"{len(wrong)} of {counted(len(found), 'place')} {_SAID[finding.status]}"
    reason = f"{many} ({'; '.join(wrong)}); killed {seen.place}: {finding.reason}"
    return replace(finding, reason=reason, evidence={"places": places})


def _told_of(seen: ResumeEvidence, finding: Finding) -> dict[str, object]:
    runs = {"stopped", "resumed", "checkpoint", "counted"}
    return {
        "place": seen.place,
        "status": finding.status.value,
        "reason": finding.reason,
        "lost": list(seen.lost),
        **{key: value for key, value in finding.evidence.items() if key in runs},
    }


def _judged(seen: ResumeEvidence) -> Finding:
    about = {"stopped": seen.stopped, "resumed": seen.resumed, "checkpoint": seen.checkpoint}
    about |= {"counted": seen.counted} if seen.counted else {}
    if seen.problem:
        return unjudged(seen.problem, f"look at both run folders, then {_ASK} again", **about)
    if seen.failure:
        return failed(seen.failure, "see stderr.log of the resumed run", **about)
    if seen.first is not None:
        look = _LOOK if seen.stop_args is None else _FIND
        return failed(_difference(seen), look, **about, first=dict(seen.first))
    hole = _hole(seen) if seen.stop_args is None else _hole_of_program(seen)
    if hole is not None:
        return unjudged(hole.reason, f"look at both run folders, then {_ASK} again", **about)
    summary = _summary(seen) if seen.stop_args is None else _summary_of_program(seen)
    return passed(summary, **about, step=seen.step, stopped_at=seen.stopped_at)


def _not_resumed(evidence: Evidence) -> Finding:
    """No one asked: a recipe of a command that says how it is resumed does, of its own runs."""
    if (evidence.recipe or {}).get("resume") and evidence.reference_run is None:
        return skipped("the recipe says how its program is resumed, and no run was", _ASK)
    return not_applicable("no run was stopped and resumed; it was not requested", _ASK)


def _difference(seen: ResumeEvidence) -> str:
    first = seen.first or {}
    where, what = first.get("where", "a file"), first.get("what", "the contents")
    sample = first.get("sample")
    wrong = ""
    if isinstance(sample, Mapping):
        loader = f" (the loader of {sample['loader']})" if sample.get("loader") else ""
        wrong = f"; in the resumed run {sample['told']}{loader}"
    lost = f"; lost: {', '.join(seen.lost)}" if seen.lost else ""
    return (
        f"resumed from {seen.checkpoint}, {where} differs from the uninterrupted run: {what} is "
        f"{first.get('actual')!r:.80}, expected {first.get('expected')!r:.80}{wrong}{lost}"
    )


def _hole(seen: ResumeEvidence) -> Objection | None:
    """What the evidence leaves open, where nothing in it is wrong."""
    if not seen.signal:
        return Objection("the stopped run was not killed by a signal")
    if not is_integer(seen.step) or not is_integer(seen.stopped_at) or seen.stopped_at < seen.step:
        steps = f"the run stopped at step {seen.stopped_at!r}, and the checkpoint is of step {seen.step!r}"
        return Objection(steps)
    if not is_integer(seen.first_resumed) or seen.first_resumed <= seen.step:
        first = f"its first is {seen.first_resumed!r}"
        return Objection(f"the resumed run did not continue after step {seen.step}: {first}")
    if seen.records <= 0 or seen.updates == 0:
        return Objection("no record could be compared")
    if FINAL_MODEL not in seen.checkpoints:
        return Objection(f"{FINAL_MODEL} was not compared")
    return None


def _hole_of_program(seen: ResumeEvidence) -> Objection | None:
    if seen.records <= 0 or seen.first_resumed is None:
        return Objection("no record could be compared")
    return None


def _summary_of_program(seen: ResumeEvidence) -> str:
    how = f"stopped by {' '.join(seen.stop_args)}, and " if seen.stop_args else "left to its end, and "
    how = f"killed by {seen.signal} {seen.place}, and " if seen.place else how
    return (
        f"{how}resumed from {seen.checkpoint}: {counted(seen.records, 'record')} from step "
        f"{seen.first_resumed} to {seen.last_resumed} as if never stopped"
        + (
            "; no update was traced, so which samples it trained on was not compared"
            if seen.updates is None
            else ""
        )
    )


def _summary(seen: ResumeEvidence) -> str:
    traced = "" if seen.updates is None else f", {seen.updates} traced updates"
    timed = ""
    if seen.resumed_s is not None and seen.whole_s is not None:
        timed = f" in {seen.resumed_s:.1f} s of {seen.whole_s:.1f} s"
    later = len(seen.checkpoints)
    return (
        f"killed by {seen.signal} at step {seen.stopped_at}, resumed from {seen.checkpoint}: {seen.records} "
        f"records{traced} and {later} later checkpoint{'s' if later != 1 else ''} as if never stopped; the "
        f"resumed run did steps {(seen.step or 0) + 1} to {seen.last_resumed}{timed}"
    )
