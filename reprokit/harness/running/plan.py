"""What is about to run, as data: recipe or plain command in, run specifications out.

Pure but for reading the files that are copied into each run folder.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reprokit import capture
from reprokit.core.environments.cpu_features import named_by_numpy
from reprokit.core.records import Mount, Realisation, RunLimits, RunSpec
from reprokit.errors import UsageError
from reprokit.execution.placeholders import refuse_near_misses
from reprokit.harness.running.environments.shared_places import SharedPlaces
from reprokit.harness.running.resuming.resume_words import PLACEHOLDER
from reprokit.harness.running.run_kinds import (
    CountedCommand,
    KilledCommand,
    ResumedCommand,
    ResumedRun,
    ResumePoint,
    RunKind,
    StoppedCommand,
    StoppedRun,
    VariedRun,
    WholeRun,
)

if TYPE_CHECKING:
    from reprokit.harness.running.environments.environment import Environment
    from reprokit.harness.running.environments.recipe_data import FetchedData
    from reprokit.recipes import Program, Recipe

_CHECKPOINT = "resumed_from.pt"

# A brace around one word means nothing to a shell.
_TYPED_AS_IT_IS = re.compile(r"(?:[\w@%+=:,./-]|\{[a-z_]+\})+", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """Runs to make, and what stands in each run's folder before it starts.

    Attributes:
        specs: One a run.
        facts: Keys that go into every ``run.json``.
        files: Host-owned files of every run folder: relative name → content.
        executables: Those of them that can be executed.
        program: The unmodified program that is run, where a recipe has one.
        project: The folder of the recipe's project.
        fetched: Data of the cache that the runs read.
        shared: What is looked at for what a run leaves to a later one.
        outputs: Patterns of the output files that count, of a plain command that is no recipe.
    """

    specs: tuple[RunSpec, ...]
    facts: dict[str, Any]
    files: dict[str, bytes]
    executables: tuple[str, ...] = ()
    program: Program | None = None
    project: Path | None = None
    fetched: tuple[FetchedData, ...] = ()
    shared: SharedPlaces | None = None
    outputs: tuple[str, ...] = ()


def plan_recipe(
    recipe: Recipe,
    kind: RunKind = WholeRun(),  # noqa: B008 - frozen
    *,
    seed: int,
    environment: Environment,
    stamp: str,
    timeout_s: float | None = None,
    profile_step: int | None = None,
) -> RunPlan:
    """Plan runs of a recipe with one seed.

    Args:
        recipe: The validated recipe, overrides applied.
        kind: Whole runs and how many, or one that is stopped, resumed or varied.
        seed: The seed of every run.
        environment: Where they are made.
        stamp: Time of planning, ``YYYYMMDDTHHMMSSZ``; begins every run id.
        timeout_s: Limit for each run; the recipe's own when None.
        profile_step: Profile, and look at the update that begins at or after this step; None for neither.

    Raises:
        UsageError: A run is to be resumed in an environment of another lock than it began in.
        RecipeError: Data that the recipe declares is missing or other than declared.
        DataError: Data that it declares by name is not in the cache as declared.
        CannotRunError: A CPU is to be emulated, and there is no emulator.
    """
    from reprokit.harness.running.environments.recipe_data import mounts_of
    from reprokit.harness.running.programs.program import launch_of
    from reprokit.harness.running.resuming.counted_program import counted
    from reprokit.harness.running.varying.varied_run import varied

    launch = launch_of(recipe, environment, profile_step=profile_step)
    realisation, runs_dir = environment.realisation, environment.runs_dir
    cores, gpus = environment.cores, environment.gpus
    own = _particulars(kind, realisation)
    variables = named_by_numpy(launch.environment, environment.switched_off)
    specs = []
    for index, name in enumerate(own.names):
        run_id = f"{stamp}-seed{seed}-{name}"
        run_dir = runs_dir / recipe.name / run_id
        specs.append(
            RunSpec(
                recipe=recipe.name,
                run_id=run_id,
                seed=seed,
                device=recipe.device,
                command=(*launch.command, *own.words, *launch.script),
                environment=variables,
                inherit_environment=realisation is None,
                realisation=realisation,
                mounts=(
                    *(
                        Mount(
                            name=name,
                            path=str(run_dir / path),
                            digest=launch.facts["mounted_digest"] if name == "reprokit" else "",
                        )
                        for name, path in launch.mounts.items()
                    ),
                    *(mounts_of(launch.fetched) if launch.fetched else ()),
                    *own.mounts,
                ),
                working_dir=launch.working_dir,
                limits=RunLimits(
                    memory_bytes=int(recipe.limits.memory_gib * 2**30),
                    pids=recipe.limits.pids,
                    timeout_s=timeout_s or recipe.limits.timeout_s,
                    cpus=(cores[index % len(cores)],) if cores else None,
                    gpus=(gpus[index % len(gpus)],) if gpus else None,
                    shared_memory_bytes=int(recipe.limits.shared_memory_gib * 2**30),
                    network=recipe.program is not None and recipe.program.network,
                ),
                attempt=own.attempt,
            )
        )
    facts, files = {"backend": environment.backend, **launch.facts, **own.facts}, dict(launch.files)
    if isinstance(kind, VariedRun):
        specs[0], of_watch = varied(specs[0], kind, runs_dir=runs_dir)
        files.update(of_watch)
    if isinstance(kind, CountedCommand | KilledCommand) or (
        isinstance(kind, ResumedCommand) and kind.is_counted
    ):
        specs[0] = counted(specs[0], kind.place if isinstance(kind, KilledCommand) else None)
    program = recipe.program
    if program is not None and isinstance(kind, StoppedCommand | KilledCommand):
        program = replace(program, outputs=())  # what it leaves at its end is not there yet
    return RunPlan(
        specs=tuple(specs),
        facts=facts,
        files=files,
        executables=launch.executables,
        program=program,
        project=recipe.project_dir,
        fetched=launch.fetched,
    )


def plan_command(
    command: Sequence[str],
    *,
    seed: int,
    repeats: int,
    stamp: str,
    working_dir: Path | None = None,
    timeout_s: float | None = None,
) -> RunPlan:
    """Plan ``repeats`` runs of a command that has no recipe: one after the other, nothing pinned."""
    refuse_near_misses(command)
    name = command_name(capture.redact_command(command))
    specs = tuple(
        RunSpec(
            recipe=name,
            run_id=f"{stamp}-seed{seed}-{index + 1}",
            seed=seed,
            device="cpu",
            command=tuple(command),
            inherit_environment=True,
            working_dir=str(working_dir) if working_dir else None,
            limits=RunLimits(timeout_s=timeout_s),
        )
        for index in range(repeats)
    )
    return RunPlan(
        specs=specs,
        facts={"backend": "local", "plain_command": list(capture.redact_command(command)), "modified": []},
        files={},
    )


def command_name(command: Sequence[str]) -> str:
    """What a plain command's runs are filed under: the script's name, made safe for a folder."""
    script = next((word for word in command if word.endswith(".py")), command[0])
    return "plain-" + (re.sub(r"[^A-Za-z0-9_.-]+", "-", Path(script).stem).strip("-.")[:60] or "command")


def shell_line(command: Sequence[str]) -> str:
    """A command as a person types it: quoted for a shell, but for placeholders; without its secrets.

    >>> shell_line(["python", "train.py", "--seed", "{seed}", "--name", "two words"])
    "python train.py --seed {seed} --name 'two words'"
    """
    words = capture.redact_command(command)
    return " ".join(word if _TYPED_AS_IT_IS.fullmatch(word) else shlex.quote(word) for word in words)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Particulars:
    """What the plan of one kind of run has of its own.

    Attributes:
        names: The end of each run's id, one a run.
        words: Further words of the command line.
        mounts: Further files that the training sees.
        facts: Further keys of ``run.json``, so that no one takes the run for a whole training.
        attempt: Which attempt at the training it is.
    """

    names: tuple[str, ...]
    words: tuple[str, ...] = ()
    mounts: tuple[Mount, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    attempt: int = 1


def _particulars(kind: RunKind, realisation: Realisation | None) -> _Particulars:  # noqa: PLR0911 - a kind each
    match kind:
        case WholeRun(repeats=repeats):
            return _Particulars(names=tuple(str(index + 1) for index in range(repeats)))
        case StoppedRun(stop_at=step, asked=asked):
            facts = {
                "stop_at": step,
                **({"stop_place": {"asked": asked, "told": f"at step {step}"}} if asked else {}),
            }
            return _Particulars(names=("stopped",), words=("--stop-at", str(step)), facts=facts)
        case ResumedRun(point=point):
            return _resumed(point, realisation)
        case StoppedCommand(words=words):
            return _Particulars(names=("stopped",), words=words, facts={"stopped_by": list(words)})
        case CountedCommand():
            return _Particulars(names=("counted",), facts={"stop_place": {}})
        case KilledCommand(place=place, asked=asked):
            where = {"kind": place.kind, "number": place.number, "told": place.told}
            facts = {"stop_place": {"asked": asked, **where, "has_checkpoint": place.has_checkpoint}}
            return _Particulars(names=("stopped",), facts=facts)
        case ResumedCommand():
            return _Particulars(
                names=("resumed",),
                words=kind.words,
                mounts=(Mount(name=PLACEHOLDER.strip("{}"), path=str(kind.left.resolve())),),
                facts={
                    "resumed_from": {
                        "run": kind.run,
                        "checkpoint": kind.checkpoint,
                        "sha256": kind.sha256,
                        "arguments": list(kind.words),
                    }
                },
                attempt=kind.attempt + 1,
            )
        case VariedRun(number=number, point=point):
            begun = _resumed(point, realisation) if point else _Particulars(names=())
            facts = {**begun.facts, "varied": kind.as_fact()}
            return replace(begun, names=(f"varied{number}",), facts=facts)


def _resumed(point: ResumePoint, realisation: Realisation | None) -> _Particulars:
    lock = realisation.lock_digest if realisation else ""
    if lock != point.lock_digest:
        raise UsageError(
            "the environment's lock changed, so the run cannot be resumed",
            where=str(point.path),
            expected=point.lock_digest or "a lock in run.json",
            actual=lock,
            fix="put the lock back (the run keeps its own in source/), or start a new run",
        )
    resumed_from = {
        "run": point.run,
        "checkpoint": point.path.name,
        "step": point.step,
        "sha256": point.sha256,
    }
    return _Particulars(
        names=("resumed",),
        words=("--resume-from", f"{{mounts}}/{_CHECKPOINT}"),
        mounts=(Mount(name=_CHECKPOINT, path=str(point.path)),),
        facts={"resumed_from": resumed_from},
        attempt=point.attempt + 1,
    )
