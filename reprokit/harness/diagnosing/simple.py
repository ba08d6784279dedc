"""The simple causes first: a run in which the values of one kind alone are those of the first run.

A seed call that is missing, a generator without a seed, the order of a set, a clock in the numbers: where a
run that is given the first run's values of that kind, and has all others of its own, becomes the first run in
full-precision values, that is proof after three runs. Whatever else was recorded had other values in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reprokit import diagnosis
from reprokit.core.verdicts.rows import counted
from reprokit.diagnosis import Site
from reprokit.harness.diagnosing.call_experiments import watched
from reprokit.harness.diagnosing.conditions import Conditions
from reprokit.harness.diagnosing.diagnosis import RuledOut
from reprokit.harness.diagnosing.first_divergence import like
from reprokit.harness.diagnosing.held_runs import reproduces
from reprokit.harness.diagnosing.inquiry import HASH_SEED, Investigation, described
from reprokit.harness.diagnosing.odds import by_replay, by_rounding

#: Kinds of lines, the likeliest first; of each the likeliest are tried alone, and so many in all.
_KINDS = (
    frozenset({"unseeded", "torch_unseeded"}),
    frozenset({"set_order", "hash"}),
    frozenset({"entropy"}),
    frozenset({"clock"}),
)
#: Where there is none of these: mostly such a line only measures.
_ELSE = frozenset({"library_clock"})
_MOST_OF_A_KIND, _MOST_TRIED = 2, 3
#: A program that takes no longer than this is run again as often: a few times, and where some of these runs
#: are equal until so many runs were made in all, as long as that leaves time and runs for a cause.
_QUICK_S, _FEW_PAIRS, _MOST_PAIRS = 3.0, 2, 30
_LEFT_FOR_A_CAUSE, _MOST_SHARE = 8, 0.25
#: Generators that a whole program draws from, by how a site's words begin: name, and the library that has it.
_GLOBAL = {
    "torch.": ("PyTorch's default generator", "torch"),
    "np.random.": ("NumPy's global generator", "numpy"),
    "random.": ("Python's global generator", "random"),
}


@dataclass(frozen=True, slots=True)
class Source:
    """Lines that draw on one thing: a generator that nothing seeds, or one line alone.

    Attributes:
        generator: The global generator for which no seed call was seen in the processes of these lines; ""
            for any other.
    """

    sites: tuple[str, ...]
    generator: str


def simple_cause(inquiry: Investigation) -> tuple[str, ...] | None:
    """The line that explains the difference, proven by one run for each that is tried; None where none is.

    Where the runs differ by rounding no such run is proof, and none is made for a line.
    """
    lab = inquiry.lab
    if by_rounding(lab.compare(inquiry.first, inquiry.other)) and not _differs_by_more(inquiry):
        return None if lab.left or lab.lost else _hash_seed(inquiry)
    chosen = [one for kinds in _KINDS for one in _sources(inquiry, kinds)[:_MOST_OF_A_KIND]]
    chosen = chosen or _sources(inquiry, _ELSE)[:1]
    lab.progress.phase("is it a simple cause?")
    for source in chosen[:_MOST_TRIED]:
        if not lab.can_make(1):
            break
        if _explains(inquiry, source):
            return _answer(inquiry, source)
        if _is_in_workers(inquiry, source):
            break  # which of them does what may differ: such a line is seldom proven here, and may be it
    both = [one for one in chosen[:_MOST_TRIED] if one.generator]
    if len(both) == 2 and lab.can_make(1):  # neither was enough alone: if both are, it takes both
        together = Source(sites=(*both[0].sites, *both[1].sites), generator="")
        if _explains(inquiry, together):
            return _answer(inquiry, *both)
    return _hash_seed(inquiry)


def _differs_by_more(inquiry: Investigation) -> bool:
    """Whether one more run differs by more than rounding, which then is the other one.

    Made only where a global generator is never seeded: two first losses of a training may be near by luck.
    """
    lab, second = inquiry.lab, inquiry.other
    if not lab.can_make(2) or not any(one.generator for one in _sources(inquiry, _KINDS[0])):
        return False
    ran = lab.run("again", Conditions(progress=like(inquiry.first)))
    if inquiry.saw(ran, held=()) or ran.trouble or by_rounding(lab.compare(inquiry.first, ran)):
        return False
    inquiry.other = ran
    inquiry.whole_runs.append(second)
    return True


def _hash_seed(inquiry: Investigation) -> tuple[str, ...] | None:
    """Python's hash seed, where no line differs and a run with the first one's is proof.

    Calls are watched in that run: where the hash seed does not decide, they are what is asked about next.
    Where more may decide, it is no proof, but the first of the runs that ``explain`` asks for.
    """
    lab, held = inquiry.lab, (HASH_SEED,)
    differ = diagnosis.differing(inquiry.first.trace, inquiry.other.trace)
    if lab.hash_is_fixed or differ or not lab.can_make(1):
        return None
    ran = None if lab.left or lab.lost else lab.run("calls", watched(inquiry, mode="watch", window=None))
    if ran is None or ran.trouble:
        ran = lab.run("simple", Conditions(like=inquiry.first, hash_seed=True))
    else:
        inquiry.watched_run = ran
    if not (inquiry.saw(ran, held=held) and by_replay(inquiry, ran, held=held)) or _others_may_decide(
        inquiry
    ):
        return None
    inquiry.confidence, inquiry.by_replay = "high", True
    inquiry.confirmed += 1
    return held


def _sources(inquiry: Investigation, kinds: frozenset[str]) -> list[Source]:
    """What lines of these kinds whose values differ draw on: generators of the whole program first.

    Of other lines the one nearest to the numbers comes first.
    """
    first = inquiry.first.trace
    found: dict[str, list[str]] = {}
    for name in diagnosis.differing(first, inquiry.other.trace):
        site = first.sites[name]
        if site.kind in kinds:
            generator, library = _global_generator(site)
            never = bool(generator) and not any(
                library in (first.facts.get(f"seeded {process}") or ()) for process in site.processes
            )
            found.setdefault(generator if never else name, []).append(name)
    both = [
        Source(tuple(names), "" if key in first.sites else key)
        for key, names in found.items()
        if not all(first.sites[name].overwritten for name in names)
    ]
    order = [name for name, _ in _GLOBAL.values()]
    return [
        *sorted((one for one in both if one.generator), key=lambda one: order.index(one.generator)),
        *(one for one in reversed(both) if not one.generator),
    ]


def _global_generator(site: Site) -> tuple[str, str]:
    if site.kind in {"unseeded", "torch_unseeded"}:
        for begins, both in _GLOBAL.items():
            if site.what.startswith(begins):
                return both
    return "", ""


def _explains(inquiry: Investigation, source: Source) -> bool:
    """Whether a run with the first run's values of this source, and its own everywhere else, is proof."""
    lab = inquiry.lab
    inquiry.suspected = (first_that_matters(inquiry, source),)
    names = lab.in_source(inquiry.described).replace(f"{Path.cwd()}/", "")
    lab.progress.note(f"so far: perhaps {names}; one more run checks it")
    lab.expect(1)
    ran = lab.run("simple", Conditions(pins=source.sites, like=inquiry.first))
    inquiry.suspected = ()
    if not (inquiry.saw(ran, held=source.sites) and by_replay(inquiry, ran, held=source.sites)):
        return False
    if source.generator or not _others_may_decide(inquiry):
        return True
    return lab.can_make(1) and reproduces(inquiry, source.sites)


