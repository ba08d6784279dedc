"""A virtual environment that someone changed: each planted file is named; an untouched one is not read."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from reprokit.images import file_states, installed_files, resolve, venvs
from reprokit.images.locks import read_lock
from support.rewound import Rewound


@pytest.fixture(scope="module")
def once(shared_small_project):
    """The folder that was made from a lock, and the project with its cache, to be put back."""
    small = shared_small_project
    made = resolve("cpu", project=small.root, kind="venv", cache_dir=small.cache, on_progress=print)
    return Path(made.reference), Rewound.keep(small.root.parent)


@pytest.fixture
def environment(once, shared_small_project):
    """A folder that was made from a lock, and how to look at it."""
    folder, project = once
    project.rewind()
    listed = installed_files.list_of(folder)
    known = json.loads(listed.read_text())  # of copies: they have other inodes
    known["unchanged"] = installed_files._state(folder, known["library"])
    listed.write_text(json.dumps(known))
    variant = read_lock(shared_small_project.root).variant("cpu")

    def look(*, whole: bool = False) -> installed_files.Installed:
        return venvs.installed(variant, folder, cache=shared_small_project.cache, whole=whole)

    return folder, look


def site(folder):
    [found] = folder.glob("lib/*/site-packages")
    return found


def add_a_line(folder):
    path = site(folder) / "tiny.py"
    path.write_text(path.read_text() + "import os\n")


def add_a_line_and_restore_size_and_time(folder):
    path = site(folder) / "tiny.py"
    before = path.stat()
    path.write_text(path.read_text().replace("1.0", "6.6"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size


def add_sitecustomize(folder):
    (site(folder) / "sitecustomize.py").write_text("raise SystemExit")


def add_a_path_file(folder):
    (site(folder) / "evil.pth").write_text("import evil\n")


def plant_byte_code(folder):
    [path] = (site(folder) / "__pycache__").glob("tiny.*.pyc")
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


def add_byte_code(folder):
    (site(folder) / "__pycache__" / "other.cpython-311.pyc").write_bytes(b"x")


def open_to_the_system(folder):
    path = folder / "pyvenv.cfg"
    path.write_text(path.read_text().replace("= false", "= true"))


def exchange_the_interpreter(folder):
    (folder / "bin" / "python").unlink()
    (folder / "bin" / "python").symlink_to("/bin/sh")


def remove_a_module(folder):
    (site(folder) / "tiny.py").unlink()


def add_a_module_in_a_link(folder):
    (site(folder) / "more").symlink_to(folder)


PLANTS = [
    add_a_line, add_a_line_and_restore_size_and_time, add_sitecustomize, add_a_path_file, plant_byte_code,
    add_byte_code, open_to_the_system, exchange_the_interpreter, remove_a_module, add_a_module_in_a_link,
]  # fmt: skip


PLANTED = dict(
    zip(
        PLANTS,
        ["tiny", "tiny", "sitecustomize", "evil", "tiny", "other", "pyvenv", "python", "tiny", "more"],
        strict=True,
    )
)


@pytest.mark.parametrize("plant", PLANTS)
@pytest.mark.parametrize("whole", [False, True])
def test_a_foreign_file_is_named(environment, plant, whole):
    folder, look = environment
    assert look(whole=whole).foreign == ()
    plant(folder)
    found = look(whole=whole)
    assert {Path(one.split()[0]).name.split(".")[0] for one in found.foreign} == {PLANTED[plant]}, found
    assert look(whole=whole).foreign == found.foreign


def test_an_untouched_environment_is_not_read_again(environment, monkeypatch):
    _, look = environment
    monkeypatch.setattr(installed_files, "sha256_of", pytest.fail)
    found = look()
    assert (found.foreign, found.whole) == ((), False)
    assert found.num_files > 5


def test_an_environment_whose_times_moved_is_read_once(environment):
    folder, look = environment
    os.utime(site(folder) / "tiny.py", (1, 1))
    assert [look().whole, look().whole] == [True, False]


def test_a_list_that_was_changed_with_its_file_is_held_against_the_wheels(environment):
    folder, look = environment
    add_a_line(folder)
    installed_files.write_list(folder)
    found = look(whole=True)
    assert len(found.foreign) == 1
    assert "tiny.py is not as in the wheel tiny" in found.foreign[0]


def test_an_exchanged_wheel_is_not_of_the_lock(environment, shared_small_project):
    _, look = environment
    [wheel] = shared_small_project.cache.glob("wheels/*/*.whl")
    wheel.write_bytes(wheel.read_bytes() + b"x")
    assert "is not in the lock" in look(whole=True).foreign[0]


@pytest.mark.parametrize("content", [None, "[]", '{"files": 1}', "{"])
def test_without_a_list_nothing_is_known(environment, content):
    folder, look = environment
    place = installed_files.list_of(folder)
    place.unlink() if content is None else place.write_text(content)
    assert look().foreign == ("there is no list of what was installed",)


def test_what_run_json_says_names_only_the_first(environment):
    folder, look = environment
    for number in range(30):
        (site(folder) / f"evil{number}.py").write_text("")
    fact = look().as_fact()
    assert (len(fact["foreign"]), fact["num_foreign"]) == (10, 30)
    assert json.dumps(fact)


def test_an_environment_that_goes_away_is_not_as_installed(environment):
    folder, look = environment
    shutil.rmtree(folder)
    assert "cannot be read: No such file" in look().foreign[0]


def test_a_folder_that_goes_away_during_the_look_is_not_as_installed(environment, monkeypatch):
    _, look = environment
    opened = os.open

    def without(path, *flags):
        if str(path).endswith("site-packages"):
            Path(path).rename(Path(path).with_name("elsewhere"))
        return opened(path, *flags)

    monkeypatch.setattr(file_states, "_FIND", "/nowhere/find")
    monkeypatch.setattr(os, "open", without)
    found = look()
    assert found.num_files > 5
    assert "site-packages cannot be read: No such file" in found.foreign[0]
