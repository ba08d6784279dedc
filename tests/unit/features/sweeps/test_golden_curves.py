"""Which golden is drawn next to the curves of several seeds."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from reprokit.features.sweeps.golden_curves import golden_curves
from reprokit.features.sweeps.runs_over_seeds import SeedGroup, SeedRun

SHIPPED = Path(__file__).resolve().parents[4] / "golden"
RECIPE, PLATFORM = "cartpole_multiseed", "cpu-x86_64"


@pytest.fixture
def group(tmp_path):
    """Runs of two seeds on the platform of the shipped goldens, with the inputs of one of them."""
    provenance = json.loads((SHIPPED / RECIPE / PLATFORM / "seed-123" / "provenance.json").read_text())
    members = []
    for seed in (7, 123):
        folder = tmp_path / "runs" / RECIPE / str(seed)
        folder.mkdir(parents=True)
        (folder / "run.json").write_text(json.dumps({"recipe": RECIPE, "seed": seed}))
        (folder / "environment.json").write_text(json.dumps(provenance["environment"]))
        members.append(SeedRun(seed=seed, folder=folder))
    return SeedGroup(
        name=RECIPE, members=tuple(members), again=(), left_out=(), digests=provenance["digests"]
    )


def test_the_golden_of_the_first_seed_that_has_one_is_drawn(group):
    found = golden_curves(group, golden_dir=SHIPPED)
    assert (found.label, found.problem) == ("golden, seed 123", "")
    steps, values = found.series["final/return_mean"]
    assert (steps.tolist(), values.tolist()) == ([102400.0], [497.52])


def test_a_golden_of_other_inputs_is_not_drawn_and_that_is_said(group):
    other = replace(group, digests={**group.digests, "trainer": "sha256:1"})
    found = golden_curves(other, golden_dir=SHIPPED)
    assert (found.series, found.problem) == (
        {},
        "the golden of seed 123 was made from different inputs, so it is not drawn",
    )


def test_no_golden_is_none(group, tmp_path):
    assert golden_curves(group, golden_dir=tmp_path) is None


def test_a_golden_that_was_changed_is_not_drawn(group, tmp_path):
    place = tmp_path / "golden" / RECIPE / PLATFORM / "seed-123"
    shutil.copytree(SHIPPED / RECIPE / PLATFORM / "seed-123", place)
    (place / "metrics.jsonl").write_text('{"step": 1, "final/return_mean": 500.0}\n')
    found = golden_curves(group, golden_dir=tmp_path / "golden")
    assert found.series == {}
    assert "the file differs from the one that was promoted" in found.problem
