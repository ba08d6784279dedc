"""Programs that write to their pinned environment while they run: no verdict stands on such a run."""

from __future__ import annotations

import importlib.util
import json
import os
import py_compile
import secrets
from pathlib import Path

import pytest

from reprokit.execution import local
from reprokit.project import Project
from support.command_recipe import RECIPE, Repository

PROGRAM = """\
import json, os, sys, sysconfig
from pathlib import Path
site = Path(sysconfig.get_path("purelib"))
CHANGE
value = 1.0
with open(f"{sys.argv[2]}/log.jsonl", "w") as log:
    for step in range(4):
        value *= 0.9
        log.write(json.dumps({"step": step, "loss": value}) + "\\n")
"""
ADDS_A_MODULE = '(site / "late.py").write_text("RATE = 2")\nimport late'
PUTS_IT_BACK = """
before, text = (site / "tiny.py").stat(), (site / "tiny.py").read_text()
(site / "tiny.py").write_text(text.replace("1.0", "6.6"))
import tiny
(site / "tiny.py").write_text(text)
os.utime(site / "tiny.py", ns=(before.st_atime_ns, before.st_mtime_ns))
"""
REMOVES_IT = '(site / "late.py").write_text("RATE = 2")\nimport late\n(site / "late.py").unlink()'
KEEPS_ENTROPY = """
kept = site / "tiny-1.0.dist-info" / "entropy"
kept.exists() or kept.write_bytes(os.urandom(8))
value = kept.read_bytes()[0]
"""
KEEPS_A_MODE = """
kept = site / "tiny.py"
kept.stat().st_mode & 0o777 != 0o644 or kept.chmod(0o601 + os.urandom(1)[0] % 32)
value = kept.stat().st_mode / 0o777
"""
PLANTS_BYTE_CODE = """
(found,) = Path(sys.prefix, "byte-code").rglob("tiny.*.pyc")
content = found.read_bytes()
found.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
"""


@pytest.fixture
def theirs(small_project, monkeypatch) -> Repository:
    monkeypatch.setenv("REPROKIT_CACHE", str(small_project.cache))
    monkeypatch.delenv("CI", raising=False)
    repository = Repository(small_project.root)
    repository.git("init", "--quiet")
    (repository.root / ".gitignore").write_text("runs/\nreports/\n")
    repository.write(recipes__train__recipe_yaml=RECIPE.replace("variant: none", "variant: cpu"))
    return repository


def runs_of(repository: Repository) -> list[dict]:
    folder = Project.around(repository.root).runs_dir
    return [json.loads(path.read_text()) for path in sorted(folder.glob("train/*/run.json"))]


def environment_of(repository: Repository) -> Path:
    return Path(runs_of(repository)[0]["image"]["reference"])


