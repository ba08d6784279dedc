"""``reprokit trace diff``: where two watched runs begin to differ, and which lines drew otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprokit.cli.options import examples
from reprokit.layout import TRACE

if TYPE_CHECKING:
    from reprokit.diagnosis import Began, Operation, Site, Trace

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

    from reprokit import diagnosis
    from reprokit.errors import UsageError

    if all((folder / TRACE).is_file() for folder in (first, second)):
        return _diff_recorded(first / TRACE, second / TRACE, as_json=as_json)
    traces = [diagnosis.read_trace(folder) for folder in (first, second)]
    for folder, trace in zip((first, second), traces, strict=True):
        if not trace.processes:
            raise UsageError("no trace lies here", where=str(folder), fix="name a folder below traces/")
    differing = [traces[0].sites[name] for name in diagnosis.differing(*traces)]
    began = diagnosis.first_difference(*traces)
    found = diagnosis.first_operation(first, second)
    uneven = began is None and _events(traces[0]) != _events(traces[1])
    if as_json:
        click.echo(json.dumps(_data(traces, differing, began, found), indent=2))
    else:
        click.echo("\n".join(_page(traces, differing, began, found)))
    return 1 if differing or began or found or uneven else 0


def _events(trace: Trace) -> dict[str, int]:
    """How many events of its training each process has recorded."""
    return {process: len(one["events"]) for process, one in sorted(trace.progress.items()) if one["events"]}


def _diff_recorded(first: Path, second: Path, *, as_json: bool) -> int:
    """The traces that trainers of recipes write themselves."""
    import json
    from dataclasses import asdict

    from reprokit.cli.tables import shown
    from reprokit.harness.judging import compare_traces

    found = compare_traces(first, second)
    if as_json:
        click.echo(json.dumps(asdict(found), indent=2))
    elif found.first is None:
        click.echo(f"{found.records_compared} updates: all equal")
    else:
        one = found.first
        click.echo(f"first differs at step {one['step']}, in {shown(str(one['what']))}")
        click.echo(f"  {shown(str(one['expected']))} and {shown(str(one['actual']))}")
    return 0 if found.equal else 1


def _data(
    traces: Sequence[Trace], differing: Sequence[Site], began: Began | None, found: Operation | None
) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "differing": [asdict(site) for site in differing],
        "compared": len(traces[0].sites),
        "events": [_events(trace) for trace in traces],
        "began": asdict(began) if began else None,
        "operation": asdict(found) if found else None,
    }


def _page(
    traces: Sequence[Trace], differing: Sequence[Site], began: Began | None, found: Operation | None
) -> Iterator[str]:
    from reprokit import diagnosis
    from reprokit.cli.tables import shown

    if began is not None:
        exactly = "" if began.single else " or before"
        yield f"first differs at {diagnosis.place_of(began)}{exactly}, in {shown(diagnosis.stream_of(began))}"
        yield f"  still equal just before: {shown(began.equal_before or 'nothing that was looked at')}"
    elif (events := _events(traces[0])) != (others := _events(traces[1])):
        counts = sum(events.values()), sum(others.values())
        yield f"the first recorded {counts[0]} events of the training, the second {counts[1]}"
    elif events:
        yield f"{sum(events.values())} events of the training: all equal"
    else:
        yield "nothing was recorded of the training"
    if found is not None:
        yield f"operation {found.number}: {shown(found.name)} at {shown(found.file)}:{found.line}"
    for site in differing:
        what = f"  {shown(site.what)}" if site.what else ""
        category = diagnosis.category_of(site.kind)
        yield f"{category:<22}{shown(site.file)}:{site.line}  {site.count} times{what}"
    yield f"{len(differing)} of {len(traces[0].sites)} lines drew differently"
