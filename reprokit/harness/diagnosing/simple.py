"""The simple causes first: a run in which the values of one kind alone are those of the first run.

A seed call that is missing, a generator without a seed, the order of a set, a clock in the numbers: where a
run that is given the first run's values of that kind, and has all others of its own, becomes the first run in
full-precision values, that is proof after three runs. Whatever else was recorded had other values in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reprokit import diagnosis
from reprokit.core.verdicts.rows import counted
from reprokit.diagnosis import Site
from reprokit.harness.diagnosing.conditions import Conditions, InstrumentedRun
from reprokit.harness.diagnosing.diagnosis import RuledOut
from reprokit.harness.diagnosing.inquiry import Investigation, described
from reprokit.harness.diagnosing.odds import by_replay

#: Kinds of lines that are tried together, the likeliest first; so many of these are tried.
_CLASSES = (
    frozenset({"unseeded", "torch_unseeded"}),
    frozenset({"set_order", "hash"}),
    frozenset({"entropy"}),
    frozenset({"clock"}),
)
_MOST_TRIED, _MOST_SOURCES = 2, 3
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
        generator: The global generator of which no seed call was seen; "" for any other.
    """

    sites: tuple[str, ...]
    generator: str


def simple_cause(inquiry: Investigation) -> tuple[str, ...] | None:
    """The site that explains the difference, proven by one run for each kind; None where none is."""
    tried = 0
    for kinds in _CLASSES:
        sources = _sources(inquiry, kinds)
        if not sources or tried == _MOST_TRIED or not inquiry.lab.can_make(1):
            continue
        tried += 1
        found = _proven_source(inquiry, sources)
        if found is not None:
            return _answer(inquiry, found)
        if any(equal for _, equal in inquiry.held_runs):
            return None  # it is of this kind: the search goes on among its lines
    return None


def _sources(inquiry: Investigation, kinds: frozenset[str]) -> list[Source]:
    """What lines of these kinds whose values differ draw on, in the order of their first draws."""
    first = inquiry.first.trace
    seeded = set(first.facts.get("seeded 0") or ())
    found: dict[str, list[str]] = {}
    for name in diagnosis.differing(first, inquiry.other.trace):
        site = first.sites[name]
        if site.kind in kinds:
            generator, library = _global_generator(site)
            never = bool(generator) and library not in seeded
            found.setdefault(generator if never else name, []).append(name)
    return [
        Source(tuple(names), "" if key in first.sites else key)
        for key, names in found.items()
        if not all(first.sites[name].overwritten for name in names)
    ]


def _global_generator(site: Site) -> tuple[str, str]:
    if site.kind in {"unseeded", "torch_unseeded"}:
        for begins, both in _GLOBAL.items():
            if site.what.startswith(begins):
                return both
    return "", ""


def _proven_source(inquiry: Investigation, sources: Sequence[Source]) -> Source | None:
    """The one source that explains the difference where it alone is held."""
    inquiry.lab.progress.phase("is it a simple cause?")
    inquiry.suspected = (_first_that_matters(inquiry, sources[0]),)
    inquiry.lab.progress.note(f"so far: {_so_far(inquiry)}, by one more run")
    together = tuple(name for one in sources for name in one.sites)
    ran = _held(inquiry, together)
    if not inquiry.saw(ran, held=together):
        inquiry.suspected = ()
        return None
    found = sources[0]
    if len(sources) > 1:
        if len(sources) > _MOST_SOURCES:
            return None
        for found in sources:
            if not inquiry.lab.can_make(1):
                return None
            ran = _held(inquiry, found.sites)
            if inquiry.saw(ran, held=found.sites):
                break
        else:
            return None
    if len(found.sites) > 1 and not found.generator:
        return None
    return found if by_replay(inquiry, ran, held=found.sites) else None


def _held(inquiry: Investigation, names: tuple[str, ...]) -> InstrumentedRun:
    """A run with the first run's values at these lines, and its own everywhere else."""
    inquiry.lab.expect(1)
    return inquiry.lab.run("simple", Conditions(pins=names, like=inquiry.first))


def _first_that_matters(inquiry: Investigation, source: Source) -> str:
    """The first line of a source whose draws were not all overwritten unread."""
    sites = inquiry.first.trace.sites
    return next(name for name in source.sites if not sites[name].overwritten)


def _so_far(inquiry: Investigation) -> str:
    return inquiry.lab.in_source(inquiry.described)


def _answer(inquiry: Investigation, found: Source) -> tuple[str, ...]:
    """Name the source by its first line that matters; rule out what differed all the same."""
    name = _first_that_matters(inquiry, found)
    inquiry.suspected, inquiry.confidence = (), "high"
    inquiry.began = diagnosis.first_difference(inquiry.first.trace, inquiry.other.trace)
    if found.generator:
        inquiry.never_seeded = found.generator
    others = [one for one in found.sites if one != name]
    if others:
        lines = ", ".join(described(inquiry, one) for one in others[:3])
        more = f" and {counted(len(others) - 3, 'other line')}" if len(others) > 3 else ""
        inquiry.known.append(f"the same generator is drawn from at {lines}{more}")
    for one in diagnosis.differing(inquiry.first.trace, inquiry.other.trace):
        if one not in found.sites:
            how = "left to chance, the runs are equal all the same"
            inquiry.ruled_out.append(RuledOut(what=described(inquiry, one), how=how))
    return (name,)
