"""Images: what their content is, what the build is given, how its failure is told."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import docker.errors
import pytest

from reprokit.errors import ImageError, UsageError
from reprokit.images import wheels
from reprokit.images.building import build, build_steps, builders
from reprokit.images.building.bases import Base
from reprokit.images.building.build_steps import BuildConditions, Ingredients
from reprokit.images.locks import read_lock
from reprokit.images.packages import Target

BASE = Base(
    id="sha256:base",
    reference="reprokit/base:1",
    name="bootstrap",
    digest="sha256:1",
    title="bootstrap:sha256:1",
)


class Builder:
    """An engine that answers a build with given events."""

    def __init__(self, *events: dict[str, str]) -> None:
        self.events = events
        self.api = self.images = self
        self.asked: dict[str, object] = {}
        self.removed: list[str] = []

    def build(self, **asked):
        self.asked = asked
        return iter(self.events)

    def get(self, image: str):
        return type("Image", (), {"save": lambda _self, **_: iter([f"saved {image}".encode()])})()

    def remove(self, image: str, **_asked) -> None:
        self.removed.append(image)


def content(small_project, *, machine: str = "x86_64", base: str = "python@sha256:1") -> str:
    lock = read_lock(small_project.root)
    return build.content_of(lock, lock.variant("cpu"), machine=machine, base_identity=base)


def test_equal_inputs_are_equal_content_wherever_they_lie(small_project, tmp_path: Path):
    before = content(small_project)
    moved = small_project.root.rename(tmp_path / "moved")
    lock = read_lock(moved)
    after = build.content_of(lock, lock.variant("cpu"), machine="x86_64", base_identity="python@sha256:1")
    assert before == after


@pytest.mark.parametrize("file", ["images/Dockerfile", "images/cpu/requirements.lock"])
def test_one_byte_of_an_input_is_another_content(small_project, file: str):
    before = content(small_project)
    with (small_project.root / file).open("a") as stream:
        stream.write("#")
    assert content(small_project) != before


def test_another_base_or_machine_is_another_content(small_project):
    one, two = content(small_project), content(small_project, base="bootstrap:sha256:1")
    assert len({one, two, content(small_project, machine="aarch64")}) == 3


def ingredients(small_project) -> Ingredients:
    lock = read_lock(small_project.root)
    folder = wheels.fetch(
        lock.variant("cpu"),
        Target(machine="x86_64", python=lock.variant("cpu").python),
        cache=small_project.cache,
        on_progress=print,
    )
    return Ingredients(
        lock=lock,
        variant=lock.variant("cpu"),
        base=BASE,
        wheels=folder,
        content="sha256:c0ffee",
        tag="reprokit/cpu:c0ffee",
    )


def context_of(small_project, **conditions) -> bytes:
    stream = io.BytesIO()
    build_steps.write_context(stream, ingredients(small_project), BuildConditions(**conditions))
    return stream.getvalue()


def test_the_build_is_given_nothing_but_dockerfile_wheels_and_pins(small_project):
    with tarfile.open(fileobj=io.BytesIO(context_of(small_project))) as tar:
        members = tar.getmembers()
    assert [member.name for member in members] == [
        "Dockerfile",
        "wheels/requirements.txt",
        "wheels/tiny-1.0-py3-none-any.whl",
    ]
    assert {(member.uid, member.gid, member.uname, member.mode) for member in members} == {(0, 0, "", 0o644)}
    assert {member.mtime for member in members} == {read_lock(small_project.root).bootstrap.epoch}


def test_the_same_files_are_the_same_context_whoever_has_them(small_project):
    first = context_of(small_project)
    for path in small_project.cache.rglob("*.whl"):
        path.touch()
        path.chmod(0o600)
    assert context_of(small_project) == first


def test_the_context_looks_as_the_conditions_say(small_project):
    context = context_of(small_project, mtime=7, uid=1001, owner="ada", mode=0o600, is_reversed=True)
    with tarfile.open(fileobj=io.BytesIO(context)) as tar:
        members = tar.getmembers()
    assert [member.name for member in members][-1] == "Dockerfile"
    assert {(one.mtime, one.uid, one.gid, one.uname, one.mode) for one in members} == {
        (7, 1001, 1001, "ada", 0o600)
    }


def run_build(builder: Builder, small_project, tmp_path: Path, *, on_progress=print) -> None:
    archive = tmp_path / "image.tar"
    build_steps._build(builder, ingredients(small_project), BuildConditions(cores="1"), archive, on_progress)


def test_the_engine_is_asked_to_build_with_no_network_and_no_cache(small_project, tmp_path: Path):
    said: list[str] = []
    builder = Builder(
        {"stream": "Step 5/9 : COPY wheels /wheels"},
        {"stream": "Step 6/9 : LABEL a=b"},
        {"aux": {"ID": "sha256:raw"}},
    )
    run_build(builder, small_project, tmp_path, on_progress=said.append)
    asked = builder.asked
    assert asked["network_mode"] == "none"
    assert asked["nocache"] is True
    assert asked["use_config_proxy"] is False
    assert asked["buildargs"]["BASE"] == "sha256:base"
    assert asked["container_limits"] == {"cpusetcpus": "1"}
    assert [line for line in said if "step" in line] == ["image of cpu: step 5 of 9, COPY"]
    assert (tmp_path / "image.tar").read_bytes() == b"saved sha256:raw"
    assert builder.removed == ["sha256:raw"]


def test_a_failing_step_ends_the_build_with_its_last_lines(small_project, tmp_path: Path):
    builder = Builder({"stream": "ERROR: tiny is not for you\n"}, {"error": "returned a non-zero code: 1"})
    with pytest.raises(ImageError, match="non-zero code: 1") as caught:
        run_build(builder, small_project, tmp_path)
    assert caught.value.actual == "ERROR: tiny is not for you"
    assert "images/Dockerfile" in caught.value.where


def test_packages_that_do_not_import_together_are_named_with_what_python_said(small_project, tmp_path: Path):
    lock = small_project.root / "images" / "lock.toml"
    lock.write_text(lock.read_text().replace("imports = []", 'imports = ["torch", "torch_xla"]'))
    said = (
        'Traceback (most recent call last):\n  File "<string>", line 1, in <module>\n'
        "\x1b[0m\x1b[91mImportError: /opt/_XLAC.so: undefined symbol: _ZN5torch4lazy\n\x1b[0m"
    )
    shell = "umask 022 && " * 40
    builder = Builder(
        {"stream": said}, {"error": f"The command '/bin/sh -c {shell}' returned a non-zero code: 1"}
    )
    with pytest.raises(ImageError, match="packages of cpu do not fit together") as caught:
        run_build(builder, small_project, tmp_path)
    assert "import torch, torch_xla" in str(caught.value)
    assert caught.value.actual == "ImportError: /opt/_XLAC.so: undefined symbol: _ZN5torch4lazy"
    assert "umask" not in str(caught.value)


def test_a_builder_that_refuses_is_an_image_error_too(small_project, tmp_path: Path, monkeypatch):
    def refuse(**_asked):
        raise docker.errors.APIError("400", explanation="dockerfile parse error")

    builder = Builder()
    monkeypatch.setattr(builder, "build", refuse)
    with pytest.raises(ImageError, match="dockerfile parse error"):
        run_build(builder, small_project, tmp_path)


def test_a_builder_of_another_name_is_a_usage_error():
    with pytest.raises(UsageError, match="got 'kaniko'"):
        builders.build(Builder(), None, builder="kaniko", on_line=print)
