"""A base's packages and vendored folders: what they hold, and every way in which they are not right."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from reprokit.errors import ImageError, UsageError
from reprokit.images import vendor
from reprokit.images.building import bootstrap, debian_packages
from reprokit.images.building.debian_packages import Deb
from reprokit.images.locks import read_lock
from reprokit.workspace import sha256_of

DIGEST = f"sha256:{'0' * 64}"


def deb(name: str = "tool", version: str = "1:2.0-1", digest: str = DIGEST) -> Deb:
    return Deb(name=name, version=version, architecture="amd64", digest=digest)


def test_a_package_list_reads_back_as_it_was_written(tmp_path):
    path = tmp_path / "x86_64.lock"
    path.write_text(debian_packages.lock_text([deb("b"), deb("a")]))
    assert debian_packages.read_base_lock(path) == (deb("a"), deb("b"))


def test_a_line_that_pins_nothing_is_refused_with_its_number(tmp_path):
    path = tmp_path / "x86_64.lock"
    path.write_text("# packages\ntool 1.0 amd64\n")
    with pytest.raises(ImageError, match=r"x86_64\.lock:2: not a pinned package"):
        debian_packages.read_base_lock(path)


def test_the_shipped_list_pins_every_package_once(project):
    pinned = debian_packages.read_base_lock(read_lock(project).base_packages("x86_64"))
    assert len({one.name for one in pinned}) == len(pinned) > 100
    assert set(read_lock(project).bootstrap.packages) <= {one.name for one in pinned}


def test_what_moved_is_told_package_by_package():
    before, after = [deb("a", "1"), deb("b", "1")], [deb("a", "2"), deb("c", "1")]
    assert debian_packages.moved(before, after) == ("a 1 -> 2", "b 1 -> (gone)", "c (none) -> 1")


@pytest.fixture
def package(tmp_path) -> Path:
    """A real package, as the distribution's tool builds it."""
    if shutil.which("dpkg-deb") is None:
        pytest.skip("dpkg-deb is not installed")
    root = tmp_path / "root"
    (root / "DEBIAN").mkdir(parents=True)
    (root / "DEBIAN" / "control").write_text(
        "Package: tool\nVersion: 1:2.0-1\nArchitecture: amd64\nMaintainer: Ada <ada@example.org>\n"
        "Description: a tool\n Version: not this one\n"
    )
    path = tmp_path / "tool_1%3a2.0-1_amd64.deb"
    subprocess.run(["dpkg-deb", "--build", str(root), str(path)], check=True, capture_output=True)
    return path


def test_a_package_file_says_what_it_is(package):
    (found,) = debian_packages.described([package])
    assert (found.title, found.architecture, found.file_name) == ("tool 1:2.0-1", "amd64", package.name)


