"""Finished runs at a URL: whole or not at all, read back; a failing storage is a failure of its own name."""

import hashlib
import json
from types import SimpleNamespace

import pytest

from reprokit import cli
from reprokit.core.records import Outcome
from reprokit.errors import MissingExtraError, ReportError, UploadError, UsageError
from reprokit.runs import remote

fsspec = pytest.importorskip("fsspec")

RUN_ID = "20261121T000000Z-0000-seed42-1"


def sha256(content):
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "runs" / "cartpole" / RUN_ID
    (folder / "checkpoints").mkdir(parents=True)
    record = {"recipe": "cartpole", "outcome": "completed", "exit_code": 0}
    (folder / "run.json").write_text(json.dumps(record))
    (folder / "metrics.jsonl").write_bytes(b'{"step": 1}\n')
    (folder / "checkpoints" / "final_model.pt").write_bytes(bytes(range(256)) * 9000)
    close(folder)
    return folder


def close(folder):
    (folder / "COMPLETE").unlink(missing_ok=True)
    files = {
        str(path.relative_to(folder)): {"sha256": sha256(path.read_bytes()), "bytes": path.stat().st_size}
        for path in folder.rglob("*")
        if path.is_file()
    }
    (folder / "COMPLETE").write_text(json.dumps({"schema": 1, "files": files}))


@pytest.fixture
def memory():
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = [""]
    return system


@pytest.fixture(params=["memory", "file"])
def url(request, memory, tmp_path):
    return "memory://bucket/experiments" if request.param == "memory" else f"file://{tmp_path}/there"


def there(system):
    return sorted(path.rpartition(f"{RUN_ID}/")[2] for path in system.find("/bucket"))


ALL = ["COMPLETE", "checkpoints/final_model.pt", "metrics.jsonl", "run.json"]


def test_a_run_is_there_afterwards_and_whole(run, url):
    where = remote.push(run, url)
    assert where == f"{url}/cartpole/{RUN_ID}"
    found = remote.verify(where)
    assert (found.num_files, found.problems) == (3, ())
    assert remote.push(run, url) == where


def test_nothing_but_the_run_is_left_there(run, memory):
    remote.push(run, "memory://bucket")
    assert there(memory) == ALL


def test_complete_comes_last(run, memory, monkeypatch):
    order, move = [], type(memory).mv
    monkeypatch.setattr(type(memory), "mv", lambda self, a, b, **k: (order.append(b), move(self, a, b, **k)))
    remote.push(run, "memory://bucket")
    assert order[-1].endswith("/COMPLETE")
    assert len(order) == 4


@pytest.mark.parametrize("after", range(4))
def test_a_copy_that_breaks_off_is_no_finished_run_and_can_be_done_again(run, memory, monkeypatch, after):
    put, seen = type(memory).put_file, []

    def failing(self, *words, **named):
        seen.append(words)
        if len(seen) > after:
            raise OSError("connection reset")
        return put(self, *words, **named)

    with monkeypatch.context() as patch:
        patch.setattr(type(memory), "put_file", failing)
        with pytest.raises(UploadError, match="connection reset") as told:
            remote.push(run, "memory://bucket")
    assert told.value.exit_code == 3
    assert Outcome(told.value.outcome) is Outcome.UPLOAD_FAILED
    assert not [name for name in there(memory) if "partial" in name]
    with pytest.raises(ReportError, match="COMPLETE is missing"):
        remote.verify(f"memory://bucket/cartpole/{RUN_ID}")
    assert remote.verify(remote.push(run, "memory://bucket")).problems == ()


def test_a_file_that_arrives_changed_is_found_and_never_gets_its_name(run, memory, monkeypatch):
    put = type(memory).put_file

    def spoiling(self, path, target, **named):
        put(self, path, target, **named)
        if "metrics" in target:
            self.pipe_file(target, b'{"step": 2}\n')

    monkeypatch.setattr(type(memory), "put_file", spoiling)
    with pytest.raises(UploadError, match=r"metrics\.jsonl did not arrive unchanged"):
        remote.push(run, "memory://bucket")
    assert "metrics.jsonl" not in there(memory)
    assert "COMPLETE" not in there(memory)


