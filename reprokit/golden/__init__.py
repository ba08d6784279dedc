"""Goldens on disk: ``golden/<recipe>/<platform>/seed-<n>/``, a promoted run, or a foreign log.

The ensemble of a recipe and platform, the golden of many seeds, lies next to them.
"""

from reprokit.golden.candidate import GoldenCandidate
from reprokit.golden.ensemble import (
    Ensemble,
    EnsembleMember,
    labels_of,
    list_ensembles,
    load_ensemble,
    locate_ensemble,
)
from reprokit.golden.ensemble_promotion import (
    FEWEST_SEEDS,
    USUAL_SEEDS,
    BlessedSet,
    SweptRun,
    check_swept,
    promote_ensemble,
)
from reprokit.golden.folder import OF_CPU, Golden, GoldenRow, find, list_all, load, locate, locate_for
from reprokit.golden.foreign import ForeignNumbers, write_foreign
from reprokit.golden.promotion import FailedCheck, Promotion, promote
from reprokit.golden.replace_folders import replace_folders
from reprokit.golden.unchanged import State, must_be_unchanged, states

__all__ = [
    "FEWEST_SEEDS",
    "OF_CPU",
    "USUAL_SEEDS",
    "BlessedSet",
    "Ensemble",
    "EnsembleMember",
    "FailedCheck",
    "ForeignNumbers",
    "Golden",
    "GoldenCandidate",
    "GoldenRow",
    "Promotion",
    "State",
    "SweptRun",
    "check_swept",
    "find",
    "labels_of",
    "list_all",
    "list_ensembles",
    "load",
    "load_ensemble",
    "locate",
    "locate_ensemble",
    "locate_for",
    "must_be_unchanged",
    "promote",
    "promote_ensemble",
    "replace_folders",
    "states",
    "write_foreign",
]
