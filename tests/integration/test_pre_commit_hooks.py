"""The hooks of ``.pre-commit-hooks.yaml``, run by pre-commit itself on someone's repository."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from support.command_recipe import PROGRAM, RECIPE, Repository

ROOT = Path(__file__).resolve().parents[2]
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    found = Repository(tmp_path / "project")
    found.root.mkdir()
    found.git("init", "--quiet")
    found.write(recipes__train__recipe_yaml=RECIPE, train_py=PROGRAM, settings_py="RATE = 0.5\n")
    return found


@pytest.fixture
def pre_commit(tmp_path: Path):
    """Run pre-commit on every file; its cache is the test's own."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "reprokit").write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m reprokit "$@"\n')
    (tools / "reprokit").chmod(0o755)

    def run(repository: Repository, config: dict) -> subprocess.CompletedProcess[str]:
        (repository.root / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
        repository.commit()
        environment = {
            **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "PRE_COMMIT_HOME": str(tmp_path / "pre-commit"),
        }
        return subprocess.run(
            [sys.executable, "-m", "pre_commit", "run", "--all-files", "--verbose"],
            cwd=repository.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    return run


def with_this_tool() -> dict:
    """The hooks as they are, with this tool in the place of an installed one."""
    return {"repos": [{"repo": "local", "hooks": [hook | {"language": "system"} for hook in HOOKS]}]}


def test_a_good_recipe_passes_and_a_mistake_is_named_with_its_line(repository, pre_commit):
    good = pre_commit(repository, with_this_tool())
    assert good.returncode == 0, good.stdout
    assert "reprokit recipe check" in good.stdout
    assert "Passed" in good.stdout

    repository.write(recipes__train__recipe_yaml=RECIPE + "sedes: [1]\n")
    bad = pre_commit(repository, with_this_tool())
    assert bad.returncode != 0
    assert "recipes/train/recipe.yaml:8" in bad.stdout
    assert "sedes" in bad.stdout


def test_a_golden_that_is_not_whole_is_refused(repository, pre_commit):
    folder = repository.root / "golden" / "train" / "cpu-x86_64" / "seed-3"
    folder.mkdir(parents=True)
    (folder / "provenance.json").write_text("{}")
    done = pre_commit(repository, with_this_tool())
    assert done.returncode != 0
    assert "reprokit-golden-lint" in done.stdout


@pytest.mark.slow
def test_pre_commit_installs_the_hooks_from_this_repository_and_runs_them(repository, pre_commit, tmp_path):
    """As a user's first commit does: clone, environment, packages from the index."""
    clone = tmp_path / "tool"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=clone, capture_output=True, text=True, check=True
    ).stdout.strip()
    hooks = [{"id": hook["id"]} for hook in HOOKS]
    config = {"repos": [{"repo": str(clone), "rev": commit, "hooks": hooks}]}
    good = pre_commit(repository, config)
    assert good.returncode == 0, good.stdout
    assert "reprokit recipe check" in good.stdout
    repository.write(recipes__train__recipe_yaml=RECIPE + "sedes: [1]\n")
    assert pre_commit(repository, config).returncode != 0
