"""What the statistical gate found, as labels and values: each metric, and how often such a gate is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reprokit.reports.escaping import Visible, one_line
from reprokit.reports.format_values import Facts

_MAX_METRICS = 20


def statistical_facts(found: Mapping[str, Any] | None) -> Facts:
    """The gate of a report, which anyone may have written; () where it had none."""
    if not found:
        return ()
    try:
        return _facts(found)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return ((Visible("not shown"), Visible("the record of the gate is not as this version writes it")),)


def _facts(found: Mapping[str, Any]) -> Facts:
    looks = found["outcome"]["looks"]
    metrics = looks[-1]["metrics"][:_MAX_METRICS] if looks else ()
    facts = [
        *((metric["name"], _metric(metric, look=looks[-1])) for metric in metrics),
        *(("difference", told) for metric in metrics if (told := _interval(metric))),
        *(("smallest visible worsening", _visible(metric, found["rates"])) for metric in metrics),
        ("new seeds", f"{_listed(found['new'])} (looks after {_listed(look['num_new'] for look in looks)})"),
        *(("left out", _left_out(seeds)) for seeds in [found.get("left_out")] if seeds),
        *_rates(found["rates"]),
        *(("no variance", _no_variance(metric)) for metric in metrics if metric["zero_variance"]),
    ]
    return tuple((one_line(label), one_line(value)) for label, value in facts)


def _metric(one: Mapping[str, Any], *, look: Mapping[str, Any]) -> str:
    corrected = f", corrected for {len(look['metrics'])} metrics" if len(look["metrics"]) > 1 else ""
    p_value = (
        f"p = {_number(one['adjusted_p_value'])}{corrected}, threshold {_number(look['level'], digits=3)}"
    )
    if one["difference"] is None:
        before, after = one["num_not_finite"]
        return f"not finite: {after} of {one['num_new']} new, {before} of {one['num_reference']} ({p_value})"
    means = (
        f"mean {_number(one['new_mean'])} over {one['num_new']} new seeds, "
        f"{_number(one['reference_mean'])} over {one['num_reference']} of the ensemble"
    )
    if not one["differs"]:
        return f"no difference found: {means} ({p_value})"
    direction = one["direction"]
    if " (first_step_at_" in one["name"]:
        direction = {"worse": "slower", "better": "faster"}.get(direction, direction)
    return f"{direction} by {_number(abs(one['difference']))}: {means} ({p_value})"


def _left_out(seeds: Any) -> str:
    return (
        f"{len(seeds)} finished seeds are not part of the ensemble, whose seeds were chosen: "
        f"{_listed(seeds[:20])}"
    )


def _interval(one: Mapping[str, Any]) -> str:
    """The difference, its limits and what they exclude; "" where there are none, as in reports of before.

    Nor where a difference was found: that p decides, and these limits, of another method, may hold 0.
    """
    if one["differs"]:
        return ""
    low, high = one.get("difference_low"), one.get("difference_high")
    if low is None or high is None:
        return ""
    excluded = "is excluded" if one["excludes_margin"] else "is not excluded"
    limits = f"{_number(one['difference'])}, interval {_number(low)} to {_number(high)}"
    return f"{one['name']}: {limits}; a worsening as large as the margin {_number(one['margin'])} {excluded}"


def _visible(one: Mapping[str, Any], rates: Mapping[str, Any]) -> str:
    """The smallest worsening that is found in most such gates, and how often one of the margin is."""
    drop, power, most = one["smallest_visible_drop"], one["power_at_margin"], rates.get("power_asked", 0.8)
    seen = (
        f"none is found in {most:.0%} of gates"
        if drop is None
        else f"{_number(drop)} is found in {most:.0%} of gates"
    )
    told = "" if power is None else f", the margin {_number(one['margin'])} in {power:.0%}"
    return f"{one['name']}: {seen}{told}"


def rate_facts(rates: object) -> Facts:
    """How often such a gate is wrong, in words; () where that is missing or was written otherwise."""
    if not isinstance(rates, Mapping):
        return ()
    try:
        return tuple((one_line(label), one_line(value)) for label, value in _rates(rates))
    except (AttributeError, KeyError, TypeError, ValueError):
        return ()


def _rates(rates: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "false alarms", f"at most {rates['false_alarms_at_most']:.0%} of gates where nothing changed"
    passed = "a worsening of exactly the margin in every seed is passed in"
    yield "wrong passes", f"{passed} at most {rates['wrong_passes_at_most']:.1%} of gates"
    low, high = rates["one_seed_in_five_passes"]
    blind = f"a worsening in only one seed of five was passed in {low:.0%} to {high:.0%} of gates"
    none = rates.get("one_seed_in_five_hits_none")
    yield (
        "blind spot",
        blind if none is None else f"{blind}; in {none:.0%} it affects none of so few new seeds",
    )


def _no_variance(one: Mapping[str, Any]) -> str:
    same = f"all {one['num_reference']} values of the ensemble are equal"
    return f"{one['name']}: {same}, so only a worsening that all seeds share is sure to be seen"


def _listed(values: Any) -> str:
    return ", ".join(map(str, values))


def _number(value: object, *, digits: int = 6) -> str:
    """So many digits are enough to read; report.json has them all."""
    finite = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:.{digits}g}" if finite else str(value)
