"""The options of the two sides of ``compare``: each once for ``a`` and once for ``b``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import click

from reprokit.cli.help_pages import Option, titled

#: End of the option → what it is called in ``SideAsked``, how it is read, and its line of help.
_OF_A_SIDE: Mapping[str, tuple[str, Mapping[str, Any], str]] = {
    "set": ("overrides", {"multiple": True, "metavar": "PATH=VALUE"}, "Override a setting on side {}."),
    "args": ("arguments", {"metavar": "WORDS"}, "Add these words to the command of side {}."),
    "with": ("packages", {"multiple": True, "metavar": "PACKAGE==V"}, "Solve side {} with this version."),
    "variant": ("variant", {"metavar": "NAME"}, "Run side {} in this environment."),
    "lock": ("lock", {"metavar": "FILE"}, "Run side {} with the packages of this lock."),
    "python": ("python", {"metavar": "X.Y"}, "Run side {} with this version of Python."),
    "threads": ("threads", {"type": click.IntRange(1, 1024), "metavar": "N"}, "Threads of side {}."),
    "cpu": ("cpu", {"metavar": "MODEL"}, "Emulate this CPU for side {}, such as Haswell."),
}


def _options() -> Iterator[Callable[[Any], Any]]:
    yield click.option("--a", "a", metavar="REV", help="The commit of side a  [default: HEAD].")
    yield click.option("--b", "b", metavar="REV", help="The commit of side b  [default: the working tree].")
    for end, (name, how, text) in _OF_A_SIDE.items():
        for side in ("a", "b"):
            yield click.option(f"--{side}-{end}", f"{side}_{name}", cls=Option, help=text.format(side), **how)


side_options = titled("The two sides", *_options())


def typed_side_options(options: Mapping[str, Any]) -> list[str]:
    """Those that were given, as they are typed."""
    found = [f"--{side}" for side in ("a", "b") if options.get(side) is not None]
    for end, (name, _, _) in _OF_A_SIDE.items():
        found += [f"--{side}-{end}" for side in ("a", "b") if options.get(f"{side}_{name}") not in (None, ())]
    return found
