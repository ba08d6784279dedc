"""Programs that nobody here wrote become recipes: init, reproduce, promote, verify, and a fault of each kind.

    python tests/real/own_recipes.py --results /tmp/own.json [--only FOLDER] [--backend docker] [--fresh]

Each program gets a repository of its own, with nothing of this one in it. Every answer is held against what
it must be; the script ends with 1 where one is another. With ``--fresh`` nothing but downloaded files is
found in the cache, as for somebody who has just installed the tool. The table of all results is written into
docs/evidence/own-programs-results.md.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import json
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from real_programs import PROJECT, CannotBeMadeError, Program, laid_out, programs

DOCUMENT = PROJECT / "docs" / "evidence" / "own-programs-results.md"
#: Played in a virtual environment and in a container.
BOTH = ("cleanrl_ppo", "sb3_subproc", "nanogpt", "jax_flax", "sklearn_mlp", "xgboost")
RECIPE = "training"
#: What is typed until there is a gate, besides the verbs: install, change the folder, add and commit twice.
OTHER_LINES = 4
_IDENTITY = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
_HEAD = """\
# Programs that nobody here wrote, as recipes

What was measured when each program, unmodified and in a repository of its own, went from `init` to a gate
and was then given three faults. *Verdict* is the time from `init` to the first verdict on two runs, making
its environment included, downloads aside; *CPU* is what of that the processors worked, which other programs
do not change, containers left out. *Gate* goes on to a `verify` that says REPRODUCED. Then one hyperparameter
is changed (REGRESSION, with its file and line), its commit is looked for (`bisect`), and a call that seeds is
removed (NONDETERMINISTIC: *no seed*). *Lines* is what a person types until the gate, with the line that
installs the tool and two commits.

Written by `python tests/real/own_recipes.py`, from answers that were as they must be. What each program is
and where it is from: `tests/real/README.md`. Minutes; a row keeps its figures until it is measured again.

