"""The command that trains, given or found, with its placeholders."""

from __future__ import annotations

import pytest

from reprokit.errors import UsageError
from reprokit.features.init.find_command import found_command, given_command

PROGRAM = 'import argparse\np.add_argument("--seed")\np.add_argument("--out")\n'


@pytest.fixture
def root(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    return tmp_path


@pytest.mark.parametrize(
    ("typed", "made"),
    [
        ("python train.py", "python train.py --seed {seed} --out {run_dir}"),
        ("python train.py --seed 7 --lr 1", "python train.py --seed {seed} --lr 1 --out {run_dir}"),
        ("python train.py --seed=7", "python train.py --seed={seed} --out {run_dir}"),
        ("python train.py --seed {seed}", "python train.py --seed {seed} --out {run_dir}"),
        (
            "torchrun --nproc-per-node 2 train.py",
            "torchrun --nproc-per-node 2 train.py --seed {seed} --out {run_dir}",
        ),
        ("python -m train", "python -m train --seed {seed} --out {run_dir}"),
        ("echo hello", "echo hello"),
    ],
)
def test_a_given_command_gets_the_placeholders_that_its_program_takes(root, typed, made):
    assert " ".join(given_command(typed.split(), root).words) == made


def test_the_program_with_the_usual_name_is_found(root):
    assert found_command(root).script == "train.py"


def test_of_several_programs_none_is_taken(tmp_path):
    for name in ("train_small.py", "train_large.py"):
        (tmp_path / name).write_text(PROGRAM)
    with pytest.raises(UsageError, match=r"train_large\.py, train_small\.py"):
        found_command(tmp_path)


def test_where_nothing_trains_that_is_told(tmp_path):
    with pytest.raises(UsageError, match="no program that trains was found"):
        found_command(tmp_path)
