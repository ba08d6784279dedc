"""Finished runs of an earlier command, used again while they tell of the program as it is now."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.statistical_project import SETTINGS, StatisticalProject

ROOT = Path(__file__).resolve().parents[2]


def verified(root: Path) -> tuple[int, str]:
    """Exit code and verdict."""
    words = [sys.executable, "-m", "reprokit", "verify", "train", "--statistical", "--json"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False, env=env, timeout=600)
    (report,) = json.loads(done.stdout)["reports"]
    return done.returncode, report["verdict"]


def runs_of_new_seeds(root: Path) -> set[Path]:
    """Those with seeds that the ensemble of twenty does not have."""
    found = (root / "runs" / "train").glob("*/run.json")
    return {one.parent for one in found if json.loads(one.read_text())["seed"] >= 20}


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_new_seeds_are_used_again_until_a_file_outside_the_project_changes(tmp_path: Path) -> None:
    outside = tmp_path / "shift"
    outside.write_text("0.0")
    level = "generator.gauss(100.0, 1.0)"
    settings = SETTINGS.replace(level, f"{level} + float(open({str(outside)!r}).read())")
    here = StatisticalProject(tmp_path / "theirs").begin(settings=settings).sweep()
    here.bless()
    here.write(settings_py=settings.replace("0.1", "0.11"))

    assert verified(here.root) == (0, "EQUIVALENT")
    first = runs_of_new_seeds(here.root)
    assert first
    assert verified(here.root) == (0, "EQUIVALENT"), "the same command, and nothing has changed"
    assert runs_of_new_seeds(here.root) == first, "no new seed was run twice"

    outside.write_text("-20.0")
    assert verified(here.root) == (1, "REGRESSION")
    assert len(runs_of_new_seeds(here.root) - first) >= 3, "as many as the first look has, none used again"
