"""On a Debian with Python and git alone and no network, the action judges and a bundle is reproduced.

The system is a container of mmdebstrap's minimal root. The tool comes into it by the action's own step,
from the lock and a folder of packages.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reprokit.features.github import collected, pull_request_comment
from support import command_recipe
from support.composite_action import CONTAINER_PATH, ROOT, Result, in_container, run_action
from support.minimal_system import minimal_system, output
from support.study_project import with_golden

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.timeout(3000)]


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages that the tool's lock names."""
    folder = tmp_path_factory.mktemp("packages")
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--require-hashes", "--only-binary", ":all:")
    output(*pip, "--dest", str(folder), "--requirement", str(ROOT / "requirements.lock"))
    return folder


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The one folder of this host that the container may write."""
    return tmp_path_factory.mktemp("shared")


@pytest.fixture(scope="module")
def container(packages: Path, shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A running container without network."""
    if os.getuid() != 0 or shutil.which("mmdebstrap") is None:
        pytest.skip("a Debian from nothing needs root and mmdebstrap")
    archive = tmp_path_factory.mktemp("system") / "root.tar"
    minimal_system(archive, include=("git", "python3-venv"))
    image = f"reprokit-test/debian:{uuid.uuid4().hex[:12]}"
    output("docker", "import", str(archive), image)
    archive.unlink()
    mounts = [f"--volume={folder}:{folder}:ro" for folder in (ROOT, packages)]
    started = ""
    try:
        started = output(
            *("docker", "run", "--detach", "--rm", "--init", "--network=none"),
            *(*mounts, f"--volume={shared}:{shared}", image, "sleep", "infinity"),
        ).strip()
        yield started
    finally:
        if started:
            output("docker", "rm", "--force", started)
        output("docker", "rmi", "--force", image)


@pytest.fixture(scope="module")
def act(container: str, packages: Path, shared: Path) -> Callable[..., Result]:
    """Run the action in the container."""
    from_folder = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(packages)}

    def run(workspace: Path, **options) -> Result:
        return run_action(
            workspace=workspace,
            temp=shared / "temp",
            inputs={"arguments": "--backend local"},
            environment=from_folder,
            container=container,
            **options,
        )

    return run


@pytest.fixture(scope="module")
def tool(container: str, shared: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the tool that the action installed."""

    def run(*arguments: str, folder: Path, timeout: float = 1200) -> subprocess.CompletedProcess[str]:
        program = str(shared / "temp" / "reprokit-tool" / "bin" / "reprokit")
        environment = {"PATH": CONTAINER_PATH, "HOME": str(shared / "home")}
        command = in_container(container, [program, *arguments], folder=folder, environment=environment)
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout)

    return run


@pytest.fixture(scope="module")
def judged(act, tool, shared: Path) -> command_recipe.Repository:
    """A repository that the action judged for the first time, and whose runs then became its golden."""
    repository = command_recipe.Repository(shared / "project")
    repository.root.mkdir()
    repository.git("init", "--quiet")
    # Debian's own Python has no package, and a run in it would record none.
    python = shared / "temp" / "reprokit-tool" / "bin" / "python"
    repository.write(
        recipes__train__recipe_yaml=command_recipe.RECIPE.replace("[python,", f"[{python},"),
        train_py=command_recipe.PROGRAM,
        settings_py="RATE = 0.5\n",
        **{".gitignore": "/runs/\n/reports/\n"},
    )
    first = act(repository.root)
    assert first.failed_steps in ([], ["verify"]), first.log
    assert "NO_GOLDEN: train" in first.summary, first.log
    folders = [str(path) for path in sorted(repository.root.glob("runs/train/*-seed3-*"))]
    promoted = tool("golden", "promote", *folders, "--reason", "first", folder=repository.root)
    assert promoted.returncode == 0, promoted.stderr
    repository.commit()
    return repository


def test_the_container_has_no_network(container: str) -> None:
    devices = output("docker", "exec", container, "ls", "/sys/class/net")
    assert devices.split() == ["lo"]


def test_the_action_is_green_for_what_is_reproduced_and_red_for_a_regression(act, judged) -> None:
    green = act(judged.root, without=("/install",))
    assert green.is_green, green.log
    assert green.outputs["verify"]["exit-code"] == "0"
    assert "REPRODUCED: train" in green.summary

    judged.write(settings_py="RATE = 0.25\n")
    red = act(judged.root, without=("/install",))
    assert (red.failed_steps, red.outputs["verify"]["exit-code"]) == (["verify"], "1"), red.log
    assert red.artifact is not None
    step_summary = red.summary.removeprefix(green.summary)
    assert "REGRESSION: train" in step_summary
    assert "First divergence" in step_summary
    assert "loss" in step_summary
    comment = pull_request_comment.comment(collected.from_archive(red.artifact.read_bytes()))
    assert "### ❌ REGRESSION: `train`, seed `3`" in comment


def test_a_vendored_bundle_is_reproduced(act, judged, tool, shared: Path, tmp_path: Path) -> None:
    study = with_golden(tmp_path / "theirs", backend="local")
    sent = shared / "reviewer" / "sent.tar.gz"
    sent.parent.mkdir()
    golden = "golden/cartpole_baseline/cpu-x86_64"
    made = study.reprokit("bundle", golden, "--output", str(sent), "--vendor", "--json", timeout=1200)
    assert made.code == 0, made.err
    options = ("--sha256", json.loads(made.out)["sha256"], "--backend", "local", "--json")
    done = tool("reproduce", str(sent), *options, folder=sent.parent)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["verdict"] == "REPRODUCED"
    assert report["bundle"]["file"] == "sent.tar.gz"
