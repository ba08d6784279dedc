"""The action's steps as a runner runs them: green for a run that is reproduced, red for everything else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reprokit.features.github import collected, pull_request_comment
from reprokit.harness import Request, reproduce
from reprokit.project import Project
from reprokit.session import Session
from support import command_recipe
from support.composite_action import ROOT, run_action
from support.recorded_progress import RecordedProgress

TOOL = f"""\
#!/bin/sh
PYTHONPATH={ROOT} exec {sys.executable} -m reprokit "$@"
"""
LOCAL = {"arguments": "--backend local"}


@pytest.fixture(scope="module")
def with_golden(tmp_path_factory) -> Path:
    """A repository whose recipe has a golden."""
    repository = command_recipe.Repository(tmp_path_factory.mktemp("with_golden") / "project")
    repository.root.mkdir()
    repository.git("init", "--quiet")
    repository.write(
        recipes__train__recipe_yaml=command_recipe.RECIPE,
        train_py=command_recipe.PROGRAM,
        settings_py="RATE = 0.5\n",
        **{".gitignore": "/runs/\n/reports/\n"},
    )
    project = Project.around(repository.root)  # two runs at once, as the gate makes them
    with pytest.MonkeyPatch.context() as patch:
        for name in [one for one in os.environ if one.startswith("OPENBLAS_")]:
            patch.delenv(name)  # the action starts without them
        report, _ = reproduce(
            "train", Request(backend="local"), session=Session(project=project, progress=RecordedProgress())
        )
    repository.promote(report)
    shutil.rmtree(repository.root / "runs")
    return repository.root


@pytest.fixture
def act(tmp_path: Path):
    """Run the action with the tool of this tree in the place of the installed one."""

    def run(workspace: Path, *, tool: str = TOOL, **options):
        script = tmp_path / "temp" / "reprokit-tool" / "bin" / "reprokit"
        script.parent.mkdir(parents=True)
        script.write_text(tool)
        script.chmod(0o755)
        inputs = LOCAL | options.pop("inputs", {})
        return run_action(
            workspace=workspace, temp=tmp_path / "temp", inputs=inputs, without=("/install",), **options
        )

    return run


@pytest.fixture
def project(with_golden: Path, tmp_path: Path) -> command_recipe.Repository:
    return command_recipe.Repository(Path(shutil.copytree(with_golden, tmp_path / "project")))


def comment_on(result) -> str:
    return pull_request_comment.comment(collected.from_archive(result.artifact.read_bytes()))


def test_a_run_that_is_reproduced_is_green(act, project):
    result = act(project.root)
    assert result.is_green, result.log
    assert result.outputs["verify"]["exit-code"] == "0"
    assert "REPRODUCED: train" in result.summary
    assert "## ✅ reprokit: 1 REPRODUCED" in comment_on(result)
    assert result.outputs["lock"]["digest"].startswith("python-3.")


def test_a_regression_is_red_and_summary_and_comment_name_the_first_divergence(act, project):
    project.write(settings_py="RATE = 0.25\n")
    result = act(project.root)
    assert result.failed_steps == ["verify"]
    assert result.outputs["verify"]["exit-code"] == "1", result.log
    assert "REGRESSION: train" in result.summary
    assert "First divergence" in result.summary
    text = comment_on(result)
    assert "### ❌ REGRESSION: `train`, seed `3`" in text
    assert "| First divergence | |" in text
    assert "`loss`" in text
    assert "`settings.py`" in text  # what changed since the golden


def test_without_a_recipe_it_is_red_and_the_summary_says_why(act, project):
    shutil.rmtree(project.root / "recipes")
    shutil.rmtree(project.root / "golden")
    (project.root / "recipes").mkdir()
    result = act(project.root)
    assert result.failed_steps == ["verify"]
    assert result.outputs["verify"]["exit-code"] == "4"
    assert "there was nothing to judge" in result.summary
    assert "no recipe was judged" in comment_on(result)


def test_a_golden_whose_recipe_is_gone_is_red_and_named_in_the_summary(act, project):
    shutil.rmtree(project.root / "recipes" / "train")
    result = act(project.root)
    assert result.outputs["verify"]["exit-code"] == "4"
    assert "ERROR: `train`: there is a golden for" in result.summary
    assert "### ❔ ERROR: `train`" in comment_on(result)


def test_a_recipe_that_cannot_be_read_is_red(act, project):
    project.write(recipes__train__recipe_yaml="schema: 1\nname: [\n")
    result = act(project.root)
    assert result.outputs["verify"]["exit-code"] == "2"
    assert "ERROR: `train`" in result.summary


@pytest.mark.parametrize("code", [0, 1, 3, 139])
def test_a_tool_that_leaves_no_answer_is_red_whatever_its_exit_code(act, project, code):
    result = act(project.root, tool=f"#!/bin/sh\necho boom\nexit {code}\n")
    assert result.failed_steps[0] == "verify"
    assert "did not come to its end" in result.summary
    assert result.artifact is None  # and a job that waits for it is told so
    assert result.failed_steps[1].startswith("actions/upload-artifact")


def test_answers_of_an_earlier_gate_do_not_stand_for_this_one(act, project, tmp_path):
    kept = tmp_path / "temp" / "reprokit-reports"
    kept.mkdir(parents=True)
    (kept / "gate.json").write_text('{"schema": 1, "exit_code": 0, "recipes": []}')
    result = act(project.root, tool="#!/bin/sh\nexit 0\n")
    assert result.failed_steps[0] == "verify"


def test_wrong_options_are_red_and_no_shell_reads_them(act, project, tmp_path):
    result = act(
        project.root, inputs={"arguments": f"$(touch {tmp_path}/ran) ; touch {tmp_path}/ran --no-such"}
    )
    assert result.failed_steps[0] == "verify"
    assert not (tmp_path / "ran").exists()


def test_a_recipe_named_like_an_option_is_no_option(act, project):
    result = act(project.root, inputs={"recipes": "--help"})
    assert not result.is_green


def test_a_step_that_fails_before_the_gate_is_red(act, project, tmp_path):
    result = act(project.root, environment={"RUNNER_TEMP": str(tmp_path / "nowhere")})
    assert not result.is_green


@pytest.mark.slow
def test_the_action_installs_the_tool_from_its_lock_and_judges_with_it(project, tmp_path):
    index = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    proxies = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    environment = {**index, **proxies, "HOME": str(Path.home())}
    before = subprocess.run(["git", "status", "--short"], cwd=ROOT, capture_output=True, check=True).stdout
    result = run_action(workspace=project.root, temp=tmp_path / "temp", inputs=LOCAL, environment=environment)
    assert result.is_green, result.log
    assert "## ✅ reprokit: 1 REPRODUCED" in comment_on(result)
    after = subprocess.run(["git", "status", "--short"], cwd=ROOT, capture_output=True, check=True).stdout
    assert after == before  # nothing is written into the action's own folder


@pytest.mark.slow
def test_numbers_that_moved_since_the_base_are_in_the_comment_and_do_not_fail_the_job(act, project):
    base = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=project.root, check=True, capture_output=True, text=True
    ).stdout.strip()
    shutil.rmtree(project.root / "golden")
    project.write(settings_py="RATE = 0.25\n")
    result = act(project.root, inputs={"compare": base})
    assert result.outputs["verify"]["exit-code"] == "4", result.log  # NO_GOLDEN: not that it moved
    text = comment_on(result)
    assert f"**Compared with** `{base}`:" in text
    assert "- `train` ❌ moved from record 0 on: `the sides differ from step 0 on: loss is" in text


@pytest.mark.slow
def test_a_base_with_the_same_numbers_is_told_and_a_run_without_a_base_compares_nothing(act, project):
    project.write(settings_py="RATE = 0.5  # the rate\n")
    result = act(project.root, inputs={"compare": "HEAD~1", "moved-fails": "true"})
    assert result.outputs["verify"]["exit-code"] == "0", result.log
    assert "- `train` ✅ no number moved" in comment_on(result)
