"""images/lock.toml: what it must say, and how its faults are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprokit.errors import ImageError, RecipeError
from reprokit.images.building import bases
from reprokit.images.building.debian_packages import read_base_lock
from reprokit.images.locks import project_around, read_lock


def changed(project: Path, tmp_path: Path, old: str, new: str) -> Path:
    text = (project / "images" / "lock.toml").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "lock.toml").write_text(text.replace(old, new), encoding="utf-8")
    return tmp_path


def test_the_projects_own_lock_is_read(project: Path):
    lock = read_lock(project)
    assert lock.registry.reference.startswith("docker.io/library/python@sha256:")
    assert lock.variant("cpu").python == "3.11"
    assert lock.variant("cpu").packages_path == project / "images" / "cpu" / "requirements.lock"
    assert lock.bootstrap.epoch == 1790812800


def test_a_variant_s_own_system_packages_make_a_base_of_its_own_and_leave_the_others_alone(project: Path):
    lock = read_lock(project)
    tpu = lock.based_for(lock.variant("tpu"))
    assert tpu.bootstrap.packages == (*lock.bootstrap.packages, "libpython3.11")
    assert tpu.base_packages("x86_64").name == "x86_64+libpython3.11.lock"
    assert tpu.based_for(lock.variant("tpu-pypi")) == tpu
    assert tpu.based_for(lock.variant("cpu")) == lock == lock.based_for(lock.variant("cuda"))
    common, own = (set(read_base_lock(one.base_packages("x86_64"))) for one in (lock, tpu))
    assert {deb.name for deb in own ^ common} == {"libpython3.11"}
    kinds = [bases.identity(one, kind="bootstrap", machine="x86_64") for one in (lock, tpu)]
    assert len(set(kinds)) == 2


def test_an_unknown_variant_is_a_fault_of_the_recipe_and_lists_the_known(project: Path):
    with pytest.raises(RecipeError, match=r"expected cpu or cuda or tpu.*got 'gpu'") as caught:
        read_lock(project).variant("gpu")
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('digest = "sha256:', 'digest = "md5:', "not pinned by a digest"),
        ("schema = 1", "schema = 9", "unknown schema"),
        ('suite = "bookworm"', "", "'suite' is missing"),
        ("[variants.cpu]", "[variants", "not valid TOML"),
        ("schema = 1", "schema = " + "1" * 5000, "not valid TOML"),
        ("schema = 1", "schema = " + "[" * 5000, "not valid TOML"),
        ("[variants.", "[others.", "'variants' is missing"),
        ("[variants.cpu]", '[variants.cpu]\naccepted_images = ["cpu:1"]', "'cpu:1' is not an image ID"),
        ("[variants.cpu]", "[variants.cpu]\naccepted_images = [1]", "has the wrong type"),
        ("[variants.cpu]", "[variants]", "has the wrong type"),
    ],
)
def test_a_fault_is_named_with_the_file(project: Path, tmp_path: Path, old: str, new: str, said: str):
    with pytest.raises(ImageError, match=said) as caught:
        read_lock(changed(project, tmp_path, old, new))
    assert "lock.toml" in str(caught.value)


def test_the_project_is_found_from_any_folder_in_it(project: Path, tmp_path: Path):
    assert project_around(project / "images" / "cpu") == project
    with pytest.raises(ImageError, match="no environment under images"):
        project_around(tmp_path)
