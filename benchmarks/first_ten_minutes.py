"""The first ten minutes with a well-known training repository: what is typed, how long, which verdict.

    python benchmarks/first_ten_minutes.py --clones /path/to/clones --python /path/to/bin/python [--only NAME]

Each is cloned and checked out at its commit, and gets a recipe by `init` and two runs by `reproduce`. Where
nothing of the project is locked, its program runs in the Python that is given, which has the packages of
tests/real/requirements.txt. The table goes into docs/evidence/first-ten-minutes.md; a row stays until it is
measured again.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs" / "evidence" / "first-ten-minutes.md"
LIMIT_S = 1800
_TRAIN_NANOGPT = (
    "python train.py config/train_shakespeare_char.py --device=cpu --compile=False --eval_iters=2"
    " --log_interval=1 --block_size=32 --batch_size=4 --n_layer=2 --n_head=2 --n_embd=32"
    " --max_iters=10 --eval_interval=5"
)
_TRAIN_ZOO = "python -m rl_zoo3.train --algo a2c --env CartPole-v1 -n 400 --eval-freq -1 -f {run_dir}/zoo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """One repository.

    Attributes:
        source: ``owner/name`` on GitHub, or ``name==version`` of a source archive on the package index.
        commit: The commit that is checked out; "" for an archive.
        folder: Where the person stands when they type, below its top.
        before: What is typed before `init`, in that folder.
        init: What follows `reprokit init --yes`.
        recipe: The name that the recipe gets.
    """

    source: str
    init: str
    recipe: str
    commit: str = ""
    folder: str = "."
    before: tuple[str, ...] = ()


REPOSITORIES = (
    Repository(
        source="vwxyzjn/cleanrl",
        commit="fe8d8a03c41a7ef5b523e2e354bd01c363e786bb",
        init="-- python cleanrl/ppo.py --total-timesteps 1024 --no-cuda",
        recipe="ppo",
    ),
    Repository(
        source="karpathy/minGPT",
        commit="37baab71b9abea1b76ab957409a1cc2fbfba8a26",
        init="-- env PYTHONPATH=. python projects/adder/adder.py --trainer.max_iters=30",
        recipe="adder",
    ),
    Repository(
        source="karpathy/makemore",
        commit="988aa59e4d8fefa526d06f3b453ad116258398d4",
        init="-- python makemore.py --type mlp --max-steps 60 --num-workers 0",
        recipe="makemore",
    ),
    Repository(
        source="karpathy/nanoGPT",
        commit="3adf61e154c3fe3fca428ad6bc3818b27a3b8291",
        before=(
            "cat README.md README.md > data/shakespeare_char/input.txt",
            "python data/shakespeare_char/prepare.py",
            "git add --force data/shakespeare_char",
        ),
        init=f"-- {_TRAIN_NANOGPT}",
        recipe="train",
    ),
    Repository(
        source="pytorch/examples",
        commit="77f55b912142e11fcfdf5b530231fb9c52f181e8",
        folder="regression",
        init="-- python main.py",
        recipe="main",
    ),
    Repository(
        source="google/flax",
        commit="18f8f311c275d57f46d95e41b15aa97b454754c0",
        folder="examples/nnx_toy_examples",
        before=("printf '\\njax\\nflax\\noptax\\n' >> requirements.txt",),
        init="-- python 03_train_state.py",
        recipe="03_train_state",
    ),
    Repository(
        source="keras-team/keras",
        commit="3422977a5e38fb2f7709aaa9a08e47f0c43d0f60",
        init="--variant none -- env KERAS_BACKEND=jax python examples/demo_functional.py",
        recipe="demo_functional",
    ),
    Repository(
        source="DLR-RM/rl-baselines3-zoo",
        commit="22e3ff2450fd92033f7f032915e1f64894a09584",
        init=f"--variant none -- {_TRAIN_ZOO}",
        recipe="train",
    ),
    Repository(
        source="Lightning-AI/pytorch-lightning",
        commit="7f0c3436cd3f6ad3753125672024fc415cbcb414",
        folder="examples/pytorch/bug_report",
        init="-- python bug_report_model.py",
        recipe="bug_report_model",
    ),
    Repository(
        source="microsoft/LightGBM",
        commit="bae0b7ba953341a32b2a9c5c5c437a1b976f576f",
        init="-- python examples/python-guide/simple_example.py",
        recipe="simple_example",
    ),
    Repository(
        source="dmlc/xgboost",
        commit="379b29f0836b9dbc313b993d8e5743bd452d4117",
        init="-- python demo/guide-python/boost_from_prediction.py",
        recipe="boost_from_prediction",
    ),
    Repository(
        source="scikit-learn==1.9.1",
        folder="examples/neural_networks",
        init="-- env MPLBACKEND=Agg python plot_mlp_training_curves.py",
        recipe="plot_mlp_training_curves",
    ),
)


def main() -> int:
    """Measure what is asked for, and write the rows."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--clones", type=Path, help="a folder with OWNER+NAME/repo, and source archives")
    options.add_argument("--python", type=Path, required=True, help="of programs of which nothing is locked")
    options.add_argument("--only", help="one of them, by a part of its source")
    asked = options.parse_args()
    for one in REPOSITORIES:
        if asked.only and asked.only not in one.source:
            continue
        with tempfile.TemporaryDirectory(prefix="first-ten-") as name:
            top = fetched(one, Path(name), clones=asked.clones)
            write_row(one.source, row_of(one, top / one.folder, python=asked.python))
    return 0


