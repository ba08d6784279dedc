"""Why a call that is the cause gives something else for the same: decided by experiment, or unknown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reprokit.diagnosis import Cause
from reprokit.diagnosis.calls import Candidate
from reprokit.harness.diagnosing.call_experiments import Proof, told_of
from reprokit.harness.diagnosing.conditions import InstrumentedRun

#: Pools of threads in compiled code: the variable that decides how many they are → what they are called.
_POOLS = {
    "OMP_NUM_THREADS": "OpenMP",
    "OMP_THREAD_LIMIT": "OpenMP",  # also where the program asks for a number of threads itself
    "OPENBLAS_NUM_THREADS": "OpenBLAS",
    "MKL_NUM_THREADS": "MKL",
    "RAYON_NUM_THREADS": "rayon",
    "NUMBA_NUM_THREADS": "numba",
}
#: Parameters that decide what a library draws from, and with how many threads it works.
_SEEDS = ("random_state", "seed", "generator", "rng")
_THREADS = ("n_jobs", "num_threads", "n_threads", "nthread", "thread_count", "workers")


def causes(proof: Proof, held: Sequence[Candidate]) -> tuple[Cause, ...]:
    """A cause for each of the calls that must be held."""
    return tuple(_cause(proof, one) for one in held)


def _cause(proof: Proof, one: Candidate) -> Cause:
    facts = _facts(proof.kept, one.site)
    category, why, fix = "unknown", "", ""
    drawn = _generator(facts)
    if drawn:
        category, why = "unseeded_rng", f": {drawn} is in another state"
        named = next((name for name in _SEEDS if name in facts[0].get("parameters", ())), "")
        fix = f"give it {named}=" if named else "seed that generator, in this process"
    else:
        pool = _pool(proof, facts)
        if pool:
            category, why, fix = "concurrency", f": {pool[0]} work in another order", pool[1]
    what = f"{one.name}: gives another result for the same{why}"
    return Cause(
        category=category,
        file=one.file,
        line=one.line,
        what=what,
        fix=fix,
        confidence=proof.confidence,
    )


def by_threads(proof: Proof, one: Candidate) -> Cause | None:
    """The cause where a call cannot be proven, but runs are equal as soon as threads have one order."""
    pool = _pool(proof, _facts(proof.kept, one.site))
    if pool is None:
        return None
    what = (
        f"{one.name}: the first call that gives something else for the same: {pool[0]} work in another order"
    )
    return Cause(
        category="concurrency", file=one.file, line=one.line, what=what, fix=pool[1], confidence="medium"
    )


def _facts(kept: Sequence[InstrumentedRun], site: str) -> list[dict[str, Any]]:
    """What was around a site's first call in the two runs that kept its results."""
    found = []
    for ran in kept:
        records = [one for one in told_of(ran) if one["site"] == site and "generators" in one]
        found.append(records[0] if records else {})
    return found


def _generator(facts: Sequence[dict[str, Any]]) -> str:
    """A random generator whose state is another one in the two runs, which no call explains; or ""."""
    one, other = (record.get("generators", {}) for record in facts)
    return next((path for path, state in one.items() if other.get(path, state) != state), "")


def _pool(proof: Proof, facts: Sequence[dict[str, Any]]) -> tuple[str, str] | None:
    """The threads whose order decides, and what gives them one order; None where no experiment shows it."""
    found = _threads(proof, facts)
    known = {name for one in facts for name in (*one.get("parameters", ()), *one.get("settings", ()))}
    named = next((name for name in _THREADS if name in known), "")
    return (found[0], f"{named}=1") if found and named else found


def _threads(proof: Proof, facts: Sequence[dict[str, Any]]) -> tuple[str, str] | None:
    if any(record.get("python_threads") for record in facts):
        for mode in ("turns", "one"):
            if proof.equal_under(calls={"mode": mode}):
                return "the threads that it starts", "let it work with one thread"
    if not any(record.get("native_threads") for record in facts):
        return None
    one = dict.fromkeys(_POOLS, "1")
    alike = proof.equal_under(environment=one, once=True)
    if alike is None:
        return None
    for variable, name in _POOLS.items():
        if proof.equal_under(environment={variable: "1"}, like=alike):
            return f"{name}'s threads", f"{variable}=1"
    if proof.equal_under(environment=one, like=alike) is None:
        return None
    return "threads of compiled code", " ".join(f"{name}=1" for name in one)
