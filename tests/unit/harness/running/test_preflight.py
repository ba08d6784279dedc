"""What is refused or told before anything is trained."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from reprokit import recipes
from reprokit.errors import GoldenError, RecipeError
from reprokit.harness import Project, Request
from reprokit.harness.running.clock import Phases
from reprokit.harness.running.preflight import foresee, platforms_here
from reprokit.harness.running.run_kinds import WholeRun
from reprokit.harness.running.start_runs import run_recipe
from reprokit.probes import known_claims
from support.recorded_progress import RecordedProgress

ROOT = Path(__file__).resolve().parents[4]
HOST = {"cpu": {"architecture": "x86_64", "features": ["avx2"]}, "os": {"system": "Linux"}, "gpus": []}


@pytest.fixture
def study(tmp_path, monkeypatch):
    for name in ("recipes", "golden", "images"):
        shutil.copytree(ROOT / name, tmp_path / name)
    monkeypatch.setattr("reprokit.capture.capture_host", lambda _root: HOST)
    return Project.around(tmp_path)


def changed(study, old="", new=""):
    file = study.recipes_dir / "cartpole_baseline" / "recipe.yaml"
    file.write_text(file.read_text().replace(old, new))
    return recipes.load("cartpole_baseline", recipes_dir=study.recipes_dir)


def test_a_recipe_with_a_whole_golden_is_run_without_a_word(study):
    told = RecordedProgress()
    foresee(changed(study), seed=42, project=study, progress=told)
    assert told.notes == []


def test_a_damaged_golden_is_refused_before_the_training(study):
    (metrics,) = study.golden_dir.glob("cartpole_baseline/cpu-x86_64/seed-42/metrics.jsonl")
    metrics.write_bytes(metrics.read_bytes()[:-2])
    with pytest.raises(GoldenError, match=r"metrics\.jsonl"):
        foresee(changed(study), seed=42, project=study, progress=RecordedProgress())


def test_a_platform_that_the_recipe_does_not_declare_is_told_before_the_training(study):
    told = RecordedProgress()
    recipe = changed(study, "platforms: [cpu-x86_64,", "platforms: [cpu-aarch64,")
    foresee(recipe, seed=42, project=study, progress=told)
    (note,) = told.notes
    assert f"recipe.yaml:{recipe.lines['platforms']}: the recipe does not declare cpu-x86_64, only " in note


def measured(operation, *, platform="cpu-x86_64", outcome="differs"):
    """Findings of one operation, gradients taken, with deterministic algorithms on."""
    row = {"operation": operation, "dtype": "float32", "compiled": False, "phase": "backward"}
    found = {"default": {"outcome": "differs"}, "deterministic": {"outcome": outcome}}
    about = {"schema": 1, "platform": platform, "device": "a GPU", "torch": "2.13.0", "repeats": 30}
    return {**about, "rows": [{**row, "claim": "unlisted", **found}], "batches": {}}


def test_lines_that_call_what_was_found_not_to_repeat_here_are_told(study, monkeypatch, tmp_path):
    monkeypatch.setenv("REPROKIT_CACHE", str(tmp_path / "cache"))
    recipe, told = changed(study), RecordedProgress()
    (line,) = [n for n, text in enumerate(recipe.trainer.read_text().split("\n"), 1) if ".backward(" in text]
    known_claims.keep(measured("backward of something"))
    foresee(recipe, seed=42, project=study, progress=told)
    assert any(
        f"ppo.py:{line} calls backward" in note and "is false on a GPU with torch 2.13.0" in note
        for note in told.notes
    )


@pytest.mark.parametrize("other", [{"platform": "cuda-h200"}, {"outcome": "same"}])
def test_what_was_found_elsewhere_or_repeats_is_not_told(study, monkeypatch, tmp_path, other):
    monkeypatch.setenv("REPROKIT_CACHE", str(tmp_path / "cache"))
    told = RecordedProgress()
    known_claims.keep(measured("backward of something", **other))
    foresee(changed(study), seed=42, project=study, progress=told)
    assert told.notes == []


def test_findings_that_cannot_be_read_are_as_none(study, monkeypatch, tmp_path):
    monkeypatch.setenv("REPROKIT_CACHE", str(tmp_path / "cache"))
    known_claims.keep(measured("backward"))
    (kept,) = (tmp_path / "cache" / "numerics-claims").iterdir()
    kept.write_text("{")
    told = RecordedProgress()
    foresee(changed(study), seed=42, project=study, progress=told)
    assert told.notes == []
    known_claims.keep(measured("backward"))
    assert json.loads(kept.read_text())["rows"]


def test_a_variant_that_does_not_exist_is_refused_with_its_line(study):
    recipe = changed(study, "variant: cpu\ndevice: cpu", "variant: tpu\ndevice: cpu")
    lock = study.root / "images" / "lock.toml"
    text = lock.read_text(encoding="utf-8").replace("[variants.tpu", "[variants.other")
    lock.write_text(text, encoding="utf-8")
    with pytest.raises(RecipeError, match=f"recipe.yaml:{recipe.lines['variant']}: there is no environment"):
        run_recipe(recipe, Request(), WholeRun(), project=study, phases=Phases(RecordedProgress()))
    assert not study.runs_dir.exists()


def test_what_a_gpu_is_called_shows_only_where_there_is_one(study):
    recipe = changed(study, "variant: cpu\ndevice: cpu", "variant: cuda\ndevice: cuda")
    assert platforms_here(recipe, HOST) == []
    assert platforms_here(recipe, {**HOST, "gpus": [{"name": "NVIDIA H200"}]})[0].startswith("cuda-")


def test_without_a_cache_nothing_is_told(study, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("REPROKIT_CACHE", str(tmp_path / "file" / "cache"))
    told = RecordedProgress()
    foresee(changed(study), seed=42, project=study, progress=told)
    assert told.notes == []
