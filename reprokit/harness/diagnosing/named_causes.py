"""What an inquiry's causes are called: lines first, then the hash seed, leftovers and varied conditions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reprokit import diagnosis
from reprokit.diagnosis import Cause, Site
from reprokit.harness.diagnosing.inquiry import HASH_SEED, LEFTOVERS, VARIATION, Investigation
from reprokit.harness.diagnosing.odds import by_rounding
from reprokit.variations import Variation

#: What decides with how many threads numeric libraries compute.
_NUM_THREADS = ("threads", "cpu_affinity")


def named_causes(inquiry: Investigation, held: tuple[str, ...]) -> tuple[Cause, ...]:
    """A cause for each of what must be held fixed.

    Args:
        inquiry: What is known of the two runs.
        held: The smallest set to hold, by the names of experiments.
    """
    sites = [inquiry.first.trace.sites[one] for one in held if one in inquiry.first.trace.sites]
    sites.sort(key=_rank)
    named = {"confidence": inquiry.confidence, "never_seeded": inquiry.never_seeded}
    causes = [diagnosis.cause_of(site, **named) for site in sites]
    if HASH_SEED in held:
        what = "depends on Python's hash seed"
        causes.append(_general("hash_order", what, "sort what comes out of sets", inquiry))
    if LEFTOVERS in held:
        causes.append(_leftover(inquiry))
    guilty = [variation for variation in inquiry.variations if VARIATION + variation.name in held]
    threads = _by_threads(inquiry, guilty)
    if threads is not None:
        causes.append(threads)
        guilty = [one for one in guilty if one.name not in _NUM_THREADS]
    causes += [
        _general(_category(one, inquiry), f"depends on {one.says}", one.fix, inquiry) for one in guilty
    ]
    return tuple(causes)


def variation_of(inquiry: Investigation, held: tuple[str, ...]) -> str | None:
    """The variation that matches a line's kind of value, or leftovers of a run with another seed."""
    if LEFTOVERS in held and inquiry.lab.leftovers.another is not None:
        return LEFTOVERS
    kinds = {one.split("|")[0] for one in held}
    by_kind = next(
        (variation.name for variation in inquiry.variations if kinds & {variation.name, *variation.vary}),
        None,
    )
    if (
        not by_kind
        and kinds & {"encoding"}
        and any(variation.name == "locale" for variation in inquiry.variations)
    ):
        return "locale"
    if by_kind or "environment" not in kinds:
        return by_kind
    words = " ".join(one.what for name, one in inquiry.first.trace.sites.items() if name in held)
    for variation in inquiry.variations:
        if any(key in re.findall(r"\w+", words) for key in variation.environment):
            return variation.name
    return None


def _by_threads(inquiry: Investigation, guilty: Sequence[Variation]) -> Cause | None:
    """The number of threads that numeric libraries compute with, where what was varied decides it.

    A variable and the cores that are there decide it together.
    """
    varied = {one.name: one for one in guilty if one.name in _NUM_THREADS}
    before, after = (diagnosis.computing_threads(one.trace) for one in (inquiry.first, inquiry.other))
    changed = [name for name in before if after.get(name, before[name]) != before[name]]
    if not varied or not changed:
        return None
    libraries = ", ".join(f"{name} ({before[name]}, then {after[name]})" for name in changed)
    what = f"depends on the number of threads that {libraries} computes with"
    fix = "fix it: torch.set_num_threads(1), OMP_NUM_THREADS=1"
    if "threads" in varied:
        fix = varied["threads"].fix
    return _general(_category(varied.get("threads") or guilty[0], inquiry), what, fix, inquiry)


def _category(one: Variation, inquiry: Investigation) -> str:
    """Threads that add in another order round otherwise; where more differs, they share out the work."""
    if one.name == "threads" and not by_rounding(inquiry.lab.compare(inquiry.first, inquiry.other)):
        return "concurrency"
    return one.category


def _rank(site: Site) -> tuple[int, int]:
    """Of two readings of a clock the later one is where the difference is taken; a library's come last."""
    if site.kind == "library_clock":
        return 2, site.first
    return (0, -site.first) if site.kind == "clock" else (1, site.first)


def _general(category: str, what: str, fix: str, inquiry: Investigation) -> Cause:
    return Cause(category=category, what=f"the program {what}", fix=fix, confidence=inquiry.confidence)


def _leftover(inquiry: Investigation) -> Cause:
    for path, one in inquiry.other.trace.files.items():
        if one.read is not None and path in inquiry.lab.left and not one.read_after_write:
            file, line, function = one.read
            return Cause(
                category="leftover_state",
                file=file,
                line=line,
                function=function,
                what=f"reads {path}, which an earlier run wrote",
                confidence=inquiry.confidence,
                fix="keep it in the run's own folder, or remove it first",
            )
    what = "depends on files that an earlier run left"
    return _general("leftover_state", what, "write into the run's own folder", inquiry)
