"""What is refused or told before anything is trained."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from reprokit import recipes
from reprokit.errors import CannotRunError, GoldenError, RecipeError
from reprokit.harness import Project, Request, SweepAsked, SweepSession, run_once
from reprokit.harness.running import start_runs
from reprokit.harness.running.environments.preflight import (
    check_before_running,
    platforms_here,
    tell_false_claims,
)
from reprokit.harness.running.run_kinds import WholeRun
from reprokit.harness.running.start_runs import run_recipe
from reprokit.harness.sweep import sweep
from reprokit.probes import known_claims
from reprokit.session import Session
from support.claim_findings import DIFFERS, SAME, findings, row
from support.command_recipe import PROGRAM, RECIPE, Repository
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
    check_before_running(changed(study), seed=42, session=Session(project=study, progress=told))
    assert told.notes == []


def test_a_damaged_golden_is_refused_before_the_training(study):
    (metrics,) = study.golden_dir.glob("cartpole_baseline/cpu-x86_64/seed-42/metrics.jsonl")
    metrics.write_bytes(metrics.read_bytes()[:-2])
    with pytest.raises(GoldenError, match=r"metrics\.jsonl"):
        check_before_running(
            changed(study), seed=42, session=Session(project=study, progress=RecordedProgress())
        )


def test_a_platform_that_the_recipe_does_not_declare_is_told_before_the_training(study):
    told = RecordedProgress()
    recipe = changed(study, "platforms: [cpu-x86_64,", "platforms: [cpu-aarch64,")
    check_before_running(recipe, seed=42, session=Session(project=study, progress=told))
    (note,) = told.notes
    assert f"recipe.yaml:{recipe.lines['platforms']}: the recipe does not declare cpu-x86_64, only " in note


def measured(operation, *, platform="cpu-x86_64", outcome="differs"):
    """Findings of one operation, gradients taken, with deterministic algorithms on."""
    found = DIFFERS if outcome == "differs" else SAME
    about = row(operation, phase="backward", default=DIFFERS, deterministic=found)
    return findings(about, platform=platform, device="a GPU")


def test_lines_that_call_what_was_found_not_to_repeat_here_are_told(study, monkeypatch, tmp_path):
    monkeypatch.setenv("REPROKIT_CACHE", str(tmp_path / "cache"))
    recipe, told = changed(study), RecordedProgress()
    (line,) = [n for n, text in enumerate(recipe.trainer.read_text().split("\n"), 1) if ".backward(" in text]
    known_claims.keep(measured("backward of something"))
    check_before_running(recipe, seed=42, session=Session(project=study, progress=told))
    assert any(
        f"ppo.py:{line} calls backward" in note and "is false on a GPU with torch 2.13.0" in note
        for note in told.notes
    )


@pytest.mark.parametrize("other", [{"platform": "cuda-h200"}, {"outcome": "same"}])
def test_what_was_found_elsewhere_or_repeats_is_not_told(study, monkeypatch, tmp_path, other):
    monkeypatch.setenv("REPROKIT_CACHE", str(tmp_path / "cache"))
    told = RecordedProgress()
    known_claims.keep(measured("backward of something", **other))
    check_before_running(changed(study), seed=42, session=Session(project=study, progress=told))
    assert told.notes == []


def test_what_was_found_with_other_threads_is_told_after_these_were_found_to_repeat(
    study, monkeypatch, tmp_path
):
    monkeypatch.setenv("REPROKIT_CACHE", str(tmp_path / "cache"))
    told = RecordedProgress()
    known_claims.keep(measured("backward of something") | {"threads": 8})
    known_claims.keep(measured("backward of something", outcome="same"))
    check_before_running(changed(study), seed=42, session=Session(project=study, progress=told))
    assert len([note for note in told.notes if "calls backward" in note]) == 1


def test_findings_that_cannot_be_read_are_as_none(study, monkeypatch, tmp_path):
    monkeypatch.setenv("REPROKIT_CACHE", str(tmp_path / "cache"))
    known_claims.keep(measured("backward"))
    (kept,) = (tmp_path / "cache" / "numerics-claims").iterdir()
    absent = {"outcome": "unavailable"}
    null = findings(row("backward", default=absent, deterministic=None, warn_only=None))
    for damaged in ("{", '{"schema": 1, "rows": [{"operation": "backward"}]}', json.dumps(null)):
        kept.write_text(damaged)
        told = RecordedProgress()
        check_before_running(changed(study), seed=42, session=Session(project=study, progress=told))
        assert told.notes == []
    known_claims.keep(measured("backward"))
    assert json.loads(kept.read_text())["rows"]


def in_session(project, progress):
    return {"session": Session(project=project, progress=progress)}


def side_by_side(project, progress):
    return {"session": SweepSession(project=project, progress=progress)}


@pytest.mark.parametrize(
    ("names", "next_step", "call", "where"),
    [
        (
            vars(start_runs),
            "run_recipe",
            lambda **where: run_once("cartpole_baseline", Request(), **where),
            in_session,
        ),
        (
            sweep.__globals__,
            "make_ready",
            lambda **where: sweep(SweepAsked(names=["cartpole_baseline"], seeds="1..2"), Request(), **where),
            side_by_side,
        ),
    ],
    ids=["run", "sweep"],
)
def test_other_verbs_that_train_tell_of_such_a_line_too(
    study, monkeypatch, tmp_path, names, next_step, call, where
):
    monkeypatch.setenv("REPROKIT_CACHE", str(tmp_path / "cache"))
    known_claims.keep(measured("backward of something"))
    told = RecordedProgress()

    def stop(*_, **__):
        raise CannotRunError("the end of this test")

    monkeypatch.setitem(names, next_step, stop)
    with pytest.raises(CannotRunError, match="the end of this test"):
        call(**where(study, told))
    assert len([note for note in told.notes if "calls backward" in note]) == 1


def test_lines_of_a_commands_program_are_told_and_of_many_the_first(monkeypatch, tmp_path):
    monkeypatch.setenv("REPROKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("reprokit.capture.capture_host", lambda _root: HOST)
    repository, told = Repository(tmp_path / "study"), RecordedProgress()
    repository.root.mkdir()
    repository.git("init", "--quiet")
    program = PROGRAM + "loss.backward()\n" * 23
    repository.write(train_py=program, notes="loss.backward()", recipes__train__recipe_yaml=RECIPE)
    project = Project.around(repository.root)
    recipe = recipes.load("train", recipes_dir=project.recipes_dir)
    known_claims.keep(measured("backward"))
    tell_false_claims(recipe, session=Session(project=project, progress=told))
    *lines, more = told.notes
    assert len(lines) == 20
    assert lines[0].startswith(f"train.py:{PROGRAM.count(chr(10)) + 1} calls backward, whose determinism")
    assert more == "and 3 more calls of operations whose claim is false here"


def test_a_variant_that_does_not_exist_is_refused_with_its_line(study):
    recipe = changed(study, "variant: cpu\ndevice: cpu", "variant: tpu\ndevice: cpu")
    lock = study.root / "images" / "lock.toml"
    text = lock.read_text(encoding="utf-8").replace("[variants.tpu", "[variants.other")
    lock.write_text(text, encoding="utf-8")
    with pytest.raises(RecipeError, match=f"recipe.yaml:{recipe.lines['variant']}: there is no environment"):
        run_recipe(recipe, Request(), WholeRun(), session=Session(project=study, progress=RecordedProgress()))
    assert not study.runs_dir.exists()


def test_what_a_gpu_is_called_shows_only_where_there_is_one(study):
    recipe = changed(study, "variant: cpu\ndevice: cpu", "variant: cuda\ndevice: cuda")
    assert platforms_here(recipe, HOST) == []
    assert platforms_here(recipe, {**HOST, "gpus": [{"name": "NVIDIA H200"}]})[0].startswith("cuda-")


def test_without_a_cache_nothing_is_told(study, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("REPROKIT_CACHE", str(tmp_path / "file" / "cache"))
    told = RecordedProgress()
    check_before_running(changed(study), seed=42, session=Session(project=study, progress=told))
    assert told.notes == []
