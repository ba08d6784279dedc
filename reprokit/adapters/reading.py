"""What an adapter gives: records with what is odd about them, and where they came from.

This module knows the shapes that pass between adapters and those who use them; it refuses to know
any file format. It also opens metrics files, so that what is no file is refused in one place.

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

from reprokit.core.difference import Problem
from reprokit.errors import MetricsError

Note = tuple[str, str]
"""A word of ``core.problems.KINDS``, and what exactly (or an empty string)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One record as it was read.

    Attributes:
        line: Where it stands (line, row or event, counted from 1), or None where that means nothing.
        record: Names to values as ``json`` reads them; None where it cannot be read.
        notes: What is odd about it, in the words of ``core.problems``. At least one where the
            record is None.
    """

    line: int | None
    record: Mapping[str, Any] | None
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsSource:
    """A place in a run folder that holds metrics.

    Attributes:
        adapter: Name of the adapter that reads it.
        path: The file, or the folder of a source that is spread over several files.
        name: What it is called in the run folder, the same in two runs of one program.
        others: Names of the other sources that lay in the same run folder.
    """

    adapter: str
    path: Path
    name: str
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One metric's numbers over a run.

    Attributes:
        steps: The step of each value, or the record's position where it has none.
        values: As many numbers, NaN and infinities among them.
    """

    steps: list[float]
    values: list[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsSummary:
    """What a metrics file holds, read from end to end.

    Attributes:
        num_records: Records that could be read.
        metric_names: Every name in them, sorted, the step left out.
        last_step: The last record's step, or None.
        final_values: The last recorded value of every metric.
        problems: What is odd about the file, side ``actual``.
    """

    num_records: int
    metric_names: tuple[str, ...]
    last_step: Any
    final_values: Mapping[str, Any]
    problems: tuple[Problem, ...]


class Adapter(Protocol):
    """What a module ``from_….py`` in this folder offers.

    Attributes:
        NAME: What people call the format.
        ORDER: Adapters with a smaller number are asked first.
        PATTERNS: File names that it reads, in the manner of ``fnmatch``, the likeliest first.
        WHOLE_FOLDER: Whether all its files in one folder are one source.
    """

    NAME: str
    ORDER: int
    PATTERNS: Sequence[str]
    WHOLE_FOLDER: bool

    def read(self, path: Path) -> Iterator[Reading]:
        """The records of a source, in order.

        Raises:
            MetricsError: There is nothing to read, or not by this machine.
        """


def open_file(path: Path) -> int:
    """Open a metrics file for reading.

    Returns:
        A file descriptor, which the caller closes.

    Raises:
        MetricsError: The path names nothing, a folder, a pipe or another special file, or a file
            that may not be read. Special files are refused before they are opened, because opening
            a pipe waits for whoever writes into it.
    """
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise _no_file(path, mode)
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


def _no_file(path: Path, mode: int) -> MetricsError:
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
        expected="a file that can be read twice",
        actual=words.get(stat.S_IFMT(mode), "a device"),
        fix="write what it gives into a file first",
    )
