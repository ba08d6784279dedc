"""A seed that stands in a configuration file."""

from __future__ import annotations

import pytest

from reprokit.features.init.find_seed import seed_in_files


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("train.yaml", "model: mlp\nseed: 42\n", 2),
        ("train.yaml", "training:\n  random_seed: 7\n", 2),
        ("train.toml", "[run]\nseed = 1\n", 2),
        ("train.json", '{"lr": 0.1,\n "seed": 3}', 2),
        ("train.json", '{"seed": 3}', 1),
        ("train.ini", "[run]\nrandom_state=5", 2),
    ],
)
def test_its_file_and_line_are_named(tmp_path, name, text, line):
    (tmp_path / name).write_text(text)
    assert seed_in_files(tmp_path, [name]) == f"{name}, line {line}"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("train.yaml", "seed: null\n"),
        ("train.yaml", "# seed: 4\n"),
        ("train.yaml", "seeds_per_row: 4\n"),
        ("train.yaml", "note: the seed: 4\n"),
        ("train.py", "seed = 4\n"),
    ],
)
def test_what_sets_no_seed(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert seed_in_files(tmp_path, [name, "gone.yaml"]) == ""
