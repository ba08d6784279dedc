"""Environments of a person's own: real uv, a folder of small wheels as its only index."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest
import uv

from reprokit.errors import ImageError, OnlyCondaError, UsageError
from reprokit.features.locking import own_variants
from reprokit.features.locking.contradictions import must_not_contradict
from reprokit.features.locking.own_variants import VariantChoice, lock_from
from reprokit.harness.verify import verify
from reprokit.images import resolve, variables
from reprokit.images.locks import project_around, read_lock
from reprokit.images.packages import read_packages
from reprokit.packaged import packaged
from reprokit.project import Project
from reprokit.request import Request
from reprokit.session import Session
from support.recorded_progress import RecordedProgress

HERE = f"3.{sys.version_info.minor}"
of_a_base_that_the_tool_brings = pytest.mark.skipif(
    sys.version_info >= (3, 14), reason="the packages of its image are pinned by the host's apt"
)
PROJECT = """
[project]
name = "demo"
version = "1.2"
dependencies = ["tiny"]
[project.optional-dependencies]
plot = ["other"]
all = ["demo[plot]"]
[project.scripts]
demo-train = "demo.train:main"
[dependency-groups]
dev = [{include-group = "check"}]
check = ["third"]
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
"""


@pytest.fixture
def mine(small_project, tmp_path, monkeypatch):
    """A repository with nothing of ours in it; uv and pip see a folder of wheels in place of an index."""
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(small_project.wheels))
    for name in ("other", "third"):
        small_project.add_wheel(name)
    return Mine(small_project, tmp_path / "mine")


class Mine:
    def __init__(self, small, root: Path) -> None:
        self.small, self.root = small, root
        root.mkdir()

    def write(self, name: str, text: str = "") -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def lock(self, *sources: Path, said=print, **choice):
        choice = {"python": HERE, **choice}
        return lock_from("mine", sources, project=self.root, choice=VariantChoice(**choice), on_progress=said)

    @property
    def pins(self) -> list[str]:
        return [one.pin for one in read_packages(self.root / "images/mine/requirements.lock")]

    def refused(self, *sources: Path, **choice) -> ImageError | UsageError:
        with pytest.raises((ImageError, UsageError)) as caught:
            self.lock(*sources, **choice)
        assert not (self.root / "images").exists() or not any((self.root / "images").iterdir())
        return caught.value


@of_a_base_that_the_tool_brings
def test_a_requirements_file_becomes_an_environment_that_needs_nothing_but_its_folder(mine):
    assert mine.lock(mine.write("requirements.txt", "tiny\n")).moved == ("tiny (none) -> 1.0",)
    assert "://" not in (mine.root / "images/mine/requirements.lock").read_text()
    assert project_around(mine.root / "images") == mine.root
    found = resolve("mine", project=mine.root, kind="venv", cache_dir=mine.small.cache, on_progress=print)
    assert found.variant == "mine"
    assert variables(found, project=mine.root, tree="/repo")["VIRTUAL_ENV"] == found.reference


def test_an_image_of_an_environment_is_built_as_those_of_the_tool(mine):
    mine.lock(mine.write("requirements.txt", "tiny\n"), python="3.11")
    folder = mine.root / "images" / "mine"
    here = "x86_64"
    for name in ("Dockerfile", f"base/{here}.lock"):
        assert (folder / name).read_bytes() == (packaged("images") / name).read_bytes()
    templates = tomllib.loads((packaged("images") / "lock.toml").read_text())
    assert tomllib.loads((folder / "variant.toml").read_text())["base"] == templates["base"]


def test_a_new_environment_shares_layers_and_one_of_before_keeps_its_form(mine):
    source = mine.write("requirements.txt", "tiny\n")
    mine.lock(source)
    path = mine.root / "images/mine/variant.toml"
    assert read_lock(mine.root).variant("mine").form == 2
    path.write_text(path.read_text().replace("form = 2\n", ""))
    before = path.read_text()
    assert read_lock(mine.root).variant("mine").form == 1
    assert mine.lock(source).agrees
    assert path.read_text() == before


def test_an_environment_of_an_older_tool_without_todays_remarks_agrees_and_stays(mine):
    source = mine.write("requirements.txt", "tiny\n")
    mine.lock(source)
    path = mine.root / "images/mine/variant.toml"
    assert "# Where it cannot be reached" in path.read_text()
    before = "".join(
        line for line in path.read_text().splitlines(keepends=True) if not line.startswith("# W")
    )
    path.write_text(before)
    assert mine.lock(source).agrees
    assert path.read_text() == before
    path.write_text(before.replace("glibc = ", "glibc= "))
    assert not mine.lock(source).agrees


def test_a_form_of_a_later_tool_is_refused(mine):
    mine.lock(mine.write("requirements.txt", "tiny\n"))
    path = mine.root / "images/mine/variant.toml"
    path.write_text(path.read_text().replace("form = 2\n", "form = 3\n"))
    with pytest.raises(ImageError, match="form is 3"):
        read_lock(mine.root)


def test_doing_it_again_changes_nothing(mine):
    source = mine.write("requirements.txt", "tiny\n")
    mine.lock(source)
    before = {path: path.stat().st_mtime_ns for path in (mine.root / "images").rglob("*")}
    assert mine.lock(source).agrees
    assert {path: path.stat().st_mtime_ns for path in (mine.root / "images").rglob("*")} == before


@pytest.mark.parametrize(
    ("now", "asked"),
    [
        ("# nothing new\ntiny\n", ""),
        ("tiny==1.0\n", ""),
        ("tiny==2.0; python_version < '3.0'\n", ""),
        ("# a bump\ntiny==2.0\n", "requirements.txt:2: the lock is out of date. expected tiny==2.0"),
        ("tiny>=0.1,<1\n", "requirements.txt:1: the lock is out of date. expected tiny<1,>=0.1"),
    ],
)
def test_a_lock_without_the_version_that_its_file_asks_for_now_is_refused(mine, now, asked):
    source = mine.write("requirements.txt", "tiny\n")
    mine.lock(source)
    source.write_text(now)
    if not asked:
        return must_not_contradict("mine", project=mine.root)
    with pytest.raises(ImageError) as caught:
        must_not_contradict("mine", project=mine.root)
    assert asked in str(caught.value)
    assert "tiny==1.0 in images/mine/requirements.lock" in str(caught.value)
    assert caught.value.fix == "reprokit image lock mine"
    source.unlink()
    return must_not_contradict("mine", project=mine.root)


@pytest.mark.parametrize("changed", [None, "HEAD"])
def test_the_gate_refuses_a_recipe_whose_lock_is_out_of_date_also_where_nothing_else_changed(mine, changed):
    source = mine.write("requirements.txt", "tiny\n")
    mine.lock(source)
    command = "command: [python, train.py]\nsees: [train.py]\nunresponsive: {because: none}\n"
    head = "schema: 1\nname: one\ntitle: one\nvariant: mine\nseeds: [1]\nplatforms: [cpu-x86_64]\n"
    mine.write("recipes/one/recipe.yaml", head + command)
    mine.write("train.py", "print(1)\n")
    git = ["git", "-C", str(mine.root), "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "--all"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True)
    source.write_text("tiny==2.0\n")
    session = Session(project=Project.around(mine.root), progress=RecordedProgress())
    [answer] = verify(Request(), session=session, names=["one"], changed=changed)
    assert answer.exit_code == 3
    assert "the lock is out of date" in str(answer.error)


def test_a_later_tool_with_other_bases_changes_nothing(mine, monkeypatch):
    source = mine.write("requirements.txt", "tiny\n")
    mine.lock(source)
    before = (mine.root / "images/mine/variant.toml").read_text()
    later = mine.root / "later"
    later.mkdir()
    text = (packaged("images") / "lock.toml").read_text().replace("bookworm", "trixie")
    (later / "lock.toml").write_text(text)
    (later / "Dockerfile").write_text("FROM elsewhere\n")
    (later / "base").mkdir()
    monkeypatch.setattr(own_variants, "packaged", lambda _name: later)
    assert mine.lock(source).agrees
    assert (mine.root / "images/mine/variant.toml").read_text() == before


def test_hand_written_keys_of_the_file_stay(mine):
    source = mine.write("requirements.txt", "tiny\n")
    mine.lock(source)
    path = mine.root / "images/mine/variant.toml"
    path.write_text(path.read_text().replace("form = ", 'imports = ["tiny"]\nform = ', 1))
    mine.lock(source)
    assert read_lock(mine.root).variant("mine").imports == ("tiny",)


def test_extras_groups_and_the_project_itself(mine):
    mine.write("src/demo/__init__.py")
    source = mine.write("pyproject.toml", PROJECT)
    mine.lock(source, extras=("all",), groups=("dev",))
    assert mine.pins == ["demo==1.2", "other==1.0", "third==1.0", "tiny==1.0"]
    found = resolve("mine", project=mine.root, kind="venv", cache_dir=mine.small.cache, on_progress=print)
    assert (Path(found.reference) / "bin" / "demo-train").is_file()
    assert variables(found, project=mine.root, tree="/repo")["PYTHONPATH"] == "/repo/src"


def test_editable_installs_of_the_repository_in_a_requirements_file(mine):
    mine.write("pyproject.toml", PROJECT)
    mine.lock(mine.write("requirements.txt", "-e .[plot]\n"))
    assert mine.pins == ["demo==1.2", "other==1.0", "tiny==1.0"]
    assert read_lock(mine.root).variant("mine").imports_from == (".",)


def test_the_hashes_of_a_hashed_file_are_kept(mine):
    line = mine.small.add_wheel("hashed")
    mine.lock(mine.write("requirements.txt", line))
    (hashed,) = read_packages(mine.root / "images/mine/requirements.lock")
    assert hashed.hashes[0] in line


def test_a_wheel_of_the_repository_is_kept_beside_the_lock(mine):
    line = mine.small.add_wheel("own")
    wheel = mine.small.wheels / "own-1.0-py3-none-any.whl"
    mine.write("vendored/.keep")
    wheel.rename(mine.root / "vendored" / wheel.name)
    mine.lock(mine.write("requirements.txt", f"./vendored/{wheel.name}\ntiny\n"))
    assert mine.pins == ["own==1.0", "tiny==1.0"]
    (own, _tiny) = read_packages(mine.root / "images/mine/requirements.lock")
    assert own.hashes[0] in line
    resolve("mine", project=mine.root, kind="venv", cache_dir=mine.small.cache, on_progress=print)


def test_files_that_a_file_includes_and_constraints(mine):
    mine.small.add_wheel(version="2.0")
    mine.write("deps/base.txt", "tiny\n")
    mine.write("limits.txt", "tiny<2\nother==1.0\n")
    mine.lock(mine.write("requirements.txt", "-r deps/base.txt\n-c limits.txt\n"))
    assert mine.pins == ["tiny==1.0"]


def pylock(small, *, extra: str = "") -> str:
    digest = hashlib.sha256((small.wheels / "tiny-1.0-py3-none-any.whl").read_bytes()).hexdigest()
    wheel = (
        '{ name = "tiny-1.0-py3-none-any.whl", url = "https://example.org/t", hashes = { sha256 = "%s" } }'
    )
    return (
        f'lock-version = "1.0"\nrequires-python = ">={HERE}"\n'
        f'[[packages]]\nname = "tiny"\nversion = "1.0"\nwheels = [{wheel % digest}]\n{extra}'
    )


def test_a_pylock_with_markers_of_extras(mine):
    extra = '[[packages]]\nname = "other"\nversion = "1.0"\nmarker = "\'plot\' in extras"\n'
    source = mine.write("pylock.toml", pylock(mine.small, extra=extra))
    mine.lock(source)
    assert mine.pins == ["tiny==1.0"]
    mine.lock(source, extras=("plot",))
    assert mine.pins == ["other==1.0", "tiny==1.0"]


def test_a_lock_of_uv_with_its_own_hashes(mine):
    mine.write("demo/__init__.py")
    mine.write("pyproject.toml", PROJECT.replace('"1.2"', f'"1.2"\nrequires-python = ">={HERE}"'))
    command = [uv.find_uv_bin(), "lock", "--quiet", "--project", str(mine.root)]
    subprocess.run(command, check=True)
    mine.small.add_wheel(version="2.0")
    mine.lock(mine.root / "uv.lock", groups=("dev",), python=None)
    assert mine.pins == ["demo==1.2", "third==1.0", "tiny==1.0"]
    assert read_lock(mine.root).variant("mine").python == HERE


def test_a_workspace_of_uv_is_locked_with_what_all_of_its_projects_need(mine):
    mine.write(
        "pyproject.toml",
        f'[project]\nname = "whole"\nversion = "1"\nrequires-python = ">={HERE}"\ndependencies = ["tiny"]\n'
        '[tool.uv.workspace]\nmembers = ["packages/*"]\n',
    )
    for name, needs in (("trainer", "other"), ("core", "third")):
        mine.write(
            f"packages/{name}/pyproject.toml",
            f'[project]\nname = "{name}"\nversion = "1"\nrequires-python = ">={HERE}"\n'
            f'dependencies = ["{needs}"]\n',
        )
    subprocess.run([uv.find_uv_bin(), "lock", "--quiet", "--project", str(mine.root)], check=True)
    mine.lock(mine.root / "uv.lock", python=None)
    assert mine.pins == ["other==1.0", "third==1.0", "tiny==1.0"]


POETRY = """
[[package]]
name = "tiny"
version = "1.0"
groups = ["main"]
files = []
[[package]]
name = "third"
version = "1.0"
groups = ["dev"]
files = []
[[package]]
name = "other"
version = "1.0"
optional = true
groups = ["main"]
markers = "extra == \\"plot\\""
files = []
[extras]
plot = ["other"]
[metadata]
python-versions = "^3.11"
"""


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({}, ["tiny==1.0"]),
        ({"groups": ("dev",)}, ["third==1.0", "tiny==1.0"]),
        ({"extras": ("plot",)}, ["other==1.0", "tiny==1.0"]),
    ],
)
def test_a_poetry_lock_with_groups_and_extras(mine, choice, expected):
    mine.lock(mine.write("poetry.lock", POETRY), **choice)
    assert mine.pins == expected


def test_the_pip_part_of_an_environment_file(mine):
    source = mine.write("environment.yml", f"dependencies:\n- python={HERE}\n- pip\n- pip:\n  - tiny\n")
    mine.lock(source, python=None)
    assert mine.pins == ["tiny==1.0"]
    assert read_lock(mine.root).variant("mine").python == HERE


PIXI = """
[workspace]
channels = ["conda-forge"]
platforms = ["linux-64"]
[dependencies]
python = "{python}"
{more}
[pypi-dependencies]
tiny = "*"
other = {{ version = ">=1", extras = ["plot"] }}
"""


@pytest.mark.parametrize("python", [f"{HERE}.*", f">={HERE}", HERE])
def test_the_packages_of_the_index_that_pixi_lists(mine, python):
    mine.lock(mine.write("pixi.toml", PIXI.format(python=python, more="")), python=None)
    assert mine.pins == ["other==1.0", "tiny==1.0"]
    assert read_lock(mine.root).variant("mine").python == HERE


def test_what_pixi_takes_from_conda_is_named(mine):
    fault = mine.refused(mine.write("pixi.toml", PIXI.format(python=HERE, more='cudatoolkit = "11.*"')))
    assert isinstance(fault, OnlyCondaError)
    assert fault.actual == "cudatoolkit 11.*"


def test_what_only_conda_has_is_named_with_the_way(mine):
    fault = mine.refused(mine.write("environment.yml", "dependencies:\n- numpy=1.26\n- cudatoolkit\n"))
    assert fault.actual == "numpy=1.26, cudatoolkit"
    assert "under `pip:`" in str(fault.fix)


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("git+https://example.org/x.git#egg=fork", "fork cannot be pinned"),
        ("-e git+https://example.org/x.git#egg=fork", "fork cannot be pinned"),
        ("fork @ https://example.org/fork-1.0.zip", "fork cannot be pinned"),
        ("../outside-1.0-py3-none-any.whl", "no such file"),
        ("--trusted-host example.org", "--trusted-host cannot be part of a lock"),
        ("tiny ===== 3", "not a requirement"),
    ],
)
def test_what_cannot_be_pinned_is_named(mine, line, named):
    fault = mine.refused(mine.write("requirements.txt", f"tiny\n{line}\n"))
    assert named in str(fault)
    assert "requirements.txt:2" in str(fault.where)


def test_a_file_outside_the_repository_is_refused(mine):
    (mine.root.parent / "out-1.0-py3-none-any.whl").touch()
    fault = mine.refused(mine.write("requirements.txt", "../out-1.0-py3-none-any.whl\n"))
    assert "outside the repository" in str(fault)


def test_a_package_with_no_wheel_is_named_in_place_of_an_older_release_that_has_one(mine):
    mine.small.add_wheel("source")
    archive = mine.small.wheels / "source-2.0.tar.gz"
    write_source_archive(archive)
    fault = mine.refused(mine.write("requirements.txt", "source\n"))
    assert "source 2.0 has no wheel: it is distributed as source only" in str(fault)
    assert "--build 'source==2.0'" in str(fault.fix)


def test_a_package_with_wheels_for_others_only_is_named(mine):
    mine.small.add_wheel("elsewhere")
    path = mine.small.wheels / "elsewhere-1.0-py3-none-any.whl"
    path.rename(path.with_name("elsewhere-1.0-cp39-cp39-win_amd64.whl"))
    assert "elsewhere" in str(mine.refused(mine.write("requirements.txt", "elsewhere\n")).actual)


def test_hashes_that_no_file_of_the_index_has_are_refused(mine):
    source = mine.write("requirements.txt", f"tiny==1.0 --hash=sha256:{'a' * 64}\n")
    assert "tiny 1.0: no wheel for this environment has one of the hashes" in str(mine.refused(source))


def test_extras_and_groups_that_do_not_exist_are_named(mine):
    source = mine.write("pyproject.toml", PROJECT)
    assert "no extra 'none'" in str(mine.refused(source, extras=("none",)))
    assert "no dependency group 'none'" in str(mine.refused(source, groups=("none",)))


def test_a_python_that_the_project_does_not_allow(mine):
    text = PROJECT.replace('version = "1.2"', 'version = "1.2"\nrequires-python = "<3.8"')
    fault = mine.refused(mine.write("pyproject.toml", text), python=None)
    assert (fault.exit_code, fault.actual) == (2, "<3.8 (pyproject.toml)")


@pytest.mark.parametrize("named", ["--python", ".python-version", "images/mine/variant.toml"])
def test_a_python_that_a_file_forbids_is_refused_wherever_it_is_asked_for(mine, named):
    source, asked = mine.write("requirements.txt", "tiny\n"), None
    if named == "--python":
        asked = "3.10"
    elif named == ".python-version":
        mine.write(named, "3.10.13\n")
    else:
        mine.lock(source, python="3.10")
    mine.write("pyproject.toml", '[project]\nname = "demo"\nrequires-python = ">=3.12"\n')
    with pytest.raises(UsageError) as caught:
        mine.lock(source, python=asked)
    assert (caught.value.expected, caught.value.actual) == (
        "Python >=3.12 (pyproject.toml)",
        f"Python 3.10 ({named})",
    )


@pytest.mark.slow
def test_the_python_of_a_version_file_stays_until_another_is_asked_for(mine):
    source = mine.write("requirements.txt", "tiny\n")
    mine.write(".python-version", "3.9\n")
    assert mine.lock(source, python=None).python == "3.9, as .python-version says"
    mine.write(".python-version", "3.10\n")
    assert mine.lock(source, python=None).python == "3.9, as images/mine/variant.toml says"
    assert mine.lock(source, python="3.10.4").python == "3.10, as --python says"


@pytest.mark.parametrize("name", ["Mine", "base", "a/b", ""])
def test_names_that_no_image_can_have(mine, name):
    with pytest.raises(ImageError, match="cannot be the name"):
        lock_from(name, [], project=mine.root, choice=VariantChoice(), on_progress=print)


def test_a_name_that_lock_toml_has_is_not_taken(mine):
    source = mine.small.root / "requirements.txt"
    source.write_text("tiny\n")
    with pytest.raises(ImageError, match="declared in images"):
        lock_from("cpu", [source], project=mine.small.root, choice=VariantChoice(), on_progress=print)


def test_a_name_in_both_places_is_refused(mine):
    mine.lock(mine.write("requirements.txt", "tiny\n"))
    text = (packaged("images") / "lock.toml").read_text().replace("[variants.cuda]", "[variants.mine]")
    (mine.root / "images/lock.toml").write_text(text)
    with pytest.raises(ImageError, match="declared twice"):
        read_lock(mine.root)


def test_a_base_image_needs_its_digest(mine):
    with pytest.raises(UsageError, match="not pinned by a digest"):
        mine.lock(mine.write("requirements.txt", "tiny\n"), base_image="python:3.11")


def test_a_file_of_no_known_kind(mine):
    assert "uv.lock" in str(mine.refused(mine.write("Pipfile")).expected)
    assert "no such file" in str(mine.refused(mine.root / "requirements.txt"))


def test_torch_is_the_build_for_cpus_unless_the_environment_is_for_another_device(mine):
    mine.small.add_wheel("torch", "2.13.0")
    for name in ("filelock", "fsspec", "jinja2", "networkx", "setuptools", "sympy", "typing-extensions"):
        mine.small.add_wheel(name.replace("-", "_"), "9999")
    source = mine.write("requirements.txt", "torch\n")
    if HERE not in {"3.11", "3.12", "3.13"}:
        pytest.skip(f"no build of torch for Python {HERE} is known")
    mine.lock(source)
    assert "torch==2.13.0+cpu" in mine.pins
    assert mine.lock(source).agrees
    mine.lock(source, device="cuda")
    assert "torch==2.13.0" in mine.pins
    assert read_lock(mine.root).variant("mine").device == "cuda"


def write_source_archive(path: Path) -> None:
    files = {
        "PKG-INFO": "Metadata-Version: 2.2\nName: source\nVersion: 2.0\n",
        "pyproject.toml": '[project]\nname = "source"\nversion = "2.0"\n',
    }
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"source-2.0/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))


def test_a_package_that_the_distribution_does_not_have_is_named(mine, tmp_path, monkeypatch):
    apt = tmp_path / "bin" / "apt-cache"
    apt.parent.mkdir()
    apt.write_text('#!/bin/sh\nfor last; do :; done\ntest "$last" = libc6\n')
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", str(apt.parent), prepend=os.pathsep)
    source = mine.write("requirements.txt", "tiny\n")
    fault = mine.refused(source, python="3.11", system_packages=("libnone=1",))
    assert "the distribution has no package libnone=1" in str(fault)
