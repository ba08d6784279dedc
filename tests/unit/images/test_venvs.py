"""Virtual environments from a lock: real Python, real pip, one small package."""

from __future__ import annotations

import dataclasses
import json
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from reprokit.errors import ImageError
from reprokit.images import byte_code, resolve, venvs, wheels
from reprokit.images.locks import read_lock
from reprokit.images.packages import Target, digest_of

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
LIST = (
    "import importlib.metadata as m, json; print(json.dumps({d.name: d.version for d in m.distributions()}))"
)


def make(small_project, *, on_progress=print):
    return resolve(
        "cpu", project=small_project.root, kind="venv", cache_dir=small_project.cache, on_progress=on_progress
    )


def with_second_package(small_project, *, version: str) -> Path:
    """An environment of two packages, the second of that version."""
    lines = small_project.add_wheel() + small_project.add_wheel("second", version)
    small_project.lock.write_text(lines, encoding="utf-8")
    return Path(make(small_project).reference)


def compiled_of(module: str, folder: Path) -> Path:
    (found,) = folder.glob(f"lib/*/site-packages/__pycache__/{module}.*.pyc")
    return found


def packages_in(python: str) -> dict[str, str]:
    done = subprocess.run([python, "-I", "-c", LIST], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_the_environment_holds_what_the_lock_names_and_no_more(shared_small_project):
    realisation = make(shared_small_project)
    assert packages_in(realisation.python) == {"tiny": "1.0"}
    assert realisation.kind == "venv"
    assert realisation.python == f"{realisation.reference}/bin/python"
    assert realisation.lock_digest == digest_of(shared_small_project.lock)


def test_the_second_time_it_is_found_and_nothing_is_said(shared_small_project):
    assert make(shared_small_project) == make(shared_small_project, on_progress=pytest.fail)


def test_byte_code_is_there_and_checked_by_hash(shared_small_project):
    folder = Path(make(shared_small_project).reference)
    (compiled,) = folder.glob("lib/*/site-packages/__pycache__/tiny.*.pyc")
    assert int.from_bytes(compiled.read_bytes()[4:8], "little") == 0b11


def test_byte_code_names_no_folder_and_a_traceback_names_the_real_one(small_project):
    small_project.lock.write_text(small_project.add_wheel("loud", text="def shout():\n    raise OSError\n"))
    made = make(small_project)
    (compiled,) = Path(made.reference).glob("lib/*/site-packages/__pycache__/loud.*.pyc")
    assert made.reference.encode() not in compiled.read_bytes()
    done = subprocess.run(
        [made.python, "-c", "import loud; loud.shout()"], capture_output=True, text=True, check=False
    )
    assert f'File "{made.reference}/lib/python{HERE}/site-packages/loud.py", line 2' in done.stderr


def test_a_later_environment_takes_the_byte_code_of_files_that_an_earlier_one_has_too(small_project):
    first = with_second_package(small_project, version="1.0")
    again = with_second_package(small_project, version="2.0")
    assert again != first
    assert compiled_of("tiny", again).read_bytes() == compiled_of("tiny", first).read_bytes()
    assert compiled_of("second", again).read_bytes() != compiled_of("second", first).read_bytes()


@pytest.mark.slow
def test_byte_code_that_was_changed_in_an_earlier_environment_is_compiled_anew(small_project):
    first = with_second_package(small_project, version="1.0")
    good = compiled_of("tiny", first).read_bytes()
    compiled_of("tiny", first).write_bytes(good[:-1] + b"!")
    again = with_second_package(small_project, version="2.0")
    assert compiled_of("tiny", again).read_bytes() == good


@pytest.mark.slow
def test_byte_code_of_the_library_is_taken_unless_it_was_changed(small_project):
    first = with_second_package(small_project, version="1.0")
    random, json = ((first / "byte-code").rglob(f"{name}.*.pyc") for name in ("random", "decoder"))
    kept, other = next(random), next(json)
    good, place = kept.read_bytes(), kept.relative_to(first)
    taken = with_second_package(small_project, version="2.0")
    assert (taken / place).read_bytes() == good
    for one in (first, taken):
        (one / place).write_bytes(good[:-1] + b"!")
    again = with_second_package(small_project, version="3.0")
    assert (again / place).read_bytes() == good
    assert (again / other.relative_to(first)).is_file()


def test_byte_code_of_a_file_with_another_content_is_not_taken(small_project):
    earlier = with_second_package(small_project, version="1.0")
    made = with_second_package(small_project, version="2.0")
    as_it_is = byte_code.write(made, python=HERE, earlier=[earlier], environment={})
    (source,) = made.glob("lib/*/site-packages/tiny.py")
    source.write_text("VERSION = 'another'\n")
    changed = byte_code.write(made, python=HERE, earlier=[earlier], environment={})
    assert (as_it_is.num_taken, as_it_is.num_compiled) == (1, 1)
    assert (changed.num_taken, changed.num_compiled) == (0, 2)


def test_the_same_lock_in_another_cache_has_the_same_digest(shared_small_project, tmp_path):
    there = dataclasses.replace(shared_small_project, cache=tmp_path)
    assert make(there).digest == make(shared_small_project).digest
    assert make(there).reference != make(shared_small_project).reference


def test_an_environment_without_its_marker_is_made_again(small_project):
    folder = Path(make(small_project).reference)
    (folder / venvs.MARKER).unlink()
    (rubbish,) = folder.glob("lib/*/site-packages/tiny.py")
    rubbish.write_text("half of a f")
    said = []
    again = make(small_project, on_progress=said.append)
    assert again.reference == str(folder)
    assert said
    assert rubbish.read_text() == "VERSION = '1.0'\n"


def test_another_lock_is_another_environment_and_the_first_one_stays(small_project):
    first = make(small_project)
    small_project.lock.write_text(small_project.add_wheel(version="2.0"), encoding="utf-8")
    second = make(small_project)
    assert second.digest != first.digest
    assert packages_in(first.python) == {"tiny": "1.0"}
    assert packages_in(second.python) == {"tiny": "2.0"}
    assert [Path(row["path"]) for row in venvs.made(small_project.cache)] == sorted(
        [Path(first.reference), Path(second.reference)]
    )


def test_packages_and_settings_of_the_caller_do_not_get_in(small_project, monkeypatch):
    small_project.add_wheel("uninvited")
    wheels.fetch(
        read_lock(small_project.root).variant("cpu"),
        Target(machine=platform.machine(), python=HERE),
        cache=small_project.cache,
        on_progress=print,
    )
    monkeypatch.setenv("PIP_TARGET", str(small_project.cache / "elsewhere"))
    monkeypatch.setenv("PYTHONPATH", str(small_project.wheels / "uninvited-1.0-py3-none-any.whl"))
    assert packages_in(make(small_project).python) == {"tiny": "1.0"}


def test_a_requirement_that_the_lock_forgot_is_found_before_anything_runs(small_project):
    small_project.lock.write_text(small_project.add_wheel("needy", requires="x"), encoding="utf-8")
    with pytest.raises(ImageError, match="checking packages: failed") as caught:
        make(small_project)
    assert "requires `x`" in caught.value.actual
    assert venvs.made(small_project.cache) == []
