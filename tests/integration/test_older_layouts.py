"""A commit from before files were moved still runs under today's tool: `bisect` and `--attribute`.

Three things may lie elsewhere in an older commit: the program and its recipe; the tool, where the tree brings
a ``reprokit`` of its own, of which today's knows only how it is called and what it leaves; and this one.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from reprokit.features.bisect.bisect import Bisection, bisect
from reprokit.harness import Project, Request
from reprokit.session import Session
from support.command_recipe import PROGRAM, RECIPE, Repository
from support.recorded_progress import RecordedProgress
from support.tuned_program import bare_python

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """Someone's repository, empty; `python` has no packages."""
    monkeypatch.setenv("PATH", bare_python(tmp_path / "bin"))
    made = Repository(tmp_path / "theirs")
    made.root.mkdir()
    made.git("init", "--quiet")
    (made.root / ".gitignore").write_text("runs/\nreports/\n__pycache__/\n")
    return made


def commit_of(made: Repository, name: str = "HEAD") -> str:
    done = subprocess.run(
        ["git", "rev-parse", name], cwd=made.root, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def bisected(made: Repository, recipe: str, *, good: str, **asked) -> Bisection:
    session = Session(project=Project.around(made.root), progress=RecordedProgress())
    return bisect(recipe, good=good, bad="HEAD", request=Request(backend="local", **asked), session=session)


# A program and its recipe


def laid_out_as_before(made: Repository) -> None:
    made.write(train_py=PROGRAM, settings_py="RATE = 0.1\n", recipes__train__recipe_yaml=RECIPE)


def move_into_a_package(made: Repository) -> None:
    """The program becomes `src/training/main.py`, its settings next to it, the recipe elsewhere."""
    (made.root / "src" / "training").mkdir(parents=True)
    for old, new in (("train.py", "main.py"), ("settings.py", "settings.py")):
        made.git("mv", old, f"src/training/{new}")
    (made.root / "pyproject.toml").write_text('[tool.reprokit]\nrecipes = "experiments"\n')
    made.git("mv", "recipes", "experiments")
    recipe = made.root / "experiments" / "train" / "recipe.yaml"
    recipe.write_text(RECIPE.replace("train.py", "src/training/main.py"))
    made.commit()


def faster(made: Repository, settings: str) -> str:
    (made.root / settings).write_text("RATE = 0.2\n")
    made.commit()
    return commit_of(made)


@pytest.mark.slow
def test_bisect_goes_back_beyond_the_commit_that_moved_the_program_and_does_not_blame_it(repository):
    laid_out_as_before(repository)
    good = commit_of(repository)
    move_into_a_package(repository)
    moved = commit_of(repository)
    changed = faster(repository, "src/training/settings.py")
    found = bisected(repository, "train", good=good)
    assert [one.commit for one in found.guilty] == [changed]
    assert {one.commit: one.result for one in found.tested} == {good: "good", moved: "good", changed: "bad"}


@pytest.mark.slow
def test_bisect_names_a_commit_from_before_the_move(repository):
    laid_out_as_before(repository)
    good = commit_of(repository)
    changed = faster(repository, "settings.py")
    move_into_a_package(repository)
    assert [one.commit for one in bisected(repository, "train", good=good).guilty] == [changed]


def test_a_golden_from_before_the_move_still_judges_and_the_code_is_blamed_for_what_came_after(repository):
    laid_out_as_before(repository)
    repository.promote(repository.reproduce())
    move_into_a_package(repository)
    assert repository.reproduce(attribute=True).verdict == "REPRODUCED"
    faster(repository, "src/training/settings.py")
    report = repository.reproduce(attribute=True)
    assert (report.verdict, report.attribution.answer) == ("REGRESSION", "code")
    results = [cell.result for cell in report.attribution.cells]
    assert results == ["equal", "equal", "differs", "differs"]


# A tree that brings its own tool, of which only the command line and the files of a run are relied on

OWN_TOOL = '''\
"""Trains once as earlier versions did: `run RECIPE --runs-dir DIR …` prints the folder that it left."""
import hashlib, json, re, shutil, sys
from pathlib import Path

PAST = Path({past!r})


def main():
    assert sys.argv[1] == "run", sys.argv
    name, runs_dir = sys.argv[2], Path(sys.argv[sys.argv.index("--runs-dir") + 1])
    folder = runs_dir / name / f"run-{{len(list(runs_dir.glob('*/*')))}}"
    shutil.copytree(PAST, folder)
    gamma = re.search(r"gamma: ([\\d.]+)", Path(f"recipes/{{name}}/recipe.yaml").read_text())[1]
    (folder / "metrics.jsonl").write_text(json.dumps({{"step": 512, "loss": float(gamma)}}) + "\\n")
    marker = json.loads((folder / "COMPLETE").read_text())
    for file, facts in marker["files"].items():
        data = (folder / file).read_bytes()
        facts.update(sha256=f"sha256:{{hashlib.sha256(data).hexdigest()}}", bytes=len(data))
    (folder / "COMPLETE").write_text(json.dumps(marker))
    print(folder)
'''
PAST = ROOT / "tests" / "data" / "schema-1" / "runs" / "cartpole_baseline" / "20261120T101501Z-aaaa-seed42-1"


def write_tool(made: Repository, module: str) -> None:
    """The tool with what it does in one module or another; nothing of an earlier layout stays."""
    package = made.root / "reprokit"
    shutil.rmtree(package, ignore_errors=True)
    place = package / f"{module.replace('.', '/')}.py"
    place.parent.mkdir(parents=True)
    for folder in (place.parent, *place.parent.parents):
        if folder.is_relative_to(package):
            (folder / "__init__.py").touch()
    place.write_text(OWN_TOOL.format(past=str(PAST)))
    (package / "__main__.py").write_text(f"from reprokit.{module} import main\n\nmain()\n")
    made.commit()


def test_a_tree_that_brings_its_own_tool_is_run_by_that_one_however_it_is_laid_out(repository):
    for name in ("recipes", "images"):
        shutil.copytree(ROOT / name, repository.root / name, ignore=shutil.ignore_patterns("__pycache__"))
    write_tool(repository, "harness.running.execute")
    good = commit_of(repository)
    write_tool(repository, "engine.make")
    moved = commit_of(repository)
    recipe = repository.root / "recipes" / "cartpole_baseline" / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("gamma: 0.99", "gamma: 0.98"))
    repository.commit()
    found = bisected(repository, "cartpole_baseline", good=good)
    assert [one.commit for one in found.guilty] == [commit_of(repository)]
    assert "training.gamma 0.99 → 0.98" in found.guilty[0].settings[0]
    trained = {one.commit: one.result for one in found.tested if one.trained}
    assert trained == {good: "good", moved: "good", commit_of(repository): "bad"}


