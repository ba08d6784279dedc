"""Real upgrades of packages that change numbers: does `bisect --packages` name the package and the release?

    python benchmarks/package_upgrades.py FOLDER [CASE…]

Each case is a program with a lock of before and one of after, in which several packages differ. What a right
answer is stands with the case, from what the package's authors say of the release.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).parent / "upgrades"
PAGE = Path(__file__).parents[1] / "docs" / "evidence" / "package-upgrades.md"
PYTHON = "3.11"
TEXT = """\
# Which package moved the numbers

`reprokit bisect train --packages --good before.lock --bad after.lock` on real upgrades. The programs are in
[`benchmarks/upgrades`](../../benchmarks/upgrades); what a right answer is stands in
`benchmarks/package_upgrades.py`. This page is made by `python benchmarks/package_upgrades.py FOLDER`, on a
machine with two shared cores: minutes say little. Environments are those that were judged, both ends among
them, of at most `2·log2(n) + 4` for one cause, with `n` the packages that differ and the releases between.
Releases of one package that are named one after the other are causes of their own.
GiB are what the search added to the cache: 0.0 where an earlier search had left the environments there.
"""
RECIPE = """\
schema: 1
name: train
title: {title}
variant: upgraded
command: [python, train.py, "{{run_dir}}"]
seeds: [0]
platforms: [cpu-x86_64]
numerics: native
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """A program and two sets of packages.

    Attributes:
        program: Its file.
        before: Requirements with the numbers of before.
        after: Requirements with others.
        right: Package, the last release of before and the first of after; of each cause.
        why: What the release changed.
    """

    program: str
    before: Sequence[str]
    after: Sequence[str]
    right: Sequence[tuple[str, str, str]]
    why: str


CASES = {
    "jax": Upgrade(
        program="jax_normal",
        before=("jax==0.4.38", "numpy==1.26.4", "scipy==1.14.1", "ml-dtypes==0.4.1"),
        after=("jax==0.5.3", "numpy==2.2.4", "scipy==1.15.2", "ml-dtypes==0.5.1"),
        right=(("jax", "0.4.38", "0.5.0"), ("jaxlib", "0.5.0", "0.5.1")),
        why="`jax_threefry_partitionable` is on by default: other random numbers from one key; then the "
        "compiler rounds otherwise (the last digit)",
    ),
    "numpy": Upgrade(
        program="numpy_scalar",
        before=("numpy==1.26.4", "pandas==2.2.2", "scipy==1.13.1"),
        after=("numpy==2.2.4", "pandas==2.2.3", "scipy==1.15.2"),
        right=(("numpy", "1.26.4", "2.0.0"),),
        why="NEP 50: a Python float no longer makes a `float32` scalar a `float64`",
    ),
    "scikit-learn": Upgrade(
        program="sklearn_clusters",
        before=(
            "scikit-learn==1.3.2",
            "numpy==1.26.4",
            "scipy==1.11.4",
            "joblib==1.3.2",
            "threadpoolctl==3.2.0",
        ),
        after=(
            "scikit-learn==1.5.2",
            "numpy==1.26.4",
            "scipy==1.13.1",
            "joblib==1.4.2",
            "threadpoolctl==3.5.0",
        ),
        right=(("scikit-learn", "1.3.2", "1.4.0"),),
        why="`KMeans(n_init=…)` is `auto` by default, not 10",
    ),
    "gymnasium": Upgrade(
        program="gymnasium_vector",
        before=("gymnasium==0.29.1", "numpy==1.26.4", "cloudpickle==3.0.0", "typing-extensions==4.11.0"),
        after=("gymnasium==1.1.1", "numpy==2.2.4", "cloudpickle==3.1.1", "typing-extensions==4.13.2"),
        right=(("gymnasium", "0.29.1", "1.0.0"),),
        why="vectorised environments reset in the step after the end of an episode, not in the same one",
    ),
    "imbalanced-learn": Upgrade(
        program="imbalanced_forest",
        before=("imbalanced-learn==0.12.2", "scikit-learn==1.4.1.post1", "numpy==1.26.4", "joblib==1.3.2"),
        after=("imbalanced-learn==0.13.0", "scikit-learn==1.4.2", "numpy==1.26.4", "joblib==1.4.2"),
        right=(("imbalanced-learn", "0.12.4", "0.13.0"),),
        why="`BalancedRandomForestClassifier` samples all classes with replacement, and does not bootstrap",
    ),
    "scipy": Upgrade(
        program="scipy_minimize",
        before=("scipy==1.14.1", "numpy==2.1.3"),
        after=("scipy==1.16.2", "numpy==2.2.4"),
        right=(("scipy", "1.14.1", "1.15.0"), ("scipy", "1.15.3", "1.16.0")),
        why="`L-BFGS-B` is rewritten in C; then `COBYLA` is that of PRIMA",
    ),
}


