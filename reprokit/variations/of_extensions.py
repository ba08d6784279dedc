"""Variations that extensions bring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from reprokit.variations.catalogue import CatalogueRow
from reprokit.variations.variation import RunPlace, Variation, VariationNotMade

#: How it ends what is said of a variation that changes nothing.
SO_ANYWAY = "is so in every run"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedVariation:
    """A variation of an extension.

    Attributes:
        says: What it changes, in words: ``the umask``.
        makes: The change, or a function of the place that returns it, or why it cannot be made there.

    >>> made = Variation(category="environment", fix="do not read it", environment={"PBS_JOBID": "7"})
    >>> NamedVariation(says="the job id", makes=made).says
    'the job id'
    """

    says: str
    makes: Variation | Callable[[RunPlace], Variation | VariationNotMade]


def as_row(label: str, name: str, found: NamedVariation) -> CatalogueRow:
    """The same as a row of the table: one that fails is not made, and none is held by its own word."""

    def make(there: RunPlace) -> Variation | VariationNotMade:
        try:
            made: object = found.makes(there) if callable(found.makes) else found.makes
        except Exception as error:  # of others: whatever it raises, the condition was not varied
            return VariationNotMade(why=f"the extension {label} is faulty: {type(error).__name__}: {error}")
        if isinstance(made, VariationNotMade):
            return replace(made, held=False)
        if not isinstance(made, Variation):
            return VariationNotMade(why=f"the extension {label} made no Variation")
        if not _changes_something(made, there):
            return VariationNotMade(why=f"what the extension {label} sets {SO_ANYWAY}")
        return made

    return CatalogueRow(name, found.says, make)


def _changes_something(made: Variation, there: RunPlace) -> bool:
    """Whether a run under it differs from one there: not by a variable with the value that it has anyway."""
    sets_another = any(there.environment.get(name) != value for name, value in made.environment.items())
    return sets_another or any((made.vary, made.start, made.run_folder, made.cpu))
