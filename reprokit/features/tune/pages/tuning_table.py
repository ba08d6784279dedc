"""A search as lines: its space, a row for each trial, the best one and what to do next.

Every ``study`` is a ``study.Study``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reprokit.reports.tables import folded, shown, table

if TYPE_CHECKING:
    from reprokit.features.tune.studies import Trial
    from reprokit.recipes import Distribution

_MOST_SETTINGS = 6


def space_lines(space: Sequence[Distribution], own: Mapping[str, Any]) -> Iterator[str]:
    """The settings that are searched, in order, each next to the recipe's own value.

    Args:
        space: The search space.
        own: Setting → the value that the recipe gives it.
    """
    yield from table(
        [
            {
                "setting": one.setting,
                "type": one.kind,
                "values": _values(one),
                "the recipe's": shown(own.get(one.setting, "-")),
            }
            for one in space
        ]
    )


def study_lines(study: Any, *, dry_run: bool) -> Iterator[str]:
    """A row for each trial, why trials failed, which one is the best, and what to do with it."""
    yield from table(_rows(study, dry_run=dry_run))
    for number, message in sorted(study.messages.items()):
        yield folded(f"trial {number}: {shown(message, limit=1000)}", indent=2)
    yield from (folded(f"Warning: {shown(warning, limit=10_000)}", indent=2) for warning in study.warnings)
    best = study.best
    done = sum(trial.state != "WAITING" for trial in study.trials)
    where = "" if dry_run else f" Study {study.definition.name}: {shown(study.path, limit=1000)}"
    yield folded(f"{done} of {len(study.trials)} trials have ended.{where}", indent=2)
    if best is None:
        return
    objective = study.definition.objective
    yield f"Best: trial {best.number} with {_number(best.value)} ({objective.direction})"
    yield from (f"  {name}={_value(value)}" for name, value in best.params.items())
    if study.fresh is not None:
        yield from _fresh_lines(study.fresh, study)
    if study.saved is not None:
        name = study.saved.parent.name
        yield f"Written: {shown(study.saved, limit=1000)}. Check it with: reprokit reproduce {name}"


def fresh_text(study: Any) -> str:
    """What the best trial came to with seeds that did not choose it; "" where it was not run with any."""
    return "" if study.fresh is None else ". ".join(_fresh_lines(study.fresh, study)) + "."


def _fresh_lines(fresh: Any, study: Any) -> Iterator[str]:
    seeds = ", ".join(map(str, fresh.seeds))
    for seed, message in fresh.messages.items():
        yield f"seed {seed}: {shown(message, limit=1000)}"
    if fresh.mean is None:
        yield f"With seeds {seeds}: no mean, because a run has no value"
        return
    interval = ""
    if fresh.interval is not None:
        interval = f" (95 % interval {_number(fresh.interval[0])} to {_number(fresh.interval[1])})"
    yield f"With seeds {seeds}, which did not choose it: {_number(fresh.mean)}{interval}"
    optimism = fresh.optimism(study.definition)
    looked = "better" if optimism >= 0 else "worse"
    told = f"with the seeds that chose it, it looked {looked} by {_number(abs(optimism))}"
    yield f"Optimism of the choice: {_number(optimism)} ({told})"


def _rows(study: Any, *, dry_run: bool) -> list[dict[str, object]]:
    names = list(dict.fromkeys(name for trial in study.trials for name in trial.params))
    short = _short_names(names)
    rows: list[dict[str, object]] = []
    for trial in study.trials:
        call = "finished earlier" if trial.number in study.reused else _this_call(trial, dry_run=dry_run)
        settings = {short[name]: _value(trial.params.get(name)) for name in names[:_MOST_SETTINGS]}
        at = "" if trial.pruned_at is None else f" at {trial.pruned_at}"
        state = f"{str(trial.state).lower()}{at}"
        value = _number(trial.value)
        rows.append({"trial": trial.number, "state": state, "value": value, **settings, "this call": call})
    return rows


def _this_call(trial: Trial, *, dry_run: bool) -> str:
    if not dry_run:
        return "not run" if trial.state == "WAITING" else "run now"
    return "to be run" if trial.params else "drawn when earlier results are known"


def _short_names(names: Sequence[str]) -> dict[str, str]:
    """Setting → the last part of its path, where no other setting has the same."""
    last = [name.rpartition(".")[2] for name in names]
    return {name: end if last.count(end) == 1 else name for name, end in zip(names, last, strict=True)}


def _values(one: Distribution) -> str:
    if one.kind == "categorical":
        return shown(", ".join(map(_value, one.choices)))
    step = "" if one.step is None else f" in steps of {one.step:g}"
    return f"{one.low:g} to {one.high:g}{step}{', logarithmic' if one.log else ''}"


def _value(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else shown(str(value))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"
