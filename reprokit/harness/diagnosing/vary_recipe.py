"""Trains again under the variations that a recipe says it is immune to, and finds those that change numbers.

All at once first: where that run is equal, none changes numbers. Where it is not, bisection leaves the
smallest set that does; then the rest is tried again without it. ``varied_evidence`` judges each run from its
folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from reprokit import diagnosis, runs
from reprokit.harness.diagnosing.conditions import limit_of
from reprokit.harness.judging.seed_response import LARGEST_SEED
from reprokit.harness.judging.varied_evidence import agree, varied_evidence
from reprokit.harness.running.environments.environment import backend_of
from reprokit.harness.running.programs.program import variables_of
from reprokit.harness.running.run_kinds import LEFTOVERS, VariedRun, WholeRun
from reprokit.harness.running.start_runs import run_recipe
from reprokit.harness.running.varying.apply_variations import pinned_cores, there_of
from reprokit.recipes import Recipe
from reprokit.records import run_json
from reprokit.request import Request
from reprokit.session import Session
from reprokit.variations import AvailableVariations, Variation, survey

#: A folder of a local run's own, removed with it. Short: a UNIX socket's path holds 107 bytes.
_APART = "{mounts}/../e"


def vary(recipe: Recipe, folders: Sequence[Path], request: Request, *, session: Session) -> tuple[Path, ...]:
    """The folders of runs under the recipe's variations; none without any, or where the runs do not agree."""
    if not recipe.immune_to or not agree(folders):
        return ()
    container = backend_of(recipe, request) == "docker"
    place = there_of(
        container=container,
        device=recipe.device,
        folder=_APART,
        environment=variables_of(recipe),
    )
    pinned = pinned_cores(folders[0])
    found = survey(replace(place, pinned=pinned), only=recipe.immune_to)
    trials = _Trials(
        recipe=recipe, first=folders[0], request=request, session=session, found=found, pinned=pinned
    )
    session.progress.note(f"varied: {', '.join(one.name for one in found.made) or 'nothing'}")
    for one in found.unmade:
        session.progress.note(f"{one.name} is not varied: {one.why}")
    for group in _groups(found.made):
        trials.judge(group)
    return tuple(trials.folders)


def _groups(made: Sequence[Variation]) -> list[tuple[Variation, ...]]:
    """All that is quick in one run, each that takes long in one of its own; one empty where there is none."""
    quick = tuple(one for one in made if not one.cpu)
    return [*([quick] if quick or not made else []), *((one,) for one in made if one.cpu)]


@dataclass(slots=True, kw_only=True)
class _Trials:
    recipe: Recipe
    first: Path
    request: Request
    session: Session
    found: AvailableVariations
    pinned: tuple[int, ...]
    folders: list[Path] = field(default_factory=list)
    unusable: bool = False

    def judge(self, group: tuple[Variation, ...]) -> None:
        """Runs under all of the group, less the guilty ones that are found, until one is equal."""
        rest = group
        while not self._equal(rest) and rest and not self.unusable:
            guilty = self._least(rest) if len(rest) > 1 else rest
            self._confirm(guilty)
            rest = tuple(one for one in rest if one not in guilty)
            if not rest:
                return

    def _least(self, group: tuple[Variation, ...]) -> tuple[Variation, ...]:
        by_name = {one.name: one for one in group}

        def chosen(some: tuple[str, ...]) -> tuple[Variation, ...]:
            return tuple(by_name[name] for name in some)

        return chosen(diagnosis.isolate(tuple(by_name), enough=lambda some: not self._equal(chosen(some))))

    def _confirm(self, guilty: tuple[Variation, ...]) -> None:
        """Repeat it, and run without it: neither chance nor the hook may be taken for a cause."""
        self._equal(guilty)
        self._equal((), watched=any(one.vary for one in guilty))

    def _equal(self, chosen: tuple[Variation, ...], *, watched: bool = False) -> bool:
        held = {one.name: one.why for one in self.found.unmade if one.held}
        unmade = {one.name: one.why for one in self.found.unmade if not one.held}
        kind = VariedRun(
            number=len(self.folders) + 1,
            chosen=chosen,
            watched=watched,
            held=held,
            unmade=unmade,
            cores=() if any("cores" in one.shows or one.all_cores for one in chosen) else self.pinned,
            after=self._after_another_seed() if any(one.name == LEFTOVERS for one in chosen) else "",
        )
        request = self.request if any(one.cpu for one in chosen) else self._limited()
        (folder,) = run_recipe(self.recipe, request, kind, session=self.session)
        self.folders.append(folder)
        seen = varied_evidence(self.first, [folder]).runs[0]
        self.unusable = self.unusable or bool(seen.problem)
        return seen.is_equal

    def _after_another_seed(self) -> str:
        """Train with another seed, whose leftovers the next run finds; "" where that did not finish."""
        seed = ((run_json.read(self.first).seed or 0) + 1) % LARGEST_SEED
        request = replace(self._limited(), seed=seed)
        (folder,) = run_recipe(
            self.recipe,
            request,
            WholeRun(),
            session=self.session,
        )
        made = runs.read(folder, verify=False)
        return f"{folder.parent.name}/{folder.name}" if made.complete else ""

    def _limited(self) -> Request:
        """The same with a time limit, for a training that hangs under a variation."""
        took_s = run_json.recorded(self.first).duration_s
        asked = self.request.timeout_s or self.recipe.limits.timeout_s
        if not isinstance(took_s, int | float):
            return self.request
        limit_s = limit_of(took_s)
        return replace(self.request, timeout_s=limit_s if asked is None else min(asked, limit_s))
