"""Asks `compare --rounding` of two upgrades: one that only rounds otherwise, and one that changed a default.

    python benchmarks/rounding_upgrades.py FOLDER

Each is a project that is made in the folder: a program of `benchmarks/upgrades`, with a lock of before and
one of after. What is printed is what a person would see.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PROGRAMS = Path(__file__).with_name("upgrades")
PYTHON = "3.11"
#: Program → packages before, and after.
UPGRADES = {
    "sklearn_network": (
        ("scikit-learn==1.6.1", "numpy==2.2.6", "scipy==1.15.3", "joblib==1.5.1"),
        ("scikit-learn==1.7.2", "numpy==2.2.6", "scipy==1.15.3", "joblib==1.5.1"),
    ),
    "jax_network": (
        ("jax==0.4.38", "numpy==1.26.4", "scipy==1.14.1", "ml-dtypes==0.4.1"),
        ("jax==0.5.3", "numpy==2.2.4", "scipy==1.15.2", "ml-dtypes==0.5.1"),
    ),
}
RECIPE = """\
schema: 1
name: train
title: A program, before and after an upgrade
variant: upgraded
command: [python, train.py, "{run_dir}"]
seeds: [0]
platforms: [cpu-x86_64]
"""


def main() -> None:
    """Ask of both, or of some."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=list(UPGRADES))
    given = parser.parse_args()
    for name in given.only:
        print(name, flush=True)
        print(compared(given.folder / name, name), flush=True)


def compared(root: Path, name: str) -> str:
    """What the tool says of an upgrade."""
    (root / "recipes/train").mkdir(parents=True)
    (root / "recipes/train/recipe.yaml").write_text(RECIPE)
    (root / ".gitignore").write_text("runs/\nreports/\n")
    shutil.copyfile(PROGRAMS / f"{name}.py", root / "train.py")
    for end, packages in zip(("before", "after"), UPGRADES[name], strict=True):
        (root / "requirements.txt").write_text("\n".join(packages) + "\n")
        tool(root, ["image", "lock", "upgraded", "--dependencies", "requirements.txt", "--python", PYTHON])
        shutil.copyfile(root / "images/upgraded/requirements.lock", root / f"{end}.lock")
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    subprocess.run(["git", "add", "--all"], cwd=root, check=True)
    locks = ["--a-lock", "before.lock", "--b-lock", "after.lock"]
    return tool(root, ["compare", "train", *locks, "--rounding", "--backend", "local"])


def tool(root: Path, words: Sequence[str]) -> str:
    """What the tool prints, and its exit code; its messages go to where ours go."""
    command = [sys.executable, "-m", "reprokit", *words]
    ended = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=False)
    return f"{ended.stdout}exit code {ended.returncode}"


if __name__ == "__main__":
    main()
