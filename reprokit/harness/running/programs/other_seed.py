"""A run of a watched program with another seed: what shows whose seeds follow from the run's.

It is a run like any other, with a folder of its own, made before the runs that are judged. What the watch saw
in it goes into their folders as ``other-seed.json``, so that they can be judged without it. One that is there
already, of the same program in the same environment, is taken in its place.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from reprokit import runs
from reprokit.core import numerics
from reprokit.core.run_record import RunRecord
from reprokit.core.verdicts.comparability import WITH_OTHER_SEED, identity, why_not_comparable
from reprokit.harness.running.clock import stamp
from reprokit.harness.running.engine import Engine
from reprokit.harness.running.environments.environment import Environment
from reprokit.harness.running.plan import RunPlan, plan_recipe
from reprokit.harness.running.programs.instrumented import instrumented, record_for_another
from reprokit.layout import INSTRUMENT, OTHER_SEED
from reprokit.recipes import Recipe

#: Far away: seeds that a program makes by counting on from the run's do not meet.
_APART = 1_000_003
_MOST = 2**32
#: What of ``run.json`` says which run it was.
_KEPT = (
    "recipe",
    "run_id",
    "seed",
    "device",
    "command",
    "numerics",
    "modified",
    "digests",
    "image",
    "backend",
    "outcome",
    "exit_code",
    "message",
)


def other_than(seed: int) -> int:
    """The seed of that run."""
    return seed + _APART if seed + _APART < _MOST else seed - _APART


def compared_with_other_seed(
    plan: RunPlan, recipe: Recipe, *, environment: Environment, engine: Engine
) -> RunPlan:
    """The plan with ``other-seed.json`` in the folder of each of its runs.

    Args:
        plan: The runs to be judged, with all keys of their ``run.json``.
        recipe: Theirs.
        environment: Where they are made.
        engine: Makes them; among its runs an earlier one with the other seed may be.
    """
    planned = runs.record_of(plan.specs[0], facts=plan.facts)
    folder = _found(planned, runs_dir=engine.runs_dir)
    folder = folder or engine.make(_with_other_seed(plan, recipe, environment))[0]
    stored = runs.read(folder)
    said = {name: value for name, value in stored.document.items() if name in _KEPT}
    if not stored.complete:
        said["incomplete_because"] = stored.record.message or stored.incomplete_because
    return replace(plan, files={**plan.files, OTHER_SEED: record_for_another(folder, run=said)})


def _with_other_seed(plan: RunPlan, recipe: Recipe, environment: Environment) -> RunPlan:
    spec = plan.specs[0]
    other = plan_recipe(
        recipe,
        seed=other_than(spec.seed),
        environment=replace(environment, cores=(), gpus=()),
        stamp=stamp(),
        timeout_s=spec.limits.timeout_s,
    )
    return instrumented(replace(other, facts=plan.facts, files=plan.files))


def _found(planned: RunRecord, *, runs_dir: Path) -> Path | None:
    wanted = other_than(planned.seed or 0)
    for folder in runs.list_all(runs_dir, recipe=planned.recipe):
        stored = runs.read(folder, verify=False)
        if stored.record.seed != wanted or not stored.record.is_whole:
            continue
        if _of_profile(stored.record) != _of_profile(planned):  # it may have computed by other kernels
            continue
        objection = why_not_comparable(
            identity(planned, config=None), identity(stored.record, config=None), question=WITH_OTHER_SEED
        )
        if objection is None and (folder / INSTRUMENT).is_file() and runs.read(folder).complete:
            return folder
    return None


def _of_profile(record: RunRecord) -> dict[str, str | None]:
    """What a run was started with of the variables that numerics profiles set."""
    names = (setting.name for profile in numerics.PROFILES for setting in profile.settings)
    return {name: record.environment.get(name) for name in names}
