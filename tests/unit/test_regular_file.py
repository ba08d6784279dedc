"""A pipe in the place of a file that the tool reads by itself is an error or nothing, and never a wait."""

import os
import subprocess
import sys

import pytest

from reprokit.regular_file import NotRegularError, read_regular


@pytest.fixture
def project(tmp_path):
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    (tmp_path / "runs").mkdir()
    (tmp_path / "recipes").mkdir()
    return tmp_path


def test_a_file_and_what_a_link_leads_to_are_read(tmp_path):
    (tmp_path / "a").write_bytes(b"12345")
    (tmp_path / "b").symlink_to("a")
    assert read_regular(tmp_path / "b") == b"12345"
    assert read_regular(tmp_path / "a", most_bytes=2) == b"12"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_regular_file_is_refused(tmp_path, make):
    make(tmp_path / "odd")
    with pytest.raises(NotRegularError, match="not a regular file"):
        read_regular(tmp_path / "odd")


@pytest.mark.parametrize(
    ("name", "verb"),
    [
        ("runs/.index.json", ["runs", "list"]),
        ("pyproject.toml", ["recipe", "check"]),
        ("Makefile", ["runs", "list"]),
        ("images/mine/variant.toml", ["image", "list"]),
    ],
)
def test_a_pipe_in_a_project_is_waited_for_by_no_verb(project, name, verb):
    (project / name).parent.mkdir(exist_ok=True, parents=True)
    os.mkfifo(project / name)
    done = subprocess.run(
        [sys.executable, "-m", "reprokit", *verb],
        cwd=project,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert b"Traceback" not in done.stderr
    assert done.returncode in {0, 2, 3, 4}
