"""Tune: settings drawn one after the other, a run for each, and the best of them; the same however it is run.

A trial stands on run folders, so a search that was killed continues where it stopped, and one of more trials
begins with those that are there.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

from reprokit import capture, workspace
from reprokit.errors import CannotRunError, UsageError
from reprokit.features.tune import studies
from reprokit.features.tune.asked import Asked
from reprokit.features.tune.best import fresh_seeds, must_be_free, must_be_fresh, save_best
from reprokit.features.tune.definition import (
    GRID,
    NO_PRUNER,
    Definition,
    best_of,
    most_at_one_time,
    objective_of,
)
from reprokit.features.tune.search import Search
from reprokit.features.tune.settings import check_space, values_of
from reprokit.features.tune.studies import Trial, TrialState
from reprokit.features.tune.study import Study
from reprokit.features.tune.trials.carry_out import Pool, carry_out, run_seeds
from reprokit.features.tune.trials.suggestions import Suggestions, grid_size
from reprokit.features.tune.trials.trial_runs import result_of
from reprokit.harness.running.environments.preflight import tell_false_claims
from reprokit.harness.running.run_inputs import whole_runs
from reprokit.harness.running.start_command import among_others_in
from reprokit.harness.running.varying.apply_variations import usable_cores
from reprokit.harness.sweeping.asked import parse_seeds, settings_grid
from reprokit.harness.sweeping.carry_out import SweepMembers, SweepProgress
from reprokit.harness.sweeping.equal_results import equal_results
from reprokit.harness.sweeping.groups import SweepGroup, load_recipes, make_ready, side_by_side
from reprokit.harness.sweeping.idle_seeds import seeds_that_do_nothing
from reprokit.harness.sweeping.taken_over import unknown_between
from reprokit.layout import STUDY
from reprokit.project import Project
from reprokit.recipes import Recipe, platform_asked
from reprokit.request import Request
from reprokit.runs import sweeps
from reprokit.session import Session

_MOST_TRIALS = 10_000


def tune(
    name: str,
    request: Request,
    asked: Asked,
    *,
    project: Project,
    progress: SweepProgress,
    workers: int | None = None,
    dry_run: bool = False,
) -> Study:
    """Bring the trials of a search to their end; those that have ended are not run again.

    Args:
        name: The recipe.
        request: How runs are made: backend, base, time limit.
        asked: What the search is.
        project: The folders.
        progress: Told how far each run is.
        workers: How many trials at one time; None for about as many as there are cores. It changes no result.
        dry_run: Say what is finished and what would be run next, and run nothing.

    Raises:
        UsageError: The space does not fit the recipe, or the search cannot be as asked.
        UsageError: The first trial that ran to its end never logged the metric; its run is kept.
        CannotRunError: Nothing can run here, or the extra is not installed.
        WorkspaceBusyError: Another call carries out the same search now.
        KeyboardInterrupt: All programs have been stopped and their folders closed.
    """
    recipe, after = _recipe(name, asked.settings, project=project), asked.after
    check_space(asked.space, recipe, fixed=asked.settings, project=project)
    trials = _number_of_trials(asked)
    with nullcontext() if dry_run else among_others_in(project, note=progress.note):
        group, definition = _made_ready(recipe, request, asked, project=project, progress=progress)
        report_seeds = parse_seeds(after.seeds)(()) if after.seeds is not None else ()
        must_be_fresh(report_seeds, definition.seeds)
        if after.save_as is not None:
            must_be_free(after.save_as, project)
        folder = sweeps.folder_of(project.runs_dir, definition.name)
        studies.must_not_be_newer(folder)
        with nullcontext() if dry_run else workspace.exclusive(folder):
            search = _search(
                definition, group, project=project, folder=folder, retry_failed=asked.retry_failed
            )
            search.note = progress.note
            _replay(search, trials)
            if dry_run:
                return _study(search, folder, trials)
            jobs = workers or _jobs(group, trials)
            if workers is not None and workers > most_at_one_time(definition):
                most = most_at_one_time(definition)
                progress.note(
                    f"Warning: {most} trials can run at one time: "
                    f"--ignore-last {workers - 1} is another study"
                )
            pool = Pool(workers=jobs, cores=usable_cores(), progress=progress)
            carry_out(search, trials=trials, pool=pool)
            study = _study(search, folder, trials)
            warnings = equal_results(search.board.members, runs_dir=project.runs_dir)
            study = _with_fresh(study, search, report_seeds, pool)
            study = replace(study, warnings=(*_unknown(study, search), *warnings, *_idle_seeds(search)))
            _write(study, search)
            return _saved(study, recipe, after.save_as, project=project)


def _recipe(name: str, settings: Sequence[str], *, project: Project) -> Recipe:
    grid = settings_grid(settings)
    if len(grid) != 1:
        raise UsageError(
            "a search has one value of each --set", where="--set", fix="put the others into the search space"
        )
    if platform := platform_asked(grid[0]):
        what = "a search is made with a recipe's own settings, not with those of one of its platforms"
        raise UsageError(
            what, where=f"--set platform={platform}", fix="set device, variant and the others by name"
        )
    return load_recipes([name], grid, project=project)[0]


def _number_of_trials(asked: Asked) -> int:
    size = grid_size(asked.space) if asked.sampler == GRID else None
    trials = asked.trials if asked.trials is not None else size
    if trials is None:
        raise UsageError("say how many trials", where="--trials", fix="add --trials 20")
    trials = min(trials, size) if size is not None else trials
    if not 0 < trials <= _MOST_TRIALS:
        raise UsageError(f"{trials:,} trials", where="--trials", expected=f"1 to {_MOST_TRIALS:,}")
    return trials


def _made_ready(
    recipe: Recipe,
    request: Request,
    asked: Asked,
    *,
    project: Project,
    progress: SweepProgress,
) -> tuple[SweepGroup, Definition]:
    """The recipe made ready to run, and the search, which is named by what its runs stand on."""
    progress.phase("environment")
    objective = objective_of(recipe, metric=asked.metric, window=asked.window, direction=asked.direction)
    host = capture.capture_host(project.root)
    tell_false_claims(recipe, session=Session(project=project, progress=progress))
    seeds = parse_seeds(asked.seeds)
    group = make_ready(
        recipe, request, seeds=seeds, host=host, session=Session(project=project, progress=progress)
    )
    if group.inputs is None:
        raise CannotRunError(group.problem)
    definition = Definition(
        recipe=recipe.name,
        inputs=group.inputs.digest,
        space=asked.space,
        fixed=tuple(recipe.modified),
        sampler=asked.sampler,
        pruner=asked.pruner,
        watched=asked.pruner_metric,
        seed=asked.seed,
        lag=asked.lag,
        objective=objective,
        seeds=group.seeds,
        start=values_of(recipe, asked.space),
    )
    return group, definition


def _search(
    definition: Definition, group: SweepGroup, *, project: Project, folder: Path, retry_failed: bool
) -> Search:
    def changed(trials: Sequence[Trial]) -> None:
        best = best_of(trials, definition)
        studies.write(folder, studies.as_data(definition.name, definition.as_data(), trials, best=best))

    return Search(
        definition=definition,
        group=group,
        project=project,
        suggestions=Suggestions(definition),
        board=SweepMembers(members=[], record=partial(sweeps.write, folder)),
        there=list(whole_runs(project.runs_dir, recipe=definition.recipe)),
        retry_failed=retry_failed,
        changed=changed,
    )


def _replay(search: Search, trials: int) -> None:
    """Read the trials that have ended, as far as their settings can be drawn."""
    for number in range(trials):
        params = search.suggestions.settings_of(number)
        unknown = search.definition.pruner != NO_PRUNER and not search.suggestions.may_begin(number)
        trial = None if params is None or unknown else result_of(search, number, params, run=None)
        if trial is not None:
            search.results[number] = trial
            search.suggestions.result(trial)
            search.reused.add(number)


def _jobs(group: SweepGroup, trials: int) -> int:
    return side_by_side([group] * trials, num_cores=len(usable_cores()))


def _study(search: Search, folder: Path, trials: int) -> Study:
    found = []
    for number in range(trials):
        params = search.suggestions.settings_of(number) or {}
        found.append(search.results.get(number) or Trial(number=number, params=params))
    runs_of = {member.identity: member for member in search.board.members}
    failed = [one for one in found if one.state is TrialState.FAIL]
    messages = {one.number: one.message for one in failed}
    for one in failed:
        if one.identities and (member := runs_of.get(one.identities[-1])) and member.message:
            messages[one.number] = member.message
    return Study(
        definition=search.definition,
        path=folder / STUDY,
        trials=tuple(found),
        messages=messages,
        reused=frozenset(search.reused),
    )


def _with_fresh(study: Study, search: Search, seeds: Sequence[int], pool: Pool) -> Study:
    """The study with its best trial run with other seeds."""
    best = study.best
    if best is None or best.value is None or not seeds:
        return study
    ended = run_seeds(search, best.params, seeds, pool=pool)
    fresh = fresh_seeds(
        seeds,
        [one.value for one in ended],
        tuned=best.value,
        messages={seed: one.message for seed, one in zip(seeds, ended, strict=True) if one.value is None},
    )
    return replace(study, fresh=fresh)


def _unknown(study: Study, search: Search) -> tuple[str, ...]:
    """That trials of earlier calls may have been made under other conditions."""
    ended = {number: one for number, one in enumerate(study.trials) if one.identities}
    ran = {one.identity: search.project.runs_dir / one.run for one in search.board.members if one.run}
    earlier = [
        ran[one] for number in study.reused & set(ended) for one in ended[number].identities if one in ran
    ]
    told = unknown_between(earlier, num_now=len(set(ended) - study.reused))
    return (told,) if told else ()


def _idle_seeds(search: Search) -> list[str]:
    """That seeds change nothing, once however many trials show it: then no mean over them tells anything."""
    members = search.board.members
    group_of = dict.fromkeys(range(len(members)), search.group)
    return list(islice(seeds_that_do_nothing(members, group_of, project=search.project), 1))


def _write(study: Study, search: Search) -> None:
    folder = study.path.parent
    if search.board.members:
        sweeps.write(folder, search.board.members)
    studies.write(folder, study.as_data())


def _saved(study: Study, recipe: Recipe, name: str | None, *, project: Project) -> Study:
    """The study, with the recipe of its best trial written."""
    if name is None or study.best is None:
        return study
    return replace(study, saved=save_best(study.best, recipe, study.definition, name=name, project=project))
