"""Runs of new seeds for an ensemble: three, then five, then ten, until its gate decides.

What is finished already is used again, so the same command gives the same answer, unless the judged runs show
that it was made under other conditions. No sweep is recorded: these seeds are the gate's, not those that the
recipe promises results for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reprokit import capture, golden
from reprokit.core.evidence import EnsembleEvidence, Evidence
from reprokit.core.verdicts import ensemble_tier
from reprokit.errors import CannotRunError
from reprokit.harness.judging.earlier_runs import earlier_runs
from reprokit.harness.judging.ensemble_evidence import PLAN, ensemble_evidence, planned_seeds
from reprokit.harness.judging.gather import gather
from reprokit.harness.running.start_command import among_others_in
from reprokit.harness.running.varying.apply_variations import usable_cores
from reprokit.harness.sweeping.carry_out import SweepMembers, carry_out
from reprokit.harness.sweeping.groups import SweepGroup, as_they_stand, make_ready, members_of, side_by_side
from reprokit.project import Project
from reprokit.recipes import Recipe
from reprokit.request import Request
from reprokit.runs.sweeps import MemberState
from reprokit.session import HowFar, Progress, Session


def run_new_seeds(
    recipe: Recipe, folders: Sequence[Path], request: Request, *, session: Session
) -> tuple[Path, ...] | None:
    """Run new seeds where the ensemble is to decide.

    Args:
        recipe: What was run, overrides applied.
        folders: The runs with one seed, which equality and tolerance could not pass.
        request: What was asked for; ``statistical`` says whether the ensemble was.
        session: The project, and the progress that is shown.

    Returns:
        The run folders of the new seeds, none where the ensemble needs or allows none; None where it was not
        asked, or nothing is left for it to decide.

    Raises:
        CannotRunError: The runs cannot be made here.
        GoldenError: The ensemble is not what was promoted.
    """
    if not request.statistical:
        return None
    evidence = gather(recipe, folders, golden_dir=session.project.golden_dir, seed=request.seed)
    if not ensemble_tier.may_decide(evidence):
        return None
    found = _judged(recipe, folders, (), evidence=evidence, project=session.project)
    excused = ensemble_tier.excuses_difference(evidence)
    if found.missing and not excused:
        make = (
            f"`reprokit sweep {recipe.name} --seeds {golden.USUAL_SEEDS}`, `reprokit golden promote --sweep`"
        )
        session.progress.note(f"{found.missing}, so the golden alone decides; {make} make one")
        return None
    again = found.is_member and evidence.golden is None and not excused
    if found.missing or found.problem or again:
        return ()
    seeds = planned_seeds(golden.load_ensemble(Path(found.path)))
    with session.phase("new seeds"), among_others_in(session.project, note=session.progress.note):
        host = capture.capture_host(session.project.root)
        group = make_ready(recipe, request, seeds=lambda _: seeds, host=host, session=session)
        if group.problem:
            raise CannotRunError(f"the new seeds cannot be run: {group.problem}")
        made: tuple[Path, ...] = ()
        for num_new in PLAN.looks:
            made = run_first_members(group, num_new, session=session, judged=folders[0])
            found = _judged(recipe, folders, made, evidence=evidence, project=session.project)
            if found.not_run or found.problem or found.conclusion != ensemble_tier.UNJUDGED:
                break
    return made


def _judged(
    recipe: Recipe, folders: Sequence[Path], made: Sequence[Path], *, evidence: Evidence, project: Project
) -> EnsembleEvidence:
    return ensemble_evidence(
        recipe, folders[0], made, platform=evidence.platform, golden_dir=project.golden_dir
    )


def run_first_members(
    group: SweepGroup,
    num_new: int,
    *,
    session: Session,
    same_overrides: bool = False,
    judged: Path | None = None,
    called: str = "",
) -> tuple[Path, ...]:
    """The runs of the first seeds of a group, those made that are not finished yet.

    With ``same_overrides`` only those count as finished whose recipe was loaded with the same overrides; with
    ``judged``, a run with another seed, those that were made under its conditions. ``called`` is what a
    person calls the settings of the group.
    """
    members = list(members_of(group))[:num_new]
    if called:
        members = [replace(member, called=f"{called} · s{member.seed}") for member in members]
    groups = dict.fromkeys(range(num_new), group)
    counts = earlier_runs(judged).show_same_conditions if judged is not None else None
    there = as_they_stand(
        members, groups, project=session.project, same_overrides=same_overrides, counts=counts
    )
    board = SweepMembers(members=there, record=lambda _: None)
    going = {at: group for at, one in enumerate(board.members) if one.state is not MemberState.COMPLETE}
    if going:
        cores = usable_cores()
        carry_out(
            board,
            going,
            jobs=min(side_by_side(list(going.values()), num_cores=len(cores)), len(going)),
            cores=cores if len(cores) > 1 else (),
            progress=_AsRuns(progress=session.progress),
        )
    return tuple(session.project.runs_dir / member.run for member in board.members)


@dataclass(frozen=True, slots=True, kw_only=True)
class _AsRuns:
    """Members of a sweep shown as the runs of a report are."""

    progress: Progress

    def phase(self, name: str) -> None:
        self.progress.phase(name)

    def update(
        self, run_label: str, step: int, total: int | None, *, steps_per_s: float | None, eta_s: float | None
    ) -> None:
        self.progress.update(run_label, step, total, steps_per_s=steps_per_s, eta_s=eta_s)

    def alive(self, run_label: str, seen: str, *, expected_s: float | None = None) -> None:
        self.progress.alive(run_label, seen, expected_s=expected_s)

    def ended(self, run_label: str) -> None:
        self.progress.ended(run_label)

    def note(self, text: str) -> None:
        self.progress.note(text)

    def member(self, label: str, how_far: HowFar, /) -> None:
        if how_far.phase != "training":
            self.progress.ended(label)
        elif how_far.step is None:
            self.progress.alive(label, how_far.told)
        else:
            self.progress.update(
                label, how_far.step, how_far.total, steps_per_s=how_far.steps_per_s, eta_s=None
            )
