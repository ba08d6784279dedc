"""Code that a pinned program on this host uses from elsewhere: `versions_locked` never passes over it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from reprokit.core.verdicts.rows import Status
from reprokit.project import Project
from support.command_recipe import RECIPE, Repository

PROGRAM = """\
import json, os, subprocess, sys
from pathlib import Path
elsewhere, other_python = {elsewhere!r}, {other_python!r}
{change}
value = 1.0
with open(f"{{sys.argv[2]}}/log.jsonl", "w") as log:
    for step in range(4):
        value *= rate
        log.write(json.dumps({{"step": step, "loss": value}}) + "\\n")
"""
RATE = "RATE = 0.9\n"
ASKS = "rate = float(subprocess.run([{words}], capture_output=True, check=True, {more}).stdout)"
PRINTS = '"-c", "print(0.9)"'


def asks(words: str, more: str = "text=True") -> str:
    return ASKS.format(words=words, more=more)


IMPORTS = "from helper import RATE as rate"
#: What a program does → the name that its row must say.
ELSEWHERE = {
    "a folder on its path": (f"sys.path.insert(0, elsewhere)\n{IMPORTS}", "helper.py"),
    "a folder with path files": (f"import site\nsite.addsitedir(elsewhere)\n{IMPORTS}", "helper.py"),
    "a module by its file": (
        "import runpy\nrate = runpy.run_path(f'{elsewhere}/helper.py')['RATE']",
        "helper.py",
    ),
    "a link in its own folder": (
        "os.symlink(elsewhere, f'{sys.argv[2]}/lib')\nsys.path.insert(0, f'{sys.argv[2]}/lib')\n" + IMPORTS,
        "helper.py",
    ),
    "a link in place of a module of its own": (
        (
            "own = Path(sys.argv[2], 'helper.py')\nown.write_text('RATE = 0.8')\n"
            "sys.path.insert(0, sys.argv[2])\nsys.dont_write_bytecode = True\n"
            "import helper, importlib\nown.unlink()\n"
            "own.symlink_to(Path(elsewhere, 'helper.py'))\nrate = importlib.reload(helper).RATE"
        ),
        "helper.py",
    ),
    "an archive on its path": (f"sys.path.insert(0, f'{{elsewhere}}/inside.zip')\n{IMPORTS}", "inside.zip"),
    "an egg-link": (
        "sys.path.insert(0, Path(elsewhere, 'helper.egg-link').read_text().split()[0])\n" + IMPORTS,
        "helper.py",
    ),
    "byte-code": (
        f"sys.pycache_prefix = None\nsys.path.insert(0, elsewhere)\n{IMPORTS}",
        "helper.py",
    ),
    "a shared library": ("import ctypes\nctypes.CDLL(f'{elsewhere}/native.so')\nrate = 0.9", "native.so"),
    "a library of another name": (
        "import ctypes\nctypes.CDLL(f'{elsewhere}/native.bin')\nrate = 0.9",
        "native.bin",
    ),
    "a path of another process": (
        asks(
            "sys.executable, '-c', 'from helper import RATE; print(RATE)'",
            "env={'PYTHONPATH': elsewhere}",
        ),
        "helper.py",
    ),
    "a spawned worker": (
        (
            "import multiprocessing\n"
            "def work():\n    sys.path.insert(0, elsewhere)\n    import helper\n"
            "if __name__ == '__main__':\n"
            "    worker = multiprocessing.get_context('spawn').Process(target=work)\n"
            "    worker.start()\n    worker.join()\n    assert worker.exitcode == 0\nrate = 0.9"
        ),
        "helper.py",
    ),
    "another Python": (asks(f"other_python, {PRINTS}"), "PYTHON"),
    "another Python, isolated": (asks(f"other_python, '-S', '-I', {PRINTS}"), "PYTHON"),
    "another Python without variables": (asks(f"'/usr/bin/env', '-i', other_python, {PRINTS}"), "PYTHON"),
    "another Python by a shell": (asks("f\"{other_python} -c 'print(0.9)'\"", "shell=True"), "PYTHON"),
    "another Python by posix_spawn": (
        "os.waitpid(os.posix_spawn(other_python, [other_python, '-c', ''], {}), 0)\nrate = 0.9",
        "PYTHON",
    ),
    "another Python by the loader of the system": (
        asks(f"'/lib64/ld-linux-x86-64.so.2', os.path.realpath('/usr/bin/python3'), '-S', {PRINTS}"),
        "/usr/bin/python3",
    ),
    "another Python in its place": (
        (
            "if sys.executable != other_python and 'again' not in os.environ:\n"
            "    os.execve(other_python, [other_python, *sys.argv], {'again': '1'})\nrate = 0.9"
        ),
        "PYTHON",
    ),
    "a script of another Python": (
        "script = Path(sys.argv[2], 'script')\n"
        "script.write_text(f'#!{other_python}\\nprint(0.9)')\nscript.chmod(0o755)\n" + asks("script"),
        "PYTHON",
    ),
    "a library loaded before all others": (
        asks(f"sys.executable, {PRINTS}", "env={'LD_PRELOAD': f'{elsewhere}/native.so'}"),
        "native.so",
    ),
    "a path of a process without site": (
        asks(
            "sys.executable, '-S', '-c', 'import helper; print(helper.RATE)'",
            "env={'PYTHONPATH': elsewhere}",
        ),
        "helper.py",
    ),
    "a script of another folder": (asks("sys.executable, f'{elsewhere}/script.py'"), "script.py"),
    "a program of another folder": (asks("f'{elsewhere}/prints'"), "prints"),
}
OWN = {
    "nothing else": "rate = 0.9",
    "tools of the system": (
        "for words in (['git', '--version'], ['ldconfig', '-p'], ['gcc', '--version'], ['uname', '-a']):\n"
        "    try:\n        subprocess.run(words, stdout=subprocess.DEVNULL)\n"
        "    except FileNotFoundError: pass\n"
        "import ctypes.util\nctypes.CDLL(ctypes.util.find_library('m'))\nrate = 0.9"
    ),
    "its own Python, and modules that it wrote": (
        "Path(sys.argv[2], 'helper.py').write_text('RATE = 0.9')\n"
        + asks("sys.executable, '-c', 'import tiny, helper; print(helper.RATE)'", "cwd=sys.argv[2]")
    ),
    "python by its name": asks("'python3', '-c', 'import tiny; print(0.9)'"),
    "processes of its own": (
        "import multiprocessing\n"
        "def work(): import tiny, sqlite3\n"
        "if __name__ == '__main__':\n"
        "    for way in ('spawn', 'fork', 'forkserver'):\n"
        "        worker = multiprocessing.get_context(way).Process(target=work)\n"
        "        worker.start()\n        worker.join()\n        assert worker.exitcode == 0\nrate = 0.9"
    ),
    "data in an archive": (
        "import zipfile\nrate = float(zipfile.ZipFile(f'{elsewhere}/data.zip').read('rate.txt'))"
    ),
    "weights": "rate = len(Path(elsewhere, 'weights.pth').read_bytes()) / 10",
}


@pytest.fixture
def other_python(tmp_path) -> Path:
    """The Python of another virtual environment."""
    folder = tmp_path / "other"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return folder / "bin" / "python"


@pytest.fixture
def theirs(shared_small_project, tmp_path, monkeypatch) -> Repository:
    monkeypatch.setenv("REPROKIT_CACHE", str(shared_small_project.cache))
    monkeypatch.delenv("CI", raising=False)
    repository = Repository(shutil.copytree(shared_small_project.root, tmp_path / "project"))
    repository.git("init", "--quiet")
    (repository.root / ".gitignore").write_text("runs/\nreports/\n")
    repository.write(recipes__train__recipe_yaml=RECIPE.replace("variant: none", "variant: cpu"))
    return repository


@pytest.fixture
def elsewhere(tmp_path) -> Path:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "helper.py").write_text(RATE)
    (folder / "script.py").write_text("print(0.9)\n")
    (folder / "helper.egg-link").write_text(f"{folder}\n.")
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(folder)], check=True)
    with zipfile.ZipFile(folder / "inside.zip", "w") as archive:
        archive.writestr("helper.py", RATE)
    with zipfile.ZipFile(folder / "data.zip", "w") as archive:
        archive.writestr("rate.txt", "0.9")
    (folder / "weights.pth").write_bytes(b"weights\0\0")
    (folder / "native.c").write_text("int helper(void) { return 1; }\n")
    for name in ("native.so", "native.bin"):
        compiled = ["gcc", "-shared", "-o", str(folder / name), str(folder / "native.c")]
        subprocess.run(compiled, check=True)
    (folder / "main.c").write_text('#include <stdio.h>\nint main(void) { puts("0.9"); return 0; }\n')
    subprocess.run(["gcc", "-o", str(folder / "prints"), str(folder / "main.c")], check=True)
    return folder


def row_of(report):
    (row,) = [check for check in report.checks if check.id == "versions_locked"]
    return row


def program(change: str, elsewhere: Path, other_python: Path) -> str:
    return PROGRAM.format(change=change, elsewhere=str(elsewhere), other_python=str(other_python))


@pytest.mark.sample(5)
@pytest.mark.parametrize("what", ELSEWHERE)
def test_code_from_elsewhere_is_named_and_fails_the_row(theirs, elsewhere, other_python, what):
    change, name = ELSEWHERE[what]
    theirs.write(train_py=program(change, elsewhere, other_python))
    row = row_of(theirs.reproduce())
    assert row.status is Status.FAILED, logs_of(theirs)
    said = str(other_python) if name == "PYTHON" else str(elsewhere / name)
    assert said in row.reason, row.reason


@pytest.mark.sample(3)
@pytest.mark.parametrize("what", OWN)
def test_what_is_its_own_or_the_systems_passes(theirs, elsewhere, other_python, what):
    theirs.write(train_py=program(OWN[what], elsewhere, other_python))
    row = row_of(theirs.reproduce())
    assert row.status is Status.PASSED, f"{row.reason} {logs_of(theirs)}"
    assert "all from the lock" in row.reason


def test_an_edit_of_it_is_named(theirs, elsewhere, other_python):
    theirs.write(train_py=program(ELSEWHERE["a folder on its path"][0], elsewhere, other_python))
    theirs.promote(theirs.reproduce(), allow_failed=True)
    (elsewhere / "helper.py").write_text("RATE = 0.8\n")
    report = theirs.reproduce()
    assert report.verdict == "REGRESSION"
    assert f"changed since then: {elsewhere / 'helper.py'} (outside the repository)" in report.sentence


def logs_of(theirs: Repository) -> str:
    folder = Project.around(theirs.root).runs_dir
    records = [json.loads(path.read_text()) for path in folder.glob("train/*/run.json")]
    return "\n".join(
        [str(one.get("outside_code")) + str(one.get("message")) for one in records]
        + [path.read_text() for path in folder.glob("train/*/stderr.log")]
    )
