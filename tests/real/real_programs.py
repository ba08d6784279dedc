"""Lays out the programs of this folder, makes the Python that they need, and holds reprokit against them.

for program in programs():
    copy = laid_out(program, Path("somewhere"), faulty=True)
    print(ask("diagnose", copy).told["cause"], copy.lines)
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from ruamel.yaml import YAML

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # of a program that is no test

from support.kept_python import LIMIT_S, PROJECT, CannotBeMadeError, kept_python  # noqa: E402

__all__ = ["PROJECT", "CannotBeMadeError"]  # who imports this module finds them here
NAMED = re.compile(r"--ignore-metric[ =]+'?([^\s'`\",]+)")
NEAR = 2
RUN_LIMIT_S = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is done to a copy of the program, and what has to be answered.

    Attributes:
        replace: Text that is there once, "" where nothing is replaced; ``by`` takes its place.
        lines: Parts of the lines that are right answers, in the faulty copy.
        command: The command of the faulty copy, where it is another.
        clean: Whether the changes that make the clean copy are made to the faulty one too.
    """

    what: str
    file: str
    lines: tuple[str, ...]
    categories: tuple[str, ...]
    replace: str = ""
    by: str = ""
    command: tuple[str, ...] = ()
    clean: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AsRecipe:
    """How a program becomes a recipe of a repository of its own.

    Attributes:
        command: What stands after ``reprokit init --yes --``.
        setting: ``file``, ``replace``, ``by``: another value of a hyperparameter.
        fault: The same for a seed call that is removed; that of the program's `faulty` where it is empty.
    """

    command: tuple[str, ...]
    setting: dict[str, str]
    fault: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One folder: a program that nobody here wrote, and how it is called.

    Attributes:
        environment: ``dev`` is the Python of the tests; ``small`` is it with a few packages before its own;
            ``whole`` is a Python with everything in ``requirements.txt``.
        package: An installed package that is copied beside the program, so that its files can be changed.
        names_options: The metrics that ``reproduce`` has to name as the clock's; empty where none is.
        known: A shortcoming of reprokit that is seen on this program, by the name of the test that shows it.
        recipe: How it becomes a recipe; None where it is only run as a plain command.
    """

    name: str
    title: str
    source: str
    licence: str
    authorship: str
    environment: str
    command: tuple[str, ...]
    faulty: Fault
    clean: tuple[dict[str, str], ...] = ()
    also_from: tuple[str, ...] = ()
    package: str = ""
    prepare: tuple[str, ...] = ()
    names_options: tuple[str, ...] = ()
    known: dict[str, str] = field(default_factory=dict)
    recipe: AsRecipe | None = None

    @property
    def folder(self) -> Path:
        return HERE / self.name


def programs() -> list[Program]:
    """Every program of this folder, in the order of their names."""
    return [_read(path) for path in sorted(HERE.glob("*/program.yaml"))]


def _read(path: Path) -> Program:
    told = YAML(typ="safe").load(path.read_text())
    fault = {
        key: tuple(value) if isinstance(value, list) else value for key, value in told.pop("faulty").items()
    }
    told = {key: tuple(value) if isinstance(value, list) else value for key, value in told.items()}
    if recipe := told.pop("recipe", None):
        told["recipe"] = AsRecipe(**{**recipe, "command": tuple(recipe["command"])})
    return Program(name=path.parent.name, faulty=Fault(**fault), **told)


def python_for(program: Program) -> Path:
    """The Python that runs the program; made on the first call and kept in the user's cache.

    Raises:
        CannotBeMadeError: With the last words of what made it.
    """
    if program.environment == "dev":
        return Path(sys.executable)
    locked = HERE / ("requirements.txt" if program.environment == "whole" else "requirements-small.txt")
    return kept_python("real-programs", locked, on_top=program.environment == "small")


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """One copy of a program, ready to be run.

    Attributes:
        command: With ``{seed}`` and ``{run_dir}`` still in it.
        lines: The lines of the faulty file that are right answers; none in a clean copy.
    """

    program: Program
    folder: Path
    command: list[str]
    lines: list[int]


def laid_out(program: Program, at: Path, *, faulty: bool = False) -> Copy:
    """A copy of the program under ``at``, clean or with its fault, in a folder whose name says nothing."""
    python = python_for(program)
    folder = at / "study"
    shutil.copytree(program.folder, folder, ignore=shutil.ignore_patterns("program.yaml", "__pycache__"))
    for other in program.also_from:
        source, target = HERE / other, folder / Path(other).name
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    if program.package:
        shutil.copytree(_installed(python, program.package), folder / program.package)
    fault = program.faulty
    for change in program.clean if fault.clean or not faulty else ():
        _replace(folder / change["file"], change["replace"], change["by"])
    lines = []
    if faulty:
        if fault.replace:
            _replace(folder / fault.file, fault.replace, fault.by)
        told = enumerate((folder / fault.file).read_text().splitlines(), 1)
        lines = [number for number, line in told if any(part in line for part in fault.lines)]
        assert lines, f"{program.name}: no line of {fault.file} holds one of {fault.lines}"
    if program.prepare:
        prepare = [_filled(word, python, folder) for word in program.prepare]
        subprocess.run(prepare, cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, check=True)
    command = (faulty and fault.command) or program.command
    filled = [_filled(word, python, folder) for word in command]
    return Copy(program=program, folder=folder, command=filled, lines=lines)


def _installed(python: Path, package: str) -> Path:
    ask = f"import importlib.util as i; print(i.find_spec({package!r}).origin)"
    found = subprocess.run([str(python), "-c", ask], capture_output=True, text=True, check=True)
    return Path(found.stdout.strip()).parent


def _replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1, f"{path.name} holds {text.count(old)} times {old!r}"
    path.write_text(text.replace(old, new))


def _filled(word: str, python: Path, folder: Path) -> str:
    return word.replace("{python}", str(python)).replace("{program}", str(folder))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one call of reprokit said.

    Attributes:
        told: Its JSON, empty where there was none.
        words: What it printed beside the JSON.
    """

    code: int
    told: dict
    words: str
    seconds: float

    @property
    def last_word(self) -> str:
        return (self.words.strip().splitlines() or ["nothing was said"])[-1]


