"""What disturbs one run: drawn from a seed, so that it can be done again, and applied to the run."""

from __future__ import annotations

import json
import random
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from reprokit import workspace
from reprokit.core.records import Mount, RunSpec
from reprokit.harness.diagnosing.taps.library import Library, library_here
from reprokit.harness.running.start_command import Disturb
from reprokit.harness.running.varying.apply_variations import changed, in_container, there
from reprokit.variations import RunPlace, survey

#: The variable that holds the words for the starter, so that all runs have one command line.
_WORDS = "REPROKIT_STRESS"
_MOUNT = "taps-library"
#: At how many locks there is one delay, and how long that is at most, microseconds.
_SELDOM, _LONG_US = (4, 32, 256), (200, 2_000, 20_000)
_NICE = (0, 5, 10, 19)
#: So likely each thing is done to a run.
_OFTEN, _NOW_AND_THEN = 0.75, 0.25
_LEAST_CORES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Stress:
    """What is done to one run.

    Attributes:
        number: Which run it is, counted from 1.
        seed: Of what was drawn for it.
        words: For ``execution/varied_start.py``.
        made: What is done: name → how, in words.
        not_made: What cannot be done here: name → why.
    """

    number: int
    seed: str
    words: tuple[str, ...]
    made: Mapping[str, str]
    not_made: Mapping[str, str] = field(default_factory=dict)

    def as_fact(self) -> dict[str, Any]:
        """As ``run.json`` says it."""
        return {
            "number": self.number,
            "seed": self.seed,
            "made": dict(self.made),
            "not_made": dict(self.not_made),
        }


@contextmanager
def disturbing(key: str = "") -> Iterator[Disturb]:
    """Disturbs runs, each in another way.

    Args:
        key: What is drawn from, hex; "" for a new one.
    """
    key, library = key or secrets.token_hex(8), library_here()
    folder = workspace.short_folder()
    places: list[RunPlace] = []  # the runs are all made at one place, which is looked at once
    try:

        def disturb(spec: RunSpec, number: int) -> tuple[RunSpec, Mapping[str, Any]]:
            places.extend([] if places else [there(spec, folder=folder)])
            found = drawn(number, key=key, place=places[0], library=library)
            return stressed(spec, found, library=library), {"stressed": found.as_fact()}

        yield disturb
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def drawn(number: int, *, key: str, place: RunPlace, library: Library) -> Stress:
    """What is done to the run of this number, at this place."""
    seed = f"{key}-{number}"
    drawing = _Drawing(random.Random(seed), place, library)  # noqa: S311 - chance, no secret
    for draw in (_cores, _load, _niceness, _memory, _addresses, _delays):
        draw(drawing)
    return Stress(
        number=number,
        seed=seed,
        words=tuple(drawing.words),
        made=drawing.made,
        not_made=drawing.not_made,
    )


@dataclass(slots=True)
class _Drawing:
    """What is drawn from, and what was drawn so far."""

    chance: random.Random
    place: RunPlace
    library: Library
    words: list[str] = field(default_factory=list)
    made: dict[str, str] = field(default_factory=dict)
    not_made: dict[str, str] = field(default_factory=dict)

    def is_due(self, often: float = _OFTEN) -> bool:
        return self.chance.random() < often

    def set(self, *variables: str) -> None:
        self.words += [word for one in variables for word in ("--set", one)]


def _cores(drawing: _Drawing) -> None:
    """As many in each run: a program may take its number of workers from them."""
    cores = drawing.place.cores
    if len(cores) < _LEAST_CORES:
        drawing.not_made["other cores"] = f"there {'is one' if len(cores) == 1 else f'are {len(cores)}'} here"
        return
    out = drawing.chance.choice(cores)
    drawing.words += ["--cores", ",".join(str(core) for core in cores if core != out)]
    drawing.made["cores"] = f"without core {out}"


def _load(drawing: _Drawing) -> None:
    """Other work, now and then, that takes the processors' caches too."""
    cores = drawing.place.cores
    if cores and drawing.is_due():
        busy = sorted(drawing.chance.sample(cores, drawing.chance.randint(1, len(cores))))
        drawing.words += ["--bursts", ",".join(map(str, busy))]
        drawing.made["load"] = f"other work on core {', '.join(map(str, busy))}"


def _niceness(drawing: _Drawing) -> None:
    if nice := drawing.chance.choice(_NICE):
        drawing.words += ["--nice", str(nice)]
        drawing.made["niceness"] = str(nice)


def _memory(drawing: _Drawing) -> None:
    """Other contents of fresh memory: mallopt(3), M_PERTURB."""
    if drawing.is_due():
        fill = drawing.chance.randint(1, 255)
        drawing.set(f"MALLOC_PERTURB_={fill}", f"GLIBC_TUNABLES=+glibc.malloc.perturb={fill}")
        drawing.made["fresh memory"] = f"filled with byte {fill ^ 0xFF}"


def _addresses(drawing: _Drawing) -> None:
    """The layout of addresses is another one in each run anyway; now and then it is the fixed one."""
    found = survey(drawing.place, only=("address_layout",))
    if found.unmade:
        drawing.not_made["fixed addresses"] = found.unmade[0].why
    if found.made and drawing.is_due(_NOW_AND_THEN):
        drawing.words += found.made[0].start
        drawing.made["addresses"] = "not randomised"


def _delays(drawing: _Drawing) -> None:
    """Threads and processes begin later, and go on later at locks; the library is in every run."""
    library, place, chance = drawing.library, drawing.place, drawing.chance
    if library.path is None:
        drawing.not_made["delays at locks and starts"] = library.problem
        return
    where = f"{{mounts}}/{_MOUNT}/{library.path.name}" if place.container else str(library.path)
    tables = f"{place.folder}/taps"
    drawing.words += ["--folder", tables, "--default", f"REPROKIT_TAPS={tables}"]
    drawing.set(f"LD_PRELOAD=+{where}")
    if drawing.is_due():
        seed, one_in, most_us = chance.getrandbits(63) | 1, chance.choice(_SELDOM), chance.choice(_LONG_US)
        drawing.set(f"REPROKIT_TAPS_STRESS={seed:x},{one_in},{most_us}")
        drawing.made["delays"] = f"at one of {one_in} locks, of up to {most_us} microseconds"


def stressed(spec: RunSpec, found: Stress, *, library: Library) -> RunSpec:
    """The run as it is disturbed: its command line is the same for all that are."""
    made = changed(spec, start=("--from", _WORDS))
    mounts = made.mounts
    if in_container(spec) and library.path is not None:
        mounts = (*mounts, Mount(name=_MOUNT, path=str(library.path.parent.resolve())))
    environment = {**made.environment, _WORDS: json.dumps(found.words)}
    return replace(made, environment=environment, mounts=mounts)
