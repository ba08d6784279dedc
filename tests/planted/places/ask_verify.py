"""Asks `reprokit verify --stop-at every` of every program in this folder, and prints a table of the answers.

    python tests/planted/places/ask_verify.py [--stop-at 5,8] [--only torch_loop]

The programs run in the Python that this file is started with, which has to have what they train with.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: Program → what trains, its packages, the file that is resumed from, and further words.
PROGRAMS = {
    "torch_loop": ("PyTorch's own loop", "torch", "checkpoint_*.pt", ""),
    "torch_loop optimizer": (
        "the same, which forgets its optimizer",
        "torch",
        "checkpoint_*.pt",
        "optimizer",
    ),
    "torch_loop scheduler": (
        "the same, which forgets its scheduler",
        "torch",
        "checkpoint_*.pt",
        "scheduler",
    ),
    "torch_loop generator": (
        "the same, which forgets its generator",
        "torch",
        "checkpoint_*.pt",
        "generator",
    ),
    "torch_loop counter": (
        "the same, which forgets how many updates it made",
        "torch",
        "checkpoint_*.pt",
        "counter",
    ),
    "accelerate_loop": ("accelerate, `save_state`", "accelerate", "state_*", ""),
    "torchrun_ranks": ("torchrun, two ranks, DistributedDataParallel", "torch", "checkpoint_*.pt", ""),
    "keras_fit": ("Keras on JAX, `load_model` and `initial_epoch`", "keras", "model_*.keras", ""),
    "flax_orbax": ("flax and optax, `CheckpointManager` of orbax", "orbax-checkpoint", "saved", ""),
    "lightning_fit": ("Lightning", "lightning", "model_*.ckpt", ""),
    "hf_trainer": ("Hugging Face's Trainer", "transformers", "checkpoint-*", ""),
    "sb3_ppo": ("Stable-Baselines3, PPO", "stable-baselines3", "model_*.zip", ""),
    "lightgbm_rounds": ("LightGBM, `init_model`", "lightgbm", "model_*.txt", ""),
    "xgboost_rounds": ("XGBoost, `xgb_model`", "xgboost-cpu", "model_*.json", ""),
    "sklearn_warm": ("scikit-learn, `warm_start`", "scikit-learn", "model_*.joblib", ""),
    "optuna_trials": ("Optuna, a pickled study", "optuna", "study_*.pkl", ""),
}
STARTED_BY = {
    "torchrun_ranks": [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
}
RECIPE = """\
schema: 1
name: train
title: A program as people write it
variant: none
command: [COMMAND]
resume: {resume_args: [--resume, "{stopped_run_dir}/PATTERN"]}
seeds: [3]
platforms: [cpu-x86_64]
"""
HEAD = "| trained by | version | equal | not equal, with what was lost | not judged |\n|---|---|---|---|---|"


def ask(name: str, folder: Path, *, stop_at: str) -> dict:
    """The row `resume_equal` of one program."""
    program, _, forgotten = name.partition(" ")
    _, _, pattern, _ = PROGRAMS[name]
    root = folder / name.replace(" ", "-")
    (root / "recipes/train").mkdir(parents=True)
    shutil.copyfile(HERE / f"{program}.py", root / "train.py")
    words_of_program = [*STARTED_BY.get(program, [sys.executable]), "train.py", "{run_dir}"]
    words_of_program += ["--forget", forgotten] if forgotten else []
    recipe = RECIPE.replace("COMMAND", ", ".join(map(json.dumps, words_of_program))).replace(
        "PATTERN", pattern
    )
    (root / "recipes/train/recipe.yaml").write_text(recipe)
    (root / ".gitignore").write_text("runs/\nreports/\nhome/\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "a program"]):
        subprocess.run([*git, *words], cwd=root, check=True)
    command = [sys.executable, "-m", "reprokit", "verify", "train", "--stop-at", stop_at, "--json"]
    home = root / "home"  # or what other programs write into a home is taken for what a run has read
    home.mkdir()
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HOME": str(home)}
    (home / "first").mkdir()  # a library fills its caches at its first run
    first = [word.replace("{run_dir}", str(home / "first")) for word in words_of_program]
    subprocess.run(first, cwd=root, env=environment, stdout=subprocess.DEVNULL, check=True)
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    (report,) = json.loads(done.stdout)["reports"]
    if "checks" not in report:
        raise SystemExit(f"{name}: {report}")
    return next(row for row in report["checks"] if row["id"] == "resume_equal")


def line_of(name: str, row: dict) -> str:
    """One line of the table."""
    what, package, _, _ = PROGRAMS[name]
    for place in row["evidence"].get("places", [row]):
        if place["status"] != "PASSED":
            print(place.get("place", "the program"), place["reason"], sep=": ", file=sys.stderr, flush=True)
    found = {status: [] for status in ("PASSED", "FAILED", "ERROR", "SKIPPED")}
    one = {"status": row["status"], "lost": (), "place": row["reason"]}
    for place in row["evidence"].get("places", [one]):
        lost = ", ".join(place["lost"])
        told = place["place"] + (f" ({lost})" if lost else "")
        found[place["status"]].append(told)
    cells = [f"{len(found['PASSED'])}"]
    for status in ("FAILED", "ERROR"):
        cells.append(f"{len(found[status])}: {'; '.join(found[status])}" if found[status] else "0")
    return f"| {what} | {metadata.version(package)} | {' | '.join(cells)} |"


def main() -> None:
    """Ask all or some, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stop-at", default="every")
    parser.add_argument("--only", nargs="*", default=list(PROGRAMS))
    given = parser.parse_args()
    print(HEAD)
    with tempfile.TemporaryDirectory() as folder:
        for name in given.only:
            print(line_of(name, ask(name, Path(folder), stop_at=given.stop_at)), flush=True)


if __name__ == "__main__":
    main()
