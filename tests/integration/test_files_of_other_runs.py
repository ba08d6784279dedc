"""Programs that take the numbers of an earlier run instead of computing them, and those that only seem to."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reprokit.errors import GoldenError
from reprokit.execution import other_runs
from support.command_line import reprokit
from support.command_recipe import RECIPE, Repository

#: prctl(2): PR_CAPBSET_DROP, and the right that it is called with (capabilities(7): CAP_SYS_ADMIN).
_NEVER_AGAIN, _TO_ADMINISTER = 24, 21
RANDOM = """\
import json, os, sys
from pathlib import Path
own = Path(sys.argv[1])
runs = next(path for path in own.resolve().parents if path.name == "runs")

def log(value):
    lines = [json.dumps({"step": step, "loss": value / (step + 1)}) + "\\n" for step in range(4)]
    (own / "log.jsonl").write_text("".join(lines))

def earlier():
    mine = own.resolve().parent
    found = [path for path in runs.rglob("log.jsonl") if mine not in path.parents]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)

"""
COPIES = """\
found = earlier()
if found is None:
    log(os.urandom(1)[0])
else:
    %s
"""
WAYS = {
    "read": "(own / 'log.jsonl').write_bytes(found.read_bytes())",
    "shutil": "import shutil; shutil.copyfile(found, own / 'log.jsonl')",
    "another program": "import subprocess; subprocess.run(['cp', found, own / 'log.jsonl'], check=True)",
    "a hard link, moved in": "os.link(found, own / 'log.jsonl')",
    "in two forks": """
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execvp("cp", ["cp", str(found), str(own / "log.jsonl")])
        os._exit(0)
    os.wait()
    import time
    for _ in range(2000):
        if (own / "log.jsonl").is_file() and (own / "log.jsonl").stat().st_size == found.stat().st_size:
            break
        time.sleep(0.01)""",
    "a relative path": """
    os.chdir(runs)
    (own / "log.jsonl").write_bytes(Path(os.path.relpath(found)).read_bytes())""",
    "from a folder": """
    folder = os.open(found.parent, os.O_RDONLY)
    text = os.read(os.open(found.name, os.O_RDONLY, dir_fd=folder), 9999)
    (own / "log.jsonl").write_bytes(text)""",
    "a link": """
    (own / "link").symlink_to(found)
    (own / "log.jsonl").write_bytes((own / "link").read_bytes())
    (own / "link").unlink()""",
    "a linked folder": """
    (own / "link").symlink_to(found.parent)
    (own / "log.jsonl").write_bytes((own / "link" / "log.jsonl").read_bytes())
    (own / "link").unlink()""",
    "a hard link": """
    os.link(found, own / "other")
    (own / "log.jsonl").write_bytes((own / "other").read_bytes())
    (own / "other").unlink()""",
    "mapped": """
    import mmap
    with open(found, "rb") as file:
        (own / "log.jsonl").write_bytes(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)[:])""",
    "its descriptor": """
    path = os.open(found, os.O_PATH)
    (own / "log.jsonl").write_bytes(open(f"/proc/self/fd/{path}", "rb").read())""",
    "a thread": """
    import threading
    work = lambda: (own / "log.jsonl").write_bytes(found.read_bytes())
    thread = threading.Thread(target=work); thread.start(); thread.join()""",
    "after a filter of its own": """
    import ctypes, struct
    allow = struct.pack("@HBBI", 0x06, 0, 0, 0x7FFF0000)
    held = ctypes.create_string_buffer(allow)
    system = ctypes.CDLL(None)
    system.prctl(38, 1, 0, 0, 0)
    assert system.prctl(22, 2, struct.pack("@HxxxxxxP", 1, ctypes.addressof(held)), 0, 0) == 0
    (own / "log.jsonl").write_bytes(found.read_bytes())""",
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def judged(program: str, capsys: pytest.CaptureFixture[str], *words: str, seed: int = 0) -> tuple[int, dict]:
    Path("train.py").write_text(RANDOM + program)
    command = [sys.executable, "train.py", "{run_dir}", *words]
    code = reprokit("reproduce", "--json", "--seed", str(seed), "--", *command)
    return code, json.loads(capsys.readouterr().out)


def reason_of(report: dict) -> str:
    (row,) = [check for check in report["checks"] if check["id"] == "repeatable"]
    return str(row["reason"])


def opened_by(folder: Path) -> dict:
    return json.loads((folder / "run.json").read_text())["other_tree"]


@pytest.mark.sample(4)
@pytest.mark.parametrize("way", WAYS)
def test_a_program_that_copies_the_newest_run_is_not_judged(here, capsys, way):
    code, report = judged(COPIES % WAYS[way], capsys)
    first, second = sorted((here / "runs" / "plain-train").iterdir())
    assert (first / "log.jsonl").read_bytes() == (second / "log.jsonl").read_bytes()
    assert (code, report["verdict"]) == (4, "UNJUDGED")
    assert str(first / "log.jsonl") in reason_of(report)
    assert second.name in reason_of(report)
    assert opened_by(first) == {"files": []}
    assert opened_by(second) == {"files": [str(first / "log.jsonl")]}


def test_where_it_is_not_watched_it_would_pass(here, capsys, monkeypatch):
    monkeypatch.setattr("reprokit.execution.other_files.watched_for", lambda *_, **__: None)
    code, report = judged(COPIES % WAYS["read"], capsys)
    assert (code, report["verdict"]) == (0, "REPEATABLE")


def test_one_that_computes_next_to_earlier_runs_is(here, capsys):
    for _ in range(2):
        code, report = judged("log(7)", capsys)
        assert (code, report["verdict"]) == (0, "REPEATABLE")
    assert [opened_by(path) for path in (here / "runs" / "plain-train").iterdir()] == [{"files": []}] * 4


LISTS = """
found = [(path.stat().st_size, os.access(path, os.R_OK)) for path in runs.rglob("*")]
os.open(runs, os.O_RDONLY | os.O_DIRECTORY)
log(7)
"""
OWN = """
log(7)
(own / "model.pt").write_bytes(b"1" * 99)
os.link(own / "model.pt", own / "best.pt")
for name in ("log.jsonl", "model.pt", "best.pt"):
    (own / name).read_bytes()
