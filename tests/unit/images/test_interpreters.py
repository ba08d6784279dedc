"""Where an interpreter comes from: this host, or uv when it is asked to."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from reprokit.errors import ImageError
from reprokit.images import interpreters

HERE = f"3.{sys.version_info.minor}"


@pytest.fixture
def bare(tmp_path, monkeypatch) -> Path:
    """A host with a shell and no Python that a name, pyenv, uv or conda leads to."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "sh").symlink_to(shutil.which("sh") or "/bin/sh")
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setenv("UV_PYTHON_INSTALL_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    return tmp_path


def put(path: Path, version: str, *, implementation: str = "CPython", threads: bool = False) -> Path:
    """An interpreter that says of itself that it is that version."""
    minor = ".".join(version.split(".")[:2]) + ("t" if threads else "")
    facts = {"version": version, "minor": minor, "implementation": implementation, "path": str(path)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{json.dumps(facts)}'\n")
    path.chmod(0o755)
    return path


def find(python: str, *, fetch: bool = False, said=pytest.fail):
    return interpreters.find_interpreter(python, fetch=fetch, on_progress=said)


def test_this_python_is_taken_when_it_fits():
    assert Path(find(HERE).path).samefile(sys.executable)


def test_one_on_the_path(bare):
    put(bare / "bin" / "python3.98", "3.98.2")
    assert find("3.98").version == "3.98.2"


def test_a_plain_name_on_the_path_counts_when_it_is_that_version(bare):
    put(bare / "bin" / "python3", "3.98.2")
    assert find("3.98").version == "3.98.2"
    with pytest.raises(ImageError, match=r"needs Python 3\.97"):
        find("3.97")


def test_one_of_pyenv_the_newest_patch_level(bare):
    for version in ("3.98.2", "3.98.10"):
        put(bare / "pyenv" / "versions" / version / "bin" / "python", version)
    assert find("3.98").version == "3.98.10"


def test_a_build_without_the_gil_is_another_python(bare):
    versions = bare / "pyenv" / "versions"
    put(versions / "3.98.2t" / "bin" / "python", "3.98.2", threads=True)
    assert find("3.98t").minor == "3.98t"
    with pytest.raises(ImageError, match=r"needs Python 3\.98,"):
        find("3.98")


def test_one_of_conda(bare, monkeypatch):
    put(bare / "mine" / "bin" / "python", "3.98.2")
    (bare / ".conda").mkdir()
    (bare / ".conda" / "environments.txt").write_text(f"{bare}/gone\n{bare}/mine\n")
    assert find("3.98").path == f"{bare}/mine/bin/python"
    put(bare / "active" / "bin" / "python", "3.98.3")
    monkeypatch.setenv("CONDA_PREFIX", str(bare / "active"))
    assert find("3.98").version == "3.98.3"


@pytest.mark.parametrize("text", ["exit 127", "echo no JSON", "echo '{}'", "echo 3"])
def test_what_does_not_say_who_it_is_is_passed_over(bare, text):
    shim = bare / "bin" / "python3.98"
    shim.write_text(f"#!/bin/sh\n{text}\n")
    shim.chmod(0o755)
    with pytest.raises(ImageError, match=r"needs Python 3\.98") as caught:
        find("3.98")
    assert "uv python install 3.98" in caught.value.fix
    assert "--fetch-python" in caught.value.fix


def test_another_implementation_is_passed_over(bare):
    put(bare / "bin" / "python3.98", "3.98.2", implementation="PyPy")
    with pytest.raises(ImageError, match=r"needs Python 3\.98"):
        find("3.98")


def test_nothing_is_fetched_unasked_and_what_cannot_be_is_said(bare, monkeypatch):
    downloads = bare / "downloads.json"
    downloads.write_text("{}")
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS_JSON_URL", str(downloads))
    with pytest.raises(ImageError, match="this host has none"):
        find("3.98")
    said: list[str] = []
    with pytest.raises(ImageError, match=r"uv could not fetch Python 3\.98"):
        find("3.98", fetch=True, said=said.append)
    assert said == ["no Python 3.98 on this host: uv fetches one"]
