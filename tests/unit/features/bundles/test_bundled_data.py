"""Data in a bundle: what goes along, what is only named, and what is refused when a bundle is opened."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from pathlib import Path

import pytest

from reprokit.cli import main
from reprokit.core.records import digest_bytes
from reprokit.errors import BundleError
from reprokit.features.bundles.bundle import bundle, reproduce_bundle
from reprokit.features.bundles.reading import unpack
from reprokit.features.bundles.writing import Packed, write
from reprokit.harness import Request
from reprokit.project import Project
from reprokit.session import Session
from support.command_recipe import PROGRAM, RECIPE
from support.recorded_progress import RecordedProgress

TRAIN = b"0.1\n0.2\n"
READS = PROGRAM.replace(
    "value = 1.0",
    'value = sum(map(float, open(sys.argv[3] + "/train.csv"))) + float(open(sys.argv[3] + "/more/a").read())',
)


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(zipfile.ZipInfo("a"), "0.5\n")
    return out.getvalue()


@pytest.fixture
def theirs(repository, tmp_path, monkeypatch):
    """A project with a golden of a program that reads a table and an archive; both have a licence."""
    monkeypatch.setenv("REPROKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(repository.root)
    (repository.root / "raw").mkdir()
    (repository.root / "raw" / "train.csv").write_bytes(TRAIN)
    (repository.root / "raw" / "more.zip").write_bytes(zipped())
    write_recipe(repository)
    repository.write(train_py=READS)
    with pytest.raises(SystemExit):
        main(["data", "fetch", "train"])
    repository.promote(repository.reproduce())
    return repository


def write_recipe(repository, *, first: str = "licence: CC0 1.0", second: str = "licence: CC BY 4.0") -> None:
    def entry(name: str, content: bytes, more: str) -> str:
        return f"{{path: raw/{name}, sha256: '{digest_bytes(content)}', size: {len(content)}, {more}}}"

    text = RECIPE.replace('"{run_dir}"]', '"{run_dir}", "{data}"]') + (
        "sees: [train.py, settings.py]\n"
        f"data:\n  train.csv: {entry('train.csv', TRAIN, first)}\n"
        f"  more: {entry('more.zip', zipped(), f'unpack: zip, {second}')}\n"
    )
    repository.write(recipes__train__recipe_yaml=text)


@pytest.fixture
def made(theirs, tmp_path):
    def make(name="theirs.tar.gz", **asked):
        golden = theirs.root / "golden" / "train" / "cpu-x86_64" / "seed-3"
        project, told = Project.around(theirs.root), RecordedProgress()
        return bundle(
            golden, tmp_path / name, session=Session(project=project, progress=told), vendor=False, **asked
        )

    return make


@pytest.fixture
def reviewer(theirs, tmp_path, monkeypatch):
    """Someone with an empty cache and no network, who has the archive and nothing else."""
    home = tmp_path / "reviewer"
    home.mkdir()

    def reproduce(file, notes=None):
        monkeypatch.setenv("REPROKIT_CACHE", str(tmp_path / "reviewers_cache"))
        monkeypatch.setenv("REPROKIT_OFFLINE", "1")
        if theirs.root.exists():
            theirs.root.rename(tmp_path / "gone")
        monkeypatch.chdir(home)
        request = Request(backend="local", side_by_side=False)
        told = RecordedProgress(notes=[] if notes is None else notes)
        return reproduce_bundle(
            file, request, sha256=None, keep=None, home=Project.around(home), progress=told
        )

    return reproduce


@pytest.fixture
def rewritten(made, tmp_path):
    """The bundle with some files changed by someone who writes manifest and digests again as well."""

    def rewrite(change):
        folder = tmp_path / "rewritten"
        folder.mkdir()
        manifest = unpack(made().path, folder).manifest
        (folder / "bundle.json").unlink()
        change(folder)
        paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
        files = {name: Packed(content=path) for name, path in paths.items()}
        write(tmp_path / "rewritten.tar.gz", files, manifest=manifest)
        return tmp_path / "rewritten.tar.gz"

    return rewrite


def place_of(content: bytes) -> str:
    return f"data/{digest_bytes(content).removeprefix('sha256:')}"


def test_data_with_a_licence_goes_along_and_the_result_is_reproduced_offline(made, reviewer, tmp_path):
    written = made()
    assert {place_of(TRAIN), place_of(zipped())} <= set(written.files)
    assert not [sentence for sentence in written.left_out if sentence.startswith("the data")]
    report, _ = reviewer(written.path)
    assert (report.verdict, report.exit_code) == ("REPRODUCED", 0), report.sentence
    names = {path.name for path in (tmp_path / "reviewers_cache" / "data").iterdir()} - {".locks"}
    assert names == {
        Path(place_of(TRAIN)).name,
        *(Path(place_of(zipped())).name + end for end in ("", ".zip")),
    }


def test_the_licences_stand_in_its_page_and_its_metadata(made, tmp_path):
    (tmp_path / "opened").mkdir()
    unpack(made().path, tmp_path / "opened")
    page = (tmp_path / "opened" / "README.md").read_text()
    assert f"train.csv: `{place_of(TRAIN)}`, 8 bytes, {digest_bytes(TRAIN)}; CC0 1.0" in page
    crate = json.loads((tmp_path / "opened" / "ro-crate-metadata.json").read_text())
    (entry,) = [one for one in crate["@graph"] if one["@id"] == place_of(zipped())]
    assert (entry["name"], entry["license"]) == ("more", "CC BY 4.0")


LEFT_OUT = {
    "no licence": ({"first": "redistribute: true"}, {}, "states no licence"),
    "a licence that forbids it": (
        {"first": "licence: all rights reserved, redistribute: false"},
        {},
        "must not be passed on (licence: all rights reserved)",
    ),
    "too large": ({}, {"most_data_bytes": len(TRAIN) - 1}, "more than the bundle has room for"),
    "no one wants it": ({}, {"most_data_bytes": 0}, "no data was asked for"),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("case", LEFT_OUT)
def test_what_must_not_or_cannot_go_along_is_named_by_its_digest_with_the_reason(
    theirs, made, reviewer, case
):
    said, asked, why = LEFT_OUT[case]
    write_recipe(theirs, **said)
    written = made(**asked)
    assert place_of(TRAIN) not in written.files
    (sentence,) = [one for one in written.left_out if one.startswith("the data train.csv")]
    assert digest_bytes(TRAIN) in sentence
    assert why in sentence
    report, _ = reviewer(written.path)
    assert report.verdict == "NOT_RUN"
    assert "train.csv" in report.sentence


FORBIDDEN = "licence: all rights reserved, redistribute: false"


def test_whoever_opens_a_bundle_without_its_data_is_told_where_to_put_the_files(
    theirs, made, reviewer, tmp_path
):
    write_recipe(theirs, first=FORBIDDEN, second=FORBIDDEN)
    file = made().path
    notes = []
    reviewer(file, notes=notes)
    for content in (TRAIN, zipped()):
        place = tmp_path / "reviewers_cache" / place_of(content)
        assert [note for note in notes if f"copy it to {place} ({digest_bytes(content)}" in note], notes
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    report, _ = reviewer(file)
    assert (report.verdict, report.exit_code) == ("REPRODUCED", 0), report.sentence


@pytest.mark.parametrize("place", ["raw/train.csv", "src/copy.bin"])
def test_data_that_must_not_be_passed_on_is_refused_where_the_program_holds_it_too(theirs, made, place):
    """Of whatever name: what git tracks is code of the program, which cannot be left out."""
    (theirs.root / place).parent.mkdir(exist_ok=True)
    (theirs.root / place).write_bytes(TRAIN)
    write_recipe(theirs, first=FORBIDDEN)
    recipe = theirs.root / "recipes" / "train" / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("sees: [train.py, ", f"sees: [{place}, train.py, "))
    theirs.commit()
    theirs.promote(theirs.reproduce())
    with pytest.raises(BundleError) as refused:
        made()
    assert f"source/program/{place} is the data train.csv" in refused.value.what
    assert "redistribute: false" in refused.value.what
    assert "`sees`" in refused.value.fix


def test_data_without_a_licence_that_the_program_holds_too_is_not_called_left_out(theirs, made):
    write_recipe(theirs, first="redistribute: true")
    recipe = theirs.root / "recipes" / "train" / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("sees: [train.py, ", "sees: [raw/train.csv, train.py, "))
    theirs.commit()
    theirs.promote(theirs.reproduce())
    (sentence,) = [one for one in made().left_out if one.startswith("the data train.csv")]
    assert "source/program/raw/train.csv has its bytes" in sentence


def test_data_that_one_recipe_forbids_to_pass_on_does_not_go_along_for_another(theirs, made):
    recipe = theirs.root / "recipes" / "train" / "recipe.yaml"
    other = theirs.root / "recipes" / "other" / "recipe.yaml"
    other.parent.mkdir()
    text = recipe.read_text().replace("licence: CC0 1.0", FORBIDDEN)
    other.write_text(text.replace("name: train", "name: other"))
    with pytest.raises(BundleError, match=rf"{place_of(TRAIN)} is the data train\.csv"):
        made()


def test_what_another_recipe_of_the_project_forbids_to_pass_on_is_refused_too(theirs, made):
    recipe = theirs.root / "recipes" / "train" / "recipe.yaml"
    text = recipe.read_text()
    write_recipe(theirs, first=FORBIDDEN)
    other = theirs.root / "recipes" / "other" / "recipe.yaml"
    other.parent.mkdir()
    other.write_text(recipe.read_text().replace("name: train", "name: other"))
    recipe.write_text(text.replace("sees: [train.py, ", "sees: [raw/train.csv, train.py, "))
    theirs.commit()
    theirs.promote(theirs.reproduce())
    with pytest.raises(BundleError, match=r"source/program/raw/train\.csv is the data train\.csv"):
        made()


def test_a_copy_in_the_cache_that_was_changed_does_not_go_along(theirs, made, tmp_path):
    copy = tmp_path / "cache" / place_of(TRAIN)
    copy.chmod(0o644)
    copy.write_bytes(b"0.1\n0.3\n")
    written = made()
    assert place_of(TRAIN) not in written.files
    assert any(sentence.startswith("the data train.csv") for sentence in written.left_out)


def other_byte(folder: Path) -> None:
    (folder / place_of(TRAIN)).write_bytes(b"0.1\n0.3\n")


def cut(folder: Path) -> None:
    (folder / place_of(zipped())).write_bytes(zipped()[:-1])


def swapped(folder: Path) -> None:
    shutil.move(folder / place_of(TRAIN), folder / "data" / "x")
    shutil.move(folder / place_of(zipped()), folder / place_of(TRAIN))
    shutil.move(folder / "data" / "x", folder / place_of(zipped()))


def another_file(folder: Path) -> None:
    (folder / "data" / ("0" * 64)).write_bytes(b"x")


def a_folder(folder: Path) -> None:
    (folder / "data" / "sub").mkdir()
    (folder / "data" / "sub" / "a").write_bytes(b"x")


@pytest.mark.sample(2)
@pytest.mark.parametrize("change", [other_byte, cut, swapped, another_file, a_folder])
def test_other_data_than_the_recipe_declares_is_refused_before_anything_runs(
    rewritten, reviewer, tmp_path, change
):
    file = rewritten(change)
    with pytest.raises(BundleError, match=r"not the file that its recipe declares|does not declare"):
        reviewer(file)
    assert not (tmp_path / "reviewers_cache").exists()
    assert not list((tmp_path / "reviewer").iterdir())


def test_other_data_with_a_recipe_that_declares_it_does_not_fit_the_golden(rewritten, reviewer):
    def change(folder: Path) -> None:
        other = b"0.1\n0.3\n"
        (folder / place_of(TRAIN)).unlink()
        (folder / place_of(other)).write_bytes(other)
        recipe = folder / "source" / "train" / "recipe.yaml"
        recipe.write_text(recipe.read_text().replace(digest_bytes(TRAIN), digest_bytes(other)))

    with pytest.raises(BundleError, match="the recipe"):
        reviewer(rewritten(change))


def test_one_changed_byte_of_the_archive_is_refused(made, reviewer):
    written = made()
    content = bytearray(written.path.read_bytes())
    content[-200] ^= 1
    written.path.write_bytes(content)
    with pytest.raises(BundleError, match="damaged or was altered"):
        reviewer(written.path)


def test_the_command_line_says_what_goes_along(theirs, tmp_path, capsys):
    words = ["bundle", "golden/train", "--output", str(tmp_path / "b.tar.gz"), "--json"]
    for more, expected in (([], [True, True]), (["--no-data"], [False, False])):
        with pytest.raises(SystemExit) as ended:
            main([*words, *more])
        assert not ended.value.code
        told = json.loads(capsys.readouterr().out)["data"]
        assert [(one["name"], one["bundled"]) for one in told] == list(
            zip(["train.csv", "more"], expected, strict=True)
        )
        assert told[0]["licence"] == "CC0 1.0"
