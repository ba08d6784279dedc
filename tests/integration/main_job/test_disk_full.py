"""A disk that fills at each write in turn: exit 3, in words, and whatever was finished stays whole.

The disk is a real one, in memory, with so many pages left free that one write after another is the
first that fails. A page is the least that a file can grow by, so nothing in between is left out.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from reprokit.errors import DiskFullError
from reprokit.golden import Promotion
from reprokit.harness import Project
from reprokit.harness.curation import promote
from support.small_disk import SmallDisk

TRAIN = """
import json, pathlib, random, sys
random.seed(int(sys.argv[1]))
with open(pathlib.Path(sys.argv[2]) / "metrics.jsonl", "w") as log:
    for step in range(50):
        log.write(json.dumps({"step": step, "loss": random.random()}) + "\\n")
"""


class Disk(SmallDisk):
    """What is on it."""

    def content(self) -> dict[Path, bytes]:
        """Every file that means something."""
        files = (path for path in self.root.rglob("*") if path.is_file() and path.name[0] != ".")
        return {path: path.read_bytes() for path in files}


@pytest.fixture
def disk(mounted_disk: Callable[[str], Path]) -> Disk:
    return Disk(mounted_disk("size=4m"))


@pytest.fixture
def reproduce(disk: Disk, study_at):
    """Reproduce a small program whose runs and reports are on the disk."""
    (disk.root / "train.py").write_text(TRAIN)

    def start():
        return study_at(disk.root).reprokit(
            "reproduce", "--seed", "7", "--json", "--", sys.executable, "train.py", "{seed}", "{run_dir}"
        )

    return start


def pages_of_one_answer(disk: Disk, reproduce) -> int:
    """Make a first answer, which must survive, and see how much room a second one takes."""
    assert reproduce().code == 0
    kept, before = disk.content(), disk.pages_free()
    assert reproduce().code == 0
    needed = before - disk.pages_free()
    remove_what_is_new(disk, kept)
    return needed


def remove_what_is_new(disk: Disk, kept: dict[Path, bytes]) -> None:
    disk.empty()
    folders = {
        path.parents[len(path.relative_to(disk.root).parts) - 4] for path in kept if "disk" in str(path)
    }
    for folder in disk.root.glob("*/*/*"):
        if folder.is_dir() and folder not in folders:
            shutil.rmtree(folder)


def was_told(answer) -> None:
    """In words, not by a traceback: on stderr, or in a report where there was still room for one."""
    assert answer.code == 3, answer.out + answer.err
    assert "Traceback" not in answer.err
    if answer.out:
        assert answer.report["verdict"] == "NOT_RUN"
        assert answer.report["not_run"]["outcome"] == "disk_full"
        assert "free some space" in answer.report["not_run"]["remedy"]
    else:
        assert "no space left on the disk" in answer.err
        assert "free some space" in answer.err


def nothing_is_half_done(disk: Disk, kept: dict[Path, bytes]) -> None:
    content = disk.content()
    assert {path: content.get(path) for path in kept} == kept, "something earlier was harmed"
    for path in set(content) - set(kept):
        if path.suffix == ".json" or path.name == "COMPLETE":
            json.loads(content[path])
    for report in disk.root.glob("reports/*/*"):
        assert {path.name for path in report.iterdir()} == {
            *("report.json", "report.md", "report.html", "junit.xml")
        }
    for run in disk.root.glob("runs/*/*"):
        record = json.loads((run / "run.json").read_text())
        if (run / "COMPLETE").exists():
            assert record["outcome"] == "completed"
        else:
            assert record["state"] == "running" or record["outcome"] in {"disk_full", "completed"}


def fills_at(disk: Disk, reproduce, moments: range) -> None:
    """Let it fill at each of these moments; the next start closes what the last of them left open."""
    kept = disk.content()
    for pages in moments:
        remove_what_is_new(disk, kept)
        disk.leave(pages)
        was_told(reproduce())
        nothing_is_half_done(disk, kept)
    disk.empty()
    assert reproduce().code == 0
    records = [json.loads(path.read_text()) for path in disk.root.glob("runs/*/*/run.json")]
    assert {record["state"] for record in records} == {"finished"}


@pytest.mark.slow
def test_a_disk_that_fills_is_told_and_earlier_answers_stay(disk, reproduce):
    needed = pages_of_one_answer(disk, reproduce)
    fills_at(disk, reproduce, range(needed - 3, 0, -needed // 3))


@pytest.mark.slow
def test_a_disk_that_fills_at_each_write_is_told_and_earlier_answers_stay(disk, reproduce):
    needed = pages_of_one_answer(disk, reproduce)
    fills_at(disk, reproduce, range(needed - 1))


def test_a_full_disk_does_not_keep_runs_from_being_listed(disk, reproduce, study_at):
    assert reproduce().code == 0
    disk.leave(0)
    listed = study_at(disk.root).reprokit("runs", "list", "--json")
    assert (listed.code, len(json.loads(listed.out))) == (0, 2)


def test_a_folder_that_never_had_a_run_on_a_full_disk_is_told(disk, reproduce):
    disk.leave(0)
    was_told(reproduce())


def test_a_golden_that_the_disk_has_no_room_for_leaves_the_one_before_it(blessed, disk):
    pair = sorted(path.parent for path in (blessed.root / "runs").glob("*/*/COMPLETE"))[:2]
    project = Project.around(blessed.root, golden_dir=disk.root / "golden")

    def record(reason: str) -> None:
        promote(
            pair,
            project=project,
            promotion=Promotion(
                reason=reason, created_at="2026-11-20T10:15:00+00:00", allow_dirty=True, allow_failed=True
            ),
        )

    before = disk.pages_free()
    record("first")
    needed = before - disk.pages_free()
    kept = disk.content()
    for pages in range(needed - 1):
        disk.leave(pages)
        with pytest.raises(DiskFullError):
            record("second")
        assert disk.content() == kept
        assert [path.name for path in (disk.root / "golden").glob("*/*/.*")] == []
    disk.empty()
    record("second")
    assert disk.content() != kept


@pytest.mark.slow
@pytest.mark.parametrize("pages", [20, 60, 80])
def test_a_training_that_fills_the_disk_itself_is_told_apart_from_a_crash(study, disk, pages):
    study.change(study.recipe, "save_interval: 10000", "save_interval: 4096")
    command = ("reproduce", "cartpole_baseline", "--backend", "local", "--json")
    disk.leave(pages)
    answer = study.reprokit(*command, "--runs-dir", str(disk.root / "runs"))
    was_told(answer)
    assert not list(disk.root.rglob("COMPLETE"))
