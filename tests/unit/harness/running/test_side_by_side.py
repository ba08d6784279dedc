"""Several tools in one workspace: runs go side by side, and only what must be alone waits or is refused."""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from reprokit import runs, workspace
from reprokit.core.records import RunSpec
from reprokit.errors import WorkspaceBusyError
from reprokit.harness.curation.prune import PruneChoice, prune
from reprokit.harness.running.start_command import run_command
from reprokit.project import Project
from reprokit.request import Request
from reprokit.session import Session
from support.recorded_progress import RecordedProgress

TOOLS = 4
#: Ends well only if all of the tools' programs are under way at one time.
MEET = """
import pathlib, sys, time
place, name, run_dir = map(pathlib.Path, sys.argv[1:])
(place / name).touch()
deadline = time.monotonic() + 30
while len(list(place.iterdir())) < {tools}:
    assert time.monotonic() < deadline, "the others never started"
    time.sleep(0.02)
(run_dir / "metrics.jsonl").write_text('{{"step": 1, "loss": 0.5}}\\n')
"""


def test_the_runs_of_several_tools_go_side_by_side(here: Project, tmp_path: Path) -> None:
    meeting = tmp_path / "meeting"
    meeting.mkdir()
    program = MEET.format(tools=TOOLS)

    def tool(index: int) -> Path:
        command = [sys.executable, "-c", program, str(meeting), str(index), "{run_dir}"]
        return run_command(
            command, Request(repeats=1), session=Session(project=here, progress=RecordedProgress())
        )[0]

    with ThreadPoolExecutor(TOOLS) as pool:
        folders = list(pool.map(tool, range(TOOLS)))
    found = [runs.read(folder) for folder in folders]
    assert [(run.complete, run.incomplete_because) for run in found] == [(True, "")] * TOOLS
    assert len(set(folders)) == TOOLS


def test_nothing_is_pruned_while_a_run_is_made(here: Project) -> None:
    with (
        workspace.shared(here.runs_dir),
        pytest.raises(WorkspaceBusyError, match="in use by another process"),
    ):
        prune(here, PruneChoice(keep=0), now=datetime.now(UTC))
    assert prune(here, PruneChoice(keep=0), now=datetime.now(UTC)).going == ()


def test_a_run_waits_a_while_for_what_must_be_alone_and_then_names_it(tmp_path: Path) -> None:
    with workspace.exclusive(tmp_path):
        began_s = time.monotonic()
        with pytest.raises(WorkspaceBusyError, match=r"process \d+"), workspace.shared(tmp_path, wait_s=0.3):
            pass
        assert time.monotonic() - began_s >= 0.3


def test_a_killed_run_is_closed_by_a_tool_that_is_alone_and_by_no_other(here: Project) -> None:
    """Two tools that closed one run would each find half of its files."""
    spec = RunSpec(
        recipe="tiny", run_id="20261120T101500Z-aaaa-seed1-1", seed=1, device="cpu", command=("x",)
    )
    folder = runs.create(here.runs_dir, spec, facts={})
    record = json.loads((folder / "run.json").read_text())
    record["owner"]["started"] -= 1000.0
    (folder / "run.json").write_text(json.dumps(record))
    request = Request(repeats=1)
    with workspace.shared(here.runs_dir):
        run_command(
            [sys.executable, "-c", ""], request, session=Session(project=here, progress=RecordedProgress())
        )
    assert runs.read(folder).record.state == "running"
    run_command(
        [sys.executable, "-c", ""], request, session=Session(project=here, progress=RecordedProgress())
    )
    assert runs.read(folder).record.outcome == "interrupted"