| program | environment | lines | init | verdict | CPU | gate | REGRESSION | bisect | no seed | measured |
|---|---|---|---|---|---|---|---|---|---|---|
"""


class WrongAnswerError(Exception):
    """The tool answered something else than it must."""


@dataclass(slots=True, kw_only=True)
class Repository:
    """Somebody's repository with one program in it, and what the tool said there."""

    root: Path
    environment: Mapping[str, str]
    told: list[dict[str, object]]

    def tool(self, *words: str, code: int, says: str = "") -> str:
        """Run the tool; its exit code must be ``code`` and its answer must hold ``says``."""
        began, used = time.monotonic(), _processor_seconds()
        ended = subprocess.run(
            [sys.executable, "-m", "reprokit", *words],
            cwd=self.root,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "NO_COLOR": "1", **self.environment},
        )
        said = ended.stdout + ended.stderr
        typed = " ".join(words)
        took, used = time.monotonic() - began, _processor_seconds() - used
        row = {"typed": typed, "seconds": round(took, 1), "cpu": round(used, 1), "code": ended.returncode}
        self.told.append(row)
        sys.stderr.write(f"{self.root.name}: {self.told[-1]['seconds']} s: {typed[:60]}\n")
        if ended.returncode != code or says not in said:
            wanted = f"{ended.returncode}, not {code} with {says!r}"
            raise WrongAnswerError(f"{self.root.name}: {typed}: {wanted}\n{said[-3000:]}")
        return said

    def git(self, *words: str) -> str:
        """What git says."""
        done = subprocess.run(
            ["git", *_IDENTITY, *words], cwd=self.root, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self, message: str) -> str:
        """Commit everything; the commit's name."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", message)
        return self.git("rev-parse", "HEAD")

    def replace(self, change: Mapping[str, str]) -> str:
        """Replace a text that is there; ``file:line`` of the place."""
        path = self.root / change["file"]
        text = path.read_text()
        if change["replace"] not in text:
            raise WrongAnswerError(f"{self.root.name}: {change['file']} does not hold {change['replace']!r}")
        path.write_text(text.replace(change["replace"], change["by"], 1))
        line = text[: text.index(change["replace"])].count("\n") + 1
        return f"{change['file']}:{line}"


def _processor_seconds() -> float:
    """What the commands so far took of the processors, with the programs they started; containers apart."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def play(
    program: Program, folder: Path, *, backend: str, environment: Mapping[str, str] | None = None
) -> list[dict[str, object]]:
    """One program from init to its faults; every command with its seconds.

    Args:
        environment: Variables for the tool beside those of this process.

    Raises:
        WrongAnswerError: One answer is not what it must be.
        CannotBeMadeError: The files of the program cannot be made here.
    """
    recipe = program.recipe
    if recipe is None:
        raise WrongAnswerError(f"{program.name} says no command for a recipe")
    root = files_of(program, folder)
    made = Repository(root=root, environment=environment or {}, told=[])
    made.git("init", "--quiet")
    made.commit("a program")
    made.tool("init", "--yes", "--name", RECIPE, "--", *recipe.command, code=0)
    made.commit("add a recipe")
    on = ("--backend", backend)
    made.tool("reproduce", RECIPE, *on, code=4, says="NO_GOLDEN")
    made.tool("golden", "promote", RECIPE, "--reason", "first golden", code=0)
    good = made.commit("add a golden")
    made.tool("verify", *on, code=0, says="REPRODUCED")
    place = made.replace(recipe.setting)
    made.commit("another setting")
    (root / "NOTES").write_text("nothing that counts\n")
    made.commit("a later commit")
    made.tool("reproduce", RECIPE, *on, code=1, says="REGRESSION")
    _must_name(made, place)
    made.tool("bisect", RECIPE, "--good", good, "--bad", "HEAD", *on, code=0, says="another setting")
    made.git("checkout", "--quiet", good, "--", ".")
    fault = program.faulty
    made.replace(recipe.fault or {"file": fault.file, "replace": fault.replace, "by": fault.by})
    made.commit("no seed")
    made.tool("reproduce", RECIPE, *on, code=1, says="NONDETERMINISTIC")
    return made.told


def _must_name(made: Repository, place: str) -> None:
    """The last verdict has to say where the setting stands."""
    reports = sorted(
        (made.root / "reports" / RECIPE).glob("*/report.md"), key=lambda one: one.stat().st_mtime
    )
    if not any(place in one.read_text() for one in reports[-1:]):
        raise WrongAnswerError(f"{made.root.name}: the report does not name {place}\n{reports[-1:]}")


def files_of(program: Program, folder: Path) -> Path:
    """Lay the program out in a folder; which one."""
    if program.package or program.prepare or program.also_from:
        return laid_out(program, folder).folder
    root = folder / program.name
    shutil.copytree(program.folder, root, ignore=shutil.ignore_patterns("program.yaml", "__pycache__"))
    return root


