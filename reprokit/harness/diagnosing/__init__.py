"""Diagnosing: instrumented runs that show where two runs first differ, and which line causes it.

Here runs are made; what follows from their traces is in ``reprokit.diagnosis``.
"""

from reprokit.harness.diagnosing.across_machines import Across, across
from reprokit.harness.diagnosing.diagnose import diagnose_command, diagnose_recipe
from reprokit.harness.diagnosing.diagnose_resume import Words, diagnose_resume
from reprokit.harness.diagnosing.diagnosis import Diagnosis, InterruptedDiagnosisError

__all__ = [
    "Across",
    "Diagnosis",
    "InterruptedDiagnosisError",
    "Words",
    "across",
    "diagnose_command",
    "diagnose_recipe",
    "diagnose_resume",
]
