"""``reprokit diff --trace``, once ``trace diff``: where two recorded runs first differ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reprokit.cli.help_pages import Group
from reprokit.cli.options import examples, json_option
from reprokit.cli.output import print_answer
from reprokit.layout import TRACE

if TYPE_CHECKING:
    from reprokit.diagnosis import HookTrace

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.group("trace", cls=Group, short_help="Compare the recorded traces of two runs.")
def command() -> None:
    """Compare traces that `reprokit diagnose`, or a trainer, recorded."""


@command.command(
    "diff", epilog=examples("reprokit diff --trace reports/x/T-diagnose/traces/01-first …/traces/02-second")
)
@click.argument("first", type=_FOLDER)
@click.argument("second", type=_FOLDER)
@json_option()
def diff(first: Path, second: Path, as_json: bool) -> int:
    """Show where the training of two recorded runs first differs, and which lines drew different values.

    Lines are in the order of the first run. Run folders of recipes are compared by their digests of each
    update; of several ranks, the first one that differs is named, with the collective.

    Exit codes: 0 nothing differs; 1 something does; 2 a folder has no trace.
    """
    return compare_traces(first, second, as_json=as_json)


def compare_traces(first: Path, second: Path, *, as_json: bool) -> int:
    """Print where two recorded runs first differ; returns the exit code."""
    from dataclasses import asdict

    from reprokit import diagnosis
    from reprokit.compressed import stored
    from reprokit.errors import UsageError
    from reprokit.reports.pages import trace_diff

    if all(stored(folder / TRACE).is_file() for folder in (first, second)):
        return _diff_recorded(first, second, as_json=as_json)
    traces = [diagnosis.read_trace(folder) for folder in (first, second)]
    for folder, trace in zip((first, second), traces, strict=True):
        if not trace.processes:
            raise UsageError("there is no trace", where=str(folder), fix="give a folder below traces/")
    differing = [traces[0].sites[name] for name in diagnosis.differing(*traces)]
    drew = [(diagnosis.category_of(site.kind), site) for site in differing]
    began = diagnosis.first_difference(*traces)
    operation = diagnosis.first_operation(first, second)
    events = [_events(trace) for trace in traces]
    num_sites = len(traces[0].sites)
    answer = {
        "differing": [asdict(site) for site in differing],
        "compared": num_sites,
        "events": events,
        "began": asdict(began) if began else None,
        "operation": asdict(operation) if operation else None,
    }
    page = trace_diff.page_lines(
        began=began, events=events, operation=operation, drew=drew, num_sites=num_sites
    )
    print_answer(page, data=lambda: answer, as_json=as_json)
    return 1 if differing or began or operation or events[0] != events[1] else 0


def _events(trace: HookTrace) -> dict[str, int]:
    """How many training events each process recorded."""
    return {process: len(one["events"]) for process, one in sorted(trace.progress.items()) if one["events"]}


def _diff_recorded(first: Path, second: Path, *, as_json: bool) -> int:
    """Compare traces that trainers of recipes write themselves, one a rank."""
    from dataclasses import asdict

    from reprokit.errors import UsageError
    from reprokit.harness.judging import compare_ranks
    from reprokit.reports.pages import trace_diff

    found = compare_ranks(first, second)
    if found.equal and not found.records_compared:
        raise UsageError(
            "neither trace holds an update", where=f"{first}, {second}", fix="compare whole runs"
        )
    print_answer(trace_diff.recorded_lines(found), data=lambda: asdict(found), as_json=as_json)
    return 0 if found.equal else 1
