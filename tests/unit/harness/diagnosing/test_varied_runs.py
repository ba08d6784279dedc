"""What a program does not bear is told once, in few runs; the rest is still varied."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from reprokit import variations
from reprokit.core.records import RunSpec
from reprokit.diagnosis import HookTrace
from reprokit.harness.diagnosing.conditions import Conditions, InstrumentedRun
from reprokit.harness.diagnosing.inquiry import Investigation
from reprokit.harness.diagnosing.varied_runs import (
    differs_when_varied,
    repeat_as_before,
    rounding_apart,
)
from reprokit.harness.running.varying.in_force import expected_of
from reprokit.variations.catalogue import CATALOGUE
from support.known_program_lab import Lab as KnownLab
from support.known_program_lab import asked

THREADS, UMASK, COMPILER = variations.survey(
    variations.RunPlace(container=False, folder="/tmp/x"), only=("threads", "umask", "compiler")
).made
CHANGES = ("environment", "start", "vary", "run_folder")


class Lab:
    """A laboratory for a program that does not come to its end under some variations."""

    def __init__(self, *unbearable, hangs=True):
        self.spec = RunSpec(recipe="r", run_id="r-1", seed=0, device="cpu", command=("true",))
        self.apart, self.vary, self.budget, self.made = Path("/tmp/x"), None, 60, 0
        self.progress = SimpleNamespace(phase=lambda _: None, note=lambda _: None)
        self.left, self._unbearable, self._hangs = {}, unbearable, hangs
        there = variations.RunPlace(container=False, folder="/tmp/x", cores=(0, 1), network=True)
        self._known = {one.name: one for one in variations.survey(there).made}

    def expect(self, more):
        """No one is shown how many runs it takes."""

    def run(self, label, given):
        self.made += 1
        stopped = any(self._is_made(self._known[name], given) for name in self._unbearable)
        hangs = stopped and self._hangs
        trouble = "stopped" if stopped else ""
        return replace(RAN, trouble=trouble, overdue=hangs, limit_s=60.0, trace=self._shown())

    def _shown(self):
        """A trace in which everything that can be varied is in force."""
        expected = [expected_of(one) for one in self._known.values()]
        seen = {"varies": [word for one in expected for word in one["varies"]], "variables": {}}
        for one in expected:
            seen["variables"] |= one["variables"]
            seen |= {key: values[0] for key, values in one["shows"].items()}
            seen |= {key: "another one" for key in one["differs"] if key not in seen}
        return replace(RAN.trace, facts={"conditions 0": seen})

    def _is_made(self, one, given):
        if one.environment:
            return one.environment.items() <= given.environment.items()
        return any(word in given.vary for word in one.vary) or (one.start and one.start[0] in given.start)

    def equal(self, first, second):
        return not second.trouble


RAN = InstrumentedRun(
    label="x",
    folder=Path("none"),
    trace=HookTrace(sites={}, files={}, processes=1, started=1),
    traced=Path("none"),
    key="k",
    hash_seed="1",
    trouble="",
    duration_s=1,
)


def judged(lab):
    inquiry = Investigation(lab=lab, first=RAN, other=RAN)
    assert not differs_when_varied(inquiry)
    return inquiry


@pytest.mark.parametrize("name", ["temporary_folder", "umask", "cpu_count"])
def test_what_makes_the_program_hang_is_named_with_its_limit_and_the_rest_is_varied(name):
    lab = Lab(name)
    inquiry = judged(lab)
    says = {row.name: row.says for row in CATALOGUE}[name]
    told = [one for one in inquiry.not_varied if "does not finish" in one.how]
    assert [(one.what, one.how) for one in told] == [
        (says, "with it changed the program does not finish within 60 s")
    ]
    assert lab.made <= 8
    assert len(inquiry.ruled_out) >= 15


@pytest.mark.parametrize("cores", [(0, 1), (1,)])
def test_the_number_of_threads_is_ruled_out_only_where_the_program_had_more_than_one_core(cores):
    first = replace(RAN, trace=replace(RAN.trace, facts={"conditions 0": {"cores": list(cores)}}))
    inquiry = Investigation(lab=Lab(), first=first, other=RAN)
    assert not differs_when_varied(inquiry)
    assert (THREADS.says in [one.what for one in inquiry.ruled_out]) == (len(cores) > 1)
    assert any("one core" in one.how for one in inquiry.not_varied) == (len(cores) == 1)


def test_two_that_it_does_not_bear_are_both_named():
    inquiry = judged(Lab("umask", "time_zone", hangs=False))
    told = {one.what for one in inquiry.not_varied if one.how.endswith("does not finish: stopped")}
    assert told == {"the umask", "the time zone"}


def test_a_program_that_bears_nothing_costs_few_runs():
    lab = Lab("umask", "time_zone", "locale", "clock", "cpu_count", "load", "temporary_folder")
    inquiry = judged(lab)
    assert lab.made <= 14
    assert any("search for which of them it is was stopped" in one.how for one in inquiry.not_varied)


def asked_of(*numbers):
    """Two equal runs and a varied one that differs; more under equal conditions will have these numbers."""
    left = list(numbers)
    lab = KnownLab(lambda drawn, run, given: 1 if given.vary else left.pop(0) if run > 3 else 0)
    first, _ = (lab.run(name, Conditions()) for name in ("first", "second"))
    other = lab.run("all-varied", Conditions(vary=("hostname",)))
    return Investigation(lab=lab, first=first, other=other, variations=CATALOGUE[:1])


def test_what_was_varied_is_not_looked_at_where_a_run_under_equal_conditions_differs_too():
    inquiry = asked_of(0, 7)
    repeat_as_before(inquiry, fresh=False)
    assert inquiry.variations == ()
    assert inquiry.other.label == "5-again"
    assert inquiry.odds(()).equal == 2


def test_what_was_varied_is_looked_at_where_all_runs_under_equal_conditions_are_equal():
    inquiry = asked_of(0, 0, 0)
    repeat_as_before(inquiry, fresh=False)
    assert inquiry.variations == CATALOGUE[:1]
    assert inquiry.other.label == "3-all-varied"
    assert inquiry.odds(("variation x",)).repeated == 4


def compiled(*, by, by_umask=0, rounds=None):
    """What is left to explain of a program that differs so much without its compiler, or under a umask."""
    rounds = rounds or COMPILER

    def number(drawn, run, given):
        return (by if given.environment else 0) + (by_umask if given.start else 0)

    lab = KnownLab(number)
    lab.spec, lab.vary = RunSpec(recipe="r", run_id="r-1", seed=0, device="cpu", command=("true",)), None
    inquiry = asked(lab)
    everything = Conditions(environment=rounds.environment, start=UMASK.start)
    chosen, other = rounding_apart(inquiry, (UMASK, rounds), lab.run("all-varied", everything))
    return chosen, lab.equal(inquiry.first, other), inquiry


def test_compiled_code_that_rounds_otherwise_is_no_fault_and_is_said():
    chosen, is_equal, inquiry = compiled(by=1e-6)
    assert (chosen, is_equal) == ((UMASK,), True)
    assert inquiry.known == [
        "with whether torch.compile compiles changed, the numbers are the same but for rounding"
    ]


def test_what_differs_beside_rounding_of_compiled_code_is_still_found():
    chosen, is_equal, _ = compiled(by=1e-6, by_umask=3)
    assert (chosen, is_equal) == ((UMASK,), False)


def test_compiled_code_that_gives_other_numbers_is_what_is_explained_and_nothing_else():
    chosen, is_equal, _ = compiled(by=2, by_umask=3)
    assert (chosen, is_equal) == ((COMPILER,), False)


def test_where_compiling_changes_nothing_all_that_was_varied_is_looked_at():
    chosen, is_equal, _ = compiled(by=0, by_umask=3)
    assert (chosen, is_equal) == ((UMASK, COMPILER), False)


def test_another_number_of_threads_than_the_one_that_is_given_may_round_otherwise(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert compiled(by=1e-6, rounds=THREADS)[:2] == ((UMASK,), True)
    assert compiled(by=2, rounds=THREADS)[:2] == ((THREADS,), False)


def test_where_no_number_of_threads_is_given_what_rounds_otherwise_is_looked_at_with_all_others(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert compiled(by=1e-6, rounds=THREADS)[:2] == ((UMASK, THREADS), False)
