"""Reproduce and verify: plan, run, read, judge. The only place where the parts meet.

This package knows the order of things; each thing itself belongs to the part that it calls.

    >>> reproduce("cartpole_baseline", project=Project.around(Path.cwd()), progress=progress).verdict
    <Verdict.REPRODUCED: 'REPRODUCED'>
"""

from reprokit.harness import learning, selftest
from reprokit.harness.audit import Audit, audit
from reprokit.harness.curation.promote import newest_pair, promote, runs_of_report
from reprokit.harness.curation.prune import Choice, Prune, plan_prune, prune
from reprokit.harness.learning import Learned
from reprokit.harness.portability.cpu_answer import CpuAnswer, CpuVerdict
from reprokit.harness.portability.verify_cpus import verify_cpus
from reprokit.harness.reproduce import (
    judge_again,
    reproduce,
    reproduce_command,
    run_command_once,
    run_once,
)
from reprokit.harness.rerun import Beside, Field, beside, curves, reproduce_run
from reprokit.harness.running.request import Request
from reprokit.harness.running.start_runs import choose_backend
from reprokit.harness.verify import GateAnswer, gate_code, verify
from reprokit.project import Project

__all__ = [
    "Audit",
    "Beside",
    "Choice",
    "CpuAnswer",
    "CpuVerdict",
    "Field",
    "GateAnswer",
    "Learned",
    "Project",
    "Prune",
    "Request",
    "audit",
    "beside",
    "choose_backend",
    "curves",
    "gate_code",
    "judge_again",
    "learning",
    "newest_pair",
    "plan_prune",
    "promote",
    "prune",
    "reproduce",
    "reproduce_command",
    "reproduce_run",
    "run_command_once",
    "run_once",
    "runs_of_report",
    "selftest",
    "verify",
    "verify_cpus",
]
