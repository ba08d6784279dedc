"""Conditions that must not change a result, one file each: how each is changed, or why it cannot be here.

To add a variation, add a file: its name is the variation's, and it has what ``Maker`` asks for. A variation
that cannot be made is an ``VariationNotMade`` with its reason, never left out: what was not varied may still matter.
One that is made counts only where the varied run shows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from reprokit import plugin_files

__all__ = [
    "AvailableVariations",
    "Maker",
    "RunPlace",
    "Variation",
    "VariationNotMade",
    "discover",
    "names",
    "survey",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlace:
    """Where runs are made."""

    container: bool  # whether in a container
    # A folder that runs may write to, as the program sees it: for homes, temporary files and the like
    folder: str
    cores: tuple[int, ...] = ()  # the cores that a run may use, by number
    # Variables that a run has anyway, as far as they are known
    environment: Mapping[str, str] = field(default_factory=dict)
    device: str = "cpu"  # `cpu`, `cuda` or `tpu`
    num_gpus: int = 0  # how many there are
    gpu: int = 0  # which of them the run computes on, by its number in the order of the PCI bus
    emulator: str = ""  # path of the CPU emulator, or ""
    no_emulator: str = ""  # why there is none
    network: bool | None = None  # whether a run can be kept from the network; None where no one has tried


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """One thing that is changed."""

    category: str  # of the cause that it is when no line can be named
    fix: str  # what would fix it
    name: str = ""  # the name of its file; `survey` fills it in
    says: str = ""  # what was changed, in words; `SAYS` of its file where it says nothing else
    # Why it is made only where it is asked for by name, without a full stop; "" where it always is
    seldom: str = ""
    vary: tuple[str, ...] = ()  # what the hook is to vary
    environment: Mapping[str, str] = field(default_factory=dict)  # variables to set
    run_folder: str = ""  # another name for the folder that the program is given, or ""
    # Words for `execution/varied_start.py`, which changes what a process inherits
    start: tuple[str, ...] = ()
    cpu: str = ""  # the CPU to emulate, or ""
    # What shows in the process itself that it is in force, beside ``vary`` and ``environment``: a condition
    # (see ``reprokit_hook/conditions.py``) → the values that it may have
    shows: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    # Conditions that must not be those of the run of which nothing is varied, where that one's are known
    differs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VariationNotMade:
    """A variation that is not made here."""

    why: str  # one sentence, without a full stop
    name: str = ""  # as of the variation
    says: str = ""  # as of the variation
    # Whether there is nothing to vary: every run there is the same in this, or differs in it already
    held: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AvailableVariations:
    """What can be varied somewhere, and what cannot."""

    made: tuple[Variation, ...]
    unmade: tuple[VariationNotMade, ...]


class Maker(Protocol):
    """What a module of this package offers."""

    ORDER: int  # place among the others, unique
    SAYS: str  # what is changed, in words

    def vary(self, there: RunPlace) -> Variation | VariationNotMade:
        """The change, or why it cannot be made there."""


_GUIDE = "`reprokit help find-the-cause`"
_FOLDER = plugin_files.PluginFolder(package=__name__, kind="variation", protocol=Maker, guide=_GUIDE)


def names() -> tuple[str, ...]:
    """The names of all variations, sorted; nothing is imported for it."""
    return plugin_files.names(__path__)


def discover() -> dict[str, Maker]:
    """Every module of this package, by its ORDER: name → module.

    Raises:
        CannotJudgeError: One of them is not a variation, or takes another one's place.
    """
    return dict(plugin_files.load(_FOLDER, __path__))


def survey(there: RunPlace, *, only: tuple[str, ...] | None = None) -> AvailableVariations:
    """What can be varied there, in order; those named in ``only`` however long they take."""
    made: list[Variation] = []
    unmade: list[VariationNotMade] = []
    for name, maker in discover().items():
        if only is not None and name not in only:
            continue
        found = maker.vary(there)
        found = replace(found, name=name, says=found.says or maker.SAYS)
        if isinstance(found, VariationNotMade):
            unmade.append(found)
        elif found.seldom and only is None:
            why = f"{found.seldom}: ask for it with --vary {name}"
            unmade.append(VariationNotMade(name=name, says=found.says, why=why))
        else:
            made.append(found)
    return AvailableVariations(made=tuple(made), unmade=tuple(unmade))
