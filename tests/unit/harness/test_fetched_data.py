"""A program that reads data by name: fetched beforehand, checked before and after, never fetched by a run."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from reprokit.harness.running.environments.preflight import check_before_running
from reprokit.project import Project
from reprokit.recipes import load
from reprokit.session import Session
from support.command_line import reprokit
from support.command_recipe import PROGRAM, RECIPE
from support.recorded_progress import RecordedProgress

TRAIN = b"0.1\n0.2\n"
OTHER = b"0.1\n0.3\n"
READS = PROGRAM.replace("value = 1.0", 'value = sum(map(float, open(sys.argv[3] + "/train.csv")))')


def sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def declared(content: bytes, place: str = "path: raw/train.csv") -> str:
    return f"data:\n  train.csv:\n    {place}\n    sha256: {sha256(content)}\n    size: {len(content)}\n"


@pytest.fixture
def reads(repository, tmp_path, monkeypatch):
    monkeypatch.setenv("REPROKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(repository.root)
    (repository.root / "raw").mkdir()
    (repository.root / "raw" / "train.csv").write_bytes(TRAIN)
    write_recipe(repository, declared(TRAIN))
    repository.write(train_py=READS)
    return repository


def write_recipe(repository, data: str, *, sees: str = "sees: [train.py, settings.py]\n") -> None:
    recipe = RECIPE.replace('"{run_dir}"]', '"{run_dir}", "{data}"]') + sees + data
    repository.write(recipes__train__recipe_yaml=recipe)


def cached(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "data" / sha256(TRAIN).removeprefix("sha256:")


def row(report, name: str):
    return next(one for one in report.checks if one.id == name)


def test_a_file_that_is_not_the_declared_one_any_more_is_told_though_the_cache_has_it(reads, capsys):
    assert reprokit("data", "fetch", "train") == 0
    assert reprokit("data", "verify", "train") == 0
    (reads.root / "raw" / "train.csv").write_bytes(OTHER)
    assert reprokit("data", "verify", "train") == 1
    assert "raw/train.csv is not the declared file: expected sha256:" in capsys.readouterr().out
    assert reprokit("data", "fetch", "train") == 0
    assert "the copy in the cache is used: " in capsys.readouterr().err
    recipe, told = load("train", recipes_dir=reads.root / "recipes"), RecordedProgress()
    check_before_running(recipe, seed=1, session=Session(project=Project.around(reads.root), progress=told))
    assert any("the runs use the copy of train.csv in the cache" in note for note in told.notes)


def test_data_that_was_fetched_is_read_recorded_and_reproduced(reads):
    assert reprokit("data", "fetch", "train") == 0
    report = reads.reproduce()
    record = json.loads((Path(report.runs[0]) / "run.json").read_text())
    assert (report.verdict, row(report, "data_recorded").status) == ("NO_GOLDEN", "PASSED")
    assert record["data"] == {"train.csv": sha256(TRAIN)}
    reads.promote(report)
    assert reads.reproduce().verdict == "REPRODUCED"


def test_data_that_was_not_fetched_is_not_run_and_names_the_command(reads):
    report = reads.reproduce()
    assert (report.verdict, report.exit_code) == ("NOT_RUN", 3)
    record = json.loads((Path(report.runs[0]) / "run.json").read_text())
    assert record["outcome"] == "data_unavailable"
    assert "the data train.csv is not fetched yet" in record["message"]
    assert record["remedy"] == report.next_command == "reprokit data fetch train"
    assert report.rerun == "reprokit reproduce train --seed 3 --backend local"


def test_a_file_of_the_cache_that_was_edited_is_found_before_a_run(reads, tmp_path):
    reprokit("data", "fetch", "train")
    cached(tmp_path).chmod(0o644)
    cached(tmp_path).write_bytes(OTHER)
    report = reads.reproduce()
    assert (report.verdict, report.exit_code) == ("NOT_RUN", 3)
    assert (
        "was changed in the cache" in json.loads((Path(report.runs[0]) / "run.json").read_text())["message"]
    )


def test_a_program_that_writes_into_its_data_is_no_evidence(reads):
    reprokit("data", "fetch", "train")
    writes = (
        'import os\nname = sys.argv[3] + "/train.csv"\nos.chmod(name, 0o644)\nopen(name, "a").write("0")\n'
    )
    reads.write(train_py=READS + writes)
    report = reads.reproduce()
    record = json.loads((Path(report.runs[0]) / "run.json").read_text())
    assert (report.verdict, record["outcome"]) == ("NOT_RUN", "mounts_changed")
    assert "the data train.csv changed while the run was under way" in record["message"]


def test_another_digest_is_another_recipe_and_another_mirror_is_not(reads):
    recipes_dir = Project.around(reads.root).recipes_dir
    before = load("train", recipes_dir=recipes_dir).digest
    write_recipe(reads, declared(TRAIN, "url: [https://example.org/a, https://example.org/b]"))
    assert load("train", recipes_dir=recipes_dir).digest == before
    write_recipe(reads, declared(OTHER))
    assert load("train", recipes_dir=recipes_dir).digest != before
    write_recipe(reads, declared(TRAIN) + "    unpack: tar\n")
    assert load("train", recipes_dir=recipes_dir).digest != before


def test_verify_tells_missing_changed_and_right_apart(reads, tmp_path, capsys):
    assert reprokit("data", "verify", "train") == 4
    assert "recipes/train/recipe.yaml:12: not fetched yet" in capsys.readouterr().out
    assert reprokit("data", "fetch", "train") == 0
    assert reprokit("data", "verify") == 0
    cached(tmp_path).chmod(0o644)
    cached(tmp_path).write_bytes(OTHER)
    assert reprokit("data", "verify", "train") == 1
    assert reprokit("data", "fetch", "train") == 0
    capsys.readouterr()
    assert reprokit("data", "list", "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["name"], found["status"], found["sha256"]) == ("train.csv", "ready", sha256(TRAIN))


def test_what_cannot_be_fetched_says_file_and_line(reads, capsys):
    write_recipe(reads, declared(OTHER))
    assert reprokit("data", "fetch", "train") == 3
    said = capsys.readouterr().err
    assert "recipes/train/recipe.yaml:12: the data train.csv could not be fetched" in said
    assert f"not the declared file: expected {sha256(OTHER)}" in said


def test_offline_by_the_environment_asks_no_server(reads, capsys, monkeypatch):
    monkeypatch.setenv("REPROKIT_OFFLINE", "1")
    write_recipe(reads, declared(TRAIN, "url: https://example.org/a"))
    assert reprokit("data", "fetch", "train") == 3
    assert "is not asked: offline" in capsys.readouterr().err


def test_a_recipe_without_data_by_name_has_nothing_to_fetch(reads, capsys):
    write_recipe(reads, "data: none\n")
    assert reprokit("data", "fetch", "train") == 2
    assert reprokit("data", "verify", "train") == 4
    assert "nothing to fetch" in capsys.readouterr().err
