"""Which package, then which release: the distance between two sets of packages, halved until it is one step.

Between a good and a bad environment there are others: some packages as in the bad one, the rest as in the
good one, as far as they fit each other. The one in the middle is run; if its numbers are the good ones, it is
the new good environment, else the new bad one. Where no package is left that can move alone, the releases
between are halved in the same way. What cannot be solved is no environment; what does not run is passed over.

Source: Zeller, Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002, on the set of packages.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Protocol, TypeVar

_Item = TypeVar("_Item")

#: What a search may be given of packages: name → version, or None for a package that is to be absent.
Wanted = Mapping[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Packages:
    """A set of packages that fit each other.

    Attributes:
        versions: Name → version.
        text: The lock of exactly these.
    """

    versions: Mapping[str, str]
    text: str

    @property
    def key(self) -> tuple[tuple[str, str], ...]:
        """What two sets have in common that are the same."""
        return tuple(sorted(self.versions.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A set of packages and what its run came to: metrics, or why there are none."""

    packages: Packages
    metrics: Path | None = None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A set of packages and the metrics of its run."""

    packages: Packages
    metrics: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Two environments that are one step apart, with different numbers.

    Attributes:
        good: The one before.
        bad: The one after.
        mixtures: Environments in between, with some of the packages moved, that did not run.
        releases: Environments of releases in between that did not run: one of them may be the first bad one.
    """

    good: Packages
    bad: Packages
    mixtures: tuple[Packages, ...] = ()
    releases: tuple[Packages, ...] = ()

    @property
    def moved(self) -> tuple[str, ...]:
        """The packages that are not the same."""
        return differing(self.good.versions, self.bad.versions)


class Lab(Protocol):
    """What a search asks of the world."""

    def solve(self, wanted: Wanted, *, good: Packages, bad: Packages) -> Packages | None:
        """The packages of ``good``, with ``wanted`` and what must move with it; None where nothing fits."""

    def releases(self, name: str, first: str | None, last: str | None) -> Sequence[str]:
        """The releases strictly between two, from the first on."""

    def run(self, packages: Packages) -> Tried:
        """Run the recipe with these packages; what was run already is known."""

    def difference(self, reference: Path, metrics: Path) -> str:
        """Where two runs' numbers differ; "" where they do not."""

    def judged(self, tried: Tried, difference: str) -> None:
        """Told of each environment as soon as it is known whether it is good."""

    def must_repeat(self, finished: Finished) -> None:
        """Refuse what others are to be compared with and does not repeat its own numbers."""


def differing(one: Mapping[str, str], two: Mapping[str, str]) -> tuple[str, ...]:
    """Packages that are not the same in two sets, by name."""
    return tuple(sorted(name for name in {*one, *two} if one.get(name) != two.get(name)))


def most_environments(num_packages: int, num_releases: int) -> int:
    """How many environments one cause takes at most, the two ends among them."""
    return math.ceil(2 * math.log2(max(1, num_packages + num_releases))) + 4


def find_causes(good: Finished, bad: Finished, lab: Lab) -> Iterator[Cause]:
    """Each step on the way from good to bad at which the numbers change, one after the other.

    After the first, the way continues from its far side: what it has is the new good.
    """
    order = _free_ones_first(good.packages, bad.packages, lab)
    while lab.difference(good.metrics, bad.metrics):
        lab.must_repeat(good)
        cause, before, good = _narrowed(good, bad, order, lab)
        lab.must_repeat(before)  # one run of each decided, which may be by chance
        lab.must_repeat(good)
        yield cause


def _free_ones_first(good: Packages, bad: Packages, lab: Lab) -> tuple[str, ...]:
    """The differing packages, those that move alone before those that take others with them.

    So any first part of the list fits together.
    """
    names = differing(good.versions, bad.versions)

    def taken_along(name: str) -> int:
        found = lab.solve({name: bad.versions.get(name)}, good=good, bad=bad) if len(names) > 1 else None
        return len(differing(good.versions, found.versions)) if found else len(names) + 1

    return tuple(sorted(names, key=lambda name: (taken_along(name), name)))