def test_a_run_that_is_not_finished_is_not_copied(run, memory):
    (run / "metrics.jsonl").write_bytes(b"{}\n")
    with pytest.raises(UploadError, match=r"metrics\.jsonl was changed after the run"):
        remote.push(run, "memory://bucket")
    (run / "COMPLETE").unlink()
    with pytest.raises(UploadError, match="only a finished run"):
        remote.push(run, "memory://bucket")
    assert there(memory) == []


def test_another_run_is_never_replaced(run, memory):
    remote.push(run, "memory://bucket")
    (run / "metrics.jsonl").write_bytes(b'{"step": 3}\n')
    close(run)
    with pytest.raises(UploadError, match="another run is there already"):
        remote.push(run, "memory://bucket")


def test_a_spoilt_copy_is_told_and_mended_by_pushing_again(run, memory):
    where = remote.push(run, "memory://bucket")
    path = f"/bucket/cartpole/{RUN_ID}"
    memory.pipe_file(f"{path}/metrics.jsonl", b"x")
    memory.rm_file(f"{path}/run.json")
    memory.pipe_file(f"{path}/more.txt", b"x")
    assert set(remote.verify(where).problems) == {
        "metrics.jsonl is not the file that COMPLETE lists",
        "run.json is missing",
        "more.txt was added",
    }
    remote.push(run, "memory://bucket")
    assert remote.verify(where).problems == ("more.txt was added",)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'{"files": 1}', b'{"files": {"run.json": 1}}', b"\xff"]
)
def test_a_damaged_marker_is_refused(run, memory, content):
    where = remote.push(run, "memory://bucket")
    memory.pipe_file(f"/bucket/cartpole/{RUN_ID}/COMPLETE", content)
    with pytest.raises(ReportError, match="COMPLETE is damaged"):
        remote.verify(where)


@pytest.mark.parametrize("url", ["nothing://bucket", "s3-of-no one://x"])
def test_a_protocol_that_nobody_knows_is_wrong_usage(run, url):
    with pytest.raises(UsageError, match="cannot be reached"):
        remote.push(run, url)


def test_without_fsspec_the_way_to_get_it_is_told(run, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
    with pytest.raises(MissingExtraError, match="pip install"):
        remote.push(run, "memory://bucket")


def reprokit(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        cli.main(["runs", *map(str, words)])
    told = capsys.readouterr()
    return ended.value.code, told.out, told.err


def test_the_verbs_say_where_it_is_and_whether_it_is_whole(run, memory, capsys, monkeypatch):
    monkeypatch.chdir(run.parents[2])
    code, out, _ = reprokit(capsys, "push", RUN_ID[:12], "memory://bucket")
    assert (code, out) == (0, f"memory://bucket/cartpole/{RUN_ID}\n")
    code, out, _ = reprokit(capsys, "verify", f"memory://bucket/cartpole/{RUN_ID}")
    assert (code, out) == (0, f"whole: memory://bucket/cartpole/{RUN_ID}: 3 files\n")
    memory.pipe_file(f"/bucket/cartpole/{RUN_ID}/metrics.jsonl", b"x")
    code, out, _ = reprokit(capsys, "verify", f"memory://bucket/cartpole/{RUN_ID}", "--json")
    assert code == 1
    assert json.loads(out)["problems"] == ["metrics.jsonl is not the file that COMPLETE lists"]
    assert reprokit(capsys, "verify", RUN_ID)[0] == 0
    assert reprokit(capsys, "verify", "memory://bucket/cartpole/other")[0] == 2


@pytest.mark.parametrize(("verdict_code", "expected"), [(0, 3), (4, 3), (1, 1)])
def test_a_copy_that_fails_is_never_a_pass(run, memory, monkeypatch, capsys, verdict_code, expected):
    from reprokit import harness  # noqa: PLC0415 - patched below
    from reprokit.cli import show_report  # noqa: PLC0415

    answer = SimpleNamespace(runs=(str(run),), exit_code=verdict_code)
    monkeypatch.setattr(harness, "reproduce", lambda *_a, **_k: (answer, run))
    monkeypatch.setattr(show_report, "to_github", lambda _answers: None)
    monkeypatch.setattr(show_report, "report", lambda *_a, **_k: None)
    monkeypatch.setattr(
        type(memory), "put_file", lambda *_a, **_k: (_ for _ in ()).throw(PermissionError("denied"))
    )
    with pytest.raises(SystemExit) as ended:
        cli.main(["reproduce", "cartpole", "--copy-to", "memory://bucket"])
    assert ended.value.code == expected
    assert "not copied" in capsys.readouterr().err
