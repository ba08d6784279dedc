"""The event ``workflow_run``: which run ended, how, and of which commit of whose branch.

Source: https://docs.github.com/en/webhooks/webhook-events-and-payloads#workflow_run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit.errors import UsageError
from reprokit.layout import read_json

REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,99}/[A-Za-z0-9._-]{1,100}")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_WORD = re.compile(r"[a-z_]{1,40}")
_OWNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}(?:\[bot\])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRun:
    """A run that ended. The names of branch and owner are the contributor's choice; all else is GitHub's."""

    repository: str
    run_id: int
    commit: str
    conclusion: str
    trigger: str
    head_owner: str  # "" where the fork was deleted
    head_branch: str


def read_event(path: Path) -> WorkflowRun:
    """Read the file that ``GITHUB_EVENT_PATH`` names.

    Raises:
        UsageError: It is no event of a workflow run that ended.
    """
    event = read_json(path)
    run = event.get("workflow_run")
    if not isinstance(run, Mapping):
        raise _no_event(path, "workflow_run")
    number = run.get("id")
    if isinstance(number, bool) or not isinstance(number, int) or number <= 0:
        raise _no_event(path, "workflow_run.id")
    owner = _inside(run, "head_repository", "owner", "login")
    return WorkflowRun(
        repository=_word(path, "repository.full_name", _inside(event, "repository", "full_name"), REPOSITORY),
        run_id=number,
        commit=_word(path, "workflow_run.head_sha", run.get("head_sha"), _COMMIT),
        conclusion=_word(path, "workflow_run.conclusion", run.get("conclusion"), _WORD),
        trigger=_word(path, "workflow_run.event", run.get("event"), _WORD),
        head_owner="" if owner is None else _word(path, "workflow_run.head_repository", owner, _OWNER),
        head_branch=str(run.get("head_branch") or ""),
    )


def _inside(value: Any, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _word(path: Path, name: str, value: Any, form: re.Pattern[str]) -> str:
    if not isinstance(value, str) or not form.fullmatch(value):
        raise _no_event(path, name)
    return value


def _no_event(path: Path, name: str) -> UsageError:
    return UsageError(
        f"{name} is missing or not what GitHub writes there",
        where=str(path),
        fix="call this in a workflow that is triggered by workflow_run: completed",
    )
