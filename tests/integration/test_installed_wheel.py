"""The wheel alone, in a fresh environment and an empty repository: it brings all it needs."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def answer(*command: str | Path, folder: Path) -> str:
    done = subprocess.run(
        [str(one) for one in command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


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


@pytest.fixture(scope="module")
def wheel(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy of what git knows, so that nothing else of this checkout gets into it."""
    folder = tmp_path_factory.mktemp("wheel")
    listed = answer("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", folder=project)
    for name in filter(None, listed.split("\0")):
        if (project / name).is_file():
            (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(project / name, folder / "source" / name)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    answer(*pip, "--wheel-dir", folder, folder / "source", folder=folder)
    (built,) = folder.glob("*.whl")
    return built


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


@pytest.mark.parametrize("version", ["3.11", "3.13"])
def test_in_an_empty_repository(wheel: Path, version: str, tmp_path: Path) -> None:
    repository, environment = tmp_path / "repository", tmp_path / "environment"
    repository.mkdir()
    answer("git", "init", "--quiet", folder=repository)
    answer(interpreter(version), "-m", "venv", environment, folder=tmp_path)
    pip = [environment / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "--quiet"]
    answer(*pip, "install", wheel, folder=tmp_path)
    reprokit = environment / "bin" / "reprokit"
    assert "reproduce" in answer(reprokit, "--help", folder=repository)
    assert "read-a-verdict" in answer(reprokit, "help", folder=repository)
    assert "REPRODUCED" in answer(reprokit, "help", "read-a-verdict", folder=repository)
    assert "other project" not in answer(reprokit, "doctor", folder=repository)
    (repository / "requirements.txt").write_text("six\n")
    answer(reprokit, "image", "lock", "mine", "--from", "requirements.txt", folder=repository)
    assert (repository / "images" / "mine" / "Dockerfile").is_file()
    assert (repository / "images" / "mine" / "base" / "x86_64.lock").is_file()
    python = answer(reprokit, "image", "build", "mine", "--venv", folder=repository).strip()
    assert "six" in answer(f"{python}/bin/python", "-c", "import six; print(six.__name__)", folder=repository)
