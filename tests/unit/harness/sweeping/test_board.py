"""How often the record of a sweep is written: at every change, unless that takes long."""

from __future__ import annotations

from dataclasses import dataclass, field

from reprokit.harness.sweeping.carry_out import SweepMembers
from reprokit.runs.sweeps import MemberState, SweepMember

MEMBER = SweepMember(recipe="train", seed=1)


@dataclass
class Disk:
    """Takes so long for a record, by a clock of its own."""

    takes_s: float
    now: float = 100.0
    written: list[list[MemberState]] = field(default_factory=list)

    def record(self, members) -> None:
        self.now += self.takes_s
        self.written.append([one.state for one in members])

    def board(self) -> SweepMembers:
        return SweepMembers(members=[MEMBER], record=self.record, clock=lambda: self.now)


def changed(board: SweepMembers, *states: MemberState) -> None:
    for state in states:
        board.change(0, SweepMember(recipe="train", seed=1, state=state))


def test_a_record_that_is_written_quickly_is_written_at_every_change():
    disk = Disk(takes_s=0.01)
    changed(disk.board(), MemberState.RUNNING, MemberState.CRASHED, MemberState.COMPLETE)
    assert disk.written == [[MemberState.RUNNING], [MemberState.CRASHED], [MemberState.COMPLETE]]


def test_a_record_that_takes_long_lags_behind_and_is_whole_at_the_end():
    disk = Disk(takes_s=0.5)
    board = disk.board()
    changed(board, MemberState.RUNNING, *[MemberState.CRASHED] * 50, MemberState.COMPLETE)
    assert disk.written == [[MemberState.RUNNING]]
    board.settle(at_end=True)
    assert disk.written[-1] == [MemberState.COMPLETE]
    board.settle(at_end=True)
    assert len(disk.written) == 2, "nothing has changed since"


def test_what_lags_behind_is_written_when_it_is_due():
    disk = Disk(takes_s=0.5)
    board = disk.board()
    changed(board, MemberState.RUNNING, MemberState.COMPLETE)
    disk.now += 5
    board.settle()
    assert len(disk.written) == 1
    disk.now += 5
    board.settle()
    assert disk.written[-1] == [MemberState.COMPLETE]
