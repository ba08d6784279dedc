"""Image archives: the ID follows from the content, not from the moment."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import tarfile
from pathlib import Path

import pytest

from reprokit.images.building.archive import write_archive

WHEN = dt.datetime(2026, 10, 1, tzinfo=dt.UTC)


@pytest.fixture
def rootfs(tmp_path: Path) -> Path:
    path = tmp_path / "rootfs.tar"
    path.write_bytes(b"any bytes: the archive does not look inside")
    return path


def write(rootfs: Path, archive: Path, **changes) -> str:
    settings = {"architecture": "amd64", "created": WHEN, "labels": {"a": "b"}, "tag": "reprokit/base:1"}
    return write_archive(rootfs, archive, **{**settings, **changes})


def test_the_same_input_is_the_same_archive_byte_for_byte(rootfs: Path, tmp_path: Path):
    assert write(rootfs, tmp_path / "one.tar") == write(rootfs, tmp_path / "two.tar")
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()


@pytest.mark.parametrize(
    "change",
    [{"architecture": "arm64"}, {"created": WHEN + dt.timedelta(days=1)}, {"labels": {"a": "c"}}],
    ids=str,
)
def test_whatever_the_image_says_of_itself_changes_its_id(rootfs: Path, tmp_path: Path, change):
    assert write(rootfs, tmp_path / "one.tar") != write(rootfs, tmp_path / "two.tar", **change)


def test_a_name_does_not_change_the_id(rootfs: Path, tmp_path: Path):
    assert write(rootfs, tmp_path / "one.tar") == write(rootfs, tmp_path / "two.tar", tag="other:2")


def test_the_archive_holds_the_layer_and_a_configuration_that_names_its_digest(rootfs: Path, tmp_path: Path):
    image_id = write(rootfs, tmp_path / "image.tar")
    with tarfile.open(tmp_path / "image.tar") as tar:
        read = {member.name: tar.extractfile(member).read() for member in tar}
    (entry,) = json.loads(read["manifest.json"])
    configuration = read[entry["Config"]]
    assert f"sha256:{hashlib.sha256(configuration).hexdigest()}" == image_id
    assert [read[name] for name in entry["Layers"]] == [rootfs.read_bytes()]
    (diff_id,) = json.loads(configuration)["rootfs"]["diff_ids"]
    assert diff_id == f"sha256:{hashlib.sha256(rootfs.read_bytes()).hexdigest()}"
    assert json.loads(configuration)["created"] == "2026-10-01T00:00:00Z"
