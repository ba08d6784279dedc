"""Runs the steps of a composite action as GitHub's runner does: bash, the runner's variables, its files.

Steps that ``uses`` someone else's action are played: Python is this one, or the container's, the cache is
empty, and an artifact becomes a ZIP file, or an error where there is nothing to keep.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
CONTAINER_PYTHON = "/usr/bin/python3"
CONTAINER_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_EXPRESSION = re.compile(r"\$\{\{\s*(.+?)\s*\}\}")


@dataclass
class Result:
    failed_steps: list[str] = field(default_factory=list)
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    summary: str = ""
    log: str = ""
    artifact: Path | None = None

    @property
    def is_green(self) -> bool:
        return not self.failed_steps


def run_action(
    *,
    workspace: Path,
    temp: Path,
    inputs: dict[str, str] | None = None,
    without: tuple[str, ...] = (),
    environment: dict[str, str] | None = None,
    container: str | None = None,
) -> Result:
    """Run every step of ``action.yml`` but the scripts named in ``without``.

    Args:
        workspace: The repository that is judged.
        temp: The runner's temporary folder.
        inputs: Inputs of the action that are not its defaults.
        without: Scripts that are left out.
        environment: Further variables.
        container: A running container that has these folders and this checkout under the same names; None to
            run the steps on this host.
    """
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    values = {name: one["default"] for name, one in action["inputs"].items()} | (inputs or {})
    temp.mkdir(parents=True, exist_ok=True)
    summary = temp / "summary.md"
    summary.touch()
    result = Result()
    for number, step in enumerate(action["runs"]["steps"]):
        if result.failed_steps and step.get("if") != "${{ !cancelled() }}":
            continue
        known = {"runner.temp": str(temp), "runner.os": "Linux", "runner.arch": "X64"}
        known |= {f"inputs.{name}": value for name, value in values.items()}
        known |= {
            f"steps.{step_id}.outputs.{name}": value
            for step_id, outputs in result.outputs.items()
            for name, value in outputs.items()
        }
        name = str(step.get("id") or step.get("uses") or step["run"])
        if "uses" in step:
            good = _play(step, known, result, temp, python=CONTAINER_PYTHON if container else sys.executable)
        elif any(script in step["run"] for script in without):
            good = True
        else:
            good = _run(
                step, known, result, workspace, temp, summary, number, environment or {}, container=container
            )
        if not good:
            result.failed_steps.append(name)
    result.summary = summary.read_text()
    return result


def _run(
    step: dict[str, Any],
    known: dict[str, str],
    result: Result,
    workspace: Path,
    temp: Path,
    summary: Path,
    number: int,
    more: dict[str, str],
    *,
    container: str | None,
) -> bool:
    script = temp / f"step-{number}.sh"
    script.write_text(step["run"])
    outputs = temp / f"outputs-{number}"
    outputs.touch()
    environment = {
        "PATH": CONTAINER_PATH if container else os.environ["PATH"],
        "HOME": str(temp),
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_WORKSPACE": str(workspace),
        "GITHUB_OUTPUT": str(outputs),
        "GITHUB_STEP_SUMMARY": str(summary),
        "RUNNER_TEMP": str(temp),
        **more,
        **{name: _filled(str(value), known) for name, value in step.get("env", {}).items()},
    }
    command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)]
    folder = workspace / _filled(step.get("working-directory", "."), known)
    if container is not None:
        command = in_container(container, command, folder=folder, environment=environment)
    done = subprocess.run(
        command,
        cwd=folder,
        env=None if container else environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    result.log += done.stdout
    if "id" in step:
        lines = outputs.read_text().splitlines()
        result.outputs[step["id"]] = dict(line.split("=", 1) for line in lines)
    return done.returncode == 0


def in_container(
    container: str, command: list[str], *, folder: Path, environment: dict[str, str]
) -> list[str]:
    """The command line that runs another one in a container, with these variables alone."""
    variables = [f"{name}={value}" for name, value in environment.items()]
    return ["docker", "exec", "--workdir", str(folder), container, "env", "-i", *variables, *command]


def _play(step: dict[str, Any], known: dict[str, str], result: Result, temp: Path, *, python: str) -> bool:
    name = step["uses"].split("@")[0]
    if name == "actions/setup-python":
        result.outputs[step["id"]] = {"python-path": python}
    elif name == "actions/upload-artifact":
        options = {key: _filled(str(value), known) for key, value in step["with"].items()}
        folder = Path(options["path"])
        files = sorted(path for path in folder.rglob("*") if path.is_file()) if folder.exists() else []
        if not files:
            return options["if-no-files-found"] != "error"
        result.artifact = temp / f"{options['name']}.zip"
        with zipfile.ZipFile(result.artifact, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in files:
                archive.write(path, path.relative_to(folder))
    else:
        assert name == "actions/cache", name
    return True


def _filled(text: str, known: dict[str, str]) -> str:
    return _EXPRESSION.sub(lambda match: known.get(match[1], ""), text)
