"""An environment whose Python was changed gets a base that has it, in the files of its project."""

from __future__ import annotations

import pytest

from reprokit.features.locking import base_of_python
from reprokit.features.locking.base_of_python import move_base
from reprokit.images.building.bases import NoBaseError, fitting_kinds
from reprokit.images.locks import read_lock
from reprokit.packaged import packaged

DIGEST = f"sha256:{'7' * 64}"


@pytest.fixture
def moved(small_project, monkeypatch):
    """Moves the base of the small project to a Python, as a registry answers."""

    def move(python: str, *, digest: str = ""):
        file = small_project.root / "images" / "lock.toml"
        lines = file.read_text().splitlines(keepends=True)
        at = next(at for at, line in enumerate(lines) if line.startswith("[variants.cpu]"))
        text = "".join(lines[at:]).replace(
            f'python = "{read_lock(small_project.root).variant("cpu").python}"', "@"
        )
        file.write_text("".join(lines[:at]) + text.replace("@", f'python = "{python}"', 1))
        monkeypatch.setattr(base_of_python, "digest_in_registry", lambda _reference: digest)
        move_base("cpu", project=small_project.root, on_progress=lambda _line: None)
        lock = read_lock(small_project.root)
        return lock, lock.variant("cpu")

    return move


def test_a_python_that_a_release_has_is_built_on_it_with_its_pinned_packages(moved):
    lock, variant = moved("3.13")
    assert lock.bootstrap.suite == "trixie"
    assert fitting_kinds(lock, variant, wanted="auto") == ("bootstrap",)
    pinned = packaged("images") / "base" / "trixie" / "x86_64.lock"
    assert lock.base_packages("x86_64").read_bytes() == pinned.read_bytes()


def test_where_a_registry_answers_its_image_of_that_python_is_taken_by_its_digest(moved):
    lock, variant = moved("3.12", digest=DIGEST)
    assert lock.registry.title == f"docker.io/library/python:3.12-slim-bookworm@{DIGEST}"
    assert fitting_kinds(lock, variant, wanted="auto") == ("registry",)


def test_a_python_that_nothing_has_leaves_the_base_and_is_refused_when_an_image_is_built(moved):
    lock, variant = moved("3.12")
    with pytest.raises(NoBaseError, match="different Pythons"):
        fitting_kinds(lock, variant, wanted="auto")
