"""Plant small faults in reprokit/core and reprokit/checks, one at a time, and see whether a test notices.

    .venv/bin/python tests/mutation/mutate.py [--minutes 30] [--only core/values] [--seed 0]

A mutant is killed when a test that covers it fails, or when its tests take too long. For each one a
process is forked in which every module is imported and every test is collected: the function gets the
code of the edited source, and the tests that cover it run, the quickest first, up to the first
failure. What is evaluated at import (tables, defaults, class bodies) is tried in a fork that has not
imported the package yet.

Where the time does not suffice, what was tried is a random sample, stratified over the modules. The
survivors go to stdout; the exit code is 1 when fewer than ``--at-least`` percent were killed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import zip_longest
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from covering import ROOT, Map, Patient, Recorder
from planting import Finder, Trial, all_trials, put_in_place

TESTS = ("tests/unit/core", "tests/unit/checks", "tests/unit/adapters", "tests/property")
# pytest would import all of its plugins itself, this package among them, and never ask for the fault.
QUIET = [
    "--assert=plain",
    "-q",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",
]
# Properties that try a thousand pairs of files take too long to be run for every mutant.
QUIET += ["-m", "not slow", "-k", "not agrees"]
PRELOADED = ("click", "docker", "numpy", "orjson", "pydantic", "scipy.stats")
IMPORT_S = 30.0
MEMORY_BYTES = 8 * 2**30
BROKEN = 70  # exit code of a fork that failed itself: that kills no mutant


class Chosen(Patient):
    """A pytest plugin: only these tests, in this order."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._order = {test: place for place, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (one for one in items if one.nodeid in self._order), key=lambda one: self._order[one.nodeid]
        )


class Answering(Patient):
    """A pytest plugin: once all tests are collected, it tries the mutants that it is asked about."""

    def __init__(self, asked: Connection, trials: Sequence[Trial], known: Map) -> None:
        self._asked, self._trials, self._known = asked, trials, known
        self._failed = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._failed |= report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        while (number := self._asked.recv()) is not None:
            trial = self._trials[number]
            tests = self._known.tests_of(trial)
            chosen = [items[test] for test in tests]
            killed = forked(lambda: self._notices(trial, chosen), limit_s=self._known.limit_s(tests))  # noqa: B023
            self._asked.send(killed)
        return True

    def _notices(self, trial: Trial, chosen: Sequence[pytest.Item]) -> bool:
        put_in_place(trial)
        for item, after in zip_longest(chosen, chosen[1:]):
            item.ihook.pytest_runtest_protocol(item=item, nextitem=after)
            if self._failed:
                return True
        return False


def main() -> int:
    """Record, try, tell."""
    parser = argparse.ArgumentParser(description="Mutation testing of reprokit/core and reprokit/checks")
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after so many")
    parser.add_argument("--only", default="", help="modules whose name begins so: core/values")
    parser.add_argument("--seed", type=int, default=0, help="another seed, another sample")
    parser.add_argument("--at-least", type=float, default=90.0, help="percent that must be killed")
    parser.add_argument("--again", type=Path, help="only the survivors that this earlier output names")
    parser.add_argument("--map", type=Path, help="where to keep, or find, which test runs which line")
    parser.add_argument("--tests", nargs="+", default=TESTS, metavar="PATH", help="other tests than all")
    parser.add_argument("--all-imported", action="store_true", help="try every mutant with a fresh import")
    asked = parser.parse_args()
    end = time.monotonic() + 60 * asked.minutes
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    for name in PRELOADED:
        importlib.import_module(name)
    trials = all_trials(ROOT, only=asked.only, seed=asked.seed)
    if asked.again:
        wanted = set(asked.again.read_text(encoding="utf-8").splitlines())
        trials = [trial for trial in trials if f"survived {trial}" in wanted]
    with tempfile.TemporaryDirectory() as folder:
        known = recorded(asked.tests, path=asked.map or Path(folder) / "map.json")
    results = tried(trials, known, end=end, all_imported=asked.all_imported)
    return told(trials, results, at_least=asked.at_least)


def recorded(tests: Sequence[str], *, path: Path) -> Map:
    """Run the tests without a fault, in a fork; what it showed is kept in a file and used again."""

    def run() -> bool:
        recorder = Recorder()
        recorder.coverage.start()
        pytest.main([*QUIET, *tests], plugins=[recorder])
        recorder.coverage.stop()
        path.write_text(json.dumps(recorder.map()), encoding="utf-8")
        return bool(recorder.failed)

    if not path.exists() and forked(run, limit_s=3600, quiet=False):
        sys.stderr.write("the tests that fail without any fault are left out\n")
    return Map(*json.loads(path.read_text(encoding="utf-8")))


