"""Clean programs of many frameworks under all native taps: are their numbers the same?

Each runs three times: without the taps, with them counting in every process, and with all that they hold held
(entropy, clocks, threads, the order of locks) and fresh memory filled. The program is *unchanged* where the
first two have the same numbers, and *quiet* where those of the last are, too. Exits 1 where one is not both.

    python benchmarks/taps_quiet.py [--python PYTHON] [--only NAME …]

The programs of frameworks (tests/planted/places) run in the Python that ``--python`` names, which has to have
what they train with; those that use the standard library and PyTorch (tests/integration/healthy) run in this.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from reprokit.errors import ReprokitError
from reprokit.execution.local import LocalBackend
from reprokit.harness.diagnosing.conditions import Conditions
from reprokit.harness.diagnosing.instrumented_runs import InstrumentedProgram, need
from reprokit.harness.diagnosing.taps.library import find_library
from reprokit.harness.diagnosing.taps.preloaded import Taps
from reprokit.harness.diagnosing.taps.seen import gave_up, not_seen
from reprokit.harness.running.plan import plan_command

ROOT = Path(__file__).resolve().parents[1] / "tests"
HEALTHY, PLACES = ROOT / "integration/healthy", ROOT / "planted/places"
HELD = ("entropy", "clock", "threads", "locks")
FILLED = {"MALLOC_PERTURB_": "85", "GLIBC_TUNABLES": "glibc.malloc.perturb=85"}
LIMIT_S = 600.0
NOT_ASKED = {"ask_verify", "ask_diagnose", "torchrun_ranks"}


class Silent:
    """Progress that no one watches."""

    def phase(self, name: str) -> None:
        """Nothing is shown."""

    def alive(self, run_label: str, seen: str, *, expected_s: float | None = None) -> None:
        """Nothing is shown."""

    def ended(self, run_label: str) -> None:
        """Nothing is shown."""

    def note(self, text: str) -> None:
        """Nothing is shown."""


def main(*, python: str, only: Sequence[str]) -> int:
    """Ask every program, print a line of each, and 1 where one is changed or was not asked."""
    programs = [(sys.executable, path) for path in sorted(HEALTHY.glob("*.py"))]
    others = sorted(path for path in PLACES.glob("*.py") if path.stem not in NOT_ASKED)
    programs += [(python, path) for path in others]
    told = {}
    print("| program | counting | all held |\n|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="reprokit-quiet-") as made:
        library = find_library(Path(made) / "cache")
        if library.path is None:
            sys.exit(f"no taps: {library.problem}")
        for interpreter, path in programs:
            if only and path.stem not in only:
                continue
            room = Path(made) / path.stem
            room.mkdir()
            told[path.stem] = asked(interpreter, path, room=room, library=library.path)
            print(f"| `{path.stem}` | {' | '.join(told[path.stem])} |", flush=True)
            shutil.rmtree(room)
    wrong = sorted(name for name, words in told.items() if not all(one.startswith("equal") for one in words))
    print(json.dumps({"benchmark": "taps_quiet", "programs": len(told), "wrong": wrong}))
    return int(bool(wrong))


def asked(interpreter: str, path: Path, *, room: Path, library: Path) -> tuple[str, str]:
    """What became of the numbers with the taps counting, and holding: ``equal``, or what is not."""
    shutil.copyfile(path, room / path.name)
    plan = plan_command(
        (interpreter, path.name, "{run_dir}"),
        seed=0,
        repeats=1,
        stamp="20261120T102030Z-aaaa",
        working_dir=room,
        timeout_s=LIMIT_S,
    )
    off = {"mode": "off"}
    with InstrumentedProgram(
        plan, folder=room / "reports", backend=LocalBackend(), progress=Silent(), budget=3
    ) as lab:
        try:
            first = need(lab.run("first", Conditions(level="calls", calls=off)))
            words = []
            for hold, variables in (((), {}), (HELD, FILLED)):
                taps = Taps(library=library, key="0f" * 16, now=1_700_000_000, hold=hold)
                given = Conditions(level="calls", calls=off, taps=taps, environment=variables)
                ran = lab.run("taps", given)
                unseen = not_seen(ran)
                if ran.trouble:
                    words.append(ran.trouble)
                elif unseen:
                    words.append(f"not seen: {', '.join(map(str, unseen))}")
                else:
                    words.append("equal" if lab.equal(first, ran) else "differs")
                    words[-1] += ", locks not held to its end" if gave_up(ran) else ""
        except ReprokitError as error:
            return str(error)[:100], ""
    return words[0], words[1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--only", nargs="*", default=[])
    given = parser.parse_args()
    sys.exit(main(python=given.python, only=given.only))
