"""Why a call that is the cause gives something else for the same: decided by experiment, or unknown."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reprokit import diagnosis
from reprokit.diagnosis import Cause
from reprokit.diagnosis.calls import Candidate
from reprokit.harness.diagnosing.call_experiments import Proof, told_of
from reprokit.harness.diagnosing.conditions import InstrumentedRun
from reprokit.harness.diagnosing.odds import Odds
from reprokit.harness.diagnosing.simple import drawn_in_workers, first_that_matters
from reprokit.harness.diagnosing.taps.deciding import Decided, what_decides
from reprokit.harness.diagnosing.taps.seen import asked_around
from reprokit.harness.running.varying.apply_variations import there
from reprokit.variations import survey

#: Pools of threads in compiled code, the likeliest first, and the variables that decide how many they are.
_POOLS = {
    "OpenMP": ("OMP_NUM_THREADS", "OMP_THREAD_LIMIT"),  # the limit: where the program says a number itself
    "OpenBLAS": ("OPENBLAS_NUM_THREADS",),
    "MKL": ("MKL_NUM_THREADS",),
    "rayon": ("RAYON_NUM_THREADS",),
    "numba": ("NUMBA_NUM_THREADS",),
    "Polars": ("POLARS_MAX_THREADS",),
}
_LIKELY = {"OpenMP": 8.0}
_PROCESSES = "the processes of a pool"
_OF_NO_POOL = "threads that compiled code starts by itself"
_PYTHON, _ONE_THREAD = "the threads that it starts", "let it work with one thread"
#: A look at one pool of those that were shown to decide is repeated where luck would give it as often.
_LUCK_OF_A_POOL = 0.1
#: Parameters that decide what a library draws from, and with how many threads it works.
_SEEDS = ("random_state", "seed", "generator", "rng")
_THREADS = ("n_jobs", "num_threads", "n_threads", "nthread", "thread_count", "workers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Threads that were shown to decide.

    Attributes:
        name: Of which code.
        fix: What gives them one order, where the call itself has no word for it.
        odds: Of the experiment that shows it.
        sure: Whether that changed nothing but their order.
        besides: What it takes together with their order for runs to differ.
    """

    name: str
    fix: str
    odds: Odds
    sure: bool = True
    besides: tuple[Cause, ...] = ()

    def fix_of(self, facts: Sequence[dict[str, Any]]) -> str:
        """What gives them one order, by the call's own parameter where it has one."""
        if self.name.startswith(_PROCESSES):
            return self.fix
        known = {name for one in facts for name in (*one.get("parameters", ()), *one.get("settings", ()))}
        named = next((name for name in _THREADS if name in known), "")
        return f"{named}=1" if named else self.fix


