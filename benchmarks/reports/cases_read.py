"""What a rebuilt report is on disk, and how it is run, for `check.py` and `run.py`: without a tool of ours."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
CASES = HERE / "cases"
ENVIRONMENTS = HERE / "environments"

# What a run inherits: the rest differs from machine to machine, PYTHONHASHSEED and limits of threads above all.
INHERITED = ("HOME", "LANG", "PATH", "TMPDIR", "USER")
ONE_THREAD = {"OMP_NUM_THREADS": "1"}  # unless a case says otherwise: its numbers then depend on fewer things
TORCH_INDEX = ["--retries", "0", "--extra-index-url", "https://download.pytorch.org/whl/cpu"]


class CaseError(Exception):
    """What is wrong with a case, or what it needs and this machine lacks."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """`case.yaml`, read strictly: a key that is missing or unknown is an error."""

    name: str
    address: str
    kind: str
    held: bool
    libraries: dict[str, str]
    environment: str
    condition: str
    pairs: int
    differ: int
    categories: tuple[str, ...]
    lines: tuple[int, ...]
    says: str
    sides: tuple[dict[str, Any], ...] = ()
    parts: tuple[tuple[str, ...], ...] = ()

    @property
    def folder(self) -> Path:
        """Where its four files are."""
        return CASES / self.name


CONDITIONS = frozenset({"plain", "resume", "threads", "cpu", "version", "compile", "ranks", "silent"})
OPTIONAL = {"sides", "parts"}


def read_case(name: str) -> Case:
    """One case by the name of its folder."""
    path = CASES / name / "case.yaml"
    if not path.is_file():
        raise CaseError(f"{path}: no such case. Cases are the folders of {CASES}.")
    told = yaml.safe_load(path.read_text())
    wanted = set(Case.__dataclass_fields__) - {"name"}
    if missing := wanted - OPTIONAL - set(told):
        raise CaseError(f"{path}: {', '.join(sorted(missing))} missing")
    if unknown := set(told) - wanted:
        raise CaseError(f"{path}: {', '.join(sorted(unknown))} not known")
    if told["condition"] not in CONDITIONS:
        raise CaseError(f"{path}: condition {told['condition']!r} is none of {', '.join(sorted(CONDITIONS))}")
    told["libraries"] = {key: str(value) for key, value in (told["libraries"] or {}).items()}
    for key in ("categories", "lines"):
        told[key] = tuple(told[key])
    told["sides"] = tuple(told.get("sides", ()))
    told["parts"] = tuple(tuple(part) for part in told.get("parts", ()))
    return Case(name=name, **told)


def all_cases() -> list[str]:
    """The names of all cases that are rebuilt."""
    return sorted(path.parent.name for path in CASES.glob("*/case.yaml"))


def interpreter_of(version: str) -> str:
    """A Python of this version: on the path, of pyenv, or what uv knows or fetches."""
    found = shutil.which(f"python{version}")
    if found and subprocess.run([found, "-V"], capture_output=True, check=False).returncode == 0:
        return found
    kept = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    return str(kept[-1]) if kept else version


def python_of(environment: str, *, cache: Path) -> Path:
    """The Python of a pinned environment, which is made when first asked for and kept under its pins' digest."""
    pins = ENVIRONMENTS / f"{environment}.txt"
    if not pins.is_file():
        raise CaseError(f"{pins}: no such environment")
    text = pins.read_text()
    version = text.split("\n", 1)[0].removeprefix("# python ").strip()
    folder = cache / f"{environment}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        uv = Path(sys.executable).parent / "uv"
        _done(
            [
                str(uv),
                "venv",
                "--quiet",
                "--clear",
                "--seed",
                "--python",
                interpreter_of(version),
                str(folder),
            ]
        )
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--quiet"]
        _done([*pip, "--no-deps", "--no-compile", *TORCH_INDEX, "--requirement", str(pins)])
        (folder / "complete").touch()
    return python


def _done(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CaseError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")


def versions_in(python: Path, names: list[str]) -> dict[str, str | None]:
    """The versions of distributions that a Python has installed, without what follows `+`."""
    ask = (
        "import importlib.metadata as m, json, sys\n"
        "def v(n):\n"
        "    try: return m.version(n).split('+')[0]\n"
        "    except m.PackageNotFoundError: return None\n"
        "print(json.dumps({n: v(n) for n in sys.argv[1:]}))"
    )
    done = subprocess.run([str(python), "-c", ask, *names], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CaseError(f"{python} does not run: {done.stderr[-500:]}")
    answer: dict[str, str | None] = json.loads(done.stdout)
    return answer


@contextmanager
def repaired(case: Case) -> Iterator[Path]:
    """The program with its repair applied, in a folder that lasts as long as the block."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.py"
        program.write_text((case.folder / "program.py").read_text())
        patch = (case.folder / "repair.patch").resolve()
        done = subprocess.run(
            ["git", "apply", "--unsafe-paths", str(patch)],
            cwd=folder,
            env={**os.environ, "GIT_CEILING_DIRECTORIES": str(Path(folder).parent)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise CaseError(f"{patch} does not apply: {done.stderr}")
        yield program


def run_once(
    program: Path, *, python: Path, out: Path, extra: list[str], environment: dict[str, str], limit_s: float
) -> list[Any]:
    """One run of a program: the records that it wrote."""
    out.mkdir()
    kept = {name: os.environ[name] for name in INHERITED if name in os.environ}
    began = time.monotonic()
    try:
        done = subprocess.run(
            [str(python), str(program), str(out), *extra],
            cwd=out,
            env={**kept, **ONE_THREAD, **environment},
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CaseError(f"{program} took more than {time.monotonic() - began:.0f} s") from error
    if done.returncode != 0:
        raise CaseError(f"{program} {' '.join(extra)} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    written = out / "metrics.jsonl"
    return [json.loads(line) for line in written.read_text().splitlines()] if written.exists() else []
