"""``reprokit runs checkpoint``: exit codes and words, on small files laid out as torch lays them out."""

import hashlib
import json
import os
import pickle
import shutil
import zipfile

import pytest

from reprokit import cli

RANDOM = {"python": [1], "numpy": {"pos": 1}, "torch": [1], "environments": [[], []]}
STATE = {"step": 10, "model": {"bias": 0.5}, "optimizer": {"count": 1}, "random": RANDOM, "extra": {}}


class Enemy:
    def __reduce__(self):
        return os.system, ("touch ran",)


def write(path, state):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(state, protocol=2))
    return path


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run folder with two checkpoints; its manifest is written by ``listed``."""
    folder = tmp_path / "runs" / "r" / "20261121T000000Z-0000-seed42-1"
    (folder / "checkpoints").mkdir(parents=True)
    record = {"recipe": "r", "seed": 42, "training_config": {"environment": {"num_envs": 2}}}
    (folder / "run.json").write_text(json.dumps(record))
    monkeypatch.chdir(tmp_path)
    for step in (10, 20):
        write(folder / "checkpoints" / f"checkpoint_{step}.pt", {**STATE, "step": step})
    listed(folder)
    return folder


def listed(folder):
    files = {
        path.name: {"step": int(path.stem.rpartition("_")[2]), "sha256": digest(path)}
        for path in (folder / "checkpoints").glob("*.pt")
    }
    (folder / "checkpoints" / "MANIFEST.json").write_text(json.dumps({"files": files}))


def digest(path):
    return f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


def reprokit(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        cli.main(["checkpoint", *map(str, words)])
    told = capsys.readouterr()
    return ended.value.code, told.out, told.err


def test_a_run_whose_checkpoints_are_whole_is_0(run, capsys):
    code, out, _ = reprokit(capsys, "verify", run)
    assert code == 0
    assert [line.split()[:2] for line in out.splitlines()] == [
        ["whole", "checkpoint_10.pt"],
        ["whole", "checkpoint_20.pt"],
    ]


def test_a_file_that_is_not_as_listed_is_1_and_named(run, capsys):
    write(run / "checkpoints" / "checkpoint_20.pt", {**STATE, "step": 21})
    code, out, _ = reprokit(capsys, "verify", run)
    assert code == 1
    assert "its SHA-256 differs" in out


def test_a_listed_file_that_is_gone_is_2(run, capsys):
    (run / "checkpoints" / "checkpoint_20.pt").unlink()
    code, out, _ = reprokit(capsys, "verify", run)
    assert code == 2
    assert "it is listed but missing" in out


@pytest.mark.parametrize("name", ["step", "model", "optimizer", "extra"])
def test_a_part_that_is_missing_is_1_and_named(run, capsys, name):
    state = {**STATE, "step": 20}
    write(run / "checkpoints" / "checkpoint_20.pt", {key: state[key] for key in state if key != name})
    listed(run)
    code, out, _ = reprokit(capsys, "verify", run, "--json")
    assert code == 1
    assert json.loads(out)["files"][1]["problems"] == [f"it has no {name}"]


@pytest.mark.parametrize("name", ["python", "numpy", "torch"])
def test_a_random_state_that_is_missing_is_1_and_named(run, capsys, name):
    random = {key: RANDOM[key] for key in RANDOM if key != name}
    write(run / "checkpoints" / "checkpoint_20.pt", {**STATE, "random": random})
    listed(run)
    code, out, _ = reprokit(capsys, "verify", run / "checkpoints" / "checkpoint_20.pt")
    assert code == 1
    assert f"it has no random state of {name}" in out


@pytest.mark.parametrize("verb", ["verify", "show", "diff"])
def test_a_file_that_would_run_code_is_refused_with_2_and_runs_nothing(run, capsys, verb, tmp_path):
    path = write(run / "checkpoints" / "checkpoint_20.pt", {**STATE, "model": Enemy()})
    listed(run)
    words = [verb, path, path] if verb == "diff" else [verb, path]
    code, out, err = reprokit(capsys, *words)
    assert code == 2
    assert "could run code" in out + err
    assert not (tmp_path / "ran").exists()


def test_a_torn_file_is_refused_with_2(run, capsys):
    path = run / "checkpoints" / "checkpoint_20.pt"
    path.write_bytes(path.read_bytes()[:-30])
    code, out, _ = reprokit(capsys, "verify", run)
    assert code == 2
    assert "this is not a whole checkpoint" in out


def seal(run):
    """COMPLETE, over the files as they are now."""
    files = {
        path.relative_to(run).as_posix(): {"sha256": digest(path)}
        for path in run.rglob("*")
        if path.is_file()
    }
    (run / "COMPLETE").write_text(json.dumps({"files": files}))


def test_a_finished_run_that_nobody_touched_is_0(run, capsys):
    seal(run)
    assert reprokit(capsys, "verify", run)[0] == 0
    assert reprokit(capsys, "verify", run / "checkpoints" / "checkpoint_20.pt")[0] == 0


@pytest.mark.parametrize("name", ["", "checkpoints/checkpoint_20.pt"])
def test_a_checkpoint_changed_together_with_its_manifest_is_1(run, capsys, name):
    seal(run)
    changed = {**STATE, "step": 20, "model": {"bias": 0.75}}
    write(run / "checkpoints" / "checkpoint_20.pt", changed)
    listed(run)
    code, out, _ = reprokit(capsys, "verify", run / name)
    assert code == 1
    assert "not whole  checkpoint_20.pt" in out
    assert "checkpoints/checkpoint_20.pt was changed after the run" in out
    assert "checkpoints/MANIFEST.json was changed after the run" in out


def test_a_checkpoint_removed_together_with_its_entry_is_2_and_named(run, capsys):
    seal(run)
    (run / "checkpoints" / "checkpoint_10.pt").unlink()
    listed(run)
    code, out, _ = reprokit(capsys, "verify", run)
    assert code == 2
    assert "checkpoints/checkpoint_10.pt is missing" in out


def test_a_damaged_complete_vouches_for_nothing(run, capsys):
    (run / "COMPLETE").write_text("{}")
    code, out, _ = reprokit(capsys, "verify", run)
    assert code == 1
    assert "COMPLETE is damaged" in out


def test_a_checkpoint_that_holds_another_step_is_1(run, capsys):
    write(run / "checkpoints" / "checkpoint_20.pt", {**STATE, "step": 21})
    listed(run)
    code, out, _ = reprokit(capsys, "verify", run)
    assert code == 1
    assert "it holds step 21, but is listed with step 20" in out


def test_a_manifest_that_gives_a_checkpoint_another_step_is_1(run, capsys):
    path = run / "checkpoints" / "MANIFEST.json"
    path.write_text(path.read_text().replace('"step": 20', '"step": 999999'))
    code, out, _ = reprokit(capsys, "verify", run)
    assert code == 1
    assert "MANIFEST.json lists it with step 999999, but its name says 20" in out


@pytest.mark.parametrize("verb", ["verify", "show"])
def test_a_run_stopped_before_its_first_checkpoint_is_told_so(run, capsys, verb):
    shutil.rmtree(run / "checkpoints")
    code, _, err = reprokit(capsys, verb, run)
    assert code == 2
    assert "it was stopped before its first checkpoint" in err


@pytest.mark.parametrize("verb", ["verify", "show", "diff"])
def test_a_run_without_checkpoints_says_so_and_names_a_file_that_its_program_wrote(run, capsys, verb):
    shutil.rmtree(run / "checkpoints")
    record = json.loads((run / "run.json").read_text())
    record |= {"plain_command": ["python", "t.py"], "outcome": "completed"}
    (run / "run.json").write_text(json.dumps(record))
    (run / "output").mkdir()
    write(run / "output" / "model.pt", STATE)
    code, _, err = reprokit(capsys, verb, *([run, run] if verb == "diff" else [run]))
    assert code == 2
    assert "this run has no checkpoints: it wrote none" in err
    assert f"reprokit runs checkpoint show {run}/output/model.pt" in err
    assert "resume" not in err


def test_a_run_with_none_but_damaged_checkpoints_says_so(run, capsys):
    for path in (run / "checkpoints").glob("*.pt"):
        path.write_bytes(b"torn")
    code, _, err = reprokit(capsys, "show", run)
    assert code == 2
    assert "no checkpoint of this run is whole" in err


def test_a_file_that_lies_in_no_run_is_read_and_nobody_vouches_for_it(capsys, tmp_path):
    alone = write(tmp_path / "copied.pt", STATE)
    code, out, _ = reprokit(capsys, "verify", alone)
    assert code == 0
    assert out.startswith("whole      copied.pt")
    assert "whether it was changed cannot be checked" in out
    _, out, _ = reprokit(capsys, "verify", alone, "--json")
    assert "no run lists its SHA-256" in json.loads(out)["files"][0]["note"]


def test_a_torn_file_that_lies_in_no_run_is_refused_with_2(capsys, tmp_path):
    alone = write(tmp_path / "copied.pt", STATE)
    alone.write_bytes(alone.read_bytes()[:-30])
    code, out, _ = reprokit(capsys, "verify", alone)
    assert code == 2
    assert "this is not a whole checkpoint" in out


def test_equal_contents_in_other_bytes_are_0_and_a_difference_is_1(run, capsys, tmp_path):
    ours = run / "checkpoints" / "checkpoint_20.pt"
    same = write(tmp_path / "same.pt", {**dict(reversed(STATE.items())), "step": 20})
    assert reprokit(capsys, "diff", ours, same)[0] == 0
    other = write(tmp_path / "other.pt", {**STATE, "step": 20, "model": {"bias": 0.5 + 2**-53}})
    code, out, _ = reprokit(capsys, "diff", ours, other)
    assert code == 1
    assert "model.bias" in out
    code, out, _ = reprokit(capsys, "diff", ours, other, "--json")
    assert [one["max_ulps"] for one in json.loads(out)["differences"]] == [1]


def test_a_run_stands_for_its_last_whole_checkpoint(run, capsys):
    (run / "checkpoints" / "checkpoint_20.pt").write_bytes(b"torn")
    code, out, _ = reprokit(capsys, "show", run.name, "--json")
    assert code == 0
    assert json.loads(out)["values"]["step"] == 10


def test_what_a_file_names_cannot_act_on_a_terminal(run, capsys, tmp_path):
    hostile = write(tmp_path / "hostile.pt", {**STATE, "\x1b[2Jgone": "\x1b]0;title\x07"})
    for words in (("show", hostile), ("diff", run / "checkpoints" / "checkpoint_20.pt", hostile)):
        _, out, _ = reprokit(capsys, *words)
        assert "gone" in out
        assert "\x1b" not in out


@pytest.mark.parametrize("words", [("verify", "nosuch"), ("show", "nosuch.pt"), ("verify", "nosuch.pt")])
def test_what_is_not_there_is_2(run, capsys, words):
    assert reprokit(capsys, *words)[0] == 2
