"""From a finished sweep to an ensemble: this gathers and compares; ``reprokit.golden`` checks and writes."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reprokit import adapters, golden, recipes, runs
from reprokit.core import log_shape
from reprokit.core.provenance import ComparedHalves
from reprokit.core.statistics import permutation
from reprokit.core.verdicts.rows import counted
from reprokit.errors import CannotJudgeError, GoldenError, RecipeError, ReportError
from reprokit.golden import SweptRun
from reprokit.harness.curation.promote import candidate_of
from reprokit.harness.judging.seed_response import (
    digests_of_responding,
    metrics_of_one_result,
    silent_metrics,
)
from reprokit.harness.judging.windowed_values import windowed_values
from reprokit.harness.running import again
from reprokit.harness.running.member_runs import member_today
from reprokit.harness.running.run_inputs import wherever_run, whole_runs
from reprokit.layout import SWEEP, SWEEPS
from reprokit.project import Project
from reprokit.recipes import Recipe
from reprokit.records import run_json
from reprokit.runs import sweeps
from reprokit.runs.sweeps import MemberState, SweepMember

#: Of good sweeps, at most this share is refused because of how its halves come out. Five against five, the
#: fewest that there are, cannot go below p = 0.8 %: at 1 % for two tests, they would never differ.
_LEVEL = 0.05
_MOST_NAMED = 10
_HALVES = ("by seed", "by start")
_SHOWN = 12
#: Of these a result is known, if only that there is none.
_ENDED = frozenset({MemberState.COMPLETE, MemberState.CHANGED, MemberState.CRASHED})
_OPTIONS_OF_SWEEP = frozenset({"--backend", "--platform", "--runs-dir"})
_LOOKED_AT = 5  # so many runs show whether a metric is constant within each


@dataclass(frozen=True, slots=True, kw_only=True)
class WhichSweep:
    """Which sweep of a recipe is meant.

    Attributes:
        name: Its name, as `reprokit sweep` prints it; "" for the newest.
        kind: Of a sweep that was split, the kind of machines whose runs are taken, as the sweep shows it.
        platform: Of the sweeps made with ``--platform``, those with this one; "" for those made without.
    """

    name: str = ""
    kind: str = ""
    platform: str = ""


def promote_sweep(
    name: str,
    *,
    project: Project,
    promotion: golden.Promotion,
    min_seeds: int = golden.USUAL_SEEDS,
    which: WhichSweep = WhichSweep(),
    note: Callable[[str], None] = lambda _: None,
) -> golden.Ensemble:
    """Promote a sweep of a recipe to its ensemble.

    Args:
        name: The recipe; its ``statistical`` says what is blessed.
        project: The folders.
        promotion: Why, when, and what is allowed.
        min_seeds: How many seeds there must be.
        which: The sweep that is meant.
        note: Is told which sweep was taken.

    Raises:
        GoldenError: The sweep is not worthy: mixed, unfinished or changed members, too few, two that are
            one, runs that have more apart than their seeds, a value that is not finite, a metric that does
            not respond to the seed, halves that differ, other seeds that finished or failed.
        RecipeError: The recipe declares no ``statistical``.
    """
    asked = recipes.with_platform((), which.platform)
    recipe = recipes.load(name, recipes_dir=project.recipes_dir, overrides=asked)
    if not recipe.statistical:
        raise RecipeError(
            "the recipe does not say what an ensemble is judged by",
            where=str(recipe.file),
            expected="`statistical: {metric: …, window: last, margin: …, direction: higher}`",
        )
    if min_seeds < golden.FEWEST_SEEDS:
        raise GoldenError(f"an ensemble has {golden.FEWEST_SEEDS} seeds or more", actual=str(min_seeds))
    if which.name:
        chosen = _named(name, project, asked, which.name)
    else:
        file, chosen = _newest(name, project, asked)
        note(f"the newest sweep of {name} is taken: {file.parent.name} (--sweep-name takes another)")
    members = _of_one_kind(chosen, which.kind)
    candidates = [candidate_of(folder) for folder in _finished(members, project)]
    golden.check_swept(candidates, least=min_seeds, allow_dirty=promotion.allow_dirty)
    made_on = candidates[0].platform
    if made_on not in recipe.platforms:
        raise GoldenError(f"the recipe does not declare the platform {made_on}", where=str(recipe.file))
    left_out = _left_out(members, project, {wherever_run(one.path) for one in candidates})
    if left_out and not promotion.allow_left_out:
        every = ",".join(map(str, sorted([*(member.seed for member in members), *left_out])))
        how = _as_asked(candidates[0].path)
        raise GoldenError(
            f"{counted(len(left_out), 'seed')} of the same that finished or failed would be left out: an "
            "ensemble of chosen seeds says nothing about the others",
            where=str(project.runs_dir / name),
            actual=f"left out: {_listed(left_out)}",
            fix=f"`reprokit sweep {name} --seeds {every}{how}`, and promote that; or say --allow-left-out, "
            "which records them: every answer names them then",
        )
    swept = [
        SweptRun(candidate=candidate, values=_values(candidate.path, recipe)) for candidate in candidates
    ]
    _check_response(swept, recipe)
    return golden.promote_ensemble(
        project.golden_dir,
        runs=swept,
        told=golden.BlessedSet(
            statistical=tuple(one.as_blessed() for one in recipe.statistical),
            halves=tuple(_halves(swept)),
            left_out=tuple(left_out),
            logs=log_shape.of_ensemble(adapters.shape_of(one.metrics) for one in candidates),
        ),
        promotion=promotion,
    )


def _as_asked(folder: Path) -> str:
    """The options with which a run was asked for, for the end of a `reprokit sweep`."""
    record = run_json.recorded(folder)
    words = [*again.backend_words(record.backend_asked), *again.places_of(record)]
    pairs = [pair for pair in zip(words[::2], words[1::2], strict=False) if pair[0] in _OPTIONS_OF_SWEEP]
    return "".join(f" {option} {shlex.quote(value)}" for option, value in pairs)


def _newest(name: str, project: Project, asked: tuple[str, ...]) -> tuple[Path, list[SweepMember]]:
    """The sweep of a recipe, as it stands on its platform, that was written last, and its members."""
    found: list[tuple[int, Path, list[SweepMember]]] = []
    for file in (project.runs_dir / SWEEPS).glob(f"*/{SWEEP}"):
        with suppress(ReportError):  # of a damaged record nothing is known
            members = [one for one in sweeps.read(file) if one.recipe == name and one.settings == asked]
            found += [(file.stat().st_mtime_ns, file, members)] if members else []
    if not found:
        on = f" --platform {platform}" if (platform := recipes.platform_asked(asked)) else ""
        raise GoldenError(
            f"there is no sweep of {name}{on}",
            where=str(project.runs_dir / SWEEPS),
            fix=f"`reprokit sweep {name} --seeds {golden.USUAL_SEEDS}{on}`",
        )
    return max(found, key=lambda one: one[0])[1:]


def _named(name: str, project: Project, asked: tuple[str, ...], sweep: str) -> list[SweepMember]:
    """The members of a recipe, as it stands on its platform, in the sweep of that name."""
    folder = sweeps.folder_of(project.runs_dir, sweep)
    if not sweeps.is_name(sweep) or not (folder / SWEEP).is_file():
        there = (project.runs_dir / SWEEPS).glob(f"*/{SWEEP}")
        names = [one.parent.name for one in sorted(there, key=lambda one: -one.stat().st_mtime_ns)]
        raise GoldenError(
            f"there is no sweep {sweep!r}",
            where=str(project.runs_dir / SWEEPS),
            expected=f"one of {', '.join(names[:_MOST_NAMED])}, newest first" if names else None,
            fix=None if names else f"`reprokit sweep {name} --seeds {golden.USUAL_SEEDS}`",
        )
    members = sweeps.read(folder)
    found = [member for member in members if member.recipe == name and member.settings == asked]
    if not found:
        others = dict.fromkeys(member.group for member in members)
        raise GoldenError(
            f"no member of the sweep is a run of {' '.join((name, *asked))} as it stands",
            where=str(folder),
            actual=", ".join(list(others)[:_MOST_NAMED]),
            fix="an ensemble is of a recipe without other settings: name a sweep that was made without --set",
        )
    return found


def _of_one_kind(members: Sequence[SweepMember], kind: str) -> list[SweepMember]:
    """The members that ran on machines of one kind."""
    if sweeps.is_mixed(members):
        raise GoldenError(
            "the sweep is mixed: machines of several kinds made its runs (`machines: mark`)",
            fix="sweep over machines of one kind, or say `machines: split` in recipe.yaml",
        )
    kinds = list(dict.fromkeys(member.kind for member in members))
    chosen = [one for one in kinds if one and kind and one.removeprefix("sha256:").startswith(kind)]
    if len(kinds) == 1 and not kind:
        return list(members)
    if len(chosen) != 1:
        raise GoldenError(
            "the sweep was split over kinds of machines; an ensemble is of one of them",
            expected=f"--machines {' or '.join(one.removeprefix('sha256:')[:8] for one in kinds)}",
            actual=kind or "none was named",
        )
    return [member for member in members if member.kind == chosen[0]]


def _finished(members: Sequence[SweepMember], project: Project) -> list[Path]:
    """A run folder for each member; every one must be finished, and unchanged since."""
    there = list(whole_runs(project.runs_dir, recipe=members[0].recipe))
    today = [member_today(member, among=there, runs_dir=project.runs_dir) for member in members]
    missing = [one for one in today if one.state is not MemberState.COMPLETE]
    if missing:
        told = "; ".join(f"seed {one.seed}: {one.state}: {one.message}" for one in missing[:3])
        raise GoldenError(
            f"{counted(len(missing), 'member')} of the sweep did not finish, or changed since",
            actual=told,
            fix="type the `reprokit sweep` again: it runs what is missing",
        )
    return [project.runs_dir / one.run for one in today]


def _left_out(members: Sequence[SweepMember], project: Project, same: Collection[str]) -> list[int]:
    """The seeds of runs of the same inputs that finished or failed, whoever made them, and are no members.

    A run counts also where its backend or its number of cores is another one, as of a single `reprokit run`
    next to a sweep. What a record of a sweep says of one counts too: its folder may be gone or changed.

    Args:
        members: Of the sweep.
        project: The folders.
        same: ``wherever_run`` of the members' runs.
    """
    seeds, inputs = {member.seed for member in members}, {member.inputs for member in members}
    found = {one.seed for other in sweeps.list_all(project.runs_dir) for one in other if _is_of(one, inputs)}
    found |= {
        run.seed
        for run in whole_runs(project.runs_dir, recipe=members[0].recipe)
        if run.seed not in seeds
        and wherever_run(run.path) in same
        and sweeps.state_of(runs.read(run.path)) in _ENDED
    }
    return sorted(found - seeds)


def _is_of(member: SweepMember, inputs: Collection[str]) -> bool:
    return member.inputs in inputs and member.state in _ENDED


def _listed(seeds: Sequence[int]) -> str:
    """Seeds in words, the first of many."""
    shown = ", ".join(map(str, seeds[:_SHOWN]))
    return shown if len(seeds) <= _SHOWN else f"{shown} and {len(seeds) - _SHOWN} more"


def _values(folder: Path, recipe: Recipe) -> dict[str, float]:
    try:
        values = dict(windowed_values(folder, recipe.statistical))
    except CannotJudgeError as error:
        raise GoldenError(error.what, where=error.where, actual=error.actual) from error
    odd = [f"{label} is {value}" for label, value in values.items() if not math.isfinite(value)]
    if odd:
        fix = "correct the training, or choose a window that every seed has a number for"
        raise GoldenError(", ".join(odd), where=str(folder), fix=fix)
    return values


def _check_response(swept: Sequence[SweptRun], recipe: Recipe) -> None:
    """Refuse an ensemble of a metric that does not respond to the seed: its seeds are one result."""
    metrics = {label: one.metric for label, one in zip(swept[0].values, recipe.statistical, strict=True)}
    files = {run.candidate.seed: run.candidate.metrics for run in swept[:_LOOKED_AT]}
    values = {run.candidate.seed: run.values for run in swept}
    results = digests_of_responding({run.candidate.seed: run.candidate.metrics for run in swept})
    for seed, result in results.items():
        again = next(other for other, its in results.items() if its == result)
        if again != seed and len(set(results.values())) > 1:
            raise GoldenError(
                f"seeds {again} and {seed} have the same metrics, except for what repeats the seed or is "
                "constant",
                where=str(swept[0].candidate.path.parent),
                fix="seed every generator of the program with {seed}",
            )
    every = {run.candidate.seed: run.candidate.metrics for run in swept}
    silent = silent_metrics(files, values, metrics) or metrics_of_one_result(every, metrics)
    for label, why in silent.items():
        raise GoldenError(
            f"{label} {why}",
            where=str(recipe.file),
            fix="seed every generator of the program with {seed}; or declare a metric, or a window such as "
            "auc_mean, in which seeds differ",
        )


def _halves(swept: Sequence[SweptRun]) -> Iterator[ComparedHalves]:
    """Both halves of the set, by seed and by the time of their start: permutation tests of each metric.

    A random split would be a random split of any set, so its p-value says nothing. These two show where
    something changed on the way: the machine, a file that no one recorded, or a program to which a larger
    seed is more than another one.

    Raises:
        GoldenError: Halves differ, at a level of 5 % for all tests together.
    """
    tests = len(_HALVES) * len(swept[0].values)
    for order, key in zip(_HALVES, (_seed, _start), strict=True):
        ordered = sorted(swept, key=key)
        middle = len(ordered) // 2
        for label in swept[0].values:
            first, second = (
                np.array([run.values[label] for run in half]) for half in (ordered[:middle], ordered[middle:])
            )
            generator = np.random.default_rng(0)
            p_value = float(permutation.two_sided(first, second[None, :], generator=generator)[0])
            if p_value <= _LEVEL / tests:
                means = f"{first.mean():.6g} and {second.mean():.6g}"
                raise GoldenError(
                    f"the halves of the set differ {order} in {label}, so it is not an ensemble of one thing",
                    expected=f"p > {_LEVEL / tests:.2g} of a permutation test",
                    actual=f"means {means}, p = {p_value:.2g}",
                    fix="find out what changed while the sweep ran, and make a new one",
                )
            yield ComparedHalves(order=order, metric=label, p_value=p_value)


def _seed(run: SweptRun) -> tuple[str, int]:
    return "", run.candidate.seed


def _start(run: SweptRun) -> tuple[str, int]:
    return str(run_json.recorded(run.candidate.path).started_at), run.candidate.seed
