"""Is a rebuilt report what it says? Proven by runs of its program alone, without any tool of this project.

    python benchmarks/reports/check.py NAME [NAME…] [--environments FOLDER] [--python PYTHON]

It ends with 0 when the pinned libraries are there, `program.py` differs under its condition about as often as
`case.yaml` says, `repair.patch` makes it repeat, and `twin.py` repeats. Environments are kept in FOLDER, by
their pins. PYTHON runs the case in place of its environment, and must have the same versions.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent))

from cases_read import (
    HERE,
    Case,
    CaseError,
    all_cases,
    python_of,
    read_case,
    repaired,
    run_once,
    versions_in,
)

CACHE = Path.home() / ".cache" / "reports-environments"
LIMIT_S = 600.0


class Runs:
    """Runs pairs of a program under its case's condition, each run in a folder of its own."""

    def __init__(self, case: Case, *, cache: Path, python: Path | None) -> None:
        self.case = case
        self.cache = cache
        self.python = python

    def interpreter(self, side: dict[str, Any]) -> Path:
        """The Python of one side: of its own environment, where it names one."""
        return self.python or python_of(side.get("environment", self.case.environment), cache=self.cache)

    def versions(self) -> None:
        """Every library of the case is there, in its pinned version."""
        sides: tuple[dict[str, Any], ...] = self.case.sides or ({},)
        for side in sides:
            wanted = {**self.case.libraries, **side.get("libraries", {})}
            found = versions_in(self.interpreter(side), list(wanted))
            wrong = {name: found[name] for name, version in wanted.items() if found[name] != str(version)}
            if wrong:
                raise CaseError(f"{self.case.name}: {wrong} installed, {wanted} pinned")

    def pairs(self, program: Path) -> Iterator[tuple[list[Any], list[Any]]]:
        """What each two runs wrote that should be equal, as many as the case says; a run serves two pairs."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            sides = self.case.sides or ({}, {})
            before = self._run(program, folder / "first", side=sides[0])
            for number in range(self.case.pairs):
                if self.case.condition == "resume":
                    after = self._resumed(program, folder / str(number))
                    yield before[len(before) - len(after) :], after
                    continue
                after = self._run(program, folder / str(number), side=sides[(number + 1) % 2])
                yield before, after
                before = after

    def _resumed(self, program: Path, folder: Path) -> list[Any]:
        """The records of a run that was stopped and resumed, of its last part."""
        folder.mkdir()
        out, records = folder, []
        for number, part in enumerate(self.case.parts):
            extra = [argument.replace("{stopped}", str(out)) for argument in part]
            out = folder / f"part{number}"
            records = self._run(program, out, extra=extra)
        return records

    def _run(
        self, program: Path, out: Path, *, side: dict[str, Any] | None = None, extra: list[str] | None = None
    ) -> list[Any]:
        side = side or {}
        return run_once(
            program,
            python=self.interpreter(side),
            out=out,
            extra=extra or [],
            environment={key: str(value) for key, value in side.get("variables", {}).items()},
            limit_s=LIMIT_S,
        )


def check(case: Case, runs: Runs) -> str:
    """One line of what was proven."""
    _listed(case)
    program = case.folder / "program.py"
    text = program.read_text().splitlines()
    if any(not 1 <= line <= len(text) or not text[line - 1].strip() for line in case.lines):
        raise CaseError(f"{case.name}: a guilty line is not in program.py")
    runs.versions()
    with repaired(case) as mended:
        differ = _differing(case, runs, program, mended)
        if differ == 0 or 2 * differ < case.differ:
            raise CaseError(
                f"{case.name}: {differ} of {case.pairs} pairs differ, case.yaml says {case.differ}"
            )
        same_text = mended.read_text() == (case.folder / "twin.py").read_text()
        if not same_text:
            _repeats(case, runs, mended, called="the repaired program")
    _repeats(case, runs, case.folder / "twin.py", called="twin.py")
    return f"{case.name}: {differ} of {case.pairs} pairs differ; repaired and twin repeat"


def _listed(case: Case) -> None:
    """Its address is one of those that the rule chose, with that kind."""
    chosen = yaml.safe_load((HERE / "addresses.yaml").read_text())
    for entry in chosen["sixty"] + chosen["reserve"]:
        if entry["address"] == case.address:
            if entry["kind"] != case.kind:
                raise CaseError(f"{case.name}: kind {case.kind}, addresses.yaml says {entry['kind']}")
            return
    raise CaseError(f"{case.name}: {case.address} is not in addresses.yaml")


def _differing(case: Case, runs: Runs, program: Path, mended: Path) -> int:
    """How many pairs differ; runs of a silent error are equal, and none is that of the repaired program."""
    right = next(runs.pairs(mended))[0] if case.condition == "silent" else []
    found = 0
    for first, second in runs.pairs(program):
        if not first or not second:
            raise CaseError(f"{case.name}: a run wrote no record")
        if case.condition == "silent" and first != second:
            raise CaseError(f"{case.name}: two runs of a silent error differ")
        found += (right if case.condition == "silent" else first) != second
    return found


def _repeats(case: Case, runs: Runs, program: Path, *, called: str) -> None:
    for first, second in runs.pairs(program):
        if not first or first != second:
            raise CaseError(f"{case.name}: {called} does not repeat: {_first_difference(first, second)}")


def _first_difference(first: list[Any], second: list[Any]) -> str:
    for number, (one, other) in enumerate(zip(first, second, strict=False)):
        if one != other:
            return f"record {number}: {one} and {other}"
    return f"{len(first)} and {len(second)} records"


def main() -> int:
    """Check the named cases, or all; 1 where one is not what it says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--environments", type=Path, default=CACHE)
    parser.add_argument("--python", type=Path)
    asked = parser.parse_args()
    failed = 0
    for name in asked.names or all_cases():
        try:
            case = read_case(name)
            print(check(case, Runs(case, cache=asked.environments, python=asked.python)), flush=True)
        except CaseError as error:
            failed = 1
            print(error, file=sys.stderr, flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
