"""Builds of one image, and whether they are equal, as lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reprokit.features.rebuild.builds import BuildComparison
    from reprokit.features.rebuild.from_report import Rebuilt


def verified_lines(found: BuildComparison) -> Iterator[str]:
    """Builds under other conditions, and whether they are one image."""
    for build in found.builds:
        yield f"{build.id[7:19]}  {build.took_s:6.1f} s  {build.builder:<8}  {build.title}"
    if found.difference is not None:
        yield f"differs: {found.difference.sentence()}"
        others = found.difference.num_files - 1
        if others > 0:
            yield f"         and {others} more file{'s' if others > 1 else ''}"
    elif found.is_one:
        yield f"identical: {len(found.builds)} builds of {found.variant}, {found.builds[0].id}"
    else:
        yield "differs: the image IDs, but no difference in the content was found"
    if found.in_engine not in {None, found.builds[0].id}:
        yield f"differs: the engine has {found.in_engine} of the same content; remove it"


def rebuilt_lines(found: Rebuilt) -> Iterator[str]:
    """Whether an image built again has the ID that a report names, and why it may not."""
    if found.identical:
        yield f"identical: {found.named}, as the report names it"
    else:
        yield f"differs: the report names {found.named}"
        yield f"         built here it is {found.rebuilt}"
    yield from (f"         {line}" for line in found.reasons)
