"""A resumed program that was watched: its first wrong sample, and the line that made the loader."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from reprokit.harness.judging.resumed.resumed_program import _wrong_sample

LOADERS = [{"file": "train.py", "line": 22}, {"file": "train.py", "line": 30}]


def _run(folder: Path, *ids: str, began: str = "p0", first: int = 0, name: str = "samples"):
    """A run whose update number n leaves the parameters ``p<n>``, counted from ``first``."""
    folder.mkdir()
    records = [
        {
            "update": n,
            "step": n,
            name: {"ids": one, "contents": one.replace(",", "").ljust(32, "0")},
            "parameters": {"w": f"p{first + n}"},
        }
        for n, one in enumerate(ids, start=1)
    ]
    (folder / "trace.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in records))
    torch = {"began_with": {"w": began}, "loaders": LOADERS}
    (folder / "instrument.json").write_text(json.dumps({"processes": {"0": {"torch": torch}}}))
    return SimpleNamespace(path=folder)


def test_samples_that_were_trained_on_before_are_named_with_the_line_of_their_loader(tmp_path):
    whole = _run(tmp_path / "whole", "5,9", "7,0", "8,1", "6,3")
    resumed = _run(tmp_path / "resumed", "5,9", "6,3", began="p2", first=2)
    found = _wrong_sample(whole, resumed)["sample"]
    assert found["told"] == "update 3 trained on samples 5, 9 again, those of update 1; expected 8, 1"
    assert (found["loader"], found["how"]) == ("train.py:22", "again")


def test_the_second_loader_of_a_program_has_its_own_line(tmp_path):
    whole = _run(tmp_path / "whole", "5,9", "7,0", "8,1", name="samples_2")
    resumed = _run(tmp_path / "resumed", "8,2", began="p2", first=2, name="samples_2")
    assert _wrong_sample(whole, resumed)["sample"]["loader"] == "train.py:30"


def test_a_resumed_program_with_the_right_samples_has_no_wrong_one(tmp_path):
    whole = _run(tmp_path / "whole", "5,9", "7,0", "8,1", "6,3")
    assert _wrong_sample(whole, _run(tmp_path / "resumed", "8,1", "6,3", began="p2", first=2)) == {}


@pytest.mark.parametrize("began", ["elsewhere", ""])
def test_parameters_that_the_whole_run_never_had_name_no_sample(tmp_path, began):
    whole = _run(tmp_path / "whole", "5,9", "7,0")
    assert _wrong_sample(whole, _run(tmp_path / "resumed", "1,2", began=began)) == {}


def test_a_damaged_ledger_is_told(tmp_path):
    whole = _run(tmp_path / "whole", "5,9", "7,0")
    resumed = _run(tmp_path / "resumed", "x,y", began="p1", first=1)
    assert _wrong_sample(whole, resumed)["sample"]["how"] == "damaged"
