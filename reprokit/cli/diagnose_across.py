"""``reprokit diagnose --across A B``: two run folders from two machines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reprokit.harness.diagnosing import Across

_MOST = 12


def show_across(
    folders: tuple[Path, Path], recipe: str | None, *, ignore: tuple[str, ...], as_json: bool
) -> int:
    """Print what the two say; 1 where they differ.

    Raises:
        click.UsageError: A recipe or a command was named as well.
    """
    import json

    from reprokit.cli.options import plain_command
    from reprokit.harness.diagnosing import across

    if recipe is not None or plain_command() is not None:
        raise click.UsageError("--across runs nothing: leave recipe and command out")
    found = across(*folders, ignore=ignore)
    click.echo(json.dumps(found.as_data(), indent=2) if as_json else "\n".join(_page(found)))
    return 1 if found.verdict == "NONDETERMINISTIC" else 0


def _page(found: Across) -> Iterator[str]:
    from reprokit import diagnosis
    from reprokit.cli.tables import shown

    yield _headline(found)
    if found.began is not None:
        place, what = diagnosis.place_of(found.began), diagnosis.stream_of(found.began)
        yield f"  first event that differs: {place}, {shown(what)}"
    if found.update is not None:
        at, groups = found.update["update"], ", ".join(map(str, found.update["groups"]))
        yield f"  first record of the trace that differs: update {at}, {shown(groups)}"
    yield from (f"  known: {shown(one)}" for one in found.says)
    if found.environment:
        yield "What differs between the machines and can change numbers:"
    for entry in found.environment[:_MOST]:
        values = f"{shown(str(entry['expected']))[:60]} and {shown(str(entry['actual']))[:60]}"
        field = f"{entry['can_change_numbers']:<6}{shown(str(entry['field']))}"
        yield f"  {field}: {values} ({shown(str(entry['why']))})"
    if len(found.environment) > _MOST:
        yield f"  {len(found.environment) - _MOST} more (--json has all)"
    if found.num_harmless:
        yield f"{found.num_harmless} more fields differ that change no number: reprokit env diff has them"


def _headline(found: Across) -> str:
    from reprokit.cli.tables import shown

    if found.verdict == "REPEATABLE":
        return "REPEATABLE: the two runs are equal, bit for bit"
    first = found.comparison.divergence
    if first is None or first.metric is None:
        return "NONDETERMINISTIC: the two runs differ"
    place = f"step {first.step} on, in {shown(str(first.metric))}"
    return f"NONDETERMINISTIC: the runs differ from {place} ({first.expected} and {first.actual})"
