"""Checkpoints as a person asks about them: which file is meant, and whether it is whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from reprokit import checkpoints, runs
from reprokit.checkpoints import safetensors_file, torch_writer
from reprokit.core.records import Outcome
from reprokit.errors import CheckpointError
from reprokit.harness.running.resuming.resume_point import num_envs_of, run_above, written_in
from reprokit.layout import CHECKPOINTS, FINAL_MODEL, MANIFEST, MARKER, OUTPUT, RUNTIME, read_json
from reprokit.project import Project
from reprokit.records import run_json

_UNSEALED = "it holds no digest of its content: whether it was changed cannot be checked"
_UNLISTED = "no run lists its SHA-256: it can be read, and whether it was changed cannot be checked"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedFile:
    """What came of looking at one file.

    Attributes:
        step: Of a checkpoint; None of the final model.
        num_tensors: How many it holds; 0 where it cannot be read.
        proven: Whether it was loaded back (``weights_only``) inside the environment that wrote it; None
            where no one tried, as after a kill.
        note: What no one can say of it, a sentence; "" where there is nothing.
    """

    path: Path
    problems: tuple[str, ...]
    step: int | None = None
    num_tensors: int = 0
    proven: bool | None = None
    refused: bool = False
    note: str = ""


def verify(reference: str, *, project: Project) -> list[CheckedFile]:
    """Compare checkpoints with manifest and COMPLETE, read them, and name what they lack.

    ``reference``: a checkpoint's path, a run folder's path, or a run id or its unambiguous beginning.

    Raises:
        CheckpointError: There is no such file in the run, no manifest, or no checkpoint at all.
        ReportError: There is no such run.
    """
    if not reference.endswith((torch_writer.SUFFIX, safetensors_file.SUFFIX)):
        folder = runs.find(project.runs_dir, reference)
        return _of_run(folder, checkpoints.listed(_written_in(folder)))
    path = Path(reference)
    run, listing = run_above(path), path.parent / MANIFEST
    if path.suffix == safetensors_file.SUFFIX or not (run or listing.is_file()):
        return [_alone(path)]
    listed = [one for one in checkpoints.listed(path.parent) if one.path.name == path.name]
    if not listed:
        raise CheckpointError("it is not there", where=reference, fix="name a checkpoint or a run")
    return _of_run(run or path.parent.parent, listed, named=True)


def find(reference: str, *, project: Project) -> Path:
    """The file that a person means: a checkpoint, or the last whole one of a run.

    Raises:
        CheckpointError: There is none, or it is not the file that its manifest lists.
        ReportError: There is no such run.
    """
    if not reference.endswith((torch_writer.SUFFIX, safetensors_file.SUFFIX)):
        folder = runs.find(project.runs_dir, reference)
        whole = [one for one in checkpoints.listed(_written_in(folder)) if not one.problem]
        if not whole:
            fix = "`reprokit runs checkpoint verify` says what is wrong with each"
            raise CheckpointError("no checkpoint of this run is whole", where=str(folder), fix=fix)
        return next((one for one in reversed(whole) if one.step is not None), whole[-1]).path
    path = Path(reference)
    if (path.parent / MANIFEST).is_file():
        for one in checkpoints.listed(path.parent):
            if one.path.name == path.name and one.sha256 and one.problem:
                raise CheckpointError(
                    one.problem, where=reference, fix="`reprokit runs checkpoint verify` says more"
                )
    return path


def _written_in(folder: Path) -> Path:
    """Where the checkpoints of a run lie that someone asks to see; there may be none to resume from."""
    there = checkpoints.folder_of(folder)
    if (there / MANIFEST).is_file() or any(there.glob(f"*{torch_writer.SUFFIX}")):
        return written_in(folder)
    kinds = (torch_writer.SUFFIX, safetensors_file.SUFFIX)
    own = sorted(path for path in (folder / OUTPUT).rglob("*") if path.suffix in kinds and path.is_file())
    fix = f"of a file that its program wrote: `reprokit runs checkpoint show {own[0] if own else 'FILE'}`"
    record = runs.read(folder, verify=False).record
    if not (record.program or record.plain_command):
        fix = "logging.save_interval in the recipe says how often one is written"
    why = (
        "it wrote none"
        if record.outcome == Outcome.COMPLETED
        else "it was stopped before its first checkpoint"
    )
    raise CheckpointError(f"this run has no checkpoints: {why}", where=str(folder), fix=fix)


def exit_code(found: Iterable[CheckedFile]) -> int:
    """0 all whole; 1 something is missing or was changed; 2 a file is refused."""
    rows = list(found)
    if any(row.refused for row in rows):
        return 2
    return 1 if any(row.problems for row in rows) else 0


def _of_run(folder: Path, listed: Iterable[checkpoints.Listed], *, named: bool = False) -> list[CheckedFile]:
    """Files that a manifest lists, and where the run is finished, compared with COMPLETE too."""
    touched = runs.touched(folder, below=CHECKPOINTS)
    found = [_verified(one, folder, touched.pop(f"{CHECKPOINTS}/{one.path.name}", "")) for one in listed]
    told = {MARKER, f"{CHECKPOINTS}/{MANIFEST}"} if named else set(touched)
    rest = [(folder / name, why) for name, why in touched.items() if name in told]
    return found + [CheckedFile(path=path, problems=(why,), refused=not path.is_file()) for path, why in rest]


def _alone(path: Path) -> CheckedFile:
    """A file that no run vouches for: a converted one, or one that was copied away."""
    sealed = path.suffix == safetensors_file.SUFFIX
    try:
        state = checkpoints.read(path)
        problems = [_UNSEALED] if sealed and not safetensors_file.is_sealed(path) else []
    except CheckpointError as error:
        return CheckedFile(path=path, problems=(error.told(),), refused=True)
    if "schema" in state:
        problems += checkpoints.problems_of(state)
    num_tensors = sum(isinstance(value, checkpoints.Tensor) for _, value in checkpoints.leaves(state))
    step = state.get("step")
    return CheckedFile(
        path=path,
        step=step if isinstance(step, int) else None,
        num_tensors=num_tensors,
        problems=tuple(problems),
        note="" if sealed else _UNLISTED,
    )


def _verified(listed: checkpoints.Listed, folder: Path, touched: str) -> CheckedFile:
    name = listed.path.name
    proof = (read_json(folder / RUNTIME).get("checkpoints") or {}).get(name) or {}
    proven = proof.get("loadable") if proof.get("sha256") == listed.sha256 else None
    problems = [told for told in (listed.problem, touched) if told]
    if proven is False:
        problems.append(f"it did not load inside the environment that wrote it: {proof.get('reason')}")
    try:
        state = checkpoints.read(listed.path)
        num_tensors = sum(isinstance(value, checkpoints.Tensor) for _, value in checkpoints.leaves(state))
    except CheckpointError as error:
        told = (*problems, error.what)
        return CheckedFile(path=listed.path, step=listed.step, proven=proven, problems=told, refused=True)
    if name == FINAL_MODEL:
        problems += [] if num_tensors else ["it holds no tensor"]
    else:
        environments = num_envs_of(run_json.recorded(folder))
        problems += checkpoints.problems_of(state, num_envs=environments, step=listed.step)
    return CheckedFile(
        path=listed.path, step=listed.step, num_tensors=num_tensors, proven=proven, problems=tuple(problems)
    )
