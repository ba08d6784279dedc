"""Curation: promoting, importing, comparing, linting, pruning and exporting what runs leave behind."""

from reprokit.harness.curation.export_environment import export_environment
from reprokit.harness.curation.golden_diff import compare_goldens, opened
from reprokit.harness.curation.import_log import PublishedLog, import_log
from reprokit.harness.curation.lint import lint_goldens
from reprokit.harness.curation.promote import newest_pair, promote, runs_of_report
from reprokit.harness.curation.promote_stale import promote_stale
from reprokit.harness.curation.promote_sweep import WhichSweep, promote_sweep
from reprokit.harness.curation.prune import PruneChoice, plan_prune, prune
from reprokit.harness.curation.recipe_check import RecipeFinding, check_recipes
from reprokit.harness.running.inputs_of_today import changed_since_runs

__all__ = [
    "PruneChoice",
    "PublishedLog",
    "RecipeFinding",
    "WhichSweep",
    "changed_since_runs",
    "check_recipes",
    "compare_goldens",
    "export_environment",
    "import_log",
    "lint_goldens",
    "newest_pair",
    "opened",
    "plan_prune",
    "promote",
    "promote_stale",
    "promote_sweep",
    "prune",
    "runs_of_report",
]
