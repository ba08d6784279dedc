"""A comparison as one picture: the curves of both sides, with the divergence marked.

Without a plotting library there is no import of a second, text stays text, and the same comparison gives
the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from xml.sax.saxutils import escape

from reprokit.core.comparing.difference import Divergence
from reprokit.core.report_parts import DrawnCurve
from reprokit.reports.charts import curves
from reprokit.reports.charts.curves import HEIGHT, WIDTH, Chart, CurveLine
from reprokit.reports.escaping import one_line, shortened

_COLUMNS = 2
_HEAD, _CAPTION, _MARGIN = 76.0, 28.0, 16.0
_MAX_CHARTS = 12

# Colours that people who see no red or no green tell apart (Okabe and Ito), and a dash besides.
_STYLE = """
text { font: 13px ui-sans-serif, system-ui, sans-serif; fill: #1b1f24 }
.title { font-size: 17px; font-weight: 600 }
.name { font-weight: 600 }
.tick { font-size: 11px; fill: #57606a }
.grid { stroke: #e4e7eb; stroke-width: 1 }
.marker { stroke: #b35900; stroke-width: 1; stroke-dasharray: 2 3 }
.marker-text { font-size: 11px; fill: #8a4500 }
polyline { fill: none; stroke-width: 1.6; stroke-linejoin: round }
.run-0 { stroke: #0072b2 } circle.run-0 { fill: #0072b2 }
.run-1 { stroke: #d55e00; stroke-dasharray: 5 3 } circle.run-1 { fill: #d55e00 }
.run-2 { stroke: #009e73; stroke-dasharray: 9 3 } circle.run-2 { fill: #009e73 }
.run-3 { stroke: #cc79a7; stroke-dasharray: 2 2 } circle.run-3 { fill: #cc79a7 }
.run-4 { stroke: #56b4e9; stroke-dasharray: 9 3 2 3 } circle.run-4 { fill: #56b4e9 }
.run-5 { stroke: #e69f00; stroke-dasharray: 5 3 2 3 } circle.run-5 { fill: #e69f00 }
"""


def diff_to_svg(
    series: Mapping[str, Sequence[DrawnCurve]], divergence: Divergence | None, *, title: str
) -> str:
    """One self-contained SVG document on a white ground, twelve metrics at most.

    ``series`` maps a metric to the curve of the expected side, then that of the actual one. The metric that
    diverged first is drawn first.
    """
    found = curves.charts_of(series, divergence)
    shown = found.shown[:_MAX_CHARTS]
    num_cut = len(found.shown) - len(shown) + found.num_cut
    num_rows = -(-len(shown) // _COLUMNS)
    width = _COLUMNS * (WIDTH + _MARGIN) + _MARGIN
    height = _HEAD + num_rows * (HEIGHT + _CAPTION + _MARGIN) + (24 if num_cut else 0)
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
        f"<title>{escape(one_line(title))}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect width="{width:g}" height="{height:g}" fill="#fff"/>',
        f'<text class="title" x="{_MARGIN:g}" y="30">{escape(shortened(title, width=110))}</text>',
        *_legend(found.legend),
    ]
    whole = not any(chart.diverged for chart in shown)  # a record that is missing is missing in every curve
    for number, chart in enumerate(shown):
        x = _MARGIN + number % _COLUMNS * (WIDTH + _MARGIN)
        y = _HEAD + number // _COLUMNS * (HEIGHT + _CAPTION + _MARGIN)
        marked = chart.diverged or whole
        parts += [f'<g transform="translate({x:g} {y:g})">', *_chart(chart, marked=marked), "</g>"]
    if not shown:
        parts.append(f'<text x="{_MARGIN:g}" y="{_HEAD:g}">There is no number to draw.</text>')
    if num_cut:
        parts.append(
            f'<text class="tick" x="{_MARGIN:g}" y="{height - 10:g}">and {num_cut} more metrics</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


def _legend(lines: Sequence[CurveLine]) -> Iterator[str]:
    x = _MARGIN
    for line in lines:
        label = escape(shortened(line.label, width=60))
        yield f'<polyline class="{line.kind}" points="{x:g},50 {x + 28:g},50"/>'
        yield f'<text x="{x + 36:g}" y="54">{label}</text>'
        x += 60 + 8 * min(60, len(line.label))


def _chart(chart: Chart, *, marked: bool) -> Iterator[str]:
    yield f'<text class="name" x="0" y="14">{escape(shortened(chart.metric, width=56))}</text>'
    yield f'<g transform="translate(0 {_CAPTION:g})"><title>{escape(chart.summary)}</title>'
    for tick in chart.y_ticks:
        yield (
            f'<line class="grid" x1="{chart.left:g}" x2="{chart.right:g}" y1="{tick.at:g}" y2="{tick.at:g}"/>'
        )
        yield (
            f'<text class="tick" x="{chart.left - 6:g}" y="{tick.at + 4:g}" text-anchor="end">'
            f"{escape(tick.label)}</text>"
        )
    for tick in chart.x_ticks:
        yield (
            f'<text class="tick" x="{tick.at:g}" y="{chart.bottom + 18:g}" text-anchor="middle">'
            f"{escape(tick.label)}</text>"
        )
    for line in chart.lines:
        for piece in line.pieces:
            yield f'<polyline class="{line.kind}" points="{piece}"/>'
        for x, y in line.dots:
            yield f'<circle class="{line.kind}" cx="{x:g}" cy="{y:g}" r="2"/>'
    if chart.marker is not None and marked:
        at, before = chart.marker.at, chart.marker.label_before
        yield f'<line class="marker" x1="{at:g}" x2="{at:g}" y1="{chart.top:g}" y2="{chart.bottom:g}"/>'
        yield (
            f'<text class="marker-text" x="{at - 5 if before else at + 5:g}" y="{chart.top + 10:g}" '
            f'text-anchor="{"end" if before else "start"}">{escape(chart.marker.label)}</text>'
        )
    yield "</g>"
