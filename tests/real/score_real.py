"""Holds reprokit against the programs of this folder and writes their table into the documentation.

    python tests/real/score_real.py --results /tmp/real.json --only nanogpt --part reproduce

Each answer is added to the file of results; the table is drawn from all that it holds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from real_programs import (
    PROJECT,
    Answer,
    CannotBeMadeError,
    Program,
    ask,
    known_options,
    laid_out,
    line_is_right,
    named_options,
    programs,
)

DOCUMENT = PROJECT / "docs" / "evidence" / "diagnose-results.md"
HEADING = "## Programs that no one here wrote"
PARTS = ("reproduce", "clean", "faulty")
COLUMNS = ("program", "`reproduce`", "seconds", "`diagnose`, clean", "runs", "seconds")
COLUMNS += ("what is planted", "`diagnose`, faulty", "runs", "seconds")


def measured(program: Program, part: str) -> dict:
    """One part of one program's row."""
    with tempfile.TemporaryDirectory(prefix="work-") as made:
        try:
            copy = laid_out(program, Path(made), faulty=part == "faulty")
        except CannotBeMadeError as problem:
            return {"answer": str(problem), "runs": 0, "seconds": 0.0}
        options = known_options(program)
        if part == "reproduce":
            return _reproduced(ask("reproduce", copy), copy, options)
        answer = ask("diagnose", copy, *options)
        cause = answer.told.get("cause") or {}
        said = _said(answer, cause, right=part == "faulty" and line_is_right(copy, answer))
        return {"answer": said, "runs": answer.told.get("runs") or 0, "seconds": round(answer.seconds, 1)}


def _reproduced(answer: Answer, copy, options: list[str]) -> dict:
    said = answer.told.get("verdict") or f"exit {answer.code}: {answer.last_word}"
    if said not in ("REPEATABLE", "") and options:
        named = named_options(answer) == options
        again = ask("reproduce", copy, *options)
        how = "which it names itself" if named else "which it does not name"
        said = f"{said}; {again.told.get('verdict')} without {', '.join(options[1::2])}, {how}"
    elif said != "REPEATABLE":
        rows = answer.told.get("checks", [])
        said += "".join(
            f"; {row['id']}: {row['reason']}" for row in rows if row["status"] in ("ERROR", "FAILED")
        )
    return {"answer": said, "runs": 2, "seconds": round(answer.seconds, 1)}


def _said(answer: Answer, cause: dict, *, right: bool) -> str:
    if answer.code == 0:
        return "nothing differs"
    if answer.code != 1:
        return f"exit {answer.code}: {answer.last_word[:160]}"
    place = f"{Path(cause.get('file') or '').name}:{cause.get('line')}" if cause.get("line") else "no line"
    return f"{'✓ ' if right else ''}{cause.get('category') or 'unknown'}, {place}"


def section(results: dict[str, dict]) -> str:
    """The section of the documentation."""
    many = [_median(results, part) for part in PARTS[1:]]
    lines = [
        HEADING,
        "",
        "Written by `python tests/real/score_real.py`; what each program is and where it is from is said in",
        "`tests/real/README.md`. ✓ is the line of the planted fault. Two cores, which others used too.",
        "A row keeps its figures until its program is measured again.",
        *filter(None, many),
        "",
        f"| {' | '.join(COLUMNS)} |",
        "|---" * len(COLUMNS) + "|",
    ]
    for program in programs():
        row = results.get(program.name, {})
        told, clean, faulty = (row.get(part, {}) for part in PARTS)
        cells = [program.name, told.get("answer"), told.get("seconds")]
        cells += [clean.get("answer"), clean.get("runs"), clean.get("seconds")]
        cells += [program.faulty.what, faulty.get("answer"), faulty.get("runs"), faulty.get("seconds")]
        lines.append(f"| {' | '.join(str(cell if cell is not None else 'not run') for cell in cells)} |")
    return "\n".join(lines) + "\n"


def _median(results: dict[str, dict], part: str) -> str:
    """How many runs the diagnoses of one part took; "" where none was made."""
    runs = [row[part]["runs"] for row in results.values() if row.get(part, {}).get("runs")]
    if not runs:
        return ""
    middle = statistics.median(runs)
    return f"Median of the {len(runs)} diagnoses of {part} forms: {middle:g} runs; most: {max(runs)}."


def write(results: dict[str, dict]) -> None:
    """Put the section in the place of an earlier one."""
    before, _, rest = DOCUMENT.read_text().partition(HEADING)
    _, heading, after = rest.partition("\n## ")
    DOCUMENT.write_text(f"{before.rstrip()}\n\n{section(results)}{heading}{after}")


def main() -> None:
    """Measure what is asked for, then draw the table of everything that the file of results holds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", metavar="FOLDER", help="may be given again")
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--results", type=Path, required=True, help="a file of answers to add to")
    options = parser.parse_args()
    results = json.loads(options.results.read_text()) if options.results.exists() else {}
    for program in programs():
        for part in options.part or PARTS:
            if options.only and program.name not in options.only:
                continue
            results.setdefault(program.name, {})[part] = one = measured(program, part)
            sys.stderr.write(f"{program.name} {part}: {one}\n")
            options.results.write_text(json.dumps(results, indent=1))
    write(results)


if __name__ == "__main__":
    main()
