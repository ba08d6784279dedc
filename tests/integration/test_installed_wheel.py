"""The wheel alone, in a fresh environment and an empty repository: it brings all it needs."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from support.wheel_environments import answer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

PROGRAM = """\
import argparse, csv, random, time
from pathlib import Path

options = argparse.ArgumentParser()
options.add_argument("--seed", type=int, default=0)
options.add_argument("--out", default="results")
chosen = options.parse_args()
lr = 0.1
random.seed(chosen.seed)
loss = 1.0
with open(Path(chosen.out) / "log.csv", "w", newline="") as file:
    log = csv.writer(file)
    log.writerow(["step", "loss", "accuracy", "seconds"])
    for step in range(20):
        loss -= lr * random.random() * loss
        log.writerow([step, loss, 1 - loss, time.time()])
        time.sleep(0.05)
"""
TAPS = "reprokit/harness/diagnosing/taps/"
#: How a line of the README ends that does not end with 0: there is no golden yet.
CODES = {"reprokit reproduce train": 4}
#: On a terminal it asks.
ASKS_NOTHING = ("reprokit init --", "reprokit init --yes --")


def interpreter(version: str) -> str:
    """A Python of that version on this host: this one, one on the path, or one that pyenv keeps."""
    kept = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for path in (sys.executable, shutil.which(f"python{version}"), *kept):
        command = [str(path), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        if (
            path
            and subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() == version
        ):
            return str(path)
    pytest.skip(f"this host has no Python {version}")


def test_the_distribution_has_the_free_name_and_the_files_from_outside_the_package(wheel: Path) -> None:
    assert wheel.name.startswith("reprokit_verify-")
    names = zipfile.ZipFile(wheel).namelist()
    for name in (
        "images/Dockerfile",
        "images/lock.toml",
        "images/base/x86_64.lock",
        "docs/how-to/read-a-verdict.md",
    ):
        assert f"reprokit/packaged/{name}" in names
    assert [name for name in names if not name.startswith(("reprokit/", "reprokit_verify-"))] == []
    taps = sorted(name.removeprefix(TAPS) for name in names if name.startswith(TAPS))
    assert {"taps.c", "inside/reprokit_taps.py", "inside/sitecustomize.py"} <= set(taps)
    assert "taps.so" not in taps
    assert wheel.name.endswith("-py3-none-any.whl")


@pytest.mark.skipif(
    importlib.util.find_spec("ziglang") is None, reason="ziglang, which builds the taps, is not installed"
)
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_a_wheel_for_one_machine_brings_its_taps(wheel: Path, tmp_path: Path, machine: str) -> None:
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    command = ["env", f"REPROKIT_TAPS_FOR={machine}", *pip, "--wheel-dir", tmp_path, wheel.parent / "source"]
    answer(*command, folder=tmp_path)
    (built,) = tmp_path.glob("*.whl")
    assert built.name.endswith(f"-py3-none-manylinux_2_17_{machine}.whl")
    library = zipfile.ZipFile(built).read(f"{TAPS}taps.so")
    number = {"x86_64": 62, "aarch64": 183}[machine]  # of the ELF standard
    assert (library[:4], int.from_bytes(library[18:20], "little")) == (b"\x7fELF", number)


def test_uvx_runs_it_from_the_wheel(wheel: Path, tmp_path: Path) -> None:
    words = [
        Path(sys.executable).parent / "uv",
        "tool",
        "run",
        "--from",
        f"reprokit-verify[all] @ {wheel.as_uri()}",
    ]
    assert "reprokit" in answer(*words, "reprokit", "--version", folder=tmp_path)


def test_pipx_installs_it_from_the_wheel(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PIPX_HOME", "PIPX_BIN_DIR", "PIPX_MAN_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    uv = Path(sys.executable).parent / "uv"
    answer(uv, "tool", "run", "pipx", "install", f"reprokit-verify[all] @ {wheel.as_uri()}", folder=tmp_path)
    assert "reprokit" in answer(tmp_path / "pipx_bin_dir" / "reprokit", "--version", folder=tmp_path)


@pytest.mark.parametrize("version", ["3.11", "3.13", "3.14"])
def test_in_an_empty_repository(wheel: Path, version: str, tmp_path: Path) -> None:
    repository, environment = tmp_path / "repository", tmp_path / "environment"
    repository.mkdir()
    answer("git", "init", "--quiet", folder=repository)
    answer(interpreter(version), "-m", "venv", environment, folder=tmp_path)
    pip = [environment / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "--quiet"]
    answer(*pip, "install", f"reprokit-verify[all] @ {wheel.as_uri()}", folder=tmp_path)
    reprokit = environment / "bin" / "reprokit"
    assert "reproduce" in answer(reprokit, "--help", folder=repository)
    assert "read-a-verdict" in answer(reprokit, "help", folder=repository)
    assert "REPRODUCED" in answer(reprokit, "help", "read-a-verdict", folder=repository)
    assert "unseeded_rng at fit.py" in answer(reprokit, "demo", folder=repository)
    assert "other project" not in answer(reprokit, "doctor", folder=repository)
    (repository / "requirements.txt").write_text("six\n")
    answer(reprokit, "image", "lock", "mine", "--from", "requirements.txt", folder=repository)
    assert (repository / "images" / "mine" / "Dockerfile").is_file()
    assert (repository / "images" / "mine" / "base" / "x86_64.lock").is_file()
    python = answer(reprokit, "image", "build", "mine", "--venv", folder=repository).strip()
    assert "six" in answer(f"{python}/bin/python", "-c", "import six; print(six.__name__)", folder=repository)


def typed(line: str, *, folder: Path, variables: dict[str, str]) -> str:
    """What a shell says of one line of the README, which ends as the README has it."""
    done = subprocess.run(
        ["bash", "-c", line], cwd=folder, env=variables, capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    assert done.returncode == CODES.get(line.partition("#")[0].strip(), 0), f"{line}\n{said}"
    return said


@pytest.mark.parametrize("version", ["3.11", "3.13", "3.14"])
def test_the_readme_as_it_is_typed(wheel: Path, version: str, tmp_path: Path, project: Path) -> None:
    (first, *_) = re.findall(
        r"^```\n(.*?)^```$", (project / "README.md").read_text(), re.MULTILINE | re.DOTALL
    )
    lines = [line for line in first.splitlines() if not line.startswith("#")]
    environment, folder = tmp_path / "environment", tmp_path / "my-project"
    folder.mkdir()
    answer("git", "init", "--quiet", folder=folder)
    (folder / "train.py").write_text(PROGRAM)
    (folder / "requirements.txt").write_text("six\n")
    answer("git", "add", "--all", folder=folder)
    answer(interpreter(version), "-m", "venv", environment, folder=tmp_path)
    variables = {
        **os.environ,
        "PATH": f"{environment}/bin{os.pathsep}{os.environ['PATH']}",
        "PIP_FIND_LINKS": str(wheel.parent),  # so that pip finds this version by the name that people type
        "DOCKER_HOST": "unix:///nonexistent/engine.sock",  # a virtual environment: quicker than an image
    }
    variables.pop("PYTHONPATH", None)
    said = {line: typed(line.replace(*ASKS_NOTHING), folder=folder, variables=variables) for line in lines}
    assert "unseeded_rng at fit.py" in said["reprokit demo"]
    assert "volatile" in said["reprokit init -- python train.py"]
    assert "NO_GOLDEN" in said["reprokit reproduce train"]
    assert "2 runs agree" in said["reprokit reproduce train"]
