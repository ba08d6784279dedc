"""From ``init`` to the line that ``diagnose`` names, in each Python and each kind of environment.

A program in a repository of its own goes through ``init --yes``, ``reproduce``, ``golden promote``,
``verify`` (REPRODUCED), a changed constant (REGRESSION), a generator without a seed (NONDETERMINISTIC) and
``diagnose``. It uses NumPy where that has a wheel, else the standard library only. The table is written into
docs/evidence/pythons.md; the script ends with 1 where an answer is another than it must be.

    python benchmarks/pythons.py [--python 3.14]... [--place container]... [--packages numpy]
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT))

from reprokit.images import interpreters  # noqa: E402

DOCUMENT = PROJECT / "docs" / "evidence" / "pythons.md"
PYTHONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.13t", "3.14", "3.14t", "3.15")
IN_CONTAINERS = ("3.11", "3.13", "3.14", "3.15")
LOCAL, DOCKER = "virtual environment", "container"
COLUMNS = ("init", "verify", "REGRESSION", "NONDETERMINISTIC", "diagnose")

PLAIN = """\
import argparse, json, random
parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--out", default="out")
options = parser.parse_args()
generator = random.Random(options.seed)
weights = [generator.gauss(0, 1) for _ in range(8)]
with open(options.out + "/metrics.jsonl", "w") as log:
    for step in range(30):
        rows = [[generator.gauss(0, 1) for _ in range(8)] for _ in range(32)]
        errors = [sum(w * x for w, x in zip(weights, row)) - row[0] for row in rows]
        for at in range(8):
            weights[at] -= 0.05 * sum(e * row[at] for e, row in zip(errors, rows)) / 32
        log.write(json.dumps({"step": step, "loss": sum(e * e for e in errors) / 32}) + "\\n")
"""
NUMPY = """\
import argparse, json
import numpy as np
parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--out", default="out")
options = parser.parse_args()
generator = np.random.default_rng(options.seed)
weights = generator.normal(size=8)
with open(options.out + "/metrics.jsonl", "w") as log:
    for step in range(30):
        rows = generator.normal(size=(32, 8))
        errors = rows @ weights - rows[:, 0]
        weights -= 0.05 * rows.T @ errors / 32
        log.write(json.dumps({"step": step, "loss": float(np.mean(errors**2))}) + "\\n")
"""
#: What each of them needs, and its call that seeds, with and without the seed.
PROGRAMS = {
    "numpy": (NUMPY, "numpy\n", ("default_rng(options.seed)", "default_rng()")),
    "numpy<2.4": (NUMPY, "numpy<2.4\n", ("default_rng(options.seed)", "default_rng()")),
    "none": (PLAIN, "# nothing beside the standard library\n", ("Random(options.seed)", "Random()")),
}
_HEAD = """\
# A program in each Python

A program of 15 lines in a repository of its own, from `init --yes` to the line that `diagnose` names. *init*
is the time until the recipe is written, with an environment of its own made (wheels may have been downloaded
before, a container's base may be there); *verify* that of a `verify` that says REPRODUCED; *REGRESSION* that
of one after a constant was changed; *NONDETERMINISTIC* that of one after the call that seeds lost its seed;
*diagnose* that until this line is named. Minutes. A row keeps its figures until it is measured again.

Written by `python benchmarks/pythons.py`, of answers that were as they must be.

| Python | place | packages | init | verify | REGRESSION | NONDETERMINISTIC | diagnose | measured |
|---|---|---|---|---|---|---|---|---|
"""
_FOOT = "\n<!-- what follows is written by hand -->\n"


class WrongAnswerError(Exception):
    """The tool answered something else than it must."""


class Repository:
    """Somebody's repository with a program in it, in which the tool is used as a person would."""

    def __init__(self, root: Path, *, backend: str) -> None:
        self.root, self.backend = root, backend
        self.minutes: dict[str, float] = {}

    def git(self, *words: str) -> None:
        name = ("-c", "user.name=they", "-c", "user.email=they@example.org")
        subprocess.run(["git", *name, *words], cwd=self.root, check=True, capture_output=True)

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "a change")

    def change(self, old: str, new: str) -> int:
        """Replace a text of the program, and commit; the line."""
        path = self.root / "train.py"
        text = path.read_text()
        path.write_text(text.replace(old, new, 1))
        self.commit()
        return text[: text.index(old)].count("\n") + 1

    def tool(self, *words: str, code: int, says: str = "", column: str = "") -> str:
        """What the tool prints; its exit code must be ``code``, and it must say ``says``."""
        began = time.monotonic()
        command = [sys.executable, "-m", "reprokit", *words]
        # `init` chooses by itself: in the virtual environment where no engine answers
        engine = {"DOCKER_HOST": "unix:///nowhere"} if self.backend == "local" else {}
        variables = {**os.environ, "NO_COLOR": "1", "PYTHONPATH": str(PROJECT), **engine}
        done = subprocess.run(
            command, cwd=self.root, capture_output=True, text=True, check=False, env=variables
        )
        minutes = (time.monotonic() - began) / 60
        sys.stderr.write(f"{minutes * 60:6.1f} s  reprokit {' '.join(words)[:70]}\n")
        if column:
            self.minutes[column] = minutes
        if done.returncode != code or says not in done.stdout:
            what = f"reprokit {' '.join(words)}: {done.returncode}, not {code} with {says!r}"
            raise WrongAnswerError(f"{what}\n{(done.stdout + done.stderr)[-3000:]}")
        return done.stdout


