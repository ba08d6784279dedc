"""Which Python an environment has, of what is asked for and what files allow."""

from __future__ import annotations

import sys

import pytest

from reprokit.errors import ImageError, UsageError
from reprokit.features.locking.choose_python import (
    CommandPython,
    Wish,
    as_version,
    choose_python,
    python_of,
    version_file,
)
from reprokit.features.locking.python_limits import PythonLimit, limits_of, standard_range
from reprokit.images import interpreters

OLD = PythonLimit(">=3.8,<3.11", "pyproject.toml")
NEW = PythonLimit(">=3.12", "uv.lock")
STARTED = CommandPython(python="3.11")


@pytest.fixture(autouse=True)
def nothing_else_here(monkeypatch):
    monkeypatch.setattr(interpreters, "on_this_host", lambda python: None)


@pytest.mark.parametrize(
    ("wishes", "limits", "command", "expected"),
    [
        (
            [Wish("3.10", "--python"), Wish("3.9", ".python-version")],
            [OLD],
            STARTED,
            "3.10, as --python says",
        ),
        ([Wish("3.9", ".python-version")], [], STARTED, "3.9, as .python-version says"),
        ([Wish("3.13t", ".python-version")], [NEW], None, "3.13t, as .python-version says"),
        ([], [], STARTED, "3.11, which the command starts here"),
        ([], [NEW], CommandPython(python="3.14t"), "3.14t, which the command starts here"),
        (
            [],
            [OLD],
            STARTED,
            "3.10: pyproject.toml asks for >=3.8,<3.11, and the command starts 3.11 here",
        ),
        ([], [], CommandPython(unknown="it is no Python"), "3.11: no file says which, and it is no Python"),
        ([], [NEW], None, "3.12: uv.lock asks for >=3.12"),
        ([], [NEW, PythonLimit(">= 3.12", "b")], None, "3.12: uv.lock asks for >=3.12"),
        ([], [NEW, PythonLimit("<3.14", "b")], None, "3.12: uv.lock asks for >=3.12; b asks for <3.14"),
        ([], [], None, "3.11: no file says which"),
    ],
)
def test_what_is_chosen_and_why(wishes, limits, command, expected):
    assert choose_python(wishes, limits, command=command).sentence == expected


def test_one_that_this_host_has_is_preferred_to_one_that_it_lacks(monkeypatch):
    here = interpreters.Interpreter(version="3.9.18", minor="3.9", path="/python")
    monkeypatch.setattr(interpreters, "on_this_host", lambda python: here if python == "3.9" else None)
    assert choose_python([], [OLD], command=STARTED).python == "3.9"


@pytest.mark.parametrize("where", ["--python", ".python-version", "images/mine/variant.toml"])
def test_a_wish_that_a_file_forbids_is_refused_naming_both(where):
    with pytest.raises(UsageError) as caught:
        choose_python([Wish("3.10", where)], [NEW], command=STARTED)
    assert caught.value.exit_code == 2
    assert (caught.value.expected, caught.value.actual) == (
        "Python >=3.12 (uv.lock)",
        f"Python 3.10 ({where})",
    )


def test_files_that_contradict_each_other_are_both_named():
    with pytest.raises(UsageError, match=r"pyproject.toml, uv.lock: no Python .* fits these files"):
        choose_python([], [OLD, NEW], command=STARTED)


@pytest.mark.parametrize("python", ["2.7", "3.7", "3.99"])
def test_a_python_that_programs_cannot_have_here(python):
    with pytest.raises(UsageError, match=r"3\.8 to 3\.15"):
        choose_python([Wish(python, "--python")], [], command=None)


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("3.10\n", "3.10"),
        ("# ours\n3.12.1\n3.9\n", "3.12"),
        ("cpython@3.11", "3.11"),
        ("cpython-3.13.1-linux-x86_64-gnu", "3.13"),
        ("3.13.0t", "3.13t"),
        ("3.15-dev", "3.15"),
        ("2.7.18", "2.7"),
        ("my-environment", None),
        ("", None),
    ],
)
def test_python_version_files(tmp_path, text, python):
    (tmp_path / ".python-version").write_text(text)
    assert version_file(tmp_path) == (Wish(python, ".python-version") if python else None)


