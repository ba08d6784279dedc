"""Which images this host has built, by ID: a label is what anyone may write on an image.

>>> note("sha256:8f0d…", content="sha256:c0ff…", cache=cache)
>>> was_built("sha256:8f0d…", content="sha256:c0ff…", cache=cache)
True
"""

from __future__ import annotations

from pathlib import Path

from reprokit.layout import read_json
from reprokit.workspace import cannot_write, write_json


def note(image_id: str, *, content: str, cache: Path) -> None:
    """Write down that this host has built an image, and from what (the digest of everything in it).

    Raises:
        WorkspaceError: The cache cannot be written.
    """
    path = _path(image_id, cache=cache)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error
    write_json(path, {"image": image_id, "content": content})


def was_built(image_id: str, *, content: str | None = None, cache: Path) -> bool:
    """Whether this host has built that image; with ``content``, whether from that."""
    known = read_json(_path(image_id, cache=cache))
    return known.get("image") == image_id and content in {None, known.get("content")}


def _path(image_id: str, *, cache: Path) -> Path:
    return cache / "builds" / f"{image_id.removeprefix('sha256:')}.json"
