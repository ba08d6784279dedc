"""What ``report.json`` holds besides verdict and rows: comparisons, curves, what changed and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reprokit.core.comparing.difference import Comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnCurve:
    """One metric of one run, thinned for drawing; None where a value is not finite."""

    label: str
    steps: Sequence[float]
    values: Sequence[float | None]

    def __post_init__(self) -> None:
        if len(self.steps) != len(self.values):
            raise ValueError(f"{len(self.steps)} steps and {len(self.values)} values are not of one length")


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRow:
    """One tensor or state; a character an update: ``=`` equal, ``x`` differs, ``-`` not recorded."""

    name: str
    cells: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceMap:
    """Where two traces differ, around the first update that does.

    Attributes:
        updates: Their numbers, in order.
        first: The place in ``updates`` of the first that differs.
        rows: What differs in one of them, the first to differ first.
        num_cut: How many more rows differ.
        num_equal: How many tensors and states are equal in all of them.
    """

    updates: tuple[int, ...]
    first: int
    rows: tuple[TraceRow, ...]
    num_cut: int = 0
    num_equal: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportComparisons:
    """The first run compared with each later one, and with the golden."""

    repeats: tuple[Comparison, ...] = ()
    golden: Comparison | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """How many lines of a file came and went, None for a file that is not text; and the first of them.

    Attributes:
        lines: ``path:line old → new`` of the first stretches of lines.
        diff: The first lines of its unified diff, without the two that name the file.
    """

    path: str
    added: int | None
    removed: int | None
    lines: tuple[str, ...] = ()
    diff: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeChanges:
    """The files that changed since the golden's commit, most first; ``why`` where that is not known."""

    commit: str | None
    files: tuple[FileChange, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributionCell:
    """A run of one code in one environment: whether it gives the golden.

    Attributes:
        code: ``golden's`` or ``today's``.
        environment: Likewise.
        result: ``equal``, ``differs`` or ``not run``.
        detail: Where it parts from the golden, or why no one knows.
    """

    code: str
    environment: str
    result: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """Whose fault a mismatch is.

    Attributes:
        answer: ``code``, ``environment``, ``both``, ``golden`` or ``undecided``.
        sentence: The same in words.
        golden_commit: The commit that the golden's code was taken from, or None.
        cells: Up to four runs.
    """

    answer: str
    sentence: str
    golden_commit: str | None = None
    cells: tuple[AttributionCell, ...] = ()
