"""Folders and archives of images: a row a file, the same image found whatever its format and name."""

from __future__ import annotations

import hashlib
import io
import random
import tarfile
import zipfile
from pathlib import Path

import pytest

from reprokit import data
from reprokit.cli import main
from reprokit.errors import UsageError
from reprokit.features.tables import data_tables
from reprokit.features.tables.manifest import manifest_of
from reprokit.features.tables.row_diff import diff_rows

Image = pytest.importorskip("PIL.Image")


def picture(number: int, mode: str = "L", size=(4, 3)) -> Image.Image:
    chance = random.Random(number)
    image = Image.new("L", size)
    image.putdata([chance.randrange(256) for _ in range(size[0] * size[1])])
    return image.convert(mode)


def encoded(image, form: str = "PNG", **options) -> bytes:
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


@pytest.fixture
def folder(tmp_path):
    """Thirty pictures in two folders, and a file that is none."""
    for number in range(30):
        place = tmp_path / "photos" / "ab"[number % 2] / f"{number}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(encoded(picture(number)))
    (tmp_path / "photos" / "README").write_text("no image")
    return tmp_path / "photos"


def test_a_folder_has_classes_modes_and_sizes(folder):
    found = manifest_of([folder])
    assert (found.num_rows, found.duplicates) == (30, 0)
    assert found.columns["class"].classes == {"a": 15, "b": 15}
    assert found.columns["mode"].classes == {"L": 30}
    assert (found.columns["width"].mean, found.columns["height"].mean) == (4.0, 3.0)


SAME = {
    "another name": encoded(picture(3)),
    "another compression": encoded(picture(3), compress_level=0),
    "another format": encoded(picture(3), "BMP"),
    "three channels": encoded(picture(3).convert("RGB")),
    "an opaque alpha": encoded(picture(3).convert("RGBA")),
    "a comment in it": encoded(picture(3), "GIF", comment=b"x"),
}


@pytest.mark.parametrize("how", SAME)
def test_the_same_pixels_are_a_duplicate_whatever_the_bytes(folder, how):
    (folder / "a" / "copy.png").write_bytes(SAME[how])
    assert manifest_of([folder]).duplicates == 1


def test_one_other_pixel_or_shape_is_no_duplicate(folder):
    other = picture(3)
    other.putpixel((0, 0), (other.getpixel((0, 0)) + 1) % 256)
    (folder / "a" / "copy.png").write_bytes(encoded(other))
    (folder / "a" / "turned.png").write_bytes(encoded(picture(3).resize((3, 4))))
    deep = Image.new("I;16", (4, 3))
    deep.putpixel((0, 0), 257)
    (folder / "a" / "deep.png").write_bytes(encoded(deep))
    deep.putpixel((0, 0), 258)
    (folder / "a" / "deep2.png").write_bytes(encoded(deep))
    assert manifest_of([folder]).duplicates == 0


def archived(folder: Path, kind: str) -> Path:
    path = folder.with_name(f"photos.{kind}")
    files = [one for one in folder.rglob("*") if one.is_file()]
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as file:
            for one in files:
                file.write(one, one.relative_to(folder))
    else:
        with tarfile.open(path, "w:gz") as file:
            for one in files:
                file.add(one, one.relative_to(folder))
    return path


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_an_archive_holds_the_rows_of_its_folder(folder, kind):
    archive = archived(folder, kind)
    found = diff_rows(folder, archive)
    assert (found.num_after, found.same_rows, found.is_reordered) == (30, True, False)


def test_a_split_puts_equal_pixels_into_one_part_and_shares_none(folder, tmp_path):
    for number in range(10):
        (folder / "b" / f"copy{number}.bmp").write_bytes(encoded(picture(number), "BMP"))
    record = data_tables.split_into(
        folder, tmp_path / "out", {"train": 0.5, "test": 0.5}, key=[], stratify="", salt=""
    )
    parts = {name: tmp_path / "out" / name for name in ("train", "test")}
    assert data.overlaps(parts).num_duplicates == 0
    assert sum(one["rows"] for one in record["parts"].values()) == 40
    found = [path for part in parts.values() for path in part.rglob("*.*")]
    assert sorted(path.name for path in found) == sorted(path.name for path in folder.rglob("*.*"))
    assert record["parts"]["train"]["sha256"].startswith("folder:sha256:")


def test_an_image_in_two_splits_is_refused_also_in_another_format(folder, tmp_path, capsys):
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "x.bmp").write_bytes(encoded(picture(7), "BMP"))
    with pytest.raises(SystemExit) as ended:
        main(["data", "check-splits", str(folder), str(tmp_path / "test")])
    assert ended.value.code == 1
    assert "1 stand in an earlier table too" in capsys.readouterr().out


def test_a_row_says_its_digests(folder):
    row = next(iter(data.rows(folder))).values
    content = (folder / row["file"]).read_bytes()
    assert row["bytes"] == hashlib.sha256(content).hexdigest() != row["pixels"]


BROKEN = {
    "cut": lambda: encoded(picture(1, size=(64, 64)))[:-100],
    "no image": lambda: b"no image",
    "nothing": lambda: b"",
    "a program for another program": lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 1 1\n",
    "far too large": lambda: b"P5 60000 60000 255\n" + bytes(100),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_cannot_be_decoded_is_refused_by_name(folder, case):
    (folder / "a" / "bad.png").write_bytes(BROKEN[case]())
    with pytest.raises(UsageError, match=r"a/bad\.png: the image cannot be decoded"):
        list(data.rows(folder))


def test_a_link_in_a_folder_and_a_folder_without_images_are_refused(folder, tmp_path):
    (folder / "a" / "link.png").symlink_to(folder / "b" / "1.png")
    with pytest.raises(UsageError, match="it is a link or a device"):
        list(data.rows(folder))
    (tmp_path / "none").mkdir()
    with pytest.raises(UsageError, match="it holds no image"):
        list(data.rows(tmp_path / "none"))
