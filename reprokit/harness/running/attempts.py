"""Whether a new attempt at a run has the first records of the attempts before it, as far as those came.

A run that was begun twice must have begun alike. Where it did not, the second one is no result: on this
machine, or between two machines, the training does not repeat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from reprokit import adapters, runs
from reprokit.core.records import Outcome, RunResult
from reprokit.errors import MetricsError
from reprokit.harness.running.engine import BeforeClose
from reprokit.harness.running.programs.program_output import places_of
from reprokit.harness.running.run_inputs import RunInputs, holds_all_inputs, whole_runs
from reprokit.layout import METRICS, OUTPUT, STDERR, STDOUT
from reprokit.recipes import Program
from reprokit.records import run_json
from reprokit.runs.sweeps import MemberState, state_of


def unless_attempts_differ(
    folder: Path, seed: int, inputs: RunInputs, *, program: Program | None
) -> BeforeClose:
    """How a run is closed: never as completed where an earlier attempt at it began with other records.

    Args:
        folder: The run's folder; it need not be there yet.
        seed: Its seed.
        inputs: What its numbers stand on.
        program: The unmodified program that it runs, where it does.
    """

    def before_close(_folder: Path, result: RunResult) -> RunResult:
        ours = _first_records(folder, program)
        for run in whole_runs(folder.parents[1], recipe=folder.parent.name):
            if run.seed != seed or run.path.name == folder.name or not run.is_attempt_at(inputs):
                continue
            state = state_of(runs.read(run.path))
            if state is MemberState.CHANGED:
                continue  # whoever changed it afterwards, its records are no evidence
            if state is MemberState.COMPLETE and not holds_all_inputs(run_json.recorded(run.path)):
                continue  # made again since it may have read other files, which no digest is of
            theirs = _first_records(run.path, program)
            at = next((i for i, pair in enumerate(zip(ours, theirs, strict=False)) if len({*pair}) > 1), None)
            if at is not None:
                return replace(
                    result,
                    outcome=Outcome.ATTEMPTS_DIFFER,
                    message=f"nondeterminism: record {at} differs from that of the earlier attempt "
                    f"{run.path.name} ({_machine(folder)}; earlier: {_machine(run.path)})",
                    remedy=f"reprokit diff {run.path} {folder}",
                )
        return result

    return before_close


def _first_records(folder: Path, program: Program | None) -> Sequence[bytes]:
    """The records that a run has, whole lines only; none where they cannot be read yet."""
    for path in (folder / METRICS, folder / OUTPUT / METRICS):
        readable = program is None or path.parent == folder
        if readable and path.is_file() and not path.is_symlink():
            return path.read_bytes().split(b"\n")[:-1]
    if program is None:
        return ()
    try:
        made = adapters.canonical_records(
            folder / OUTPUT,
            logs=(folder / STDOUT, folder / STDERR),
            volatile=program.volatile,
            printed=program.printed,
            places=places_of(folder),
        )
    except MetricsError:
        return ()
    # A record of several sources may lack what one of them would have said; the last may not be whole.
    return made.records[:-1] if len(made.sources) == 1 else ()


def _machine(folder: Path) -> str:
    machine = run_json.recorded(folder).machine
    named = machine.node or machine.id or "unknown"
    return f"machine {named}, fingerprint {(machine.fingerprint or 'not recorded')[:19]}"
