"""What the tool itself imports: never a file of the tree that it judges, whatever is on PYTHONPATH."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PLANTED = "raise SystemExit(0)\n"  # what a gate that passes wrongly would look like
TOOL = Path(sys.executable).parent / "reprokit"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository that brings packages called like some of the tool's."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for folder in (tmp_path, tmp_path / "src"):
        folder.mkdir(exist_ok=True)
        for name in ("click", "numpy", "deepdiff", "pydantic"):
            (folder / f"{name}.py").write_text(PLANTED)
    return tmp_path


MODULE = [sys.executable, "-m", "reprokit"]


@pytest.mark.parametrize(
    ("words", "path", "below"),
    [
        ([str(TOOL)], ".", ""),
        ([str(TOOL)], "src", ""),
        ([str(TOOL)], "..", "src"),
        (MODULE, None, ""),
        (MODULE, None, "src"),
        (MODULE, "", ""),
    ],
)
def test_a_package_of_the_judged_tree_never_takes_the_place_of_one_of_the_tool(
    tree: Path, words: list[str], path: str | None, below: str
) -> None:
    environment = dict(os.environ) if path is None else {**os.environ, "PYTHONPATH": path}
    answer = subprocess.run(
        [*words, "verify"], cwd=tree / below, env=environment, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 2, answer.stdout + answer.stderr
    assert "there is no folder of recipes" in answer.stderr


def test_a_limit_on_memory_does_not_let_them_in_either(tree: Path) -> None:
    line = f"ulimit -v 16000000; {TOOL} verify"
    answer = subprocess.run(["sh", "-c", line], cwd=tree, capture_output=True, text=True, check=False)
    assert answer.returncode == 2, answer.stdout + answer.stderr


def test_a_program_has_the_pythonpath_that_it_was_given(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "click.py").write_text("LOSS = 0.25\n")
    (tmp_path / "train.py").write_text(
        'import click, json, sys; print(json.dumps({"step": 0, "loss": click.LOSS}), '
        'file=open(sys.argv[1] + "/metrics.jsonl", "w"))\n'
    )
    words = [str(TOOL), "run", "--", sys.executable, "train.py", "{run_dir}"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}
    subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, check=True)
    (log,) = tmp_path.glob("runs/*/*/metrics.jsonl")
    assert '"loss":0.25' in log.read_text().replace(" ", "")
