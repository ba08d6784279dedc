"""Conditions that come in through a default: an encoding, the folder for temporary files, a pool's size.

The program's line asks for none of them: a library reads them on its behalf. They are recorded at that line,
and replayed there.
"""

from __future__ import annotations

import builtins
import functools
import io
import locale
import os
from contextlib import suppress
from typing import Any

from . import imports
from .frames import own_reader, site_of
from .system_values import wrap
from .watch import Watch

_BINARY, _NOT_SAID = "b", (None, "locale")
_OF_THE_LOCALE = ("getpreferredencoding", "getlocale", "getencoding", "strxfrm", "localeconv")


def watch(watch: Watch) -> None:
    """Wrap all of them."""
    _encodings(watch)
    for name in filter(locale.__dict__.__contains__, _OF_THE_LOCALE):  # getencoding came with 3.11
        wrap(locale, name, "locale", watch)
    imports.after("tempfile", lambda module: _temporary_folder(module, watch))


def _encodings(watch: Watch) -> None:
    natural = io.open

    @functools.wraps(natural)
    def opened(
        file: Any, mode: Any = "r", buffering: Any = -1, encoding: Any = None, *args: Any, **options: Any
    ) -> Any:
        if encoding in _NOT_SAID and _BINARY not in mode and isinstance(file, (str, os.PathLike)):
            frame = own_reader()
            if frame is not None and not getattr(watch.busy, "quiet", False):
                site = site_of(frame, "encoding")
                encoding = watch.value(site, _encoding)
        return natural(file, mode, buffering, encoding, *args, **options)

    builtins.open = opened
    io.open = opened


def _encoding() -> str:
    """What a file is read as where its encoding is not said."""
    return _natural_encoding(False)


_natural_encoding = locale.getpreferredencoding


def _temporary_folder(module: Any, watch: Watch) -> None:
    natural = module.gettempdir

    def again(path: str) -> str:
        with suppress(OSError):
            os.makedirs(path, exist_ok=True)
        return path

    @functools.wraps(natural)
    def gettempdir() -> Any:
        frame = own_reader()
        if frame is None or getattr(watch.busy, "quiet", False):
            return natural()
        return watch.value(site_of(frame, "temporary_folder"), natural, decode=again)

    module.gettempdir = gettempdir
