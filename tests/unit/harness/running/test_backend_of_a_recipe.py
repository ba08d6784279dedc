"""Where runs of a recipe are made: in a container, unless no image can have its environment."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from reprokit import images
from reprokit.errors import RecipeError
from reprokit.harness.running.environments import environment
from reprokit.request import Request
from tests.support.recorded_progress import RecordedProgress

WHY = "the base of the image and the environment have different Pythons: 3.11, and not 3.10"


@pytest.fixture(params=["", WHY], ids=["an image fits", "none does"])
def why(request, monkeypatch) -> str:
    monkeypatch.setattr(
        environment, "choose_backend", lambda wanted, **_: "local" if wanted == "local" else "docker"
    )
    monkeypatch.setattr(images, "why_no_image", lambda _variant, *, project: request.param)
    return request.param


def backend(progress: RecordedProgress | None = None, **asked: str) -> str:
    recipe = SimpleNamespace(variant="mine", project_dir=None)
    return environment.backend_of(recipe, Request(**asked), progress=progress)  # type: ignore[arg-type]


def test_where_no_image_can_have_its_python_it_is_the_virtual_environment(why):
    assert backend() == ("local" if why else "docker")


def test_that_is_said(why):
    progress = RecordedProgress()
    backend(progress)
    assert any(WHY in str(line) for line in progress.notes) is bool(why)


@pytest.mark.parametrize("asked", [{"backend": "docker"}, {"base": "registry"}])
def test_a_container_that_is_asked_for_is_no_virtual_environment(why, asked):
    assert backend(**asked) == "docker"


def test_a_virtual_environment_that_is_asked_for_stays_one(why):
    assert backend(backend="local") == "local"


@pytest.mark.parametrize(("python", "is_refused"), [("3.10", True), ("3.11", False), ("3.14t", False)])
def test_a_trainer_is_not_run_in_a_python_older_than_the_tools(monkeypatch, tmp_path, python, is_refused):
    lock = SimpleNamespace(variant=lambda _name: SimpleNamespace(python=python))
    monkeypatch.setattr(environment.locks, "read_lock", lambda _root: lock)
    recipe = SimpleNamespace(variant="mine", trainer=tmp_path / "train.py", file=tmp_path / "recipe.yaml")
    with pytest.raises(RecipeError, match=r"mine: Python 3\.10") if is_refused else nullcontext():
        environment._check_python_of_trainer(recipe, root=tmp_path)
