"""Folders and archives of images as a table: a row a file, with digests of its bytes and of its pixels.

The class of an image is the name of its folder. Two files of equal pixels are one image, whatever their
format, name and metadata. Pixels are those that Pillow decodes; of lossy formats another version of its
libraries may decode others.
"""

from __future__ import annotations

import hashlib
import io
import struct
import warnings
from pathlib import Path, PurePosixPath
from typing import Any

from reprokit.data.folders import each_file
from reprokit.data.optional import imported
from reprokit.errors import UsageError

FORM = "images"
#: Pillow's name of a format → how its files end. Formats that start another program (EPS) are not among them.
_FORMATS = {
    "PNG": (".png",),
    "JPEG": (".jpg", ".jpeg"),
    "GIF": (".gif",),
    "BMP": (".bmp",),
    "TIFF": (".tif", ".tiff"),
    "WEBP": (".webp",),
    "PPM": (".ppm", ".pgm", ".pbm", ".pnm"),
}
_ENDINGS = frozenset(ending for endings in _FORMATS.values() for ending in endings)
#: Modes of at most eight bits a channel, which RGBA holds without loss.
_AS_RGBA = frozenset({"1", "L", "LA", "P", "PA", "RGB", "RGBA"})
#: What Pillow raises for a file that is damaged or too large.
_DAMAGED = (OSError, ValueError, SyntaxError, EOFError, struct.error, TypeError, IndexError, OverflowError)


def rows_of(place: Path) -> list[dict[str, Any]]:
    """A row a file, by name: ``file``, ``class``, ``mode``, ``width``, ``height``, ``frames``.

    ``bytes`` and ``pixels`` are their SHA-256. Files that end like no image are left out.

    Raises:
        UsageError: Pillow is not installed, a file that ends like an image cannot be decoded, or there is
            none.
    """
    pillow = imported("PIL.Image", package="Pillow", path=place)
    rows: list[dict[str, Any]] = []

    def add(name: str, content: bytes) -> None:
        if PurePosixPath(name).suffix.lower() in _ENDINGS:
            rows.append(_row(pillow, name, content, where=f"{place}: {name}"))

    each_file(place, add)
    if not rows:
        raise UsageError("it holds no image", where=str(place), expected=", ".join(sorted(_ENDINGS)))
    return sorted(rows, key=lambda row: str(row["file"]))


def _row(pillow: Any, name: str, content: bytes, *, where: str) -> dict[str, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # one of them says that an image is as large as an attack
            with pillow.open(io.BytesIO(content), formats=list(_FORMATS)) as image:
                num_frames, (width, height), mode = getattr(image, "n_frames", 1), image.size, image.mode
                pixels = _digest_of_pixels(image, num_frames)
    except (*_DAMAGED, pillow.DecompressionBombError, Warning) as error:
        raise UsageError(f"the image cannot be decoded: {str(error)[:200]}", where=where) from error
    return {
        "file": name,
        "class": PurePosixPath(name).parent.name,
        "mode": mode,
        "width": width,
        "height": height,
        "frames": num_frames,
        "bytes": hashlib.sha256(content).hexdigest(),
        "pixels": pixels,
    }


def _digest_of_pixels(image: Any, num_frames: int) -> str:
    """SHA-256 of size and pixels of each frame; the same for an image with and without a palette or alpha."""
    sha256 = hashlib.sha256()
    for number in range(num_frames):
        if num_frames > 1:
            image.seek(number)
        frame = image.convert("RGBA") if image.mode in _AS_RGBA else image
        sha256.update(f"{frame.mode} {frame.width} {frame.height}\n".encode() + frame.tobytes())
    return sha256.hexdigest()
