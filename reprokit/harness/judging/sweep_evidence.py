"""What sweeps say of a judged run: the finished and the failed runs of the same inputs with other seeds.

``sweep.json`` says only which seeds were asked for. Whether a member is finished, and of what, its run folder
says.
"""

from __future__ import annotations

import filecmp
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reprokit import adapters, runs
from reprokit.core.evidence import SweepEvidence
from reprokit.core.statistics.windows import LAST
from reprokit.core.verdicts.comparability import why_not_its_own
from reprokit.core.verdicts.expected_results import ExpectedWindow, reached
from reprokit.errors import MetricsError, ReportError
from reprokit.harness.judging.expected_windows import over_windows
from reprokit.harness.judging.seed_response import digests_of_responding
from reprokit.harness.running.member_runs import by_seed, member_today
from reprokit.harness.running.run_inputs import RunInputs, holds_all_inputs, whole_run, whole_runs
from reprokit.layout import METRICS
from reprokit.recipes import ExpectedResult
from reprokit.records import run_json
from reprokit.runs import sweeps
from reprokit.runs.sweeps import MemberState

_FAILED = {MemberState.CRASHED, MemberState.CHANGED}


def runs_of_sweeps(first: Path) -> tuple[Path, ...]:
    """A run folder for each seed of the sweeps of a run's inputs: the finished run, else the last attempt.

    Args:
        first: The run that is judged. Sweeps are looked for in the folder of runs that it lies in.
    """
    runs_dir = first.parent.parent
    members = [member for found in sweeps.list_all(runs_dir) for member in found]
    own = whole_run(first) if members else None
    of_inputs = [member for member in members if own and member.inputs == own.inputs.digest]
    if not of_inputs:
        return ()
    there = by_seed(whole_runs(runs_dir, recipe=first.parent.name))
    one_a_seed = {member.seed: member for member in of_inputs}
    today = [
        member_today(member, among=there.get(seed, ()), runs_dir=runs_dir)
        for seed, member in sorted(one_a_seed.items())
    ]
    return tuple(runs_dir / member.run for member in today if member.run)


def sweep_evidence(
    first: Path, folders: Sequence[Path], *, expected: Mapping[str, ExpectedResult], repeats: bool = True
) -> SweepEvidence:
    """What the runs of other seeds come to.

    Args:
        first: The run that is judged.
        folders: As ``runs_of_sweeps`` found them, or as a report names them.
        expected: The results that the recipe expects.
        repeats: Whether the judged runs are equal.
    """
    own = whole_run(first)
    values: dict[int, dict[str, Any]] = {}
    windowed: dict[int, dict[str, ExpectedWindow]] = {}
    files: dict[int, Path] = {}
    failures: dict[int, str] = {}
    for folder in folders:
        seed, problem = _problem(folder, own.inputs if own else None)
        if seed is None:
            continue
        if problem:
            failures[seed] = problem
            continue
        try:
            values[seed] = dict(adapters.summarise(folder / METRICS).final_values)
            windowed[seed] = over_windows(folder / METRICS, expected)
            files[seed] = folder / METRICS
        except (MetricsError, OSError) as error:
            failures[seed] = f"its metrics cannot be read: {error}"
    return SweepEvidence(
        outdated=_outdated(files.get(own.seed), first) if own and repeats else "",
        final_values=values,
        windowed=windowed,
        metrics_digests=digests_of_responding(files),
        failures=failures,
        runs=tuple(map(str, folders)),
        intervals=dict(_intervals(values, windowed, expected)),
    )


def _outdated(metrics: Path | None, first: Path) -> str:
    """Why a sweep whose run of the judged seed has these metrics is outdated; "" where it may not be."""
    if metrics is None or holds_all_inputs(run_json.recorded(first)):
        return ""
    if filecmp.cmp(metrics, first / METRICS, shallow=False):
        return ""
    return (
        f"{metrics.parent} has the judged seed and the same inputs, and other numbers: something that no "
        "digest is of, such as a file outside the project or a variable, changed after the other seeds ran"
    )


def _intervals(
    values: Mapping[int, Mapping[str, Any]],
    windowed: Mapping[int, Mapping[str, ExpectedWindow]],
    expected: Mapping[str, ExpectedResult],
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The t-interval of each expected result for which every seed has a number."""
    for name, one in expected.items() if values else ():
        found = [
            reached(name, one.window, final_values=last, windowed=windowed[seed])[0]
            for seed, last in values.items()
        ]
        numbers = [float(number) for number in found if number is not None]
        if len(numbers) < len(found):
            continue
        named = {} if one.window == LAST else {"window": one.window}
        if len(numbers) > 1 and len(set(numbers)) == 1:
            equal = {"method": "equal_values", "estimate": numbers[0], "num_seeds": len(numbers)}
            yield name, {**equal, **named}
            continue
        # Not before there is a sweep: scipy takes longer to load than most judgements take.
        from reprokit.core.statistics.intervals import student_t  # noqa: PLC0415

        interval = student_t(numbers)
        yield (
            name,
            {
                "method": interval.method,
                "estimate": interval.estimate,
                "low": interval.low,
                "high": interval.high,
                "num_seeds": len(numbers),
                "coverage": dict(interval.coverage),
                **named,
            },
        )


def _problem(folder: Path, inputs: RunInputs | None) -> tuple[int | None, str]:
    """The seed of a run, None where it says nothing of any; and why it is no finished run of the inputs."""
    try:
        stored = runs.read(folder)
    except ReportError:
        return None, ""
    found = whole_run(folder)
    if found is None or inputs is None or not found.counts_for(inputs):
        seed = stored.record.seed
        return (seed, "it is not a run of the same inputs") if isinstance(seed, int) else (None, "")
    if objection := why_not_its_own(stored.record):
        return found.seed, objection.reason
    state = sweeps.state_of(stored)
    if state is MemberState.COMPLETE and found.inputs == inputs:
        return found.seed, ""
    if state in {*_FAILED, MemberState.COMPLETE}:
        return found.seed, stored.incomplete_because or "it does not say what it ran in"
    return None, ""
