"""A project whose folders have other names: found, left out of the program, and reproduced from there."""

from __future__ import annotations

import json
from pathlib import Path

from support.command_recipe import RECIPE

PLACES = """\
[tool.reprokit]
recipes = "ml/recipes"
golden = "ml/baselines"
runs = "out/runs"
reports = "out/reports"
"""


def test_goldens_at_another_place_are_no_part_of_the_program(repository):
    (repository.root / "recipes" / "train" / "recipe.yaml").unlink()
    repository.write(ml__recipes__train__recipe_yaml=RECIPE)
    (repository.root / "pyproject.toml").write_text(PLACES)
    (repository.root / ".gitignore").write_text("__pycache__/\n")
    repository.commit()
    first = repository.reproduce()
    assert first.verdict == "NO_GOLDEN"
    assert Path(first.runs[0]).is_relative_to(repository.root / "out" / "runs")
    repository.promote(first)
    assert (repository.root / "ml" / "baselines" / "train" / "cpu-x86_64" / "seed-3").is_dir()
    report = repository.reproduce()
    assert report.verdict == "REPRODUCED"
    record = json.loads((Path(report.runs[0]) / "run.json").read_text())
    assert set(record["program"]["files"]) == {".gitignore", "pyproject.toml", "settings.py", "train.py"}
    row = next(row for row in report.checks if row.id == "source_clean")
    assert str(row.status) == "PASSED", row.reason