def test_what_lies_in_the_cache_is_not_fetched_again(package, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    cache.mkdir()
    debian_packages.keep([package], cache=cache)
    monkeypatch.setenv("PATH", "")
    folder = debian_packages.fetch(
        _described(package),
        sources=lambda: pytest.fail("an archive was asked for"),
        architecture="amd64",
        cache=cache,
        on_progress=pytest.fail,
    )
    assert (folder / package.name).read_bytes() == package.read_bytes()


def _described(package: Path) -> tuple[Deb, ...]:
    return (deb(digest=sha256_of(package)),)


@pytest.fixture
def apt(tmp_path, monkeypatch):
    """An archive that has another version of the tool than the lock names."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, answer in {
        "apt-get": "true",
        "apt-cache": "printf 'Package: tool\\nVersion: 1:3.0-1\\n'",
    }.items():
        (folder / name).write_text(f"#!/bin/sh\n{answer}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


@pytest.mark.usefixtures("apt")
def test_a_distribution_that_has_moved_on_is_told_package_by_package(tmp_path):
    with pytest.raises(ImageError, match=r"tool 1:2\.0-1 -> 1:3\.0-1") as caught:
        debian_packages.fetch(
            [deb()],
            sources=lambda: ("deb http://x y main",),
            architecture="amd64",
            cache=tmp_path,
            on_progress=lambda _line: None,
        )
    assert "--from-vendor" in caught.value.fix


def test_the_archive_for_a_base_holds_what_the_lock_names_and_refuses_another_file(package, tmp_path):
    archive = tmp_path / "archive"
    archive.mkdir()
    debian_packages.write_repository(_described(package), package.parent, archive, suite="bookworm")
    index = (archive / "Packages").read_text()
    assert "Filename: ./tool.deb" in index
    assert "Codename: bookworm" in (archive / "Release").read_text()
    with pytest.raises(ImageError, match="not the one that the lock names"):
        debian_packages.write_repository((deb(),), package.parent, archive, suite="bookworm")


@pytest.mark.parametrize("listed", ["", "deb http://x other main"])
def test_a_host_that_knows_no_archive_of_the_distribution_is_told_what_to_do(project, monkeypatch, listed):
    monkeypatch.setattr(bootstrap, "run_command", lambda *_given, on_line, **_more: on_line(listed))
    with pytest.raises(ImageError, match="no sources for bookworm") as caught:
        bootstrap.sources(read_lock(project).bootstrap)
    assert "--from-vendor" in caught.value.fix


def test_only_the_archives_of_the_bases_own_distribution_are_asked(project, monkeypatch):
    listed = ["http://x bookworm main", "http://x bookworm-updates main", "http://y trixie main"]
    monkeypatch.setattr(bootstrap.shutil, "which", lambda program: program)
    monkeypatch.setattr(
        bootstrap, "run_command", lambda *_given, on_line, **_more: [on_line(line) for line in listed]
    )
    assert bootstrap.sources(read_lock(project).bootstrap) == (
        "deb http://x bookworm main",
        "deb http://x bookworm-updates main",
    )


@pytest.fixture
def vendored(small_project, package, tmp_path):
    """A folder with everything for a small project whose base is one package."""
    lock = read_lock(small_project.root)
    path = lock.base_packages("x86_64")
    path.write_text(debian_packages.lock_text(_described(package)))
    small_project.cache.mkdir()
    debian_packages.keep([package], cache=small_project.cache)
    folder = tmp_path / "stick"
    vendor.fill(
        lock, lock.variant("cpu"), folder, machine="x86_64", cache=small_project.cache, on_progress=print
    )
    return folder


def take(small_project, folder: Path, cache: Path) -> None:
    cache.mkdir(exist_ok=True)
    lock = read_lock(small_project.root)
    vendor.take(lock, lock.variant("cpu"), folder, machine="x86_64", cache=cache)


def test_a_folder_fills_an_empty_cache_with_all_that_is_needed(small_project, vendored, tmp_path, package):
    manifest = json.loads((vendored / "MANIFEST.json").read_text())
    assert set(manifest["files"]) == {
        "debs/tool_1%3a2.0-1_amd64.deb",
        "images/Dockerfile",
        "images/lock.toml",
        "images/base/x86_64.lock",
        "images/cpu/requirements.lock",
        "wheels/requirements.txt",
        "wheels/tiny-1.0-py3-none-any.whl",
    }
    take(small_project, vendored, tmp_path / "empty")
    assert (tmp_path / "empty" / "debs" / package.name).is_file()
    assert len(list((tmp_path / "empty" / "wheels").rglob("tiny-1.0*.whl"))) == 1


@pytest.mark.parametrize("name", ["wheels/tiny-1.0-py3-none-any.whl", "debs/tool_1%3a2.0-1_amd64.deb"])
def test_a_vendored_file_that_was_changed_is_named(small_project, vendored, tmp_path, name):
    with (vendored / name).open("ab") as stream:
        stream.write(b"#")
    with pytest.raises(ImageError, match="differs from the manifest") as caught:
        take(small_project, vendored, tmp_path / "empty")
    assert name in caught.value.where


def test_a_file_too_many_or_too_few_is_named(small_project, vendored, tmp_path):
    (vendored / "wheels" / "extra.whl").touch()
    with pytest.raises(ImageError, match=r"extra\.whl"):
        take(small_project, vendored, tmp_path / "empty")
    (vendored / "wheels" / "extra.whl").unlink()
    (vendored / "images" / "Dockerfile").unlink()
    with pytest.raises(ImageError, match="Dockerfile"):
        take(small_project, vendored, tmp_path / "empty")


def test_a_folder_of_another_lock_is_refused(small_project, vendored, tmp_path):
    small_project.lock.write_text(small_project.lock.read_text() + "# later\n")
    with pytest.raises(UsageError, match=r"different requirements\.lock"):
        take(small_project, vendored, tmp_path / "empty")


def test_a_folder_that_holds_something_is_not_filled(small_project, vendored):
    lock = read_lock(small_project.root)
    with pytest.raises(UsageError, match="not empty"):
        vendor.fill(
            lock,
            lock.variant("cpu"),
            vendored,
            machine="x86_64",
            cache=small_project.cache,
            on_progress=print,
        )


def test_a_folder_without_a_manifest_is_no_vendored_one(small_project, tmp_path):
    with pytest.raises(UsageError, match="not a vendored folder"):
        take(small_project, tmp_path, tmp_path / "empty")
