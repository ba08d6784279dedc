"""An environment that someone else declared: whatever making it would follow must be this tool's own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from reprokit.errors import ImageError, RecipeError
from reprokit.images.foreign_lock import must_be_as_shipped
from reprokit.packaged import packaged


@pytest.fixture
def theirs(tmp_path) -> Path:
    """The environments of a bundle: as this tool has them."""
    shutil.copytree(packaged("images"), tmp_path / "images", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def change(project: Path, old: str, new: str, *, file: str = "lock.toml") -> None:
    path = project / "images" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_what_this_tool_brings_is_taken_and_so_is_another_package_lock(theirs):
    must_be_as_shipped(theirs, "cpu", vendored=False)
    must_be_as_shipped(theirs, "tpu", vendored=False)
    (theirs / "images" / "cpu" / "requirements.lock").write_text("")  # what it installs is inside the image
    must_be_as_shipped(theirs, "cpu", vendored=False)


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('suite = "bookworm"', 'suite = "--customize-hook=id"', "the distribution"),
        ("timestamp = 2026-10-01", "timestamp = 2026-10-02", "the distribution"),
        ('"ca-certificates", ', '"ca-certificates", "evil", ', "the list of distribution packages"),
        ("docker.io/library/python", "example.org/evil", "the base image"),
        ("https://download.pytorch.org/whl/cpu", "https://example.org/simple", "a package index"),
        (
            'title = "PyTorch on CPUs"\npython = "3.11"',
            'title = "x"\npython = "/../x"',
            "the version of Python",
        ),
        ('title = "PyTorch on CPUs"', f'title = "x"\naccepted_images = ["sha256:{"0" * 64}"]', "an image"),
        (
            'title = "PyTorch on CPUs"',
            'title = "x"\nrelaxations = { host_network = true }',
            "what it opens of the host",
        ),
        (
            'title = "PyTorch on CPUs"',
            'title = "x"\nrelaxations = { devices = ["/dev/sda"] }',
            "what it opens of the host",
        ),
    ],
)
def test_a_change_in_what_this_host_would_do_is_refused_by_name(theirs, old, new, what):
    change(theirs, old, new)
    with pytest.raises(ImageError, match=f"{what}.* of the environment 'cpu' differs"):
        must_be_as_shipped(theirs, "cpu", vendored=False)


def test_another_dockerfile_and_other_distribution_packages_are_refused(theirs):
    change(theirs, "FROM", "# evil\nFROM", file="Dockerfile")
    with pytest.raises(ImageError, match="the Dockerfile of"):
        must_be_as_shipped(theirs, "cpu", vendored=False)
    shutil.copyfile(packaged("images") / "Dockerfile", theirs / "images" / "Dockerfile")
    change(theirs, "sha256:", f"sha256:{'0' * 64} #", file="base/x86_64.lock")
    with pytest.raises(ImageError, match="the lock of the distribution packages of"):
        must_be_as_shipped(theirs, "cpu", vendored=True)


def test_an_index_does_not_matter_where_the_packages_come_along(theirs):
    change(theirs, "https://download.pytorch.org/whl/cpu", "https://example.org/simple")
    must_be_as_shipped(theirs, "cpu", vendored=True)


def test_the_environment_that_is_taken_instead_is_held_to_the_same(theirs):
    change(theirs, "[variants.tpu-pypi.relaxations]\n", '[variants.tpu-pypi.relaxations]\nuser = "root"\n')
    with pytest.raises(ImageError, match="'tpu-pypi' differs"):
        must_be_as_shipped(theirs, "tpu", vendored=False)


def test_a_name_that_is_a_path_or_none_of_them_is_refused(theirs):
    with pytest.raises(ImageError, match="cannot be the name"):
        must_be_as_shipped(theirs, "../cpu", vendored=False)
    with pytest.raises(RecipeError, match="unknown environment"):
        must_be_as_shipped(theirs, "other", vendored=False)
