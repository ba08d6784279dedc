"""A run folder in the golden's part: what it means to reproduce somebody else's run.

The run is repeated from what its own folder holds: recipe and trainer from ``source/``, its
overrides, its seed, the environment that its record names. Then the new runs are judged as they
would be against a golden, by the same rules; only this module knows that the golden is a run.

    REPRODUCED        the new runs agree with each other and with the run
    NONDETERMINISTIC  the new runs differ from each other, so the run proves nothing
    REGRESSION        they agree, but not with the run, under the same numerics
    STALE_GOLDEN      they agree, but not with the run, in an environment that computes otherwise
    NO_GOLDEN         they came to be on another platform than the run

It refuses to believe a run folder that is not what its COMPLETE says.

    >>> recipe_of(runs.read(Path("theirs/20261120T101500Z-3fa9-seed42-1"))).modified
    ('training.gamma=0.98',)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reprokit import adapters, recipes, runs
from reprokit.core import fingerprint
from reprokit.core.checklist import Evidence, GoldenEvidence, Report, Verdict
from reprokit.core.comparison import Comparison, unreadable
from reprokit.core.golden_inputs import INPUTS
from reprokit.errors import CannotJudgeError, MetricsError, ReportError
from reprokit.harness.evidence import METRICS, TRACE, read_json
from reprokit.harness.traces import compare_traces
from reprokit.recipes import Recipe
