"""Solving: real uv, a folder of small wheels as its only index."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprokit.errors import ImageError
from reprokit.features.locking.solve import solve
from reprokit.images.locks import External
from reprokit.images.packages import Target, read_packages

TARGETS = (Target(machine="x86_64", python="3.11"), Target(machine="aarch64", python="3.11"))
HOSTED = External(
    name="hosted",
    version="2.0+cpu",
    requires=("tiny>=1",),
    wheels={
        "hosted-2.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl": f"sha256:{'a' * 64}",
        "hosted-2.0+cpu-cp311-cp311-manylinux_2_28_aarch64.whl": f"sha256:{'b' * 64}",
        "hosted-2.0+cpu-cp312-cp312-manylinux_2_28_x86_64.whl": f"sha256:{'c' * 64}",
    },
)


@pytest.fixture
def answer(small_project, monkeypatch: pytest.MonkeyPatch):
    """Write an input, and solve it."""
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(small_project.wheels))
    path = small_project.root / "requirements.in"

    def solve_text(text: str, *, output: Path = small_project.root / "out.lock", targets=TARGETS):
        path.write_text(text, encoding="utf-8")
        return solve(
            [path],
            output=output,
            external=[HOSTED],
            python="3.11",
            targets=targets,
            made_by="make lock",
        )

    return solve_text


def test_a_package_hosted_elsewhere_brings_its_requirements_and_its_real_hashes(answer, tmp_path: Path):
    solution = answer("hosted==2.0+cpu\n")
    (tmp_path / "lock").write_text(solution.text, encoding="utf-8")
    hosted, tiny = read_packages(tmp_path / "lock")
    assert hosted.hashes == (f"sha256:{'a' * 64}", f"sha256:{'b' * 64}")
    assert tiny.pin == "tiny==1.0"
    assert solution.moved == ("hosted (none) -> 2.0+cpu", "tiny (none) -> 1.0")


def test_a_lock_for_every_python_holds_the_hashes_of_all(answer):
    assert "c" * 64 in answer("hosted==2.0+cpu\n", targets=()).text


def test_the_lock_names_no_place(answer, small_project):
    text = answer("hosted==2.0+cpu\n").text
    assert str(small_project.wheels) not in text
    assert "reprokit-solve" not in text
    assert text.startswith("# Solved by `make lock`")


def test_what_no_target_needs_is_left_out_and_needless_markers_are_dropped(answer, small_project):
    small_project.add_wheel("windows")
    text = 'tiny ; sys_platform == "linux"\nwindows ; sys_platform == "win32"\n'
    assert answer(text).text.splitlines()[1].startswith("tiny==1.0 \\")
    assert "windows" not in answer(text).text
    assert 'tiny==1.0 ; sys_platform == "linux"' in answer(text, targets=()).text


def test_versions_stay_until_the_input_asks_for_others(answer, small_project):
    output = small_project.root / "out.lock"
    output.write_text(answer("tiny\n").text, encoding="utf-8")
    small_project.add_wheel(version="2.0")
    assert answer("tiny\n").agrees
    assert answer("tiny>1\n").moved == ("tiny 1.0 -> 2.0",)
    assert not answer("tiny>1\n").agrees


def test_a_lock_that_was_edited_by_hand_does_not_agree(answer, small_project):
    output = small_project.root / "out.lock"
    text = answer("tiny\n").text
    output.write_text(text.replace("tiny==1.0", "tiny==1.0  "), encoding="utf-8")
    assert not answer("tiny\n").agrees
    output.write_text(text, encoding="utf-8")
    assert answer("tiny\n").agrees


def test_no_solution_is_an_error_with_the_solvers_words(answer):
    with pytest.raises(ImageError, match="could not be solved") as caught:
        answer("tiny>7\n")
    assert "tiny" in caught.value.actual
    assert "requirements.in" in caught.value.where
