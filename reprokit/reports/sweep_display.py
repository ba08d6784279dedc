"""Progress of a sweep: one table of its members on a terminal, a line for each change elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from reprokit.reports.escaping import one_line, shortened
from reprokit.reports.progress import HEARTBEAT_S, LIVE_EVERY_S, ProgressDisplay
from reprokit.reports.tables import aligned, few_digits
from reprokit.session import HowFar

_MOST_ROWS = 16
_HEADS = ("member", "phase", "steps", "steps/s", "last result", "place")
_ALWAYS = ("member", "phase")
#: Phases in the order in which a short table shows their members: what moves comes first.
_ORDER = {"training": 0, "crashed": 1, "not_started": 1, "interrupted": 1, "waiting": 2}


class SweepDisplay(ProgressDisplay):
    """The progress display of a sweep; ``member`` may be called from several threads."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self._members: dict[str, HowFar] = {}
        self._said_at: dict[str, float] = {}

    def member(self, label: str, how_far: HowFar, /) -> None:
        """Report how far a member is."""
        with self._lock:
            before, now = self._members.get(label), self._clock()
            self._members[label] = how_far
            changed = before is None or before.phase != how_far.phase
            if self._is_live:
                if changed or now - self._drawn_at >= LIVE_EVERY_S:
                    self._draw()
            elif changed or now - self._said_at[label] >= HEARTBEAT_S:
                self._said_at[label] = now
                self._write_line(_line(label, how_far))

    def _bars(self, room: int) -> Iterator[str]:
        """The table, where members are known; until then the bars of the phase."""
        if not self._members:
            yield from super()._bars(room)
            return
        by_need = sorted(self._members.items(), key=lambda item: _ORDER.get(item[1].phase, 3))
        shown = {label for label, _ in by_need[:_MOST_ROWS]}
        rows = [(label, row) for label, row in self._members.items() if label in shown]
        yield from _table(rows, room)
        if len(by_need) > _MOST_ROWS:
            rest = [row.phase for _, row in by_need[_MOST_ROWS:]]
            counts = ", ".join(f"{rest.count(phase)} {phase}" for phase in dict.fromkeys(rest))
            yield f"and {len(rest)} more: {one_line(counts)}"


def _table(rows: list[tuple[str, HowFar]], room: int) -> list[str]:
    """As many columns as there is room for, and the members' names at any rate: they say what differs."""
    longest = max(len(one_line(label)) for label, _ in rows)
    written = [_cells(label, row, limit=longest) for label, row in rows]
    left_out = tuple(
        head for head in _HEADS if head not in _ALWAYS and all(row[head] == "-" for row in written)
    )
    for column in (None, "steps/s", "place", "steps", "last result"):
        left_out = (*left_out, column) if column else left_out
        heads = [head for head in _HEADS if head not in left_out]
        cells = [heads, *([row[head] for head in heads] for row in written)]
        lines = aligned(cells)
        if max(map(len, lines)) <= room:
            return lines
    least = max(room - len("  interrupted"), 8)
    return aligned(
        [("member", "phase"), *((shortened(label, width=least), one_line(row.phase)) for label, row in rows)]
    )


def _cells(label: str, row: HowFar, *, limit: int) -> dict[str, str]:
    steps = "-" if row.step is None else f"{row.step:,}"
    return {
        "member": one_line(label, limit=limit),
        "phase": one_line(row.phase, limit=20),
        "steps": steps if row.total is None else f"{steps} of {row.total:,}",
        "steps/s": "-" if row.steps_per_s is None else f"{row.steps_per_s:,.0f}",
        "last result": "-" if row.last_return is None else few_digits(row.last_return),
        "place": one_line(row.place or "-", limit=20),
    }


def _line(label: str, row: HowFar) -> str:
    parts = [row.phase]
    if row.step is not None:
        parts.append(f"step {row.step:,}" + ("" if row.total is None else f" of {row.total:,}"))
    if row.steps_per_s is not None:
        parts.append(f"{row.steps_per_s:,.0f} steps/s")
    if row.last_return is not None:
        parts.append(f"last result {few_digits(row.last_return)}")
    if row.place:
        parts.append(row.place)
    if row.told and row.phase != "training":
        parts.append(row.told)
    return f"{one_line(label)}: {one_line(', '.join(parts))}"
