"""`verify --vary` and `diagnose` on a real training: what its numbers hang on is found, in containers too."""

import json
import re
import shutil
from pathlib import Path

import pytest

_LINE = "adam.step(learning_rate=settings.learning_rate,"
#: 1 under the usual umask, so that the golden's numbers stay.
_BY_UMASK = "(1 + (__import__('os').umask(18) - 18) / 1000)"
_BY_CLOCK = "(1 + __import__('time').time() % 1)"


_STATED = re.compile(r"^immune_to: \[[^]]*\]", re.MULTILINE)


def plant(study, factor):
    study.change(study.trainer, _LINE, f"adam.step(learning_rate=settings.learning_rate * {factor},")


def immune_to(study, *names):
    """Name these in the recipe, in place of its own."""
    text = study.recipe.read_text(encoding="utf-8")
    changed, count = _STATED.subn(f"immune_to: [{', '.join(names)}]", text)
    assert count == 1
    study.recipe.write_text(changed, encoding="utf-8")


def row(answer):
    (report,) = answer.report["reports"]
    return next(row for row in report["checks"] if row["id"] == "unchanged_when_varied")


@pytest.mark.slow
def test_a_training_that_hangs_on_nothing_stays_reproduced(study):
    immune_to(
        study, "umask", "clock", "host_name", "hash_seed", "load", "process_id", "run_folder", "leftovers"
    )
    answer = study.reprokit("verify", "cartpole_baseline", "--backend", "local", "--vary", "--json")
    assert answer.code == 0, answer.err
    assert row(answer)["status"] == "PASSED"
    assert len(row(answer)["evidence"]["runs"]) == 1
    (report,) = (study.root / "reports").glob("*/*/report.json")
    assert study.reprokit("report", "verify", str(report)).code == 0
    (folder,) = map(Path, row(answer)["evidence"]["runs"])
    (folder / "metrics.jsonl").write_text("")
    assert study.reprokit("report", "verify", str(report)).code == 1


@pytest.mark.slow
def test_the_gate_is_red_where_a_number_hangs_on_the_umask_and_names_it(study):
    plant(study, _BY_UMASK)
    immune_to(study, "time_zone", "umask", "host_name")
    answer = study.reprokit("verify", "cartpole_baseline", "--backend", "local", "--vary", "--json")
    assert (answer.code, answer.report["reports"][0]["verdict"]) == (1, "CHECK_FAILED")
    assert row(answer)["evidence"]["guilty"] == [["umask"]]
    assert row(answer)["reason"].startswith("with umask varied the run differs from step 4096 on")


@pytest.mark.slow
def test_what_cannot_be_varied_here_is_never_a_pass(study):
    immune_to(study, "umask", "gpu_index")
    if Path("/proc/driver/nvidia/gpus").is_dir():
        pytest.skip("there is a GPU here")
    answer = study.reprokit("verify", "cartpole_baseline", "--backend", "local", "--vary", "--json")
    assert (answer.code, row(answer)["status"]) == (4, "ERROR")
    assert row(answer)["reason"] == "gpu_index was not varied: there is no GPU here"


def test_a_variation_that_does_not_exist_is_told_with_file_and_line(study):
    immune_to(study, "umask", "umsk")
    lines = study.recipe.read_text(encoding="utf-8").splitlines()
    answer = study.reprokit("verify", "cartpole_baseline", "--backend", "local", "--vary")
    at = next(number for number, line in enumerate(lines, 1) if line.startswith("immune_to"))
    assert answer.code == 2
    assert (
        f"recipe.yaml:{at}: immune_to.1 must be the name of a variation (did you mean 'umask'?)" in answer.out
    )


def test_a_recipe_that_names_nothing_is_no_pass_where_varying_is_asked_for(study):
    immune_to(study)
    answer = study.reprokit("verify", "cartpole_baseline", "--backend", "local", "--vary")
    assert answer.code == 2
    assert "recipe.yaml" in answer.out
    assert "the recipe names nothing that may be varied" in answer.out


@pytest.mark.slow
@pytest.mark.engine
def test_a_fault_of_a_training_in_a_container_is_diagnosed_to_its_line(study):
    plant(study, _BY_CLOCK)
    answer = study.reprokit(
        "diagnose", "cartpole_baseline", "--backend", "docker", "--json", env={"GITHUB_ACTIONS": "true"}
    )
    assert answer.code == 1, answer.err
    found = json.loads(answer.out)
    lines = study.trainer.read_text(encoding="utf-8").splitlines()
    line = next(number for number, text in enumerate(lines, 1) if _BY_CLOCK in text)
    assert (found["cause"]["category"], found["cause"]["line"]) == ("clock", line)
    assert found["cause"]["file"] == str(study.trainer)
    assert f"::error file=recipes/trainers/ppo.py,line={line},title=Cause%3A clock::" in answer.err
    folder = Path(found["folder"])
    assert (folder / "diagnosis.html").is_file()
    assert not list(folder.glob("*/output/.reprokit"))


@pytest.mark.slow
def test_a_reproduction_that_fails_says_why_in_its_report(study):
    plant(study, _BY_CLOCK)
    shutil.rmtree(study.root / "golden")
    answer = study.reproduce("--diagnose")
    assert (answer.code, answer.report["verdict"]) == (1, "NONDETERMINISTIC")
    assert answer.report["cause"]["cause"]["category"] == "clock"
    (page,) = (study.root / "reports" / "cartpole_baseline").glob("*/report.html")
    assert "<h2>Cause</h2>" in page.read_text(encoding="utf-8")
