"""Log formats that extensions bring: asked after all built-in ones, and every record of theirs looked at."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit import extensions
from reprokit.adapters.reading import Adapter, Reading
from reprokit.core import problems
from reprokit.errors import MetricsError

#: Behind all built-in formats that go by names, before those that go by content.
_ORDER = 90
_VALUES = (str, int, float, bool, type(None))


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFormat:
    """A format of logs.

    Attributes:
        patterns: File names that it reads, in the manner of ``fnmatch``, the likeliest first.
        read: The records of a file, in order: a ``Reading`` each, whose ``record`` has ``step`` and numbers
            in full precision. Raises ``MetricsError`` where nothing can be read.
        reads: Whether a file of such a name is of this format.
        whole_folder: Whether all its files in one folder are one source; ``read`` then gets the folder.

    >>> form = LogFormat(patterns=("*.pbslog",), read=lambda path: iter(()))
    >>> form.whole_folder
    False
    """

    patterns: Sequence[str]
    read: Callable[[Path], Iterator[Reading]]
    reads: Callable[[Path], bool] = lambda path: True  # noqa: ARG005
    whole_folder: bool = False


@dataclass(slots=True, kw_only=True)
class ForeignAdapter:
    """A log format of an extension as an ``Adapter``."""

    NAME: str
    ORDER: int
    PATTERNS: Sequence[str]
    WHOLE_FOLDER: bool
    form: LogFormat
    label: str

    def reads(self, path: Path) -> bool:
        """See ``Adapter``."""
        try:
            return bool(self.form.reads(path))
        except Exception as error:  # of others: a fault is named, whatever it is
            raise self._faulty(path, error) from error

    def read(self, path: Path) -> Iterator[Reading]:
        """See ``Adapter``; a record that no reader of ours could give is refused."""
        try:
            for reading in self.form.read(path):
                yield _checked(reading)
        except MetricsError:
            raise
        except Exception as error:  # the same
            raise self._faulty(path, error) from error

    def _faulty(self, path: Path, error: Exception) -> MetricsError:
        return MetricsError(
            f"the log format {self.NAME} of the extension {self.label} is faulty: "
            f"{type(error).__name__}: {error}",
            where=str(path),
        )


def foreign_adapters(core: Collection[Adapter]) -> tuple[ForeignAdapter, ...]:
    """The log formats of the extensions that are loaded.

    Raises:
        UsageError: One is called as a built-in format.
    """
    loaded = tuple(f"{one.label} {one.digest}" for one in extensions.loaded())
    return _adapters(loaded, frozenset(adapter.NAME for adapter in core)) if loaded else ()


@functools.cache
def _adapters(_loaded: tuple[str, ...], core: frozenset[str]) -> tuple[ForeignAdapter, ...]:
    return tuple(
        as_adapter(name, form, label=extension.label)
        for extension, name, form in extensions.brought("log_formats", core=core, form=LogFormat)
    )


def as_adapter(name: str, form: LogFormat, *, label: str) -> ForeignAdapter:
    """A format as the tool reads it."""
    return ForeignAdapter(
        NAME=name,
        ORDER=_ORDER,
        PATTERNS=tuple(pattern.lower() for pattern in form.patterns),
        WHOLE_FOLDER=form.whole_folder,
        form=form,
        label=label,
    )


def _checked(reading: Any) -> Reading:
    if problem := _problem(reading):
        raise TypeError(problem)
    found: Reading = reading
    return found


def _problem(reading: Any) -> str:
    if not isinstance(reading, Reading):
        return f"it gave a {type(reading).__name__}, not a Reading"
    if any(kind not in problems.KINDS for kind, _ in reading.notes):
        return f"it gave notes that mean nothing: {reading.notes!r}"
    if reading.record is None:
        return "" if reading.notes else "it gave neither a record nor why there is none"
    wrong = (n for n, value in reading.record.items() if type(n) is not str or type(value) not in _VALUES)
    return next((f"the value of {name!r} is not text, a number, true, false or null" for name in wrong), "")
