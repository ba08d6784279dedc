"""Reproduce and verify: plan, run, read, judge. The only place where the parts meet.

Here are the verbs on single recipes and runs. ``running`` and ``judging`` are what they all stand on; each
story has a package with names of its own: ``diagnosing``, ``portability``, ``attribution``, ``curation``,
``bundling``, ``sweeping``, ``tuning`` and ``selftest``.
"""

from reprokit.harness.audit import Audit, audit
from reprokit.harness.bundle import WrittenBundle, bundle, reproduce_bundle
from reprokit.harness.farm import FarmRow, record_goldens, verify_on
from reprokit.harness.judging.left_out_metrics import must_leave_out
from reprokit.harness.kubernetes_job import export_kubernetes, export_sweep
from reprokit.harness.learning import Learned, learned
from reprokit.harness.reproduce import (
    judge_again,
    reproduce,
    reproduce_command,
    run_command_once,
    run_once,
)
from reprokit.harness.rerun import Beside, Field, beside, curves, reproduce_run
from reprokit.harness.running.start_runs import choose_backend
from reprokit.harness.sweep import FinishedRuns, Sweep, attach, finished_runs, sweep
from reprokit.harness.sweeping.on_this_machine import (
    WhyStopped,
    carry_out_job,
    goes_on_from_a_checkpoint,
    stop_at_time_limit,
    stop_when_closed,
)
from reprokit.harness.tune import tune
from reprokit.harness.tuning import AfterSearch, Asked, Study
from reprokit.harness.verify import GateAnswer, gate_code, gate_record, must_hold_reports, verify
from reprokit.project import Project
from reprokit.request import Request

__all__ = [
    "AfterSearch",
    "Asked",
    "Audit",
    "Beside",
    "FarmRow",
    "Field",
    "FinishedRuns",
    "GateAnswer",
    "Learned",
    "Project",
    "Request",
    "Study",
    "Sweep",
    "WhyStopped",
    "WrittenBundle",
    "attach",
    "attribution",
    "audit",
    "beside",
    "bundle",
    "bundling",
    "carry_out_job",
    "choose_backend",
    "curation",
    "curves",
    "data_tables",
    "datasets",
    "diagnosing",
    "export_kubernetes",
    "export_sweep",
    "finished_runs",
    "gate_code",
    "gate_record",
    "goes_on_from_a_checkpoint",
    "init",
    "judge_again",
    "judging",
    "learned",
    "must_hold_reports",
    "must_leave_out",
    "portability",
    "record_goldens",
    "reproduce",
    "reproduce_bundle",
    "reproduce_command",
    "reproduce_run",
    "run_command_once",
    "run_once",
    "running",
    "selftest",
    "stats",
    "stop_at_time_limit",
    "stop_when_closed",
    "sweep",
    "sweeping",
    "tune",
    "tuning",
    "verify",
    "verify_on",
]
