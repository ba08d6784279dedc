"""Programs that keep entropy where a later run finds it: equal metrics of such runs prove nothing."""

from __future__ import annotations

import json
import os
import platform
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from reprokit.errors import GoldenError
from support.command_line import reprokit
from support.command_recipe import RECIPE, Repository

PROGRAM = """\
import json, os, sys
from pathlib import Path
kept = Path(sys.argv[2])
kept.parent.mkdir(parents=True, exist_ok=True)
kept.exists() or kept.write_bytes(os.urandom(8))
value = kept.read_bytes()[0]
with open(f"{sys.argv[1]}/log.jsonl", "w") as log:
    for step in range(4):
        log.write(json.dumps({"step": step, "loss": value / (step + 1)}) + "\\n")
"""
INSTALLS = """\
import importlib, json, os, sys
from pathlib import Path
kept = Path(sys.argv[2])
kept.parent.mkdir(parents=True, exist_ok=True)
kept.exists() or kept.write_text(f"VALUE = {os.urandom(1)[0]}")
sys.path.insert(0, str(kept.parent))
importlib.invalidate_caches()
import installed
with open(f"{sys.argv[1]}/log.jsonl", "w") as log:
    for step in range(4):
        log.write(json.dumps({"step": step, "loss": installed.VALUE / (step + 1)}) + "\\n")
"""
SYSTEM_V = """\
import ctypes
system = ctypes.CDLL(None)
system.shmget.restype = ctypes.c_int
assert system.shmget(int(sys.argv[3]), 64, 0o1600) >= 0
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "train.py").write_text(PROGRAM)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.chdir(tmp_path / "work")
    return folder


def answer(capsys: pytest.CaptureFixture[str], kept: Path) -> tuple[int, dict, str]:
    command = [sys.executable, "train.py", "{run_dir}", str(kept)]
    code = reprokit("reproduce", "--json", "--", *command)
    report = json.loads(capsys.readouterr().out)
    (row,) = [check for check in report["checks"] if check["id"] == "repeatable"]
    return code, report, row["reason"]


@pytest.mark.sample(2)
@pytest.mark.parametrize("place", ["home", "..", "/tmp", "/var/tmp", "/opt", "/srv", "/dev/shm"])
def test_a_file_of_the_first_run_that_the_second_read_leaves_repeatability_open(home, capsys, place):
    folder = home if place == "home" else Path(place).resolve()
    if not os.access(folder, os.W_OK):
        pytest.skip(f"{folder} is not this user's to write to")
    kept = folder / f"reprokit-test-{secrets.token_hex(4)}"
    try:
        code, report, reason = answer(capsys, kept)
    finally:
        kept.unlink(missing_ok=True)
    assert (code, report["verdict"]) == (4, "UNJUDGED")
    assert kept.name in reason


def test_so_does_one_in_any_other_folder_where_the_kernel_says_what_is_opened(home, capsys):
    kept = home.parent / "data" / "sets" / "split.json"
    code, report, reason = answer(capsys, kept)
    assert (code, report["verdict"]) == (4, "UNJUDGED")
    assert str(kept) in reason
    code, report, reason = answer(capsys, kept)  # it was there before both runs
    assert (code, report["verdict"], "split.json" in reason) == (0, "REPEATABLE", False)


def test_a_file_that_each_run_makes_anew_is_no_channel_between_them(home, capsys):
    program = PROGRAM.replace("kept.exists() or ", "").replace("os.urandom(8)", "b'1'")
    (home.parent / "work" / "train.py").write_text(
        program.replace("kept.write_bytes(", "open(kept, 'w+b').write(")
    )
    code, report, reason = answer(capsys, home.parent / "data" / "sets" / "scratch")
    assert (code, report["verdict"]) == (0, "REPEATABLE"), reason


@pytest.mark.parametrize("reads", [True, False], ids=["and reads it", "alone"])
def test_a_log_that_each_run_appends_to_is_a_channel_where_a_later_run_reads_it(home, capsys, reads):
    program = PROGRAM.replace(
        "kept.exists() or kept.write_bytes(os.urandom(8))", "kept.open('ab').write(b'1')"
    )
    program = (
        program.replace("b'1'", "os.urandom(8)") if reads else program.replace("kept.read_bytes()[0]", "1")
    )
    (home.parent / "work" / "train.py").write_text(program)
    code, report, reason = answer(capsys, home.parent / "data" / "sets" / "log")
    assert (code, report["verdict"]) == ((4, "UNJUDGED") if reads else (0, "REPEATABLE"))
    assert ("sets/log" in reason) is reads


@pytest.mark.parametrize("place", [".cache/lib/fonts.json", ".config/lib/settings.yaml"])
def test_a_file_that_a_library_keeps_is_named(home, capsys, place):
    code, report, reason = answer(capsys, home / place)
    assert (code, report["verdict"]) == (0, "REPEATABLE")
    assert place in reason


@pytest.mark.parametrize("is_compiled", [True, False], ids=["its byte-code", "its source"])
def test_a_module_that_the_first_run_installed_is_named(home, capsys, monkeypatch, is_compiled):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "" if is_compiled else "1")
    (home.parent / "work" / "train.py").write_text(INSTALLS)
    place = ".local/share/lib/installed.py"
    code, report, reason = answer(capsys, home / place)
    assert (code, report["verdict"]) == (0, "REPEATABLE")
    assert place in reason


def test_nothing_is_said_of_a_file_that_was_there_before_or_lies_in_the_run_folder(home, capsys):
    (home / "kept").write_bytes(b"12345678")
    for kept in (home / "kept", "{run_dir}/kept"):
        (home.parent / "work" / "train.py").write_text(PROGRAM.replace("os.urandom(8)", "b'1'"))
        code, report, reason = answer(capsys, kept)
        assert (code, report["verdict"]) == (0, "REPEATABLE")
        assert "read what was written" not in reason


def test_files_that_another_process_has_open_are_its_own(home, capsys):
    kept = home / "of-another"
    program = PROGRAM + "open(sys.argv[2], 'rb').read()\n"
    (home.parent / "work" / "train.py").write_text(program)
    with kept.open("wb", buffering=0) as log:
        log.write(b"12345678")
        assert answer(capsys, kept)[1]["verdict"] == "REPEATABLE"


def test_shared_memory_of_system_v_that_was_left_is_told(home):
    """In a namespace of its own: runs of other tests that are made meanwhile would be told of it too."""
    key = 0x52000000 + secrets.randbelow(1 << 24)
    program = PROGRAM.replace("kept.exists() or kept.write_bytes(os.urandom(8))", SYSTEM_V)
    program = program.replace("int(sys.argv[3])", str(key)).replace("kept.read_bytes()[0]", "1")
    (home.parent / "work" / "train.py").write_text(program)
    apart = ["unshare", "--ipc", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    typed = ["-m", "reprokit", "reproduce", "--json", "--", sys.executable, "train.py", "{run_dir}", "none"]
    ran = subprocess.run([*apart, sys.executable, *typed], capture_output=True, text=True, check=False)
    report = json.loads(ran.stdout)
    (row,) = [check for check in report["checks"] if check["id"] == "repeatable"]
    assert (ran.returncode, report["verdict"]) == (4, "UNJUDGED"), ran.stderr
    assert "shared memory of System V" in row["reason"]


@pytest.mark.sample(1)
@pytest.mark.parametrize("place", ["cache/split.json", "train.py.state", ".hidden"])
def test_a_recipe_whose_second_run_reads_what_the_first_wrote_to_the_project_is_not_judged(tmp_path, place):
    """By its absolute path: the program runs in a copy, and `variant: none` may write anywhere."""
    repository = Repository(tmp_path / "project")
    repository.root.mkdir()
    repository.git("init", "--quiet")
    (repository.root / ".gitignore").write_text("runs/\nreports/\n")
    command = f'command: ["{sys.executable}", train.py, "{{run_dir}}", "{repository.root / place}"]'
    recipe = RECIPE.replace('command: [python, train.py, "{seed}", "{run_dir}"]', command)
    repository.write(train_py=PROGRAM, recipes__train__recipe_yaml=recipe)
    report = repository.reproduce()
    (row,) = [check for check in report.checks if check.id == "repeatable"]
    assert (str(row.status), place in row.reason) == ("ERROR", True)
    (row,) = [check for check in repository.reproduce().checks if check.id == "repeatable"]
    assert str(row.status) == "PASSED"  # it was there before both runs


WRITES_GOLDENS = """\
import json, sys
from pathlib import Path
Path(sys.argv[1], "log.jsonl").write_text(json.dumps({"step": 0, "loss": 0.25}) + "\\n")
for golden in Path(sys.argv[2]).glob("*/*/*/metrics.jsonl"):
    golden.write_text(golden.read_text().replace("0.5", "0.25"))
