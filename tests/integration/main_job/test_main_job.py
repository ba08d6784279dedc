"""The main job end to end: each verdict from real training, planted faults included."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SEED_CALL = "env.reset(seed=seed, options=reset_options)[0] for env, seed in pairs]"
NO_SEED_CALL = "env.reset(options=reset_options)[0] for env, seed in pairs]"


@pytest.fixture(scope="module")
def reproduced(copy_of_blessed):
    """A study and what the tool said when nothing in it had changed; whoever touches it puts it back."""
    study = copy_of_blessed()
    return study, study.reproduce()


@pytest.fixture(scope="module")
def regressed(copy_of_blessed):
    """The same with one digit of the learning rate changed."""
    study = copy_of_blessed()
    study.change(study.recipe, "learning_rate: 3e-4", "learning_rate: 4e-4")
    return study, study.reproduce()


def test_two_runs_that_agree_with_the_golden_are_reproduced(reproduced):
    _, answer = reproduced
    assert (answer.code, answer.report["verdict"]) == (0, "REPRODUCED"), answer.out
    assert answer.report["divergence"] is None
    assert answer.row("equals_golden")["status"] == "PASSED"


def test_progress_off_a_terminal_is_plain_lines_with_step_total_and_speed(reproduced):
    _, answer = reproduced
    assert "step 12,288 of 12,288" in answer.err
    assert "steps/s" in answer.err
    assert "\x1b" not in answer.err
    assert "\r" not in answer.err


def test_one_changed_digit_of_the_learning_rate_is_a_regression_with_step_and_metric(regressed):
    _, answer = regressed
    assert (answer.code, answer.report["verdict"]) == (1, "REGRESSION"), answer.out
    divergence = answer.report["divergence"]
    assert divergence["record"] == 0
    assert divergence["step"] == 4096
    assert divergence["metric"] is not None
    assert "training.learning_rate 0.0003 → 0.0004" in answer.report["sentence"]


def test_a_removed_seed_call_is_nondeterministic(study):
    study.change(study.playing, SEED_CALL, NO_SEED_CALL)
    answer = study.reproduce()
    assert (answer.code, answer.report["verdict"]) == (1, "NONDETERMINISTIC"), answer.out
    assert answer.report["divergence"]["step"] == 4096


@pytest.mark.slow
def test_a_missing_golden_cannot_be_judged(study):
    for path in sorted((study.root / "golden").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    answer = study.reproduce()
    assert (answer.code, answer.report["verdict"]) == (4, "NO_GOLDEN"), answer.out


@pytest.mark.slow
def test_another_seed_than_the_recorded_one_has_no_golden(study):
    answer = study.reproduce("--seed", "7")
    assert (answer.code, answer.report["verdict"]) == (4, "NO_GOLDEN"), answer.out


@pytest.mark.slow
def test_an_overridden_setting_never_matches_a_golden_silently(study):
    answer = study.reproduce("--set", "training.learning_rate=3e-4")
    assert answer.code == 1, answer.out
    assert answer.report["verdict"] == "CHECK_FAILED"
    assert answer.row("unmodified")["status"] == "FAILED"


def test_an_edited_golden_is_refused(study):
    metrics = next((study.root / "golden").rglob("metrics.jsonl"))
    metrics.write_text(metrics.read_text().replace('"step": 4096', '"step": 4097', 1))
    answer = study.reproduce()
    assert answer.code == 2
    assert "the file differs from the one that was promoted" in answer.err


@pytest.mark.slow
def test_a_crash_of_the_program_is_not_run_with_the_end_of_its_log(study):
    study.change(study.trainer, "    run.checkpoints.save_final(model)", "    raise OSError('planted')")
    answer = study.reproduce()
    assert (answer.code, answer.report["verdict"]) == (3, "NOT_RUN"), answer.out
    assert answer.report["not_run"]["outcome"] == "crashed"
    assert "planted" in answer.report["not_run"]["log_tail"]
    assert not list((study.root / "runs").rglob("COMPLETE"))


@pytest.mark.slow
def test_a_killed_run_is_never_judged_as_finished(study, wait_for):
    tool = subprocess.Popen(
        [sys.executable, "-m", "reprokit", "reproduce", "cartpole_baseline", "--backend", "local"],
        cwd=study.root,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for(lambda: bool(list((study.root / "runs").rglob("output/metrics.jsonl"))), 60)
    tool.kill()
    tool.wait()
    shown = study.reprokit("report", "show", *(str(path.parent) for path in study.runs), "--json")
    assert (shown.code, shown.report["verdict"]) == (3, "NOT_RUN")
    assert study.reprokit("runs", "list", "--json").code == 0
    after = study.reproduce()
    assert (after.code, after.report["verdict"]) == (0, "REPRODUCED"), after.out
    outcomes = [json.loads(path.read_text())["outcome"] for path in study.runs]
    assert outcomes.count("interrupted") == 2


@pytest.mark.sample(1)
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_an_interrupted_tool_stops_the_training_and_says_so_with_its_exit_code(study, wait_for, name, code):
    tool = subprocess.Popen(
        [sys.executable, "-m", "reprokit", "reproduce", "cartpole_baseline", "--backend", "local"],
        cwd=study.root,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for(lambda: bool(list((study.root / "runs").rglob("output/metrics.jsonl"))), 60)
    tool.send_signal(getattr(signal, name))
    assert tool.wait(timeout=30) == code
    assert not list((study.root / "runs").rglob("COMPLETE"))
    assert all(json.loads(path.read_text())["state"] == "finished" for path in study.runs)


def test_a_report_is_drawn_again_from_run_folders_alone(reproduced):
    study, first = reproduced
    again = study.reprokit("report", "show", *first.report["runs"], "--json")
    assert again.report["verdict"] == "REPRODUCED"
    assert {row["id"]: row["status"] for row in again.report["checks"]} == {
        row["id"]: row["status"] for row in first.report["checks"]
    }


def test_a_report_stands_until_its_evidence_is_touched(reproduced):
    study, first = reproduced
    folder = next((study.root / "reports" / "cartpole_baseline").iterdir())
    assert study.reprokit("report", "verify", str(folder)).code == 0
    metrics = Path(first.report["runs"][0]) / "metrics.jsonl"
    whole = metrics.read_bytes()
    metrics.write_bytes(whole.replace(b"4096", b"4097", 1))
    touched = study.reprokit("report", "verify", str(folder))
    metrics.write_bytes(whole)
    assert touched.code == 1
    assert "metrics.jsonl was changed" in touched.out


def test_a_report_whose_verdict_was_edited_does_not_stand(regressed):
    study, _ = regressed
    report = next((study.root / "reports").rglob("report.json"))
    whole = report.read_text()
    report.write_text(
        whole.replace('"REGRESSION"', '"REPRODUCED"').replace('"exit_code": 1', '"exit_code": 0')
    )
    edited = study.reprokit("report", "verify", str(report.parent))
    report.write_text(whole)
    assert edited.code == 1
    assert "the evidence says REGRESSION" in edited.out


@pytest.mark.slow
def test_verify_covers_recipes_without_a_golden_and_ends_with_the_gravest_code(study):
    other = study.root / "recipes" / "another"
    other.mkdir()
    text = study.recipe.read_text().replace("name: cartpole_baseline", "name: another", 1)
    (other / "recipe.yaml").write_text(text)
    both = study.reprokit("verify", "--golden", "golden/", "--backend", "local", "--json")
    assert both.code == 4, both.out
    assert [one["verdict"] for one in both.report["reports"]] == ["NO_GOLDEN", "REPRODUCED"]


def test_verify_without_any_recipe_is_never_a_pass(tmp_path, study_at):
    (tmp_path / "recipes").mkdir()
    empty = study_at(tmp_path).reprokit("verify", "--golden", "golden/")
    assert empty.code == 4


@pytest.mark.slow
def test_a_golden_needs_a_reason_two_runs_and_no_override(study):
    assert study.reprokit("golden", "promote", "cartpole_baseline").code == 2
    single = study.reprokit("run", "cartpole_baseline", "--backend", "local")
    assert single.code == 0
    alone = study.reprokit("golden", "promote", single.out.strip(), "--reason", "x", "--allow-dirty")
    assert alone.code == 2
    assert "two runs" in alone.err
    study.reproduce("--set", "training.gamma=0.98")
    modified = study.reprokit("golden", "promote", "cartpole_baseline", "--reason", "x", "--allow-dirty")
    assert modified.code == 2
    assert "modified" in modified.err


@pytest.mark.slow
@pytest.mark.engine
def test_the_container_gives_the_same_metrics_bytes_as_the_virtual_environment(study, blessed):
    answer = study.reproduce(backend="docker")
    assert (answer.code, answer.report["verdict"]) == (0, "REPRODUCED"), answer.out
    assert answer.row("pinned_image")["status"] == "PASSED"
    assert answer.row("hardened")["status"] == "PASSED"
    golden = next((blessed.root / "golden").rglob("metrics.jsonl"))
    for run in answer.report["runs"]:
        assert (Path(run) / "metrics.jsonl").read_bytes() == golden.read_bytes()


def test_docker_without_an_engine_is_exit_code_3_with_the_remedy(study):
    nowhere = {"DOCKER_HOST": "unix:///nonexistent/docker.sock"}
    answer = study.reprokit("reproduce", "cartpole_baseline", "--backend", "docker", "--json", env=nowhere)
    assert (answer.code, answer.report["verdict"]) == (3, "NOT_RUN"), answer.out
    assert answer.report["not_run"]["outcome"] == "engine_missing"
    assert "--backend local" in answer.report["not_run"]["remedy"]


@pytest.mark.slow
def test_without_an_engine_the_environment_comes_from_the_same_lock_and_the_row_says_so(study):
    nowhere = {"DOCKER_HOST": "unix:///nonexistent/docker.sock"}
    answer = study.reprokit("reproduce", "cartpole_baseline", "--json", env=nowhere)
    assert (answer.code, answer.report["verdict"]) == (0, "REPRODUCED"), answer.out
    assert answer.row("pinned_image")["status"] == "SKIPPED"
    assert "same lock" in answer.row("pinned_image")["reason"]


def test_a_golden_whose_recipe_is_gone_keeps_the_gate_from_passing(study):
    (study.root / "golden" / "cartpole_baseline").rename(study.root / "golden" / "renamed")
    (study.root / "golden" / "renamed" / "cpu-x86_64" / "seed-²").mkdir()
    for path in sorted((study.root / "recipes" / "cartpole_baseline").iterdir()):
        path.unlink()
    (study.root / "recipes" / "cartpole_baseline").rmdir()
    answer = study.reprokit("verify", "--golden", "golden/", "--json")
    assert answer.code == 4, answer.out + answer.err
    assert "no recipe that declares it" in answer.report["reports"][0]["error"]
