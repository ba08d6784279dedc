"""The line of code of a cause: from the program's own files, and from no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprokit.diagnosis import Cause
from reprokit.harness.diagnosing.diagnosis import DIFFERS, Diagnosis
from reprokit.harness.diagnosing.source_lines import with_source_lines


def source(file, line, *, below=None):
    cause = Cause(category="clock", file=str(file), line=line, what="x", fix="y", confidence="high")
    found = Diagnosis(verdict=DIFFERS, causes=(cause,), folder=Path("x"), runs=3)
    return with_source_lines(found, below=below).as_data()["cause"]["source"]


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "project" / "train.py"
    path.parent.mkdir()
    path.write_text(
        "import time\n\n    seed = time.time()  # π\nAPI_KEY = 'sk-abcdefghijklmnopqrst1234'\n" + "x" * 999
    )
    return path


def test_it_is_the_line_without_its_indentation(program):
    assert source(program, 3) == "seed = time.time()  # π"
    assert source(program, 3, below=program.parent) == "seed = time.time()  # π"


def test_a_secret_is_left_out_and_a_long_line_cut(program):
    assert "abcdefghij" not in source(program, 4)
    assert source(program, 5) == "x" * 159 + "…"


@pytest.mark.parametrize("line", [0, -1, 99])
def test_a_line_that_is_not_there_is_not_shown(program, line):
    assert source(program, line) == ""


def test_a_program_in_a_container_cannot_name_a_file_outside_its_project(program, tmp_path):
    (tmp_path / "secret").write_text("hidden\n")
    (program.parent / "link.py").symlink_to(tmp_path / "secret")
    assert source(tmp_path / "secret", 1, below=program.parent) == ""
    assert source(program.parent / "link.py", 1, below=program.parent) == ""
    assert source(program.parent / ".." / "secret", 1, below=program.parent) == ""


def test_a_file_that_is_gone_or_a_folder_has_no_line(tmp_path):
    assert source(tmp_path / "gone.py", 1) == ""
    assert source(tmp_path, 1) == ""


@pytest.mark.parametrize(
    ("line", "is_seed"),
    [
        ("random.seed(time.time_ns())", True),
        ("rng = numpy.random.default_rng(int(time.time()))", True),
        ("seed = int(time.time())", True),
        ("key = jax.random.PRNGKey(time.time_ns() % 2**31)", True),
        ("loss += time.time() % 1e-3", False),
        ("if time.time() > deadline:", False),
    ],
)
def test_a_clock_that_gives_a_seed_is_to_be_replaced_by_a_setting(tmp_path, line, is_seed):
    (tmp_path / "train.py").write_text(f"{line}\n")
    cause = Cause(
        category="clock", file=str(tmp_path / "train.py"), line=1, what="x", fix="y", confidence="high"
    )
    found = with_source_lines(Diagnosis(verdict=DIFFERS, causes=(cause,), folder=Path("x"), runs=3))
    fix = "take the seed from a setting in place of the time" if is_seed else "y"
    assert found.as_data()["cause"]["fix"] == fix


def around(file, line, *, below=None):
    cause = Cause(category="clock", file=str(file), line=line, what="x", fix="y", confidence="high")
    found = Diagnosis(verdict=DIFFERS, causes=(cause,), folder=Path("x"), runs=3)
    told = with_source_lines(found, below=below).as_data()["cause"]
    return told["around_from"], list(told["around"])


def test_the_lines_around_it_keep_their_indentation(program):
    first, lines = around(program, 3)
    assert first == 1
    assert lines[:3] == ["import time", "", "    seed = time.time()  # π"]
    assert around(program, 5)[0] == 2
    assert around(program, 99) == (None, [])
    assert around(program, 3, below=program.parent / "elsewhere") == (None, [])


def test_no_secret_is_in_the_lines_around_it(program):
    assert "abcdefghij" not in "".join(around(program, 3)[1])


def test_lines_among_which_a_secret_of_several_lines_stands_are_left_out_or_without_it(tmp_path):
    key = [
        "-----BEGIN PRIVATE KEY-----",
        *("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" * 2,) * 2,
        "-----END PRIVATE KEY-----",
    ]
    file = tmp_path / "train.py"
    file.write_text("\n".join(["import time", 'KEY = """', *key, '"""', "time.time()"]))
    for line in range(1, 9):
        assert "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" not in "".join(around(file, line)[1]), line
