"""Row ``several_seeds``: the result rests on several seeds, not on a lucky one."""

from __future__ import annotations

from collections.abc import Sequence

from reprokit.core.evidence import Evidence, SweepEvidence, is_integer
from reprokit.core.verdicts.rows import Finding, failed, not_applicable, passed, unjudged

ID = "several_seeds"
TITLE = "Several seeds were run"
ORDER = 220
ADVISORY = True
NEEDS_RECIPE = True
ON_REQUEST = True

FEWEST = 3
_ANEW = "remove the runs of the other seeds (`reprokit runs list`), and run `reprokit sweep RECIPE` again"
_SEEDS = "`seeds: [42, 123, 456]`"
_NAME = f"name at least {FEWEST} seeds in recipe.yaml ({_SEEDS}), and run `reprokit sweep RECIPE`"
_USE_SEED = "seed every generator of the program with `{seed}`: `reprokit diagnose RECIPE` names those it has"


def check(evidence: Evidence) -> Finding:  # noqa: PLR0911 - a reason each
    """Every seed that the recipe promises results for, at least three, and each with metrics of its own."""
    promised = (evidence.recipe or {}).get("seeds")
    if evidence.sweep is None:
        return not_applicable("one seed was judged; no others were requested", _sweep(promised))
    runs = list(evidence.sweep.runs)
    if not isinstance(promised, list | tuple) or not promised:
        return failed("the recipe names no seeds", f"name them in recipe.yaml: {_SEEDS}", runs=runs)
    if evidence.sweep.outdated:
        return failed(evidence.sweep.outdated, _ANEW, runs=runs)
    finished = {seed for seed in evidence.sweep.final_values if is_integer(seed)}
    broken = sorted(set(evidence.sweep.failures) - finished)
    if broken:
        because = evidence.sweep.failures[broken[0]]
        told = f"seed {broken[0]} did not finish: {because}"
        told = f"seeds {broken} did not finish; {broken[0]}: {because}" if broken[1:] else told
        return failed(told, _again(broken), failures=broken, runs=runs)
    absent = [seed for seed in promised if not is_integer(seed) or seed not in finished]
    if absent:
        return failed(f"seeds without a finished run: {absent}", _again(absent), absent=absent, runs=runs)
    if len(finished) < FEWEST:
        return failed(f"only {len(finished)} seeds finished", _NAME, finished=sorted(finished), runs=runs)
    return _alike(evidence.sweep, finished) or passed(
        f"{len(finished)} seeds finished, all that the recipe names", seeds=sorted(finished), runs=runs
    )


def _alike(sweep: SweepEvidence, finished: set[int]) -> Finding | None:
    """Why the seeds are not several: their metrics are the same; None where enough differ."""
    runs = list(sweep.runs)
    unread = sorted(seed for seed in finished if not sweep.metrics_digests.get(seed))
    if unread:
        remedy = "`reprokit runs show` says what is in their folders"
        return unjudged(f"the metrics of seeds {unread} were not compared", remedy, runs=runs)
    distinct = {sweep.metrics_digests[seed] for seed in finished}
    if len(distinct) == 1:
        told = (
            f"{len(finished)} seeds gave the same metrics, except for what repeats the seed or is constant: "
            "they are one result"
        )
        return failed(told, _USE_SEED, seeds=sorted(finished), runs=runs)
    if len(distinct) < FEWEST:
        told = f"only {len(distinct)} of {len(finished)} seeds gave metrics of their own"
        return failed(told, _USE_SEED, seeds=sorted(finished), runs=runs)
    return None


def _sweep(promised: object) -> str:
    """The command that runs several seeds."""
    enough = isinstance(promised, list | tuple) and len(promised) >= FEWEST
    return f"run several: `reprokit sweep RECIPE{'' if enough else ' --seeds 5'}`"


def _again(seeds: Sequence[object]) -> str:
    """The command that runs these seeds; where there is none, how to name some."""
    numbers = [str(seed) for seed in seeds if is_integer(seed)]
    if not numbers:
        return _NAME
    listed = ",".join(numbers) + ("," if len(numbers) == 1 else "")
    return f"run them: `reprokit sweep RECIPE --seeds {listed}`"