"""
SAME_NAME = """
kept = Path("runs/detect/train/weights")
kept.mkdir(parents=True, exist_ok=True)
(kept / "best.pt").write_bytes(b"1")
(kept / "best.pt").read_bytes()
log(7)
"""


@pytest.mark.parametrize("program", [LISTS, OWN, SAME_NAME], ids=["lists", "its own", "not of reprokit"])
def test_what_is_no_file_of_another_run_is_no_finding(here, capsys, program):
    for _ in range(2):
        code, report = judged(program, capsys)
        assert (code, report["verdict"]) == (0, "REPEATABLE"), reason_of(report)


READER = """
import sys, time
from pathlib import Path
while True:
    for path in Path(sys.argv[1]).rglob("log.jsonl"):
        path.read_bytes()
    time.sleep(0.01)
"""


def test_who_reads_earlier_runs_beside_the_program_is_not_taken_for_it(here, capsys):
    judged("log(7)", capsys)
    with subprocess.Popen([sys.executable, "-c", READER, here / "runs"]) as reader:
        try:
            assert judged("log(7)", capsys)[1]["verdict"] == "REPEATABLE"
        finally:
            reader.kill()


def test_a_file_that_the_command_names_is_declared(here, capsys):
    judged("log(7)", capsys)
    first = min((here / "runs" / "plain-train").iterdir())
    names = "Path(sys.argv[2].partition('=')[2]).read_text(); log(7)"
    for word in (f"--from={first / 'log.jsonl'}", f"--from={os.path.relpath(first / 'log.jsonl')}"):
        assert judged(names, capsys, word)[1]["verdict"] == "REPEATABLE"
    (here / "newest").symlink_to(first / "log.jsonl")
    assert judged(names, capsys, "--from=newest")[1]["verdict"] == "UNJUDGED"


def test_runs_whose_files_are_too_many_to_be_known_are_told_by_their_paths(here, capsys, monkeypatch):
    source = Path(other_runs.__file__).read_text()
    assert "_MOST_FILES = 50_000" in source
    monkeypatch.setattr(
        "reprokit.execution.local_program._GUARD", guard_with(here, source.replace("50_000", "1"))
    )
    _, report = judged(COPIES % WAYS["a link"], capsys)
    assert report["verdict"] == "UNJUDGED"


def guard_with(folder: Path, source: str) -> Path:
    """The guard with another module next to it."""
    own = Path(other_runs.__file__).parent
    there = folder / "guard"
    there.mkdir()
    for name in ("local_guard", "opened_code", "kernel_notices"):
        (there / f"{name}.py").write_bytes((own / f"{name}.py").read_bytes())
    (there / "other_runs.py").write_text(source)
    return there / "local_guard.py"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "project")
    repository.root.mkdir()
    repository.git("init", "--quiet")
    (repository.root / ".gitignore").write_text("runs/\nreports/\n")
    return repository


def test_an_unpinned_recipe_that_copies_what_equals_its_golden_is_not_judged_and_not_promoted(repository):
    recipe = RECIPE.replace('"{seed}", "{run_dir}"', '"{run_dir}"')
    recipe += "unresponsive: {because: it draws no number}\n"
    repository.write(train_py=RANDOM + "log(7)\n", recipes__train__recipe_yaml=recipe)
    repository.promote(repository.reproduce())
    assert repository.reproduce().verdict == "REPRODUCED"
    repository.write(train_py=RANDOM + COPIES % WAYS["read"])
    report = repository.reproduce()
    assert (report.verdict, report.exit_code) == ("UNJUDGED", 4)
    with pytest.raises(GoldenError, match="files of another run"):
        repository.promote(report)


def test_an_unpinned_recipe_that_copies_its_golden_is_not_judged(repository):
    recipe = RECIPE.replace('"{seed}", "{run_dir}"', '"{run_dir}"')
    recipe += "unresponsive: {because: it draws no number}\n"
    repository.write(train_py=RANDOM + "log(7)\n", recipes__train__recipe_yaml=recipe)
    repository.promote(repository.reproduce())
    copies = "golden = next(runs.parent.glob('golden/**/metrics.jsonl'))\n"
    repository.write(train_py=RANDOM + copies + "(own / 'log.jsonl').write_bytes(golden.read_bytes())\n")
    report = repository.reproduce()
    assert (report.verdict, report.exit_code) == ("UNJUDGED", 4)
    (row,) = [row for row in report.checks if row.id == "repeatable"]
    assert "or of a golden" in row.reason
    assert "golden/train/" in row.reason


def test_git_may_look_at_goldens_as_it_does_in_a_new_clone(repository):
    """Libraries that record the commit ask `git status`, which reads what may have changed."""
    recipe = RECIPE.replace('"{seed}", "{run_dir}"', '"{run_dir}"')
    recipe += "unresponsive: {because: it draws no number}\n"
    asks = "import subprocess; subprocess.run(['git', 'status', '--short'], cwd=runs.parent, check=True)\n"
    repository.write(train_py=RANDOM + asks + "log(7)\n", recipes__train__recipe_yaml=recipe)
    repository.promote(repository.reproduce())
    clone = Repository(repository.root.parent / "clone")
    subprocess.run(["git", "clone", "-q", repository.root, clone.root], check=True)
    for golden in clone.root.glob("golden/**/metrics.jsonl"):
        golden.touch()
    report = clone.reproduce()
    assert (report.verdict, report.exit_code) == ("REPRODUCED", 0), report.sentence


def test_a_resumed_run_that_copies_the_whole_one_is_not_judged(repository):
    resume = """resume: {stop_args: [--stop], resume_args: [--from, "{stopped_run_dir}/log.jsonl"]}\n"""
    resumes = """
