"""The archive of a bundle: the same bytes for the same content, and every hostile one refused."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from reprokit.errors import BundleError, UsageError
from reprokit.features.bundles.archive_form import HEADER, UnpackLimits
from reprokit.features.bundles.manifest import BundleManifest
from reprokit.features.bundles.reading import unpack
from reprokit.features.bundles.writing import Packed, write

MANIFEST = BundleManifest(
    format=1,
    of="golden",
    recipe="tiny",
    platform="cpu-x86_64",
    seed=1,
    variant="none",
    modified=(),
    digests={},
    commit="",
    tool="1.0",
    vendored=False,
    left_out=(),
    files={},
)
FILES = {
    "README.md": Packed(content=b"read me\n"),
    "source/program/run.sh": Packed(content=b"#!/bin/sh\n", executable=True),
    "source/tiny/recipe.yaml": Packed(content=b"name: tiny\n" * 30),
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


@pytest.fixture
def made(tmp_path):
    path = tmp_path / "made.tar.gz"
    return path, write(path, FILES, manifest=MANIFEST)


def sealed(path: Path, tar: bytes, *, header: bytes = HEADER) -> Path:
    """An archive whose header is consistent: what someone writes who knows the format."""
    body = gzip.compress(tar, mtime=0)[10:]
    digest = hashlib.sha256(body).hexdigest()
    path.write_bytes(header + f"sha256:{digest}".encode() + b"\0" + body)
    return path


def entry(content: bytes, *, executable: bool = False) -> dict:
    digest = hashlib.sha256(content).hexdigest()
    return {"sha256": f"sha256:{digest}", "bytes": len(content), "executable": executable}


def manifest_with(contents: dict[str, bytes], **changed) -> bytes:
    value = json.loads(MANIFEST.to_bytes())
    value["files"] = {name: entry(content) for name, content in contents.items()}
    return json.dumps({**value, **changed}).encode()


def member(name: str, content: bytes = b"", **fields) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.mode, info.size = 0o644, len(content)
    for field, value in fields.items():
        setattr(info, field, value)
    return info, content


def tar_of(*members: tuple[tarfile.TarInfo, bytes], manifest: bytes | None = None) -> bytes:
    """A tar file; its manifest lists every plain file, unless another is given."""
    plain = {info.name: content for info, content in members if info.isreg()}
    manifest = manifest_with(plain) if manifest is None else manifest
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for info, content in (member("bundle.json", manifest), *members):
            tar.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def outside(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in tmp_path.iterdir() if path.name not in {"out", "bad.tar.gz"})


def test_what_was_written_is_unpacked_as_it_was(made, folder):
    path, digest = made
    found = unpack(path, folder, sha256=digest)
    assert found.sha256 == digest
    assert {name: (folder / name).read_bytes() for name in FILES} == {
        name: one.content for name, one in FILES.items()
    }
    modes = {name: (folder / name).stat().st_mode & 0o777 for name in FILES}
    assert modes == {name: 0o755 if one.executable else 0o644 for name, one in FILES.items()}
    assert json.loads((folder / "bundle.json").read_text())["recipe"] == "tiny"


def test_the_same_content_is_the_same_bytes_in_any_order_and_from_files(made, tmp_path):
    path, digest = made
    on_disk = tmp_path / "some file"
    on_disk.write_bytes(b"read me\n")
    other = {**dict(reversed(FILES.items())), "README.md": Packed(content=on_disk)}
    assert write(tmp_path / "other.tar.gz", other, manifest=MANIFEST) == digest
    assert (tmp_path / "other.tar.gz").read_bytes() == path.read_bytes()


def test_every_ordinary_tool_reads_it(made):
    with tarfile.open(made[0]) as tar:
        assert tar.getnames() == ["bundle.json", *sorted(FILES)]


def test_one_changed_byte_anywhere_is_found(made, tmp_path):
    data, bad = made[0].read_bytes(), tmp_path / "bad.tar.gz"
    passed = []
    for place in range(len(data)):
        for bit in (0x01, 0x80):
            bad.write_bytes(data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :])
            into = tmp_path / f"into-{place}-{bit}"
            into.mkdir()
            try:
                unpack(bad, into)
                passed.append((place, bit))
            except BundleError:
                assert list(into.iterdir()) == []  # nothing was unpacked before it was known
            into.rmdir()
    assert passed == []


def test_a_file_that_was_exchanged_in_the_archive_is_named(tmp_path, folder):
    manifest = manifest_with({"README.md": b"read me", "source/a.py": b"RATE = 0.1"})
    tar = tar_of(member("README.md", b"read me"), member("source/a.py", b"RATE = 0.2"), manifest=manifest)
    bad = sealed(tmp_path / "bad.tar.gz", tar)
    data = bytearray(bad.read_bytes())
    data[len(HEADER) + 10] ^= 1  # the digest of the archive as it was
    bad.write_bytes(data)
    with pytest.raises(BundleError, match="damaged or was altered") as refused:
        unpack(bad, folder)
    assert "source/a.py" in refused.value.where


def test_of_an_archive_that_was_packed_again_the_file_that_differs_is_named(tmp_path, folder):
    contents = {"README.md": b"read me", "source/a.py": b"RATE = 0.1"}
    packed = tmp_path / "bad.tar.gz"
    with tarfile.open(packed, "w:gz") as tar:
        tar.addfile(member("./source", type=tarfile.DIRTYPE)[0])
        last = ("bundle.json", manifest_with(contents))
        for name, content in (*{**contents, "source/a.py": b"RATE = 0.2"}.items(), last):
            info, data = member(f"./{name}", content)
            tar.addfile(info, io.BytesIO(data))
    with pytest.raises(BundleError, match="damaged or was altered") as refused:
        unpack(packed, folder)
    assert str(refused.value.where).endswith("'source/a.py'")


def test_a_cut_archive_and_bytes_behind_it_are_found(made, tmp_path, folder):
    data, bad = made[0].read_bytes(), tmp_path / "bad.tar.gz"
    for content in (b"", data[:50], data[:-1], data + b"\0", data + data):
        bad.write_bytes(content)
        with pytest.raises(BundleError):
            unpack(bad, folder)


def test_another_bundle_than_the_one_that_was_named_is_refused(made, folder, tmp_path):
    swapped = {**FILES, "README.md": Packed(content=b"another\n")}
    digest = write(tmp_path / "swapped.tar.gz", swapped, manifest=MANIFEST)  # consistent in itself
    assert digest != made[1]
    with pytest.raises(BundleError, match="this is another bundle"):
        unpack(tmp_path / "swapped.tar.gz", folder, sha256=made[1])
    assert list(folder.iterdir()) == []


GOOD = member("README.md", b"read me\n")
HOSTILE_MEMBERS = {
    "above": member("../escaped", b"x"),
    "above further down": member("source/../../escaped", b"x"),
    "absolute": member("/escaped", b"x"),
    "empty part": member("source//x", b"x"),
    "dot": member("./README.md", b"x"),
    "backslash": member("source\\x", b"x"),
    "new line": member("source/a\nb", b"x"),
    "escape sequence": member("source/\x1b[2J", b"x"),
    "too long": member("source/" + "x" * 1100, b"x"),
    "too deep": member("source/" + "d/" * 40 + "x", b"x"),
    "another top": member("elsewhere/x", b"x"),
    "python at the top": member("sitecustomize.py", b"x"),
    "git repository": member("source/.git/config", b"[core]\n"),
    "git repository in capitals": member("source/.GIT/hooks/x", b"x"),
    "symbolic link": member("source/link", type=tarfile.SYMTYPE, linkname="README.md"),
    "link out": member("source/link", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
    "hard link": member("source/link", type=tarfile.LNKTYPE, linkname="README.md"),
    "hard link out": member("source/link", type=tarfile.LNKTYPE, linkname="../../escaped"),
    "folder": member("source", type=tarfile.DIRTYPE),
    "character device": member("source/dev", type=tarfile.CHRTYPE, devmajor=1, devminor=3),
    "block device": member("source/dev", type=tarfile.BLKTYPE, devmajor=8),
    "pipe": member("source/pipe", type=tarfile.FIFOTYPE),
    "contiguous file": member("source/x", b"x", type=tarfile.CONTTYPE),
    "set-uid": member("source/x", b"x", mode=0o4755),
    "world-writable": member("source/x", b"x", mode=0o666),
    "sparse by its headers": member(
        "source/x",
        b"1\n0\n1\n" + b"\0" * 506 + b"x",
        pax_headers={
            "GNU.sparse.major": "1",
            "GNU.sparse.minor": "0",
            "GNU.sparse.realsize": "1099511627776",
        },
    ),
    "renamed by its headers": member("source/x", b"x", pax_headers={"path": "../escaped"}),
}


@pytest.fixture(params=["a second opinion", "none"])
def second_opinion(request, monkeypatch):
    """Python 3.11.2, which Debian 12 has, gives none."""
    if request.param == "none":
        monkeypatch.delattr(tarfile, "data_filter", raising=False)


@pytest.mark.usefixtures("second_opinion")
def test_it_is_unpacked_by_every_python(tmp_path, folder):
    unpack(sealed(tmp_path / "good.tar.gz", tar_of(GOOD, manifest=manifest_with(LISTED))), folder)
    assert (folder / "README.md").read_bytes() == LISTED["README.md"]


@pytest.mark.usefixtures("second_opinion")
@pytest.mark.parametrize("bad", HOSTILE_MEMBERS.values(), ids=HOSTILE_MEMBERS)
def test_a_member_that_is_no_plain_file_below_the_bundle_is_refused(bad, tmp_path, folder):
    before = outside(tmp_path)
    path = sealed(tmp_path / "bad.tar.gz", tar_of(GOOD, bad))
    with pytest.raises(BundleError):
        unpack(path, folder)
    assert outside(tmp_path) == before
    assert not [one for one in folder.rglob("*") if one.is_symlink()]


LISTED = {"README.md": b"read me\n"}
HOSTILE_TARS = {
    "a file that the manifest does not list": tar_of(GOOD, manifest=manifest_with({})),
    "a file that is missing": tar_of(manifest=manifest_with(LISTED)),
    "a file twice": tar_of(GOOD, GOOD),
    "the manifest twice": tar_of(GOOD, member("bundle.json", b"{}")),
    "another content": tar_of(member("README.md", b"Read me\n"), manifest=manifest_with(LISTED)),
    "another length": tar_of(member("README.md", b"read me\n\n"), manifest=manifest_with(LISTED)),
    "another mode": tar_of(member("README.md", b"read me\n", mode=0o755), manifest=manifest_with(LISTED)),
    "a file as a folder": tar_of(member("source/a", b"x"), member("source/a/b", b"x")),
    "a folder as a file": tar_of(member("source/a/b", b"x"), member("source/a", b"x")),
    "no manifest first": tar_of(GOOD)[1024:],
    "something behind the end": tar_of(GOOD) + b"x" * 512,
    "a second archive behind the end": tar_of(GOOD) + tar_of(member("source/more", b"x")),
    "nothing at all": b"",
    "no tar": b"\x7fELF" * 400,
    "a torn tar": tar_of(GOOD)[:700],
    "a manifest that is no JSON": tar_of(GOOD, manifest=b"\xff\xfe"),
    "a manifest that is nested without end": tar_of(GOOD, manifest=b"[" * 100_000),
    "a manifest of a list": tar_of(GOOD, manifest=b"[]"),
    "a manifest with a key twice": tar_of(GOOD, manifest=b'{"format": 1, "format": 1}'),
    "a manifest of another format": tar_of(GOOD, manifest=manifest_with(LISTED, format=2)),
    "a manifest with a bool for a number": tar_of(GOOD, manifest=manifest_with(LISTED, format=True)),
    "a recipe that is a path": tar_of(GOOD, manifest=manifest_with(LISTED, recipe="../../other")),
    "a variant that is a path": tar_of(GOOD, manifest=manifest_with(LISTED, variant="/etc")),
    "a seed below zero": tar_of(GOOD, manifest=manifest_with(LISTED, seed=-1)),
    "a key that is not known": tar_of(GOOD, manifest=manifest_with(LISTED, run_this="rm")),
    "a digest that is none": tar_of(
        GOOD, manifest=manifest_with(LISTED, files={"README.md": {"sha256": "", "bytes": 8}})
    ),
}


@pytest.mark.parametrize("tar", HOSTILE_TARS.values(), ids=HOSTILE_TARS)
def test_an_archive_that_is_not_what_its_manifest_says_is_refused(tar, tmp_path, folder):
    before = outside(tmp_path)
    with pytest.raises(BundleError):
        unpack(sealed(tmp_path / "bad.tar.gz", tar), folder)
    assert outside(tmp_path) == before


def test_the_helpers_of_these_tests_make_good_archives_too(tmp_path, folder):
    unpack(sealed(tmp_path / "good.tar.gz", tar_of(GOOD)), folder)
    assert (folder / "README.md").read_bytes() == b"read me\n"


def test_what_would_unpack_to_far_more_than_it_is_stops_at_the_limit(tmp_path, folder):
    zeros = member("source/zeros", b"\0" * (8 << 20))
    path = sealed(tmp_path / "bomb.tar.gz", tar_of(zeros))
    assert path.stat().st_size < 64 << 10
    with pytest.raises(BundleError, match="unpacks to more than"):
        unpack(path, folder, limits=UnpackLimits(free_bytes=1 << 20, ratio=10))
    assert sum(one.stat().st_size for one in folder.rglob("*") if one.is_file()) < 4 << 20


def test_a_member_that_claims_a_size_that_it_has_not_is_refused(tmp_path, folder):
    tar = bytearray(tar_of(GOOD))
    start = tar.index(b"README.md")
    tar[start + 124 : start + 136] = b"77777777777\0"  # 8 GiB
    checksum = sum(tar[start : start + 148]) + 8 * 32 + sum(tar[start + 156 : start + 512])
    tar[start + 148 : start + 156] = f"{checksum:06o}\0 ".encode()
    with pytest.raises(BundleError):
        unpack(sealed(tmp_path / "bad.tar.gz", bytes(tar)), folder)


def test_more_files_than_the_limit_are_refused_before_one_is_written(tmp_path, folder):
    members = [member(f"source/{number}", b"") for number in range(20)]
    with pytest.raises(BundleError, match="more than 10 files"):
        unpack(sealed(tmp_path / "many.tar.gz", tar_of(*members)), folder, limits=UnpackLimits(entries=10))
    assert list(folder.iterdir()) == []


def test_a_header_of_another_form_is_refused_even_if_its_digest_fits(tmp_path, folder):
    for place, value in ((4, 1), (8, 0), (9, 3)):  # a time, another compression, another system
        header = bytearray(HEADER)
        header[place] = value
        with pytest.raises(BundleError, match="damaged or was altered"):
            unpack(sealed(tmp_path / "bad.tar.gz", tar_of(GOOD), header=bytes(header)), folder)


@pytest.mark.parametrize("name", ["../x", "/x", "elsewhere/x", "source/.git/config"])
def test_nothing_is_written_that_could_not_be_unpacked(name, tmp_path):
    with pytest.raises(UsageError, match="cannot go into a bundle"):
        write(tmp_path / "made.tar.gz", {name: Packed(content=b"")}, manifest=MANIFEST)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_what_was_there(made, tmp_path):
    with pytest.raises(Exception, match="cannot write"):
        write(made[0], {"README.md": Packed(content=tmp_path / "gone")}, manifest=MANIFEST)
    assert made[0].stat().st_size > 0
    assert [path.name for path in tmp_path.iterdir()] == ["made.tar.gz"]


def test_a_file_that_is_not_there_is_said(tmp_path, folder):
    with pytest.raises(BundleError, match="cannot be read"):
        unpack(tmp_path / "gone.tar.gz", folder)
