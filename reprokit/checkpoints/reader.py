"""Checkpoints read from their files, as ``torch.save`` (torch 1.6 and later) or safetensors wrote them.

Nothing of a file is run. Archives are refused that are compressed, have a name twice, or claim more than the
file holds.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from reprokit.checkpoints import pickle_reader, safetensors_file
from reprokit.checkpoints.flatten import leaves
from reprokit.checkpoints.tensors import Tensor
from reprokit.errors import CheckpointError

_CONTENTS = "data.pkl"
_MAX_CONTENTS_BYTES = 64 << 20
_MAX_EXPANSION = 64  # times its own size: how far tensors that share a storage may expand a file
_AGAIN = "copy it again from where it was written, or resume from an earlier checkpoint"


def read(path: Path, *, older: bool = False) -> dict[Any, Any]:
    """Read a checkpoint of torch or safetensors: dicts, lists, tuples, numbers, text and ``Tensor``.

    Nothing of it is run. ``older``: accept NumPy arrays too, which torch refuses until the file is converted.

    Raises:
        CheckpointError: It is missing, corrupt, not a checkpoint, or asks for code to be run.
    """
    if path.exists() and not path.is_file() and not path.is_dir():  # a pipe or /dev/zero would never end
        raise CheckpointError("this is not a regular file", where=str(path), fix="name the checkpoint itself")
    try:
        if path.suffix == safetensors_file.SUFFIX:
            return safetensors_file.read(path)
        with zipfile.ZipFile(path) as archive:
            return _state(archive, size_bytes=path.stat().st_size, older=older)
    except CheckpointError as error:
        raise CheckpointError(
            f"the checkpoint is refused: {error.what}",
            where=str(path),
            expected=error.expected,
            actual=error.actual,
            fix=error.fix or _AGAIN,
        ) from error
    except OSError as error:
        what = f"the checkpoint cannot be read: {error.strerror or error}"
        raise CheckpointError(what, where=str(path)) from error
    except (zipfile.BadZipFile, NotImplementedError, EOFError, MemoryError, OverflowError) as error:
        what = f"this is not a whole checkpoint: {str(error)[:120]}"
        raise CheckpointError(what, where=str(path), fix=_AGAIN) from error
    except Exception as error:  # zipfile fails in many ways on hostile files; each must be a refusal
        what = f"this is not a checkpoint: {type(error).__name__}: {str(error)[:120]}"
        raise CheckpointError(what, where=str(path), fix=_AGAIN) from error


def _state(archive: zipfile.ZipFile, *, size_bytes: int, older: bool) -> dict[Any, Any]:
    names = _checked_names(archive, size_bytes=size_bytes)
    folder, _, contents = next((name for name in names if name.endswith(f"/{_CONTENTS}")), "").rpartition("/")
    if not contents:
        raise CheckpointError(f"the archive has no {_CONTENTS}")
    if archive.getinfo(f"{folder}/{contents}").file_size > _MAX_CONTENTS_BYTES:
        raise CheckpointError("its pickle is larger than 64 MiB")
    order = f"{folder}/byteorder"
    if order in names and archive.read(order) != b"little":
        raise CheckpointError("its numbers are stored big-endian")
    kept: dict[str, bytes] = {}

    def storage(key: str) -> bytes:
        if key not in kept:
            kept[key] = archive.read(f"{folder}/data/{key}")
        return kept[key]

    state = pickle_reader.load(archive.read(f"{folder}/{contents}"), storage=storage, with_numpy=older)
    if not isinstance(state, dict):
        raise CheckpointError("it does not hold a dict", actual=type(state).__name__)
    expanded = sum(value.values.nbytes for _, value in leaves(state) if isinstance(value, Tensor))
    if expanded > _MAX_EXPANSION * size_bytes:
        raise CheckpointError(f"its tensors expand to {expanded:,} bytes, in a file of {size_bytes:,}")
    return state


def _checked_names(archive: zipfile.ZipFile, *, size_bytes: int) -> list[str]:
    """The names of the entries, none of them twice, compressed, overlapping or larger than the file."""
    entries = archive.infolist()
    names = [entry.filename for entry in entries]
    if len(set(names)) < len(names):
        raise CheckpointError("two entries of the archive have the same name")
    for entry in entries:
        if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
            raise CheckpointError(f"{entry.filename[:80]} is compressed or encrypted, which no checkpoint is")
        if entry.file_size > size_bytes:
            claims = f"{entry.file_size:,} bytes in a file of {size_bytes:,}"
            raise CheckpointError(f"{entry.filename[:80]} claims {claims}")
    if (total := sum(entry.file_size for entry in entries)) > size_bytes:
        raise CheckpointError(f"its entries overlap: {total:,} bytes in a file of {size_bytes:,}")
    return names
