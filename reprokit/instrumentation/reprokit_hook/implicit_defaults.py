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
import sys
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
                encoding = watch.value(site, _encoding if encoding is None else _encoding_of_the_locale)
        return natural(file, mode, buffering, encoding, *args, **options)

    builtins.open = opened
    io.open = opened
    if sys.flags.utf8_mode and sys.version_info >= (3, 11):
        _encodings_that_are_said_on_behalf(watch)


def _encodings_that_are_said_on_behalf(watch: Watch) -> None:
    """In UTF-8 mode, the default since 3.15, ``pathlib`` and others open with the encoding that this says."""
    natural = io.text_encoding

    @functools.wraps(natural)
    def text_encoding(encoding: Any, stacklevel: int = 2) -> Any:
        said = natural(encoding, stacklevel + 1)
        frame = own_reader() if encoding is None else None
        if frame is None or getattr(watch.busy, "quiet", False):
            return said
        return watch.value(site_of(frame, "encoding"), lambda: said)

    io.text_encoding = text_encoding


def _encoding() -> str:
    """What a file is read as where its encoding is not said."""
    return _natural_encoding(False)


def _encoding_of_the_locale() -> str:
    """What it is read as where "locale" is said: since 3.11 in UTF-8 mode too."""
    return _natural_encoding_of_the_locale()


_natural_encoding = locale.getpreferredencoding
_natural_encoding_of_the_locale = getattr(locale, "getencoding", _encoding)


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
