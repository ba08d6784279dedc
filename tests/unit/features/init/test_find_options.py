"""Options of programs as people write them, read from the source."""

from __future__ import annotations

import pytest

from reprokit.features.init.find_options import find_options


@pytest.mark.parametrize(
    ("source", "seed", "folder"),
    [
        (
            'import argparse\np.add_argument("--seed", type=int)\np.add_argument("--output-dir")',
            "--seed",
            "--output-dir",
        ),
        ('import argparse\np.add_argument("-s", "--random_seed")', "--random_seed", ""),
        (
            'import click\n@click.option("--seed")\n@click.option("--logdir")\ndef f(): 0',
            "--seed",
            "--logdir",
        ),
        (
            "import tyro\nclass Args:\n    exp_name: str\n    seed: int = 1\n    save_dir: str",
            "--seed",
            "--save-dir",
        ),
        ("import fire\ndef train(seed, out_dir='x'): 0", "--seed", "--out_dir"),
        ('from absl import flags\nflags.DEFINE_integer("seed", 1, "")', "--seed", ""),
        ('import hydra\n@hydra.main(config_name="c")\ndef f(c): 0', "seed=", ""),
        ('import argparse\np.add_argument("--env-seed")', "--env-seed", ""),
        ('import argparse\np.add_argument("--lr")', "", ""),
        ('import argparse\np.add_argument("--metrics", default="m.csv")', "", "--metrics"),
        ('import argparse\np.add_argument("--metrics", default="loss,accuracy")', "", ""),
        ("print('seed')", "", ""),
        ("def broken(:", "", ""),
    ],
)
def test_the_options_for_seed_and_folder_are_found(source, seed, folder):
    found = find_options(source)
    assert (found.seed, found.folder) == (seed, folder)
