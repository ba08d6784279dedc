"""The answer that follows from an inquiry: causes with their odds, or what is known where none is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from reprokit import diagnosis
from reprokit.core.comparing import clock_metrics
from reprokit.diagnosis import Site
from reprokit.errors import MetricsError
from reprokit.harness.diagnosing.conditions import InstrumentedRun
from reprokit.harness.diagnosing.diagnosis import DIFFERS, EQUAL, UNJUDGED, Diagnosis, Tap, Tried
from reprokit.harness.diagnosing.first_divergence import first_rank
from reprokit.harness.diagnosing.inquiry import VARIATION, Investigation
from reprokit.harness.diagnosing.instrumented_runs import InstrumentedProgram
from reprokit.harness.diagnosing.named_causes import named_causes, variation_of
from reprokit.harness.running.plan import shell_line

UNKNOWN = "unknown"
#: What watches the program asks the system too.
_OWN_FILE = "/instrumentation/sitecustomize.py"
#: Asked by everything that prints help, such as argparse: in nearly every program that has options.
_OF_THE_TERMINAL = frozenset({"the variables COLUMNS, LINES", "the variable COLUMNS", "the variable LINES"})
#: The beginning of a run's label → what is tried by such runs.
_TRIED = {
    ("first", "second", "again", "unwatched"): "the program under equal conditions",
    ("simple",): "the values of one line or generator alone replayed",
    ("held",): "values of some lines held as recorded, all other lines left free",
    ("as-the-other",): "values that the differing run recorded, given to another run",
    ("all-varied", "varied", "the-rest"): "different conditions",
    ("another-seed", "beside"): "what a run with another seed leaves",
    ("threads",): "threads one after another",
    ("operations", "all-held"): "every operation compared, all else replayed",
    ("narrow",): "every event around the first difference compared",
    ("calls", "call"): "every call of the program compared or replayed",
    ("under-taps",): "entropy, clocks, threads and locks of compiled code held, or memory and addresses too",
    ("under-malloc", "under-glibc"): "the same contents of fresh memory in each run",
    ("under-fixed-addresses",): "the same layout of memory in each run",
    ("under",): "threads one at a time, or one thread in each pool of compiled code",
}


def answer(inquiry: Investigation, held: tuple[str, ...] | None) -> Diagnosis:
    """What is known, with the causes in ``held`` or those that were found without holding a line."""
    lab, first = inquiry.lab, inquiry.first
    differs = set(diagnosis.differing(first.trace, inquiry.other.trace))
    equal = lab.equal(first, inquiry.other)
    guilty = [variation for variation in inquiry.variations if held and VARIATION + variation.name in held]
    asked = set(lab.vary or ()) & set(inquiry.unmade)
    causes = inquiry.causes or named_causes(inquiry, held or ())
    return Diagnosis(
        verdict=(UNJUDGED if asked or lab.disturb else EQUAL) if equal else DIFFERS,
        divergence=None if equal else lab.compare(first, inquiry.other).divergence,
        causes=causes,
        variation=guilty[0].name if guilty else variation_of(inquiry, held or ()),
        known=(*first_rank(first, inquiry.other), *inquiry.known, *left_out_of(lab)),
        ruled_out=tuple(inquiry.ruled_out),
        not_varied=tuple(inquiry.not_varied),
        limits=diagnosis.limits_of(first.trace),
        began=inquiry.began,
        taps=tuple(
            _tap(site, differs=name in differs)
            for name, site in first.trace.sites.items()
            if name in differs or not (site.what in _OF_THE_TERMINAL or site.file.endswith(_OWN_FILE))
        ),
        folder=lab.folder,
        runs=lab.made,
        odds=None if equal else inquiry.odds_of_others or inquiry.odds(held or ()),
        tried=tried(lab),
        not_seen=dict(inquiry.not_seen),
        next=() if equal or (causes and causes[0].category != UNKNOWN) else _next(inquiry),
    )


def provisional(inquiry: Investigation, why: str) -> Diagnosis:
    """What is known so far: where the runs differ, and what explains it as long as nothing contradicts."""
    inquiry.confidence = "low"
    inquiry.began = diagnosis.first_difference(inquiry.first.trace, inquiry.other.trace)
    if inquiry.suspected:
        inquiry.known.append(f"so far {inquiry.described} explains it; that is not confirmed")
    return replace(answer(inquiry, inquiry.suspected or None), provisional=why)


def tried(lab: InstrumentedProgram) -> tuple[Tried, ...]:
    """How many runs were spent on what, in the order in which it was tried first, and how they ended."""
    runs = Counter(map(_kind_of, lab.labels))
    ends: dict[str, Counter[str]] = {what: Counter() for what in runs}
    first = lab.ended[0][1] if lab.ended else None
    for label, ran in lab.ended:
        if first is not None and ran is not first:
            ends[_kind_of(label)][_how_it_ended(lab, first, ran)] += 1
    return tuple(
        Tried(
            what=what,
            runs=number,
            outcome=", ".join(f"{ends[what][how]} {how}" for how in sorted(ends[what])),
        )
        for what, number in runs.items()
    )


def _kind_of(label: str) -> str:
    """What is tried by runs of this label.

    >>> _kind_of("another-seed")
    'what a run with another seed leaves'
    """
    return next((says for begins, says in _TRIED.items() if label.startswith(begins)), label)


def _how_it_ended(lab: InstrumentedProgram, first: InstrumentedRun, ran: InstrumentedRun) -> str:
    if ran.trouble:
        return "not finished"
    try:
        is_equal = lab.compare(first, ran).within_tolerance
    except (MetricsError, OSError):
        return "not comparable"
    return "equal to the first run" if is_equal else "different"


def left_out_of(lab: InstrumentedProgram) -> tuple[str, ...]:
    """What was left out of every comparison, a sentence; empty where nothing was."""
    if not lab.left_out:
        return ()
    measure = "by its values it measures" if len(lab.left_out) == 1 else "by their values they measure"
    what = clock_metrics.sentence(lab.left_out)
    return (f"left out: {what}; {measure} time. To leave it out always: {leave_out(lab.left_out)}",)


def leave_out(names: Iterable[str]) -> str:
    """How metrics of the clock are left out of what is compared."""
    every = list(names)
    return f"{clock_metrics.options(every)}, or in recipe.yaml {clock_metrics.volatile(every)}"


def _next(inquiry: Investigation) -> tuple[str, ...]:
    """What to type next where no experiment shows a cause."""
    lab = inquiry.lab
    first, other = (shell_line([str(one.traced)]) for one in (inquiry.first, inquiry.other))
    commands = [f"reprokit diff --trace {first} {other}"]
    if lab.spent and lab.budget_s is not None:
        commands.insert(0, f"the same with --budget {max(1, round(lab.budget_s / 15))}m")
    if any("of C or C++ libraries" in limit for limit in diagnosis.limits_of(inquiry.first.trace)):
        commands.insert(0, "the same after export OMP_NUM_THREADS=1: equal runs mean compiled threads")
    return tuple(commands)


def _tap(site: Site, *, differs: bool) -> Tap:
    words = {name: getattr(site, name) for name in ("kind", "file", "line", "function", "what", "count")}
    return Tap(category=diagnosis.category_of(site.kind), differs=differs, **words)