def _narrowed(
    good: Finished, bad: Finished, order: Sequence[str], lab: Lab
) -> tuple[Cause, Finished, Finished]:
    """The first step at which the numbers are no longer those of ``good``, and its two sides."""
    reference, skipped = good.metrics, list[Packages]()
    choice = _Choice(order, lab)
    while (chosen := choice.between(good.packages, bad.packages)) is not None:
        tried = lab.run(chosen)
        if tried.metrics is None:
            lab.judged(tried, "")
            skipped.append(chosen)
            continue
        found = lab.difference(reference, tried.metrics)
        lab.judged(tried, found)
        here = Finished(packages=chosen, metrics=tried.metrics)
        good, bad = (good, here) if found else (here, bad)
    return _cause(good.packages, bad.packages, skipped, lab), good, bad


def _cause(good: Packages, bad: Packages, skipped: Sequence[Packages], lab: Lab) -> Cause:
    """With those skipped environments that lie between the two."""
    mixtures, releases = list[Packages](), list[Packages]()
    for one in skipped:
        names = differing(good.versions, one.versions)
        ends = {name: (good.versions.get(name), bad.versions.get(name)) for name in names}
        if all(one.versions.get(name) in ends[name] for name in names):
            mixtures.append(one)
        elif all(one.versions.get(name) in (*ends[name], *lab.releases(name, *ends[name])) for name in names):
            releases.append(one)
    return Cause(good=good, bad=bad, mixtures=tuple(mixtures), releases=tuple(releases))


class _Choice:
    """Chooses the next environment, and remembers which were chosen or cannot be solved."""

    def __init__(self, order: Sequence[str], lab: Lab) -> None:
        self._order = order
        self._lab = lab
        self._chosen: set[tuple[tuple[str, str], ...]] = set()
        self._unsolvable: set[tuple[tuple[str, str | None], ...]] = set()

    def between(self, good: Packages, bad: Packages) -> Packages | None:
        """An environment between the two, near the middle; None where there is no further one."""
        for wanted in chain(self._packages(good, bad), self._releases(good, bad)):
            found = self._solved(wanted, good=good, bad=bad)
            if found is not None and found.key not in {good.key, bad.key, *self._chosen}:
                self._chosen.add(found.key)
                return found
        return None

    def _solved(self, wanted: Wanted, *, good: Packages, bad: Packages) -> Packages | None:
        asked = tuple(sorted(wanted.items()))
        if asked in self._unsolvable:
            return None
        found = self._lab.solve(wanted, good=good, bad=bad)
        if found is None:
            self._unsolvable.add(asked)
        return found

    def _packages(self, good: Packages, bad: Packages) -> Iterator[Wanted]:
        """First parts of the list, then each package alone, as in the bad environment."""
        moved = differing(good.versions, bad.versions)
        listed = [name for name in self._order if name in moved]
        listed += [name for name in moved if name not in listed]
        target = bad.versions
        for end in middle_first(range(1, len(listed))):
            yield {name: target.get(name) for name in listed[:end]}
        yield from ({name: target.get(name)} for name in listed[1:])

    def _releases(self, good: Packages, bad: Packages) -> Iterator[Wanted]:
        """Releases of each package that differs, of the one with the most first."""
        between = {
            name: self._lab.releases(name, good.versions.get(name), bad.versions.get(name))
            for name in differing(good.versions, bad.versions)
        }
        for name in sorted(between, key=lambda name: (-len(between[name]), name)):
            yield from ({name: version} for version in middle_first(between[name]))


def middle_first(items: Sequence[_Item]) -> Iterator[_Item]:
    """The items, from the middle outwards.

    >>> list(middle_first("abcde"))
    ['c', 'b', 'd', 'a', 'e']
    """
    middle = (len(items) - 1) // 2
    yield from (items[at] for at in sorted(range(len(items)), key=lambda at: (abs(at - middle), at)))
