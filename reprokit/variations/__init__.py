"""Surroundings that must not change a result, one file each: how each is changed, or why it cannot be here.

To add a variation, add a file: its name is the variation's, and it has what ``Maker`` asks for. A variation
that cannot be made is an ``Unmade`` with its reason, never left out: what was not varied may still matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from reprokit import plugin_files

__all__ = ["Maker", "Survey", "There", "Unmade", "Variation", "discover", "names", "survey"]


@dataclass(frozen=True, slots=True, kw_only=True)
class There:
    """Where runs are made.

    Attributes:
        container: Whether in a container.
        folder: A folder that runs may write to, as the program sees it: for homes, temporary files and
            the like.
        cores: The cores that a run may use, by number.
        environment: Variables that a run has anyway, as far as they are known.
        device: ``cpu``, ``cuda`` or ``tpu``.
        num_gpus: How many there are.
        emulator: Path of the CPU emulator, or "".
        no_emulator: Why there is none.
        network: Whether a run can be kept from the network; None where nobody has tried.
    """

    container: bool
    folder: str
    cores: tuple[int, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    device: str = "cpu"
    num_gpus: int = 0
    emulator: str = ""
    no_emulator: str = ""
    network: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """One thing that is changed.

    Attributes:
        category: Of the cause that it is when no line can be named.
        fix: What would fix it.
        name: The name of its file; ``survey`` fills it in.
        says: What was changed, in words; ``SAYS`` of its file where it says nothing else.
        seldom: Why it is made only where it is asked for by name, without a full stop; "" where it always is.
        vary: What the hook is to vary.
        environment: Variables to set.
        run_folder: Another name for the folder that the program is given, or "".
        start: Words for ``execution/varied_start.py``, which changes what a process inherits.
        cpu: The CPU to emulate, or "".
    """

    category: str
    fix: str
    name: str = ""
    says: str = ""
    seldom: str = ""
    vary: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    run_folder: str = ""
    start: tuple[str, ...] = ()
    cpu: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmade:
    """A variation that is not made here.

    Attributes:
        why: One sentence, without a full stop.
        name: As of the variation.
        says: As of the variation.
        held: Whether there is nothing to vary: every run there is the same in this, or differs in it already.
    """

    why: str
    name: str = ""
    says: str = ""
    held: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What can be varied somewhere, and what cannot."""

    made: tuple[Variation, ...]
    unmade: tuple[Unmade, ...]


class Maker(Protocol):
    """What a module of this package offers.

    Attributes:
        ORDER: Place among the others, unique.
        SAYS: What is changed, in words.
    """

    ORDER: int
    SAYS: str

    def vary(self, there: There) -> Variation | Unmade:
        """The change, or why it cannot be made there."""


_GUIDE = "docs/how-to/find-the-cause.md"
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


def survey(there: There, *, only: tuple[str, ...] | None = None) -> Survey:
    """What can be varied there, in order.

    Args:
        there: Where runs are made.
        only: These, however long they take; None for all, of which the seldom ones count as unmade.
    """
    made: list[Variation] = []
    unmade: list[Unmade] = []
    for name, maker in discover().items():
        if only is not None and name not in only:
            continue
        found = maker.vary(there)
        found = replace(found, name=name, says=found.says or maker.SAYS)
        if isinstance(found, Unmade):
            unmade.append(found)
        elif found.seldom and only is None:
            why = f"{found.seldom}: ask for it with --vary {name}"
            unmade.append(Unmade(name=name, says=found.says, why=why))
        else:
            made.append(found)
    return Survey(made=tuple(made), unmade=tuple(unmade))
