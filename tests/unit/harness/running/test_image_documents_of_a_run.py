"""The documents of an image come into the folder of a run in it, and into no other."""

from __future__ import annotations

import dataclasses

import pytest

from reprokit.core.records import Realisation
from reprokit.harness.running.image_documents import documents_of
from reprokit.images import image_documents
from reprokit.layout import IMAGE_PROVENANCE, SBOM

IMAGE = Realisation(
    variant="cpu",
    kind="image",
    reference=f"sha256:{'1' * 64}",
    digest=f"sha256:{'1' * 64}",
    python="/opt/reprokit/bin/python",
    lock_digest=f"sha256:{'2' * 64}",
)


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A cache with the documents of the image."""
    monkeypatch.setenv("REPROKIT_CACHE", str(tmp_path))
    folder = image_documents.folder_of(IMAGE.digest, cache=tmp_path)
    folder.mkdir(parents=True)
    for name in (SBOM, IMAGE_PROVENANCE):
        (folder / name).write_text(name)


def test_a_run_in_an_image_gets_both(kept):
    assert documents_of(IMAGE) == {
        "sbom.cdx.json": b"sbom.cdx.json",
        "image-provenance.json": b"image-provenance.json",
    }


def test_another_image_and_a_virtual_environment_get_none(kept):
    assert documents_of(dataclasses.replace(IMAGE, digest=f"sha256:{'3' * 64}")) == {}
    assert documents_of(dataclasses.replace(IMAGE, kind="venv")) == {}
