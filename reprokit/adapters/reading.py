"""What an adapter gives: records with what is odd about them, and where they came from.

Metrics files are opened here, so that folders, pipes and other special files are refused in one place.

    >>> Reading(line=1, record={"step": 0, "loss": 0.5})
    Reading(line=1, record={'step': 0, 'loss': 0.5}, notes=())
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from reprokit.compressed import descriptor_of, stored
from reprokit.core.comparing.difference import Problem
from reprokit.errors import MetricsError

Note = tuple[str, str]
"""A word of ``core.problems.KINDS``, and what exactly (or an empty string)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One record as it was read.

    >>> Reading(line=3, record=None, notes=(("torn_line", "step=1|lo"),)).notes[0][0]
    'torn_line'
    """

    line: int | None  # where it stands (line, row or event, counted from 1), or None where that means nothing
    record: Mapping[str, Any] | None  # names to values as `json` reads them; None where it cannot be read
    # What is odd about it, in the words of `core.problems`. At least one where the record is None.
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsSource:
    """A place in a run folder that holds metrics."""

    adapter: str  # name of the adapter that reads it
    path: Path  # the file, or the folder of a source that is spread over several files
    name: str  # what it is called in the run folder, the same in two runs of one program
    others: tuple[str, ...] = ()  # names of the other sources that lay in the same run folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One metric's numbers over a run."""

    steps: list[float]  # the step of each value, or the record's position where it has none
    values: list[float]  # as many numbers, NaN and infinities among them


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsSummary:
    """What a metrics file holds, read from end to end."""

    num_records: int  # records that could be read
    metric_names: tuple[str, ...]  # every name in them, sorted, the step left out
    last_step: Any  # the last record's step, or None
    final_values: Mapping[str, Any]  # the last recorded value of every metric
    problems: tuple[Problem, ...]  # what is odd about the file, side `actual`
    without_value: tuple[str, ...] = ()  # names that hold nothing but null, NaN and infinities, sorted


class Adapter(Protocol):
    """What a module ``from_….py`` in this folder offers."""

    NAME: str  # what people call the format
    ORDER: int  # adapters with a smaller number are asked first
    # File names that it reads, in the manner of `fnmatch`, the likeliest first. With `/` the folders above
    # count; with `/**` at the end all that is below, and the folder that the pattern begins with is a source.
    PATTERNS: Sequence[str]
    WHOLE_FOLDER: bool  # whether all its files in one folder are one source

    def reads(self, path: Path) -> bool:
        """Whether a file of such a name is of this format: it may be something else of another program.

        Where the name leaves no doubt, a damaged file is read too, so that the damage is named.
        """

    def read(self, path: Path) -> Iterator[Reading]:
        """The records of a source, in order.

        Raises:
            MetricsError: There is nothing to read, or not by this machine.
        """


def open_file(path: Path) -> int:
    """Open a metrics file for reading; the caller closes the descriptor.

    Raises:
        MetricsError: The path names nothing, a folder, a pipe or another special file, or a file
            that may not be read. Special files are refused before they are opened, because opening
            a pipe waits for whoever writes into it.
    """
    try:
        if stored(path) != path:
            return descriptor_of(path)
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise not_a_file(path, mode)
        return os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError as error:
        raise MetricsError(
            "there is no such file",
            kind="missing_file",
            where=str(path),
            expected="a metrics file",
            fix="check the path; `reprokit runs list` shows the run folders",
        ) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise MetricsError("the file cannot be read", where=str(path), actual=reason) from error


def not_a_file(path: Path, mode: int) -> MetricsError:
    """The error for a path whose ``stat`` mode is not that of a regular file."""
    if stat.S_ISDIR(mode):
        return MetricsError(
            "a folder, not a file",
            kind="directory",
            where=str(path),
            expected="a metrics file",
            fix="name the metrics file inside it",
        )
    words = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return MetricsError(
        "not a regular file",
        kind="not_a_file",
        where=str(path),
        expected="a regular file",
        actual=words.get(stat.S_IFMT(mode), "a device"),
        fix="write its output into a file first",
    )


def integer(text: str) -> int | float:
    """An integer that a program wrote as text; ``-0`` is a float, rounded for print, and keeps its sign."""
    value = int(text)
    return value if value or not text.startswith("-") else -0.0