def _others_may_decide(inquiry: Investigation) -> bool:
    """Whether processes, threads or compiled code of others work in an order that no line records.

    Then runs have few results, of which one comes again by luck: the other run's has to come as well.
    """
    first = inquiry.first.trace
    beside = first.processes > 1 or any(one.startswith("thread_order|") for one in first.sites)
    return beside or bool(diagnosis.compiled_packages(first))


def drawn_in_workers(inquiry: Investigation) -> tuple[Source, ...]:
    """Global generators that nothing seeds in several processes that draw from them."""
    found = _sources(inquiry, _KINDS[0])
    return tuple(one for one in found if one.generator and _is_in_workers(inquiry, one))


def _is_in_workers(inquiry: Investigation, source: Source) -> bool:
    """Whether several processes draw at one of its lines."""
    return any(len(inquiry.first.trace.sites[name].processes) > 1 for name in source.sites)


def first_that_matters(inquiry: Investigation, source: Source) -> str:
    """The first line of a source whose draws were not all overwritten unread."""
    sites = inquiry.first.trace.sites
    return next(name for name in source.sites if not sites[name].overwritten)


def _answer(inquiry: Investigation, *found: Source) -> tuple[str, ...]:
    """Name each source by its first line that matters; rule out what differed all the same."""
    names = tuple(first_that_matters(inquiry, one) for one in found)
    inquiry.confidence, inquiry.by_replay = "high", True
    inquiry.confirmed += 1
    inquiry.began = diagnosis.first_difference(inquiry.first.trace, inquiry.other.trace)
    if len(found) == 1:
        inquiry.never_seeded = found[0].generator
    for source, name in zip(found, names, strict=True):
        others = [one for one in source.sites if one != name]
        if others:
            lines = ", ".join(described(inquiry, one) for one in others[:3])
            more = f" and {counted(len(others) - 3, 'other line')}" if len(others) > 3 else ""
            inquiry.known.append(f"the same generator is drawn from at {lines}{more}")
    held = {one for source in found for one in source.sites}
    for one in diagnosis.differing(inquiry.first.trace, inquiry.other.trace):
        if one not in held:
            how = "the runs are equal even where this is left free"
            inquiry.ruled_out.append(RuledOut(what=described(inquiry, one), how=how))
    return names


def look_at_pairs(inquiry: Investigation) -> None:
    """Of a quick program: how often runs differ at all; a few runs, and more where some are equal.

    Only where recorded values explain the difference: else runs that look for a call show it as well.
    """
    lab, first = inquiry.lab, inquiry.first
    if first.duration_s > _QUICK_S or not diagnosis.differing(first.trace, inquiry.other.trace):
        return
    lab.progress.phase("how often do two runs differ?")
    until = lab.made + _FEW_PAIRS
    while lab.made < until and lab.can_make(_LEFT_FOR_A_CAUSE):
        equal = inquiry.saw(lab.run("again", Conditions(progress=like(first))), held=())
        if equal and lab.time_share < _MOST_SHARE:
            until = max(until, _MOST_PAIRS)
        elif equal:
            break
