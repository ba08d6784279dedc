"""A file that a recipe declares under ``data``: what it must be, and where it can be fetched from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

#: Protocols that are answered on this machine, also with ``--offline``.
LOCAL = frozenset({"file", "memory"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSource:
    """One declared file.

    Attributes:
        name: What the program calls it; a folder of that name where it is unpacked.
        sha256: ``sha256:<64 hex digits>`` of the file as it is fetched.
        num_bytes: Its size.
        places: URLs, tried in this order.
        unpack: ``zip`` or ``tar``, or None for a file that is used as it is.
        prepared_by: The step that makes it, where it is not fetched; else "".
        form: How it is read as a table; "" for what its name says.
        licence: Under which licence it is published, as the recipe states; "" where it does not.
        redistribute: Whether that licence lets it be passed on.
        where: ``file:line`` of its declaration.
    """

    name: str
    sha256: str
    num_bytes: int
    places: tuple[str, ...]
    unpack: str | None = None
    prepared_by: str = ""
    form: str = ""
    licence: str = ""
    redistribute: bool = True
    where: str = ""

    @property
    def hex_digits(self) -> str:
        return self.sha256.removeprefix("sha256:")

    @staticmethod
    def of_entry(name: str, entry: Mapping[str, Any], *, project: Path, where: str) -> DataSource:
        """A validated entry of a recipe; its ``path`` is one below the project's folder."""
        urls = entry.get("url") or []
        places = (urls,) if isinstance(urls, str) else tuple(urls)
        if entry.get("path"):
            places = ((project.resolve() / entry["path"]).as_uri(),)
        return DataSource(
            name=name,
            sha256=entry["sha256"],
            num_bytes=entry["size"],
            places=places,
            unpack=entry.get("unpack"),
            prepared_by=entry.get("prepared") or "",
            form=entry.get("form") or "",
            licence=entry.get("licence") or "",
            redistribute=entry.get("redistribute", True),
            where=where,
        )


def protocol_of(url: str) -> str:
    """What stands before ``://``, in lower case."""
    return urlsplit(url).scheme.lower()
