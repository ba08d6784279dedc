"""Conditions that must not change a result: how each is changed, or why it cannot be here.

To add a variation, add a row to the table of ``catalogue``. One that cannot be made is a ``VariationNotMade``
with its reason, never left out: what was not varied may still matter. One that is made counts only where the
varied run shows it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from reprokit import extensions
from reprokit.variations.catalogue import CATALOGUE, CatalogueRow
from reprokit.variations.of_extensions import NamedVariation, as_row
from reprokit.variations.variation import RunPlace, Variation, VariationNotMade

__all__ = [
    "AvailableVariations",
    "NamedVariation",
    "RunPlace",
    "Variation",
    "VariationNotMade",
    "names",
    "survey",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AvailableVariations:
    """What can be varied somewhere, and what cannot."""

    made: tuple[Variation, ...]
    unmade: tuple[VariationNotMade, ...]


def names() -> tuple[str, ...]:
    """The names of all variations, sorted."""
    return tuple(sorted(row.name for row in _rows()))


def survey(there: RunPlace, *, only: tuple[str, ...] | None = None) -> AvailableVariations:
    """What can be varied there, in the order of the table; those in ``only`` however long they take."""
    made: list[Variation] = []
    unmade: list[VariationNotMade] = []
    for row in _rows():
        if only is not None and row.name not in only:
            continue
        found = row.vary(there)
        found = replace(found, name=row.name, says=found.says or row.says)
        if isinstance(found, VariationNotMade):
            unmade.append(found)
        elif found.seldom and only is None:
            why = f"{found.seldom}: ask for it with --vary {row.name}"
            unmade.append(VariationNotMade(name=row.name, says=found.says, why=why))
        else:
            made.append(found)
    return AvailableVariations(made=tuple(made), unmade=tuple(unmade))


def _rows() -> tuple[CatalogueRow, ...]:
    """The table, and behind it what extensions bring."""
    core = [row.name for row in CATALOGUE]
    brought = extensions.brought("variations", core=core, form=NamedVariation)
    return (*CATALOGUE, *(as_row(extension.label, name, found) for extension, name, found in brought))
