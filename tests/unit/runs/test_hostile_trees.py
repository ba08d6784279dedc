"""Whatever a program leaves in its folder, the tool closes, reads, lists and removes the run."""

from __future__ import annotations

import errno
import json
import os
import socket
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from reprokit import adapters, file_tree, runs, workspace
from reprokit.core.records import Outcome, RunResult, RunSpec
from reprokit.core.run_record import RunOwner
from reprokit.errors import MetricsError
from reprokit.file_tree import Kind, WalkLimits
from reprokit.harness.curation.prune import PruneChoice, prune
from reprokit.project import Project
from reprokit.runs import listing, logs


def _nest(folder: Path, name: str, *, depth: int) -> None:
    before = Path.cwd()
    os.chdir(folder)
    try:
        for _ in range(depth):
            Path(name).mkdir()
            os.chdir(name)
        Path("progress.csv").write_text("step,loss\n1,2\n")
    finally:
        os.chdir(before)


def _sparse(path: Path) -> None:
    with path.open("wb") as stream:
        os.truncate(stream.fileno(), 1 << 40)


def _socket(path: Path) -> None:
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(before)


def _link_to_folder_of_host(output: Path) -> None:
    (output / "metrics.jsonl").unlink()
    output.rmdir()
    output.symlink_to(output.parents[3] / "host")


HOSTILE: dict[str, tuple[Callable[[Path], None], bool]] = {
    "2,000 nested folders": (lambda output: _nest(output, "d", depth=2000), True),
    "a path longer than the system opens": (lambda output: _nest(output, "n" * 250, depth=40), True),
    "a file of 1 TiB": (lambda output: _sparse(output / "weights.bin"), True),
    "a record of 1 TiB": (lambda output: _sparse(output / "environment.json"), True),
    "a table of 1 TiB": (lambda output: _sparse(output / "progress.csv"), True),
    "a pipe": (lambda output: os.mkfifo(output / "timing.jsonl"), True),
    "a socket": (lambda output: _socket(output / "s"), True),
    "links in a circle": (lambda output: (output / "a").symlink_to("a"), True),
    "a link to a device": (lambda output: (output / "timing.jsonl").symlink_to("/dev/zero"), True),
    "names that are no text": (lambda output: Path(os.fsdecode(bytes(output) + b"/\xff\n")).touch(), False),
    "its folder is a link": (_link_to_folder_of_host, True),
}


@pytest.fixture
def run_dir(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "host").mkdir()
    (tmp_path / "host" / "secret.txt").write_text("of the host")
    spec = RunSpec(
        recipe="tiny", run_id="20261120T101500Z-aaaa-seed1-1", seed=1, device="cpu", command=("x",)
    )
    folder = runs.create(tmp_path / "runs", spec, facts={"plain_command": ["x"]})
    (folder / "output" / "metrics.jsonl").write_text('{"step": 1, "loss": 0.5}\n')
    yield folder
    file_tree.remove(tmp_path)  # pytest's own clean-up recurses


def _result() -> RunResult:
    return RunResult(outcome=Outcome.COMPLETED, exit_code=0, started_at="", ended_at="", duration_s=1.0)


def _kill_tool(run_dir: Path) -> None:
    record = json.loads((run_dir / "run.json").read_text())
    record["owner"]["started"] -= 1000.0
    (run_dir / "run.json").write_text(json.dumps(record))


def _project(tmp_path: Path) -> Project:
    return Project.around(tmp_path, runs_dir=tmp_path / "runs")


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("ending", ["finished", "killed"])
def test_a_run_with_a_hostile_tree_is_closed_read_listed_and_removed(
    run_dir: Path, tmp_path: Path, hostile: str, ending: str
) -> None:
    """The tool works on, and names what it left alone; nothing of the host is taken for the run's."""
    plant, is_left = HOSTILE[hostile]
    plant(run_dir / "output")
    notes: list[str] = []
    if ending == "finished":
        runs.finish(run_dir, _result(), environment={})
    else:
        _kill_tool(run_dir)
        assert runs.recover(tmp_path / "runs", note=notes.append) == [run_dir]
        assert bool(notes) is is_left
    stored = runs.read(run_dir)
    assert bool(stored.record.left_in_output) is is_left
    assert tuple(stored.record.left_because) == stored.record.left_in_output
    assert "secret.txt" not in stored.files
    assert stored.complete is (ending == "finished")
    assert runs.recover(tmp_path / "runs", note=notes.append) == []
    assert len(listing.summaries(tmp_path / "runs", reports_dir=tmp_path / "reports", now_ns=0)) == 1
    assert [source.name for source in adapters.find_all(run_dir)] in (["metrics.jsonl"], [])
    _kill_tool(run_dir)
    pruned = prune(_project(tmp_path), PruneChoice(keep=0), now=datetime.now(UTC))
    assert [one.path for one in pruned.going] == [run_dir]
    assert not run_dir.exists()
    assert (tmp_path / "host" / "secret.txt").exists()


