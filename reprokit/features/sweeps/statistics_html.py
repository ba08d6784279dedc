"""The statistics over seeds as one self-contained HTML page: curves, final results, tables, caveats."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reprokit.core.comparing.metric_names import results_first
from reprokit.core.report_parts import DrawnCurve
from reprokit.core.statistics.windows import LAST
from reprokit.core.verdicts.rows import counted
from reprokit.features.sweeps import statistics_page
from reprokit.features.sweeps.settings_chart import settings_chart
from reprokit.features.sweeps.statistics.variability import LIMITS
from reprokit.reports.charts.parallel import Parallel
from reprokit.reports.charts.plots import WIDTH, Plot
from reprokit.reports.escaping import Visible, one_line
from reprokit.reports.format_values import Facts, spelt
from reprokit.reports.formats.html_tables import HtmlTable, html_table
from reprokit.reports.formats.to_html import WITH_CHARTS, WITH_TABLES, page
from reprokit.reports.seed_plots import SeedCurve, SeedResults, curve_plot, result_plot, thinned_seed
from reprokit.reports.sweep_table import AGAIN, common_settings, member_rows, mixed_lines, why_unfinished

if TYPE_CHECKING:
    from reprokit.features.sweeps.statistics.describe import MetricStatistics, WindowStatistics

_NUM_COLOURS = 6
_MOST_METRICS = 48
# Records of single seeds in a page, and of one seed: 0.3 MB at most.
_SEED_NUMBERS, _LEAST_OF_SEED, _MOST_OF_SEED = 24_000, 16, 200


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSection:
    """What stands below the plots for each group."""

    name: Visible
    seeds: Visible
    remarks: tuple[Visible, ...]
    summary: HtmlTable
    caveats: tuple[Visible, ...]
    variability: HtmlTable
    values: Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingSection:
    """The settings of a sweep, best first, by one metric."""

    title: Visible
    rows: HtmlTable
    caveats: tuple[Visible, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticsPage:
    """The page, ready to be drawn. ``tone`` is ``good``, ``bad`` or ``unknown``."""

    kicker: Visible
    title: Visible
    tone: str
    sentence: Visible
    members: HtmlTable | None
    across: Parallel | None
    remarks: tuple[Visible, ...]
    legend: tuple[tuple[Visible, str], ...]
    figures: tuple[tuple[Plot, ...], ...]
    not_drawn: tuple[Visible, ...]
    rankings: tuple[RankingSection, ...]
    groups: tuple[GroupSection, ...]
    between: tuple[tuple[Visible, HtmlTable], ...]
    made: Visible | None = None


def statistics_to_html(found: Any, goldens: Mapping[str, Any], *, made: str = "") -> str:
    """The page of `reprokit stats`.

    Args:
        found: A ``harness.stats.Statistics``.
        goldens: Group → its ``GoldenCurves``.
        made: When, and by which command.
    """
    names = [group.group.called for group in found.groups]
    seeds = [f"{group.group.called}: {_seeds_and_inputs(group)}" for group in found.groups]
    ranked = bool(found.rankings)
    title = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
    return _drawn(
        kicker="statistics over seeds",
        title=found.sweep if ranked else title,
        tone="plain",
        sentence=f"{statistics_page.sweep_line(found)}{_first_of(found)}" if ranked else "; ".join(seeds),
        members=None,
        across=None,
        remarks=[f"Warning: {warning}" for warning in found.warnings],
        made=one_line(made, limit=1000),
        **_of_groups(found, goldens),
    )


def sweep_to_html(answer: Any, found: Any, goldens: Mapping[str, Any]) -> str:
    """The page of `reprokit sweep`.

    Args:
        answer: A ``harness.Sweep``.
        found: Its ``harness.stats.Statistics``; None where no member is finished.
        goldens: As of ``statistics_to_html``.
    """
    rows = member_rows(answer.members, answer.actions, dry_run=False)
    done = sum(member.state == "complete" for member in answer.members)
    mixed = list(mixed_lines(answer.members))
    return _drawn(
        kicker="sweep",
        title=answer.name,
        tone="bad" if done < len(answer.members) else "unknown" if mixed else "good",
        sentence=f"{done} of {counted(len(answer.members), 'member')} finished"
        f"{', mixed' if mixed else ''}{_first_of(found)}",
        across=settings_chart(answer.members),
        members=html_table([list(rows[0]), *(list(row.values()) for row in rows)]),
        remarks=(
            *([f"Every member has {common}"] if (common := common_settings(answer.members)) else []),
            *(f"Warning: {warning}" for warning in answer.warnings),
            *mixed,
            *why_unfinished(answer.members),
            *([AGAIN] if done < len(answer.members) else []),
        ),
        **(_of_groups(found, goldens) if found else _of_groups(None, {})),
    )


def _first_of(found: Any) -> str:
    """Which setting stands first, by what, and its mean; "" where none does."""
    if not found or not found.rankings:
        return ""
    one = found.rankings[0]
    head, *rows = statistics_page.ranking_table(one, found.groups)
    if not rows:
        return ""
    first = dict(zip(head, rows[0], strict=True))
    interval = f", 95 % interval {first['95 % interval']}" if "95 % interval" in first else ""
    by = f"First by {one.metric} ({one.window}, {statistics_page.which_are_better(one)})"
    return f". {by}: {first['setting']}, mean {first['mean']}{interval}"


def _drawn(*, kicker: str, title: str, sentence: str, remarks: Sequence[str], **parts: Any) -> str:
    found = StatisticsPage(
        kicker=one_line(kicker),
        title=one_line(title),
        sentence=one_line(sentence),
        remarks=tuple(map(one_line, remarks)),
        **parts,
    )
    return page(
        "statistics.html.jinja",
        found=found,
        plot_width=f"{WIDTH:g}",
        limits=LIMITS,
        words=_words(),
        scripts=(*WITH_CHARTS, *WITH_TABLES),
    )


def _words() -> dict[str, str]:
    return {"score": statistics_page.SCORE, "power": statistics_page.POWER}


def _of_groups(found: Any, goldens: Mapping[str, Any]) -> dict[str, Any]:
    groups = found.groups if found else ()
    kinds = {one.group.name: f"run-{at % _NUM_COLOURS}" for at, one in enumerate(groups)}
    called = statistics_page.names_of(found) if found else {}
    every = dict.fromkeys(metric.metric for group in groups for metric in group.metrics)
    metrics = results_first(every, expected=found.expected if found else ())
    room = _room_of_seeds(groups, metrics[:_MOST_METRICS])
    figures = [_figures(name, groups, kinds, goldens, room=room) for name in metrics[:_MOST_METRICS]]
    drawn_goldens = [golden for golden in goldens.values() if not golden.problem]
    return {
        "legend": (
            *((one_line(called[name]), kind) for name, kind in kinds.items()),
            *((one_line(one.label), "golden") for one in drawn_goldens),
        ),
        "figures": tuple(_side_by_side([plots for plots, _ in figures])),
        "not_drawn": (
            *(one_line(told) for _, told in figures if told),
            *dict.fromkeys(
                one_line(one.problem if len(goldens) > 1 else f"{name}: {one.problem}")
                for name, one in goldens.items()
                if one.problem
            ),
            *_more_metrics(len(metrics)),
            *([] if room else [Visible("the curves of single seeds: there are too many for one page")]),
        ),
        "rankings": tuple(_ranking(one, groups) for one in (found.rankings if found else ())),
        "groups": tuple(map(_section, groups)),
        "between": tuple(
            (
                one_line(f"{called[second]} against {called[first]}"),
                html_table(statistics_page.between_table(rows)),
            )
            for first, second, rows in (found.between if found else ())
        ),
    }


def _side_by_side(figures: Sequence[tuple[Plot, ...]]) -> Iterator[tuple[Plot, ...]]:
    """Metrics with a curve in a row of their own, then the plots of all others."""
    yield from (plots for plots in figures if len(plots) > 1)
    if alone := tuple(plots[0] for plots in figures if len(plots) == 1):
        yield alone


def _more_metrics(count: int) -> Iterator[Visible]:
    if count > _MOST_METRICS:
        yield one_line(
            f"{count - _MOST_METRICS} more metrics are in the tables; --metric chooses which are drawn"
        )


def _ranking(one: Any, groups: Sequence[Any]) -> RankingSection:
    return RankingSection(
        title=one_line(statistics_page.ranking_title(one)),
        rows=html_table(statistics_page.ranking_table(one, groups)),
        caveats=tuple(map(one_line, statistics_page.ranking_caveats(one, groups))),
    )


def _figures(
    name: str, groups: Sequence[Any], kinds: Mapping[str, str], goldens: Mapping[str, Any], *, room: int
) -> tuple[tuple[Plot, ...], str]:
    """The plots of one metric, and why its curve is missing, or ""."""
    having = [(one.group, metric) for one in groups for metric in one.metrics if metric.metric == name]
    curves = [
        SeedCurve(
            label=f"golden of {group}" if len(groups) > 1 else golden.label,
            kind="golden",
            steps=golden.series[name][0],
            mean=golden.series[name][1],
        )
        for group, golden in goldens.items()
        if name in golden.series
    ]
    curves += [_curve(group.called, metric, kinds[group.name], room=room) for group, metric in having]
    curve = curve_plot(name, curves)
    window = having[0][1].windows[0].window
    results = result_plot(
        name,
        _across(window),
        [_results(group.called, metric.windows[0], kinds[group.name]) for group, metric in having],
    )
    missing = (
        ""
        if curve
        else f"{name}: all seeds have a finite value at fewer than two steps, so there is no curve"
    )
    return (results,) if curve is None else (curve, results), missing


def _room_of_seeds(groups: Sequence[Any], metrics: Sequence[str]) -> int:
    """How many records of each seed a page has room for; 0 where that would be none worth a line."""
    shown = set(metrics)
    count = sum(len(one.seeds) for group in groups for one in group.metrics if one.metric in shown)
    room = min(_MOST_OF_SEED, _SEED_NUMBERS // max(1, count))
    return room if room >= _LEAST_OF_SEED else 0


def _seeds(group: str, metric: MetricStatistics, *, room: int) -> Iterator[DrawnCurve]:
    if room and len(metric.seeds) > 1:
        one = metric.curves
        for seed, steps, values in zip(one.seeds, one.steps, one.values, strict=True):
            yield thinned_seed(f"{group}, seed {seed}", steps, values, most=room)


def _curve(group: str, metric: MetricStatistics, kind: str, *, room: int) -> SeedCurve:
    band = metric.band
    limits = (band.low, band.high) if band.num_seeds > 1 else (None, None)
    return SeedCurve(
        label=group,
        kind=kind,
        steps=band.steps,
        mean=band.mean,
        low=limits[0],
        high=limits[1],
        seeds=tuple(_seeds(group, metric, room=room)),
    )


def _results(group: str, window: WindowStatistics, kind: str) -> SeedResults:
    reasons = dict.fromkeys((*window.notes, window.intervals[0].refused))
    return SeedResults(
        label=group,
        kind=kind,
        values={f"seed {seed}": value for seed, value in window.values.items()},
        mean=window.summary.mean,
        interval=window.intervals[0],
        notes=tuple(reason for reason in reasons if reason),
    )


def _across(window: str) -> str:
    return "last value of each seed" if window == LAST else f"{window} of each seed"


def _seeds_and_inputs(one: Any) -> str:
    return "; ".join(filter(None, (statistics_page.seeds_line(one), one.group.inputs)))


def _section(one: Any) -> GroupSection:
    values = [
        (
            f"{metric.metric}, {window.window}",
            ", ".join(f"{seed}: {spelt(value)}" for seed, value in window.values.items()),
        )
        for metric in one.metrics
        for window in metric.windows
        if any(map(math.isfinite, window.values.values()))  # else a caveat says why there is none
    ]
    return GroupSection(
        name=one_line(one.group.called),
        seeds=one_line(_seeds_and_inputs(one)),
        remarks=tuple(map(one_line, statistics_page.remarks(one))),
        summary=html_table(statistics_page.summary_table(one)),
        caveats=tuple(map(one_line, statistics_page.caveats(one))),
        variability=html_table(statistics_page.variability_table(one)),
        values=tuple((one_line(label), one_line(told, limit=20_000)) for label, told in values),
    )
