"""The goldens of a project as lines, and what `reprokit golden lint` finds wrong with them.

>>> golden_line(row)
'cartpole_baseline  cpu-x86_64  seed 42  2026-11-20T10:15:00+00:00  2 runs agreed  first golden'
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from reprokit.reports.escaping import one_line

if TYPE_CHECKING:
    from reprokit.golden import GoldenRow
    from reprokit.golden.lint import Finding

_KEYS = ("recipe", "platform", "seed", "created_at", "reason", "runs_agreed", "problem")


def golden_line(row: GoldenRow) -> str:
    """One golden: what it is of, and why it was blessed, or what is wrong with it."""
    tail = row.problem or f"{row.created_at}  {row.runs_agreed} runs agreed  {row.reason}"
    return one_line(f"{row.recipe}  {row.platform}  seed {row.seed}  {tail}")


def golden_data(row: GoldenRow) -> dict[str, Any]:
    """One golden for ``--json``."""
    return {**{key: getattr(row, key) for key in _KEYS}, "path": str(row.path)}


def finding_line(found: Finding, *, root: Path) -> str:
    """One finding: its file as seen from a folder, the rule, what is wrong, and what to do."""
    where = found.where.removeprefix(f"{root}/")
    return one_line(f"{where}: {found.rule}: {found.what}. Hint: {found.remedy}", limit=2000)


def count_line(*, goldens: int, findings: int) -> str:
    """How many goldens were looked at, and how many findings there are."""
    count = "1 golden" if goldens == 1 else f"{goldens} goldens"
    return f"{count}, {findings} {'finding' if findings == 1 else 'findings'}"
