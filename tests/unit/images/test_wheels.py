"""Wheels: real pip, a folder as its only index."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprokit.errors import ImageError
from reprokit.images import wheels
from reprokit.images.locks import Variant, read_lock
from reprokit.images.packages import Target

TARGET = Target(machine="x86_64", python="3.11")


@pytest.fixture
def variant(small_project) -> Variant:
    return read_lock(small_project.root).variant("cpu")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_wheels_are_fetched_once_and_found_again(small_project, variant):
    said = []
    first = wheels.fetch(variant, TARGET, cache=small_project.cache, on_progress=said.append)
    assert names(first) == ["requirements.txt", "tiny-1.0-py3-none-any.whl"]
    assert said == ["wheels: 1 of 1, tiny-1.0-py3-none-any.whl"]
    assert wheels.fetch(variant, TARGET, cache=small_project.cache, on_progress=pytest.fail) == first


def test_another_machine_gets_a_folder_of_its_own(small_project, variant):
    arm = Target(machine="aarch64", python="3.11")
    here = wheels.fetch(variant, TARGET, cache=small_project.cache, on_progress=print)
    assert wheels.fetch(variant, arm, cache=small_project.cache, on_progress=print) != here


def test_a_wheel_that_is_not_the_locked_one_is_refused_with_both_hashes(small_project, variant):
    locked = small_project.lock.read_text(encoding="utf-8").strip().rsplit(":", 1)[1]
    served = small_project.add_wheel(text="print('not what was locked')\n").strip().rsplit(":", 1)[1]
    with pytest.raises(ImageError, match=r"tiny==1\.0.*not the one that the lock names") as caught:
        wheels.fetch(variant, TARGET, cache=small_project.cache, on_progress=print)
    assert caught.value.expected == f"sha256:{locked}"
    assert caught.value.actual == f"sha256:{served}"
    assert caught.value.where == str(small_project.lock)


def test_nothing_is_left_of_a_refused_download(small_project, variant):
    small_project.add_wheel(text="print('not what was locked')\n")
    with pytest.raises(ImageError):
        wheels.fetch(variant, TARGET, cache=small_project.cache, on_progress=print)
    assert names(small_project.cache / "wheels") == []


def test_a_wheel_that_no_index_has_is_named(small_project, variant):
    line = small_project.add_wheel("gone")
    (small_project.wheels / "gone-1.0-py3-none-any.whl").unlink()
    small_project.lock.write_text(line, encoding="utf-8")
    with pytest.raises(ImageError, match=r"gone==1\.0: no index has this wheel"):
        wheels.fetch(variant, TARGET, cache=small_project.cache, on_progress=print)


def test_a_source_archive_is_never_built(small_project, variant):
    line = small_project.add_wheel("source")
    (small_project.wheels / "source-1.0-py3-none-any.whl").rename(small_project.wheels / "source-1.0.zip")
    small_project.lock.write_text(line, encoding="utf-8")
    with pytest.raises(ImageError, match="no index has this wheel"):
        wheels.fetch(variant, TARGET, cache=small_project.cache, on_progress=print)


def test_a_wheel_for_another_python_is_not_taken(small_project, variant):
    line = small_project.add_wheel("other")
    (small_project.wheels / "other-1.0-py3-none-any.whl").rename(
        small_project.wheels / "other-1.0-cp312-cp312-manylinux_2_28_x86_64.whl"
    )
    small_project.lock.write_text(line, encoding="utf-8")
    with pytest.raises(ImageError, match="no index has this wheel"):
        wheels.fetch(variant, TARGET, cache=small_project.cache, on_progress=print)
    found = wheels.fetch(
        variant, Target(machine="x86_64", python="3.12"), cache=small_project.cache, on_progress=print
    )
    assert names(found)[0].startswith("other-1.0-cp312")


def test_a_machine_that_the_lock_does_not_cover_is_told_so(small_project, variant):
    with pytest.raises(ImageError, match=r"expected x86_64 or aarch64\. got riscv64"):
        wheels.fetch(
            variant, Target(machine="riscv64", python="3.11"), cache=small_project.cache, on_progress=print
        )


def test_an_interrupted_download_leaves_nothing_that_is_taken_for_whole(small_project, variant):
    def interrupt(_line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wheels.fetch(variant, TARGET, cache=small_project.cache, on_progress=interrupt)
    assert names(small_project.cache / "wheels") == []
    assert names(wheels.fetch(variant, TARGET, cache=small_project.cache, on_progress=print))


def test_a_pip_that_the_judged_tree_brings_is_never_run(small_project, variant, tmp_path, monkeypatch):
    ran = tmp_path / "ran"
    (tmp_path / "pip.py").write_text(f"open({str(ran)!r}, 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = wheels.fetch(variant, TARGET, cache=small_project.cache, on_progress=print)
    assert names(found) == ["requirements.txt", "tiny-1.0-py3-none-any.whl"]
    assert not ran.exists()
