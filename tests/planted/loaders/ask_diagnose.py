"""Asks `reprokit diagnose --resume` of every program in this folder what it lost, and writes down the answers.

    python tests/planted/loaders/ask_diagnose.py --table docs/evidence/resume-matrix.md [--only torch_loop]

Each program is asked three times: as it is, where it loses its place, and where its workers draw from another
generator. An answer is right where it says ``REPEATABLE`` of the first, and of the others names the first update
after the stop and the line marked with ``# LINE`` and the form, in ``parts.py`` also with the program.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "real"))

from real_programs import programs, python_for

PROGRAMS = {
    "torch_loop": "PyTorch's own loop",
    "lightning_fit": "Lightning",
    "hf_trainer": "Hugging Face's Trainer",
    "accelerate_loop": "accelerate",
}
FORMS = {"clean": (), "place": ("--forget", "place"), "draws": ("--forget", "draws")}
STOPPED_AFTER = 13
#: What the cause says of each fault.
SAID = {
    "place": "this loader does not continue where it stopped",
    "draws": "what this loader draws is not restored",
}
BEGIN, END = "<!-- loaders: begin -->", "<!-- loaders: end -->"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was said of one form of a program.

    Attributes:
        command: What was typed, without the folders of this machine.
        wrong: Why it is no right answer; "" where it is one.
    """

    code: int
    told: dict
    words: str
    command: str
    seconds: float
    wrong: str

    @property
    def cause(self) -> dict:
        return self.told.get("cause") or {}


def python_of(program: str) -> Path:
    """The Python that has the program's framework; made on the first call, which takes minutes.

    Raises:
        CannotBeMadeError: From ``real_programs``.
    """
    if program == "torch_loop":
        return Path(sys.executable)
    return python_for(next(one for one in programs() if one.name == "hf_trainer"))


def ask(program: str, form: str, *, reports: Path, limit_s: float = 3600) -> Answer:
    """`reprokit diagnose --resume` on one form of a program."""
    options = ["--resume", "--stop-args", f"--stop-after {STOPPED_AFTER}"]
    options += ["--resume-args", "--resume {stopped_run_dir}"]
    words = [f"{program}.py", "{run_dir}", *FORMS[form]]
    typed = f"reprokit diagnose {' '.join(_quoted(one) for one in options)} -- python {' '.join(words)}"
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "reprokit", "diagnose", "--json", "--reports-dir", str(reports), *options]
        + ["--", str(python_of(program)), *words],
        cwd=HERE,
        env={name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"},
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
    )
    told = json.loads(done.stdout) if done.stdout.startswith("{") else {}
    wrong = why_wrong(program, form, done.returncode, told)
    seconds = time.monotonic() - begun
    return Answer(
        code=done.returncode, told=told, words=done.stderr, command=typed, seconds=seconds, wrong=wrong
    )


def why_wrong(program: str, form: str, code: int, told: dict) -> str:
    """What is wrong about an answer; "" where nothing is."""
    if form == "clean":
        return "" if (code, told.get("verdict")) == (0, "REPEATABLE") else "a false alarm, or no answer"
    cause = told.get("cause") or {}
    what, first = cause.get("what") or "", f": update {STOPPED_AFTER + 1} trained on "
    if code != 1 or SAID[form] not in what:
        return "the fault is not named"
    if first not in what:
        return "another update is named"
    place = Path(cause.get("file") or "").name, cause.get("line")
    return "" if place in lines_of(program, form) else "another line is named"


def lines_of(program: str, form: str) -> set[tuple[str, int]]:
    """File and number of each line that is a right answer."""
    return {
        (file, number)
        for file, mark in ((f"{program}.py", form), ("parts.py", f"{program}:{form}"))
        for number, line in enumerate((HERE / file).read_text().splitlines(), 1)
        if mark in line.partition("# LINE ")[2].split()
    }


def _quoted(word: str) -> str:
    return f"'{word}'" if " " in word else word


def _row(program: str, form: str, answer: Answer) -> str:
    what = answer.cause.get("what") or "nothing: " + str(answer.told.get("verdict"))
    place = f"{Path(answer.cause.get('file') or '').name}:{answer.cause.get('line')}"
    line = f"`{place}`" if answer.cause else ""
    shown = what.partition(": ")[2] if form != "clean" and ": " in what else what
    right = answer.wrong or "yes"
    return f"| {PROGRAMS[program]} | {form} | {shown} | {line} | {right} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--table", type=Path)
    parser.add_argument("--only", choices=PROGRAMS)
    given = parser.parse_args()
    rows, wrong = [], 0
    for program in [given.only] if given.only else PROGRAMS:
        for form in FORMS:
            with tempfile.TemporaryDirectory(prefix="loaders-") as reports:
                answer = ask(program, form, reports=Path(reports))
            wrong += bool(answer.wrong)
            rows.append(_row(program, form, answer))
            print(rows[-1], f"{answer.seconds:.0f} s", flush=True)
    if given.table:
        head, _, rest = given.table.read_text(encoding="utf-8").partition(BEGIN)
        tail = rest.partition(END)[2]
        table = "| framework | form | named | line | right |\n|---|---|---|---|---|\n" + "\n".join(rows)
        given.table.write_text(f"{head}{BEGIN}\n\n{table}\n\n{END}{tail}", encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