def test_a_python_version_file_of_another_implementation(tmp_path):
    (tmp_path / ".python-version").write_text("pypy3.10-7.3.12\n")
    with pytest.raises(UsageError, match="CPython only"):
        version_file(tmp_path)


def test_no_python_version_file(tmp_path):
    assert version_file(tmp_path) is None


@pytest.mark.parametrize("text", ["three", "3", ""])
def test_what_is_no_version(text):
    with pytest.raises(UsageError, match="not a version of Python"):
        as_version(text)


def test_the_python_of_a_command_is_asked(tmp_path):
    here = f"3.{sys.version_info.minor}"
    assert python_of([sys.executable, "train.py"], root=tmp_path).python.rstrip("t") == here


def test_a_command_that_starts_no_python_says_so(tmp_path):
    assert "make is no Python" in python_of(["make", "train"], root=tmp_path).unknown


def test_a_python_that_does_not_run_is_not_known(tmp_path):
    shim = tmp_path / "python"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    assert "does not run" in python_of([str(shim), "train.py"], root=tmp_path).unknown


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("pyproject.toml", '[project]\nrequires-python = ">=3.8,<3.11"\n', ">=3.8,<3.11"),
        ("pyproject.toml", '[tool.poetry.dependencies]\npython = "^3.9"\n', ">=3.9,<4"),
        ("pyproject.toml", '[tool.poetry.dependencies]\npython = {version = "~3.9"}\n', ">=3.9,<3.10"),
        ("setup.cfg", "[options]\npython_requires = >=3.7\n", ">=3.7"),
        ("setup.py", "from setuptools import setup\nsetup(python_requires='<3.11')\n", "<3.11"),
    ],
)
def test_what_a_project_allows(tmp_path, name, text, expected):
    (tmp_path / name).write_text(text)
    assert limits_of(tmp_path) == (PythonLimit(expected, name),)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", "[tool.ruff]\n"),
        ("pyproject.toml", "not toml ["),
        ("setup.cfg", "no section\n"),
        ("setup.py", "setup(python_requires=VERSIONS)\n"),
        ("setup.py", "print 'of Python 2'\n"),
    ],
)
def test_files_that_say_nothing_of_it(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert limits_of(tmp_path) == ()


@pytest.mark.parametrize(
    ("text", "python", "fits"),
    [
        (">=3.11.4", "3.11", True),
        ("<3.11", "3.11", False),
        ("<3.11", "3.10", True),
        ("==3.10.*", "3.10", True),
        (">=3.13", "3.13t", True),
        ("", "3.8", True),
    ],
)
def test_some_patch_level_has_to_fit(text, python, fits):
    assert PythonLimit(text, "a").allows(python) is fits


def test_what_is_no_range_is_named():
    with pytest.raises(ImageError, match="not a range of Python versions: three"):
        PythonLimit("three", "pyproject.toml").allows("3.11")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("3.10", "==3.10.*"), ("3.10.4", "==3.10.4"), ("~=3.9", "~=3.9"), ("^3.8 | ^3.9", ""), ("~3", ">=3,<4")],
)
def test_ranges_of_poetry_in_the_standard_form(text, expected):
    assert standard_range(text) == expected


def test_uv_is_asked_which_python_it_takes(tmp_path, monkeypatch):
    monkeypatch.setattr(interpreters, "of_uv", lambda **_: sys.executable)
    found = python_of(["uv", "run", "train.py"], root=tmp_path)
    assert found.python.rstrip("t") == f"3.{sys.version_info.minor}"
    monkeypatch.setattr(interpreters, "of_uv", lambda **_: "")
    assert python_of(["uv", "run", "train.py"], root=tmp_path).unknown == "uv finds none here"
