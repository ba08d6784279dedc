"""Tuning: settings drawn as a pure function of seed and trial number, a run each, the best of them reported.

Optuna is imported by ``samplers``, ``one_at_a_time``, ``pruning`` and ``in_optuna`` alone, and these only
where a search needs them: it is an extra.
"""

from reprokit.harness.tuning.asked import AfterSearch, Asked
from reprokit.harness.tuning.other_forms import export, importances, must_be_storage
from reprokit.harness.tuning.preset import load_preset
from reprokit.harness.tuning.settings import own_values
from reprokit.harness.tuning.study import Study

__all__ = [
    "AfterSearch",
    "Asked",
    "Study",
    "export",
    "importances",
    "load_preset",
    "must_be_storage",
    "own_values",
]