def main(folder: Path, names: Sequence[str]) -> int:
    """Search each case, and write the page of all that were searched; 1 where an answer is not right."""
    for name in names or CASES:
        answer = searched(name, CASES[name], folder / name)
        (folder / f"{name}.json").write_text(json.dumps(answer), encoding="utf-8")
    files = {name: folder / f"{name}.json" for name in CASES}
    found = {name: json.loads(file.read_text()) for name, file in files.items() if file.is_file()}
    PAGE.write_text(page(found), encoding="utf-8")
    for name, answer in found.items():
        print(row(name, answer))
    return 0 if all(is_right(CASES[name], answer) for name, answer in found.items()) else 1


def searched(name: str, case: Upgrade, root: Path) -> dict[str, Any]:
    """The answer on a case, in a project that is made for it."""
    shutil.rmtree(root, ignore_errors=True)
    (root / "recipes" / "train").mkdir(parents=True)
    (root / "recipes" / "train" / "recipe.yaml").write_text(RECIPE.format(title=name), encoding="utf-8")
    (root / ".gitignore").write_text("runs/\nreports/\n", encoding="utf-8")
    shutil.copyfile(PROGRAMS / f"{case.program}.py", root / "train.py")
    for end in ("before", "after"):
        (root / "requirements.txt").write_text("\n".join(getattr(case, end)) + "\n", encoding="utf-8")
        tool(root, "image", "lock", "upgraded", "--dependencies", "requirements.txt", "--python", PYTHON)
        shutil.copyfile(root / "images" / "upgraded" / "requirements.lock", root / f"{end}.lock")
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    subprocess.run(["git", "add", "--all"], cwd=root, check=True)
    started = time.monotonic()
    ends = ("--good", "before.lock", "--bad", "after.lock")
    answer: dict[str, Any] = json.loads(tool(root, "bisect", "train", "--packages", *ends, "--json"))
    return {**answer, "minutes": (time.monotonic() - started) / 60}


def tool(root: Path, *words: str) -> str:
    """What the tool prints; its messages go to where ours go."""
    command = [sys.executable, "-m", "reprokit", *words]
    ended = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=False)
    if ended.returncode not in {0, 4}:
        raise SystemExit(f"{' '.join(words)}: exit code {ended.returncode}")
    return ended.stdout


def is_right(case: Upgrade, answer: dict[str, Any]) -> bool:
    """Whether exactly the right releases are named, and what must move with them."""
    named = {(one["name"], one["good"], one["bad"]): one["cause"] for one in answer["packages"]}
    causes = [named.get(one) for one in case.right]  # others of one cause must move with it
    return causes == list(range(1, len(case.right) + 1)) and set(named.values()) == set(causes)


def row(name: str, answer: dict[str, Any]) -> str:
    """A row of the table."""
    named = ", ".join(f"{one['name']} {one['good']} → {one['bad']}" for one in answer["packages"]) or "none"
    right = "yes" if is_right(CASES[name], answer) else "**no**"
    size = answer["kept_bytes"] / 2**30
    cells = [name, str(answer["num_packages"]), str(answer["num_releases"]), named, right]
    cells += [f"{answer['environments']} of {answer['most']}", f"{answer['minutes']:.1f}", f"{size:.1f}"]
    return f"| {' | '.join(cells)} | {CASES[name].why} |"


def page(found: dict[str, dict[str, Any]]) -> str:
    """The page of evidence."""
    head = (
        "upgrade",
        "packages that differ",
        "releases between",
        "named",
        "right",
        "environments",
        "minutes",
    )
    cells = (*head, "GiB", "what the release changed")
    lines = [TEXT, f"| {' | '.join(cells)} |", f"|{'---|' * len(cells)}"]
    lines += [row(name, answer) for name, answer in found.items()]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    raise SystemExit(main(Path(sys.argv[1]).resolve(), sys.argv[2:]))
