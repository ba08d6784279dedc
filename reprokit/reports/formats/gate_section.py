"""What the statistical gate saw, as plots and tables for the HTML report.

Drawn from ``report["statistical"]``, which anyone may have written: what is missing or of another kind is
left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reprokit.core.verdicts.rows import counted
from reprokit.reports.charts.axes import finite
from reprokit.reports.charts.gate_plots import JudgedLook, difference_plot, power_plot
from reprokit.reports.charts.plots import Plot
from reprokit.reports.escaping import Visible, one_line
from reprokit.reports.format_values import Facts
from reprokit.reports.formats.html_tables import HtmlTable, html_table
from reprokit.reports.formats.statistical_gate import rate_facts
from reprokit.reports.seed_plots import SeedResults, result_plot

_TONES = {"EQUIVALENT": "good", "REGRESSION": "bad"}
_MOST_METRICS = 12
_NOT_FINITE = {"NaN", "Infinity", "-Infinity"}
_HEAD = (
    "look",
    "threshold",
    "ensemble mean",
    "new mean",
    "difference",
    "interval",
    "p-value",
    "p after correction",
    "least p",
    "power at margin",
    "smallest visible worsening",
    "answer",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GateMetric:
    """One metric that was judged."""

    name: Visible
    margin: Visible
    plots: tuple[Plot, ...]
    looks: HtmlTable


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSection:
    """The gate's answer, ready to be drawn. ``tone`` is ``good``, ``bad`` or ``unknown``."""

    conclusion: Visible
    tone: str
    reason: Visible
    metrics: tuple[GateMetric, ...]
    num_cut: int
    num_unused: int
    rates: Facts


def gate_section(statistical: Mapping[str, Any] | None) -> GateSection | None:
    """The section of a report that an ensemble judged; None of any other report."""
    if not statistical:
        return None
    outcome = _mapping(statistical.get("outcome"))
    looks = [look for look in _list(outcome.get("looks")) if isinstance(look, Mapping)]
    sides = _side(statistical, "reference"), _side(statistical, "new")
    margins = _mapping(statistical.get("margins"))
    names = list(
        dict.fromkeys([*margins, *(name for side in sides for one in side.values() for name in one)])
    )
    conclusion = str(outcome.get("conclusion") or "UNJUDGED")
    return GateSection(
        conclusion=one_line(conclusion),
        tone=_TONES.get(conclusion, "unknown"),
        reason=one_line(outcome.get("reason") or "no reason given"),
        metrics=tuple(
            _metric(name, sides, looks, finite(margins.get(name))) for name in names[:_MOST_METRICS]
        ),
        num_cut=max(0, len(names) - _MOST_METRICS),
        num_unused=int(finite(outcome.get("num_unused")) or 0),
        rates=rate_facts(statistical.get("rates")),
    )


def _metric(
    name: str,
    sides: tuple[Mapping[str, Mapping[str, Any]], Mapping[str, Mapping[str, Any]]],
    looks: Sequence[Mapping[str, Any]],
    margin: float | None,
) -> GateMetric:
    judged = list(_judged(name, looks))
    before, after = (
        {seed: _number(one[name]) for seed, one in side.items() if name in one} for side in sides
    )
    plots = [result_plot("Results seed by seed", f"{name} of each seed", list(_groups(before, after)))]
    if judged:
        plots.append(difference_plot(name, judged, margin=margin))
        reference = [number for value in before.values() if (number := finite(value)) is not None]
        power = power_plot(name, reference, judged, margin=margin) if len(reference) == len(before) else None
        plots += [power] if power else []
    return GateMetric(
        name=one_line(name),
        margin=one_line("none" if margin is None else f"{margin:.6g}"),
        plots=tuple(plots),
        looks=html_table([_HEAD, *map(_cells, judged)]),
    )


def _judged(name: str, looks: Sequence[Mapping[str, Any]]) -> Iterator[JudgedLook]:
    for look in looks:
        metrics = [one for one in _list(look.get("metrics")) if isinstance(one, Mapping)]
        for metric in metrics:
            num_new, level = finite(look.get("num_new")), finite(look.get("level"))
            if metric.get("name") == name and num_new is not None and level is not None:
                yield JudgedLook(num_new=int(num_new), level=level, num_metrics=len(metrics), facts=metric)


def _groups(before: Mapping[str, float], after: Mapping[str, float]) -> Iterator[SeedResults]:
    for label, kind, values in (("ensemble", "golden", before), ("new", "run-0", after)):
        odd = [seed for seed, value in values.items() if finite(value) is None]
        mean = sum(values.values()) / len(values) if values and not odd else None
        yield SeedResults(
            label=f"{label}, {counted(len(values), 'seed')}",
            kind=kind,
            values={f"seed {seed}": value for seed, value in values.items()},
            mean=finite(mean),
            notes=(f"not finite: seed {', '.join(odd)}",) if odd else (),
        )


def _cells(look: JudgedLook) -> tuple[object, ...]:
    answer = "differs" if look.facts.get("differs") is True else "no difference found"
    direction = look.facts.get("direction")
    return (
        counted(look.num_new, "new seed"),
        f"{look.level:.3g}",
        *(_shown(look.number(key)) for key in ("reference_mean", "new_mean", "difference")),
        " to ".join(map(_shown, look.limits or ())),
        *(
            _shown(look.number(key), digits=3)
            for key in ("p_value", "adjusted_p_value", "smallest_possible_p_value")
        ),
        None if (power := look.number("power_at_margin")) is None else f"{power:.0%}",
        _shown(look.number("smallest_visible_drop")) or "none",
        f"{answer}, mean {direction}" if direction in {"worse", "better"} else answer,
    )


def _shown(value: float | None, *, digits: int = 6) -> str:
    return "" if value is None else f"{value:.{digits}g}"


def _side(statistical: Mapping[str, Any], name: str) -> dict[str, Mapping[str, Any]]:
    return {
        str(seed): one for seed, one in _mapping(statistical.get(name)).items() if isinstance(one, Mapping)
    }


def _number(value: Any) -> float:
    """A value of a report, in which NaN and infinities are texts; what is no number at all is NaN."""
    if isinstance(value, str) and value in _NOT_FINITE:
        return float(value)
    if isinstance(value, float):
        return value
    number = finite(value)
    return float("nan") if number is None else number


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()
