"""Packages that are distributed as source only: built by real uv, from an index that says when files came."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import sys
import tarfile
import threading
import zipfile
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from reprokit.errors import ImageError
from reprokit.features.locking.own_variants import VariantChoice, lock_from
from reprokit.features.locking.source_builds import RELEASED, build_wheel
from reprokit.features.locking.wheel_metadata import readable
from reprokit.images.packages import read_packages

HERE = f"3.{sys.version_info.minor}"
#: A build tool that fits nothing newer than itself, as setuptools once did: `source` needs tools 1.
BACKEND = """\
import os, pathlib, time, zipfile
import tools
def get_requires_for_build_wheel(config_settings=None):
    return []
def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    assert tools.VERSION == "1", "a tool of today"
    name = "source-2.0-{tag}.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory, name), "w") as wheel:
        info = "source-2.0.dist-info"
        wheel.writestr("built_at.py", os.environ.get("SOURCE_DATE_EPOCH") or str(time.time()))
        wheel.writestr("source.py", "VALUE = 2\\n")
        wheel.writestr(info + "/METADATA", "Metadata-Version: 2.1\\nName: source\\nVersion: 2.0\\n{needs}")
        wheel.writestr(info + "/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: {tag}\\n")
        wheel.writestr(info + "/RECORD", "")
    return name
