"""Code of a pinned program that is from elsewhere, told from the system's own and from data."""

from __future__ import annotations

import zipfile

import pytest

from reprokit.execution.code_elsewhere import judged, libraries_of
from reprokit.workspace import sha256_of

PYTHON = "/usr/bin/python3.11"
LIBRARIES = ["/apps/python/lib/python3.11"]


def files_of(*opened):
    return judged({"opened": opened, "unknown": ""}, python=LIBRARIES).get("files", {})


@pytest.mark.parametrize(
    ("path", "program"),
    [
        ("/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30", PYTHON),
        ("/lib64/ld-linux-x86-64.so.2", PYTHON),
        ("/usr/local/nvidia/lib64/libcuda.so.1", PYTHON),
        ("/nix/store/abc-glibc/lib/libc.so.6", PYTHON),
        ("/apps/python/lib/libpython3.11.so.1.0", PYTHON),
        ("/usr/share/gdb/auto-load/libstdcxx.py", "/usr/bin/gdb"),
        ("/usr/local/lib/libpcre2.so.0", "/usr/local/bin/git"),
        ("/usr/lib/python3/dist-packages/lsb_release.py", "/usr/bin/lsb_release"),
    ],
)
def test_libraries_and_tools_of_the_system_are_the_hosts(path, program):
    assert files_of(("opened", path, program)) == {}


@pytest.mark.parametrize(
    "path",
    [
        "/usr/lib/python3/dist-packages/numpy/core.so",
        "/usr/lib/python3/dist-packages/numpy/__init__.py",
        "/usr/lib/python3.12/random.py",
        "/usr/local/lib/libmine.so",
        "/usr/local/cuda/lib64/libcublas.so.12",
        "/apps/python/lib/python3.11/site-packages/numpy/core.so",
        "/opt/module.py",
    ],
)
def test_packages_and_libraries_of_other_folders_are_not(path):
    assert files_of(("opened", path, PYTHON)).keys() == {path}


@pytest.mark.parametrize("path", ["/usr/bin/git", "/usr/local/bin/nvidia-smi", "/sbin/ldconfig"])
def test_a_program_of_the_system_may_be_started(path):
    assert files_of(("started", path, PYTHON)) == {}


@pytest.mark.parametrize(
    "path",
    ["/usr/bin/python3", "/usr/local/bin/python3.12", "/opt/venv/bin/python", "/usr/bin/pypy3", "/opt/run"],
)
def test_another_python_and_programs_of_other_folders_are_named(path):
    assert files_of(("started", path, "/usr/bin/bash")).keys() == {path}


@pytest.mark.parametrize("path", [PYTHON, "/usr/lib/python3.11/os.py"])
def test_what_the_loader_of_the_system_runs_is_no_tool(path):
    loader = "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
    assert files_of(("opened", path, loader)).keys() == {path}
    assert files_of(("opened", "/usr/lib/x86_64-linux-gnu/libm.so.6", loader)) == {}


def test_byte_code_is_named_by_its_source_and_digested(tmp_path):
    source = tmp_path / "module.py"
    source.write_text("")
    compiled = tmp_path / "__pycache__" / "module.cpython-311.pyc"
    assert files_of(("opened", str(compiled), PYTHON)) == {str(source): sha256_of(source)}


def test_archives_and_weights_count_by_what_they_hold(tmp_path):
    code, data, torn, weights, paths = (
        tmp_path / name for name in ("code.zip", "data.zip", "torn.zip", "weights.pth", "paths.pth")
    )
    for path, name in ((code, "module.py"), (data, "rows.csv")):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(name, "")
    torn.write_bytes(b"PK\3\4")
    weights.write_bytes(b"PK\3\4\0\0")
    paths.write_text("/opt/modules\n")
    every = [("opened", str(path), PYTHON) for path in (code, data, torn, weights, paths)]
    assert files_of(*every).keys() == {str(code), str(paths)}


@pytest.mark.parametrize("what", ["read", "listed"])
def test_what_is_told_of_files_of_other_runs_is_no_code(what):
    assert files_of((what, "/home/me/project", PYTHON)) == {}


def test_what_could_not_be_seen_is_said():
    assert judged({"opened": [], "unknown": "no one told"}, python=[]) == {"unknown": "no one told"}
    assert "guard" in judged({"status": 0}, python=[])["unknown"]


def test_very_much_code_is_not_listed_whole():
    opened = [("opened", f"/opt/m{number}.py", PYTHON) for number in range(2_001)]
    found = judged({"opened": opened, "unknown": ""}, python=[])
    assert len(found["files"]) == 2_000
    assert "more than 2,000" in found["unknown"]


def test_the_library_of_an_environments_python_is_found_by_where_that_python_lies(tmp_path):
    base, environment = tmp_path / "base", tmp_path / "environment"
    for folder in (
        base / "bin",
        base / "lib" / "python3.11",
        base / "lib" / "python3.9",
        environment / "bin",
    ):
        folder.mkdir(parents=True)
    (base / "bin" / "python3.11").touch()
    (environment / "bin" / "python").symlink_to(base / "bin" / "python3.11")
    (environment / "pyvenv.cfg").write_text(f"home = {base / 'bin'}\n")
    assert libraries_of(str(environment / "bin" / "python")) == [str(base / "lib" / "python3.11")]
