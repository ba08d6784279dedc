"""Harm of every kind while the tool works: nothing is lost, and nothing passes that is not whole.

    make stress                                  # all of it: half an hour
    make stress ARGS="kill-tool --rounds 50"
    make stress ARGS="full-disk clock"

Each kind is a function; it prints one line of figures, or fails. The engine that is killed is another one
than that of this host: tests/integration/test_execution_kills.py.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from stress.workspace import QUICK, SLOW, Workspace, command, make

_PAGE = 4096
#: Adds the seconds in a file to the wall clock of whatever it is loaded into; the monotonic clock stays.
_CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    long offset = 0;
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int ended = real(clock, now);
    if (ended || clock != CLOCK_REALTIME) return ended;
    FILE *file = fopen(getenv("CLOCK_OFFSET_FILE"), "r");
    if (file && fscanf(file, "%ld", &offset) == 1) now->tv_sec += offset;
    if (file) fclose(file);
    return 0;
}
"""


def kill_tool(here: Workspace, rounds: int) -> str:
    """SIGKILL at a random moment: of the whole command, and every other time of its programs."""
    moments, begun = random.Random(7), time.monotonic()
    here.must_reproduce(SLOW)
    whole_s, killed_with_program = time.monotonic() - begun, 0
    for number in range(rounds):
        before = set(here.runs)
        tool = here.start(*command(SLOW))
        if number % 2:
            here.wait_for_programs(there=True)
            time.sleep(moments.uniform(0, 6))
        else:
            time.sleep(moments.uniform(0, whole_s))
        under_way = bool(here.programs())
        tool.send_signal(signal.SIGSTOP)
        unfinished = [run for run in here.runs if run not in before and not (run / "COMPLETE").exists()]
        tool.kill()
        tool.communicate()
        here.wait_for_programs(there=False)
        here.check()
        here.must_reproduce()
        assert not [run for run in unfinished if (run / "COMPLETE").exists()], "a killed run is complete"
        killed_with_program += under_way
        print(f"  killed {number + 1}: program under way {under_way}", file=sys.stderr, flush=True)
    here.must_reproduce(SLOW)
    return (
        f"{rounds} kills within {whole_s:.1f} s, {killed_with_program} with the program under way; "
        f"{here.check()} complete runs, each byte for byte"
    )


def stop(here: Workspace, rounds: int) -> str:
    """SIGSTOP and SIGCONT of the tool and of its program, two seconds each."""
    for _ in range(rounds):
        tool = here.start(*command(SLOW))
        here.wait_for_programs(there=True)
        for target in (tool, *here.programs()[:1]):
            target.send_signal(signal.SIGSTOP)
            time.sleep(2)
            target.send_signal(signal.SIGCONT)
        out, err = tool.communicate(timeout=300)
        assert (tool.returncode, json.loads(out)["verdict"]) == (0, "REPRODUCED"), err
    here.check()
    return f"{rounds} times tool and program stopped for 2 s and continued: REPRODUCED each time"


def side_by_side(here: Workspace, rounds: int) -> str:
    """Eight tools in one workspace at once."""
    begun, before = time.monotonic(), len(here.runs)
    for _ in range(rounds):
        tools = [here.start(*command(QUICK)) for _ in range(8)]
        for tool in tools:
            out, err = tool.communicate(timeout=900)
            assert (tool.returncode, json.loads(out)["verdict"]) == (0, "REPRODUCED"), out[:2000] + err
    assert len(here.runs) - before == 16 * rounds
    took_s = time.monotonic() - begun
    return f"{rounds} times 8 tools at once: all REPRODUCED, {16 * rounds} runs, {took_s:.0f} s"


def full_disk(here: Workspace, rounds: int) -> str:
    """A disk that fills at each page that a reproduce writes, for runs, for reports and for a golden."""
    told = []
    for folder in ("runs", "reports", "golden"):
        with _small_disk(here.root.parent / folder) as disk:
            told.append(_fill(here, folder, disk, rounds))
            print(f"  {told[-1]}", file=sys.stderr, flush=True)
    here.must_reproduce()
    return "; ".join(told)


