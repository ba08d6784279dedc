"""Which Python an environment has: what is asked for, within what the project's own files allow.

>>> choose_python([Wish("3.10", ".python-version")], [], command=None).sentence
'3.10, as .python-version says'
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reprokit.capture.python_of_command import start_of
from reprokit.errors import UsageError
from reprokit.features.locking.python_limits import PythonLimit
from reprokit.images import interpreters
from reprokit.images.interpreters import SUPPORTED
from reprokit.regular_file import read_regular

VERSION_FILE = ".python-version"
_VERSION = re.compile(
    r"(?:cpython[-@]?|python-?)?(\d\.\d+)(?:\.\d+(?:a|b|rc)?\d*)?(?:-dev)?(t?)(?:-linux.*)?"
)
_NO_CPYTHON = re.compile(r"(?:pypy|graalpy|jython|ironpython|micropython|stackless)\S*")
#: Where nothing decides: the one that both bases have, then what is nearest to it.
_PREFERRED = (*SUPPORTED[SUPPORTED.index("3.11") :], *reversed(SUPPORTED[: SUPPORTED.index("3.11")]))


@dataclass(frozen=True, slots=True)
class Wish:
    """A version that is asked for, and by what: ``--python``, a file."""

    python: str
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandPython:
    """The Python that a command starts by itself: its minor version, or why that is not known."""

    python: str = ""
    unknown: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenPython:
    """A minor version, and why it is the one."""

    python: str
    because: str

    @property
    def sentence(self) -> str:
        return f"{self.python}{self.because}"


def choose_python(
    wishes: Sequence[Wish], limits: Sequence[PythonLimit], *, command: CommandPython | None
) -> ChosenPython:
    """The first wish; without one the command's own Python; where files do not allow that, one that they do.

    Args:
        wishes: What is asked for, the strongest first.
        limits: What the project's files allow.
        command: The Python that the program's command starts; None where no command is known.

    Raises:
        UsageError: The wish contradicts a file, or two files contradict each other; both are named.
    """
    allowed = _allowed(limits)
    if wishes:
        wish = wishes[0]
        _must_be_supported(wish)
        if against := next((one for one in limits if not one.allows(wish.python)), None):
            raise UsageError(
                "the Python that is asked for is not one that the project allows",
                where=against.where,
                expected=f"Python {against.range} ({against.where})",
                actual=f"Python {wish.python} ({wish.where})",
                fix="change one of the two",
            )
        return ChosenPython(python=wish.python, because=f", as {wish.where} says")
    if command and command.python and command.python.rstrip("t") in allowed:
        return ChosenPython(python=command.python, because=", which the command starts here")
    chosen = next((one for one in allowed if command and interpreters.on_this_host(one)), allowed[0])
    different = {one.range.replace(" ", ""): one for one in reversed(limits)}
    said = "; ".join(f"{one.where} asks for {one.range}" for one in limits if one in different.values())
    why = said or "no file says which"
    if command is not None:
        own = f"the command starts {command.python} here" if command.python else command.unknown
        why = f"{why}, and {own}"
    return ChosenPython(python=chosen, because=f": {why}")


def version_file(root: Path) -> Wish | None:
    """What ``.python-version`` asks for; None where there is none, or it names no version.

    Raises:
        UsageError: It asks for something that is no CPython.
    """
    try:
        text = read_regular(root / VERSION_FILE).decode("utf-8", "replace")
    except OSError:
        return None
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    first = lines[0] if lines else ""
    if _NO_CPYTHON.fullmatch(first):
        raise UsageError("programs run on CPython only", where=VERSION_FILE, actual=first, fix="--python 3.N")
    found = _VERSION.fullmatch(first)
    return Wish(found[1] + found[2], VERSION_FILE) if found else None


def python_of(command: Sequence[str], *, root: Path) -> CommandPython:
    """The Python that a command starts where it is typed.

    What only a manager of environments finds is asked where that changes nothing: uv and conda, no others.
    """
    if tuple(command[:2]) == ("uv", "run"):  # asked by the uv that the tool brings, which makes nothing
        found = (
            interpreters.describe([path], folder=root) if (path := interpreters.of_uv(folder=root)) else None
        )
        return CommandPython(python=found.minor) if found else CommandPython(unknown="uv finds none here")
    start = start_of(command, folder=root)
    if start.unknown:
        return CommandPython(unknown=start.unknown)
    words = start.words
    if start.is_managed and words[1:2] == ("run",) and "conda" not in words[0] and "mamba" not in words[0]:
        return CommandPython(unknown=f"which Python {words[0]} starts is not known before it makes one")
    found = interpreters.describe(words, folder=root)
    if found is None:
        return CommandPython(unknown=f"{words[-1]} does not run here as a CPython")
    return CommandPython(python=found.minor)


def as_version(text: str) -> str:
    """A minor version as a person writes it: ``3.12``, ``3.12.1``, ``3.14t``.

    Raises:
        UsageError: It is none.
    """
    found = _VERSION.fullmatch(text.strip())
    if found is None:
        raise UsageError("not a version of Python", where="--python", expected="3.N", actual=text)
    return found[1] + found[2]


def _must_be_supported(wish: Wish) -> None:
    if wish.python.rstrip("t") not in SUPPORTED:
        raise UsageError(
            "programs run on Python 3.8 to 3.15",
            where=wish.where,
            actual=f"Python {wish.python}",
        )


def _allowed(limits: Sequence[PythonLimit]) -> tuple[str, ...]:
    """What all files allow, the preferred first.

    Raises:
        UsageError: Nothing.
    """
    found = tuple(one for one in _PREFERRED if all(limit.allows(one) for limit in limits))
    if found:
        return found
    raise UsageError(
        "no Python that this tool knows fits these files",
        where=", ".join(limit.where for limit in limits),
        expected=f"one of {SUPPORTED[0]} to {SUPPORTED[-1]}",
        actual="; ".join(f"{limit.range} ({limit.where})" for limit in limits),
        fix="change the range in one of the files",
    )
