"""The report of a comparison: ``compare.json``, and pages that are drawn from it and the run folders."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit import adapters, extras, reports, workspace
from reprokit.core.comparison import Divergence
from reprokit.core.report_parts import DrawnCurve
from reprokit.errors import MetricsError, ReprokitError
from reprokit.features.compare.answer import SIDES, StoredAnswer
from reprokit.features.compare.difference_chart import difference_chart
from reprokit.features.compare.lines import fact_text, first_facts, metric_rows, seed_rows
from reprokit.features.compare.rounding.evidence import bounds
from reprokit.features.compare.rounding.twin_runs import TwinRuns
from reprokit.layout import COMPARISON
from reprokit.reports.charts.curves import HEIGHT, WIDTH, Chart, Charts, charts_of
from reprokit.reports.escaping import Visible, markdown, markdown_code, markdown_prose, one_line, pieces
from reprokit.reports.formats.to_html import WITH_CHARTS, page
from reprokit.reports.pages.next_steps import NextStep

HTML, MARKDOWN = "report.html", "report.md"
#: What stands in place of the page where Jinja is not installed.
NO_PAGE = reports.NO_PAGE.replace("report.json", COMPARISON)
_POINTS = 400
_MOST_CHARTS = 12
_COMMIT = re.compile(r"commit ([0-9a-f]{7,40})")
_TONES = {"equal": "good", "rounding": "unknown", "different": "bad"}
_SIGNS = {"good": "✅", "bad": "❌", "unknown": "❔"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Both:
    """One fact of both sides; ``differs`` also where it is meant to, as with the runs."""

    name: Visible
    a: Visible
    b: Visible
    differs: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    """What the page shows, each text fit to be shown."""

    name: Visible
    word: Visible
    tone: str
    sentence: Visible
    hint: Visible
    steps: Sequence[NextStep]
    sides: Sequence[tuple[Visible, Sequence[tuple[Visible, Visible]]]]
    both: Sequence[_Both]
    first: Sequence[tuple[Visible, Visible]]
    differs: Sequence[tuple[Visible, Visible]]
    metrics: Sequence[Sequence[Visible]]
    seeds: Sequence[Sequence[Visible]]
    notes: Sequence[Visible]
    charts: Charts
    differing: Sequence[Chart]  # all charts, where nothing differs
    equal: Sequence[Chart]
    apart: Sequence[Chart]
    has_bound: bool


def write_report(stored: StoredAnswer, folder: Path) -> None:
    """Write the file and the pages into a folder that is not there yet.

    Raises:
        WorkspaceError: It cannot be written.
    """
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise workspace.cannot_write(folder, error) from error
    stored.write(folder)
    for name, text in documents(stored).items():
        workspace.write_atomic(folder / name, text.encode("utf-8"))


def documents(stored: StoredAnswer) -> dict[str, str]:
    """Name → text of the pages; from one answer and its runs the same bytes."""
    found = _page(stored)
    size = {"chart_width": f"{WIDTH:g}", "chart_height": f"{HEIGHT:g}"}
    drawn = extras.is_installed("jinja2")
    html = (
        page("compare.html.jinja", found=found, pieces=pieces, scripts=WITH_CHARTS, **size)
        if drawn
        else NO_PAGE
    )
    return {HTML: html, MARKDOWN: _markdown(found)}


def _page(stored: StoredAnswer) -> _Page:
    answer = stored.answer
    word = str(answer["answer"] or "not run")
    whole, explained = _curves(answer["sides"]), _bounds(answer)
    drawn = _charts(whole, answer["first"])
    equal = [chart for chart in drawn.shown if chart.metric in _equal(answer)]
    sides = [(one_line(name), _side(answer["sides"][name])) for name in SIDES]
    return _Page(
        name=one_line(stored.name),
        word=one_line(word),
        tone=_TONES.get(word, "unknown"),
        sentence=one_line(answer["sentence"]),
        hint=one_line(answer["hint"]),
        steps=_steps(answer),
        sides=sides,
        both=_both(*(dict(facts) for _, facts in sides)),
        first=[(one_line(name), one_line(text)) for name, text in first_facts(answer)],
        differs=[(one_line(one["kind"]), one_line(one["what"])) for one in answer["what_differs"]],
        metrics=[[one_line(cell) for cell in row] for row in metric_rows(answer["metrics"])],
        seeds=[[one_line(cell) for cell in row] for row in seed_rows(answer["statistical"])],
        notes=[one_line(note) for note in answer["notes"]],
        charts=drawn,
        differing=[chart for chart in drawn.shown if chart not in equal],
        equal=equal,
        apart=_apart(whole, explained),
        has_bound=bool(explained),
    )


def _steps(answer: Mapping[str, Any]) -> list[NextStep]:
    """Where the sides differ: how to see the lines of code that do, and the records."""
    if answer["first"] is None:
        return []
    a, b = (answer["sides"][name] for name in SIDES)
    commits = [found[1] for side in (a, b) if (found := _COMMIT.fullmatch(side["what"]))]
    steps = []
    if len(commits) == len(SIDES) and any(one["kind"] == "code" for one in answer["what_differs"]):
        steps.append(("See the lines of code that differ:", ["git", "diff", *commits]))
    if a["runs"] and b["runs"]:
        steps.append(("See every record that differs:", ["reprokit", "diff", a["runs"][0], b["runs"][0]]))
    return [NextStep(words=Visible(words), command=one_line(shlex.join(line))) for words, line in steps]


def _equal(answer: Mapping[str, Any]) -> set[Visible]:
    """The metrics that are equal in every record, where another one is not."""
    rows = answer["metrics"].items()
    equal = {one_line(name) for name, found in rows if not found["mismatches"]}
    return equal if len(equal) < len(rows) else set()


def _both(a: Mapping[Visible, Visible], b: Mapping[Visible, Visible]) -> list[_Both]:
    missing = Visible("-")
    return [
        _Both(name=name, a=a.get(name, missing), b=b.get(name, missing), differs=a.get(name) != b.get(name))
        for name in dict.fromkeys([*a, *b])
    ]


def _side(side: Mapping[str, Any]) -> list[tuple[Visible, Visible]]:
    runs = [(f"run {number}", run) for number, run in enumerate(side["runs"], 1)] or [("runs", "none")]
    facts = [("what", side["what"]), *runs, *side["environment"].items()]
    return [(one_line(name), one_line(fact_text(value))) for name, value in facts]


def _curves(sides: Mapping[str, Mapping[str, Any]]) -> dict[str, list[DrawnCurve]]:
    """Metric → the whole curves of the first run of each side; none where there is no such run."""
    if not all(sides[name]["runs"] for name in SIDES):
        return {}
    first, other = (Path(sides[name]["runs"][0]) for name in SIDES)
    try:
        pairs, _ = adapters.pair_runs(first, other)
        found: dict[str, list[DrawnCurve]] = {}
        for pair in pairs:
            prefix = f"{pair[0].name}:" if len(pairs) > 1 else ""
            for source, side in zip(pair, SIDES, strict=True):
                for name, one in adapters.read_series(source.path, max_series=200).items():
                    curve = DrawnCurve(label=side, steps=one.steps, values=one.values)
                    found.setdefault(prefix + name, []).append(curve)
    except (MetricsError, OSError):
        return {}
    return found


def _charts(whole: Mapping[str, Sequence[DrawnCurve]], first: Mapping[str, Any] | None) -> Charts:
    divergence = None
    if first is not None:
        divergence = Divergence(**first)
    thinned = {name: [_thinned(curve) for curve in curves] for name, curves in whole.items()}
    return charts_of(thinned, divergence)


def _thinned(curve: DrawnCurve) -> DrawnCurve:
    stride = -(-len(curve.steps) // _POINTS) or 1
    return DrawnCurve(label=curve.label, steps=curve.steps[::stride], values=curve.values[::stride])


def _bounds(answer: Mapping[str, Any]) -> dict[str, list[float]]:
    """Metric → the most that rounding explains, where twins were made."""
    rounding = answer["rounding"]
    if not rounding or not rounding["runs"]:
        return {}
    try:
        return bounds(Path(answer["sides"]["a"]["runs"][0]), TwinRuns.from_data(rounding["runs"]))
    except (ReprokitError, OSError, KeyError, TypeError, ValueError):
        return {}


def _apart(whole: Mapping[str, Sequence[DrawnCurve]], explained: Mapping[str, list[float]]) -> list[Chart]:
    drawn = (
        difference_chart(name, curves[0], curves[1], explained.get(name, ()))
        for name, curves in whole.items()
        if len(curves) == len(SIDES)
    )
    return [chart for chart in drawn if chart is not None][:_MOST_CHARTS]


def _paragraphs(*texts: Visible) -> list[str]:
    """Those that say something, a blank line between them."""
    return "\n\n".join(markdown_prose(text) for text in texts if text).split("\n")


def _markdown(found: _Page) -> str:
    title = f"# {_SIGNS[found.tone]} {markdown(found.word)}: {markdown(found.name)}"
    lines = [title, "", *_paragraphs(found.sentence, found.hint)]
    for heading, facts in (
        *((f"Side {name}", facts) for name, facts in found.sides),
        ("Where they first differ", found.first),
        ("What differs", found.differs),
    ):
        listed = [f"- {markdown(name)}: {markdown_code(text)}" for name, text in facts]
        lines += ["", f"## {heading}", "", *listed] if listed else []
    if found.metrics:
        lines += ["", "## Metrics", "", "| metric | differ | first step | largest | relative |"]
        lines += ["|---|---|---|---|---|"]
        lines += ["| " + " | ".join(markdown(cell) for cell in row) + " |" for row in found.metrics]
    if found.seeds:
        lines += ["", "## Results over seeds", "", "| metric | mean of a | mean of b | difference | margin |"]
        lines += ["|---|---|---|---|---|"]
        lines += ["| " + " | ".join(markdown(cell) for cell in row) + " |" for row in found.seeds]
    lines += ["", "## Notes", "", *(f"- {markdown(note)}" for note in found.notes)] if found.notes else []
    return "\n".join([*lines, ""])