def ask(verb: str, copy: Copy, *options: str) -> Answer:
    """Call ``reprokit VERB`` on a copy, in its folder, with surroundings of its own."""
    above = copy.folder.parent
    places = ["--runs-dir", str(above / "runs"), "--reports-dir", str(above / "reports")]
    command = [sys.executable, "-m", "reprokit", verb, "--json", "--seed", "3", "--timeout", str(RUN_LIMIT_S)]
    begun = time.monotonic()
    try:
        done = subprocess.run(
            [*command, *places, *options, "--", *copy.command],
            cwd=copy.folder,
            env={key: value for key, value in os.environ.items() if key != "PYTHONHASHSEED"},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Answer(code=-1, told={}, words=f"no answer in {LIMIT_S} s", seconds=time.monotonic() - begun)
    told = json.loads(done.stdout) if done.stdout.strip().startswith("{") else {}
    return Answer(code=done.returncode, told=told, words=done.stderr, seconds=time.monotonic() - begun)


def named_options(answer: Answer) -> list[str]:
    """The options that a report names as what would leave the clock's metrics out."""
    patterns = dict.fromkeys(NAMED.findall(json.dumps(answer.told)))
    return [word for pattern in patterns for word in ("--ignore-metric", pattern)]


def known_options(program: Program) -> list[str]:
    """The options that leave out what the clock decides, as the folder of the program says it."""
    return [word for name in program.names_options for word in ("--ignore-metric", name)]


def line_is_right(copy: Copy, answer: Answer) -> bool:
    """Whether the cause names the file of the fault, within a few lines of it."""
    cause = answer.told.get("cause") or {}
    same = Path(cause.get("file") or "").name == Path(copy.program.faulty.file).name
    return same and any(abs((cause.get("line") or 0) - line) <= NEAR for line in copy.lines)
