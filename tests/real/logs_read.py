"""What `init` reads of programs that nobody here wrote, without a word about their logs.

    python tests/real/logs_read.py [--only FOLDER]

Each program gets a repository of its own; `reprokit init --yes` runs it and says which logs it found and
whether their numbers repeat. Writes docs/evidence/logs-results.md; a row stays until it is measured again.
Exits 1 where `init` finds no log.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from own_recipes import RECIPE, Repository, WrongAnswerError, files_of
from real_programs import PROJECT, CannotBeMadeError, Program, programs

DOCUMENT = PROJECT / "docs" / "evidence" / "logs-results.md"
_HEAD = """\
# Logs read without a word

What `reprokit init --yes -- COMMAND` found in programs that nobody here wrote, unmodified, with nothing said
about their logs. Which formats are read, and what each loses: [where metrics come from](metric-sources.md).
Each program and where it is from: `tests/real/README.md`. Written by `python tests/real/logs_read.py`.

| program | what it is | logs | two runs |
|---|---|---|---|
"""


def read_by_init(program: Program, folder: Path) -> Mapping[str, str]:
    """What `init` says of a program: its lines ``metrics`` and ``repeats``.

    Raises:
        WrongAnswerError: It found no log, or did not end well.
        CannotBeMadeError: The files of the program cannot be made here.
    """
    recipe = program.recipe
    if recipe is None:
        raise WrongAnswerError(f"{program.name} says no command for a recipe")
    made = Repository(root=files_of(program, folder), environment={}, told=[])
    made.git("init", "--quiet")
    made.commit("a program")
    said = made.tool("init", "--yes", "--name", RECIPE, "--", *recipe.command, code=0, says="metrics ")
    # a line begins with its name; what belongs to it stands below, under its first word
    found = re.findall(r"^(\w+) {2,}(.+(?:\n {8,}.+)*)", said, re.MULTILINE)
    return {name: re.sub(r"\s+", " ", text) for name, text in found}


def row(program: Program, said: Mapping[str, str]) -> str:
    """A line of the table."""
    cells = (program.name, program.title, said["metrics"], said.get("repeats", "–"))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def page(rows: Mapping[str, str], *, before: str) -> str:
    """The document; rows of programs that were not measured now stay as they are."""
    kept = {
        line.split("|")[1].strip(): line for line in before.splitlines(keepends=True) if line.startswith("| ")
    }
    kept.pop("program", None)
    return _HEAD + "".join(line for _, line in sorted({**kept, **rows}.items()))


def main() -> int:
    """Measure and write the document; 1 where nothing was read."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", default=[], metavar="FOLDER", help="may be given again")
    options = parser.parse_args()
    wrong = 0
    for program in programs():
        if program.recipe is None or (options.only and program.name not in options.only):
            continue
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            try:
                line = row(program, read_by_init(program, Path(folder)))
            except (WrongAnswerError, CannotBeMadeError) as error:
                sys.stderr.write(f"{error}\n")
                wrong = 1
                continue
        before = DOCUMENT.read_text() if DOCUMENT.is_file() else ""
        DOCUMENT.write_text(page({program.name: line}, before=before))
    return wrong


if __name__ == "__main__":
    sys.exit(main())
