"""Variation ``threads``: another number of threads of the numeric libraries."""

from reprokit.core.numerics import MARK
from reprokit.variations import RunPlace, Variation

ORDER = 120
SAYS = "the number of threads of the numeric libraries"
_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def vary(there: RunPlace) -> Variation:
    """One thread, or two where there was one; seldom where a numerics profile fixes their number."""
    threads = "1" if there.environment.get("OMP_NUM_THREADS") != "1" else "2"
    return Variation(
        category="nonportable_numerics",
        fix="fix the number of threads: torch.set_num_threads(1), OMP_NUM_THREADS=1",
        environment=dict.fromkeys(_VARIABLES, threads),
        seldom="the numerics profile fixes it" if there.environment.get(MARK) else "",
    )
