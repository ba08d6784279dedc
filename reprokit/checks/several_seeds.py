"""Row ``several_seeds``: the result rests on several seeds, not on a lucky one."""

from __future__ import annotations

from collections.abc import Sequence

from reprokit.core.evidence import Evidence, is_integer
from reprokit.core.rows import Finding, failed, not_applicable, passed

ID = "several_seeds"
TITLE = "Several seeds were run"
ORDER = 220
ADVISORY = True
NEEDS_RECIPE = True

FEWEST = 3
_NAME = f"name at least {FEWEST} seeds in recipe.yaml (`seeds: [42, 123, 456]`), and reproduce each"


def check(evidence: Evidence) -> Finding:
    """Every seed that the recipe promises results for, and at least three."""
    promised = (evidence.recipe or {}).get("seeds")
    if evidence.sweep is None:
        judged = {run.run.get("seed") for run in evidence.runs}
        others = [seed for seed in promised or () if seed not in judged]
        return not_applicable("one seed was judged; no others were requested", _run(others, evidence))
    if not isinstance(promised, list | tuple) or not promised:
        return failed("the recipe names no seeds", "name them in recipe.yaml: `seeds: [42, 123, 456]`")
    finished = {seed for seed in evidence.sweep.final_values if is_integer(seed)}
    absent = [seed for seed in promised if not is_integer(seed) or seed not in finished]
    if absent:
        return failed(f"seeds without a finished run: {absent}", _run(absent, evidence), absent=absent)
    if len(finished) < FEWEST:
        return failed(f"only {len(finished)} seeds finished", _NAME, finished=sorted(finished))
    return passed(f"{len(finished)} seeds finished, all that the recipe names", seeds=sorted(finished))


def _run(seeds: Sequence[object], evidence: Evidence) -> str:
    """The command for each seed; where there is none, how to name some."""
    recipe = (evidence.recipe or {}).get("name", "RECIPE")
    commands = [f"`reprokit reproduce {recipe} --seed {seed}`" for seed in seeds[:FEWEST] if is_integer(seed)]
    if not commands:
        return _NAME
    return f"run the others: {', '.join(commands)}{', …' if len(seeds) > FEWEST else ''}"
