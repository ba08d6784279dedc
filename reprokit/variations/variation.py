"""What a variation changes, where it is made, and why one is not made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlace:
    """Where runs are made.

    >>> RunPlace(container=False, folder="/tmp/x").device
    'cpu'
    """

    container: bool  # whether in a container
    # A folder that runs may write to, as the program sees it: for homes, temporary files and the like
    folder: str
    cores: tuple[int, ...] = ()  # the cores that a run may use, by number
    # Those of them that the run has with which a varied one is compared; empty for all
    pinned: tuple[int, ...] = ()
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
    """One thing that is changed.

    >>> Variation(category="environment", fix="do not read it", environment={"TZ": "UTC"}).environment["TZ"]
    'UTC'
    """

    category: str  # of the cause that it is when no line can be named
    fix: str  # what would fix it
    name: str = ""  # `survey` fills it in
    says: str = ""  # what was changed, in words; those of the table where it says nothing else
    # Why it is made only where it is asked for by name, without a full stop; "" where it always is
    seldom: str = ""
    vary: tuple[str, ...] = ()  # what the hook is to vary
    environment: Mapping[str, str] = field(default_factory=dict)  # variables to set
    run_folder: str = ""  # another name for the folder that the program is given, or ""
    # Words for `execution/varied_start.py`, which changes what a process inherits
    start: tuple[str, ...] = ()
    cpu: str = ""  # the CPU to emulate, or ""
    all_cores: bool = False  # whether it needs every core, although the run it is compared with has one alone
    # What shows in the process itself that it is in force, next to ``vary`` and ``environment``: a condition
    # (see ``reprokit_hook/conditions.py``) → the values that it may have
    shows: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    # Conditions that must not be those of the run of which nothing is varied, where that one's are known
    differs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VariationNotMade:
    """A variation that is not made here.

    >>> VariationNotMade(why="a container has no such variable").why
    'a container has no such variable'
    """

    why: str  # one sentence, without a full stop
    name: str = ""  # as of the variation
    says: str = ""  # as of the variation
    # Whether there is nothing to vary: every run there is the same in this, or differs in it already
    held: bool = False