def tried(trials: Sequence[Trial], known: Map, *, end: float, all_imported: bool) -> list[bool]:
    """Whether each mutant was killed, for as many as there was time."""
    ours, theirs = multiprocessing.Pipe()
    child = os.fork()
    if child == 0:
        silence()
        files = sorted({test.split("::", 1)[0] for test in known.durations})
        pytest.main([*QUIET, *files], plugins=[Answering(theirs, trials, known)])
        os._exit(0)
    results: list[bool] = []
    for number, trial in enumerate(trials):
        if time.monotonic() > end:
            break
        if all_imported or known.at_import(trial):
            results.append(noticed_when_imported(trial, known))
        else:
            ours.send(number)
            results.append(ours.recv())
        if not results[-1]:
            sys.stderr.write(f"survived {trial}\n")
        if number % 50 == 49:
            sys.stderr.write(f"{number + 1} of {len(trials)} tried, {sum(results)} killed\n")
    ours.send(None)
    os.waitpid(child, 0)
    return results


def noticed_when_imported(trial: Trial, known: Map) -> bool:
    """Try a mutant in a fork that imports the package with the fault in it.

    First the tests that run code of its module, then those that may only read its tables.
    """
    likely = known.tests_of(trial)
    others = known.in_order(known.durations.keys() - likely)
    return any(_fails_with(trial, tests, known) for tests in (likely, others) if tests)


def _fails_with(trial: Trial, tests: Sequence[str], known: Map) -> bool:
    files = sorted({test.split("::", 1)[0] for test in tests})

    def run() -> bool:
        sys.meta_path.insert(0, Finder(trial))
        return bool(pytest.main([*QUIET, "-x", *files], plugins=[Chosen(tests)]) != 0)

    return forked(run, limit_s=known.limit_s(tests) + IMPORT_S)


def forked(run: Callable[[], bool], *, limit_s: float, quiet: bool = True) -> bool:
    """Whether ``run`` said True in a fork, crashed it, or did not end in time.

    Raises:
        RuntimeError: ``run`` raised: this program is wrong, and not the mutant.
    """
    child = os.fork()
    if child == 0:
        code = BROKEN
        try:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
            silence(quiet=quiet)
            code = int(run())
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(code)
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done and os.waitstatus_to_exitcode(status) == BROKEN:
            raise RuntimeError("the fault could not be planted, or its tests not be run")
        if done:
            return status != 0
        time.sleep(0.003)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def silence(*, quiet: bool = True) -> None:
    """Keep what a fork prints off stdout, and when quiet off stderr."""
    nowhere = os.open(os.devnull, os.O_WRONLY) if quiet else 2
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def told(trials: Sequence[Trial], results: Sequence[bool], *, at_least: float) -> int:
    """Print the survivors and the score of each module."""
    done = list(zip(trials, results, strict=False))
    for trial in sorted(
        (trial for trial, killed in done if not killed), key=lambda one: (one.module, one.index)
    ):
        print(f"survived {trial}")
    every = Counter(trial.module for trial in trials)
    seen = Counter(trial.module for trial, _ in done)
    killed = Counter(trial.module for trial, killed in done if killed)
    print(f"{'module':<32}{'mutants':>8}{'tried':>8}{'killed':>8}")
    for module in sorted(every):
        print(f"{module:<32}{every[module]:>8}{seen[module]:>8}{killed[module]:>8}")
    low, high = interval(sum(results), len(results))
    share = 100 * sum(results) / len(results)
    print(f"{len(results)} of {len(trials)} mutants tried, {sum(results)} killed: {share:.1f} %", end="")
    print(
        f" (95 % interval of all {len(trials)}: {low:.1f} to {high:.1f})"
        if len(results) < len(trials)
        else ""
    )
    return int(share < at_least)


def interval(killed: int, tried: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share, in percent."""
    z, share = 1.96, killed / tried
    middle = share + z * z / (2 * tried)
    half = z * math.sqrt(share * (1 - share) / tried + z * z / (4 * tried * tried))
    return tuple(100 * (middle + sign * half) / (1 + z * z / tried) for sign in (-1, 1))  # type: ignore[return-value]


if __name__ == "__main__":
    sys.exit(main())