CHANGES = {
    "adds a module": (ADDS_A_MODULE, "late.py is not from the lock"),
    "changes a module and puts it back": (PUTS_IT_BACK, "files were written and put back"),
    "adds a module and removes it": (REMOVES_IT, "files were written and put back"),
    "keeps entropy for the next run": (KEEPS_ENTROPY, "entropy is not from the lock"),
    "plants byte-code": (PLANTS_BYTE_CODE, "tiny.cpython-"),
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("what", CHANGES)
def test_a_run_that_writes_to_its_environment_is_no_evidence(theirs, what, monkeypatch):
    """Also where the kernel does not keep it from writing there."""
    monkeypatch.setattr(local, "_writable", lambda *_: [])
    change, said = CHANGES[what]
    theirs.write(train_py=PROGRAM.replace("CHANGE", change))
    report = theirs.reproduce()
    assert (str(report.verdict), report.exit_code) == ("NOT_RUN", 3)
    first = runs_of(theirs)[0]
    assert first["outcome"] == "mounts_changed"
    assert "changed while the run was under way" in first["message"]
    assert said in first["message"]


@pytest.mark.slow
def test_what_a_refused_run_left_in_modes_and_times_of_its_environment_reaches_no_later_run(theirs):
    """A mode can be set where nothing can be written; the content is as installed all the while."""
    theirs.write(train_py=PROGRAM.replace("CHANGE", KEEPS_A_MODE))
    for _ in range(2):
        report = theirs.reproduce()
        assert (str(report.verdict), report.exit_code) == ("NOT_RUN", 3)
        assert "files were written and put back" in runs_of(theirs)[-1]["message"]


PLACES = {
    "the environment": 'site / "late.py"',
    "a path file of it": 'site / "late.pth"',
    "its byte-code": 'next(Path(sys.prefix, "byte-code").rglob("random.*.pyc"))',
    "the library of the Python": 'Path(json.__file__).parent / "late.py"',
    "the caller's home": 'Path(os.environ["HOME_OF_CALLER"], "late")',
    "the caller's cache": 'Path(os.environ["HOME_OF_CALLER"], ".cache", "late")',
    "/tmp": 'Path("/tmp/reprokit-test-late")',
    "/dev": 'Path("/dev/reprokit-test-late")',
    "/var/tmp": 'Path("/var/tmp/reprokit-test-late")',
    "the project": 'Path(os.getcwd()).parents[3] / "late"',
    "the folder of the runs": 'Path(sys.argv[2]).parents[1] / "late"',
    "its own record": 'Path(sys.argv[2]).parent / "run.json"',
    "the cache of the tool": 'Path(sys.prefix).parent / "late"',
}


def test_a_pinned_program_writes_to_its_own_folders_only(theirs, tmp_path):
    """All that the next run could read, but shared memory: as in a container, where the kernel can."""
    (tmp_path / "home" / ".cache").mkdir(parents=True)
    tries = "\n".join(
        f"try:\n    ({place}).open('ab').write(os.urandom(8)); print({name!r})\nexcept OSError: pass"
        for name, place in PLACES.items()
    ).replace('os.environ["HOME_OF_CALLER"]', repr(str(tmp_path / "home")))
    own = """
import tempfile, multiprocessing, subprocess
home = Path(os.environ["HOME"], ".cache"); home.mkdir()
Path(tempfile.mkdtemp(), "one").write_text("1")
os.replace(Path(tempfile.mkstemp()[1]), Path(sys.argv[2], "moved"))
multiprocessing.Lock(); open(os.devnull, "w").write("x")
subprocess.run(["touch", Path(sys.argv[2], "of-child")], check=True)
"""
    theirs.write(train_py=PROGRAM.replace("CHANGE", tries + own))
    assert str(theirs.reproduce().verdict) == "NO_GOLDEN", runs_of(theirs)[0]["message"]
    for record in runs_of(theirs):
        if record["isolation"]["confined"] is not True:
            pytest.skip("this kernel cannot confine a process by itself (landlock)")
    for log in Project.around(theirs.root).runs_dir.glob("train/*/stdout.log"):
        assert log.read_text() == ""


def test_shared_memory_that_a_pinned_program_left_leaves_repeatability_open(theirs):
    kept = Path("/dev/shm", f"reprokit-test-{secrets.token_hex(4)}")
    keeps = (
        f"kept = Path('{kept}')\nkept.exists() or kept.write_bytes(os.urandom(8))\nprint(kept.read_bytes())"
    )
    theirs.write(train_py=PROGRAM.replace("CHANGE", keeps))
    try:
        report = theirs.reproduce()
    finally:
        kept.unlink(missing_ok=True)
    (row,) = [check for check in report.checks if check.id == "repeatable"]
    assert str(row.status) == "ERROR"
    assert kept.name in row.reason


def test_a_denied_write_is_told_with_what_to_do(theirs):
    theirs.write(train_py=PROGRAM.replace("CHANGE", ADDS_A_MODULE))
    report = theirs.reproduce()
    first = runs_of(theirs)[0]
    if not first["isolation"]["confined"]:
        pytest.skip("this kernel cannot confine a process by itself (landlock)")
    assert (str(report.verdict), report.exit_code) == ("NOT_RUN", 3)
    assert "late.py" in first["message"]
    assert "write to {run_dir}" in first["remedy"]


def test_a_run_that_leaves_its_environment_as_it_is_compiles_none_of_it(theirs):
    looks = (
        "import tiny, random\nprint(tiny.__cached__, random.__cached__, os.path.isfile(random.__cached__))"
    )
    theirs.write(train_py=PROGRAM.replace("CHANGE", looks))
    assert str(theirs.reproduce().verdict) == "NO_GOLDEN"
    for path in Project.around(theirs.root).runs_dir.glob("train/*/stdout.log"):
        tiny, library, is_there = path.read_text().split()
        assert tiny.startswith(f"{environment_of(theirs)}/byte-code/")
        assert library.startswith(f"{environment_of(theirs)}/byte-code/")
        assert is_there == "True"


@pytest.mark.sample(1)
@pytest.mark.parametrize("beside", ["__pycache__", "byte-code"])
def test_byte_code_that_was_planted_before_the_runs_fails_the_row_or_is_not_read(theirs, beside):
    theirs.write(train_py=PROGRAM.replace("CHANGE", "import tiny\nprint(tiny.VERSION)"))
    theirs.reproduce()
    (kept,) = (environment_of(theirs) / "byte-code").rglob("tiny.*.pyc")
    (source,) = environment_of(theirs).glob("lib/*/site-packages/tiny.py")
    place = kept if beside == "byte-code" else Path(importlib.util.cache_from_source(str(source)))
    poison = theirs.root.parent / "poison.py"
    poison.write_text("VERSION = 'poisoned'\n")
    kept.unlink()
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(poison), cfile=str(place), invalidation_mode=mode)
    os.utime(place, (1, 1))
    report = theirs.reproduce()
    (row,) = [check for check in report.checks if check.id == "versions_locked"]
    assert str(row.status) == "FAILED"
    assert "tiny." in row.reason
    assert report.exit_code != 0
