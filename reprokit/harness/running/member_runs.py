"""The run folders that there are of one run of a sweep, and which of them counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reprokit import runs
from reprokit.harness.running.run_inputs import RunInputs, WholeRunFolder
from reprokit.layout import RECORD
from reprokit.runs.listing import key_of
from reprokit.runs.sweeps import MemberState, SweepMember, state_of


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberStatus:
    """How far a member of a sweep is.

    Attributes:
        state: As its run folders say, each file compared with COMPLETE.
        folder: The run that counts: the first finished one, else the last attempt; None where there is none.
        message: Why it is not complete, one sentence, or "".
        attempts: How many run folders there are of it.
    """

    state: MemberState = MemberState.WAITING
    folder: Path | None = None
    message: str = ""
    attempts: int = 0


def by_seed(found: Iterable[WholeRunFolder]) -> dict[int, list[WholeRunFolder]]:
    """Run folders by their seeds, in the order in which they come."""
    there: dict[int, list[WholeRunFolder]] = {}
    for one in found:
        there.setdefault(one.seed, []).append(one)
    return there


def standing_of(inputs: RunInputs, seed: int, *, among: Sequence[WholeRunFolder]) -> MemberStatus:
    """How far the run of some inputs with a seed is, among the runs of its recipe, oldest first."""
    found = [one for one in among if one.seed == seed and one.counts_for(inputs)]
    last = MemberStatus()
    for one in found:
        stored = runs.read(one.path)
        state = state_of(stored)
        if state is MemberState.COMPLETE and inputs.covers(one.inputs):
            return MemberStatus(state=state, folder=one.path, attempts=len(found))
        last = MemberStatus(
            state=MemberState.CHANGED if state is MemberState.COMPLETE else state,
            folder=one.path,
            message=stored.incomplete_because,
            attempts=len(found),
        )
    return last


def member_today(member: SweepMember, *, among: Sequence[WholeRunFolder], runs_dir: Path) -> SweepMember:
    """A recorded member of a sweep as its run folders say that it is, which a record cannot know.

    Args:
        member: As ``sweep.json`` has it.
        among: The runs of its recipe with its seed, or all of its recipe, oldest first.
        runs_dir: Where they are.
    """
    recorded = runs_dir / member.run
    attempts = []
    for one in sorted(among, key=lambda one: not one.is_recorded):  # those that may be promoted come first
        if one.seed == member.seed and one.identity(mixed=member.mixed) == member.identity:
            if runs.read(one.path).complete:
                kind = one.inputs.surroundings if member.mixed else member.kind
                return replace(
                    member, state=MemberState.COMPLETE, run=key_of(one.path), message="", kind=kind
                )
            attempts.append(one.path)
    if member.run and (recorded / RECORD).is_file() and not runs.read(recorded, verify=False).complete:
        attempts.append(recorded)  # an interrupted run does not say all that it stands on
    if not attempts:
        what = "of another run" if (recorded / RECORD).is_file() else "gone"
        gone = f"its run folder is {what}: {member.run}" if member.run else member.message
        state = MemberState.NOT_STARTED if member.state is MemberState.NOT_STARTED else MemberState.WAITING
        return replace(member, state=state, run="", message=gone or "it was not run yet")
    stored = runs.read(max(attempts, key=lambda folder: folder.name))
    message = stored.incomplete_because
    return replace(member, state=state_of(stored), run=key_of(stored.path), message=message)