def fetched(one: Repository, place: Path, *, clones: Path | None) -> Path:
    """The repository at its commit; an archive becomes a repository of one commit."""
    name, _, version = one.source.partition("==")
    top = place / name.rpartition("/")[2]
    if version:
        archive = (clones or Path()) / f"{name.replace('-', '_')}-{version}.tar.gz"
        with tarfile.open(archive) as opened:
            opened.extractall(place, filter="data")
        (place / f"{name.replace('-', '_')}-{version}").rename(top)
        git(top, "init", "--quiet")
        git(top, "add", "--all", "--force")
        return top
    mirror = clones / name.replace("/", "+") / "repo" if clones else None
    source = str(mirror) if mirror and mirror.is_dir() else f"https://github.com/{name}"
    git(place, "clone", "--quiet", "--no-checkout", source, str(top))
    git(top, "reset", "--quiet", one.commit)
    git(top, "checkout", "--", ".", check=False)  # a snapshot may lack its largest files
    return top


def git(folder: Path, *words: str, check: bool = True) -> None:
    """Run git in a folder."""
    who = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
    subprocess.run(["git", *who, *words], cwd=folder, check=check, capture_output=True)


def row_of(one: Repository, folder: Path, *, python: Path) -> list[str]:
    """What was typed, the minutes until the verdict, the environment and the verdict."""
    tool = shlex.quote(str(Path(sys.executable).parent / "reprokit"))
    typed = [*one.before, f"reprokit init --yes {one.init}", f"reprokit reproduce {one.recipe}"]
    began, said, taken = time.monotonic(), "", []
    for line in typed:
        done = typed_in(line.replace("reprokit ", f"{tool} ", 1), folder, python=python)
        said = (done.stdout + done.stderr).replace(tool, "reprokit")
        taken.append(time.monotonic() - began)
        sys.stderr.write(f"{one.source}: {taken[-1]:.0f} s: {line[:70]}: {done.returncode}\n{said[-1500:]}\n")
        if done.returncode and not line.startswith("reprokit reproduce"):
            break
        if line.startswith("reprokit init"):
            git(folder, "add", "--all")
            git(folder, "commit", "--quiet", "-m", "Add a recipe")
    minutes = f"{taken[-1] / 60:.1f}"
    environment = "locked" if (folder / "images" / one.recipe).is_dir() else "the one that is active"
    if not (folder / "recipes" / one.recipe).is_dir():
        environment = "none"
    shown = "<br>".join(f"`{line}`" for line in typed[: len(taken)])
    return [shown, minutes, environment, verdict_of(said)]


def typed_in(line: str, folder: Path, *, python: Path) -> subprocess.CompletedProcess[str]:
    """A line as a shell runs it, with a person's Python in front and no engine of containers."""
    variables = {
        **os.environ,
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        "OMP_NUM_THREADS": "1",
        "NO_COLOR": "1",
        "DOCKER_HOST": "unix:///nonexistent/engine.sock",
    }
    command = ["timeout", str(LIMIT_S), "bash", "-c", line]
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)


def verdict_of(said: str) -> str:
    """The verdict of `reproduce`; else what `init` ended with."""
    if found := re.search(r"^verdict: (\w+)", said, re.MULTILINE):
        return found[1]
    ended = "; ".join(re.findall(r"^(?:Error|Hint): (.{,160})", said, re.MULTILINE)).replace("|", "/")
    return f"NONDETERMINISTIC: {ended}" if ended.startswith("two runs with one seed differ") else ended


def write_row(source: str, cells: list[str]) -> None:
    """Replace the row of a repository in the document, or add it."""
    today = dt.datetime.now(tz=dt.UTC).date().isoformat()
    row = f"| {source} | {' | '.join(cells)} | {today} |"
    lines = DOCUMENT.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not line.startswith(f"| {source} |")]
    first = next(number for number, line in enumerate(kept) if line.startswith("|"))
    at = next(number for number in range(first, len(kept)) if not kept[number].startswith("|"))
    DOCUMENT.write_text("\n".join([*kept[:at], row, *kept[at:]]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
