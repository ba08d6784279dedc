"""The ledger of samples: which ids went into an update, in order, and what arrived under each of them.

    >>> spelled(np.array([4, 5, 6, 9]))
    '4-6,9'

A content digest is 64 bits: a sum of the row's words, the upper bits of each folded into its lower ones,
times odd random numbers, modulo 2^64. It finds another, moved, swapped or negated value; it is no
protection against a value made to be overlooked.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from reprokit.errors import MetricsError

Ids = npt.NDArray[np.int64]
Contents = npt.NDArray[np.uint64]

_DIGEST_BYTES = 16
_WORD = 8
_FOLD = np.uint64(33)
_WEIGHTS_SEED = 20260


def as_ids(samples: Sequence[int] | npt.NDArray[Any] | torch.Tensor) -> Ids:
    """Ids as one row of 64-bit integers, whatever type of integer they came in.

    Raises:
        MetricsError: They are no integers, or not one after the other.
    """
    if isinstance(samples, np.ndarray) and samples.dtype == np.int64 and samples.ndim == 1:
        return samples.copy()
    try:
        given = (
            _as_numpy(samples.detach().cpu()) if isinstance(samples, torch.Tensor) else np.asarray(samples)
        )
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise MetricsError("ids of samples are no row of integers", actual=str(error)) from error
    if given.ndim == 1 and not given.size:
        return np.empty(0, dtype=np.int64)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        actual = f"{given.dtype} of shape {given.shape}"
        raise MetricsError("ids of samples are no row of integers", actual=actual)
    if given.dtype == np.uint64 and int(given.max()) > np.iinfo(np.int64).max:
        raise MetricsError("an id of a sample is larger than 2^63 - 1", actual=str(given.max()))
    return given.astype(np.int64)


def spelled(ids: Ids) -> str:
    """Ids as text, in order; three or more that count up by one as ``first-last``."""
    return spelled_each([ids])[0]


def spelled_each(parts: Sequence[Ids]) -> list[str]:
    """Ids of several updates as text, of each as ``spelled`` has it: at once, in half of the time."""
    whole = np.concatenate(parts)
    words = repr(whole.tolist())[1:-1].split(", ")
    # The last of all has no next: the difference to the first of all would count up by one, too.
    counts_up = (whole[1:] - whole[:-1] == 1) & (whole[1:] > whole[:-1])
    before = [0, *np.cumsum(counts_up).tolist()]
    texts, start = [], 0
    for ids in parts:
        end = start + len(ids)
        if not ids.size:
            texts.append("")
        elif len(ids) - 1 - (before[end - 1] - before[start]) > len(ids) // 2:  # random: no runs to name
            texts.append(",".join(words[start:end]))
        else:
            texts.append(_with_runs(ids, np.flatnonzero(~counts_up[start : end - 1])))
        start = end
    return texts


def _with_runs(ids: Ids, ends: Ids) -> str:
    """``ends``: the places of ids that the next one does not follow, but for the last one's."""
    starts, lasts = ids[[0, *(ends + 1)]].tolist(), ids[[*ends, len(ids) - 1]].tolist()
    return ",".join(
        ",".join(map(str, range(first, last + 1))) if last - first < 2 else f"{first}-{last}"
        for first, last in zip(starts, lasts, strict=True)
    )


def ids_digest(ids: Ids) -> str:
    """128 bits of BLAKE2b over the ids in order, as 32 hex digits."""
    return hashlib.blake2b(ids.astype("<i8").tobytes(), digest_size=_DIGEST_BYTES).hexdigest()


def sample_contents(*tensors: torch.Tensor | npt.NDArray[Any]) -> Contents:
    """A digest of what arrived for each sample: of the same row of every tensor.

    Args:
        tensors: Inputs, labels, …; the first dimension of each counts the samples.

    Returns:
        One 64-bit number a sample.

    Raises:
        MetricsError: There are no tensors, they hold different numbers of samples, or one has no rows of
            numbers in memory, such as one of sparse values or of objects.
    """
    if not tensors or not all(one.ndim for one in tensors):
        raise MetricsError("samples have no content without a tensor that has a row for each")
    if len({len(one) for one in tensors}) > 1:
        raise MetricsError("tensors of one batch hold different numbers of samples")
    total = np.zeros(len(tensors[0]), dtype=np.uint64)
    for number, tensor in enumerate(tensors):
        try:
            words = _words(tensor)
        except (TypeError, ValueError, RuntimeError) as error:
            kind = f"{tensor.dtype} of shape {tuple(tensor.shape)}"
            raise MetricsError("a tensor has no rows of numbers", actual=f"{kind}: {error}") from error
        # Without it the topmost bits of two words would cancel: two negated float64 would be overlooked.
        folded = np.right_shift(words, _FOLD, out=_scratch(words.shape))
        folded ^= words
        total += folded @ _weights(number, words.shape[1])
    return total


@functools.lru_cache(maxsize=4)
def _scratch(shape: tuple[int, ...]) -> Contents:
    """Memory that is kept: a new array of this size would cost more than what is computed in it."""
    return np.empty(shape, dtype=np.uint64)


def _words(tensor: torch.Tensor | npt.NDArray[Any]) -> Contents:
    """The bytes of every row, as numbers of 64 bits, filled up with zeros."""
    if isinstance(tensor, torch.Tensor):
        tensor = _as_numpy(tensor.detach().cpu())
    if tensor.dtype.hasobject:
        raise TypeError("it holds objects")
    size = tensor.nbytes // max(len(tensor), 1)
    rows = np.ascontiguousarray(tensor).reshape(len(tensor), size // tensor.itemsize)
    if rest := -size % _WORD:
        rows = np.pad(rows.view(np.uint8), ((0, 0), (0, rest)))
    return rows.view(np.uint64)


def _as_numpy(tensor: torch.Tensor) -> npt.NDArray[Any]:
    """The same numbers; those of a type that numpy does not know as their bytes, row by row."""
    tensor = tensor.resolve_conj().resolve_neg()
    try:
        return tensor.numpy()
    except TypeError:
        rows = tensor.contiguous().flatten().view(torch.uint8).numpy()
        return rows.reshape(len(tensor), rows.size // max(len(tensor), 1))


@functools.lru_cache(maxsize=16)
def _weights(number: int, words: int) -> Contents:
    """Odd numbers, always the same."""
    drawn = np.random.default_rng([_WEIGHTS_SEED, number]).integers(2**63, size=words, dtype=np.uint64)
    return drawn * np.uint64(2) + np.uint64(1)
