"""Portability: whether a golden holds on other CPUs, and which operation does not."""

from reprokit.harness.portability.cpu_answer import CpuAnswer, CpuVerdict
from reprokit.harness.portability.determinism_claims import (
    ClaimsCheck,
    draw_page,
    measure_claims,
    read_findings,
    take_findings,
)
from reprokit.harness.portability.rounding import RoundingCheck, read_probe
from reprokit.harness.portability.rounding import check as check_rounding
from reprokit.harness.portability.verify_cpus import verify_cpus

__all__ = [
    "ClaimsCheck",
    "CpuAnswer",
    "CpuVerdict",
    "RoundingCheck",
    "check_rounding",
    "draw_page",
    "measure_claims",
    "read_findings",
    "read_probe",
    "take_findings",
    "verify_cpus",
]
