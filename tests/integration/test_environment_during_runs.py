"""Programs that write to their pinned environment while they run: no verdict stands on such a run."""

from __future__ import annotations

import importlib.util
import json
import os
import py_compile
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("what", CHANGES)
def test_a_run_that_writes_to_its_environment_is_no_evidence(theirs, what):
    change, said = CHANGES[what]
    theirs.write(train_py=PROGRAM.replace("CHANGE", change))
    report = theirs.reproduce()
    assert (str(report.verdict), report.exit_code) == ("NOT_RUN", 3)
    first = runs_of(theirs)[0]
    assert first["outcome"] == "mounts_changed"
    assert "changed while the run was under way" in first["message"]
    assert said in first["message"]


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
