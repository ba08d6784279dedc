"""The runs of two sides that are ready: found or made, at one time where the machine has the cores.

Each run is remembered as it is closed. The runs of a commit are made inside its work tree and brought to the
others afterwards.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from reprokit import recipes, runs
from reprokit.core.environment_record import MachineFacts
from reprokit.core.records import OtherTree, WrittenFiles
from reprokit.core.setting_names import told_apart
from reprokit.errors import CannotRunError
from reprokit.execution.local_guard import can_confine
from reprokit.features.compare.answer import SIDES
from reprokit.features.compare.left_behind import LeftBehind, watched_for
from reprokit.features.compare.seals import Seals
from reprokit.features.compare.trees import SideTree
from reprokit.harness.running.engine import shared_places, with_shared_places
from reprokit.harness.running.environments.shared_places import SharedPlaces
from reprokit.harness.running.run_inputs import RunInputs, whole_runs
from reprokit.harness.running.run_kinds import RunKind
from reprokit.harness.running.start_command import among_others_in
from reprokit.harness.running.start_runs import PreparedRuns, ready_to_run, run_recipe
from reprokit.harness.running.threads_of_runs import in_threads
from reprokit.harness.running.varying.apply_variations import usable_cores
from reprokit.harness.sweeping.groups import make_ready
from reprokit.harness.sweeping.new_seeds import run_first_members
from reprokit.layout import MARKER
from reprokit.recipes import NO_VARIANT, Recipe
from reprokit.request import Request
from reprokit.session import Session
from reprokit.variations import Variation

Prepared = tuple[RunKind, tuple[PreparedRuns, MachineFacts]]
MadeRuns = dict[str, tuple[Path, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadySide:
    """A side that could run now.

    Attributes:
        tree: Where its files are.
        recipe: Its recipe, with everything set.
        request: How it runs.
        session: Its project, and the progress of the command.
        home: Where its runs lie in the end, with those of earlier commands.
        conditions: Deliberate changes of the conditions.
        prepared: Its runs, ready to start: together, or one after the other under other conditions.
        inputs: What its numbers stand on; None where conditions are changed.
    """

    tree: SideTree
    recipe: Recipe
    request: Request
    session: Session
    home: Path
    conditions: tuple[Variation, ...]
    prepared: tuple[Prepared, ...]
    inputs: RunInputs | None = None

    @property
    def seed(self) -> int:
        return self.request.seed_of(self.recipe.seeds)

    @property
    def told(self) -> str:
        """What it is, in a line."""
        parts = [f"commit {self.tree.commit[:12]}" if self.tree.commit else "the working tree"]
        parts += self.recipe.modified
        parts += [one.says for one in self.conditions]
        return ", ".join(parts)

    def at_home(self, folder: Path) -> Path:
        """Where a run of it lies in the end."""
        return self.home / folder.parent.name / folder.name

    @property
    def has_all_inputs(self) -> bool:
        """Whether its inputs hold all that its numbers can depend on.

        An unmodified program on this host also reads variables, and files that no digest is of.
        """
        return self.recipe.trainer is not None or self.prepared[0][1][0].backend.name == "docker"

    @property
    def is_confined(self) -> bool:
        """Whether its programs cannot write where another side's runs are while these go on."""
        if self.conditions or self.recipe.variant == NO_VARIANT or self.recipe.device != "cpu":
            return False
        return self.prepared[0][1][0].backend.name == "docker" or can_confine()


def made_sides(ready: Mapping[str, ReadySide], *, seals: Seals) -> MadeRuns:
    """Two runs of each side; none of b where a did not run before it began."""
    made: MadeRuns = dict.fromkeys(SIDES, ())
    for side in SIDES:
        ready[side].session.progress.note(f"side {side}: {ready[side].told}")
        made[side] = _finished(ready[side], seals)
    missing = [side for side in SIDES if not made[side]]
    ready = {**ready, **_looked_at({side: ready[side] for side in missing})}
    stop = threading.Event()

    def one(side: str, lane: int, left: LeftBehind = LeftBehind()) -> None:  # noqa: B008 - frozen
        made[side] = _made(ready[side], lane=lane, seals=seals, stop=stop, left=left)

    if len(missing) == len(SIDES) and _fit_at_one_time(ready):
        lanes = dict(zip(SIDES, range(len(SIDES)), strict=True))
        in_threads(lambda side: one(side, lanes[side]), SIDES, workers=len(SIDES), stop=stop)
        return made
    written = WrittenFiles()
    for side in missing:
        left = LeftBehind(shared=_shared_places(ready[side]), written=written)
        one(side, 0, left)
        written = left.for_other_side
        if not all(runs.read(folder, verify=False).record.completed for folder in made[side]):
            break
    return made


