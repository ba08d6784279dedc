"""``reprokit runs checkpoint convert``: what it says and refuses; nothing is written where it must not be."""

import json
import os
import pickle
import zipfile

import pytest

from reprokit import checkpoints, cli

RANDOM = {"python": [1], "numpy": {"pos": 1}, "torch": [1], "environments": [[], []]}
STATE = {
    "schema": 1,
    "step": 10,
    "model": {"bias": 0.5},
    "optimizer": {"count": 1},
    "random": RANDOM,
    "extra": {},
}


class Enemy:
    def __reduce__(self):
        return os.system, ("touch ran",)


def write(path, state):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(state, protocol=2))
    return path


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.pt", STATE)
    return tmp_path


def reprokit(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        cli.main(["checkpoint", *map(str, words)])
    told = capsys.readouterr()
    return ended.value.code, told.out, told.err


def test_there_and_back_holds_the_same_and_says_so(here, capsys):
    code, out, _ = reprokit(capsys, "convert", "a.pt", "b.safetensors")
    assert (code, "0 tensors and every other value, bit for bit" in out) == (0, True)
    assert reprokit(capsys, "convert", "b.safetensors", "c.pt")[0] == 0
    assert checkpoints.read(here / "c.pt") == STATE
    assert reprokit(capsys, "diff", "a.pt", "c.pt")[0] == 0
    assert reprokit(capsys, "verify", "b.safetensors")[:1] == (0,)


def test_an_older_layout_is_moved_and_what_it_lacks_is_told(here, capsys):
    write(here / "old.pt", {"model_state_dict": {"w": 1.0}, "epoch": 3})
    code, out, _ = reprokit(capsys, "convert", "old.pt", "new.pt")
    assert code == 0
    assert "layout 0 → 1: epoch is step" in out
    assert "cannot be resumed from: it has no optimizer" in out
    assert json.loads(reprokit(capsys, "convert", "old.pt", "newer.pt", "--json")[1])["num_tensors"] == 0


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("a.pt", "there already"),
        ("b.txt", "format"),
        ("b", "format"),
        ("none/b.pt", "no such folder"),
        ("run/checkpoints/b.pt", "within a run's folder"),
        ("run/b.safetensors", "within a run's folder"),
    ],
)
def test_nothing_is_written_where_it_must_not(here, capsys, target, told):
    (here / "run" / "checkpoints").mkdir(parents=True)
    (here / "run" / "run.json").write_text("{}")
    before = sorted(here.rglob("*"))
    code, _, err = reprokit(capsys, "convert", "a.pt", target)
    assert (code, told in err) == (2, True)
    assert sorted(here.rglob("*")) == before


@pytest.mark.parametrize(
    "state", [{"model": Enemy()}, {"schema": 2}, {"model_state_dict": {}, "numpy_rng_state": (1,)}]
)
def test_a_file_that_is_refused_leaves_nothing(here, capsys, state):
    write(here / "bad.pt", state)
    assert reprokit(capsys, "convert", "bad.pt", "b.safetensors")[0] == 2
    assert not (here / "b.safetensors").exists()
    assert not (here / "ran").exists()


def test_a_tampered_safetensors_is_refused_by_every_verb(here, capsys):
    reprokit(capsys, "convert", "a.pt", "b.safetensors")
    content = (here / "b.safetensors").read_bytes()
    (here / "b.safetensors").write_bytes(content.replace(b'[\\"step\\",10]', b'[\\"step\\",11]'))
    for words in (
        ("verify", "b.safetensors"),
        ("show", "b.safetensors"),
        ("convert", "b.safetensors", "c.pt"),
    ):
        code, out, err = reprokit(capsys, *words)
        assert (code, "changed after it was written" in out + err) == (2, True)
