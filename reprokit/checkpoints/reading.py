"""A checkpoint read from its file: a zip archive of one list of contents and the data of its tensors.

This module knows the archive that ``torch.save`` writes (torch 1.6 and later). It refuses what is packed,
doubled, larger than the file itself, or runs anything.

    >>> sorted(read(Path("checkpoints/checkpoint_20480.pt")))
    ['extra', 'model', 'optimizer', 'random', 'scheduler', 'schema', 'step']
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from reprokit.checkpoints import pickled, safetensors_file
from reprokit.checkpoints.leaves import leaves
from reprokit.checkpoints.tensors import Tensor
from reprokit.errors import CheckpointError, ReprokitError

_CONTENTS = "data.pkl"
_MAX_CONTENTS_BYTES = 64 << 20
_MAX_VIEWS = 64  # how many times its own size its tensors may come to: weights that layers share are few
_AGAIN = "copy it again from where it was written, or go on from an earlier checkpoint"


def read(path: Path, *, older: bool = False) -> dict[Any, Any]:
    """Read a checkpoint, running nothing of it.

    Args:
        path: The file, as torch or (``.safetensors``) as safetensors write it.
        older: Take arrays of numpy too, which torch itself refuses until the file is converted.

    Returns:
        What was saved: dicts, lists, tuples, numbers, text and ``Tensor``.

    Raises:
        CheckpointError: It is not there, torn, no checkpoint, or asks for something to be run.
    """
    if path.exists() and not path.is_file() and not path.is_dir():  # a pipe would never end, nor /dev/zero
        raise CheckpointError("this is no regular file", where=str(path), fix="name the checkpoint itself")
    if path.suffix == safetensors_file.SUFFIX:
        return safetensors_file.read(path)
    try:
        with zipfile.ZipFile(path) as archive:
            state = _state(archive, size_bytes=path.stat().st_size, older=older)
    except OSError as error:
        what = f"the checkpoint cannot be read: {error.strerror or error}"
        raise CheckpointError(what, where=str(path)) from error
    except (zipfile.BadZipFile, NotImplementedError, EOFError, MemoryError, OverflowError) as error:
        what = f"this is no whole checkpoint: {str(error)[:120]}"
        raise CheckpointError(what, where=str(path), fix=_AGAIN) from error
    except CheckpointError as error:
        what, fix = f"the checkpoint is refused: {error.what}", error.fix or _AGAIN
        raise CheckpointError(
            what, where=str(path), expected=error.expected, actual=error.actual, fix=fix
        ) from error
    except ReprokitError:
        raise
    except Exception as error:  # zipfile fails in many ways on what an enemy wrote; none may pass for another
        what = f"this is no checkpoint: {type(error).__name__}: {str(error)[:120]}"
        raise CheckpointError(what, where=str(path), fix=_AGAIN) from error
    return state


def _state(archive: zipfile.ZipFile, *, size_bytes: int, older: bool) -> dict[Any, Any]:
    names = _sound_names(archive, size_bytes=size_bytes)
    folder, _, contents = next((name for name in names if name.endswith(f"/{_CONTENTS}")), "").rpartition("/")
    if not contents:
        raise CheckpointError(f"the archive has no {_CONTENTS}")
    if archive.getinfo(f"{folder}/{contents}").file_size > _MAX_CONTENTS_BYTES:
        raise CheckpointError("its list of contents is larger than 64 MiB")
    order = f"{folder}/byteorder"
    if order in names and archive.read(order) != b"little":
        raise CheckpointError("its numbers are stored in the other byte order")
    kept: dict[str, bytes] = {}

    def storage(key: str) -> bytes:
        if key not in kept:
            kept[key] = archive.read(f"{folder}/data/{key}")
        return kept[key]

    state = pickled.load(archive.read(f"{folder}/{contents}"), storage=storage, with_numpy=older)
    if not isinstance(state, dict):
        raise CheckpointError("it holds no dict", actual=type(state).__name__)
    unfolded = sum(value.values.nbytes for _, value in leaves(state) if isinstance(value, Tensor))
    if unfolded > _MAX_VIEWS * size_bytes:
        raise CheckpointError(f"its tensors come to {unfolded:,} bytes, in a file of {size_bytes:,}")
    return state


def _sound_names(archive: zipfile.ZipFile, *, size_bytes: int) -> list[str]:
    """The entries by name: each once, as it is, and no larger than the file that holds it."""
    entries = archive.infolist()
    names = [one.filename for one in entries]
    if len(set(names)) < len(names):
        raise CheckpointError("two entries of the archive have one name")
    for one in entries:
        if one.compress_type != zipfile.ZIP_STORED or one.flag_bits & 1:
            raise CheckpointError(f"{one.filename[:80]} is packed, as no checkpoint is")
        if one.file_size > size_bytes:
            claims = f"{one.file_size:,} bytes in a file of {size_bytes:,}"
            raise CheckpointError(f"{one.filename[:80]} claims {claims}")
    if (total := sum(one.file_size for one in entries)) > size_bytes:
        raise CheckpointError(f"its entries overlap: {total:,} bytes in a file of {size_bytes:,}")
    return names
