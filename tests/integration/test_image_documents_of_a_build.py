"""A real build leaves its two documents, and they are about what is really in the image."""

from __future__ import annotations

import json
import shutil

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from reprokit import images
from reprokit.errors import ImageError
from reprokit.images import cache, wheels
from reprokit.images.building import image_store
from reprokit.images.checking import image_documents
from reprokit.images.checking.image_contents import look_inside
from reprokit.images.locks import read_lock
from reprokit.images.packages import Target
from reprokit.layout import IMAGE_PROVENANCE, SBOM
from reprokit.workspace import sha256_of

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def built(shared_small_project, know_base):
    know_base(shared_small_project.cache)
    with image_store.connected() as client:
        before = {one.id for one in image_store.images_with(client, image_store.CONTENT)}
    made = images.resolve(
        "cpu",
        project=shared_small_project.root,
        kind="image",
        cache_dir=shared_small_project.cache,
        on_progress=print,
    )
    yield shared_small_project, made
    if made.reference not in before:
        with image_store.connected() as client:
            client.images.remove(made.reference, force=True)


def test_the_image_that_recipes_run_in_has_a_valid_bill_of_what_its_lock_names(cpu_image, project):
    files = image_documents.files_of(cpu_image.reference, cache=cache.cache_folder(None))
    bill = json.loads(files[SBOM])
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bill)) is None
    found = {one["purl"]: one for one in bill["components"] if "purl" in one}
    assert "pkg:pypi/torch@2.13.0%2Bcpu" in found
    assert all("hashes" in one for purl, one in found.items() if purl.startswith("pkg:pypi/"))
    statement = json.loads(files[IMAGE_PROVENANCE])
    told = {
        one["name"]: one["digest"]["sha256"]
        for one in statement["predicate"]["buildDefinition"]["resolvedDependencies"]
    }
    assert f"sha256:{told['images/cpu/requirements.lock']}" == cpu_image.lock_digest


def test_a_base_is_asked_what_is_in_it(base_image):
    with image_store.connected() as client:
        found = look_inside(client, base_image, python="python3")
    assert found.distribution == "debian"
    assert {"libc6", "python3"} <= {one.name for one in found.system.values()}
    assert not found.python


def documents(small, made):
    files = image_documents.files_of(made.reference, cache=small.cache)
    return {name: json.loads(content) for name, content in files.items()}


def attest_again(small, made):
    shutil.rmtree(image_documents.folder_of(made.reference, cache=small.cache), ignore_errors=True)
    lock = read_lock(small.root)
    with image_store.connected() as client:
        stored = next(
            one for one in image_store.images_with(client, image_store.CONTENT) if one.id == made.reference
        )
        return image_documents.attest(
            client,
            lock,
            lock.variant("cpu"),
            stored,
            machine=image_store.machine(client),
            cache=small.cache,
            on_progress=print,
        )


@pytest.mark.slow
def test_the_bill_lists_what_is_installed_and_is_valid(built):
    small, made = built
    bill = documents(small, made)[SBOM]
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bill)) is None
    kinds = {
        kind: [c for c in bill["components"] if c.get("purl", "").startswith(f"pkg:{kind}/")]
        for kind in ("pypi", "deb")
    }
    [tiny] = kinds["pypi"]
    locked = small.lock.read_text().partition("--hash=sha256:")[2].strip()
    assert (tiny["name"], tiny["hashes"][0]["content"]) == ("tiny", locked)
    assert {"libc6", "python3"} <= {one["name"] for one in kinds["deb"]}


@pytest.mark.slow
def test_the_statement_is_about_this_image_and_this_bill(built):
    small, made = built
    statement = documents(small, made)[IMAGE_PROVENANCE]
    assert statement["subject"][0]["digest"]["sha256"] == made.reference.removeprefix("sha256:")
    bill = image_documents.folder_of(made.reference, cache=small.cache) / SBOM
    told = statement["predicate"]["runDetails"]["byproducts"][0]["digest"]["sha256"]
    assert f"sha256:{told}" == sha256_of(bill)


@pytest.mark.slow
def test_made_again_they_are_the_same_bytes_and_name_no_index(built):
    small, made = built
    before = image_documents.files_of(made.reference, cache=small.cache)
    attest_again(small, made)
    assert image_documents.files_of(made.reference, cache=small.cache) == before
    for content in before.values():
        assert str(small.wheels).encode() not in content
        assert str(small.cache).encode() not in content


@pytest.mark.slow
def test_an_image_that_does_not_hold_its_lock_gets_no_documents(built):
    small, made = built
    was = small.lock.read_text()
    try:
        small.lock.write_text(was + small.add_wheel("other", "2.0"))
        variant = read_lock(small.root).variant("cpu")
        with image_store.connected() as client:
            target = Target(machine=image_store.machine(client), python=variant.python)
        wheels.fetch(variant, target, cache=small.cache, on_progress=print)
        with pytest.raises(ImageError, match=r"other==2\.0"):
            attest_again(small, made)
    finally:
        small.lock.write_text(was)
    attest_again(small, made)


@pytest.mark.slow
def test_an_image_whose_wheels_are_not_here_has_none(built, tmp_path):
    small, made = built
    lock = read_lock(small.root)
    with image_store.connected() as client:
        stored = next(
            one for one in image_store.images_with(client, image_store.CONTENT) if one.id == made.reference
        )
        found = image_documents.attest(
            client,
            lock,
            lock.variant("cpu"),
            stored,
            machine=image_store.machine(client),
            cache=tmp_path,
            on_progress=print,
        )
    assert found is None
