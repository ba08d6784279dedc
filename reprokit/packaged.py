"""What the installed package brings besides code: what images are made from, and pages of the documentation.

>>> packaged("images") / "Dockerfile"
PosixPath('/…/reprokit/packaged/images/Dockerfile')
>>> topics()["read-a-verdict"].title
'Read a verdict'
"""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from reprokit.errors import UsageError

#: The kinds of pages, in the order in which they are listed.
KINDS = ("tutorial", "how-to", "reference", "explanation", "evidence")
_PACKAGE = Path(__file__).resolve().parent
_LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A page: its kind, its first heading, and its file."""

    kind: str
    title: str
    path: Path

    def text(self) -> str:
        """The page in Markdown; a link to another page names its command, any other its address."""
        known = topics()
        return _LINK.sub(lambda link: _as_command(link, known), self.path.read_text(encoding="utf-8"))


def _as_command(link: re.Match[str], known: Collection[str]) -> str:
    name, extension = posixpath.splitext(posixpath.basename(link["target"].partition("#")[0]))
    is_topic = "://" not in link["target"] and extension == ".md" and name in known
    if "://" in link["target"]:
        return f"{link['text']} ({link['target']})"
    return f"{link['text']} (`reprokit help {name}`)" if is_topic else link["text"]


def packaged(name: str) -> Path:
    """The folder ``images`` or ``docs``: inside an installed package, or next to it in a checkout."""
    inside = _PACKAGE / "packaged" / name
    return inside if inside.is_dir() else _PACKAGE.parent / name


def topics() -> dict[str, Topic]:
    """Name → page, by kind."""
    found = {}
    for kind in KINDS:
        for path in sorted((packaged("docs") / kind).glob("*.md")):
            with path.open(encoding="utf-8") as page:
                title = page.readline().removeprefix("#").strip()
            found[path.stem] = Topic(kind=kind, title=title, path=path)
    return found


def topic(name: str, *, others: Iterable[str] = ()) -> Topic:
    """The page of that name.

    Args:
        name: That of its file.
        others: What else `reprokit help` knows; one may have been meant.

    Raises:
        UsageError: There is none; the message names the nearest.
    """
    known = topics()
    if name not in known:
        near = difflib.get_close_matches(name, [*known, *others], n=1)
        fix = f"did you mean `reprokit help {near[0]}`?" if near else "`reprokit help` lists all topics"
        raise UsageError(f"there is no help topic {name!r}", fix=fix)
    return known[name]
