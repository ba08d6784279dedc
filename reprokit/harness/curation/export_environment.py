"""An environment record found, with the lock that belongs to it, and turned into files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from reprokit import layout
from reprokit.capture.export import Exported, export
from reprokit.capture.read_record import read_record
from reprokit.core.environment_record import EnvironmentRecord
from reprokit.core.evidence import fact
from reprokit.core.records import digest_bytes
from reprokit.errors import ImageError
from reprokit.images import locks


def export_environment(path: Path, *, form: str, root: Path) -> Exported:
    """Files that rebuild a record's environment; the project's lock gives hashes where it is the record's."""
    record = read_record(path)
    known = _lock_file(root)
    variant = _variant_of(record, known)
    base = known.based_for(variant) if known and variant else known
    image = base.registry.title if base and _was_in_image(record, base) else None
    return export(record, form=form, lock=_lock_of(record, path, variant), base=image)


def _variant_of(record: EnvironmentRecord, known: locks.Lock | None) -> locks.Variant | None:
    return known.variants.get(str(fact(record, "image.variant"))) if known else None


def _lock_of(record: EnvironmentRecord, path: Path, variant: locks.Variant | None) -> str | None:
    """The record's own lock: the copy in its run folder, or the project's, while it is the same."""
    wanted = fact(record, "image.lock_digest")
    for place in _places(path, variant):
        if place.is_file() and digest_bytes(content := place.read_bytes()) == wanted:
            return content.decode("utf-8")
    return None


def _places(path: Path, variant: locks.Variant | None) -> Iterator[Path]:
    yield (path if path.is_dir() else path.parent) / layout.LOCK
    if variant is not None:
        yield variant.packages_path


def _was_in_image(record: EnvironmentRecord, known: locks.Lock) -> bool:
    """Whether the project's base is of the record's distribution and Python."""
    system, minor = str(fact(record, "inside.os.name")), str(fact(record, "inside.python.minor"))
    release = known.registry.tag.rpartition("-")[2]
    return f"({release})" in system and known.registry.tag.startswith(f"{minor}-")


def _lock_file(root: Path) -> locks.Lock | None:
    try:
        return locks.read_lock(root)
    except ImageError:
        return None
