"""Whether a run learned, as a page: what is wrong first, every answer with its hint, the curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reprokit.core.report_parts import DrawnCurve
from reprokit.features.learning.curve import Point
from reprokit.features.learning.learned import Learned
from reprokit.learning import Answer, Health, is_well
from reprokit.reports.charts.curves import HEIGHT, WIDTH, Charts, charts_of
from reprokit.reports.escaping import Visible, one_line, pieces
from reprokit.reports.formats.html_tables import HtmlTable, html_table
from reprokit.reports.formats.to_html import WITH_CHARTS, page

_MOST_STEPS = 3
_WORDS = {Health.FINE: "fine", Health.LOOK: "to look at", Health.WRONG: "wrong", Health.UNKNOWN: "unknown"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    health: str
    question: Visible
    told: Visible
    hint: Visible


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    word: str
    tone: str
    sentence: Visible
    run: Visible
    steps: tuple[Visible, ...]
    rows: tuple[_Row, ...]
    curves: Charts
    evaluations: HtmlTable
    probe: Visible


def learning_to_html(found: Learned, curves: Mapping[str, DrawnCurve]) -> str:
    """The page; ``curves`` are the run's metrics, thinned.

    Raises:
        MissingExtraError: Jinja is not installed.
    """
    wrong = [one for one in found.answers if one.health is Health.WRONG]
    look = [one for one in found.answers if one.health is Health.LOOK]
    well = is_well(found.answers)
    shown = _Page(
        word="Something is wrong" if wrong else "Look at it" if look else "Nothing wrong was seen",
        tone="bad" if not well else "unknown" if look else "good",
        sentence=_sentence(found.answers, wrong or look),
        run=one_line(f"{found.run.parent.name}/{found.run.name}"),
        steps=tuple(_hint(one, found.run) for one in (*wrong, *look) if one.remedy)[:_MOST_STEPS],
        rows=tuple(_row(one, found.run) for one in found.answers),
        curves=charts_of({name: [one] for name, one in curves.items()}, None),
        evaluations=_evaluations(found.curve),
        probe=one_line(found.probe or ""),
    )
    size = {"chart_width": f"{WIDTH:g}", "chart_height": f"{HEIGHT:g}"}
    return page("learning.html.jinja", found=shown, pieces=pieces, scripts=WITH_CHARTS, **size)


def _sentence(answers: Sequence[Answer], first: Sequence[Answer]) -> Visible:
    numbers = [(sum(one.health is kind for one in answers), _WORDS[kind]) for kind in Health]
    counts = [f"{number} {word}" for number, word in numbers if number]
    told = f"{first[0].question} {first[0].told}. " if first else ""
    return one_line(f"{told}{len(answers)} questions: {', '.join(counts)}.")


def _row(one: Answer, run: Path) -> _Row:
    return _Row(
        health=one.health.value,
        question=one_line(one.question),
        told=one_line(one.told),
        hint=_hint(one, run),
    )


def _hint(one: Answer, run: Path) -> Visible:
    """The hint, its command as it is typed for this run."""
    return one_line(one.remedy.replace("learning RUN", f"learning {run.name}"))


def _evaluations(curve: Sequence[Point]) -> HtmlTable:
    rows = [
        (
            point.metric,
            f"{point.step:,}",
            f"{point.mean:.4g}",
            "" if point.std is None else f"{point.std:.4g}",
        )
        for point in curve
    ]
    return html_table([("Metric", "Step", "Mean", "Standard deviation"), *rows])


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
