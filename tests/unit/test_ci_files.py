"""Files that GitHub, GitLab and pre-commit read: of their form, pinned, with no more rights than needed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PAGE = ROOT / "docs" / "how-to" / "gate-pull-requests.md"
SCRIPTS = sorted((ROOT / ".github" / "scripts").iterdir())
EXAMPLES = dict(re.findall(r"```yaml\n# (\S+)\n(.*?)```", PAGE.read_text(), re.DOTALL))


def check(schema: str, *files: Path, transform: tuple[str, ...] = ()) -> None:
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *transform]
    done = subprocess.run([*words, *map(str, files)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def steps_of(path: Path) -> list[dict]:
    document = yaml.safe_load(path.read_text())
    jobs = document.get("jobs", {"action": document.get("runs", {})})
    return [step for job in jobs.values() for step in job.get("steps", [])]


def test_workflows_and_action_are_of_githubs_form(tmp_path):
    check("vendor.github-actions", ROOT / "action.yml")
    examples = []
    for name, text in EXAMPLES.items():
        if name.startswith(".github/workflows/"):
            examples.append(tmp_path / Path(name).name)
            examples[-1].write_text(text)
    assert len(examples) == 2
    check("vendor.github-workflows", *WORKFLOWS, *examples)


def test_a_workflow_of_another_form_is_refused(tmp_path):
    broken = tmp_path / "broken.yml"
    broken.write_text("on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: [1]\n")
    with pytest.raises(AssertionError):
        check("vendor.github-workflows", broken)


def test_the_template_is_of_gitlabs_form():
    check(
        "vendor.gitlab-ci",
        ROOT / "templates" / "reprokit.gitlab-ci.yml",
        transform=("--data-transform", "gitlab-ci"),
    )


def test_pre_commit_takes_the_hooks_and_the_example_of_the_page(tmp_path):
    config = tmp_path / ".pre-commit-config.yaml"
    config.write_text(EXAMPLES[config.name])
    for verb, path in (
        ("validate-manifest", ROOT / ".pre-commit-hooks.yaml"),
        ("validate-config", config),
        ("validate-config", ROOT / ".pre-commit-config.yaml"),
    ):
        subprocess.run([sys.executable, "-m", "pre_commit", verb, str(path)], check=True)
    named = {hook["id"] for one in yaml.safe_load(config.read_text())["repos"] for hook in one["hooks"]}
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert named == {hook["id"] for hook in hooks}


@pytest.mark.parametrize("path", [ROOT / "action.yml", *WORKFLOWS], ids=lambda path: path.name)
def test_every_action_of_somebody_else_is_pinned_by_its_commit(path):
    for step in steps_of(path):
        used = step.get("uses", "./")
        assert used.startswith("./") or re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", used), used


@pytest.mark.parametrize("path", [ROOT / "action.yml", *WORKFLOWS], ids=lambda path: path.name)
def test_no_value_is_pasted_into_a_script(path):
    for step in steps_of(path):
        assert "${{" not in step.get("run", ""), step


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_rights_are_named_and_only_the_comment_and_the_site_may_write(path):
    document = yaml.safe_load(path.read_text())
    rights = {} if path.name != "reprokit-comment.yml" else {"pull-requests": "write", "actions": "read"}
    assert document["permissions"] == {"contents": "read", **rights}
    of_jobs = {name: job["permissions"] for name, job in document["jobs"].items() if "permissions" in job}
    publishing = {"deploy": {"pages": "write", "id-token": "write"}}
    assert of_jobs == (publishing if path.name == "pages.yml" else {})


def test_the_job_that_publishes_the_site_runs_nothing_of_the_repository():
    deploy = yaml.safe_load((ROOT / ".github/workflows/pages.yml").read_text())["jobs"]["deploy"]
    assert [step["uses"].partition("@")[0] for step in deploy["steps"]] == ["actions/deploy-pages"]
    assert not any("run" in step for step in deploy["steps"])


def test_the_job_that_may_write_checks_out_nothing_but_the_tool_and_restores_no_cache():
    steps = steps_of(ROOT / ".github" / "workflows" / "reprokit-comment.yml")
    checkouts = [step["with"] for step in steps if step.get("uses", "").startswith("actions/checkout")]
    assert [one["repository"] for one in checkouts] == ["${{ job.workflow_repository }}"]
    assert [one["ref"] for one in checkouts] == ["${{ job.workflow_sha }}"]
    others = {step["uses"].split("@")[0] for step in steps if "uses" in step}
    assert others == {"actions/checkout", "actions/setup-python"}  # no cache, no artifact unpacked
    assert not any("cache" in step.get("with", {}) for step in steps)


def test_checkouts_leave_no_token_behind():
    for path in (ROOT / ".github" / "workflows").glob("reprokit-*.yml"):
        for step in steps_of(path):
            if step.get("uses", "").startswith("actions/checkout"):
                assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_can_be_run_and_are_bash(path):
    assert os.access(path, os.X_OK)
    subprocess.run(["bash", "-n", str(path)], check=True)
