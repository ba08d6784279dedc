"""Row ``verification_available``: there is a command that anyone can type to check the result."""

from __future__ import annotations

import re
import shlex

from reprokit.core.evidence import Evidence
from reprokit.core.verdicts.rows import Finding, failed, passed

ID = "verification_available"
TITLE = "The command that checks the result is known"
ORDER = 170
ADVISORY = False
NEEDS_RECIPE = False


def check(evidence: Evidence) -> Finding:
    """The command is there, and names the recipe."""
    command = evidence.rerun.strip()
    if not command:
        return failed("no command that checks this result is recorded", "run it with `reprokit reproduce`")
    plain = evidence.runs[0].run.plain_command if evidence.runs else None
    if plain and evidence.recipe is not None and shlex.split(command)[-len(plain) :] != list(plain):
        return failed(f"it is of another command: {command}", "run it with `reprokit reproduce -- COMMAND`")
    if evidence.recipe is not None and not plain and not _names(command, evidence.recipe.get("name")):
        reason = f"the command does not name the recipe {evidence.recipe.get('name')!r}: {command}"
        return failed(reason, "run it with `reprokit reproduce`")
    return passed(f"anyone can check it: {command}", command=command)


def _names(command: str, recipe: object) -> bool:
    """Whether a recipe's name stands in the command as a word of its own."""
    if not isinstance(recipe, str) or not recipe:
        return False
    return re.search(rf"(?<![\w-]){re.escape(recipe)}(?![\w-])", command) is not None
