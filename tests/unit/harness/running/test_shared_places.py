"""Which files that runs can share belong to a program that is still running."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from reprokit.core.records import RunSpec
from reprokit.harness.running import engine
from reprokit.harness.running.environments import shared_places
from reprokit.harness.running.programs.tree_changes import Tree

#: glibc maps a semaphore under a temporary name, then links it to the one that is asked for.
SEMAPHORE = """
import ctypes, os, sys
library = ctypes.CDLL(None, use_errno=True)
library.sem_open.restype = ctypes.c_void_p
assert library.sem_open(sys.argv[1].encode(), os.O_CREAT | os.O_EXCL, 0o600, 1), ctypes.get_errno()
print("open", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def semaphore():
    """The file of a semaphore, and the process that has it open."""
    name = f"/reprokit-test-{os.getpid()}"
    path = Path(f"/dev/shm/sem.{name[1:]}")
    words = [sys.executable, "-c", SEMAPHORE, name]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        yield path, process
        process.stdin.close()
    path.unlink()


def not_open(path):
    return shared_places._not_open({str(path): shared_places._identity(str(path))})


def _now(folder):
    """The next moment of the clock that the system gives files their times from."""
    clock = folder / "below" / "clock"
    clock.parent.mkdir(exist_ok=True)
    clock.touch()
    before = clock.stat().st_ctime
    while clock.stat().st_ctime == before:
        clock.touch()
    return clock.stat().st_ctime


@pytest.fixture
def core_limit():
    """The limit on core dumps that this process has, put back afterwards."""
    before = resource.getrlimit(resource.RLIMIT_CORE)
    yield before
    resource.setrlimit(resource.RLIMIT_CORE, before)


def test_what_a_run_changed_of_what_the_next_one_inherits_is_named(monkeypatch, core_limit):
    monkeypatch.setattr(shared_places, "_memory_since", lambda _since: ())
    asked = {"recipe": "train", "seed": 0, "device": "cpu", "command": ("true",)}
    specs = [RunSpec(run_id=f"run-{number}", **asked) for number in (1, 2)]
    places = shared_places.SharedPlaces(specs, leave_out=())
    assert places.after(specs[0], began=0.0, ended=1.0, is_confined=True) == {}
    others = [resource.RLIMIT_CORE, (core_limit[0] - 1 if core_limit[0] > 0 else 4096, core_limit[1])]
    resource.setrlimit(*others)
    found = places.after(specs[1], began=0.0, ended=1.0, is_confined=True)
    assert found["shared"]["inherited"] == ["its limit RLIMIT_CORE"]


@pytest.fixture
def between_runs(tmp_path, monkeypatch):
    """Says what is told of two runs, between which a file of the home is used."""
    for place in ("_MEMORY", "_OPEN_TO_ALL"):
        monkeypatch.setattr(shared_places, place, ())
    monkeypatch.setattr(shared_places, "_SYSTEM_V", {})
    monkeypatch.setattr(shared_places.tempfile, "gettempdir", lambda: str(tmp_path / "none"))
    asked = {"recipe": "train", "seed": 0, "device": "cpu", "command": ("true",)}
    specs = [
        RunSpec(run_id=f"run-{number}", environment={"HOME": str(tmp_path)}, **asked) for number in (1, 2)
    ]
    places = shared_places.SharedPlaces(specs, leave_out=())

    def told(first, later):
        began = _now(tmp_path)
        first()
        ended = _now(tmp_path)
        places.after(specs[0], began=began, ended=ended, is_confined=False)
        later()
        found = places.after(specs[1], began=ended, ended=ended + 1, is_confined=False)
        return found.get("shared", {}).get("files", [])

    return told


def test_a_file_that_a_later_run_read_and_removed_is_named(tmp_path, between_runs):
    kept = tmp_path / "state.json"

    def read_and_removed():
        kept.read_text()
        kept.unlink()

    assert between_runs(lambda: kept.write_text("0.25"), read_and_removed) == [str(kept)]


def test_a_file_that_a_later_run_renamed_and_then_read_is_named(tmp_path, between_runs):
    kept, folder = tmp_path / "state.json", tmp_path / "elsewhere"
    folder.mkdir()
    assert between_runs(
        lambda: kept.write_text("0.25"), lambda: kept.rename(folder / "other").read_text()
    ) == [str(kept)]


def test_a_link_whose_target_a_later_run_read_is_named(tmp_path, between_runs):
    kept = tmp_path / "state"
    assert between_runs(lambda: kept.symlink_to("0.25"), kept.readlink) == [str(kept)]


def test_a_file_that_was_removed_or_replaced_unread_is_not_named(tmp_path, between_runs):
    kept, new = tmp_path / "state.json", tmp_path / "elsewhere"
    new.mkdir()

    def replaced():
        (new / "state.json").write_text("0.5")
        (new / "state.json").replace(kept)

    assert between_runs(lambda: kept.write_text("0.25"), replaced) == []
    other = tmp_path / "other.json"
    assert between_runs(lambda: other.write_text("0.25"), other.unlink) == []


def test_a_file_that_a_program_still_has_open_is_not_named(tmp_path, between_runs):
    kept = tmp_path / "state.json"
    kept.write_text("0")
    with kept.open():
        assert between_runs(lambda: kept.write_text("0.25"), kept.read_text) == []


def test_a_semaphore_that_another_program_has_open_is_that_programs(semaphore):
    path, process = semaphore
    assert path.exists()
    assert str(path) not in Path(f"/proc/{process.pid}/maps").read_text()
    assert not_open(path) == set()


def test_one_whose_program_has_ended_was_left(semaphore):
    path, process = semaphore
    process.kill()
    process.wait()
    assert not_open(path) == {str(path)}


def test_what_is_no_file_is_never_another_programs():
    memory = "shared memory of System V, key 7"
    assert not_open(memory) == {memory}


def test_what_another_program_removed_meanwhile_was_not_left(tmp_path, monkeypatch):
    """Its semaphores were there, and it had ended before anyone could ask who has them open."""
    file = tmp_path / "sem.mp-abc"
    monkeypatch.setattr(shared_places, "_MEMORY", (str(tmp_path),))
    monkeypatch.setattr(shared_places, "_SYSTEM_V", {})
    asked = {"recipe": "train", "seed": 0, "device": "cpu", "command": ("true",)}
    specs = [RunSpec(run_id=f"run-{number}", **asked) for number in (1, 2)]
    places = shared_places.SharedPlaces(specs, leave_out=())
    asked_before = shared_places._not_open

    def removed_first(paths):
        found = dict(paths)
        file.unlink(missing_ok=True)
        return asked_before(found)

    file.write_text("1")
    monkeypatch.setattr(shared_places, "_not_open", removed_first)
    assert places.after(specs[0], began=0.0, ended=1.0, is_confined=True) == {}
    file.write_text("1")
    monkeypatch.setattr(shared_places, "_not_open", asked_before)
    found = places.after(specs[0], began=0.0, ended=1.0, is_confined=True)
    assert str(file) in found["shared"]["memory"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [(".zsh_history", "kept"), (".python_history", "kept"), (".viminfo", "kept"), ("state.json", "files")],
)
def test_what_a_persons_own_shells_and_editors_keep_in_the_home_is_named_only(
    tmp_path, monkeypatch, name, kind
):
    """A shell writes its history while one run is under way, and another shell reads it during the next."""
    for place in ("_MEMORY", "_OPEN_TO_ALL"):
        monkeypatch.setattr(shared_places, place, ())
    monkeypatch.setattr(shared_places, "_SYSTEM_V", {})
    monkeypatch.setattr(shared_places.tempfile, "gettempdir", lambda: str(tmp_path / "none"))
    asked = {"recipe": "train", "seed": 0, "device": "cpu", "command": ("true",)}
    specs = [
        RunSpec(run_id=f"run-{number}", environment={"HOME": str(tmp_path)}, **asked) for number in (1, 2)
    ]
    places = shared_places.SharedPlaces(specs, leave_out=())
    file = tmp_path / name
    file.write_text("make\n")
    began = file.stat().st_ctime
    places.after(specs[0], began=began, ended=began, is_confined=False)
    file.read_text()
    found = places.after(specs[1], began=began, ended=began + 1, is_confined=False)["shared"]
    assert {one for one in found if str(file) in found[one]} == {kind}


@pytest.fixture
def told_of(tmp_path, monkeypatch):
    """Says how a file counts that a second run opened and that was changed while the first was under way."""
    for place in ("_MEMORY", "_OPEN_TO_ALL"):
        monkeypatch.setattr(shared_places, place, ())
    monkeypatch.setattr(shared_places, "_SYSTEM_V", {})
    for name in shared_places._LEAD_ELSEWHERE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(shared_places, "_COMPILED", f"{tmp_path}/torchinductor_")
    monkeypatch.setattr(shared_places, "_not_open", set)  # looks at every process

    def told(path, *, leave_out=(), tree=None, **variables):
        asked = {"recipe": "train", "seed": 0, "device": "cpu", "command": ("true",)}
        asked["environment"] = {"HOME": str(tmp_path / "home"), **variables}
        specs = [RunSpec(run_id=f"run-{number}", **asked) for number in (1, 2)]
        places = shared_places.SharedPlaces(specs, leave_out=leave_out, tree=tree)
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("0.25")
        places.after(specs[0], began=1.0, ended=2.0, is_confined=False)
        about = {"is_confined": False, "opened": frozenset(), "changed": [str(file)]}
        found = places.after(specs[1], began=3.0, ended=4.0, **about).get("shared", {})
        return [kind for kind in ("files", "kept") if str(file) in found.get(kind, ())]

    return told


@pytest.mark.parametrize(
    ("path", "kinds"),
    [
        ("home/.cache/hub/split", ["kept"]),
        ("home/.cache-of-mine/split", ["files"]),
        ("home/.configuration", ["files"]),
        ("torchinductor_me/ab/split", ["kept"]),
        ("torchinductor_split", ["files"]),
    ],
)
def test_only_what_lies_in_a_cache_is_called_kept_there(told_of, path, kinds):
    assert told_of(path) == kinds


def test_a_folder_above_the_home_is_no_cache_whatever_a_variable_says(told_of, tmp_path):
    assert told_of("data/split", HF_HOME=str(tmp_path / "data")) == ["kept"]
    for above in ("/", str(tmp_path), str(tmp_path / "home")):
        assert told_of("home/data/split", XDG_CACHE_HOME=above) == ["files"]


@pytest.mark.parametrize(
    ("path", "of_recipe", "of_tree"),
    [
        ("p/runs/split.json", ["files"], []),
        ("p/runs/train/split.json", ["files"], []),
        ("p/runs/.mounted-1/split", ["files"], []),
        ("p/.git/refs/tags/0.25", ["files"], []),
        ("p/.git/config", ["files"], []),
        ("p/.git/index.split", ["files"], []),
        ("p/.git/index", [], []),
        ("p/.git/objects/ab/cd", [], []),
        # what the comparison of the tree leaves out
        ("p/.git/index.lock", ["files"], ["files"]),
        ("p/runs/train/20260101T000000Z-aaaa/split", ["files"], ["files"]),
        ("p/runs/sweeps/split", ["files"], ["files"]),
        ("p/runs/.index.json", ["files"], ["files"]),
        ("p/reports/train/20260101T000000Z-aaaa/split", ["files"], ["files"]),
    ],
)
def test_what_runs_leave_among_what_the_tool_and_git_keep_is_named(
    told_of, tmp_path, path, of_recipe, of_tree
):
    its_own = (tmp_path / "p" / "runs", tmp_path / "p" / ".git")
    assert told_of(path, leave_out=its_own) == of_recipe
    kept = frozenset(str(tmp_path / "p" / name) for name in ("runs", "reports"))
    tree = Tree(roots=(tmp_path / "p",), kept=kept)
    assert told_of(path, leave_out=its_own[:1], tree=tree) == of_tree


@pytest.mark.parametrize("is_recipe", [True, False])
def test_the_tree_is_looked_at_elsewhere_for_a_plain_command_alone(tmp_path, is_recipe):
    asked = {"recipe": "train", "seed": 0, "device": "cpu", "command": ("true",)}
    spec = RunSpec(run_id="run-1", working_dir=str(tmp_path), inherit_environment=True, **asked)
    projects = [tmp_path] if is_recipe else []
    places = engine.shared_places([spec, spec], runs_dirs=[tmp_path / "runs"], projects=projects)
    assert (places._tree is None) is is_recipe
