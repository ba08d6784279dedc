"""The gate tests itself: faults planted in copies of real runs, each of which must lead to its verdict.

``table`` says which verdict each kind of fault must lead to; ``faults`` plants them; ``planting`` keeps the
copies; ``judging`` asks the gate; ``score`` counts; ``samples`` finds real runs. Nothing here judges by
itself: it would agree with a gate that is wrong in the same way.
"""

from reprokit.harness.selftest.gate import Proof, gate_code, prove
from reprokit.harness.selftest.samples import find
from reprokit.harness.selftest.score import CLEAN, Score, run

__all__ = [
    "CLEAN",
    "Proof",
    "Score",
    "find",
    "gate_code",
    "prove",
    "run",
]
