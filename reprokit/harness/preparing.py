"""`reprokit data prepare`: every step of a recipe's preparation, twice, in its pinned environment.

A step runs as a training does: in the hardened container, or in the virtual environment of the same lock. The
second time the clocks are a day ahead; both must leave the same bytes.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit import data, file_tree, images, workspace
from reprokit.core import numerics
from reprokit.core.records import Mount, Outcome, Realisation, RunLimits, RunSpec
from reprokit.data import preparation
from reprokit.data.partial_file import cache_unwritable
from reprokit.data.preparation import PREPARED, PreparedData, StepInputs
from reprokit.errors import DataError, DiskFullError, RecipeError, UsageError
from reprokit.execution import Backend
from reprokit.harness.running.environments.environment import backend_of, open_backend
from reprokit.harness.running.environments.preparation import LAUNCHER, code_of, inputs_of, outputs_of
from reprokit.harness.running.environments.recipe_data import FOLDER, sources_of
from reprokit.images.cache import cache_folder
from reprokit.layout import OUTPUT
from reprokit.project import Project
from reprokit.recipes import NO_VARIANT, Recipe
from reprokit.request import Request

#: zip files keep times to two seconds: a step that stamps them must not get the same stamp twice.
_APART_S = 2.1
_CALL = "call.json"
_ROOM = "free some space, or name another folder with REPROKIT_CACHE"

Note = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """One step, and what of it is not as the recipe says.

    Attributes:
        made_now: Whether it ran; False where the record and the files were there.
        problem: In one sentence, or "".
    """

    prepared: PreparedData
    made_now: bool
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _StepRunner:
    """Where steps of one recipe run."""

    recipe: Recipe
    realisation: Realisation
    backend: Backend
    code: Mapping[str, bytes]
    cache: Path
    note: Note


def prepare(
    recipe: Recipe, request: Request, *, project: Project, twice: bool, again: bool, note: Note
) -> Iterator[StepResult]:
    """Run each step in its order, unless it ran on exactly this before; ends after one with a problem.

    Args:
        recipe: One with ``prepare``.
        request: Whose ``backend`` and ``base`` are used.
        project: The folders.
        twice: Whether each is run twice and compared.
        again: Whether to run also what ran before.
        note: Told what happens.

    Raises:
        UsageError: The recipe prepares nothing.
        RecipeError: Nothing pins its environment, or its code is not there.
        DataError: A step failed, or what it reads is not in the cache as declared.
        DiskFullError: The disk has no room for what a step makes; nothing of it is kept.
        CannotRunError: Environment or cache cannot be used.
    """
    shop = _workshop(recipe, request, project=project, note=note)
    for step in recipe.plain["prepare"]:
        inputs = inputs_of(recipe, step, code=shop.code, realisation=shop.realisation)
        with _held(shop, inputs) as folder:
            known = None if again else preparation.record_of(inputs, cache=shop.cache)
            if known is None or (twice and known.preparations < 2) or not _is_there(shop, known):
                result = StepResult(
                    prepared=_prepared(shop, inputs, folder, twice=twice), made_now=True, problem=""
                )
            else:
                result = StepResult(prepared=known, made_now=False, problem="")
        problem = _problem(result.prepared, outputs_of(recipe, step))
        yield StepResult(prepared=result.prepared, made_now=result.made_now, problem=problem)
        if problem:
            return


def _workshop(recipe: Recipe, request: Request, *, project: Project, note: Note) -> _StepRunner:
    if not recipe.plain.get("prepare"):
        raise UsageError(f"{recipe.name} declares no step under `prepare`", where=recipe.name)
    if recipe.variant == NO_VARIANT:
        raise RecipeError(
            "data is prepared in a pinned environment, and this recipe has none",
            where=recipe.where("variant"),
            fix="reprokit image lock NAME --dependencies requirements.txt, and `variant: NAME` in the recipe",
        )
    name, cache = backend_of(recipe, request), cache_folder(None)
    realisation = images.resolve(
        recipe.variant,
        project=project.root,
        kind="image" if name == "docker" else "venv",
        build=images.BuildOptions(base=request.base),
        on_progress=note,
    )
    if name == "docker":
        from reprokit.execution.docker_orphans import remove_orphans  # noqa: PLC0415  (the docker SDK)

        remove_orphans(str(cache / PREPARED))
    backend = open_backend(name, workspace=cache / PREPARED)
    return _StepRunner(
        recipe=recipe, realisation=realisation, backend=backend, code=code_of(recipe), cache=cache, note=note
    )


@contextmanager
def _held(shop: _StepRunner, inputs: StepInputs) -> Iterator[Path]:
    """A folder for this step alone, emptied of what a killed tool left in it; gone afterwards."""
    folder = shop.cache / PREPARED / f"{inputs.key}.work"
    with workspace.exclusive(shop.cache / PREPARED / f"{inputs.key}.lock"):
        if folder.exists():
            file_tree.remove(folder)
        try:
            folder.mkdir(parents=True)
            yield folder
        except OSError as error:
            raise cache_unwritable(folder, error) from error
        finally:
            if folder.exists():
                file_tree.remove(folder)


def _prepared(shop: _StepRunner, inputs: StepInputs, folder: Path, *, twice: bool) -> PreparedData:
    """Run a step once or twice; its files go into the cache where they repeat."""
    where = shop.recipe.where(f"prepare.{inputs.step}")
    expected = list(outputs_of(shop.recipe, inputs.step))
    shop.note(f"{inputs.step}: preparing")
    began_s = time.monotonic()
    first = _run(shop, inputs, folder / "1", days_ahead=0)
    outputs = preparation.made_files(first, expected, where=where)
    differing = ""
    if twice:
        shop.note(f"{inputs.step}: preparing a second time")
        time.sleep(max(0.0, began_s + _APART_S - time.monotonic()))
        second = _run(shop, inputs, folder / "2", days_ahead=1)
        preparation.made_files(second, expected, where=where)
        differing = preparation.first_difference(first, second, expected)
    if not differing:
        for name, one in outputs.items():
            preparation.keep(first / name, one["sha256"], cache=shop.cache)
    prepared = PreparedData(
        inputs=inputs,
        outputs=outputs,
        preparations=2 if twice else 1,
        differing=differing,
        backend=shop.backend.name,
    )
    preparation.write_record(prepared, cache=shop.cache)
    return prepared


def _run(shop: _StepRunner, inputs: StepInputs, folder: Path, *, days_ahead: int) -> Path:
    """Run a step once; the folder of what it left."""
    recipe, where = shop.recipe, shop.recipe.where(f"prepare.{inputs.step}")
    read = _inputs(shop, inputs)
    code = folder / "code"
    _write_code(shop, inputs, code, days_ahead=days_ahead)
    (folder / OUTPUT).mkdir()
    before = data.signature(code)
    spec = RunSpec(
        recipe=recipe.name,
        run_id=f"prepare-{inputs.step}-{folder.name}",
        seed=inputs.seed,
        device="cpu",
        command=("{python}", f"{{code}}/{LAUNCHER}", f"{{code}}/{_CALL}", f"{{{FOLDER}}}", "{run_dir}"),
        environment={
            **numerics.variables(recipe.numerics, hash_seed=0),
            "PYTHONUNBUFFERED": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        realisation=shop.realisation,
        mounts=(
            Mount(name="code", path=str(code)),
            *(Mount(name=name, path=str(path), folder=FOLDER) for name, (path, _) in read.items()),
            *(() if read else (Mount(name=FOLDER, path=str(code)),)),
        ),
        limits=RunLimits(
            memory_bytes=int(recipe.limits.memory_gib * 2**30),
            pids=recipe.limits.pids,
            timeout_s=recipe.limits.timeout_s,
            shared_memory_bytes=int(recipe.limits.shared_memory_gib * 2**30),
        ),
    )
    result = shop.backend.run(spec, folder, on_tick=lambda: None)
    if result.outcome is Outcome.DISK_FULL or not _has_room(folder):
        raise DiskFullError(
            f"no space left on the disk for what the step {inputs.step} makes{_tail(folder)}",
            where=str(shop.cache / PREPARED),
            fix=_ROOM if not result.remedy else f"{_ROOM}; or {result.remedy}",
        )
    if not result.completed:
        raise DataError(
            f"the step {inputs.step} failed: {result.message}{_tail(folder)}",
            where=where,
            fix=result.remedy or None,
        )
    changed = [name for name, (path, seen) in read.items() if data.signature(path) != seen]
    if changed or data.signature(code) != before:
        raise DataError(
            f"the step {inputs.step} wrote to {', '.join(changed) or 'its own code'}",
            where=where,
            fix="let it write into the output folder only, then: reprokit data fetch",
        )
    return folder / OUTPUT


def _inputs(shop: _StepRunner, inputs: StepInputs) -> dict[str, tuple[Path, Any]]:
    """What a step reads, compared with its digests: name → path and signature."""
    found = {}
    for source in sources_of(shop.recipe):
        if source.name not in inputs.inputs:
            continue
        place = data.place_of(source, cache=shop.cache)
        seen = data.signature(place) if place.exists() else ()
        state = data.check(source, cache=shop.cache)
        if state.status is not data.SourceStatus.READY:
            verb = "prepare" if source.prepared_by else "fetch"
            raise DataError(
                f"the data {source.name} is not there as declared: {state.problem}",
                where=source.where,
                fix=f"reprokit data {verb} {shop.recipe.name}",
            )
        found[source.name] = (state.path, seen)
    return found


def _write_code(shop: _StepRunner, inputs: StepInputs, code: Path, *, days_ahead: int) -> None:
    """The files that a step imports, and what it is called with; readable for whoever it runs as."""
    said = shop.recipe.plain["prepare"][inputs.step]
    call = {
        "script": said["script"],
        "function": said["function"],
        "inputs": sorted(inputs.inputs),
        "settings": inputs.settings,
        "seed": inputs.seed,
        "days_ahead": days_ahead,
    }
    for name, content in {**shop.code, _CALL: json.dumps(call).encode()}.items():
        path = code / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o444)
    for folder in (code, *(path for path in code.rglob("*") if path.is_dir())):
        folder.chmod(0o755)


def _is_there(shop: _StepRunner, known: PreparedData) -> bool:
    """Whether all that a step made is in the cache as it was; nothing is of one that did not repeat."""
    if known.differing:
        return False
    for output in known.outputs.values():
        path = shop.cache / "data" / output["sha256"].removeprefix("sha256:")
        if not path.is_file() or path.is_symlink() or workspace.sha256_of(path) != output["sha256"]:
            return False
    return True


def _problem(prepared: PreparedData, declared: Mapping[str, Mapping[str, Any]]) -> str:
    if prepared.differing:
        return f"two preparations differ: {prepared.differing}"
    other = [
        f"{name} (sha256: {made['sha256']}, size: {made['bytes']})"
        for name, made in prepared.outputs.items()
        if (made["sha256"], made["bytes"]) != (declared[name]["sha256"], declared[name]["size"])
    ]
    return f"not the declared file; to accept it, declare: {', '.join(other)}" if other else ""


def _has_room(folder: Path) -> bool:
    """Whether the disk was not full when a step ended; what one that continues regardless left may be cut."""
    disk = os.statvfs(folder)
    return disk.f_bavail > 0 and (disk.f_files == 0 or disk.f_favail > 0)


def _tail(folder: Path) -> str:
    """The last line that a step printed to stderr."""
    try:
        with (folder / "stderr.log").open("rb") as stream:
            stream.seek(max(0, stream.seek(0, 2) - 4096))
            lines = stream.read().decode("utf-8", errors="replace").strip().splitlines()
    except OSError:
        return ""
    return f": {lines[-1][:300]}" if lines else ""
