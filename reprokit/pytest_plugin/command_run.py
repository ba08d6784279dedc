"""A command run by a test, and its numbers compared with the test's golden.

It runs once. Twice where a golden is to be written, or where the numbers are not the golden's: then a program
that does not repeat is distinguished from code that was changed.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from reprokit import adapters
from reprokit.core.tolerance import Tolerances
from reprokit.core.verdicts.rows import counted, listed
from reprokit.errors import MetricsError, UsageError
from reprokit.execution.placeholders import fill, refuse_near_misses
from reprokit.harness.running.programs.tree_changes import Tree
from reprokit.pytest_plugin import golden_file
from reprokit.pytest_plugin.records import as_bytes
from reprokit.redaction import redact_text
from reprokit.reports.terminal.diff_to_terminal import diff_to_terminal

_PRINTED = "printed.log"
_MOST_LINES = 30
_OTHER_NUMBERS = ("REGRESSION", "STALE_GOLDEN")

Records = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class GoldenCommand:
    """What is run, where, and which metrics count.

    Attributes:
        words: The command, with the placeholders ``{seed}`` and ``{run_dir}``.
        seed: What ``{seed}`` is; None where the test has none.
        cwd: The folder that it is run in.
        folder: An empty one for run folders.
        timeout_s: Seconds after which it is ended; None for never.
        ignore: Patterns of metrics that are left out.
    """

    words: Sequence[str]
    seed: int | None
    cwd: Path
    folder: Path
    timeout_s: float | None = None
    ignore: Sequence[str] = ()


class DidNotRunError(Exception):
    """The command ended with another exit code than 0, or not in time."""


def words_of(command: str | Sequence[str]) -> list[str]:
    """The words of a command; ``python`` at its beginning is the Python that runs the tests.

    Raises:
        UsageError: There are none, or a placeholder is misspelt.
    """
    words = shlex.split(command) if isinstance(command, str) else [*map(str, command)]
    if not words:
        raise UsageError("the command is empty", fix='golden_run("python train.py --seed 1")')
    refuse_near_misses(words)
    return [sys.executable if words[0] in {"python", "python3"} else words[0], *words[1:]]


def check(command: GoldenCommand, *, folder: Path, stem: str, tolerances: Tolerances, update: bool) -> str:
    """What is wrong with the numbers of a command, the verdict first; "" where they are the golden's.

    Raises:
        ReprokitError: It logs nothing that can be compared, or was asked for wrongly.
    """
    try:
        tree = Tree.of(command.words, working_dir=command.cwd, kept=(command.folder, folder))
        before = tree.look()
        first = _records(command, "run-1")
        left = _left(tree, before, command)
        to_write = update or not (folder / f"{stem}.jsonl").is_file()
        if to_write and (differs := _differs(first, command)):
            return f"{differs}{left}"
        failure = golden_file.judge(first, folder=folder, stem=stem, tolerances=tolerances, update=update)
        if to_write:
            return f"{failure}{left}" if failure else ""
        if not failure.startswith(_OTHER_NUMBERS):
            return failure
        return f"{_differs(first, command) or failure}{left}"
    except DidNotRunError as error:
        return f"NOT_RUN: {error}"


def _left(tree: Tree, before: Mapping[str, tuple[int, ...]] | None, command: GoldenCommand) -> str:
    """What the first run left where the second begins, too; "" for nothing."""
    found = tree.changes(before).get("left_by_earlier_runs")
    paths = [path for path in found if not _is_below(path, command)] if isinstance(found, dict) else []
    if not paths:
        return ""
    changed = f"{counted(len(paths), 'file')} of the tree appeared or changed"
    return f"\nBetween the runs {changed}, so that they do not begin alike: {listed(paths)}."


def _is_below(path: str, command: GoldenCommand) -> bool:
    return (command.cwd / path).resolve().is_relative_to(command.folder.resolve())


def _records(command: GoldenCommand, name: str) -> Records:
    run_dir = command.folder / name
    run_dir.mkdir(parents=True)
    _run(command, run_dir)
    sources = adapters.find_all(run_dir, skipped={_PRINTED})
    if not sources and (run_dir / _PRINTED).stat().st_size:
        # Text that is no log by its look may hold one result, printed once.
        sources = adapters.find_all(run_dir, skipped=()) or _results_in(run_dir / _PRINTED)
    records = [
        _named(reading.record, f"{source.name}:" if len(sources) > 1 else "")
        for source in sources
        for reading in adapters.adapter_named(source.adapter).read(source.path)
        if _is_whole(reading, source)
    ]
    found = _without(records, command.ignore)
    if not any(set(record) - {"step"} for record in found):
        raise MetricsError(
            "the command logged no metric into {run_dir}, and printed no number",
            where=shlex.join(command.words),
            fix=_where_to_log(command),
        )
    return found


def _where_to_log(command: GoldenCommand) -> str:
    if command.ignore:
        return "look at `ignore`: it may leave out all there is"
    if any("{run_dir}" in word for word in command.words):
        return "write metrics below {run_dir}, or print them"
    return (
        'tell the program where to log: golden_run("python train.py --out {run_dir}"); or print the metrics'
    )


def _results_in(printed: Path) -> tuple[adapters.MetricsSource, ...]:
    return (adapters.source_of(printed),) if golden_file.has_a_value(printed) else ()


def _run(command: GoldenCommand, run_dir: Path) -> None:
    values = {"run_dir": str(run_dir)}
    if any("{seed}" in word for word in command.words):
        if command.seed is None:
            raise UsageError("the command has {seed}, and the test has none", fix="golden_run(…, seed=1)")
        values["seed"] = str(command.seed)
    elif command.seed is not None:
        raise UsageError("a seed was given, and the command has no {seed}", fix="write `--seed {seed}`")
    words = [fill(word, values) for word in command.words]
    try:
        done = subprocess.run(
            words,
            cwd=command.cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=command.timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise DidNotRunError(f"it did not end in {command.timeout_s:g} s: {shlex.join(words)}") from error
    except OSError as error:
        raise DidNotRunError(f"{words[0]}: {error.strerror or error}") from error
    (run_dir / _PRINTED).write_bytes(done.stdout)
    if done.returncode:
        lines = (done.stdout + b"\n" + done.stderr).decode("utf-8", "replace").split("\n")
        end = redact_text("\n".join(line for line in lines if line.strip())).split("\n")[-_MOST_LINES:]
        raise DidNotRunError("\n".join([f"exit code {done.returncode}: {shlex.join(words)}", *end]))


def _is_whole(reading: adapters.Reading, source: adapters.MetricsSource) -> bool:
    if reading.record is None:
        kinds = ", ".join(kind for kind, _ in reading.notes)
        raise MetricsError(f"a record cannot be read: {kinds}", where=f"{source.name}:{reading.line}")
    return True


def _named(record: Mapping[str, Any] | None, prefix: str) -> dict[str, Any]:
    return {name if name == "step" else f"{prefix}{name}": value for name, value in (record or {}).items()}


def _without(records: Records, patterns: Sequence[str]) -> Records:
    names = dict.fromkeys(name for record in records for name in record)
    ignored: set[str] = set()
    for pattern in patterns:
        fitting = {name for name in names if any(fnmatchcase(one, pattern) for one in _spellings(name))}
        if not fitting:
            raise adapters.fits_no_metric(pattern, names, option="ignore")
        ignored |= fitting
    return [{name: value for name, value in record.items() if name not in ignored} for record in records]


def _spellings(name: str) -> tuple[str, str]:
    """With the log's name before it, and without."""
    return name, name.rpartition(":")[2]


def _differs(first: Records, command: GoldenCommand) -> str:
    """How another run of the command differs; "" where it is equal in every digit."""
    other = _records(command, "run-2")
    with tempfile.TemporaryDirectory(dir=command.folder) as place:
        paths = [Path(place) / name for name in ("run-1.jsonl", "run-2.jsonl")]
        for path, records in zip(paths, (first, other), strict=True):
            path.write_bytes(as_bytes(records)[0])
        comparison = adapters.compare(*paths)
        if comparison.comparable and comparison.identical:
            return ""
        page = diff_to_terminal(
            comparison,
            expected="run 1",
            actual="run 2",
            of_machine=adapters.machine_metrics([_pair(paths)], comparison),
            width=100,
        )
    return (
        "NONDETERMINISTIC: two runs of the command differ, so no golden can say what it should give\n\n"
        f"{page}\nWhere only clocks differ, leave them out: ignore=[…]. "
        "Else find the line: reprokit diagnose -- COMMAND"
    )


def _pair(paths: Sequence[Path]) -> tuple[adapters.MetricsSource, adapters.MetricsSource]:
    first, other = map(adapters.source_of, paths)
    return first, other
