"""What the ``.gitignore`` files of a commit leave out; no other list of exclusions counts.

https://git-scm.com/docs/gitignore#_pattern_format

    >>> IgnoreRules({"": "*.log"}).leaves_out("sub/x.log", is_folder=False)
    True
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

#: A pattern with more would take a regular expression hours: runs of stars in all, and between two slashes.
_MOST_STARS, _MOST_BETWEEN_SLASHES = 6, 3
_EVERYTHING = re.compile(".*", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    pattern: re.Pattern[str]
    again: bool
    folders_only: bool


class IgnoreRules:
    """The rules of every ``.gitignore`` of a commit: folder → text; "" is the root."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._rules = {folder: _rules(text) for folder, text in texts.items()}

    def leaves_out(self, path: str, *, is_folder: bool) -> bool:
        """Whether a path from the root is left out, given that no folder above it is."""
        folder = path
        while folder:
            folder = folder.rpartition("/")[0]
            below = path[len(folder) :].lstrip("/")
            for rule in reversed(self._rules.get(folder, ())):
                if rule.pattern.fullmatch(below) and (is_folder or not rule.folders_only):
                    return not rule.again
        return False


def _rules(text: str) -> tuple[_Rule, ...]:
    lines = (line.removesuffix("\r") for line in text.split("\n"))  # as git does: at nothing else
    return tuple(rule for line in lines if (rule := _rule(line)) is not None)


def _rule(line: str) -> _Rule | None:
    line = re.sub(r"(?<!\\) +$", "", line)
    again = line.startswith("!")
    line = line.removeprefix("!")
    folders_only = line.endswith("/")
    line = line.removesuffix("/")
    if not line or (line.startswith("#") and not again):
        return None
    if _too_many_stars(line) or "[[:" in line or "--" in line:
        return _not_understood(again=again)
    anywhere = "/" not in line
    expression = ("(?:.*/)?" if anywhere else "") + _translated(line.removeprefix("/"))
    try:
        pattern = re.compile(expression, re.DOTALL)
    except re.error:
        return _not_understood(again=again)
    return _Rule(pattern=pattern, again=again, folders_only=folders_only)


def _not_understood(*, again: bool) -> _Rule | None:
    """The rule of a line that is not understood: rather one file too many is looked at than one hidden."""
    return _Rule(pattern=_EVERYTHING, again=True, folders_only=False) if again else None


def _too_many_stars(glob: str) -> bool:
    runs = [len(re.findall(r"\*+", part)) for part in glob.split("/")]
    return sum(runs) > _MOST_STARS or max(runs) > _MOST_BETWEEN_SLASHES


@lru_cache(maxsize=4096)
def _translated(glob: str) -> str:
    parts, at = [], 0
    while at < len(glob):
        rest = glob[at:]
        before = at == 0 or glob[at - 1] == "/"
        if before and rest.startswith("**/"):
            parts.append("(?:.*/)?")
            at += 3
        elif before and rest == "**":
            parts.append(".+")
            at += 2
        elif rest[0] == "*":
            stars = len(rest) - len(rest.lstrip("*"))
            parts.append("[^/]*")
            at += stars
        elif rest[0] == "?":
            parts.append("[^/]")
            at += 1
        elif rest[0] == "[" and (found := re.match(r"\[([!^]?)(\]?(?:\\.|[^\]\\])*)\]", rest)):
            inside = re.sub(r"(?<!\\)([\[&~|])|^\]", r"\\\g<0>", found[2])
            parts.append(f"(?!/)[{'^' if found[1] else ''}{inside}]")
            at += found.end()
        elif rest[0] == "\\" and len(rest) > 1:
            parts.append(re.escape(rest[1]))
            at += 2
        else:
            parts.append(re.escape(rest[0]))
            at += 1
    return "".join(parts)
