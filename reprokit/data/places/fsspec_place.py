"""Reads a file from a place that only fsspec reaches: ``gs://``, ``s3://``, ``hf://``, ``memory://``.

fsspec and what it needs for a protocol are imported only when such a URL is read.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from reprokit.data.transfer import BLOCK_BYTES, PlaceRefusedError, Transfer, TransferCutError
from reprokit.errors import MissingExtraError, UsageError
from reprokit.redaction import redact_text

PROTOCOLS = frozenset({"gs", "s3", "hf", "memory"})
_PACKAGES = "s3fs for s3://, gcsfs for gs://, huggingface_hub for hf://"


@contextmanager
def opened(url: str, *, offset: int) -> Iterator[Transfer]:
    """The file from an offset.

    Raises:
        TransferCutError: The storage failed on the way.
        PlaceRefusedError: There is no such file, or it may not be read.
        UsageError: fsspec, or its package for this protocol, is not installed.
    """
    system, path = _located(url)
    try:
        size = system.info(path).get("size")
        stream = system.open(path, "rb")
    except (FileNotFoundError, PermissionError, IsADirectoryError) as error:
        raise PlaceRefusedError(f"the storage does not have it: {type(error).__name__}") from error
    except Exception as error:  # each package raises its own
        raise TransferCutError(f"the storage failed: {_sentence(error)}") from error
    with stream:
        yield Transfer(begins_at=offset, total_bytes=size, blocks=_blocks(stream, offset=offset))


def _located(url: str) -> tuple[Any, str]:
    try:
        url_to_fs = importlib.import_module("fsspec.core").url_to_fs
    except ImportError as error:
        fix = "pip install 'reprokit-verify[remote]'"
        raise MissingExtraError("fsspec is not installed", where=redact_text(url), fix=fix) from error
    try:
        system, path = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise UsageError(
            f"this URL cannot be reached: {_sentence(error)}",
            where=redact_text(url),
            fix=f"install the package that fsspec needs for it ({_PACKAGES})",
        ) from error
    return system, str(path)


def _blocks(stream: Any, *, offset: int) -> Iterator[bytes]:
    try:
        stream.seek(offset)
        while block := stream.read(BLOCK_BYTES):
            yield bytes(block)
    except Exception as error:  # each package raises its own
        raise TransferCutError(f"the storage failed: {_sentence(error)}") from error


def _sentence(error: Exception) -> str:
    return f"{type(error).__name__}: {redact_text(str(error))[:200]}"
