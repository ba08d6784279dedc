"""Row ``statistics``: every expected result has an interval over seeds, which says what it covers.

Where all seeds ended at one value there is no interval. Then the row says how many other seeds may still end
elsewhere: with none of n, at most ``1 - 0.05 ** (1 / n)`` of them, at 95 %.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reprokit.core.evidence import Evidence, SweepEvidence, is_integer
from reprokit.core.verdicts.expected_results import finite_number, over, reached, window_of
from reprokit.core.verdicts.rows import Finding, counted, failed, not_applicable, passed, unjudged

ID = "statistics"
TITLE = "Statistics over the seeds were made"
ORDER = 230
ADVISORY = True
NEEDS_RECIPE = True
ON_REQUEST = True

FEWEST = 3
_ANEW = "remove the runs of the other seeds (`reprokit runs list`), and run `reprokit sweep RECIPE` again"
_MAKE = "run several seeds (row several_seeds says how); `reprokit stats RECIPE` shows their results"
_LOOK = "`reprokit stats RECIPE` shows every seed; correct the recipe's `expected` if it is wrong"


def check(evidence: Evidence) -> Finding:  # noqa: PLR0911 - a reason each
    """Every expected result, estimated over all finished seeds, agrees with what the recipe expects."""
    sweep, recipe = evidence.sweep, evidence.recipe or {}
    if sweep is None:
        return not_applicable("one seed was judged; statistics were not requested", _MAKE)
    expected = recipe.get("expected")
    if not isinstance(expected, Mapping) or not expected:
        answer = not_applicable if "command" in recipe else unjudged
        return answer("the recipe declares no result to estimate", "declare `expected` in recipe.yaml")
    if sweep.outdated:
        return failed(sweep.outdated, _ANEW, metrics=sorted(map(str, expected)))
    problem = _why_no_estimate(sweep)
    if problem:
        return failed(problem, _MAKE, metrics=sorted(map(str, expected)))
    windows = {str(name): window_of(expected[name]) for name in sorted(expected, key=str)}
    poor = [name for name, window in windows.items() if not _is_estimated(sweep, name, window)]
    if poor:
        odd = "; ".join(why for name in poor for why in _without_number(sweep, name, windows[name]))
        told = f"without an estimate and interval over all seeds: {', '.join(poor)}"
        return failed(f"{told} ({odd})" if odd else told, _MAKE, metrics=poor)
    results = {name: _result(sweep, name, window) for name, window in windows.items()}
    outside = [told for name, entry in expected.items() if (told := _outside(str(name), entry, results))]
    if outside:
        return failed("; ".join(outside), _LOOK, results=results)
    seeds = len(sweep.final_values)
    told = f"{counted(len(expected), 'result')} estimated over {seeds} seeds; {_worth(results, seeds)}"
    return passed(told, metrics=sorted(results), seeds=seeds, results=results)


def _why_no_estimate(sweep: SweepEvidence) -> str:
    """Why the seeds cannot be estimated over; "" where they can."""
    unfinished = sorted(set(sweep.failures) - set(sweep.final_values))
    if unfinished:
        return f"seeds {unfinished} did not finish, so an estimate would cover only the others"
    num_seeds = len(sweep.final_values)
    if num_seeds < FEWEST:
        return f"only {counted(num_seeds, 'seed')} finished; an interval takes at least {FEWEST}"
    distinct = {digest for seed in sweep.final_values if (digest := sweep.metrics_digests.get(seed))}
    if len(distinct) < FEWEST:
        return f"only {len(distinct)} of {num_seeds} seeds are known to have metrics of their own"
    return ""


def _is_estimated(sweep: SweepEvidence, name: str, window: str) -> bool:
    entry = sweep.intervals.get(name, {})
    num_seeds = entry.get("num_seeds")
    values = [value for value, _ in _numbers(sweep, name, window).values()]
    if window_of(entry) != window:
        return False
    if not is_integer(num_seeds) or num_seeds != len(values) or None in values or not entry.get("method"):
        return False
    estimate, low, high = (finite_number(entry.get(key)) for key in ("estimate", "low", "high"))
    if entry["method"] == "equal_values":
        return len(set(values)) == 1 and estimate == values[0]
    if estimate is None or low is None or high is None:
        return False
    return low <= estimate <= high and bool(_coverage(entry))


def _numbers(sweep: SweepEvidence, name: str, window: str) -> dict[int, tuple[float | None, str]]:
    """The number of each seed; None where it has none, and why."""
    return {
        seed: reached(name, window, final_values=found, windowed=sweep.windowed.get(seed, {}))
        for seed, found in sorted(sweep.final_values.items())
    }


def _without_number(sweep: SweepEvidence, name: str, window: str) -> Iterator[str]:
    for seed, (_, why) in _numbers(sweep, name, window).items():
        if name not in sweep.final_values[seed]:
            yield f"seed {seed} never logged {name}"
        elif why:
            yield f"{name} of seed {seed} {why}"


def _result(sweep: SweepEvidence, name: str, window: str) -> dict[str, Any]:
    """A result as evidence: its interval, and the number of each seed."""
    values = {str(seed): value for seed, (value, _) in _numbers(sweep, name, window).items()}
    return {**sweep.intervals[name], "coverage": _coverage(sweep.intervals[name]), "values": values}


def _outside(name: str, declared: object, results: Mapping[str, Mapping[str, Any]]) -> str:
    """How the expected value, with its tolerance, lies outside of what the seeds support; "" where not."""
    entry = declared if isinstance(declared, Mapping) else {}
    value = finite_number(entry.get("value"))
    rtol, atol = (finite_number(entry.get(key, 0.0)) for key in ("rtol", "atol"))
    if value is None or rtol is None or atol is None:
        return f"{name} is expected without a finite value and tolerance"
    bound, found = atol + rtol * abs(value), results[name]
    equal = found["method"] == "equal_values"
    low, high = (found["estimate"],) * 2 if equal else (found["low"], found["high"])
    if low - bound <= value <= high + bound:
        return ""
    seeds, window = f"{found['num_seeds']} seeds", window_of(found)
    shown = f"all {seeds} ended at {low:.6g}" if equal else f"{seeds} support [{low:.6g}, {high:.6g}]"
    return f"{name}{over(window)} is expected to be {value:.6g} within {bound:.6g}, but {shown}"


def _worth(results: Mapping[str, Mapping[str, Any]], num_seeds: int) -> str:
    """What the intervals cover, and what seeds that all ended alike leave open."""
    with_interval = [result for result in results.values() if result["method"] != "equal_values"]
    covered: dict[str, float] = with_interval[0]["coverage"] if with_interval else {}
    parts = []
    if covered:
        best, worst = max(covered, key=covered.__getitem__), min(covered, key=covered.__getitem__)
        shares = " and ".join(
            f"{covered[one] * 100:.0f} % ({one} returns)" for one in dict.fromkeys((best, worst))
        )
        parts.append(f"with so many, a 95 % interval contains the true mean in {shares}")
    equal = [name for name, one in results.items() if one["method"] == "equal_values"]
    if equal:
        others = 1 - 0.05 ** (1 / num_seeds)
        parts.append(
            f"all seeds ended alike in {', '.join(equal)}, and up to {others:.0%} of other seeds may not"
        )
    return "; ".join(parts)


def _coverage(entry: Mapping[str, Any]) -> dict[str, float]:
    """Shape of the returns → share of such intervals that hold the true mean."""
    found = entry.get("coverage")
    numbers = (
        {str(key): finite_number(one) for key, one in found.items()} if isinstance(found, Mapping) else {}
    )
    return {key: one for key, one in numbers.items() if one is not None and 0 < one <= 1}
