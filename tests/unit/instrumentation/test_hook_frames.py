"""Whose line it is, told by where a file lies."""

import importlib
import sys
from pathlib import Path

import pytest

from reprokit.instrumentation.reprokit_hook import frames

PROJECT = Path(__file__).resolve().parents[3]


def test_trainers_and_their_parts_beside_the_package_are_the_programs_own():
    assert frames.is_own(str(PROJECT / "recipes" / "trainers" / "ppo.py"))
    assert frames.is_own("/mnt/reprokit/recipes/parts/flat_adam.py")


@pytest.mark.parametrize("file", ["runtime/run.py", "instrumentation/reprokit_hook/frames.py"])
def test_the_package_itself_is_not(file):
    assert not frames.is_own(str(PROJECT / "reprokit" / file))


LIBRARY = "import time\nfrom reprokit.instrumentation.reprokit_hook.frames import own_caller\n"
LIBRARY += "def read():\n    return own_caller(1)\nAT_IMPORT = read()\n"


def test_what_a_library_does_while_it_is_imported_belongs_to_no_line_of_the_program(tmp_path, monkeypatch):
    """The program's own import line is no suspicion, what it calls later is."""
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "reads_at_import.py").write_text(LIBRARY)
    (tmp_path / "train.py").write_text("import reads_at_import\nFRAME = reads_at_import.read()\n")
    for folder in (tmp_path, tmp_path / "site-packages"):
        monkeypatch.syspath_prepend(str(folder))
    train = importlib.import_module("train")
    reads_at_import = train.reads_at_import

    assert reads_at_import.AT_IMPORT is None
    assert (train.FRAME.f_code.co_filename, train.FRAME.f_lineno) == (str(tmp_path / "train.py"), 2)
    for name in ("train", "reads_at_import"):
        monkeypatch.delitem(sys.modules, name)


@pytest.mark.parametrize(
    ("file", "tends"),
    [
        ("ray/_private/node.py", True),
        ("ray/remote_function.py", True),
        ("ray/data/dataset.py", False),  # what it shuffles, the program learns from
        ("ray/tune/search/sample.py", False),
        ("ray/util/actor_pool.py", False),
        ("rays/_private/node.py", False),
        ("numpy/random/mtrand.py", False),
    ],
)
def test_the_part_of_a_framework_that_tends_its_processes_is_told_from_those_that_draw(file, tends):
    assert frames.runs_processes(f"/usr/lib/python3/site-packages/{file}") is tends


@pytest.mark.parametrize("file", ["ray/_private/node.py", "/home/me/ray/_private/node.py"])
def test_a_programs_own_file_is_no_framework_whatever_it_is_called(file):
    assert not frames.runs_processes(file)


def test_a_file_that_a_library_writes_for_temporary_use_is_no_file_of_the_program(tmp_path, monkeypatch):
    """PyTorch Geometric renders a module per layer, under a name that is new in each run."""
    monkeypatch.setattr(frames, "_temporary", lambda: f"{tmp_path}/")
    monkeypatch.setattr(frames, "_known", {})
    generated = tmp_path / "layer_propagate_sb270t7j.py"
    generated.write_text("def draw():\n    return 1\n")
    assert not frames.is_own(str(generated))


@pytest.mark.parametrize("where", ["on the path", "where it began"])
def test_a_program_in_the_temporary_folder_is_its_own(tmp_path, monkeypatch, where):
    monkeypatch.setattr(frames, "_temporary", lambda: f"{tmp_path}/")
    monkeypatch.setattr(frames, "_known", {})
    program = tmp_path / "mine" / "train.py"
    program.parent.mkdir()
    program.touch()
    if where == "on the path":
        monkeypatch.syspath_prepend(str(program.parent))
    else:
        monkeypatch.setattr(frames, "_BEGAN_IN", str(program.parent))
    assert frames.is_own(str(program))