def _looked_at(ready: Mapping[str, ReadySide]) -> Mapping[str, ReadySide]:
    """The sides, looked at for what runs of one leave for those of the other, unless none can write there."""
    if len(ready) < 2 or all(side.is_confined for side in ready.values()):
        return ready
    plans = [prepared.plan for side in ready.values() for _, (prepared, _) in side.prepared]
    shared = shared_places(
        [spec for plan in plans for spec in plan.specs],
        runs_dirs=[path for side in ready.values() for path in (side.session.project.runs_dir, side.home)],
        projects=[side.recipe.project_dir for side in ready.values()],
    )
    return {name: dataclasses.replace(side, prepared=_sharing(side, shared)) for name, side in ready.items()}


def _sharing(side: ReadySide, shared: SharedPlaces) -> tuple[Prepared, ...]:
    return tuple(
        (kind, (dataclasses.replace(one, plan=dataclasses.replace(one.plan, shared=shared)), host))
        for kind, (one, host) in side.prepared
    )


def seeds_of_sides(ready: Mapping[str, ReadySide], *, num_seeds: int, seals: Seals) -> MadeRuns:
    """A run for each seed on each side, those made that are not there yet."""
    made: MadeRuns = dict.fromkeys(SIDES, ())
    for side in SIDES:
        ready[side].session.progress.note(f"side {side}: {ready[side].told}")
        made[side] = _over_seeds(ready[side], first=ready["a"].seed, num_seeds=num_seeds, seals=seals)
        if not all(runs.read(folder, verify=False).record.completed for folder in made[side]):
            break
    return made


def _fit_at_one_time(ready: Mapping[str, ReadySide]) -> bool:
    """Whether no program can reach the other side's runs, and each run gets a core of its own."""
    sides = [ready[side] for side in SIDES]
    if not all(side.is_confined for side in sides):
        return False
    taken = [side.prepared[0][1][0].environment.cores for side in sides]
    return all(taken) and len(usable_cores()) >= sum(map(len, taken))


def has_runs(ready: ReadySide) -> bool:
    """Whether there are two finished runs of exactly this side."""
    return len(_finished_runs(ready)) > 1


def _finished_runs(ready: ReadySide) -> list[Path]:
    if ready.inputs is None or not ready.has_all_inputs:
        return []
    return [
        one.path
        for one in whole_runs(ready.home, recipe=ready.recipe.name)
        if one.seed == ready.seed
        and one.inputs == ready.inputs
        and one.asked == ready.recipe.asked
        and runs.read(one.path).complete
    ]


def _finished(ready: ReadySide, seals: Seals) -> tuple[Path, ...]:
    """The newest two finished runs of exactly this side, where there are two."""
    found = _finished_runs(ready)
    if len(found) < 2:
        return ()
    ready.session.progress.note("earlier runs of the same inputs are used again")
    for folder in found[-2:]:
        seals.close(folder)
    return tuple(found[-2:])


def _shared_places(ready: ReadySide) -> SharedPlaces | None:
    """What is looked at for what unpinned runs leave; None for others, which cannot write there."""
    plan = ready.prepared[0][1][0].plan
    if ready.conditions or plan.specs[0].realisation is not None:
        return None
    if plan.shared is not None:
        return plan.shared
    runs_dir, project = ready.session.project.runs_dir, ready.recipe.project_dir
    return with_shared_places(plan, runs_dir=runs_dir, project=project).shared


def _made(
    ready: ReadySide, *, lane: int, seals: Seals, stop: threading.Event, left: LeftBehind
) -> tuple[Path, ...]:
    """Two new runs, on the cores of a lane."""
    made: list[Path] = []
    with _brought_home(ready, seals):
        for kind, (prepared, host) in ready.prepared:
            watched = _watched(ready, _in_lane(prepared, lane), seals)
            sealed = _after(watched, left, runs_dir=ready.session.project.runs_dir)
            made += run_recipe(
                ready.recipe, ready.request, kind, session=ready.session, ready=(sealed, host), stop=stop
            )
            for folder in made:
                if not seals.has(folder):  # one that could not even start
                    seals.close(folder)
    return tuple(map(ready.at_home, made))


