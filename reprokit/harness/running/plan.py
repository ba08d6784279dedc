"""What is about to run, as data: recipe or plain command in, run specifications out.

Pure but for reading the files that are copied into each run folder.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit import capture
from reprokit.core import numerics
from reprokit.core.records import Limits, Mount, Realisation, RunSpec
from reprokit.harness.running import data_files
from reprokit.harness.running.numbers import PACKAGE, digests_of, mounted_digest
from reprokit.harness.running.run_kinds import RunKind, WholeRun, particulars
from reprokit.layout import CONFIG, SOURCE
from reprokit.recipes import PARTS, Recipe

_LAUNCH = (
    "{python}",
    "-m",
    "reprokit.runtime.launch",
    "--run-dir",
    "{run_dir}",
    "--config",
    "{mounts}/config.yaml",
    "--seed",
    "{seed}",
    "--device",
    "{device}",
)

# A brace around one word means nothing to a shell.
_TYPED_AS_IT_IS = re.compile(r"(?:[\w@%+=:,./-]|\{[a-z_]+\})+", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Runs to make, and what stands in each run's folder before it starts.

    Attributes:
        specs: One a run.
        facts: Keys that go into every ``run.json``.
        files: Host-owned files of every run folder: relative name → content.
    """

    specs: tuple[RunSpec, ...]
    facts: dict[str, Any]
    files: dict[str, bytes]


def plan_recipe(  # noqa: PLR0913 - one keyword for each thing that a run follows from
    recipe: Recipe,
    kind: RunKind = WholeRun(),  # noqa: B008 - frozen
    *,
    seed: int,
    realisation: Realisation,
    backend: str,
    stamp: str,
    runs_dir: Path,
    cores: Sequence[int] = (),
    timeout_s: float | None = None,
    facts: Mapping[str, Any] | None = None,
    files: Mapping[str, bytes] | None = None,
    profile_step: int | None = None,
) -> Plan:
    """Plan runs of a recipe with one seed.

    Args:
        recipe: The validated recipe, overrides applied.
        kind: Whole runs and how many, or one that is stopped, resumed or varied; the surroundings of a
            varied one are changed in the plan that comes of this (``varied_run``).
        seed: The seed of every run.
        realisation: The environment that the runs share.
        backend: ``docker`` or ``local``; recorded.
        stamp: Time of planning, ``YYYYMMDDTHHMMSSZ``; begins every run id.
        runs_dir: Where the run folders will be.
        cores: Core numbers to pin the runs to, one each in turn; empty for no pinning.
        timeout_s: Limit for each run; the recipe's own when None.
        facts: What else stands in each ``run.json``.
        files: What else stands in each run's folder: relative name → content.
        profile_step: Profile, and look at the update that begins at or after this step; None for neither.
    """
    own, data = particulars(kind), data_files.declared(recipe)
    variables = numerics.variables(recipe.numerics, hash_seed=0)
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
                command=(
                    *_LAUNCH,
                    *_checkpoint_words(recipe),
                    *_further_words(recipe, data, profile_step=profile_step),
                    *own.words,
                    "--",
                    f"{{mounts}}/recipes/trainers/{recipe.trainer.name}",
                ),
                environment={
                    **variables,
                    "PYTHONPATH": "{mounts}",
                    "PYTHONUNBUFFERED": "1",
                },
                realisation=realisation,
                mounts=(
                    Mount(name="reprokit", path=str(PACKAGE)),
                    Mount(name="recipes", path=str(run_dir / SOURCE)),
                    Mount(name="config.yaml", path=str(run_dir / CONFIG)),
                    *own.mounts,
                ),
                limits=_limits(recipe, cores=cores, index=index, timeout_s=timeout_s),
                attempt=own.attempt,
            )
        )
    known = {
        "backend": backend,
        "numerics": recipe.numerics,
        "modified": list(recipe.modified),
        "recipe_digest": recipe.digest,
        "digests": digests_of(recipe, realisation),
        "mounted_digest": mounted_digest(),
        "recipe_data": recipe.as_data(),
        "training_config": dict(recipe.training_config),
        **({"data": {one.name: one.sha256 for one in data}} if data else {}),
        **own.facts,
        **(facts or {}),
    }
    return Plan(specs=tuple(specs), facts=known, files={**_snapshot(recipe, data), **(files or {})})


def plan_command(
    command: Sequence[str],
    *,
    seed: int,
    repeats: int,
    stamp: str,
    working_dir: Path | None = None,
    timeout_s: float | None = None,
) -> Plan:
    """Plan ``repeats`` runs of a command that has no recipe: one after the other, nothing pinned."""
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
            limits=Limits(timeout_s=timeout_s),
        )
        for index in range(repeats)
    )
    return Plan(
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


def _limits(recipe: Recipe, *, cores: Sequence[int], index: int, timeout_s: float | None) -> Limits:
    return Limits(
        memory_bytes=int(recipe.limits.memory_gib * 2**30),
        pids=recipe.limits.pids,
        timeout_s=timeout_s or recipe.limits.timeout_s,
        cpus=(cores[index % len(cores)],) if cores else None,
    )


def _checkpoint_words(recipe: Recipe) -> tuple[str, ...]:
    """The words of the command line that say how many checkpoints stay."""
    return () if recipe.keep_checkpoints is None else ("--keep-checkpoints", str(recipe.keep_checkpoints))


def _further_words(
    recipe: Recipe, data: Sequence[data_files.DataFile], *, profile_step: int | None
) -> Iterator[str]:
    """The words of the command line that hand over data, and that ask for a profile."""
    for one in data:
        yield from ("--data", one.name, one.sha256, f"{{mounts}}/recipes/{recipe.name}/{one.name}")
    if profile_step is not None:
        yield from ("--profile-step", str(profile_step))


def _snapshot(recipe: Recipe, data: Sequence[data_files.DataFile]) -> dict[str, bytes]:
    return {
        CONFIG: recipe.config_yaml().encode(),
        f"source/{recipe.name}/recipe.yaml": recipe.file.read_bytes(),
        f"source/trainers/{recipe.trainer.name}": recipe.trainer.read_bytes(),
        **{f"source/{PARTS}/{part.name}": part.content for part in recipe.parts},
        **{f"source/{recipe.name}/{one.name}": one.content for one in data},
    }
