"""Where an interpreter comes from: this host, or uv when it is asked to."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tarfile
from pathlib import Path

import pytest

from reprokit.errors import ImageError
from reprokit.images import interpreters
from reprokit.workspace import sha256_of

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


#: Interpreters of this host with a folder of their own, which a list of downloads can offer.
KEPT = sorted((Path.home() / ".pyenv" / "versions").glob("3.*.*/bin/python3.*[0-9]"))


def offered(kept: Path, archive: Path) -> dict[str, object]:
    """What uv's list of downloads says of an archive that is made of an interpreter of this host."""
    home, (major, minor, patch) = kept.parents[1], map(int, kept.parts[-3].split("."))
    left_out = {"site-packages", "test", "__pycache__", "ensurepip", "idlelib", "tkinter"}

    def chosen(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        return None if left_out & {*Path(member.name).parts} else member

    with tarfile.open(archive, "w:gz", compresslevel=1) as file:
        file.add(kept, f"python/bin/{kept.name}")
        file.add(home / "lib" / kept.name, f"python/lib/{kept.name}", filter=chosen)
    arch = {"family": os.uname().machine, "variant": None}
    version = {
        "major": major,
        "minor": minor,
        "patch": patch,
        "prerelease": "",
        "variant": None,
        "build": "1",
    }
    where = {"url": archive.as_uri(), "sha256": sha256_of(archive).removeprefix("sha256:")}
    return {"name": "cpython", "arch": arch, "os": "linux", "libc": "gnu", **version, **where}


@pytest.mark.slow
def test_one_is_fetched_when_that_is_asked_for(bare, monkeypatch):
    kept = next((one for one in KEPT if one.name not in {f"python{HERE}", "python3.6", "python3.7"}), None)
    if kept is None:
        pytest.skip("pyenv of this host keeps no other Python")
    version, entry = kept.parts[-3], offered(kept, bare / "archive.tar.gz")
    downloads = bare / "downloads.json"
    downloads.write_text(json.dumps({f"cpython-{version}-linux-{os.uname().machine}-gnu": entry}))
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS_JSON_URL", str(downloads))
    python = kept.name.removeprefix("python")
    with pytest.raises(ImageError, match="this host has none"):
        find(python)
    found = find(python, fetch=True, said=lambda _line: None)
    assert found.version == version
    assert Path(found.path).is_relative_to(bare / "uv")
    assert find(python) == found
