"""A disk that fills while data is fetched, prepared, split or copied: told, and the next call continues."""

from __future__ import annotations

import io
import random
import re
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from reprokit import file_tree, images
from reprokit.core.records import Realisation, digest_bytes
from reprokit.harness import preparing
from support.archived_data import empty_cache, make_study, write_tabular
from support.archived_data import prepare as prepare_tabular
from support.command_line import reprokit
from support.command_recipe import RECIPE, Repository
from support.small_disk import PAGE, SmallDisk

CHANCE = random.Random(1)
RAW = b"id,x\n" + b"".join(b"%d,%d\n" % (row, CHANCE.randrange(10**9)) for row in range(6_000))
STEP = """\
def double(inputs, output, *, seed):
    content = inputs["raw.csv"].read_bytes()
    (output / "twice.csv").write_bytes(content + content)
"""
#: It continues where nothing could be written, as shell scripts do.
REGARDLESS = """\
def double(inputs, output, *, seed):
    content = inputs["raw.csv"].read_bytes()
    with open(output / "twice.csv", "wb", buffering=0) as stream:
        for at in range(0, 2 * len(content), 4096):
            try:
                stream.write((content + content)[at : at + 4096])
            except OSError:
                pass
"""


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("a.csv", "b/c.csv"):
            archive.writestr(zipfile.ZipInfo(name), RAW)
    return out.getvalue()