# This repository

#: The last commit before the new layout of `reprokit/`; its recipes and locks are those of today or older.
BEFORE = "dfa345e1befa"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_this_repository_is_searched_across_its_own_change_of_layout(cpu_venv, repository):
    """Three commits: the tree of `BEFORE` with its tool, today's with its own, and a changed discount."""
    words = ["git", "cat-file", "-e", f"{BEFORE}^{{tree}}"]
    has_it = subprocess.run(words, cwd=ROOT, capture_output=True, check=False)
    if has_it.returncode:
        pytest.skip("the clone is shallow: the commit is not there")
    then = repository.root
    unpacked = subprocess.run(["git", "archive", BEFORE], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x"], cwd=then, input=unpacked, check=True)
    repository.commit()
    good = commit_of(repository)
    for name in ("reprokit", "recipes", "images"):
        shutil.rmtree(then / name)
        shutil.copytree(ROOT / name, then / name, ignore=shutil.ignore_patterns("__pycache__"))
    repository.commit()
    recipe = then / "recipes" / "cartpole_baseline" / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("gamma: 0.99", "gamma: 0.98"))
    repository.commit()
    found = bisected(repository, "cartpole_baseline", good=good, overrides=("training.total_timesteps=4096",))
    assert [one.commit for one in found.guilty] == [commit_of(repository)]
    assert [one.result for one in found.tested if one.commit == good] == ["good"]
