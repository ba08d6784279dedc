"""What is about to run, as data: recipe or plain command in, run specifications out.

Pure but for reading the files that are snapshotted into each run folder. It refuses to know
backends.

    >>> [spec.run_id for spec in plan_command(("python", "train.py"), seed=7, repeats=2, stamp="T").specs]
    ['T-seed7-1', 'T-seed7-2']
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
from reprokit.harness.running.run_kinds import Part
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

_CHECKPOINT = "resumed_from.pt"

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
    *,
    seed: int,
    repeats: int,
    realisation: Realisation,
    backend: str,
    stamp: str,
    runs_dir: Path,
    cores: Sequence[int] = (),
    timeout_s: float | None = None,
    files: Mapping[str, bytes] | None = None,
    part: Part | None = None,
    profile_step: int | None = None,
) -> Plan:
    """Plan ``repeats`` runs of a recipe with one seed.

    Args:
        recipe: The validated recipe, overrides applied.
        seed: The seed of every run.
        repeats: How many runs.
        realisation: The environment that the runs share.
        backend: ``docker`` or ``local``; recorded.
        stamp: Time of planning, ``YYYYMMDDTHHMMSSZ``; begins every run id.
        runs_dir: Where the run folders will be.
        cores: Core numbers to pin the runs to, one each in turn; empty for no pinning.
        timeout_s: Limit for each run; the recipe's own when None.
        files: What else stands in each run's folder: relative name → content.
        part: Do only this part of the training, once; None for all of it.
        profile_step: Profile, and look at the update that begins at or after this step; None for neither.
    """
    specs, data = [], data_files.declared(recipe)
    for index in range(repeats):
        run_id = f"{stamp}-seed{seed}-{part.name if part else index + 1}"
        run_dir = runs_dir / recipe.name / run_id
        specs.append(
            RunSpec(
                recipe=recipe.name,
                run_id=run_id,
                seed=seed,
                device=recipe.device,
                command=(
                    *_LAUNCH,
                    *_kept(recipe),
                    *_told(recipe, data, profile_step=profile_step),
                    *_only(part),
                    "--",
                    f"{{mounts}}/recipes/trainers/{recipe.trainer.name}",
                ),
                environment={
                    **numerics.variables(recipe.numerics, hash_seed=0),
                    "PYTHONPATH": "{mounts}",
                    "PYTHONUNBUFFERED": "1",
                },
                realisation=realisation,
                mounts=(
                    Mount(name="reprokit", path=str(PACKAGE)),
                    Mount(name="recipes", path=str(run_dir / SOURCE)),
                    Mount(name="config.yaml", path=str(run_dir / CONFIG)),
                    *_checkpoint(part),
                ),
                limits=_limits(recipe, cores=cores, index=index, timeout_s=timeout_s),
                attempt=part.resume.attempt + 1 if part and part.resume else 1,
            )
        )
    facts = {
        "backend": backend,
        "numerics": recipe.numerics,
        "modified": list(recipe.modified),
        "recipe_digest": recipe.digest,
        "digests": digests_of(recipe, realisation),
        "mounted_digest": mounted_digest(),
        "recipe_data": recipe.as_data(),
        "training_config": dict(recipe.training_config),
        **({"data": {one.name: one.sha256 for one in data}} if data else {}),
        **_kept_apart(part),
    }
    return Plan(specs=tuple(specs), facts=facts, files={**_snapshot(recipe, data), **(files or {})})


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
    name = command_name(command)
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
    """A command as a person types it: quoted for a shell, but for placeholders, which need no quotes.

    >>> shell_line(["python", "train.py", "--seed", "{seed}", "--name", "two words"])
    "python train.py --seed {seed} --name 'two words'"
    """
    return " ".join(word if _TYPED_AS_IT_IS.fullmatch(word) else shlex.quote(word) for word in command)


def _limits(recipe: Recipe, *, cores: Sequence[int], index: int, timeout_s: float | None) -> Limits:
    return Limits(
        memory_bytes=int(recipe.limits.memory_gib * 2**30),
        pids=recipe.limits.pids,
        timeout_s=timeout_s or recipe.limits.timeout_s,
        cpus=(cores[index % len(cores)],) if cores else None,
    )


def _kept(recipe: Recipe) -> tuple[str, ...]:
    """The words of the command line that say how many checkpoints stay."""
    return () if recipe.keep_checkpoints is None else ("--keep-checkpoints", str(recipe.keep_checkpoints))


def _told(recipe: Recipe, data: Sequence[data_files.DataFile], *, profile_step: int | None) -> Iterator[str]:
    """The words of the command line that hand over data, and that ask for a profile."""
    for one in data:
        yield from ("--data", one.name, one.sha256, f"{{mounts}}/recipes/{recipe.name}/{one.name}")
    if profile_step is not None:
        yield from ("--profile-step", str(profile_step))


def _only(part: Part | None) -> tuple[str, ...]:
    """The words of the command line that do a part of a training."""
    words: list[str] = []
    if part is not None and part.resume is not None:
        words += ["--resume-from", f"{{mounts}}/{_CHECKPOINT}"]
    if part is not None and part.stop_at is not None:
        words += ["--stop-at", str(part.stop_at)]
    return tuple(words)


def _checkpoint(part: Part | None) -> tuple[Mount, ...]:
    if part is None or part.resume is None:
        return ()
    return (Mount(name=_CHECKPOINT, path=str(part.resume.path)),)


def _kept_apart(part: Part | None) -> dict[str, Any]:
    """What ``run.json`` says of a part, so that nobody takes it for a whole training."""
    facts: dict[str, Any] = {}
    if part is not None and part.stop_at is not None:
        facts["stop_at"] = part.stop_at
    if part is not None and (point := part.resume) is not None:
        facts["resumed_from"] = {
            "run": point.run,
            "checkpoint": point.path.name,
            "step": point.step,
            "sha256": point.sha256,
        }
    return facts


def _snapshot(recipe: Recipe, data: Sequence[data_files.DataFile]) -> dict[str, bytes]:
    return {
        CONFIG: recipe.config_yaml().encode(),
        f"source/{recipe.name}/recipe.yaml": recipe.file.read_bytes(),
        f"source/trainers/{recipe.trainer.name}": recipe.trainer.read_bytes(),
        **{f"source/{PARTS}/{part.name}": part.content for part in recipe.parts},
        **{f"source/{recipe.name}/{one.name}": one.content for one in data},
    }
