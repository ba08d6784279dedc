"""Archives of strangers: what leads out, is no plain file, or is too much refuses the whole archive."""

from __future__ import annotations

import io
import tarfile
import zipfile

import pytest

from reprokit import data
from reprokit.data import archives
from reprokit.errors import DataError


def tar(*members: tuple[str, bytes] | tarfile.TarInfo, how: str = "w:gz") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=how) as file:
        for one in members:
            member = one if isinstance(one, tarfile.TarInfo) else tarfile.TarInfo(one[0])
            content = b"" if isinstance(one, tarfile.TarInfo) else one[1]
            if content:
                member.size = len(content)
            file.addfile(member, io.BytesIO(content))
    return out.getvalue()


def special(name: str, kind: bytes, to: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, to
    return member


def zipped(*members: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members:
            file.writestr(name, content)
    return out.getvalue()


def linked(name: str) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name)
    member.create_system, member.external_attr = 3, 0o120777 << 16
    return member


GOOD = (("a/one.csv", b"1\n"), ("a/b/two.csv", b"2\n" * 100_000))


@pytest.mark.parametrize(
    ("kind", "content"),
    [("tar", tar(*GOOD)), ("tar", tar(*GOOD, how="w")), ("zip", zipped(*GOOD))],
    ids=["compressed", "tar", "zip"],  # the bytes hold the time, and workers must name their tests alike
)
def test_an_archive_becomes_a_folder_that_is_checked(fetching, make, write, kind, content):
    one = make(write("data.archive", content), content=content, unpack=kind)
    folder = fetching(one)
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} == {
        name for name, _ in GOOD
    }
    assert (folder / "a/b/two.csv").read_bytes() == GOOD[1][1]


ALTERED = {
    "edited": lambda folder: (
        (folder / "a/one.csv").chmod(0o644),
        (folder / "a/one.csv").write_bytes(b"2\n"),
    ),
    "longer": lambda folder: (
        (folder / "a/one.csv").chmod(0o644),
        (folder / "a/one.csv").write_bytes(b"1\n\n"),
    ),
    "removed": lambda folder: (folder / "a/one.csv").unlink(),
    "added": lambda folder: (folder / "a/three.csv").write_bytes(b""),
    "a link": lambda folder: (
        (folder / "a/one.csv").unlink(),
        (folder / "a/one.csv").symlink_to("b/two.csv"),
    ),
}


@pytest.mark.parametrize("how", ALTERED)
def test_a_folder_that_was_changed_since_is_found_and_unpacked_again(fetching, make, write, how):
    content = tar(*GOOD)
    one = make(write("data.tar", content), content=content, unpack="tar")
    ALTERED[how](fetching(one))
    assert data.check(one, cache=fetching.cache).status is data.SourceStatus.CHANGED
    fetching(one)


def test_an_archive_that_went_from_the_cache_is_fetched_again_beside_its_folder(fetching, make, write):
    content = tar(*GOOD)
    one = make(write("data.tar", content), content=content, unpack="tar")
    fetching(one)
    (fetching.cache / "data" / one.hex_digits).unlink()
    assert (fetching(one) / "a/one.csv").read_bytes() == b"1\n"


BOMB = zipped(("bomb.csv", b"0" * (80 << 20)))
HOSTILE = {
    "a tar that leads out": ("tar", tar(("../../evil", b"x")), "a path that is not unpacked"),
    "a tar with an absolute path": ("tar", tar(("/etc/evil", b"x")), "a path that is not unpacked"),
    "a link": ("tar", tar(special("link", tarfile.SYMTYPE, "/etc/passwd")), "a link or a device"),
    "a link and a file behind it": (
        "tar",
        tar(special("out", tarfile.SYMTYPE, "/tmp"), ("out/evil", b"x")),
        "a link or a device",
    ),
    "a hard link": ("tar", tar(special("link", tarfile.LNKTYPE, "/etc/passwd")), "a link or a device"),
    "a device": ("tar", tar(special("null", tarfile.CHRTYPE)), "a link or a device"),
    "a pipe": ("tar", tar(special("pipe", tarfile.FIFOTYPE)), "a link or a device"),
    "a file twice": ("tar", tar(("a", b"1"), ("a", b"2")), "'a' twice"),
    "a file that is a folder": ("tar", tar(("a", b"1"), ("a/b", b"2")), "'a/b' twice"),
    "a control character": ("tar", tar(("a\x1b[2J", b"1")), "a path that is not unpacked"),
    "a zip that leads out": ("zip", zipped(("../evil", b"x")), "a path that is not unpacked"),
    "a zip with a drive": ("zip", zipped(("C:evil", b"x")), "a path that is not unpacked"),
    "a zip with a backslash": ("zip", zipped(("..\\evil", b"x")), "a path that is not unpacked"),
    "a zip with a link": ("zip", zipped((linked("link"), b"/etc/passwd")), "a link or a device"),
    "a bomb": ("zip", BOMB, "unpacks to more than it may"),
    "deep folders": ("tar", tar(("a/" * 40 + "b", b"x")), "nests deeper than 32 folders"),
    "a tar that is a zip": ("tar", zipped(("a", b"x")), "cannot be unpacked: ReadError"),
    "a zip that is a tar": ("zip", tar(("a", b"x")), "cannot be unpacked: BadZipFile"),
    "a torn tar": (
        "tar",
        tar(("a", bytes(range(256)) * 999), how="w")[:5000],
        "cannot be unpacked|ReadError",
    ),
}


@pytest.mark.parametrize("attack", HOSTILE)
def test_a_hostile_archive_is_refused_whole(fetching, make, write, tmp_path, attack):
    kind, content, why = HOSTILE[attack]
    one = make(write("data.archive", content), content=content, unpack=kind)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(DataError, match=why):
        fetching(one)
    assert fetching.left == [one.hex_digits]  # the archive as declared, nothing of what is in it
    assert sorted(tmp_path.iterdir()) == sorted({*before, fetching.cache})


def test_too_many_files_are_refused(tmp_path):
    archive, folder = tmp_path / "a.tar", tmp_path / "out"
    archive.write_bytes(tar(*((f"{number}", b"") for number in range(11))))
    folder.mkdir()
    with pytest.raises(DataError, match="more files than it may"):
        archives.unpack(archive, folder, kind="tar", limits=archives.ArchiveLimits(files=10))
