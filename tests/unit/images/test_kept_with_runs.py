"""What is kept of an environment in a run's folder: its own lock, and the documents of its image."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from reprokit import layout
from reprokit.core.records import Realisation, digest_bytes
from reprokit.errors import ImageError
from reprokit.images import kept_with_runs
from reprokit.images.building import build_record
from reprokit.images.checking import image_documents
from reprokit.layout import IMAGE_PROVENANCE, SBOM

ROOT = Path(__file__).resolve().parents[3]
LOCK = (ROOT / "images" / "cpu" / "requirements.lock").read_bytes()
IMAGE = Realisation(
    variant="cpu",
    kind="image",
    reference=f"sha256:{'1' * 64}",
    digest=f"sha256:{'1' * 64}",
    python="/opt/reprokit/bin/python",
    lock_digest=f"sha256:{'2' * 64}",
)
VENV = dataclasses.replace(IMAGE, kind="venv")


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A cache with the documents of the image."""
    monkeypatch.setenv("REPROKIT_CACHE", str(tmp_path))
    build_record.note(IMAGE.digest, content="sha256:c0ffee", cache=tmp_path)
    folder = image_documents.folder_of(IMAGE.digest, cache=tmp_path)
    folder.mkdir(parents=True)
    for name in (SBOM, IMAGE_PROVENANCE):
        (folder / name).write_text(name)


def test_a_run_in_an_image_gets_both_documents(kept):
    assert kept_with_runs(IMAGE, project=ROOT, whole=False)[1] == {
        "sbom.cdx.json": b"sbom.cdx.json",
        "image-provenance.json": b"image-provenance.json",
    }


def test_another_image_and_a_virtual_environment_have_none(kept):
    other = dataclasses.replace(IMAGE, digest=f"sha256:{'3' * 64}")
    assert kept_with_runs(other, project=ROOT, whole=False)[1] == {}
    assert kept_with_runs(VENV, project=ROOT, whole=False)[1] == {}


def test_an_image_that_this_host_has_not_built_has_none_whatever_lies_in_the_cache(kept, tmp_path):
    (tmp_path / "builds" / f"{'1' * 64}.json").unlink()
    assert kept_with_runs(IMAGE, project=ROOT, whole=False) == ({}, {})


def test_the_lock_of_the_project_is_kept_where_it_is_the_environments_own_and_no_other():
    own = dataclasses.replace(VENV, lock_digest=digest_bytes(LOCK))
    assert kept_with_runs(own, project=ROOT, whole=False)[1] == {layout.LOCK: LOCK}
    assert kept_with_runs(VENV, project=ROOT, whole=False)[1] == {}


def test_a_project_without_locks_is_an_error(tmp_path):
    with pytest.raises(ImageError):
        kept_with_runs(VENV, project=tmp_path, whole=False)
