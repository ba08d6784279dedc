"""The one form of a built image, on archives small enough to read, and what is said of two that differ."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import itertools
import json
import tarfile

import pytest

from reprokit.errors import ImageError
from reprokit.images.building import layers, package_layers
from reprokit.images.building.canonical import PACKAGE_LAYERS, CanonicalImage, canonical
from support.saved_image import BASE, EPOCH, FORM, form_of, link, member, packed, saved

__all__ = ["form_of"]


def test_order_days_owners_names_and_steps_leave_no_trace(form_of):
    one = form_of(
        packed(member("opt", None), member("opt/a", b"1"), member("opt/b", b"2")), history=["RUN x"]
    )
    two = form_of(
        packed(member("opt", None, mtime=EPOCH + 9), member("opt/b", b"2", uname="ada", mtime=EPOCH + 7)),
        packed(member("opt", None), member("opt/a", b"1")),
        history=["COPY y", "RUN z"],
        config={"Hostname": "other", "Image": "sha256:x"},
    )
    assert one.id == two.id


def test_an_empty_file_that_an_engine_mounts_over_leaves_no_trace_and_one_with_content_does(form_of):
    one = form_of(packed(member("opt", None), member("opt/a", b"1")))
    two = form_of(
        packed(member("etc", None), member("etc/hosts"), member("opt", None), member("opt/a", b"1"))
    )
    assert one.id == two.id
    written = form_of(packed(member("etc", None), member("etc/hosts", b"::1 a"), member("opt", None)))
    assert "etc/hosts" in {file.name for file in written.files}


def test_what_a_later_step_removes_is_not_in_the_image(form_of):
    kept = form_of(packed(member("opt", None), member("opt/a", b"1")))
    removed = form_of(
        packed(
            member("opt", None), member("opt/a", b"1"), member("wheels", None), member("wheels/w", b"big")
        ),
        packed(member(".wh.wheels")),
    )
    assert removed.id == kept.id


def test_a_folder_of_the_base_that_was_only_touched_is_left_out_and_one_with_news_is_kept(form_of):
    touched = form_of(packed(member("usr", None), member("etc", None), member("etc/group", b"g")))
    assert [one.name for one in touched.files] == ["etc", "etc/group"]


def test_removing_a_file_of_the_base_is_kept_as_a_removal(form_of):
    (folder, gone) = form_of(packed(member("etc/.wh.passwd"))).files
    assert (folder.name, gone.name, gone.kind) == ("etc", "etc/passwd", layers.REMOVED)


def test_several_names_of_one_content_stay_one_whichever_was_first(form_of):
    one = form_of(packed(member("a", b"1"), link("b", "a", tarfile.LNKTYPE)))
    two = form_of(packed(member("b", b"1"), link("a", "b", tarfile.LNKTYPE)))
    assert one.id == two.id
    assert [(file.name, file.kind, file.target) for file in one.files][1] == ("b", layers.HARD_LINK, "a")


def test_what_the_engine_loads_is_what_was_promised(form_of):
    made = form_of(
        packed(member("opt", None), member("opt/a", b"1" * 3000), link("s", "opt/a", tarfile.SYMTYPE))
    )
    with tarfile.open(fileobj=io.BytesIO(b"".join(made.archive()))) as tar:
        (entry,) = json.load(tar.extractfile("manifest.json"))
        configuration = tar.extractfile(entry["Config"]).read()
        parts = [tar.extractfile(name).read() for name in entry["Layers"]]
    assert made.id == f"sha256:{hashlib.sha256(configuration).hexdigest()}"
    settings = json.loads(configuration)
    assert settings["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(part).hexdigest()}" for part in parts]
    assert settings["config"] == {"Env": ["A=1"], "Labels": {"a": "b"}}
    assert len(settings["history"]) == 2
    assert parts[0] == BASE
    with tarfile.open(fileobj=io.BytesIO(parts[1])) as layer:
        assert layer.extractfile("opt/a").read() == b"1" * 3000
        assert {one.mtime for one in layer} == {EPOCH}


SITE = "opt/reprokit/lib/python3.11/site-packages"


def wheel(name: str, content: bytes, *, also: str = "") -> list[tuple[tarfile.TarInfo, bytes]]:
    """What an installed package leaves: a module, its byte-code, a script and its own list."""
    record = f"{name}/__init__.py,,\n../../../bin/{name},,\n{name}-1.dist-info/RECORD,,\n{also}"
    return [
        member(f"{SITE}/{name}", None),
        member(f"{SITE}/{name}/__init__.py", content),
        member(f"{SITE}/{name}/__pycache__", None),
        member(f"{SITE}/{name}/__pycache__/__init__.cpython-311.pyc", content[::-1]),
        member(f"{SITE}/{name}-1.dist-info", None),
        member(f"{SITE}/{name}-1.dist-info/RECORD", record.encode()),
        member(f"opt/reprokit/bin/{name}", b"#!"),
    ]


@pytest.fixture
def divided_form(form_of, monkeypatch):
    """The form with a layer for each package of 100 bytes and more."""
    monkeypatch.setattr(package_layers, "_SMALLEST_BYTES", 100)
    form = dataclasses.replace(FORM, version=PACKAGE_LAYERS)
    folders = [member("/".join(SITE.split("/")[:n]), None) for n in range(1, 6)]
    folders.append(member("opt/reprokit/bin", None))
    return lambda *packages: form_of(packed(*folders, *itertools.chain(*packages)), form=form)


def diff_ids(made: CanonicalImage) -> list[str]:
    return json.loads(made.configuration)["rootfs"]["diff_ids"]


def test_equal_large_packages_of_two_images_are_one_layer_and_the_largest_is_the_lowest(divided_form):
    torch, numpy, small = wheel("torch", b"t" * 500), wheel("numpy", b"n" * 90), wheel("tiny", b"s")
    one, other = divided_form(torch, numpy, small), divided_form(wheel("other", b"o"), torch)
    assert [part.package for part in one.parts] == ["torch-1", "numpy-1", ""]
    assert [part.package for part in other.parts] == ["torch-1", ""]
    assert diff_ids(one)[:2] == diff_ids(other)[:2]
    assert diff_ids(one)[2:] != diff_ids(other)[2:]
    assert one.id != other.id


def test_a_package_with_another_byte_has_another_layer(divided_form):
    one, other = divided_form(wheel("torch", b"t" * 500)), divided_form(wheel("torch", b"u" * 500))
    assert diff_ids(one)[1] != diff_ids(other)[1]


def test_every_file_is_in_one_layer_and_every_layer_brings_its_folders(divided_form):
    made = divided_form(wheel("torch", b"t" * 500), wheel("tiny", b"s"))
    files = [one.name for part in made.parts for one in part.files if one.kind != layers.DIRECTORY]
    assert sorted(files) == [one.name for one in made.files if one.kind != layers.DIRECTORY]
    assert f"{SITE}/torch/__pycache__/__init__.cpython-311.pyc" in {one.name for one in made.parts[0].files}
    assert "opt/reprokit/bin/torch" in {one.name for one in made.parts[-1].files}
    for part in made.parts:
        names = {one.name for one in part.files}
        assert all("/" not in name or name.rpartition("/")[0] in names for name in names)


def test_a_file_of_two_packages_and_a_file_with_two_names_stay_with_the_rest(divided_form):
    both = wheel("tiny", b"s", also="torch/__init__.py,,\n")
    hard = link(f"{SITE}/torch/second.py", f"{SITE}/torch/first.py", tarfile.LNKTYPE)
    extra = [member(f"{SITE}/torch/data", b"d" * 300), member(f"{SITE}/torch/first.py", b"1" * 300), hard]
    listed = "torch/data,,\ntorch/first.py,,\ntorch/second.py,,\n"
    made = divided_form(wheel("torch", b"t" * 500, also=listed), extra, both)
    assert f"{SITE}/torch/data" in {one.name for one in made.parts[0].files}
    rest = {one.name for one in made.parts[-1].files}
    assert {f"{SITE}/torch/{name}.py" for name in ("__init__", "first", "second")} <= rest


def test_what_the_engine_loads_of_several_layers_is_what_was_promised(divided_form):
    made = divided_form(wheel("torch", b"t" * 500), wheel("tiny", b"s"))
    with tarfile.open(fileobj=io.BytesIO(b"".join(made.archive()))) as tar:
        (entry,) = json.load(tar.extractfile("manifest.json"))
        parts = [tar.extractfile(name).read() for name in entry["Layers"]]
    assert diff_ids(made) == [f"sha256:{hashlib.sha256(part).hexdigest()}" for part in parts]
    assert len(json.loads(made.configuration)["history"]) == len(parts) == 3


def test_an_image_on_another_base_is_refused(tmp_path):
    other = dataclasses.replace(FORM, base_layers=("sha256:0",))
    with (
        layers.opened(saved(tmp_path / "a.tar")) as image,
        pytest.raises(ImageError, match="not based on the requested base"),
    ):
        canonical(image, other)


def test_a_device_among_the_files_is_refused(form_of):
    with pytest.raises(ImageError, match="other than a file, folder or link"):
        form_of(packed(member("dev", b"", type=tarfile.CHRTYPE)))


def test_what_is_no_archive_of_an_image_is_refused(tmp_path):
    (tmp_path / "a.tar").write_bytes(packed(member("hello", b"1")))
    with pytest.raises(ImageError, match="cannot be read"), layers.opened(tmp_path / "a.tar"):
        pass
