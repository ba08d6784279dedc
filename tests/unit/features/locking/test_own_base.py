"""What the image of an environment of another Python is built on."""

from __future__ import annotations

import contextlib
import tomllib

import pytest

from reprokit.errors import EngineError, ImageError
from reprokit.features.locking import own_base, variant_file
from reprokit.features.locking.own_variants import VariantChoice, lock_from
from reprokit.images import why_no_image
from reprokit.images.building import bases, bootstrap, image_store
from reprokit.images.locks import read_lock
from reprokit.packaged import packaged

DIGEST = f"sha256:{'a' * 64}"


class Registry:
    """An engine that reaches a registry, or does not."""

    def __init__(self, *, reaches: bool) -> None:
        self.api, self.reaches, self.asked = self, reaches, list[str]()

    def inspect_distribution(self, reference: str):
        self.asked.append(reference)
        if not self.reaches:
            raise ImageError("no such host")
        return {"Descriptor": {"digest": DIGEST}}


@pytest.fixture(params=[True, False], ids=["a registry is reached", "none is"])
def registry(request, monkeypatch) -> Registry:
    one = Registry(reaches=request.param)
    monkeypatch.setattr(image_store, "connected", lambda **_: contextlib.nullcontext(one))
    return one


def declared(python: str) -> variant_file.Declared:
    new = variant_file.new(tomllib.loads((packaged("images") / "lock.toml").read_text()))
    return own_base.with_bases(
        variant_file.chosen(new, variant_file.VariantChoice(python=python), sources=(), machine="x86_64"),
        on_progress=print,
    )


@pytest.mark.parametrize(
    ("python", "suite"),
    [
        ("3.11", "bookworm"),
        ("3.13", "trixie"),
        ("3.14", "forky"),
        ("3.10", "bookworm"),
        ("3.13t", "bookworm"),
    ],
)
def test_the_release_that_has_the_python_is_taken(registry, python, suite):
    assert declared(python).base["bootstrap"]["suite"] == suite


def test_the_image_of_a_registry_is_pinned_by_the_digest_of_today(registry):
    base = declared("3.10").base["registry"]
    assert registry.asked == ["docker.io/library/python:3.10-slim-bookworm"]
    assert (base["digest"] == DIGEST) is registry.reaches
    assert base["tag"].startswith("3.10" if registry.reaches else "3.11")


def test_the_python_of_both_bases_asks_nobody(registry):
    declared("3.11")
    assert registry.asked == []


def test_no_engine_is_no_reason_to_stop(monkeypatch):
    def none(**_):
        raise EngineError("no container engine answers")

    monkeypatch.setattr(image_store, "connected", none)
    assert declared("3.10").base["registry"]["tag"].startswith("3.11")


@pytest.fixture
def theirs(small_project, tmp_path, monkeypatch):
    """A project whose environments are locked from a folder of wheels, on a host without an engine."""
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(small_project.wheels))
    monkeypatch.setattr(own_base, "digest_in_registry", lambda _reference: "")
    root = tmp_path / "theirs"
    root.mkdir()
    source = root / "requirements.txt"
    source.write_text("tiny\n")

    def lock(python: str, said=print):
        choice = VariantChoice(python=python, machine="x86_64")
        lock_from("mine", [source], project=root, choice=choice, on_progress=said)
        return root

    return lock


def test_packages_of_the_release_are_pinned_with_the_environment(theirs):
    root = theirs("3.13")
    pinned = (root / "images/mine/base/x86_64.lock").read_bytes()
    assert pinned == (packaged("images") / "base/trixie/x86_64.lock").read_bytes()
    assert why_no_image("mine", project=root) == ""


def test_another_python_takes_the_packages_of_its_release(theirs):
    root = theirs("3.13")
    theirs("3.11")
    pinned = (root / "images/mine/base/x86_64.lock").read_bytes()
    assert pinned == (packaged("images") / "base/x86_64.lock").read_bytes()


def test_a_python_that_no_base_has_can_be_locked_and_says_why_it_has_no_image(theirs):
    root = theirs("3.10")
    assert "another Python than the environment" in why_no_image("mine", project=root)


def test_a_release_that_cannot_be_reached_is_told_and_no_image_is_built_of_packages_that_nothing_pins(
    theirs, monkeypatch
):
    def unreachable(*_arguments, **_named):
        raise ImageError("apt on this host has no sources for forky")

    monkeypatch.setattr(bootstrap, "solve_base", unreachable)
    said: list[str] = []
    root = theirs("3.14", said.append)
    assert "no image of it can be built yet: apt on this host has no sources for forky" in said
    lock = read_lock(root)
    variant = lock.variant("mine")
    with pytest.raises(bases.NoBaseError, match="nothing pins the packages of its base, forky"):
        bases.fitting_kinds(lock.based_for(variant), variant, wanted="bootstrap")


def test_a_release_that_is_not_finished_is_warned_of(theirs, monkeypatch):
    monkeypatch.setattr(bootstrap, "solve_base", lambda *_arguments, **_named: ())
    said: list[str] = []
    theirs("3.14", said.append)
    assert any(line.startswith("forky is not finished") and "image vendor mine" in line for line in said)
