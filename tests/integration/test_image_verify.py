"""Same inputs, same image: small environments built for real, by both builders, and planted faults."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator

import docker
import pytest

from reprokit import images
from reprokit.errors import ImageError
from reprokit.features.rebuild import builds
from reprokit.images import cache, vendor
from reprokit.images.building import builders, package_layers
from reprokit.images.building import image_store as image_engine
from reprokit.images.checking import image_documents
from reprokit.images.locks import read_lock
from reprokit.images.packages import digest_of
from reprokit.layout import IMAGE_PROVENANCE, SBOM

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def client() -> Iterator[docker.DockerClient]:
    with image_engine.connected() as connected:
        yield connected


@pytest.fixture
def light(small_project, client, know_base):
    """A small project whose build takes seconds: the standard library is not compiled."""
    know_base(small_project.cache)
    dockerfile = small_project.root / "images" / "Dockerfile"
    text = dockerfile.read_text(encoding="utf-8")
    text, count = re.subn(r" && if ! test -e .*; fi\n", "\n", text, flags=re.DOTALL)
    assert count == 1
    dockerfile.write_text(text.replace("/etc/group \\\n\n", "/etc/group\n"), encoding="utf-8")
    yield small_project
    for one in image_engine.images_with(client, image_engine.CONTENT):
        if one.labels[image_engine.LOCK] == digest_of(small_project.lock):
            client.images.remove(one.id, force=True)


def plant(project, step: str) -> None:
    dockerfile = project.root / "images" / "Dockerfile"
    text = dockerfile.read_text(encoding="utf-8")
    assert "ENV PATH" in text
    dockerfile.write_text(text.replace("ENV PATH", f"RUN {step}\nENV PATH"), encoding="utf-8")


def verified(project, *use: str, num_builds: int = 2) -> builds.BuildComparison:
    lock = read_lock(project.root)
    return builds.verify(
        lock,
        lock.variant("cpu"),
        base="bootstrap",
        num_builds=num_builds,
        use=use,
        cache=project.cache,
        on_progress=print,
    )


@pytest.mark.slow
def test_both_builders_lead_to_one_image_and_the_engine_gets_that_one(light, client):
    if builders.BUILDKIT not in builders.available():
        pytest.skip("no Docker client here has BuildKit")
    realisation = images.resolve(
        "cpu",
        project=light.root,
        kind="image",
        build=images.BuildOptions(base="bootstrap"),
        cache_dir=light.cache,
        on_progress=print,
    )
    found = verified(light, builders.CLASSIC, builders.BUILDKIT)
    assert found.difference is None
    assert {one.id for one in found.builds} == {realisation.reference} == {found.in_engine}
    assert client.images.get(realisation.reference).attrs["Created"].startswith("2026-10-01")


@pytest.mark.slow
def test_two_environments_with_an_equal_large_package_share_its_layer(light, client, monkeypatch):
    monkeypatch.setattr(package_layers, "_SMALLEST_BYTES", 10_000)
    path = light.root / "images" / "lock.toml"
    path.write_text(path.read_text().replace("[variants.cpu]", "[variants.cpu]\nform = 2"), encoding="utf-8")
    large = light.add_wheel("large", text=f"WORDS = {'word ' * 4000!r}\n")
    layers = []
    for version, builder in (("1.0", builders.CLASSIC), ("2.0", builders.available()[-1])):
        light.lock.write_text(large + light.add_wheel(version=version), encoding="utf-8")
        where = {"project": light.root, "cache_dir": light.cache, "kind": "image"}
        build = images.BuildOptions(base="bootstrap", builder=builder)
        found = images.resolve("cpu", build=build, on_progress=print, **where)
        layers.append(client.images.get(found.reference).attrs["RootFS"]["Layers"])
        client.images.remove(found.reference, force=True)
    (base, shared, own), (other_base, other_shared, other_own) = layers
    assert (base, shared) == (other_base, other_shared)
    assert own != other_own


@pytest.mark.slow  # one form and what is said of differences, on archives: test_image_form.py
@pytest.mark.parametrize(
    ("step", "file", "what"),
    [
        ("date +%N > /opt/reprokit/moment", "opt/reprokit/moment", "content from byte 0"),
        ("touch -d @$(date +%N | sed 's/^0*//') /opt/reprokit/pyvenv.cfg", "opt/reprokit/pyvenv.cfg", "time"),
        (
            'test -z "$TZ" || chmod 0600 /opt/reprokit/pyvenv.cfg',
            "opt/reprokit/pyvenv.cfg",
            "mode: 0644 and 0600",
        ),
        (
            'test -z "$TZ" || cp $(find /opt/reprokit -name "tiny.*.pyc") /opt/reprokit/extra.pyc',
            "opt/reprokit/extra.pyc",
            "a file only in one: not there and there",
        ),
    ],
    ids=["a changed content", "a touched file", "a changed mode", "an extra byte-code file"],
)
def test_a_planted_difference_is_named_with_its_layer_and_file(light, step, file, what):
    plant(light, step)
    found = verified(light, builders.CLASSIC)
    assert not found.holds
    assert found.difference.file == file
    assert what in found.difference.sentence()
    assert "layer 3" in found.difference.layer
    assert found.difference.num_files == 1


@pytest.mark.slow
def test_a_build_from_a_vendored_folder_with_no_network_is_the_same_image(light, client, tmp_path):
    lock = read_lock(light.root)
    online = images.resolve(
        "cpu",
        project=light.root,
        kind="image",
        build=images.BuildOptions(base="bootstrap"),
        cache_dir=light.cache,
        on_progress=print,
    )
    stick = tmp_path / "stick"
    vendor.fill(
        lock,
        lock.variant("cpu"),
        stick,
        machine=platform.machine(),
        cache=cache.cache_folder(None),
        on_progress=print,
    )
    client.images.remove(online.reference, force=True)
    command = [
        "unshare",
        "--net",
        "--map-root-user",
        sys.executable,
        "-m",
        "reprokit",
        "image",
        "build",
        "cpu",
        "--from-vendor",
        str(stick),
    ]
    conditions = {**os.environ, "REPROKIT_CACHE": str(tmp_path / "empty"), "PIP_FIND_LINKS": ""}
    done = subprocess.run(
        command, cwd=light.root, env=conditions, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, online.reference), done.stderr
    beside = image_documents.files_of(online.reference, cache=tmp_path / "empty")
    assert beside == image_documents.files_of(online.reference, cache=light.cache)
    assert set(beside) == {SBOM, IMAGE_PROVENANCE}


@pytest.mark.slow  # the same on the builder's lines: test_build.py
def test_a_wrong_pair_of_packages_ends_the_build_with_what_python_said(light):
    text = 'raise ImportError("_XLAC.so: undefined symbol: _ZN5torch")\n'
    light.lock.write_text(light.lock.read_text() + light.add_wheel("pair", text=text), encoding="utf-8")
    path = light.root / "images" / "lock.toml"
    path.write_text(path.read_text().replace("imports = []", 'imports = ["tiny", "pair"]'), encoding="utf-8")
    with pytest.raises(ImageError, match="do not fit together: `import tiny, pair` fails") as caught:
        images.resolve(
            "cpu",
            project=light.root,
            kind="image",
            build=images.BuildOptions(base="bootstrap"),
            cache_dir=light.cache,
            on_progress=print,
        )
    assert caught.value.actual == "ImportError: _XLAC.so: undefined symbol: _ZN5torch"


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_ten_builds_of_the_shipped_environment_are_one_image(project, cpu_image):
    lock = read_lock(project)
    found = builds.verify(
        lock,
        lock.variant("cpu"),
        base="auto",
        num_builds=10,
        cache=cache.cache_folder(None),
        on_progress=print,
    )
    assert found.difference is None
    assert {one.id for one in found.builds} == {cpu_image.reference}