@contextlib.contextmanager
def fresh_cache() -> Iterator[Mapping[str, str]]:
    """A cache of what was downloaded before and the base of images only, for as long as the block takes."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "reprokit"
    with tempfile.TemporaryDirectory(prefix="cache-", dir=cache, ignore_cleanup_errors=True) as name:
        for downloaded in ("wheels", "debs"):
            (cache / downloaded).mkdir(exist_ok=True)
            (Path(name) / downloaded).symlink_to(cache / downloaded)
        if (cache / "builds").is_dir():
            shutil.copytree(cache / "builds", Path(name) / "builds")
        try:
            yield {"REPROKIT_CACHE": name}
        finally:
            for record in (Path(name) / "builds").glob("*.json"):
                if not (cache / "builds" / record.name).exists():
                    image = f"sha256:{record.stem}"
                    subprocess.run(
                        ["docker", "image", "rm", "--force", image], check=False, capture_output=True
                    )


def measured(program: Program, *, backend: str, fresh: bool) -> dict[str, object]:
    """The row of one program in one kind of environment; with ``wrong`` where an answer is."""
    row: dict[str, object] = {"program": program.name, "backend": backend, "fresh": fresh, **_machine()}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, contextlib.ExitStack() as stack:
        environment = stack.enter_context(fresh_cache()) if fresh else {}
        try:
            row["told"] = play(program, Path(folder), backend=backend, environment=environment)
        except (WrongAnswerError, CannotBeMadeError) as error:
            sys.stderr.write(f"{error}\n")
            row["wrong"] = str(error)[:500]
    return row


def _machine() -> dict[str, object]:
    """On what it was measured."""
    model = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return {
        "machine": model[1] if model else platform.machine(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "day": f"{dt.datetime.now(dt.UTC):%Y-%m-%d}",
    }


def page(rows: Sequence[Mapping], *, before: str = "") -> str:
    """The document with the table of all rows whose answers were right.

    Args:
        rows: What was measured.
        before: The document so far; its rows stay where nothing newer was measured.
    """
    right = [row for row in rows if "told" in row]
    lines = {_key(line): line for line in before.splitlines(keepends=True) if _is_row(line)}
    lines |= {_key(line): line for line in map(_line, right)}
    machines = sorted({f"{row['machine']}, {row['cores']} cores" for row in right})
    loads = [row["load"] for row in right]
    loads += [float(one) for pair in re.findall(r"load ([\d.]+) to ([\d.]+) at", before) for one in pair]
    load = f"load {min(loads)} to {max(loads)} at the start"
    table = "".join(lines[key] for key in sorted(lines, key=_place_in_table))
    return _HEAD + table + f"\nOn {'; '.join(machines)}, which others used too: {load}.\n"


def _is_row(line: str) -> bool:
    return line.startswith("| ") and not line.startswith("| program ")


def _key(line: str) -> tuple[str, str]:
    """Program and kind of environment of a row."""
    _, program, kind, *_ = (cell.strip() for cell in line.split("|"))
    return program, kind.partition(",")[0]


def _place_in_table(key: tuple[str, str]) -> tuple[bool, str, bool]:
    program, kind = key
    return program not in BOTH, program, kind == "container"


def _line(row: Mapping) -> str:
    verbs = [one["typed"].split()[0] for one in row["told"]]
    seconds = [one["seconds"] for one in row["told"]]
    first, gate = verbs.index("reproduce") + 1, verbs.index("verify") + 1
    regression, bisect = seconds[gate], seconds[verbs.index("bisect")]
    used = sum(one.get("cpu", 0) for one in row["told"][:first])
    spans = (seconds[0], sum(seconds[:first]), used, sum(seconds[:gate]), regression, bisect, seconds[-1])
    kind = "container" if row["backend"] == "docker" else "virtual environment"
    if not row["fresh"]:
        kind += ", made before"
    cells = [
        row["program"],
        kind,
        gate + OTHER_LINES,
        *(f"{one / 60:.1f}" if one else "" for one in spans),
        row["day"],
    ]
    return f"| {' | '.join(map(str, cells))} |\n"


def main() -> int:
    """The results of what is asked for, added to the file, and the table; 1 where an answer is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--only", action="append", default=[], metavar="FOLDER", help="may be given again")
    parser.add_argument("--backend", default="local", choices=["local", "docker"])
    parser.add_argument("--fresh", action="store_true", help="make each environment anew")
    options = parser.parse_args()
    rows = json.loads(options.results.read_text()) if options.results.is_file() else []
    wrong = 0
    for program in programs():
        if program.recipe is None or program.name not in (options.only or BOTH):
            continue
        row = measured(program, backend=options.backend, fresh=options.fresh)
        wrong |= "wrong" in row
        rows = [one for one in rows if (one["program"], one["backend"]) != (program.name, options.backend)]
        rows.append(row)
        options.results.write_text(json.dumps(rows, indent=1) + "\n")
    if any("told" in row for row in rows):
        DOCUMENT.write_text(page(rows, before=DOCUMENT.read_text()))
    return wrong


if __name__ == "__main__":
    sys.exit(main())
