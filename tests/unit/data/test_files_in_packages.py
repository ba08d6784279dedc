"""A file inside a published package is fetched without installing the package or running a line of it."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from reprokit.errors import DataError

CONTENT = b"5,0,4,1\n" * 1000


@pytest.fixture
def index(tmp_path, monkeypatch) -> Path:
    """A folder that pip is configured to look into, and into nothing else."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def add_wheel(folder: Path, files: dict[str, bytes], *, version: str = "1.0") -> None:
    info = f"digits-{version}.dist-info"
    with zipfile.ZipFile(folder / f"digits-{version}-py3-none-any.whl", "w") as wheel:
        for name, content in files.items():
            wheel.writestr(name, content)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: digits\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def add_sdist(folder: Path, files: dict[str, bytes], *, version: str = "1.0") -> None:
    with tarfile.open(folder / f"digits-{version}.tar.gz", "w:gz") as sdist:
        for name, content in files.items():
            member = tarfile.TarInfo(f"digits-{version}/{name}")
            member.size = len(content)
            sdist.addfile(member, io.BytesIO(content))


def test_a_file_of_a_wheel_is_fetched(index, fetching, make):
    add_wheel(index, {"digits/data.csv": CONTENT})
    path = fetching(make("package://digits==1.0/digits/data.csv", content=CONTENT))
    assert path.read_bytes() == CONTENT


def test_no_line_of_a_source_archive_is_run(index, fetching, make, tmp_path):
    marker = tmp_path / "it-ran"
    build = f"open({str(marker)!r}, 'w')\nfrom setuptools import setup\nsetup(name='digits', version='1.0')\n"
    backend = f"open({str(marker)!r}, 'w')\n"
    settings = b'[build-system]\nrequires = []\nbuild-backend = "own"\nbackend-path = ["."]\n'
    for version, added in {
        "1.0": {},
        "2.0": {"pyproject.toml": settings, "own.py": backend.encode()},
    }.items():
        add_sdist(index, {"setup.py": build.encode(), "data/a b.csv": CONTENT, **added}, version=version)
        fetching.cache = tmp_path / version
        path = fetching(make(f"package://digits=={version}/data/a%20b.csv", content=CONTENT))
        assert path.read_bytes() == CONTENT
    assert not marker.exists()


def test_a_pip_that_the_judged_tree_brings_is_never_run(index, fetching, make, tmp_path, monkeypatch):
    ran = tmp_path / "ran"
    (tmp_path / "pip.py").write_text(f"open({str(ran)!r}, 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    test_no_line_of_a_source_archive_is_run(index, fetching, make, tmp_path)
    assert not ran.exists()


def test_the_source_archive_is_asked_where_the_wheel_lacks_the_file(index, fetching, make):
    add_wheel(index, {"digits/__init__.py": b""})
    add_sdist(index, {"setup.py": b"", "digits/data.csv": CONTENT})
    assert fetching(make("package://digits==1.0/digits/data.csv", content=CONTENT)).read_bytes() == CONTENT


def test_a_source_archive_is_fetched_whole_by_its_own_name(index, fetching, make):
    add_sdist(index, {"setup.py": b"", "data.csv": CONTENT})
    whole = (index / "digits-1.0.tar.gz").read_bytes()
    one = make("package://digits==1.0/digits-1.0.tar.gz", content=whole, name="digits", unpack="tar")
    assert (fetching(one) / "digits-1.0" / "data.csv").read_bytes() == CONTENT


def test_another_file_than_declared_is_refused(index, fetching, make):
    add_wheel(index, {"digits/data.csv": b"6" + CONTENT[1:]})
    with pytest.raises(DataError, match="not the declared file"):
        fetching(make("package://digits==1.0/digits/data.csv", content=CONTENT))
    assert fetching.left == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("package://digits==9.9/digits/data.csv", r"the package index has no 9\.9 of digits; newest: 1\.0"),
        ("package://numerals==1.0/data.csv", r"has no 1\.0 of numerals, or does not answer"),
        ("package://digits==1.0/digits/other.csv", r"digits-1\.0-py3-none-any\.whl has no file"),
        ("package://digits==1.0/digits/link.csv", "has no file"),
        ("package://digits/digits/data.csv", "is package://NAME==VERSION/PATH"),
    ],
)
def test_what_is_not_there_is_said(index, fetching, make, url, why):
    add_wheel(index, {"digits/data.csv": CONTENT})
    with tarfile.open(index / "digits-1.0.tar.gz", "w:gz") as sdist:
        link = tarfile.TarInfo("digits-1.0/digits/link.csv")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        sdist.addfile(link)
    with pytest.raises(DataError, match=why):
        fetching(make(url, content=CONTENT))


def test_offline_nothing_is_asked_and_what_is_there_is_used(index, fetching, make):
    one = make("package://digits==1.0/digits/data.csv", content=CONTENT)
    add_wheel(index, {"digits/data.csv": CONTENT})
    with pytest.raises(DataError, match="is not asked: offline"):
        fetching(one, offline=True)
    fetching(one)
    assert fetching(one, offline=True).read_bytes() == CONTENT
