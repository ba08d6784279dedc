"""A checkpoint written again in another format, or brought to today's layout, and read back to prove it.

Nothing is written into a run's folder, whose files COMPLETE lists, and no file is overwritten.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reprokit import checkpoints
from reprokit.checkpoints import safetensors_file, torch_writer
from reprokit.errors import CheckpointError, UsageError
from reprokit.features.checkpoints import checkpoint_files
from reprokit.layout import RECORD
from reprokit.project import Project

_WRITERS = {safetensors_file.SUFFIX: safetensors_file.write, torch_writer.SUFFIX: torch_writer.write}


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """What came of a conversion.

    Attributes:
        target: The file that was written, read back, and found to hold the same.
        content: Digest of what both hold.
        changes: What a migration moved where; empty where the layout was today's.
        lacking: What a training that continues from it would miss.
    """

    source: Path
    target: Path
    content: str
    num_tensors: int
    changes: tuple[str, ...]
    lacking: tuple[str, ...]


def convert(reference: str, target: Path, *, project: Project) -> Converted:
    """Convert a checkpoint, or a run's last whole one, to a new ``.safetensors`` or ``.pt`` file.

    Raises:
        CheckpointError: The source is refused, or what was written does not read back as it was.
        UsageError: The target is there, is in a run's folder, or of another format.
        WorkspaceError: It cannot be written.
    """
    _checked(target)
    source = checkpoint_files.find(reference, project=project)
    moved = checkpoints.migrated(checkpoints.read(source, older=True))
    content = checkpoints.content_digest(moved.state)
    _WRITERS[target.suffix](moved.state, target)
    found = checkpoints.content_digest(checkpoints.read(target))
    if found != content:
        target.unlink()
        what = "what was written does not read back as it was, and was removed"
        raise CheckpointError(what, where=str(target), expected=content, actual=found)
    held = [value for _, value in checkpoints.leaves(moved.state)]
    return Converted(
        source=source,
        target=target,
        content=content,
        changes=moved.changes,
        num_tensors=sum(isinstance(value, checkpoints.Tensor) for value in held),
        lacking=() if "schema" not in moved.state else tuple(checkpoints.problems_of(moved.state)),
    )


def _checked(target: Path) -> None:
    if target.suffix not in _WRITERS:
        raise UsageError(
            "unknown checkpoint format", where=str(target), expected=f"a name in {' or '.join(_WRITERS)}"
        )
    if target.exists() or target.is_symlink():
        raise UsageError("the file is there already", where=str(target), fix="name a new file")
    if not target.parent.is_dir():
        raise UsageError("there is no such folder", where=str(target.parent), fix=f"mkdir -p {target.parent}")
    around = (target.absolute().parent, *target.absolute().parent.parents)
    if any((folder / RECORD).is_file() for folder in around):
        fix = "name a file outside of it: a run's folder stays as it was closed"
        raise UsageError("this is within a run's folder", where=str(target), fix=fix)
