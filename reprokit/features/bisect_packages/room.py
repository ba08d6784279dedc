"""The environments that a search makes, held within a limit on disk: the oldest go first."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from reprokit.core.records import Realisation
from reprokit.errors import CannotRunError
from reprokit.images import housekeeping, wheels
from reprokit.images.building import image_store
from reprokit.images.housekeeping import Held
from reprokit.images.locks import Variant
from reprokit.images.packages import Target
from reprokit.reports.tables import bytes_text
from reprokit.session import Progress


class Room:
    """Keeps what a search adds to the cache below a limit.

    Args:
        cache: The cache folder.
        most_bytes: The limit.
        progress: Told what is removed.
        images: The images that were there before the search, where it makes any.
    """

    def __init__(
        self, *, cache: Path, most_bytes: int, progress: Progress, images: Iterable[str] = ()
    ) -> None:
        self._cache = cache
        self.most_bytes = most_bytes
        self._progress = progress
        self._made: list[tuple[Held, ...]] = []
        self._ends: list[tuple[Held, ...]] = []
        self._there = _there(cache) | set(images)
        self.one_bytes = 0

    @property
    def used_bytes(self) -> int:
        """What was added and is still there."""
        return sum(_size_of(one) for one in (*self._ends, *self._made))

    @property
    def num_kept(self) -> int:
        """How many environments were added and are still there."""
        return len(self._ends) + len(self._made)

    def make_room(self) -> None:
        """Remove the oldest until one more has room.

        Raises:
            CannotRunError: There is none left to remove.
        """
        while self.used_bytes + self.one_bytes > self.most_bytes:
            if not self._made:
                raise CannotRunError(
                    "the environments of the search do not fit",
                    expected=f"at most {bytes_text(self.most_bytes)}, from --max-disk",
                    actual=f"{bytes_text(self.used_bytes + self.one_bytes)} with one more",
                    fix="a larger --max-disk",
                )
            oldest = self._made.pop(0)
            for held in oldest:
                housekeeping.remove(held, self._cache)
                self._there.discard(held.reference)
            self._progress.note(f"removed an environment that was judged: {bytes_text(_size_of(oldest))}")

    def add(self, realisation: Realisation, variant: Variant, target: Target, *, is_end: bool) -> None:
        """Count an environment that was made now; one that was there before is not to be removed."""
        held = list[Held]()
        if realisation.kind == "image":
            size = _image_bytes(realisation.reference)
            held.append(_held("image", realisation.reference, size))
        else:
            folder = Path(realisation.reference)
            held.append(_held("venv", str(folder), housekeeping.size_of(folder)))
        from_wheels = wheels.folder_of(variant, target, cache=self._cache)
        if from_wheels.is_dir():
            held.append(_held("wheels", str(from_wheels), housekeeping.size_of(from_wheels)))
        self.one_bytes = max(self.one_bytes, _size_of(held))
        new = tuple(one for one in held if one.reference not in self._there)
        self._there |= {one.reference for one in new}
        if new:
            (self._ends if is_end else self._made).append(new)


def _held(kind: str, reference: str, size_bytes: int) -> Held:
    return Held(kind=kind, reference=reference, size_bytes=size_bytes, last_used=0.0, current=False)


def _size_of(held: tuple[Held, ...] | list[Held]) -> int:
    return sum(one.size_bytes for one in held)


def _there(cache: Path) -> set[str]:
    """What the cache held before."""
    return {str(folder) for part in ("venvs", "wheels") for folder in (cache / part).glob("*")}


def images_there() -> frozenset[str]:
    """The images of environments that the engine has now.

    Raises:
        EngineError: No engine answers.
    """
    with image_store.connected() as client:
        return frozenset(one.id for one in image_store.images_with(client, image_store.CONTENT))


def _image_bytes(image_id: str) -> int:
    with image_store.connected() as client:
        found = image_store.images_with(client, image_store.CONTENT)
    return next((one.size_bytes for one in found if one.id == image_id), 0)
