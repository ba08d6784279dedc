"""Scores ``reprokit diagnose`` on every form of every program, and writes the table of the documentation.

Knows the command line and the JSON of ``reprokit diagnose``, nothing of how it works::

    python tests/planted/score.py --only set_iteration --json
    python tests/planted/score.py --results /tmp/results.json     # adds to what was scored before
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from manifest import CLEAN, PLANTED, Clean, Planted  # noqa: E402

PROJECT = Path(__file__).resolve().parents[2]
DOCUMENT = PROJECT / "docs" / "evidence" / "diagnose-results.md"
NEAR = 2
DIFFERS, EQUAL = 1, 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of one form.

    Attributes:
        form: ``planted``, ``swapped`` or ``clean``.
        found: the tool says that something differs; for a clean program, a false alarm.
        category: the category that it names, "" where it names none.
        line: the line of the program that it names, or None.
        trouble: why there is no answer, "" when there is one.
    """

    program: str
    form: str
    found: bool
    category: str
    category_right: bool
    line: int | None
    line_right: bool
    variation: str
    runs: int
    seconds: float
    trouble: str = ""


def why_not(program: Planted | Clean) -> str:
    """Why a program cannot be scored here, "" when it can."""
    if program.needs != "nothing" and importlib.util.find_spec(program.needs) is None:
        return f"needs {program.needs}, which is not installed"
    if isinstance(program, Planted) and program.category == "file_order" and not program.varies:
        return (
            "" if _lists_by_name() else "folders here list their files in the order in which they were made"
        )
    return ""


def _lists_by_name() -> bool:
    """Whether the order of a listing follows the names, as on ext4, and not the order of creation."""
    seen = set()
    for suffix in ("one", "two", "three"):
        with tempfile.TemporaryDirectory() as folder:
            for n in range(16):
                (Path(folder) / f"{n:02d}-{suffix}").touch()
            seen.add(tuple(name[:2] for name in os.listdir(folder)))
    return len(seen) > 1


@contextmanager
def laid_out(program: Planted | Clean, *, swapped: bool = False) -> Iterator[tuple[Path, dict[str, str]]]:
    """The program in a folder of its own whose name says nothing, and surroundings that nobody else uses."""
    with tempfile.TemporaryDirectory(prefix="work-") as made:
        folder = Path(made) / "study"
        shutil.copytree(program.folder, folder)
        (folder / "program.py").write_text(program.source(swapped=swapped))
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONHASHSEED"}
        for variable, name in (("HOME", "home"), ("TMPDIR", "temporary")):
            environment[variable] = str(Path(made) / name)
            (Path(made) / name).mkdir()
        yield folder, environment


def score(program: Planted | Clean, *, swapped: bool = False, timeout_s: float = 600) -> Outcome:
    """Diagnose one form of one program."""
    begun = time.monotonic()
    resumes = isinstance(program, Planted) and program.shows_by(swapped=swapped) == "resume"
    with laid_out(program, swapped=swapped) as (folder, environment):
        command = [sys.executable, "-m", "reprokit", "diagnose", "--json", "--seed", "7"]
        command += [
            "--runs-dir",
            str(folder.parent / "runs"),
            "--reports-dir",
            str(folder.parent / "reports"),
        ]
        if resumes:
            command += [
                "--resume",
                "--stop-args",
                "--stop-after 8",
                "--resume-args",
                "--resume {stopped_run_dir}",
            ]
        command += ["--", sys.executable, "program.py", "--seed", "{seed}", "--logdir", "{run_dir}"]
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return _without(program, swapped, f"no answer in {timeout_s:.0f} s", time.monotonic() - begun)
    seconds = time.monotonic() - begun
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        last = (done.stderr.strip().splitlines() or ["nothing was said"])[-1]
        return _without(program, swapped, f"exit {done.returncode}: {last[:200]}", seconds)
    return _outcome(program, answer, done.returncode, swapped=swapped, seconds=seconds)


def _outcome(program: Planted | Clean, answer: dict, code: int, *, swapped: bool, seconds: float) -> Outcome:
    cause = answer.get("cause") or {}
    category, line = cause.get("category") or "", cause.get("line")
    if line is not None and Path(cause.get("file") or "").name != "program.py":
        line = None
    planted = isinstance(program, Planted)
    right = program.right_lines(swapped=swapped) if planted else []
    return Outcome(
        program=program.name,
        form=_form(program, swapped),
        found=code == DIFFERS,
        category=category,
        category_right=planted and category in program.right_categories(swapped=swapped),
        line=line,
        line_right=line is not None and any(abs(line - one) <= NEAR for one in right),
        variation=answer.get("variation") or "",
        runs=answer.get("runs") or 0,
        seconds=round(seconds, 1),
        trouble="" if code in (DIFFERS, EQUAL) else f"exit {code}",
    )


def _without(program: Planted | Clean, swapped: bool, trouble: str, seconds: float) -> Outcome:
    return Outcome(
        program=program.name,
        form=_form(program, swapped),
        found=False,
        category="",
        category_right=False,
        line=None,
        line_right=False,
        variation="",
        runs=0,
        seconds=round(seconds, 1),
        trouble=trouble,
    )


def _form(program: Planted | Clean, swapped: bool) -> str:
    return "clean" if isinstance(program, Clean) else "swapped" if swapped else "planted"


