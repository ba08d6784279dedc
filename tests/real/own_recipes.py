"""Programs that nobody here wrote become recipes: init, reproduce, promote, verify, and a fault of each kind.

    python tests/real/own_recipes.py --results /tmp/own.json [--only FOLDER] [--backend docker]

Each program gets a repository of its own, with nothing of this one in it. Every answer is held against what
it must be; the script ends with 1 where one is another.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
_IDENTITY = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A program: what is typed, a setting that is changed, and the call that makes it repeat.

    Attributes:
        folder: Of its files, beside this one.
        command: What stands after ``reprokit init --yes --``.
        setting: File, text and the text in its place: another value of a hyperparameter.
        seed: The same for a seed call that is removed.
    """

    folder: str
    command: tuple[str, ...]
    setting: tuple[str, str, str]
    seed: tuple[str, str, str]


_SEEDED = (
    "import runpy, numpy; numpy.random.seed({seed}); runpy.run_path('03_train_state.py', run_name='__main__')"
)
CASES = (
    Case(
        folder="xgboost",
        command=("python", "train.py", "{seed}", "{run_dir}"),
        setting=("train.py", '"subsample": 0.5', '"subsample": 0.4'),
        seed=("train.py", "default_rng(seed)", "default_rng()"),
    ),
    Case(
        folder="sklearn_forest",
        command=("python", "train.py", "{seed}", "{run_dir}"),
        setting=("train.py", "n_estimators=", "max_depth=3, n_estimators="),
        seed=("train.py", ", n_jobs=2, random_state=seed)", ", n_jobs=2)"),
    ),
    Case(
        folder="nanogpt",
        command=("python", "-m", "autoresearch.cli", "toy-train", "--config", "config.json", "--verbose"),
        setting=("config.json", "", ""),
        seed=(
            "autoresearch/toy_train.py",
            "    torch.manual_seed(cfg.seed)\n    gen",
            "    torch.seed()\n    gen",
        ),
    ),
    Case(
        folder="cleanrl_ppo",
        command=(
            *("python", "ppo_continuous_action.py", "--env-id", "Pendulum-v1", "--total-timesteps", "512"),
            *("--num-steps", "128", "--update-epochs", "2", "--num-minibatches", "4"),
        ),
        setting=("ppo_continuous_action.py", "default=3e-4", "default=4e-4"),
        seed=("ppo_continuous_action.py", "    np.random.seed(args.seed)\n", ""),
    ),
    Case(
        folder="jax_flax",
        command=(
            *("python", "-c"),
            _SEEDED,
        ),
        setting=("03_train_state.py", "", ""),
        seed=("", "numpy.random.seed({seed})", "numpy.random.seed()"),
    ),
)


class WrongAnswerError(Exception):
    """The tool answered something else than it must."""


@dataclass(slots=True, kw_only=True)
class Repository:
    """Somebody's repository with one program in it, and what the tool said there."""

    root: Path
    told: list[dict[str, object]]

    def tool(self, *words: str, code: int, says: str = "") -> str:
        """Run the tool; its exit code must be ``code`` and its answer must hold ``says``."""
        began = time.monotonic()
        ended = subprocess.run(
            [sys.executable, "-m", "reprokit", *words],
            cwd=self.root,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "NO_COLOR": "1"},
        )
        said = ended.stdout + ended.stderr
        typed = " ".join(words)
        self.told.append(
            {"typed": typed, "seconds": round(time.monotonic() - began, 1), "code": ended.returncode}
        )
        if ended.returncode != code or says not in said:
            wanted = f"{ended.returncode}, not {code} with {says!r}"
            raise WrongAnswerError(f"{self.root.name}: {typed}: {wanted}\n{said[-3000:]}")
        return said

    def commit(self, message: str) -> str:
        """Commit everything; the commit's name."""
        subprocess.run(["git", "add", "--all"], cwd=self.root, check=True)
        subprocess.run(["git", *_IDENTITY, "commit", "--quiet", "-m", message], cwd=self.root, check=True)
        shown = subprocess.run(["git", "rev-parse", "HEAD"], cwd=self.root, check=True, capture_output=True)
        return shown.stdout.decode().strip()

    def replace(self, name: str, old: str, new: str) -> int:
        """Replace a text that is there; the line it was in, from 1."""
        path = self.root / name
        text = path.read_text()
        if old not in text:
            raise WrongAnswerError(f"{self.root.name}: {name} does not hold {old!r}")
        path.write_text(text.replace(old, new, 1))
        return text[: text.index(old)].count("\n") + 1


def play(case: Case, folder: Path, *, backend: str) -> list[dict[str, object]]:
    """One program from init to its faults; every command with its seconds.

    Raises:
        WrongAnswerError: One answer is not what it must be.
    """
    root = folder / case.folder
    shutil.copytree(HERE / case.folder, root, ignore=shutil.ignore_patterns("program.yaml", "__pycache__"))
    made = Repository(root=root, told=[])
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    made.commit("a program")
    made.tool("init", "--yes", "--name", "training", "--", *case.command, code=0)
    made.commit("add a recipe")
    made.tool("reproduce", "training", "--backend", backend, code=4, says="NO_GOLDEN")
    made.tool("golden", "promote", "training", "--reason", "first golden", code=0)
    good = made.commit("add a golden")
    made.tool("verify", "--backend", backend, code=0, says="REPRODUCED")
    name, old, new = case.setting
    if old:
        line = made.replace(name, old, new)
        made.commit("another setting")
        (root / "NOTES").write_text("nothing that counts\n")
        made.commit("a later commit")
        made.tool("reproduce", "training", "--backend", backend, code=1, says=f"{name}:{line}")
        made.tool(
            *("bisect", "training", "--good", good, "--bad", "HEAD", "--backend", "local"),
            code=0,
            says="another setting",
        )
        subprocess.run(["git", "checkout", "--quiet", good, "--", "."], cwd=root, check=True)
    made.replace(case.seed[0] or "recipes/training/recipe.yaml", *case.seed[1:])
    made.commit("no seed")
    made.tool("reproduce", "training", "--backend", backend, code=1, says="NONDETERMINISTIC")
    return made.told


def main() -> int:
    """The table of all programs as JSON; 1 where an answer is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--backend", default="local", choices=["local", "docker"])
    options = parser.parse_args()
    rows = json.loads(options.results.read_text()) if options.results.is_file() else []
    wrong = 0
    for case in CASES:
        if options.only and case.folder not in options.only:
            continue
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            try:
                told = play(case, Path(folder), backend=options.backend)
                row = {"program": case.folder, "backend": options.backend, "told": told}
            except WrongAnswerError as error:
                sys.stderr.write(f"{error}\n")
                row, wrong = (
                    {"program": case.folder, "backend": options.backend, "wrong": str(error)[:500]},
                    1,
                )
        rows = [one for one in rows if (one["program"], one["backend"]) != (case.folder, options.backend)]
        options.results.write_text(json.dumps([*rows, row], indent=1) + "\n")
        rows.append(row)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
