"""Reproduce and verify: plan, run, read, judge. The only place where the parts meet.

Here are the verbs on single recipes and runs. ``running`` and ``judging`` are what they all stand on; each
story has a package with names of its own: ``diagnosing``, ``attribution``, ``curation``, ``sweeping``. What a
verdict can do without is in ``reprokit.features``.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reprokit.harness.audit import Audit, audit
    from reprokit.harness.judging.left_out_metrics import must_leave_out
    from reprokit.harness.judging.stress_wording import shown_by
    from reprokit.harness.reproduce import judge_again, reproduce, reproduce_command
    from reprokit.harness.rerun import Field, RunsCompared, beside, curves, reproduce_run
    from reprokit.harness.running.environments.environment import choose_backend
    from reprokit.harness.single_run import run_command_once, run_once
    from reprokit.harness.sweep import FinishedRuns, Sweep, finished_runs, sweep
    from reprokit.harness.sweeping.carry_out import SweepSession
    from reprokit.harness.sweeping.what_was_asked import SweepAsked
    from reprokit.harness.verify import (
        GateAnswer,
        earlier_reports,
        gate_code,
        gate_record,
        must_hold_reports,
        verify,
    )
    from reprokit.project import Project
    from reprokit.request import Request
    from reprokit.session import Session

__all__ = [
    "Audit",
    "Field",
    "FinishedRuns",
    "GateAnswer",
    "Project",
    "Request",
    "RunsCompared",
    "Session",
    "Sweep",
    "SweepAsked",
    "SweepSession",
    "attribution",
    "audit",
    "beside",
    "choose_backend",
    "curation",
    "curves",
    "datasets",
    "diagnosing",
    "earlier_reports",
    "finished_runs",
    "gate_code",
    "gate_record",
    "judge_again",
    "judging",
    "must_hold_reports",
    "must_leave_out",
    "reproduce",
    "reproduce_command",
    "reproduce_run",
    "run_command_once",
    "run_once",
    "running",
    "shown_by",
    "sweep",
    "sweeping",
    "verify",
]

#: Name → the module that has it. Each is imported where it is used: a run loads no judge.
_HOMES = {
    "Audit": "reprokit.harness.audit",
    "Field": "reprokit.harness.rerun",
    "FinishedRuns": "reprokit.harness.sweep",
    "GateAnswer": "reprokit.harness.verify",
    "Project": "reprokit.project",
    "Request": "reprokit.request",
    "RunsCompared": "reprokit.harness.rerun",
    "Session": "reprokit.session",
    "Sweep": "reprokit.harness.sweep",
    "SweepAsked": "reprokit.harness.sweeping.what_was_asked",
    "SweepSession": "reprokit.harness.sweeping.carry_out",
    "audit": "reprokit.harness.audit",
    "beside": "reprokit.harness.rerun",
    "choose_backend": "reprokit.harness.running.environments.environment",
    "curves": "reprokit.harness.rerun",
    "earlier_reports": "reprokit.harness.verify",
    "finished_runs": "reprokit.harness.sweep",
    "gate_code": "reprokit.harness.verify",
    "gate_record": "reprokit.harness.verify",
    "judge_again": "reprokit.harness.reproduce",
    "must_hold_reports": "reprokit.harness.verify",
    "must_leave_out": "reprokit.harness.judging.left_out_metrics",
    "reproduce": "reprokit.harness.reproduce",
    "reproduce_command": "reprokit.harness.reproduce",
    "reproduce_run": "reprokit.harness.rerun",
    "run_command_once": "reprokit.harness.single_run",
    "run_once": "reprokit.harness.single_run",
    "shown_by": "reprokit.harness.judging.stress_wording",
    "sweep": "reprokit.harness.sweep",
    "verify": "reprokit.harness.verify",
}


class _Harness(ModuleType):
    """The package: a function stays what its name means once a module of that name was imported."""

    def __getattr__(self, name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name not in _HOMES:
            return importlib.import_module(f"{__name__}.{name}")
        value = getattr(importlib.import_module(_HOMES[name]), name)
        super().__setattr__(name, value)
        return value

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, ModuleType) and name in _HOMES:
            return  # what the import system does with every module that it has loaded
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Harness