"""


@pytest.mark.sample(1)
def test_a_golden_that_was_written_while_runs_were_under_way_compares_nothing(tmp_path):
    """Only where `variant: none` lets a program write anywhere: it made itself equal to its golden."""
    repository = Repository(tmp_path / "project")
    repository.root.mkdir()
    repository.git("init", "--quiet")
    (repository.root / ".gitignore").write_text("runs/\nreports/\n")
    command = f'command: ["{sys.executable}", train.py, "{{run_dir}}", "{repository.root / "golden"}"]'
    recipe = RECIPE.replace('command: [python, train.py, "{seed}", "{run_dir}"]', command)
    golden = repository.root / "golden" / "another" / "cpu-x86_64" / "seed-3" / "metrics.jsonl"
    golden.parent.mkdir(parents=True)
    golden.write_text(json.dumps({"step": 0, "loss": 0.5}))
    repository.write(train_py=WRITES_GOLDENS, recipes__train__recipe_yaml=recipe)
    with pytest.raises(GoldenError, match="while runs were under way"):
        repository.reproduce()


UNSEEN = """\
import ctypes
ctypes.CDLL(None, use_errno=True).syscall(425, 1, ctypes.create_string_buffer(120))  # io_uring_setup(2)
"""


def test_of_a_program_that_can_open_files_unseen_times_of_reading_decide(home, capsys):
    if platform.machine() not in {"x86_64", "aarch64"}:
        pytest.skip("files that are opened are told of on x86-64 and aarch64 only")
    Path("train.py").write_text(UNSEEN + PROGRAM)
    code, report, reason = answer(capsys, home / "split.json")
    assert (code, report["verdict"]) == (4, "UNJUDGED")
    assert "split.json" in reason
    record = json.loads((Path(report["runs"][0]) / "run.json").read_text())
    assert "io_uring_setup" in record["other_tree"]["unknown"]


COMPUTES = """\
import json, sys, time
time.sleep(1.5)
with open(f"{sys.argv[1]}/log.jsonl", "w") as log:
    log.write(json.dumps({"step": 0, "loss": 0.5}) + "\\n" + json.dumps({"step": 1, "loss": 0.25}) + "\\n")
"""
#: A compiler, say: writes a file while the first run is under way, reads and removes it during the second.
ANOTHER = """\
import sys, time
from pathlib import Path
runs, kept = Path("runs"), Path(sys.argv[1])
def wait_for(number):
    while len(list(runs.glob("*/*/stdout.log"))) < number:
        time.sleep(0.02)
wait_for(1)
kept.write_text("a file of its own")
wait_for(2)
time.sleep(0.5)
kept.read_text()
if len(sys.argv) > 2:
    kept.unlink()
"""


@pytest.mark.parametrize("removes", [["remove"], []], ids=["and removed", "and left"])
def test_what_another_program_wrote_and_read_meanwhile_is_no_channel_between_the_runs(home, capsys, removes):
    Path("train.py").write_text(COMPUTES)
    kept = home / "ccLkIZgQ.s"
    with subprocess.Popen([sys.executable, "-c", ANOTHER, str(kept), *removes]) as another:
        code, report, reason = answer(capsys, kept)
        another.wait(30)
    assert kept.exists() is not bool(removes)
    assert (code, report["verdict"]) == (0, "REPEATABLE"), reason