def sums(outcomes: Iterable[Outcome]) -> dict[str, str]:
    """The figures that the suite is about, each as ``right/of``."""
    outcomes = list(outcomes)
    faulty = [one for one in outcomes if one.form != "clean"]
    named = [one for one in faulty if one.line is not None]
    clean = [one for one in outcomes if one.form == "clean"]
    return {
        "faults found": _share(one.found for one in faulty),
        "cause category right": _share(one.category_right for one in faulty),
        "line right, of all": _share(one.line_right for one in faulty),
        "line right, of those whose cause has one": _share(one.line_right for one in named),
        "named a wrong cause": _share(bool(one.category) and not one.category_right for one in faulty),
        "false alarms on clean programs": _share(one.found for one in clean),
        "clean programs without an answer": _share(bool(one.trouble) for one in clean),
    }


def _share(truths: Iterable[bool]) -> str:
    truths = list(truths)
    return f"{sum(truths)}/{len(truths)}"


def document(outcomes: Iterable[Outcome]) -> str:
    """The page for the documentation."""
    by = {(one.program, one.form): one for one in outcomes}
    lines = [
        "# What `reprokit diagnose` finds",
        "",
        f"Written by `python tests/planted/score.py` on {machine()}; {len(by)} of "
        f"{2 * len(PLANTED) + len(CLEAN)} forms are scored.",
        "",
        f"{len(PLANTED)} small training programs with one planted fault each, and {len(CLEAN)} that only look",
        "suspicious. A faulty program also holds a decoy: a suspicious call whose value reaches no number. Each is",
        "diagnosed as it is, and with the two swapped, so that the right answer is the decoy's line and category.",
        f"A line is right within {NEAR} lines. `unknown` is a cause not named; a dash, that nothing was found.",
        "",
        "| figure | |",
        "|---|---|",
        *(f"| {name} | {share} |" for name, share in sums(by.values()).items()),
        "",
        "| program | what is planted | right answer | as it is | right answer, swapped | swapped |",
        "|---|---|---|---|---|---|",
    ]
    for one in PLANTED:
        cells = [one.name, one.what, _right(one, False), _cell(by.get((one.name, "planted")))]
        lines.append(
            "| " + " | ".join([*cells, _right(one, True), _cell(by.get((one.name, "swapped")))]) + " |"
        )
    lines += ["", "| clean program | what looks suspicious | answer |", "|---|---|---|"]
    for one in CLEAN:
        got = by.get((one.name, "clean"))
        said = (
            "not scored" if got is None else got.trouble or (_cell(got) if got.found else "nothing differs")
        )
        lines.append(f"| {one.name} | {one.what} | {said} |")
    return "\n".join(lines) + "\n"


def _right(program: Planted, swapped: bool) -> str:
    return f"{program.decoy if swapped else program.category}, {program.lines('DECOY' if swapped else 'FAULT')[0]}"


def _cell(outcome: Outcome | None) -> str:
    if outcome is None:
        return "not scored"
    if outcome.trouble:
        return f"✗ {outcome.trouble}".replace("|", "/")
    if not outcome.found:
        return "✗ –"
    category = ("✓ " if outcome.category_right else "✗ ") + (outcome.category or "unknown")
    line = "" if outcome.line is None else f", {'✓' if outcome.line_right else '✗'} {outcome.line}"
    return category + line + (f" (varies {outcome.variation})" if outcome.variation else "")


def machine() -> str:
    """The kind of machine, without its name."""
    models = [line.split(":")[1].strip() for line in _cpu_lines() if line.startswith("model name")]
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores ({models[0] if models else 'unknown'}), "
        f"Python {platform.python_version()}"
    )


def _cpu_lines() -> list[str]:
    try:
        return Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return []


def main() -> None:
    """Score, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="may be given again")
    parser.add_argument("--json", action="store_true", help="print the outcomes as JSON and write no page")
    parser.add_argument("--results", type=Path, help="a file of outcomes to go on from and to add to")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one diagnosis")
    options = parser.parse_args()
    outcomes = _earlier(options.results)
    for program in [*PLANTED, *CLEAN]:
        for swapped in (False, True) if isinstance(program, Planted) else (False,):
            key = (program.name, _form(program, swapped))
            if (options.only and program.name not in options.only) or key in outcomes:
                continue
            if reason := why_not(program):
                print(f"{program.name}: not scored, {reason}", file=sys.stderr)
                continue
            found = outcomes[key] = score(program, swapped=swapped, timeout_s=options.timeout)
            print(
                f"{key[0]} {key[1]}: {_cell(found)} [{found.runs} runs, {found.seconds} s]",
                file=sys.stderr,
                flush=True,
            )
            if options.results:
                options.results.write_text(json.dumps([asdict(one) for one in outcomes.values()], indent=1))
    if options.json:
        print(
            json.dumps(
                {"sums": sums(outcomes.values()), "outcomes": [asdict(o) for o in outcomes.values()]},
                indent=1,
            )
        )
        return
    for name, share in sums(outcomes.values()).items():
        print(f"{name}: {share}")
    if not options.only:
        _, heading, others = DOCUMENT.read_text().partition("\n## Programs that no one here wrote")
        DOCUMENT.write_text(document(outcomes.values()) + heading + others)


def _earlier(path: Path | None) -> dict[tuple[str, str], Outcome]:
    if path is None or not path.exists():
        return {}
    return {(one["program"], one["form"]): Outcome(**one) for one in json.loads(path.read_text())}


if __name__ == "__main__":
    main()