def test_a_run_that_cannot_be_closed_is_named_and_the_others_are_closed(
    run_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = RunSpec(
        recipe="tiny", run_id="20261120T101501Z-bbbb-seed1-1", seed=1, device="cpu", command=("x",)
    )
    other = runs.create(tmp_path / "runs", spec, facts={})
    for folder in (run_dir, other):
        _kill_tool(folder)
    rename = Path.rename

    def refused(path: Path, target: Path) -> Path:
        if path.is_relative_to(run_dir / "output"):
            raise OSError(errno.EACCES, "Permission denied")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", refused)
    notes: list[str] = []
    assert runs.recover(tmp_path / "runs", note=notes.append) == [other]
    assert [str(run_dir) in note and "Permission denied" in note for note in notes] == [True]


def test_an_owner_that_no_process_can_be_is_dead() -> None:
    assert not workspace.is_alive(RunOwner(pid=10**400, started=1.0))
    assert not workspace.is_alive(RunOwner(pid=1, started=10**400))


def test_a_log_larger_than_the_disk_keeps_both_ends(tmp_path: Path) -> None:
    log = tmp_path / "stdout.log"
    log.write_bytes(b"first\n")
    os.truncate(log, 1 << 40)
    with log.open("ab") as stream:
        stream.write(b"last\n")
    half = 8 << 20
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(logs, "_MAX_LOG_BYTES", 2 * half)
        logs.redact_logs(tmp_path)
    content = log.read_bytes()
    assert content.startswith(b"first\n")
    assert content.endswith(b"last\n")
    assert b" bytes left out]" in content
    assert len(content) < 2 * half + 100


def test_a_marker_entry_of_another_size_is_not_digested(run_dir: Path) -> None:
    runs.finish(run_dir, _result(), environment={})
    _sparse(run_dir / "metrics.jsonl")
    stored = runs.read(run_dir)
    assert not stored.complete
    assert "metrics.jsonl was changed" in stored.incomplete_because


@pytest.mark.parametrize(
    ("limits", "over", "because"),
    [
        (WalkLimits(depth=2), "a/b", "nested"),
        (WalkLimits(path_bytes=8), "a/b/large", "longer"),
        (WalkLimits(entries=2), "a", "files and folders"),
        (WalkLimits(file_bytes=9), "a/b/large", "10 bytes"),
        (WalkLimits(total_bytes=12), "a/b/small", "all files"),
        (WalkLimits(), None, ""),
    ],
)
def test_what_is_over_a_limit_is_an_entry_with_its_reason(
    tmp_path: Path, limits: WalkLimits, over: str | None, because: str
) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "large").write_bytes(b"x" * 10)
    (tmp_path / "a" / "b" / "small").write_bytes(b"x" * 3)
    (tmp_path / "c").symlink_to("/")
    found = list(file_tree.walk(tmp_path, limits=limits))
    refused = [one.name for one in found if one.kind is Kind.OVER_LIMIT]
    assert refused[:1] == ([] if over is None else [over])
    assert all(because in one.because for one in found if one.because)
    if over is None:
        assert [one.name for one in found] == ["a", "c", "a/b", "a/b/large", "a/b/small"]


def test_a_folder_is_removed_and_what_a_link_in_it_leads_to_stays(tmp_path: Path) -> None:
    folder, other = tmp_path / "folder", tmp_path / "other"
    other.mkdir()
    (other / "kept").touch()
    (folder / "locked").mkdir(parents=True)
    _nest(folder, "n" * 250, depth=60)
    (folder / "link").symlink_to(other)
    (folder / "locked").chmod(0)
    file_tree.remove(folder)
    assert not folder.exists()
    assert (other / "kept").exists()
    (tmp_path / "link").symlink_to(other)
    with pytest.raises(OSError, match="a link"):
        file_tree.remove(tmp_path / "link")


def test_a_comparison_of_folders_says_that_it_cannot_see_everything(tmp_path: Path) -> None:
    """A metrics file below a folder that is not entered is never left out in silence."""
    _nest(tmp_path, "d", depth=100)
    with pytest.raises(MetricsError, match="nested"):
        adapters.find_all(tmp_path)


@pytest.mark.parametrize(
    ("name", "is_left"),
    [
        ("wandb/offline-run-20261122_123456-ab12cd34/logs/debug-core.log", False),
        ("out/wandb/run-20261122_123456-ab12cd34/logs/debug-core.log", False),
        ("wandb/run-20261122_123456-ab12cd34/logs/metrics.jsonl", True),
        ("wandb/run-20261122_123456-ab12cd34/debug-core.log", True),
        ("debug-core.log", True),
    ],
)
def test_only_the_link_that_wandb_makes_to_its_own_log_is_no_loss(
    run_dir: Path, tmp_path: Path, name: str, is_left: bool
) -> None:
    (tmp_path / "secret.txt").write_text("of the host")
    link = run_dir / "output" / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(tmp_path / "secret.txt")
    runs.finish(run_dir, _result(), environment={})
    stored = runs.read(run_dir)
    assert stored.record.left_in_output == ((name,) if is_left else ())
    assert not (run_dir / name).exists()
    assert stored.complete
