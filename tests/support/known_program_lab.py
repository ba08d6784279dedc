"""A laboratory for experiments of ``diagnose`` whose program is known, and takes no time."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from reprokit.core.comparing.difference import MetricSummary
from reprokit.core.comparison import Divergence
from reprokit.diagnosis import HookTrace, Site
from reprokit.harness.diagnosing.conditions import Conditions, InstrumentedRun
from reprokit.harness.diagnosing.inquiry import Investigation

CLOCK, ENTROPY = "clock|train.py|8", "entropy|train.py|9"


class Lab:
    """A laboratory for a program that reads a clock and takes a byte, and has a number.

    Args:
        number: From what its lines drew, and the run's rank, to the program's number.
        digits: How many records show that number.
    """

    def __init__(self, number, *, budget=60, names=(CLOCK, ENTROPY), digits=1):
        self._digits, self.budget_s, self.time_share, self.labels = digits, None, 0.0, []
        self._names = names
        self.progress = SimpleNamespace(phase=lambda _: None, note=lambda _: None)
        self.hash_is_fixed, self.left, self.made, self.budget, self.cut = True, {}, 0, budget, None
        self.about = 0
        self.in_source, self.lost = str, ""
        self._number, self._of = number, {}

    def expect(self, more):
        self.about = self.made + more

    def can_make(self, runs):
        return self.made + runs <= self.budget

    @property
    def spent(self):
        return self.made >= self.budget

    def run(self, label, given):
        self.made += 1
        drawn = {name: self.made * 10 + at for at, name in enumerate(self._names)}
        if given.like is not None:
            pins = self._names if "*" in given.pins else given.pins
            drawn |= {name: self._of[given.like.label][0][name] for name in pins}
        label = f"{self.made}-{label}"
        self._of[label] = (drawn, self._number(drawn, self.made, given))
        return ran(label, drawn)

    def compare(self, first, second):
        one, other = (_number(self._of[run.label][1]) for run in (first, second))
        there = Divergence(record=0, step=0, metric="number", expected=one, actual=other)
        off = MetricSummary(max_abs_error=None, max_rel_error=None, mismatches=self._digits, first_step=0)
        return SimpleNamespace(divergence=there, per_metric={"number": off})

    def equal(self, first, second):
        return self._of[first.label][1] == self._of[second.label][1]


def _number(value):
    """What stands in the program's log."""
    return 1.25 + value if isinstance(value, int | float) else 1.0 + len(value)


def ran(label, drawn):
    sites = {
        name: Site(
            kind=name.split("|")[0],
            file="train.py",
            line=int(name.split("|")[2]),
            function="main",
            what="",
            count=1,
            digest=str(value),
            first=int(name.split("|")[2]),
        )
        for name, value in drawn.items()
    }
    trace = HookTrace(sites=sites, files={}, processes=1, started=1)
    return InstrumentedRun(
        label=label,
        folder=Path("none"),
        trace=trace,
        traced=Path("none"),
        key="k",
        hash_seed="1",
        trouble="",
        duration_s=1,
    )


def asked(lab, **more):
    first, other = (lab.run(name, Conditions()) for name in ("first", "other"))
    return Investigation(lab=lab, first=first, other=other, **more)