class Reasons:
    """Looks for the reason why calls differ; experiments with threads are made once for all calls.

    Args:
        proof: Makes the experiments.
        watched: Two runs that differ, with all calls watched: what was around each call.
    """

    def __init__(self, proof: Proof, watched: Sequence[InstrumentedRun]) -> None:
        self._proof, self._watched = proof, watched
        self._pools: dict[str, Pool | None] = {}

    def cause(self, one: Candidate) -> Cause:
        """The cause at a call that was proven to be one; ``unknown`` where no experiment shows why."""
        category, why, fix, unsure = "unknown", "", "", one.unseen
        pool = self.pool(one)
        if pool is not None:
            category, why = "concurrency", f": {pool.name} work in another order"
            fix = pool.fix_of(self._around(one))
            unsure |= not pool.sure
        elif drawn := _generator(self._around(one)):
            category, why = "unseeded_rng", f": {drawn} is in another state"
            known = self._around(one)[0].get("parameters", ())
            named = next((name for name in _SEEDS if name in known), "")
            fix = f"give it {named}=" if named else "seed that generator, in this process"
        elif decided := self._beneath_python(one):
            category, why = decided.category, f": {decided.why}"
            known = self._around(one)[0].get("parameters", ())
            fix = _with_its_parameter(decided, known)
            unsure |= not decided.alone
        what = f"{one.name}: gives a different result for the same input{why}"
        confidence = "medium" if unsure else "high"
        return Cause(
            category=category, file=one.file, line=one.line, what=what, fix=fix, confidence=confidence
        )

    def by_threads(self, one: Candidate, pool: Pool) -> Cause:
        """The cause where a call cannot be proven, but runs are equal as soon as threads have one order."""
        why = f"{pool.name} work in another order"
        what = f"{one.name}: the first call that gives a different result for the same input: {why}"
        fix = pool.fix_of(self._around(one))
        return Cause(
            category="concurrency", file=one.file, line=one.line, what=what, fix=fix, confidence="medium"
        )

    def starts_threads(self, one: Candidate) -> bool:
        """Whether compiled code starts threads inside a call; seen in runs with the taps only."""
        kept = self._proof.kept[:1]
        return any("threads" in asked.kinds for ran in kept for asked in asked_around(ran, one.site))

    def by_taps(self, one: Candidate) -> Cause | None:
        """The cause where a call cannot be proven, but runs are equal with what it asks for held."""
        proof = self._proof
        if not proof.kept or proof.inquiry.taps is None or not asked_around(proof.kept[0], one.site):
            return None
        decided = self._beneath_python(one)
        if decided is None:
            return None
        what = f"{one.name}: the first call that gives a different result for the same input: {decided.why}"
        return Cause(
            category=decided.category,
            file=one.file,
            line=one.line,
            what=what,
            fix=_with_its_parameter(decided, self._around(one)[0].get("parameters", ())),
            confidence="medium",
        )

    def pool(self, one: Candidate) -> Pool | None:
        """The threads whose order decides; None where a call has none, or no experiment shows it.

        One thread of Python mostly looks on, as a progress bar's does: others come first then.
        """
        facts = self._around(one)
        drawn = _generator(facts)
        python = 0 if one.elsewhere else max(record.get("python_threads", 0) for record in facts)
        native = not drawn and any(record.get("native_threads") for record in facts)
        tried: list[Callable[[], Pool | None]] = []
        if python:
            tried.append(lambda: self._once("python", _of_python))
        if one.elsewhere or not drawn:  # a worker's generator may be one that was seeded before the fork
            tried.append(self.processes)
        if native:
            tried.append(lambda: self._once("native", _native))
        if python == 1:
            tried.append(tried.pop(0))
        return next((found for experiment in tried if (found := experiment()) is not None), None)

    def processes(self) -> Pool | None:
        """The processes of pools, where it decides which of them takes which task."""
        if self._proof.inquiry.first.trace.processes < 2:
            return None
        return self._once("processes", _of_processes)

    @property
    def besides(self) -> tuple[Cause, ...]:
        """What it takes together with the order of processes, where that was shown to decide."""
        found = self._pools.get("processes")
        return found.besides if found else ()

    def _once(self, kind: str, experiment: Callable[[Proof], Pool | None]) -> Pool | None:
        if kind not in self._pools:
            self._pools[kind] = experiment(self._proof)
        return self._pools[kind]

    def _beneath_python(self, one: Candidate) -> Decided | None:
        """What compiled code asks for, and the layout of memory, where runs with the same are equal."""
        inquiry = self._proof.inquiry
        lab = inquiry.lab
        place = there(lab.spec, folder=lab.apart)
        only = ("address_layout", "memory_pattern", "cpu_affinity")
        made = {found.name: found for found in survey(place, only=only).made}
        cores = made.get("cpu_affinity")
        threads = any(record.get("native_threads") for record in self._around(one))
        return what_decides(
            self._proof,
            one,
            inquiry.taps,
            layout=made.get("address_layout"),
            memory=made.get("memory_pattern"),
            cores=cores if cores and cores.start and threads else None,
        )

    def _around(self, call: Candidate) -> list[dict[str, Any]]:
        """What was around a line's first call, in each of the two runs."""
        return [_around(ran, call.site) for ran in self._watched]


def _with_its_parameter(decided: Decided, known: Sequence[str]) -> str:
    """What to do, by the call's own parameter where it has one."""
    words = {"unseeded_rng": _SEEDS, "concurrency": _THREADS}.get(decided.category, ())
    named = next((name for name in words if name in known), "")
    value = "1" if decided.category == "concurrency" else ""
    return f"give it {named}={value}" if named else decided.fix


def _around(ran: InstrumentedRun, site: str) -> dict[str, Any]:
    records = [one for one in told_of(ran) if one["site"] == site and "generators" in one]
    return records[0] if records else {}


def _generator(facts: Sequence[dict[str, Any]]) -> str:
    """A random generator whose state is another one in the two runs, which no call explains; or ""."""
    one, *more = (record.get("generators", {}) for record in facts)
    return next(
        (path for path, state in one.items() if any(other.get(path, state) != state for other in more)), ""
    )


