"""A recipe says how its data is read; rows that two sets share are found in every run, in any format."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from reprokit.core.records import digest_bytes
from support.command_line import reprokit
from support.command_recipe import RECIPE

Image = pytest.importorskip("PIL.Image")


def picture(shade: int, form: str = "PNG") -> bytes:
    out = io.BytesIO()
    Image.new("L", (3, 2), shade).save(out, form)
    return out.getvalue()


def zipped(**files: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name.replace("_", ".")), content)
    return out.getvalue()


@pytest.fixture
def declare(repository, tmp_path, monkeypatch):
    """A program with two archives of images, one of which is unpacked."""
    monkeypatch.setenv("REPROKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(repository.root)

    def declared(train: bytes, test: bytes) -> None:
        entries = ""
        for name, content, how in (("train", train, "unpack: zip, "), ("test", test, "")):
            (repository.root / f"{name}.zip").write_bytes(content)
            digest = f"sha256: '{digest_bytes(content)}', size: {len(content)}"
            entries += f"  {name}: {{path: {name}.zip, {digest}, {how}form: images}}\n"
        text = f"sees: [train.py, settings.py]\ndata:\n{entries}disjoint:\n  - files: [train, test]\n"
        repository.write(recipes__train__recipe_yaml=RECIPE + text)
        assert reprokit("data", "fetch", "train") == 0

    return declared


def data_row(report):
    return next(one for one in report.checks if one.id == "data_recorded")


def test_images_that_no_other_set_has_pass(declare, repository):
    declare(zipped(a_png=picture(1), b_png=picture(2)), zipped(c_png=picture(3)))
    assert data_row(repository.reproduce()).status == "PASSED"


def test_an_image_in_two_sets_fails_the_row_also_in_another_format(declare, repository):
    declare(zipped(a_png=picture(1), b_png=picture(2)), zipped(c_bmp=picture(2, "BMP")))
    row = data_row(repository.reproduce())
    assert (row.status, "train" in row.reason, "test" in row.reason) == ("FAILED", True, True)


def test_the_sets_of_a_recipe_are_shown_and_compared_by_their_forms(declare, capsys):
    declare(zipped(a_png=picture(1), b_png=picture(2)), zipped(c_bmp=picture(2, "BMP")))
    capsys.readouterr()
    assert reprokit("data", "show", "train", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert {name: one["num_rows"] for name, one in told.items()} == {"train": 2, "test": 1}
    assert reprokit("data", "check-splits", "train:train", "train:test") == 1
    assert reprokit("data", "diff", "train:train", "train:test", "--key", "pixels", "--json") == 1


def test_a_folder_is_a_table_unless_a_recipe_is_called_like_it(declare, repository, capsys):
    declare(zipped(a_png=picture(1), b_png=picture(2)), zipped(c_png=picture(3)))
    for folder in ("photos", "train"):
        (repository.root / folder).mkdir()
        (repository.root / folder / "a.png").write_bytes(picture(4))
    capsys.readouterr()
    for name, expected in (("photos", {"photos": 1}), ("train", {"train": 2, "test": 1})):
        assert reprokit("data", "show", name, "--json") == 0
        told = json.loads(capsys.readouterr().out)
        assert {called: one["num_rows"] for called, one in told.items()} == expected


@pytest.mark.parametrize("place", ["gone.csv", "gone/photos", "gone.bin::tokens/uint8", "gone.h5"])
def test_what_is_not_there_is_said(declare, capsys, place):
    assert reprokit("data", "show", place) == 2
    assert "there is no such file or folder" in capsys.readouterr().err