def play(root: Path, *, python: str, place: str, packages: str) -> Mapping[str, float]:
    """One program from ``init`` to its cause; minutes by column.

    Raises:
        WrongAnswerError: One answer is not what it must be.
    """
    program, requirements, (seeded, unseeded) = PROGRAMS[packages]
    theirs = Repository(root, backend="docker" if place == DOCKER else "local")
    (root / "train.py").write_text(program)
    (root / "requirements.txt").write_text(requirements)
    theirs.git("init", "--quiet")
    theirs.commit()
    init = ("init", "--yes", "--python", python, "--", "python", "train.py")
    theirs.tool(*init, code=0, says=f"python       {python}", column="init")
    theirs.commit()
    on = ("--backend", theirs.backend)
    theirs.tool("reproduce", "train", *on, code=4, says="NO_GOLDEN")
    theirs.tool("golden", "promote", "train", "--reason", "the first", code=0)
    theirs.commit()
    theirs.tool("verify", "train", *on, code=0, says="REPRODUCED", column="verify")
    theirs.change("0.05 *", "0.04 *")
    theirs.tool("verify", "train", *on, code=1, says="REGRESSION", column="REGRESSION")
    line = theirs.change(seeded, unseeded)
    theirs.tool("verify", "train", *on, code=1, says="NONDETERMINISTIC", column="NONDETERMINISTIC")
    said = theirs.tool("diagnose", "train", *on, "--json", code=1, column="diagnose")
    cause = json.loads(said)["cause"]
    found = (cause["category"], Path(cause["file"]).name, cause["line"])
    if found != ("unseeded_rng", "train.py", line):
        raise WrongAnswerError(f"diagnose names {found}, not line {line} of train.py")
    return theirs.minutes


def measured(python: str, place: str, packages: Sequence[str]) -> str:
    """The row of one Python in one place, with the first packages that go; "" where an answer is wrong."""
    for name in packages:
        with tempfile.TemporaryDirectory(prefix="reprokit-pythons-") as folder:
            try:
                minutes = play(Path(folder), python=python, place=place, packages=name)
            except WrongAnswerError as error:
                sys.stderr.write(f"{python}, {place}, {name}: {error}\n")
                if name != packages[-1] and "wheel" in str(error):
                    continue
                return ""
        spans = (f"{minutes[column]:.1f}" for column in COLUMNS)
        return f"| {' | '.join((python, place, name, *spans, f'{dt.datetime.now(dt.UTC):%Y-%m-%d}'))} |\n"
    return ""


def page(rows: Sequence[str], *, before: str) -> str:
    """The document with these rows, and those of before that were not measured again."""
    table, _, rest = before.partition(_FOOT)
    lines = {_key(line): line for line in table.splitlines(keepends=True) if line.startswith("| 3.")}
    lines |= {_key(line): line for line in rows}
    return _HEAD + "".join(lines[key] for key in sorted(lines, key=_place_in_table)) + _FOOT + rest


def _key(line: str) -> tuple[str, str]:
    _, python, place, *_ = (cell.strip() for cell in line.split("|"))
    return python, place


def _place_in_table(key: tuple[str, str]) -> tuple[bool, int]:
    return key[1] == DOCKER, PYTHONS.index(key[0])


def main() -> int:
    """The rows of what is asked for, and the table; 1 where an answer is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", action="append", default=[], choices=PYTHONS)
    parser.add_argument("--place", action="append", default=[], choices=[LOCAL, DOCKER])
    parser.add_argument("--packages", choices=sorted(PROGRAMS))
    options = parser.parse_args()
    wrong = False
    for place in options.place or (LOCAL, DOCKER):
        for python in options.python or (PYTHONS if place == LOCAL else IN_CONTAINERS):
            if place == LOCAL and interpreters.on_this_host(python) is None:
                sys.stderr.write(f"{python}: this host has none\n")
                continue
            row = measured(python, place, (options.packages,) if options.packages else tuple(PROGRAMS))
            wrong |= not row
            before = DOCUMENT.read_text() if DOCUMENT.is_file() else ""
            DOCUMENT.write_text(page([row] if row else [], before=before))
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
