"""The runs of one trial: those that have ended are read, the others made; the trial is what they came to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from reprokit import recipes, runs
from reprokit.core.setting_names import told_apart
from reprokit.errors import CannotRunError, RecipeError
from reprokit.features.tune.definition import NO_PRUNER, Definition, changed_settings
from reprokit.features.tune.search import Search
from reprokit.features.tune.studies import Trial, TrialState
from reprokit.features.tune.trials.live_rule import LiveRule
from reprokit.features.tune.trials.results import ReusableRun, ended_runs, must_be_of_its_settings, read_ended
from reprokit.harness.running.run_inputs import whole_run
from reprokit.harness.sweeping.groups import SweepGroup, with_other_settings
from reprokit.runs.listing import key_of
from reprokit.runs.sweeps import MemberState, SweepMember, state_of

Run = Callable[[int, SweepGroup, LiveRule | None], None]


def result_of(search: Search, number: int, params: Mapping[str, Any], *, run: Run | None) -> Trial | None:
    """What a trial came to: read from finished runs, or from one that is made now.

    Args:
        search: The search.
        number: The trial's.
        params: Its settings.
        run: Makes a run; None where none may be made.

    Returns:
        The trial; None where a run is missing and none was made.

    Raises:
        UsageError: It never logged the metric that was asked for, and no other run of the recipe did.
    """
    trial = Trial(number=number, params=params)
    try:
        group = _group_of(search, params)
    except RecipeError as error:
        return replace(trial, state=TrialState.FAIL, message=f"the recipe refuses it: {error.what}")
    ended: list[ReusableRun] = []
    identities = []
    for seed in search.definition.seeds:
        rule = _rule_of(search, number, group) if not ended else None  # the first seed's run decides
        found = _run_of(search, group, seed, rule=rule, run=run)
        if found is None:
            return None
        if found.lacks is not None and _never_logged(search, group):
            raise found.lacks
        ended.append(found)
        identities.append(_identity(group, seed))
        trial = replace(trial, identities=tuple(identities))
        if rule is not None:
            judged = rule.judged(found, trial)
            if judged.state is TrialState.PRUNED:
                return judged
            trial = judged
        if found.value is None:
            return replace(trial, state=TrialState.FAIL, message=_message(seed, found, search.definition))
    values = tuple(one.value for one in ended if one.value is not None)
    return replace(trial, state=TrialState.COMPLETE, values=values, value=sum(values) / len(values))


def _never_logged(search: Search, group: SweepGroup) -> bool:
    """Whether no finished run of the same code, of this search or not, logged what was asked for."""
    with search.condition:
        there = [] if search.is_logged else list(search.there)
    code = _code_of(group.ready.plan.facts.get("digests") or {}) if group.ready else ()
    for one in there:
        stored = runs.read(one.path)
        if state_of(stored) is MemberState.COMPLETE and _code_of(stored.record.digests) == code:
            ended = read_ended(
                one.path, MemberState.COMPLETE, definition=search.definition, recipe=group.recipe
            )
            if ended.lacks is None:
                search.is_logged = True
                break
    return not search.is_logged


def _code_of(digests: Mapping[str, str]) -> tuple[str | None, ...]:
    return tuple(digests.get(name) for name in ("program", "trainer", "parts"))


def run_with_seed(
    search: Search, params: Mapping[str, Any], seed: int, *, run: Run | None
) -> ReusableRun | None:
    """The run of some settings with one seed, which no pruner looks at; None where it is missing.

    Raises:
        RecipeError: The recipe refuses the settings.
    """
    return _run_of(search, _group_of(search, params), seed, rule=None, run=run)


def _group_of(search: Search, params: Mapping[str, Any]) -> SweepGroup:
    texts = (*search.definition.fixed, *changed_settings(params))
    recipe = recipes.load(
        str(search.group.recipe.file), recipes_dir=search.project.recipes_dir, overrides=texts
    )
    return with_other_settings(search.group, recipe)


def _rule_of(search: Search, number: int, group: SweepGroup) -> LiveRule | None:
    if search.definition.pruner == NO_PRUNER:
        return None
    with search.condition:
        visible = search.suggestions.visible_to(number)
    return LiveRule(search.definition, number, visible, recipe=group.recipe)


def _message(seed: int, ended: ReusableRun, definition: Definition) -> str:
    return ended.message if len(definition.seeds) == 1 else f"seed {seed}: {ended.message}"


def _identity(group: SweepGroup, seed: int) -> str:
    return group.inputs.of_seed(seed) if group.inputs else ""


def _run_of(
    search: Search, group: SweepGroup, seed: int, *, rule: LiveRule | None, run: Run | None
) -> ReusableRun | None:
    """The run of one seed: one that has ended, else one that is made now; None where none may be made."""
    if group.inputs is None:
        return None
    identity = _identity(group, seed)
    with _alone(search, identity):  # two trials of the same settings share one run
        found = _finished(search, group, seed, rule=rule)
        if found is not None or run is None:
            return found
        at = _place(search, _member(search, group, seed))
        run(at, group, rule)
        return _made(search, at, group, rule=rule)


def _made(search: Search, at: int, group: SweepGroup, *, rule: LiveRule | None) -> ReusableRun | None:
    """The run that was made now; None where it was stopped before it began.

    Raises:
        CannotRunError: It could not be made, or is not of the inputs that were planned.
    """
    member = search.board.members[at]
    if member.state is MemberState.WAITING:
        return None
    folder = search.project.runs_dir / member.run
    made = whole_run(folder)
    if made is None:
        raise CannotRunError(member.message or "the run could not be made", where=str(folder))
    must_be_of_its_settings(folder)
    with search.condition:
        search.there.append(made)
    found = _finished(search, group, member.seed, rule=rule, failed_too=True)
    if found is None:
        raise CannotRunError(
            "the run is not of the inputs that were planned: something changed meanwhile",
            where=str(folder),
            fix="type the same command again",
        )
    return found


def _member(search: Search, group: SweepGroup, seed: int) -> SweepMember:
    settings = tuple(group.recipe.modified)
    drawn = told_apart([search.definition.fixed, settings])[1]
    return SweepMember(
        recipe=group.recipe.name,
        settings=settings,
        called=f"{drawn} · s{seed}" if drawn else "",
        seed=seed,
        inputs=group.inputs.digest if group.inputs else "",
        identity=_identity(group, seed),
    )


@contextmanager
def _alone(search: Search, identity: str) -> Iterator[None]:
    with search.condition:
        lock = search.one_at_a_time[identity]
    with lock:
        yield


def _place(search: Search, member: SweepMember) -> int:
    """Where a run stands among those of the search; of an attempt that is repeated, where it stood."""
    with search.board.lock:
        for at, other in enumerate(search.board.members):
            if other.identity == member.identity:
                return at
        search.board.members.append(member)
        return len(search.board.members) - 1


def _finished(
    search: Search, group: SweepGroup, seed: int, *, rule: LiveRule | None, failed_too: bool = False
) -> ReusableRun | None:
    """The run that counts: a whole one, one that was pruned where it is pruned, or the last that failed."""
    if group.inputs is None:
        return None
    with search.condition:
        there = list(search.there)
    best: tuple[int, ReusableRun] | None = None
    for folder, state in ended_runs(group.inputs, seed, among=there, does_not_count=search.does_not_count):
        if state is MemberState.CRASHED and search.retry_failed and not failed_too:
            continue
        ended = read_ended(folder, state, definition=search.definition, recipe=group.recipe)
        if state is MemberState.PRUNED and not (rule and rule.is_pruned(ended)):
            continue  # it was stopped by another rule: what it would come to is not known
        rank = {MemberState.COMPLETE: 2, MemberState.PRUNED: 1}.get(state, 0)
        if best is None or rank > best[0] or (rank == 0 == best[0]):
            best = (rank, ended)
    if best is not None:
        _record(search, group, seed, best[1])
    return best[1] if best else None


def _record(search: Search, group: SweepGroup, seed: int, ended: ReusableRun) -> None:
    """Name a run among those of the search, where it was found rather than made."""
    stored = runs.read(ended.folder, verify=False)
    member = replace(
        _member(search, group, seed),
        state=ended.state,
        run=key_of(ended.folder),
        message="" if ended.state is MemberState.COMPLETE else stored.incomplete_because,
        attempts=1,
    )
    at = _place(search, member)
    with search.board.lock:
        if search.board.members[at].state is MemberState.WAITING:
            search.board.members[at] = member