def one_more_run(ready: ReadySide, kind: RunKind, *, seals: Seals) -> Path:
    """Another run of a side, of another kind than those that are compared."""
    request = ready.request
    prepared, host = ready_to_run(ready.recipe, request, kind, session=ready.session, host=ready.tree.host)
    with _brought_home(ready, seals):
        sealed = _watched(ready, prepared, seals)
        made = run_recipe(ready.recipe, request, kind, session=ready.session, ready=(sealed, host))
        for folder in made:
            if not seals.has(folder):  # one that could not even start
                seals.close(folder)
    return ready.at_home(made[0])


def _watched(ready: ReadySide, prepared: PreparedRuns, seals: Seals) -> PreparedRuns:
    """The same runs, each remembered as it is closed, and watched for files of other runs and trees."""
    others = ready.tree.other_tree or OtherTree(root=str(ready.home), files=frozenset())
    folders = dict.fromkeys(map(str, (ready.session.project.runs_dir, ready.home)))
    others = dataclasses.replace(others, runs=tuple(folders), lists=True)
    specs = (dataclasses.replace(spec, other_tree=others) for spec in prepared.plan.specs)
    plan = dataclasses.replace(prepared.plan, specs=tuple(specs))
    return dataclasses.replace(prepared, plan=plan, on_closed=seals.close)


def _after(prepared: PreparedRuns, left: LeftBehind, *, runs_dir: Path) -> PreparedRuns:
    """The same runs, watched for files that runs of the other side wrote, too."""
    return dataclasses.replace(prepared, plan=watched_for(prepared.plan, left, runs_dir=runs_dir))


def _in_lane(prepared: PreparedRuns, lane: int) -> PreparedRuns:
    """The same runs on other cores, where another side has the first ones."""
    cores = prepared.environment.cores
    if not lane or not cores:
        return prepared
    own = usable_cores()[lane * len(cores) :][: len(cores)]
    specs = tuple(
        dataclasses.replace(spec, limits=dataclasses.replace(spec.limits, cpus=(own[at % len(own)],)))
        for at, spec in enumerate(prepared.plan.specs)
    )
    return dataclasses.replace(prepared, plan=dataclasses.replace(prepared.plan, specs=specs))


@contextmanager
def _brought_home(ready: ReadySide, seals: Seals) -> Iterator[None]:
    """Move the runs that are made inside a work tree to the others, whatever ends them."""
    runs_dir, name = ready.session.project.runs_dir, ready.recipe.name
    before = set(runs.list_all(runs_dir, recipe=name))
    try:
        yield
    finally:
        for folder in runs.list_all(runs_dir, recipe=name) if runs_dir != ready.home else ():
            if folder not in before:
                target = ready.at_home(folder)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(folder, target)
                seals.moved(folder, target)


def _over_seeds(ready: ReadySide, *, first: int, num_seeds: int, seals: Seals) -> tuple[Path, ...]:
    """A run for each seed, those made that are not there yet."""
    seeds = tuple(range(first, first + num_seeds))
    session = ready.session
    _lend_earlier_runs(ready)
    with among_others_in(session.project, note=session.progress.note), _brought_home(ready, seals):
        group = make_ready(
            ready.recipe, ready.request, seeds=lambda _: seeds, host=ready.tree.host, session=session
        )
        if group.ready is None:
            raise CannotRunError(group.problem)
        group = dataclasses.replace(group, ready=_watched(ready, group.ready, seals))
        called = settings_told(ready.recipe)
        made = run_first_members(group, num_seeds, session=session, same_overrides=True, called=called)
    folders = tuple(map(ready.at_home, made))
    for folder in folders:
        if not seals.has(folder):  # an earlier one
            seals.close(folder)
    return folders


def settings_told(recipe: Recipe) -> str:
    """What a side sets, as a sweep calls it: of a command the words that the recipe's own does not have."""
    plain = recipes.load(recipe.name, recipes_dir=recipe.file.parent.parent).program
    own = [f"command={json.dumps(list(plain.command))}"] if plain and plain.command else []
    return told_apart([own, recipe.asked])[1] if recipe.asked else ""


def _lend_earlier_runs(ready: ReadySide) -> None:
    """Let a work tree have the finished runs of its recipe, as links: those of its inputs count."""
    runs_dir = ready.session.project.runs_dir
    is_lent = runs_dir != ready.home and ready.has_all_inputs
    for folder in runs.list_all(ready.home, recipe=ready.recipe.name) if is_lent else ():
        lent = runs_dir / folder.parent.name / folder.name
        if (folder / MARKER).is_file() and not lent.exists():
            lent.parent.mkdir(parents=True, exist_ok=True)
            lent.symlink_to(folder, target_is_directory=True)
