"""Starts the ranks of a training, watches them, and ends all of them where one dies, leaves early or hangs.

    $ python -m reprokit.runtime.launch_ranks --ranks 2 --run-dir out … -- trainers/classifier.py
    error: rank 1 was ended by SIGKILL at gradients of update 12
    error: rank 1 hangs after measures of update 11 (stopped by a signal): rank 0 has waited 40 s at …

Each rank is ``launch`` with the same words, and ``--rank`` and ``--meeting``: the folder where they meet, and
where all but the first write what the run has from the first. What is said last on stderr is the reason.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from reprokit.core.records import STOPPED_EARLY
from reprokit.errors import CannotRunError, ReprokitError
from reprokit.layout import RUNTIME, read_json
from reprokit.runtime import rank_status
from reprokit.runtime.processor_times import is_stopped, processor_times
from reprokit.runtime.rank_processes import Process, started
from reprokit.runtime.rank_records import facts_of_ranks
from reprokit.runtime.rank_settings import LOST_PEER, RankSettings, own_folder
from reprokit.runtime.rank_status import Status
from reprokit.runtime.record_file import write_record

_TICK_S = 0.1
#: How long is waited, once a rank has lost another one, for that one to be found dead.
_GRACE_S = 5.0
#: A rank that computes uses more of a core than this; one that only looks for a file now and then uses less.
_IDLE = 0.002
#: How often processor times are read while a rank that uses none may go on.
_LOOKS = 20
#: After so long between two ticks this process stood still, and the ranks may have done so too.
_STOOD_STILL_S = 2.0
_ENDED = (0, STOPPED_EARLY)
_LONGER = "raise `ranks.timeout_s` where a rank only waits for so long"


class _RankFailedError(Exception):
    """A rank died or hangs; the message says which and where, ``codes`` how those ended that died."""

    def __init__(self, message: str, *, codes: Mapping[int, int] | None = None) -> None:
        super().__init__(message)
        self.codes = dict(codes or {})


class _TerminatedError(BaseException):
    """This process got a SIGTERM."""


def main(arguments: Sequence[str]) -> int:
    """Train on several ranks; the exit code is that of ``launch.main``."""
    usual = RankSettings()
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--run-dir", type=Path, required=True)
    parser.add_argument("--reduction", default=usual.reduction)
    parser.add_argument("--shards", type=int, default=usual.shards)
    parser.add_argument("--rank-timeout", type=float, default=usual.timeout_s)
    parser.add_argument("--stop-at", type=int)
    options, _ = parser.parse_known_args(arguments)
    settings = RankSettings(
        world_size=options.ranks,
        reduction=options.reduction,
        shards=options.shards,
        timeout_s=options.rank_timeout,
    )
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        return launch_ranks(arguments, settings, run_dir=options.run_dir, stop_at=options.stop_at is not None)
    except ReprokitError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    except _TerminatedError:  # no rank and no folder is left
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def launch_ranks(arguments: Sequence[str], settings: RankSettings, *, run_dir: Path, stop_at: bool) -> int:
    """Train on several ranks, to the end of all.

    Args:
        arguments: The words of ``launch``, which each rank gets.
        settings: How many, and how they train.
        run_dir: The run's folder.
        stop_at: Whether rank 0 kills itself on its way (``stopping``); then this process ends likewise.

    Returns:
        0; ``STOPPED_EARLY`` where only the first updates were asked for; or the exit code of a run that
        failed, which then has said why.

    Raises:
        CannotRunError: The ranks did not train one model.
    """
    with tempfile.TemporaryDirectory(prefix="reprokit-ranks-") as folder:
        meeting = Path(folder)
        why, codes = "", {}
        with started(arguments, settings, meeting) as ranks:
            try:
                _Watch(ranks, settings, meeting).until_all_ended()
            except _RankFailedError as error:
                why, codes = str(error), error.codes
        if not why and ranks[0].returncode == 0:
            others = [own_folder(meeting, rank) for rank in range(1, settings.world_size)]
            facts = facts_of_ranks(settings, run_dir=run_dir, folders=others)
            write_record(run_dir / RUNTIME, {**read_json(run_dir / RUNTIME), "ranks": facts})
    if stop_at and codes == {0: -signal.SIGKILL}:  # its own doing, and no other rank failed before it
        os.kill(os.getpid(), signal.SIGKILL)
    if why:
        sys.stderr.write(f"error: {why}\n")
        return CannotRunError.exit_code
    return int(ranks[0].returncode)


def _terminate(_signal: int, _frame: object) -> None:
    raise _TerminatedError


class _Watch:
    """Looks at the ranks until all have ended, or one has failed."""

    def __init__(self, ranks: Sequence[Process], settings: RankSettings, meeting: Path) -> None:
        self._ranks, self._settings, self._meeting = ranks, settings, meeting
        self._lost_s: float | None = None
        self._tick_s = self._awake_s = self._read_s = time.monotonic()
        self._worked: dict[int, tuple[float, float]] = {}  # rank → processor time, and since when that is all

    def until_all_ended(self) -> None:
        """Wait.

        Raises:
            _RankFailedError: A rank died, left early or hangs, or they took part in other collectives.
        """
        while True:
            codes = [process.poll() for process in self._ranks]
            where = [rank_status.read(self._meeting, rank=rank) for rank in range(len(codes))]
            failed = {
                rank: code
                for rank, code in enumerate(codes)
                if code is not None and self._has_failed(code, where[rank])
            }
            if failed:
                died = (self._died(rank, code, where[rank]) for rank, code in failed.items())
                raise _RankFailedError("; ".join(died), codes=failed)
            alive = [rank for rank, code in enumerate(codes) if code is None]
            if not alive and LOST_PEER not in codes:
                return
            self._notice_stand_still()
            self._must_be_in_one_collective(where)
            if any(where[rank].waiting for rank in alive):
                self._must_not_wait_long(alive, where)
            elif alive:
                self._must_work(alive, where)
            if LOST_PEER in codes:
                self._must_end_soon(alive, where)
            time.sleep(_TICK_S)

    def _has_failed(self, code: int, where: Status) -> bool:
        """Whether a rank ended for a reason of its own: not at the training's end, nor for another rank."""
        if code == LOST_PEER:
            return not where.waiting
        return code not in _ENDED or (len(self._ranks) > 1 and not where.is_end)

    def _notice_stand_still(self) -> None:
        now = time.monotonic()
        if now - self._tick_s > _STOOD_STILL_S:
            self._awake_s = now
            self._worked.clear()
        self._tick_s = now

    def _must_be_in_one_collective(self, where: Sequence[Status]) -> None:
        for (other, another), (rank, one) in itertools.permutations(enumerate(where), 2):
            ahead = one.number == another.number + 1 > 1
            came = one.place if one.number == another.number else one.before if ahead else another.place
            if came != another.place:
                raise _RankFailedError(
                    f"rank {rank} came to {came} where rank {other} came to {another.place}: "
                    f"collective {another.number} of each"
                )

    def _must_not_wait_long(self, alive: Sequence[int], where: Sequence[Status]) -> None:
        self._worked.clear()
        furthest = max(where[rank].number for rank in alive if where[rank].waiting)
        waiting = [rank for rank in alive if where[rank].waiting and where[rank].number == furthest]
        since_s = min(where[rank].since_s for rank in waiting)
        waited_s = time.monotonic() - max(since_s, self._awake_s)
        if waited_s < self._settings.timeout_s:
            return
        guilty = [rank for rank in alive if where[rank].number < furthest or self._is_stopped(rank)]
        victims = [rank for rank in waiting if rank not in guilty] or waiting
        at = f"{_named(victims)} waited {waited_s:.0f} s at {where[waiting[0]].place}"
        if not guilty:
            raise _RankFailedError(f"{at}, all of them: they wait for each other")
        raise _RankFailedError("; ".join(self._hangs(rank, where[rank]) for rank in guilty) + f": {at}")

    def _must_end_soon(self, alive: Sequence[int], where: Sequence[Status]) -> None:
        """Some rank has lost another one: that one is found dead soon, or is among those left."""
        self._lost_s = self._lost_s or time.monotonic()
        if alive and time.monotonic() - self._lost_s < _GRACE_S:
            return
        if alive:
            raise _RankFailedError("; ".join(self._hangs(rank, where[rank]) for rank in alive))
        raise _RankFailedError(f"the ranks lost each other at {where[0].place}: stderr.log says how")

    def _must_work(self, alive: Sequence[int], where: Sequence[Status]) -> None:
        """Where no rank waits for another one, one that computes nothing hangs."""
        limit_s, now = self._settings.timeout_s, time.monotonic()
        if self._worked and now - self._read_s < limit_s / _LOOKS:
            return
        self._read_s = now
        used_s = processor_times([self._ranks[rank].pid for rank in alive])
        idle = []
        for rank, used in zip(alive, used_s, strict=False):
            before, since = self._worked.get(rank, (-math.inf, now))
            if abs(used - before) > _IDLE * limit_s:  # it is less where a process below it was left alone
                self._worked[rank] = (used, now)
            elif now - since > limit_s:
                idle.append(rank)
        if idle:
            hang = "; ".join(self._hangs(rank, where[rank]) for rank in idle)
            raise _RankFailedError(f"{hang}: no processor time used in {limit_s:g} s; {_LONGER}")

    def _died(self, rank: int, code: int, where: Status) -> str:
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        early = ", before the end of the training" if code in _ENDED else ""
        why = rank_status.read_error(self._meeting, rank=rank)
        return f"rank {rank} {how} {_at(where)}".rstrip() + early + (f": {why}" if why else "")

    def _hangs(self, rank: int, where: Status) -> str:
        how = " (stopped by a signal)" if self._is_stopped(rank) else ""
        place = f" {_at(where)}" if where.number else " before it met the others"
        return f"rank {rank} hangs{place}{how}"

    def _is_stopped(self, rank: int) -> bool:
        return is_stopped(self._ranks[rank].pid)


def _at(where: Status) -> str:
    return f"{'at' if where.waiting else 'after'} {where.place}" if where.number else ""


def _named(ranks: Sequence[int]) -> str:
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {', '.join(map(str, ranks))}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
