"""Which base is taken, and what is said when it cannot be had."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import platform
from pathlib import Path

import docker.errors
import pytest

from reprokit.errors import EngineError, ImageError, UsageError
from reprokit.images.building import bases, bootstrap, image_store
from reprokit.images.locks import Foundation, read_lock


class Engine:
    """An engine with some images, which can or cannot reach a registry."""

    def __init__(self, *, has: tuple[str, ...] = (), reaches: bool = True) -> None:
        self.has = list(has)
        self.reaches = reaches
        self.asked: list[str] = []
        self.images = self.api = self

    def get(self, reference: str):
        if reference not in self.has:
            raise docker.errors.ImageNotFound(reference)
        return type("Image", (), {"id": f"id of {reference}"})()

    def inspect_distribution(self, reference: str) -> None:
        self.asked.append(reference)
        if not self.reaches:
            raise EngineError("the container engine does not answer", actual="no such host")

    def pull(self, reference: str) -> None:
        if not self.reaches:
            raise docker.errors.APIError("no such host")
        self.has.append(reference)


@pytest.fixture
def lock(project: Path):
    return read_lock(project)


@pytest.fixture
def meet(monkeypatch: pytest.MonkeyPatch):
    """Make every connection lead to one engine."""

    def install(one: Engine) -> Engine:
        monkeypatch.setattr(image_store, "connected", lambda **_: contextlib.nullcontext(one))
        return one

    return install


def test_auto_takes_a_base_that_is_there_without_asking_the_registry(lock, meet):
    here = meet(Engine(has=(lock.registry.reference,), reaches=False))
    assert bases.choose(here, lock, lock.variant("cpu"), wanted="auto", on_progress=pytest.fail) == "registry"
    assert here.asked == []


def test_auto_takes_the_registry_when_the_engine_reaches_it(lock, meet):
    here = meet(Engine())
    assert bases.choose(here, lock, lock.variant("cpu"), wanted="auto", on_progress=pytest.fail) == "registry"
    assert here.asked == [lock.registry.reference]


def test_auto_takes_distribution_packages_when_it_does_not_and_says_so(lock, meet):
    said = []
    here = meet(Engine(reaches=False))
    assert (
        bases.choose(here, lock, lock.variant("cpu"), wanted="auto", on_progress=said.append) == "bootstrap"
    )
    (line,) = said
    assert "cannot reach docker.io/library/python (no such host)" in line
    assert "bookworm packages" in line


@pytest.mark.parametrize("wanted", ["registry", "bootstrap"])
def test_a_named_base_is_taken_without_asking(lock, meet, wanted: str):
    here = meet(Engine(reaches=False))
    assert bases.choose(here, lock, lock.variant("cpu"), wanted=wanted, on_progress=pytest.fail) == wanted
    assert here.asked == []


def test_a_base_of_another_name_is_a_usage_error():
    with pytest.raises(UsageError, match="got 'alpine'"):
        bases.allowed_kinds("alpine")


def test_the_registrys_base_is_pulled_once(lock, meet, tmp_path: Path):
    here = meet(Engine())
    said: list[str] = []
    settings = {"kind": "registry", "machine": "x86_64", "cache": tmp_path}
    base = bases.obtain(here, lock, **settings, on_progress=said.append)
    assert base.id == f"id of {lock.registry.reference}"
    assert base.title == lock.registry.title
    assert "pulling" in said[0]
    assert bases.obtain(here, lock, **settings, on_progress=pytest.fail) == base


def test_a_pull_that_fails_names_the_way_round(lock, meet, tmp_path: Path):
    here = meet(Engine(reaches=False))
    with pytest.raises(ImageError, match="--image-from bootstrap"):
        bases.obtain(
            here, lock, kind="registry", machine="x86_64", cache=tmp_path, on_progress=lambda _line: None
        )


@pytest.fixture
def no_base(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_store, "find_known", lambda *_, **__: None)


@pytest.mark.usefixtures("no_base")
def test_without_mmdebstrap_the_message_says_how_to_get_it(lock, meet, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ImageError, match="mmdebstrap") as caught:
        bases.obtain(
            meet(Engine()),
            lock,
            kind="bootstrap",
            machine=platform.machine(),
            cache=tmp_path,
            on_progress=lambda _line: None,
        )
    assert caught.value.exit_code == 3
    assert "apt-get install mmdebstrap" in caught.value.fix


@pytest.mark.usefixtures("no_base")
def test_a_base_for_another_kind_of_machine_is_not_attempted(lock, meet, tmp_path: Path):
    with pytest.raises(ImageError, match=r"cannot be built on this machine\. expected s390x"):
        bases.obtain(
            meet(Engine()), lock, kind="bootstrap", machine="s390x", cache=tmp_path, on_progress=pytest.fail
        )


@pytest.mark.usefixtures("no_base")
def test_when_mmdebstrap_fails_its_last_words_are_told(lock, meet, tmp_path: Path, monkeypatch):
    program = tmp_path / "mmdebstrap"
    program.write_text("#!/bin/sh\necho E: the mirror is asleep\nexit 25\n")
    program.chmod(0o755)
    apt = tmp_path / "apt-get"
    apt.write_text("#!/bin/sh\necho http://mirror bookworm main\n")
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ImageError, match="exit code 25") as caught:
        bases.obtain(
            meet(Engine()),
            dataclasses.replace(lock, path=tmp_path / "images" / "lock.toml"),
            kind="bootstrap",
            machine=platform.machine(),
            cache=tmp_path,
            on_progress=lambda _line: None,
        )
    assert "the mirror is asleep" in caught.value.actual


@pytest.mark.usefixtures("no_base")
def test_a_faster_installation_leaves_no_trace_in_the_base(lock, meet, tmp_path: Path, monkeypatch):
    """A stand-in for mmdebstrap, which writes its options for dpkg into the system and runs the hooks."""
    settings = tmp_path / "root" / "etc" / "dpkg" / "dpkg.cfg.d"
    settings.mkdir(parents=True)
    program = tmp_path / "mmdebstrap"
    program.write_text(
        f"#!/bin/sh\ncd {tmp_path}/root\nmkdir etc/apt\n"
        "case $* in *--dpkgopt=*) touch etc/dpkg/dpkg.cfg.d/99mmdebstrap;; esac\n"
        "touch --date=@1000000000 etc/dpkg/dpkg.cfg.d\n"
        'for one in "$@"; do case $one in\n'
        f'--customize-hook=*) sh -c "${{one#*=}}" exec {tmp_path}/root || exit 1;;\nesac; done\n'
        "echo E: enough\nexit 25\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(bootstrap, "sources", lambda _base: ("deb http://mirror bookworm main",))
    with pytest.raises(ImageError, match="exit code 25") as caught:
        bases.obtain(
            meet(Engine()),
            dataclasses.replace(lock, path=tmp_path / "images" / "lock.toml"),
            kind="bootstrap",
            machine=platform.machine(),
            cache=tmp_path,
            on_progress=lambda _line: None,
        )
    assert "enough" in caught.value.actual
    assert (list(settings.iterdir()), settings.stat().st_mtime) == ([], 1000000000)


def test_a_base_is_another_one_when_its_definition_changes(lock):
    def identity(**changes) -> str:
        changed = dataclasses.replace(lock, bootstrap=dataclasses.replace(lock.bootstrap, **changes))
        return bases.identity(changed, kind="bootstrap", machine="x86_64")

    assert identity() == identity(packages=tuple(reversed(lock.bootstrap.packages)))
    assert len({identity(), identity(suite="trixie"), identity(packages=("python3",))}) == 3
    assert bases.identity(lock, kind="bootstrap", machine="aarch64") != identity()
    assert bases.identity(lock, kind="registry", machine="x86_64") == lock.registry.reference


def variant(lock, **facts):
    own = Foundation(registry=lock.registry, bootstrap=lock.bootstrap)
    return dataclasses.replace(lock.variant("cpu"), name="mine", own=own, **facts)


def test_a_variant_with_packages_of_the_distribution_is_never_built_on_a_registrys_base(lock):
    mine = variant(lock, system_packages=("libgl1",))
    assert bases.fitting_kinds(lock, mine, wanted="auto") == ("bootstrap",)
    with pytest.raises(ImageError, match="none of the distribution packages of the environment"):
        bases.fitting_kinds(lock, mine, wanted="registry")
    assert bases.fitting_kinds(lock, variant(lock), wanted="auto") == ("registry", "bootstrap")


@pytest.mark.parametrize("kind", ["registry", "bootstrap", "auto"])
def test_a_base_with_another_python_is_refused(lock, kind):
    with pytest.raises(ImageError, match=r"different Pythons.*expected 3\.12\. got 3\.11"):
        bases.fitting_kinds(lock, variant(lock, python="3.12"), wanted=kind)
