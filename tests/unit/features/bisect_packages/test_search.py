"""The search over sets of packages, with a solver that knows in advance what fits, and numbers that follow.

A world is a table of releases with what each asks of others, and a rule from versions to a number.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from reprokit.features.bisect_packages.search import (
    Cause,
    Finished,
    Packages,
    Tried,
    differing,
    find_causes,
    middle_first,
    most_environments,
)

Versions = Mapping[str, str]


@dataclass
class World:
    """Packages that have releases 0, 1, 2 …, and what they do to the numbers.

    Attributes:
        folder: For metrics.
        number: Versions → the number of the run; None for one that does not run.
        newest: Package → its last release; each begins with 0.
        asks: Package, release → package → the releases of it that fit.
    """

    folder: Path
    number: Callable[[Versions], float | None]
    newest: dict[str, int]
    asks: dict[tuple[str, str], dict[str, set[str]]] = field(default_factory=dict)
    ran: list[Packages] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    repeated: list[Versions] = field(default_factory=list)

    def end(self, **changed: str) -> Finished:
        versions = {name: str(changed.get(name, "0")) for name in self.newest}
        packages = packages_of({name: version for name, version in versions.items() if version != "-"})
        tried = self.run(packages)
        assert tried.metrics is not None
        return Finished(packages=packages, metrics=tried.metrics)

    def search(self, good: Finished | None = None, bad: Finished | None = None) -> list[Cause]:
        newest = {name: str(last) for name, last in self.newest.items()}
        return list(find_causes(good or self.end(), bad or self.end(**newest), self))

    @property
    def num_environments(self) -> int:
        return len({one.key for one in self.ran})

    @property
    def most(self) -> int:
        return most_environments(len(self.newest), sum(last - 1 for last in self.newest.values()))

    def solve(self, wanted, *, good, bad):
        """What is wanted, the rest as in ``good``; what does not fit moves as far as ``bad`` has it."""
        versions = {**good.versions, **wanted}
        for name, version in dict(versions).items():
            if version is None:
                del versions[name]
        while broken := next(self.broken(versions), None):
            name, fitting = broken
            if name in wanted:
                return None
            ends = sorted((int(good.versions.get(name, -1)), int(bad.versions.get(name, -1))))
            choices = [one for one in fitting if ends[0] <= int(one) <= ends[1] and one != versions.get(name)]
            if not choices:
                return None
            versions[name] = max(choices, key=int)
        return packages_of(versions)

    def broken(self, versions):
        for (name, version), needs in self.asks.items():
            if versions.get(name) == version:
                for other, fitting in needs.items():
                    if versions.get(other) not in fitting:
                        yield other, fitting

    def releases(self, name, first, last):
        if first is None or last is None:
            return []
        step = 1 if int(first) < int(last) else -1
        return [str(one) for one in range(int(first) + step, int(last), step)]

    def run(self, packages):
        self.ran.append(packages)
        found = self.number(packages.versions)
        if found is None:
            return Tried(packages=packages, why="it crashed")
        metrics = self.folder / f"{len(self.ran)}.jsonl"
        metrics.write_text(json.dumps({"loss": found}))
        return Tried(packages=packages, metrics=metrics)

    def difference(self, reference, metrics):
        return "" if reference.read_text() == metrics.read_text() else "differs"

    def judged(self, tried, difference):
        self.results.append("skip" if tried.metrics is None else "bad" if difference else "good")

    def must_repeat(self, finished):
        self.repeated.append(finished.packages.versions)


def packages_of(versions: Versions) -> Packages:
    return Packages(versions=versions, text=json.dumps(dict(sorted(versions.items()))))


def steps_of(causes: list[Cause]) -> list[dict[str, tuple[str | None, str | None]]]:
    """Package → its releases before and after, of each cause."""
    return [
        {name: (one.good.versions.get(name), one.bad.versions.get(name)) for name in one.moved}
        for one in causes
    ]


def since(name: str, release: int) -> Callable[[Versions], float]:
    return lambda versions: float(int(versions[name]) >= release)


@pytest.fixture
def world(tmp_path):
    def make(number, newest, **rest) -> World:
        return World(tmp_path, number, newest, **rest)

    return make


@pytest.mark.parametrize("guilty", ["a", "d", "h"])
@pytest.mark.parametrize("release", [1, 5, 9])
def test_one_package_and_its_neighbouring_releases_are_named_within_the_bound(world, guilty, release):
    here = world(since(guilty, release), dict.fromkeys("abcdefgh", 9))
    assert steps_of(here.search()) == [{guilty: (str(release - 1), str(release))}]
    assert here.num_environments <= here.most


def test_a_downgrade_is_found_as_an_upgrade_is(world):
    here = world(since("b", 4), {"a": 3, "b": 9})
    found = here.search(good=here.end(a="3", b="9"), bad=here.end())
    assert steps_of(found) == [{"b": ("4", "3")}]


def test_packages_that_fit_only_one_another_move_together(world):
    pair = {("a", str(n)): {"b": {str(n)}} for n in range(4)} | {
        ("b", str(n)): {"a": {str(n)}} for n in range(4)
    }
    here = world(since("a", 2), {"a": 3, "b": 3, "c": 5, "d": 5}, asks=pair)
    (cause,) = here.search()
    assert steps_of([cause]) == [{"a": ("1", "2"), "b": ("1", "2")}]
    assert (cause.mixtures, cause.releases) == ((), ())
    assert here.num_environments <= here.most


def test_a_package_that_another_needs_is_not_blamed_for_it(world):
    here = world(since("a", 1), {"a": 1, "b": 1, "c": 1}, asks={("a", "1"): {"c": {"1"}}})
    assert steps_of(here.search()) == [{"a": ("0", "1")}]


def test_packages_that_come_and_go_are_steps_too(world):
    here = world(
        lambda versions: float("old" in versions) + 2 * ("new" in versions), {"old": 0, "new": 0, "x": 4}
    )
    good, bad = here.end(new="-", x="0"), here.end(old="-", x="4")
    assert steps_of(here.search(good, bad)) == [{"new": (None, "0")}, {"old": ("0", None)}]


def test_two_causes_are_found_one_after_the_other(world):
    here = world(lambda v: (int(v["b"]) >= 3) + 10.0 * (int(v["e"]) >= 5), dict.fromkeys("abcdef", 7))
    causes = here.search()
    assert steps_of(causes) == [{"b": ("2", "3")}, {"e": ("4", "5")}]
    sides = [side.versions for one in causes for side in (one.good, one.bad)]
    start = dict.fromkeys("abcdef", "0")
    assert here.repeated == [start, *sides[:2], sides[1], *sides[2:]], "both sides of each have to repeat"


def test_two_causes_in_one_package_are_two_steps(world):
    here = world(lambda v: (int(v["b"]) >= 3) + 10.0 * (int(v["b"]) >= 6), {"a": 2, "b": 7})
    assert steps_of(here.search()) == [{"b": ("2", "3")}, {"b": ("5", "6")}]


def test_two_causes_that_cancel_each_other_leave_nothing_to_find(world):
    here = world(lambda v: float((int(v["a"]) >= 1) == (int(v["b"]) >= 1)), {"a": 1, "b": 1})
    assert here.search() == []


def test_what_only_two_packages_do_together_is_found_next_to_the_other_one(world):
    here = world(lambda v: float(int(v["a"]) >= 2 and int(v["c"]) >= 2), dict.fromkeys("abcd", 4))
    (cause,) = here.search()
    (name,) = cause.moved
    other = {"a": "c", "c": "a"}[name]
    assert int(cause.good.versions[other]) >= 2, "it says next to what the step was seen"
    assert steps_of([cause]) == [{name: ("1", "2")}]


def test_an_environment_that_does_not_run_is_passed_over(world):
    def number(versions):
        mixed = versions["a"] != versions["b"] and "4" in {versions["a"], versions["b"]}
        return None if mixed else float(int(versions["c"]) >= 2)

    here = world(number, {"a": 4, "b": 4, "c": 4, "d": 4})
    assert steps_of(here.search()) == [{"c": ("1", "2")}]


def test_packages_of_which_no_mixture_runs_move_together_and_that_is_said(world):
    here = world(lambda v: None if v["a"] != v["b"] else float(v["a"] == "1"), {"a": 1, "b": 1, "c": 1})
    (cause,) = here.search()
    assert cause.moved == ("a", "b")
    assert cause.mixtures
    assert not cause.releases


def test_a_release_that_does_not_run_beside_the_step_is_told(world):
    here = world(lambda v: None if v["a"] in "34" else float(int(v["a"]) >= 5), {"a": 8})
    (cause,) = here.search()
    assert steps_of([cause]) == [{"a": ("2", "5")}]
    assert sorted(one.versions["a"] for one in cause.releases) == ["3", "4"]


def test_a_release_that_does_not_run_far_from_the_step_is_not_told(world):
    here = world(lambda v: None if v["a"] == "5" else float(int(v["a"]) >= 8), {"a": 10})
    (cause,) = here.search()
    assert steps_of([cause]) == [{"a": ("7", "8")}]
    assert cause.releases == ()


def test_a_release_that_cannot_be_installed_is_no_neighbour(world):
    nothing = {("a", str(n)): {"python": {"9"}} for n in (3, 4)}
    here = world(since("a", 4), {"a": 8, "python": 0}, asks=nothing)
    (cause,) = here.search()
    assert steps_of([cause]) == [{"a": ("2", "5")}]
    assert cause.releases == ()


def test_ends_with_equal_numbers_take_no_further_environment(world):
    here = world(lambda _: 1.0, {"a": 3, "b": 3})
    assert here.search() == []
    assert here.num_environments == 2


def test_no_environment_is_judged_twice(world):
    here = world(since("f", 30), dict.fromkeys("abcdefghij", 40))
    here.search()
    assert here.num_environments == len(here.ran)


def test_the_middle_comes_first():
    assert list(middle_first([])) == []
    assert list(middle_first("abcd")) == ["b", "a", "c", "d"]


def test_differing_names_what_comes_and_goes():
    assert differing({"a": "1", "b": "1"}, {"b": "1", "c": "1"}) == ("a", "c")