"""
PROJECT = '[build-system]\nrequires = ["tools"]\nbuild-backend = "backend"\nbackend-path = ["."]\n'


@dataclass
class Index:
    """Files by package, each with the day on which it was uploaded; served on this machine."""

    files: dict[str, dict[str, tuple[bytes, str]]] = field(default_factory=dict)
    address: str = ""
    wrong: bool = False

    def add(self, package: str, name: str, content: bytes, day: str) -> None:
        self.files.setdefault(package, {})[name] = (content, day)

    def page(self, package: str) -> bytes:
        listed = [
            {
                "filename": name,
                "url": f"{self.address}/files/{package}/{name}",
                "hashes": {"sha256": hashlib.sha256(content).hexdigest()},
                "upload-time": f"{day}T12:00:00Z",
            }
            for name, (content, day) in self.files[package].items()
        ]
        return json.dumps({"meta": {"api-version": "1.1"}, "name": package, "files": listed}).encode()

    def answer(self, path: str) -> bytes | None:
        parts = path.strip("/").split("/")
        if parts[0] == "simple" and parts[-1] in self.files:
            return self.page(parts[-1])
        if parts[0] == "files" and parts[1] in self.files:
            content = self.files[parts[1]][parts[2]][0]
            return content + b"!" if self.wrong and parts[2].endswith(".gz") else content
        return None


@pytest.fixture
def index(tmp_path, monkeypatch):
    served = Index()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            content = served.answer(self.path)
            self.send_response(404 if content is None else 200)
            is_page = self.path.startswith("/simple")
            kind = "application/vnd.pypi.simple.v1+json" if is_page else "application/octet-stream"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content or b"")

        do_HEAD = do_GET  # noqa: N815  (as the library calls it)

        def log_message(self, *_words):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        served.address = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        for name in ("UV_OFFLINE", "UV_NO_INDEX", "UV_FIND_LINKS", "UV_INDEX_URL"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"{served.address}/simple/")
        monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
        yield served
        server.shutdown()


def with_source(
    index: Index,
    *,
    name: str = "source",
    tag: str = "py3-none-any",
    uploaded: str = "2021-10-06",
    needs: str = "",
) -> None:
    index.add(name, f"{name}-2.0.tar.gz", archive_of(tag, needs, name=name), uploaded)
    index.add("tools", "tools-1-py3-none-any.whl", tool("1"), "2020-01-01")
    index.add("tools", "tools-2-py3-none-any.whl", tool("2"), "2030-01-01")  # after each Python


def archive_of(tag: str, needs: str, *, name: str = "source") -> bytes:
    backend = BACKEND.replace("source", name).replace("{tag}", tag)
    files = {
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.0\n",
        "pyproject.toml": PROJECT,
        "backend.py": backend.replace("{needs}", needs.replace("\n", "\\n")),
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for path, text in files.items():
            member = tarfile.TarInfo(f"{name}-2.0/{path}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return packed.getvalue()


def tool(version: str) -> bytes:
    info = f"tools-{version}.dist-info"
    files = {
        "tools.py": f'VERSION = "{version}"\n',
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: tools\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()},"
        for name, text in files.items()
    ]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as wheel:
        for name, text in {**files, f"{info}/RECORD": "\n".join([*rows, f"{info}/RECORD,,", ""])}.items():
            wheel.writestr(name, text)
    return packed.getvalue()


def build(folder, said=print) -> list[str]:
    build_wheel("source==2.0", folder, python=HERE, on_progress=said)
    return [path.name for path in folder.iterdir()]


def test_an_old_package_is_built_with_the_tools_of_its_date(index, tmp_path):
    with_source(index)
    told: list[str] = []
    made = tmp_path / "made"
    made.mkdir()
    assert build(made, told.append) == ["source-2.0-py3-none-any.whl"]
    assert told == [f"building source==2.0 with Python {HERE} and build tools up to 2021-10-07"]


def test_a_wheel_that_is_built_again_does_not_differ_by_its_time(index, tmp_path):
    with_source(index)
    contents = []
    for folder in (tmp_path / "first", tmp_path / "second"):
        folder.mkdir()
        path = build_wheel("source==2.0", folder, python=HERE, on_progress=print)
        contents.append(zipfile.ZipFile(path).read("built_at.py"))
    assert contents[0] == contents[1]


def test_what_tools_of_its_date_do_not_build_is_built_with_those_of_its_pythons_date(index, tmp_path):
    with_source(index, uploaded="2011-08-25")  # before any tool that uv can call
    told: list[str] = []
    made = tmp_path / "made"
    made.mkdir()
    assert build(made, told.append) == ["source-2.0-py3-none-any.whl"]
    assert [line.rpartition(" ")[2] for line in told] == ["2011-08-26", str(RELEASED[HERE])]


def test_what_cannot_be_built_says_why(index, tmp_path):
    with_source(index, uploaded="2030-02-01")
    with pytest.raises(ImageError, match=r"source==2\.0 cannot be built"):
        build(tmp_path)


def test_another_archive_than_the_index_names_is_not_built(index, tmp_path):
    with_source(index)
    index.wrong = True
    with pytest.raises(ImageError, match="not the file that the index names"):
        build(tmp_path)


def test_a_wheel_for_one_kind_of_machine_is_refused(index, tmp_path):
    with_source(index, tag="cp311-cp311-linux_x86_64")
    with pytest.raises(ImageError, match="holds compiled code"):
        build(tmp_path)


def test_a_package_without_an_archive_is_named(index, tmp_path):
    index.add("source", "source-2.0-py3-none-any.whl", tool("1"), "2021-01-01")
    with pytest.raises(ImageError, match=r"source==2\.0 cannot be built: the index has no archive"):
        build(tmp_path)


@pytest.mark.parametrize("build_missing", [True, False])
def test_what_has_no_wheel_is_built_where_init_locks_and_recorded_as_asked_for(
    index, tmp_path, build_missing
):
    with_source(index)
    root = tmp_path / "theirs"
    root.mkdir()
    source = root / "requirements.txt"
    source.write_text("source==2.0\n")
    given = {"project": root, "choice": VariantChoice(python=HERE), "on_progress": print}
    if not build_missing:
        with pytest.raises(ImageError, match=r"(?s)source 2\.0 has no wheel.*--build 'source==2\.0'"):
            lock_from("mine", [source], **given)
        return
    lock_from("mine", [source], build_missing=True, **given)
    folder = root / "images" / "mine"
    assert [one.pin for one in read_packages(folder / "requirements.lock")] == ["source==2.0"]
    assert 'build = ["source==2.0"]' in (folder / "variant.toml").read_text()
    assert [path.name for path in (folder / "local").iterdir()] == ["source-2.0-py3-none-any.whl"]
    index.files.clear()  # what was built is kept, and needs no index for its source again
    with_source(index, uploaded="2030-02-01")
    assert lock_from("mine", [source], **given).agrees


def test_all_that_has_no_wheel_is_known_after_one_solution(index, tmp_path):
    with_source(index)
    with_source(index, name="another")
    del index.files["tools"]["tools-2-py3-none-any.whl"]  # so that uv can ask each what it needs
    root = tmp_path / "theirs"
    root.mkdir()
    source = root / "requirements.txt"
    source.write_text("source==2.0\nanother==2.0\n")
    told: list[str] = []
    given = {"project": root, "choice": VariantChoice(python=HERE), "on_progress": told.append}
    with pytest.raises(ImageError, match=r"another 2\.0, source 2\.0 have no wheels") as caught:
        lock_from("mine", [source], **given)
    assert "--build 'another==2.0' --build 'source==2.0' builds them" in str(caught.value.fix)
    told.clear()
    lock_from("mine", [source], build_missing=True, **given)
    assert len([line for line in told if line.startswith("solving ")]) == 2
    built = {path.name for path in (root / "images" / "mine" / "local").iterdir()}
    assert built == {"another-2.0-py3-none-any.whl", "source-2.0-py3-none-any.whl"}


def test_hashes_of_the_projects_file_are_of_the_archive_that_is_built(index, tmp_path):
    with_source(index)
    root = tmp_path / "theirs"
    root.mkdir()
    source = root / "requirements.txt"
    digest = hashlib.sha256(archive_of("py3-none-any", "")).hexdigest()
    source.write_text(f"source==2.0 --hash=sha256:{digest}\n")
    given = {"project": root, "choice": VariantChoice(python=HERE), "build_missing": True}
    lock_from("mine", [source], **given, on_progress=print)
    assert lock_from("mine", [source], **given, on_progress=print).agrees

    source.write_text(f"source==2.0 --hash=sha256:{'0' * 64}\n")  # of another archive: neither kept nor built
    for name in ("mine", "other"):
        with pytest.raises(ImageError, match="none of the hashes in the project's file"):
            lock_from(name, [source], **given, on_progress=print)


def test_requirements_that_installers_no_longer_read_are_corrected_in_the_wheel(index, tmp_path):
    with_source(index, needs="Requires-Dist: tools (>=1.)\nRequires-Dist: other (>=3.) ; extra == 'all'\n")
    root = tmp_path / "theirs"
    root.mkdir()
    source = root / "requirements.txt"
    source.write_text("source==2.0\n")
    told: list[str] = []
    choice = VariantChoice(python=HERE)
    lock_from("mine", [source], project=root, choice=choice, build_missing=True, on_progress=told.append)
    assert "source-2.0-py3-none-any.whl: 'tools (>=1.)' is read as 'tools (>=1)'" in told
    lock = root / "images" / "mine" / "requirements.lock"
    assert [one.pin for one in read_packages(lock)] == ["source==2.0", "tools==2"]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("opencv-python (>=3.) ; extra == 'all'", "opencv-python (>=3) ; extra == 'all'"),
        ("a>=1.,<2.", "a>=1,<2"),
        ("a>=1.0 ; python_version < '3.8'", "a>=1.0 ; python_version < '3.8'"),
        ("what is this", "what is this"),
    ],
)
def test_only_what_cannot_be_read_is_written_in_another_way(written, read):
    assert readable(written) == read
