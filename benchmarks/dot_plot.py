"""A plot of percentages as SVG: a row of dots for each label, without a plotting library.

The same rows give the same bytes, so a plot changes in a commit only where its numbers do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

LEFT, WIDTH, RIGHT, TOP, ROW_HEIGHT = 430.0, 420.0, 30.0, 62.0, 22.0
STYLE = """
text { font: 13px ui-sans-serif, system-ui, sans-serif; fill: #1b1f24 }
.title { font-size: 16px; font-weight: 600 }
.tick { font-size: 11px; fill: #57606a }
.grid { stroke: #e4e7eb } .mark { stroke: #d55e00; stroke-dasharray: 4 3 }
.interval { stroke: #0072b2; stroke-width: 2 }
.dot-0 { fill: #56b4e9 } .dot-1 { fill: #0072b2 } .dot-2 { fill: #1b1f24 }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One label with up to three dots, drawn from light to dark, and an interval around them."""

    label: str
    dots: tuple[float, ...]
    interval: tuple[float, float] | None = None


def dot_plot(rows: Sequence[Row], *, title: str, upper: float, mark: float | None = None) -> str:
    """One SVG document: the rows from 0 to ``upper``, with a dashed line at ``mark``."""
    height = TOP + ROW_HEIGHT * len(rows) + 12
    width = LEFT + WIDTH + RIGHT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        f'<rect width="{width:g}" height="{height:g}" fill="#fff"/>',
        f'<text class="title" x="16" y="26">{escape(title)}</text>',
    ]
    for tick in range(6):
        value = upper * tick / 5
        x = LEFT + WIDTH * tick / 5
        lines.append(f'<line class="grid" x1="{x:g}" x2="{x:g}" y1="{TOP:g}" y2="{height - 8:g}"/>')
        lines.append(f'<text class="tick" x="{x:g}" y="{TOP - 6:g}" text-anchor="middle">{value:g}</text>')
    if mark is not None:
        x = LEFT + WIDTH * mark / upper
        lines.append(f'<line class="mark" x1="{x:g}" x2="{x:g}" y1="{TOP:g}" y2="{height - 8:g}"/>')
    for number, row in enumerate(rows):
        lines += _row(row, y=TOP + ROW_HEIGHT * (number + 0.5), upper=upper)
    return "\n".join([*lines, "</svg>", ""])


def _row(row: Row, *, y: float, upper: float) -> Iterator[str]:
    yield f'<text x="{LEFT - 14:g}" y="{y + 4:g}" text-anchor="end">{escape(row.label)}</text>'
    if row.interval is not None:
        low, high = (LEFT + WIDTH * min(one, upper) / upper for one in row.interval)
        yield f'<line class="interval" x1="{low:.1f}" x2="{high:.1f}" y1="{y:g}" y2="{y:g}"/>'
    for number, value in enumerate(row.dots):
        x = LEFT + WIDTH * min(value, upper) / upper
        yield f'<circle class="dot-{number}" cx="{x:.1f}" cy="{y:g}" r="{6 - 1.5 * number:g}"/>'