def _of_python(proof: Proof) -> Pool | None:
    """Threads of Python that make runs equal where they go on one at a time, entropy held or not.

    A library may draw names or seeds from entropy as well; where that alone is enough, it is not the threads.
    """
    pools = any(one.startswith("completion_order|") for one in proof.inquiry.first.trace.sites)
    modes = ("turns", "one") if pools else ("one", "turns")
    for looks, mode in enumerate(modes, start=1):
        alike = proof.equal_under(calls={"mode": mode}, looks=looks)
        if alike is not None:
            return Pool(name=_PYTHON, fix=_ONE_THREAD, odds=alike.odds)
    return _with_entropy(proof, looks=len(modes) + 1)


def _with_entropy(proof: Proof, *, looks: int) -> Pool | None:
    """The same where what Python and compiled code draw from entropy is held besides."""
    taps = proof.inquiry.taps
    key = taps.key if taps else secrets.token_hex(16)
    held = replace(taps, hold=("entropy",)) if taps else None
    both = proof.equal_under(calls={"mode": "one", "entropy": key}, taps=held, looks=looks)
    if both is None:
        return None
    if proof.equal_under(calls={"mode": "off", "entropy": key}, taps=held, looks=looks) is not None:
        return None
    return Pool(name=f"{_PYTHON}, which draw entropy besides,", fix=_ONE_THREAD, odds=both.odds)


def _of_processes(proof: Proof) -> Pool | None:
    """Processes of pools, where runs are equal with one in each: time decides which takes which task.

    Where workers draw from a generator that nothing seeds in them, it may take both.
    """
    fix = "give each task a generator of its own, made from its number"
    alike = proof.equal_under(one_worker=True)
    if alike is not None:
        return Pool(name=_PROCESSES, fix=fix, odds=alike.odds)
    drawn = drawn_in_workers(proof.inquiry)
    pins = tuple(name for one in drawn for name in one.sites)
    alike = proof.equal_under(one_worker=True, pins=pins, looks=2) if pins else None
    if alike is None:
        return None
    sites = proof.inquiry.first.trace.sites
    besides = tuple(
        diagnosis.cause_of(
            sites[first_that_matters(proof.inquiry, one)], confidence="medium", never_seeded=one.generator
        )
        for one in drawn
    )
    generators = " and ".join(one.generator for one in drawn)
    name = f"{_PROCESSES}, in which nothing seeds {generators},"
    return Pool(name=name, fix=fix, odds=alike.odds, sure=False, besides=besides)


def _native(proof: Proof) -> Pool | None:
    """The pools of compiled code that make runs equal with one thread each; threads of none where all do not.

    Runs with one thread in every pool, and those with one in some of them, all have to be equal.
    """
    found = proof.equal_under(environment=_one_thread(tuple(_POOLS)), accepted=_LUCK_OF_A_POOL)
    if found is None:
        return _of_no_pool(proof)
    alike = found.run
    made = {tuple(_POOLS): found.odds.repeated}

    def enough(pools: tuple[str, ...]) -> bool:
        more = proof.equal_under(environment=_one_thread(pools), like=alike, accepted=_LUCK_OF_A_POOL)
        made[pools] = more.odds.repeated if more else 0
        return more is not None

    pools = diagnosis.isolate(tuple(_POOLS), enough=enough, weight=lambda one: _LIKELY.get(one, 1.0))
    for some in (pools, tuple(_POOLS)):
        environment = _one_thread(some)
        repeated = sum(count for others, count in made.items() if set(some) <= set(others))
        tried = max(1, len(made) - 1)  # all of them were no choice
        more = proof.equal_under(environment=environment, like=alike, before=repeated, looks=tried)
        if more is not None:
            fix = " ".join(f"{name}=1" for name in environment)
            return Pool(name=_named(some), fix=fix, odds=more.odds)
    return None


def _of_no_pool(proof: Proof) -> Pool | None:
    """Threads whose number no variable decides, where runs are equal in which none can be started.

    A library that cannot do without ends the program, which shows nothing. What a thread does besides its
    share of the work, such as a draw, does not happen then: so the answer is no certainty.
    """
    taps = proof.inquiry.taps
    if taps is None:
        return None
    held = replace(taps, hold=("alone",))
    alike = proof.equal_under(environment=_one_thread(tuple(_POOLS)), taps=held, looks=2)
    if alike is None:
        return None
    return Pool(name=_OF_NO_POOL, fix=_ONE_THREAD, odds=alike.odds, sure=False)


def _named(pools: Sequence[str]) -> str:
    if len(pools) == len(_POOLS):
        return "threads of compiled code"
    return f"{pools[0]}'s threads" if len(pools) == 1 else f"threads of {' and '.join(pools)}"


def _one_thread(pools: Sequence[str]) -> dict[str, str]:
    return {variable: "1" for pool in pools for variable in _POOLS[pool]}