def _fill(here: Workspace, folder: str, disk: Path, rounds: int) -> str:
    """Every number of free pages up to what is needed, at most ``rounds`` of them, evenly spread."""
    if folder == "golden":
        verb = (
            "golden",
            "promote",
            "train",
            "--seed",
            str(QUICK),
            "--reason",
            "again",
            "--golden",
            str(disk),
        )
    else:
        verb = (*command(QUICK), f"--{folder}-dir", str(disk))
    free = _pages(disk)
    assert here.ask(*verb).code == 0
    needed = free - _pages(disk)
    kept = {path: path.read_bytes() for path in disk.rglob("*") if path.is_file() and path.suffix == ".json"}
    kept = {path: data for path, data in kept.items() if path.name[0] != "."}
    moments = range(0, max(1, needed - 1), max(1, needed // rounds))
    full = 0
    for pages in moments:
        filler = disk / ".filler"
        with filler.open("wb") as stream:
            stream.write(bytes(_PAGE) * max(0, _pages(disk) - pages))
        answer = here.ask(*verb)
        assert answer.code in {0, 3}, answer.out[:2000] + answer.err
        full += answer.code == 3
        assert answer.code == 0 or "disk" in answer.err + answer.out
        filler.unlink()
        assert all(path.read_bytes() == data for path, data in kept.items()), "something earlier was harmed"
        for run in (path.parent for path in disk.glob("*/*/COMPLETE")):
            assert (run / "metrics.jsonl").read_bytes() == here.good[QUICK]
    assert here.ask(*verb).code == 0
    return f"{folder}: {len(moments)} fillings of {needed} pages, {full} ended as disk_full, none harmed"


def many_runs(here: Workspace, rounds: int) -> str:
    """Ten thousand run folders; the seconds of three verbs, first and again."""
    pattern = here.runs[-1]
    for number in range(rounds):
        name = f"20200101T000000Z-{number:04x}-seed{QUICK}-1"
        shutil.copytree(pattern, here.root / "runs" / "train" / name)
    told = []
    for verb in (("runs", "list", "--json"), ("golden", "lint"), command(QUICK)):
        seconds = []
        for _ in range(3):
            begun = time.monotonic()
            answer = here.ask(*verb)
            seconds.append(time.monotonic() - begun)
            assert answer.code == 0 or verb[1] == "lint", answer.err  # a short reason is a finding
        told.append(f"{' '.join(verb[:2])} {seconds[0]:.1f} s, then {median(seconds[1:]):.1f} s")
    return f"{rounds:,} more run folders: {'; '.join(told)}"


def clock(here: Workspace, rounds: int) -> str:
    """The wall clock jumps by a day, forwards and back, for the tool and its programs while these run."""
    if shutil.which("cc") is None:
        return "SKIPPED: needs cc, for the library that turns the clock"
    told = []
    with tempfile.TemporaryDirectory(prefix="reprokit-clock-") as folder:
        library, offset = Path(folder) / "clock.so", Path(folder) / "offset"
        build = ["cc", "-shared", "-fPIC", "-O2", "-o", str(library), "-x", "c", "-"]
        subprocess.run(build, input=_CLOCK, text=True, check=True)
        for number in range(rounds):
            offset.write_text("0")
            tool = here.start(*command(SLOW), LD_PRELOAD=str(library), CLOCK_OFFSET_FILE=str(offset))
            here.wait_for_programs(there=True)
            offset.write_text("-86400" if number % 2 else "86400")
            out, err = tool.communicate(timeout=300)
            assert out, err
            told.append(json.loads(out)["verdict"])
            assert (tool.returncode, told[-1]) == (0, "REPRODUCED"), out[:2000] + err
            here.check()
            here.must_reproduce()
    return (
        f"{len(told)} jumps of a day, forwards and back: {', '.join(sorted(set(told)))}, the next command too"
    )


def foreign_owner(here: Workspace, _rounds: int) -> str:
    """The repository belongs to someone else, whom git does not trust: judged, or refused in words."""
    if os.getuid() != 0:
        return "SKIPPED: needs root, to give the repository to someone else"
    for path in (here.root, *here.root.rglob("*")):
        os.chown(path, 12345, 12345, follow_symlinks=False)
    try:
        trusted = subprocess.run(
            ["git", "status"], cwd=here.root, capture_output=True, check=False
        ).returncode
        answer = here.reproduce()
        row = next((one for one in answer.json["checks"] if one["id"] == "source_clean"), None)
        (here.root / "train.py").write_text((here.root / "train.py").read_text() + "# changed\n")
        changed = here.reproduce().json
        seen = next(one for one in changed["checks"] if one["id"] == "source_clean")
        assert seen["status"] != "PASSED", "a change in someone else's repository is not seen"
    finally:
        subprocess.run(["chown", "-R", "0:0", str(here.root)], check=True)
        subprocess.run(["git", "checkout", "--quiet", "train.py"], cwd=here.root, check=True)
    refuses = "refuses" if trusted else "trusts"
    source = f"source {row and row['status']}, after a change {seen['status']}"
    return f"git itself {refuses} it; {answer.verdict}, {source}"


@contextlib.contextmanager
def _small_disk(folder: Path) -> Iterator[Path]:
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "reprokit-stress", str(folder)]
    subprocess.run(mount, check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        folder.rmdir()


def _pages(disk: Path) -> int:
    return os.statvfs(disk).f_bavail


KINDS: dict[str, tuple[Callable[[Workspace, int], str], int]] = {
    "kill-tool": (kill_tool, 50),
    "stop": (stop, 3),
    "side-by-side": (side_by_side, 1),
    "full-disk": (full_disk, 20),
    "clock": (clock, 2),
    "foreign-owner": (foreign_owner, 1),
    "many-runs": (many_runs, 10_000),
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}; default: all")
    parser.add_argument("--rounds", type=int, help="how often; run folders of many-runs")
    asked = parser.parse_args()
    if unknown := set(asked.kinds) - set(KINDS):
        parser.error(f"no kind {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory(prefix="reprokit-stress-") as folder:
        here = make(Path(folder).resolve() / "project")
        for name in asked.kinds or KINDS:
            check, rounds = KINDS[name]
            begun = time.monotonic()
            told = check(here, asked.rounds or rounds)
            print(f"{name}: {told} ({time.monotonic() - begun:.0f} s)", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
