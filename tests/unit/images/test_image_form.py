"""The one form of a built image, on archives small enough to read, and what is said of two that differ."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from reprokit.errors import ImageError
from reprokit.images import layers
from reprokit.images.canonical import Canonical, Form, canonical
from reprokit.images.image_difference import first_difference

EPOCH = 1_000_000


def member(name: str, content: bytes | None = b"", **changes) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.mode, info.mtime = (0o644, EPOCH + 5) if content is not None else (0o755, EPOCH + 5)
    info.type = tarfile.REGTYPE if content is not None else tarfile.DIRTYPE
    info.size = len(content or b"")
    for key, value in changes.items():
        setattr(info, key, value)
    return info, content or b""


def link(name: str, target: str, kind: bytes) -> tuple[tarfile.TarInfo, bytes]:
    return member(name, b"", type=kind, linkname=target, size=0)


def packed(*members) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for info, content in members:
            tar.addfile(info, io.BytesIO(content))
    return stream.getvalue()


BASE = packed(member("etc", None), member("etc/passwd", b"root\n"), member("usr", None))


def saved(path: Path, *above: bytes, history=(), config=None) -> Path:
    """What an engine saves of a base with layers on top."""
    parts = [BASE, *above]
    settings = {
        "architecture": "amd64",
        "os": "linux",
        "created": "2026-11-21T07:00:00Z",
        "container": "random",
        "config": {"Hostname": "random", "Env": ["A=1"], **(config or {})},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(p).hexdigest()}" for p in parts]},
        "history": [{"created_by": "base"}, *({"created_by": step} for step in history)],
    }
    names = [f"{n}/layer.tar" for n in range(len(parts))]
    manifest = json.dumps([{"Config": "c.json", "Layers": names, "RepoTags": None}]).encode()
    files = [
        ("c.json", json.dumps(settings).encode()),
        ("manifest.json", manifest),
        *zip(names, parts, strict=True),
    ]
    path.write_bytes(packed(*(member(name, content) for name, content in files)))
    return path


@pytest.fixture
def form_of(tmp_path):
    """The one form of a base with these layers on top."""
    with contextlib.ExitStack() as stack:
        count = iter(range(99))

        def make(*above: bytes, **settings) -> Canonical:
            path = saved(tmp_path / f"{next(count)}.tar", *above, **settings)
            return canonical(stack.enter_context(layers.opened(path)), FORM)

        yield make


FORM = Form(
    base_layers=(f"sha256:{hashlib.sha256(BASE).hexdigest()}",),
    num_base_steps=1,
    epoch=EPOCH,
    created="2026-10-01T00:00:00Z",
    labels={"a": "b"},
    tag="reprokit/test:1",
    made_by="reprokit",
)


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
    assert first_difference(one, two) is None


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


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (member("a", b"12x45"), "a: content from byte 2: 33 34 35 and 78 34 35"),
        (member("a", b"123"), "a: content from byte 3: 34 35 and the end"),
        (member("a", b"12345", mode=0o600), "a: mode: 0644 and 0600"),
        (member("a", b"12345", uid=7), "a: owner: 0:0 and 7:0"),
        (member("a", b"12345", mtime=12), f"a: time: {EPOCH} and 12"),
        (link("a", "etc", tarfile.SYMTYPE), "a: kind: file and symbolic link"),
    ],
)
def test_a_difference_is_told_with_file_place_and_step(form_of, changed, told):
    one = form_of(packed(member("a", b"12345")), history=["RUN make it"])
    other = form_of(packed(changed), history=["RUN make it"])
    assert first_difference(one, other).sentence() == f"{told} (layer 1: RUN make it)"


def test_a_file_only_in_one_is_named_and_the_others_are_counted(form_of):
    one = form_of(packed(member("b", b"1")))
    difference = first_difference(
        one, form_of(packed(member("b", b"1"), member("extra.pyc"), member("x.pyc")))
    )
    assert (difference.file, difference.what) == ("extra.pyc", "a file only in one")
    assert (difference.expected, difference.actual, difference.num_files) == ("not there", "there", 2)


def test_settings_that_differ_are_named_where_the_files_are_equal(form_of):
    layer = packed(member("a", b"1"))
    difference = first_difference(form_of(layer), form_of(layer, config={"Env": ["A=2"]}))
    assert difference.what == "settings"
    assert "A=1" in difference.expected
    assert "A=2" in difference.actual


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