class Disk(SmallDisk):
    """It holds the cache, and what is written of it."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.cache, self.out = root / "cache", root / "out"

    def files(self) -> dict[str, bytes]:
        """Every file of the cache that counts: by a digest, or as a record."""
        found = (path for path in self.cache.rglob("*") if path.is_file())
        names = {path.relative_to(self.cache).as_posix(): path for path in found}
        return {name: path.read_bytes() for name, path in names.items() if "/." not in name}


@pytest.fixture
def disk(mounted_disk: Callable[[str], Path], monkeypatch) -> Disk:
    disk = Disk(mounted_disk("size=4m"))
    monkeypatch.setenv("REPROKIT_CACHE", str(disk.cache))
    return disk


@pytest.fixture
def recipe(disk, tmp_path, monkeypatch):
    """A recipe with a table, an archive that is unpacked, and a file that a step makes of the table."""
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.chdir(root)
    realisation = Realisation(
        variant="cpu", kind="venv", reference="/", digest="sha256:1", python=sys.executable, lock_digest="l"
    )
    monkeypatch.setattr(images, "resolve", lambda *_, **__: realisation)
    monkeypatch.setattr(preparing, "_APART_S", 0.0)
    project = Repository(root)
    project.git("init", "--quiet")
    (root / "raw.csv").write_bytes(RAW)
    content = zipped()
    (root / "raw.zip").write_bytes(content)
    both = f"{{path: raw.zip, sha256: '{digest_bytes(content)}', size: {len(content)}, unpack: zip}}"

    def write(code: str = STEP, *, sha256: str = f"sha256:{'0' * 64}", size: int = 0) -> None:
        text = RECIPE.replace("variant: none", "variant: cpu") + (
            "data:\n"
            f"  raw.csv: {{path: raw.csv, sha256: '{digest_bytes(RAW)}', size: {len(RAW)}}}\n"
            f"  both: {both}\n"
            f"  twice.csv: {{prepared: double, sha256: '{sha256}', size: {size}}}\n"
            "prepare:\n  double: {function: 'clean:double', inputs: [raw.csv]}\n"
        )
        project.write(recipes__train__recipe_yaml=text, recipes__train__clean_py=code)

    write(sha256=digest_bytes(RAW + RAW), size=2 * len(RAW))
    return write


def fills(
    disk: Disk,
    needed: int,
    act: Callable[[], int],
    capsys,
    *,
    moments: int = 12,
    anew: Callable[[], None] = lambda: None,
) -> None:
    """Let it fill at so many moments of an act, begun again each time; each must be told as what it is."""
    capsys.readouterr()
    for pages in range(0, needed - 1, max(1, needed // moments)):
        anew()
        disk.leave(pages)
        code, said = act(), capsys.readouterr().err
        assert code == 3, (pages, said)
        assert "no space left on the disk" in said, (pages, said)
        assert "free some space" in said
        disk.empty()
        nothing_half_written_counts(disk)


def nothing_half_written_counts(disk: Disk) -> None:
    for name, content in disk.files().items():
        if found := re.fullmatch(r"data/([0-9a-f]{64})", name):
            assert digest_bytes(content) == f"sha256:{found[1]}", name
        elif name.startswith("data/"):
            assert content == RAW, name


def pages_of(disk: Disk, act: Callable[[], int], *, code: int = 0) -> int:
    """How much room it takes at the most, as far as what is left shows."""
    before = disk.pages_free()
    assert act() == code
    return before - disk.pages_free()


def test_while_data_is_fetched_and_unpacked(disk, recipe, capsys):
    def fetch() -> int:
        return reprokit("data", "fetch", "train")

    def anew() -> None:
        for path in (disk.cache / "data").iterdir():
            remove(path)

    fills(disk, pages_of(disk, fetch), fetch, capsys, anew=anew)
    assert fetch() == 0
    assert reprokit("data", "verify", "train") == 4  # the prepared file alone is not there
    assert capsys.readouterr().out.count("ready") == 4


def remove(path: Path) -> None:
    file_tree.remove(path) if path.is_dir() else path.unlink()


def test_while_data_is_prepared(disk, recipe, capsys):
    assert reprokit("data", "fetch", "train") == 0
    (prepared,) = [f"data/{digest_bytes(RAW + RAW).removeprefix('sha256:')}"]

    def prepare() -> int:
        return reprokit("data", "prepare", "train", "--backend", "local")

    def anew() -> None:
        for path in (*(disk.cache / "prepared").glob("*"), disk.cache / prepared):
            if path.exists():
                remove(path)

    assert prepare() == 0
    pages = -(-2 * len(RAW) // PAGE)
    # Two preparations lie there before one of them is kept.
    fills(disk, 3 * pages, prepare, capsys, moments=3, anew=anew)
    assert not [name for name in disk.files() if name == prepared or name.endswith(".json")]
    assert reprokit("data", "prepare", "train", "--backend", "local") == 0
    assert reprokit("data", "verify", "train") == 0


def test_while_a_step_goes_on_as_if_nothing_were(disk, recipe, capsys):
    recipe(REGARDLESS)
    assert reprokit("data", "fetch", "train") == 0
    disk.leave(40)
    assert reprokit("data", "prepare", "train", "--backend", "local") == 3
    said = capsys.readouterr()
    assert "no space left on the disk for what the step double makes" in said.err
    assert "to accept it" not in said.out
    disk.empty()
    assert not [name for name in disk.files() if name.endswith(".json")]


def test_while_data_is_copied_or_split(disk, recipe, capsys):
    assert reprokit("data", "fetch", "train") == 0
    assert reprokit("data", "prepare", "train", "--backend", "local") == 0
    copies = ("data", "export", "train", "--output", disk.out)
    parts = ("data", "split", "raw.csv", "--part", "a=0.5", "--part", "b=0.5", "--output", disk.out)
    for words in (copies, parts):
        needed = pages_of(disk, lambda words=words: reprokit(*words))
        remove(disk.out)
        fills(disk, needed, lambda words=words: reprokit(*words), capsys)
        assert not list(disk.out.iterdir())
        assert reprokit(*words) == 0
        remove(disk.out)


@pytest.mark.slow
@pytest.mark.engine
@pytest.mark.timeout(900)
def test_while_a_step_in_a_container_writes(mounted_disk, tmp_path, engine):
    study = make_study(tmp_path)
    study.cache = empty_cache(mounted_disk("size=4m") / "cache")
    write_tabular(study)
    code = study.recipe("tabular").with_name("clean.py")
    good = code.read_text()
    code.write_text(f"{good}    (output / 'x').write_bytes(bytes(8 << 20))\n")
    study("data", "fetch", "tabular")
    study("data", "prepare", "tabular", "--backend", "docker", code=3)
    assert "no space left on the disk for what the step clean makes" in study.told
    assert not list((study.cache / "prepared").glob("*.json"))
    assert not list((study.cache / "prepared").glob("*.work"))
    code.write_text(good)
    prepare_tabular(study, backend="docker")


def test_a_disk_without_a_free_file_is_told_too(mounted_disk, recipe, monkeypatch, capsys):
    small = mounted_disk("size=4m,nr_inodes=6")
    monkeypatch.setenv("REPROKIT_CACHE", str(small / "cache"))
    assert reprokit("data", "fetch", "train") == 3
    assert "no space left on the disk" in capsys.readouterr().err
