"""Values from other programs, system files and temporary names."""

from __future__ import annotations

import builtins
import functools
import io
import os
import shutil
from typing import Any

from .frames import Site, own_reader, site_of
from .trace_writer import quiet
from .watch import Watch

_ENTROPY = {"/dev/urandom", "/dev/random"}


def watch_subprocess(module: Any, watch: Watch) -> None:
    """The output of other programs."""
    natural = module.Popen.communicate

    @functools.wraps(natural)
    def communicate(self: Any, input: Any = None, timeout: Any = None) -> Any:  # noqa: A002 - subprocess's name
        frame = own_reader()
        if frame is None:
            return natural(self, input, timeout)
        real = natural(self, input, timeout)
        return watch.value(site_of(frame, "subprocess"), lambda: real)

    module.Popen.communicate = communicate


def watch_temporary(module: Any, watch: Watch) -> None:
    """Names of temporary folders; where pinned the other run's, made again."""
    natural = module.mkdtemp

    @functools.wraps(natural)
    def mkdtemp(suffix: Any = None, prefix: Any = None, dir: Any = None) -> Any:  # noqa: A002 - tempfile's name
        frame = own_reader()
        if frame is None or isinstance(suffix or prefix or dir, bytes):
            return natural(suffix, prefix, dir)

        def again(path: str) -> str:
            shutil.rmtree(path, ignore_errors=True)
            os.mkdir(path, 0o700)
            return path

        site = site_of(frame, "temporary_name")
        return watch.value(site, lambda: natural(suffix, prefix, dir), decode=again)

    module.mkdtemp = mkdtemp


def watch_open(watch: Watch) -> None:
    """Files of the system that are another every time: entropy, and what it tells of itself."""
    natural = io.open

    @functools.wraps(natural)
    def opened(file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
        if isinstance(file, (str, os.PathLike)):
            path = os.fspath(file)
            if isinstance(path, str) and (path in _ENTROPY or path.startswith(("/proc/", "/sys/"))):
                frame = own_reader()
                if frame is not None and not getattr(watch.busy, "quiet", False):
                    return _system_file(watch, path, mode, site_of(frame, "entropy"))
        return natural(file, mode, *args, **options)

    def _system_file(watch: Watch, path: str, mode: str, site: Site) -> Any:
        if path in _ENTROPY:
            return _Entropy(watch, site)
        with quiet(watch), natural(path, "rb") as stream:
            content = stream.read()
        text = watch.value(
            ("file_read", *site[1:]),
            lambda: content.decode("utf-8", "surrogateescape"),
            encode=lambda text: [path, text],
            decode=lambda both: _of_the_file(both, path),
        )
        return io.BytesIO(text.encode("utf-8", "surrogateescape")) if "b" in mode else io.StringIO(text)

    builtins.open = opened
    io.open = opened


def _of_the_file(both: Any, path: str) -> str:
    """What the other run read, if it was in this very file: a process's is another one in each run.

    Raises:
        ValueError: It was in another one.
    """
    there, text = both
    if there != path:
        raise ValueError(f"the other run read {there} here")
    return str(text)


class _Entropy(io.RawIOBase):
    """``/dev/urandom`` of this call site."""

    def __init__(self, watch: Watch, site: Site) -> None:
        super().__init__()
        self._watch, self._site = watch, site

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self._watch.entropy(self._site, max(size, 0))

    def readinto(self, buffer: Any) -> int:
        buffer[:] = self.read(len(buffer))
        return len(buffer)
