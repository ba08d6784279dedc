"""``reprokit trace diff``: where two watched runs begin to differ, and which lines drew otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reprokit.cli.options import examples
from reprokit.layout import TRACE

if TYPE_CHECKING:
    from reprokit.diagnosis import Trace

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.group("trace", short_help="Compare what was recorded of two watched runs.")
def command() -> None:
    """Look into what `reprokit diagnose` recorded."""


@command.command(
    "diff", epilog=examples("reprokit trace diff reports/x/T-diagnose/traces/01-first …/traces/02-second")
)
@click.argument("first", type=_FOLDER)
@click.argument("second", type=_FOLDER)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def diff(first: Path, second: Path, as_json: bool) -> int:
    """Where the training of two watched runs begins to differ, and which lines drew differently.

    Lines come in the order in which the first run came to them. Two run folders of recipes are compared by
    the digests of updates that they hold.

    Exit codes: 0 nothing differs; 1 something does; 2 a folder holds no trace.
    """
    import json
    from dataclasses import asdict

    from reprokit import diagnosis
    from reprokit.errors import UsageError
    from reprokit.reports import trace_diff

    if all((folder / TRACE).is_file() for folder in (first, second)):
        return _diff_recorded(first / TRACE, second / TRACE, as_json=as_json)
    traces = [diagnosis.read_trace(folder) for folder in (first, second)]
    for folder, trace in zip((first, second), traces, strict=True):
        if not trace.processes:
            raise UsageError("no trace lies here", where=str(folder), fix="name a folder below traces/")
    differing = [traces[0].sites[name] for name in diagnosis.differing(*traces)]
    drew = [(diagnosis.category_of(site.kind), site) for site in differing]
    began = diagnosis.first_difference(*traces)
    operation = diagnosis.first_operation(first, second)
    events = [_events(trace) for trace in traces]
    num_sites = len(traces[0].sites)
    if as_json:
        answer = {
            "differing": [asdict(site) for site in differing],
            "compared": num_sites,
            "events": events,
            "began": asdict(began) if began else None,
            "operation": asdict(operation) if operation else None,
        }
        click.echo(json.dumps(answer, indent=2))
    else:
        page = trace_diff.page_lines(
            began=began, events=events, operation=operation, drew=drew, num_sites=num_sites
        )
        click.echo("\n".join(page))
    return 1 if differing or began or operation or events[0] != events[1] else 0


def _events(trace: Trace) -> dict[str, int]:
    """How many events of its training each process has recorded."""
    return {process: len(one["events"]) for process, one in sorted(trace.progress.items()) if one["events"]}


def _diff_recorded(first: Path, second: Path, *, as_json: bool) -> int:
    """The traces that trainers of recipes write themselves."""
    import json
    from dataclasses import asdict

    from reprokit.harness.judging import compare_traces
    from reprokit.reports import trace_diff

    found = compare_traces(first, second)
    click.echo(
        json.dumps(asdict(found), indent=2) if as_json else "\n".join(trace_diff.recorded_lines(found))
    )
    return 0 if found.equal else 1
