"""Before a verb is looked for: the extensions that the project names are loaded, and their verbs are known.

Where nothing names any, which is seen by a few files of the folders above, nothing is imported for it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from reprokit.cli import streams
from reprokit.feature import EXTENSIONS_FROM, Heading, Verb
from reprokit.regular_file import read_regular

_HELP = frozenset({"-h", "--help"})
_OPTION = "--extensions-from"
#: However TOML writes it: a key of a table, of an inline table, dotted, or in quotes.
_SETTING = re.compile(rb"extensions[\"']?\s*=")


def load_extensions(arguments: Sequence[str]) -> None:
    """Load what the project of the current folder names, or what the commit does that a gate was told.

    A list that cannot be met is a warning where nothing is judged: else no one could read how to mend it.

    Raises:
        UsageError: The list cannot be met.
    """
    commit = _commit_in(arguments) or os.environ.get(EXTENSIONS_FROM, "")
    if not commit and not _may_be_named():
        return
    from reprokit import extensions
    from reprokit.cli.verb_map import verbs
    from reprokit.errors import UsageError
    from reprokit.extension_list import load_named

    try:
        load_named(Path.cwd(), commit=commit, warn=lambda text: streams.say(f"Warning: {text}"))
        verbs()
    except UsageError as error:
        if not _only_tells(arguments):
            raise
        extensions.unload()
        streams.say(f"Warning: no extension is loaded: {' '.join(str(error).split())}")


def of_extensions(known: Collection[str]) -> dict[str, Verb]:
    """The verbs of the extensions that are loaded, under a heading of their own.

    Raises:
        UsageError: One of them is known already.
    """
    registry = sys.modules.get("reprokit.extensions")
    if registry is None:
        return {}
    found: dict[str, Verb] = {}
    for extension in registry.loaded():
        registry.must_be_new(extension, "verbs", known)
        verbs = extension.declaration.verbs
        found |= {name: replace(verb, heading=Heading.EXTENSIONS, now="") for name, verb in verbs.items()}
    return found


def must_be_of(commit: str | None) -> None:
    """Refuse to judge where the list that was loaded is not that of the commit which was named.

    Raises:
        UsageError: The option stands where it was not seen before the verb was.
    """
    from reprokit import extensions
    from reprokit.errors import UsageError

    if commit is not None and extensions.listed_by() != commit:
        raise UsageError(
            "the extensions of this process are not those of the commit",
            where=_OPTION,
            expected=commit,
            fix=f"write it as {_OPTION} COMMIT, once",
        )


def _commit_in(arguments: Sequence[str]) -> str:
    """The commit that ``verify`` is told; "" for every other verb."""
    if not arguments or arguments[0] != "verify":
        return ""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    found = ""
    for word, following in zip(own, (*own[1:], ""), strict=True):
        if word == _OPTION:
            found = following
        elif word.startswith(f"{_OPTION}="):
            found = word.removeprefix(f"{_OPTION}=")
    return found


def _only_tells(arguments: Sequence[str]) -> bool:
    """Whether nothing is run or judged: ``--version``, ``help``, ``doctor``, and ``--help`` of any verb.

    ``--help`` behind another option may be that option's value.
    """
    if not arguments or arguments[0] in {"--version", "help", "doctor"}:
        return True
    *words, last = arguments
    return last in _HELP and not any(word.startswith("-") for word in words)


def _may_be_named() -> bool:
    folder = Path.cwd()
    for one in (folder, *folder.parents):
        try:
            text = read_regular(one / "pyproject.toml")
        except OSError:
            continue
        if b"reprokit" in text and _SETTING.search(text):
            return True
    return False