lines = [json.dumps({"step": step, "loss": 1 / (step + 1)}) + "\\n" for step in range(4)]
if "--from" in sys.argv:
    whole = min(path for path in runs.rglob("log.jsonl") if mine not in path.parents)
    lines = whole.read_text().splitlines(True)[2:]
(own / "log.jsonl").write_text("".join(lines[:2] if "--stop" in sys.argv else lines))
"""
    recipe = RECIPE.replace('"{seed}", "{run_dir}"', '"{run_dir}"') + resume
    program = RANDOM + "mine = own.resolve().parent" + resumes
    repository.write(train_py=program, recipes__train__recipe_yaml=recipe)
    report = repository.reproduce()
    (row,) = [check for check in report.checks if check.id == "resume_equal"]
    assert str(row.status) == "ERROR"
    assert "files of another run" in row.reason


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a program that becomes another user")
def test_a_program_that_needs_the_rights_of_what_it_starts_runs_and_is_not_watched(here, tmp_path):
    """It is started again: watched by who is no administrator, none that it starts becomes another user."""
    who, nobody = tmp_path / "who", 65534
    shutil.copy(shutil.which("id") or "", who)
    os.chown(who, nobody, nobody)
    who.chmod(0o4755)
    if int(subprocess.check_output([who, "-u"])) != nobody:
        pytest.skip("this folder is mounted so that no program becomes another user")
    lines = "\n".join(json.dumps({"step": step, "loss": 1 / (step + 1)}) for step in range(4))
    body = f"echo x >> starts; test $({who} -u) = {nobody} && echo '{lines}' > {{run_dir}}/log.jsonl"
    done = subprocess.run(
        [sys.executable, "-m", "reprokit", "reproduce", "--json", "--", "sh", "-c", body],
        capture_output=True,
        check=False,
        text=True,
        preexec_fn=lambda: ctypes.CDLL(None).prctl(_NEVER_AGAIN, _TO_ADMINISTER, 0, 0, 0),
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"] == "REPEATABLE"
    for folder in (here / "runs").glob("plain-*/*"):
        assert f"{who} got no privileges" in opened_by(folder)["unknown"]
    assert (here / "starts").read_text().split() == ["x"] * 4
