"""Verdicts that tell code from machine from chance, on real run folders and real histories."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

GOLDEN = "golden/cartpole_baseline/cpu-x86_64/seed-42"


def git(study, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=study.root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def under_git(study) -> None:
    (study.root / ".gitignore").write_text("runs/\nreports/\n")
    git(study, "init", "-q", "-b", "main")
    git(study, "config", "user.email", "a@example.org")
    git(study, "config", "user.name", "A")
    commit(study, "first golden")


def commit(study, message: str) -> None:
    git(study, "add", "-A")
    git(study, "commit", "-qm", message)


@pytest.fixture
def judged(blessed, study):
    """Judge the blessed runs again, in a study whose golden the test may change."""
    folders = [str(run.parent) for run in blessed.runs]

    def judge():
        return study.reprokit("report", "show", *folders, "--json")

    return judge


def with_numpy(study, version: str) -> None:
    """The golden as if it had been made with another numpy."""
    file = study.root / GOLDEN / "provenance.json"
    told = json.loads(file.read_text())
    told["environment"]["inside"]["packages"]["numpy"] = version
    file.write_text(json.dumps(told))


def with_other_numbers(study) -> None:
    metrics = study.root / GOLDEN / "metrics.jsonl"
    lines = metrics.read_text().splitlines()
    record = json.loads(lines[1])
    name = next(key for key in record if key.startswith("loss/"))
    record[name] = record[name] * (1 + 2**-40)
    lines[1] = json.dumps(record)
    metrics.write_text("\n".join(lines) + "\n")
    file = study.root / GOLDEN / "provenance.json"
    told = json.loads(file.read_text())
    told["digests"]["metrics"] = f"sha256:{hashlib.sha256(metrics.read_bytes()).hexdigest()}"
    file.write_text(json.dumps(told))


def test_a_package_change_that_leaves_the_numbers_equal_is_reproduced_with_a_note(study, judged):
    with_numpy(study, "2.4.5")
    answer = judged()
    assert (answer.code, answer.report["verdict"]) == (0, "REPRODUCED"), answer.err
    assert "Note: package numpy 2.4.5 → " in answer.report["sentence"]


def test_a_package_whose_upgrade_changed_bits_is_a_stale_golden_that_names_it(study, judged):
    with_numpy(study, "2.4.5")
    with_other_numbers(study)
    answer = judged()
    assert (answer.code, answer.report["verdict"]) == (4, "STALE_GOLDEN"), answer.err
    assert "in another environment: package numpy 2.4.5 → " in answer.report["sentence"]
    assert answer.report["environment_diff"][0]["can_change_numbers"] == "yes"


def test_the_repeatable_row_states_the_chance_that_one_more_run_differs(judged):
    row = judged().row("repeatable")
    assert "2 runs are weak evidence" in row["reason"]
    assert "as high as 95.0%" in row["reason"]
    assert "--repeats 10" in row["reason"]
    assert row["evidence"]["chance_of_another_at_most"] == pytest.approx(0.95)


@pytest.mark.slow
def test_a_changed_gamma_names_its_line_and_the_code_is_to_blame(study):
    under_git(study)
    study.change(study.recipe, "gamma: 0.99", "gamma: 0.98")
    line = 1 + study.recipe.read_text().split("gamma: 0.98")[0].count("\n")
    answer = study.reproduce("--attribute")
    report = answer.report
    assert (answer.code, report["verdict"]) == (1, "REGRESSION"), answer.err
    where = f"recipes/cartpole_baseline/recipe.yaml:{line} training.gamma 0.99 → 0.98"
    assert where in report["sentence"]
    (changed,) = report["code_changes"]["files"]
    assert (changed["path"], changed["added"], changed["removed"]) == (
        "recipes/cartpole_baseline/recipe.yaml",
        1,
        1,
    )
    lines = [line[:1] + line[1:].strip() for line in changed["diff"] if line[:1] in "+-"]
    assert lines == ["-gamma: 0.99", "+gamma: 0.98"]
    attribution = report["attribution"]
    assert attribution["answer"] == "code"
    assert attribution["golden_commit"] == git(study, "rev-parse", "HEAD")
    assert [cell["result"] for cell in attribution["cells"]] == ["equal", "equal", "differs", "differs"]
    folder = next((study.root / "reports" / "cartpole_baseline").iterdir())
    golden = (study.root / GOLDEN / "metrics.jsonl").read_bytes()
    assert (folder / "expected" / "metrics.jsonl").read_bytes() == golden
    run = Path(report["runs"][0])
    assert (folder / "obtained" / "metrics.jsonl").read_bytes() == (run / "metrics.jsonl").read_bytes()
    kept = folder / "attribution" / "code-golden-environment-golden" / "metrics.jsonl"
    assert kept.read_bytes() == golden
    assert "Code or environment" in (folder / "report.html").read_text()
    assert study.reprokit("report", "verify", str(folder)).code == 1  # it is genuine, and a REGRESSION
    assert study.reprokit("report", "verify", str(folder), "--expect", "REGRESSION").code == 0
    diffed = study.reprokit(
        "golden", "promote", "--from", str(folder), "--reason", "discount more", "--allow-dirty"
    )
    assert diffed.code == 0, diffed.err
    shown = study.reprokit("golden", "diff", f"HEAD:{GOLDEN}", GOLDEN, "--markdown")
    assert shown.code == 1, shown.err
    assert "training.gamma 0.99 → 0.98" in shown.out


@pytest.mark.slow  # the same search without training is in unit/harness/test_bisection.py
def test_bisect_names_the_commit_that_changed_the_numbers(study):
    """Seven commits: one is broken, one changes the numbers, the others touch nothing that counts."""
    text = study.recipe.read_text()
    study.recipe.write_text(re.sub(r"total_timesteps: \d+", "total_timesteps: 4096", text))
    whole = study.trainer.read_text()
    shutil.rmtree(study.root / "golden")
    under_git(study)
    good = git(study, "rev-parse", "HEAD")
    (study.root / "README").write_text("hello")
    commit(study, "hello")
    study.trainer.write_text(f"raise RuntimeError('broken')\n{whole}")
    commit(study, "break it")
    study.trainer.write_text(whole)
    commit(study, "mend it")
    study.change(study.recipe, "gamma: 0.99", "gamma: 0.98")
    commit(study, "discount more")
    (study.root / "README").write_text("bye")
    commit(study, "bye")
    answer = study.reprokit(
        "bisect", "cartpole_baseline", "--good", good, "--bad", "HEAD", "--backend", "local", "--json"
    )
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    assert [one["subject"] for one in found["guilty"]] == ["discount more"]
    assert found["guilty"][0]["settings"][0].endswith("training.gamma 0.99 → 0.98")
    results = {one["subject"]: one["result"] for one in found["tested"]}
    assert results["bye"] == "bad"
    assert results.get("break it", "skip") == "skip"
