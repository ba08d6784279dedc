"""Two plain commands of which one only prints its numbers, and the line to type so that they are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from reprokit import adapters, runs
from reprokit.compressed import stored as stored_file
from reprokit.features.compare.answer import SIDES
from reprokit.harness.running import again
from reprokit.harness.running.plan import shell_line
from reprokit.layout import STDOUT


def only_prints(folder: Path) -> bool:
    """Whether the program of a run left no log, and printed what could be read as one."""
    printed = stored_file(folder / STDOUT)
    return not adapters.find_all(folder) and printed.is_file() and adapters.holds_numbers(printed)


def who_only_prints(stored: Mapping[str, Sequence[runs.StoredRun]]) -> tuple[str, ...]:
    """The sides of plain commands that only print."""
    firsts = {name: stored[name][0] for name in SIDES if stored[name]}
    if len(firsts) < len(SIDES) or not all(run.record.plain_command for run in firsts.values()):
        return ()
    return tuple(name for name, run in firsts.items() if only_prints(run.path))


def what_to_type(
    stored: Mapping[str, Sequence[runs.StoredRun]], printing: Sequence[str], options: Sequence[str]
) -> str:
    """The same comparison, with what these sides print in a file of each run; one sentence."""
    lines = {name: shell_line(stored[name][0].record.plain_command or ()) for name in SIDES}
    lines |= {name: again.keeping_printed(lines[name]) for name in printing}
    words = shell_line(["reprokit", "compare", *options])
    return f"put what is printed into a file of the run: `{words} -- {lines['a']} --vs {lines['b']}`"
