"""What the first run leaves for the second in the folders that both begin in is named."""

from __future__ import annotations

import importlib.util
import json
import os
import py_compile
import sys
from pathlib import Path

import pytest

from reprokit.errors import MetricsError
from reprokit.harness import Request, audit, reproduce_command
from reprokit.harness.diagnosing.diagnose import diagnose_command
from reprokit.harness.running.programs import tree_changes
from reprokit.project import Project
from reprokit.session import Session
from support.command_recipe import PROGRAM
from support.recorded_progress import RecordedProgress

SPLIT = """\
import json, pathlib, random
split = pathlib.Path(__file__).with_name("split.json")
if not split.exists():
    split.write_text(json.dumps(random.random()))
"""
COMMAND = (sys.executable, "train.py", "{seed}", "{run_dir}")


@pytest.fixture
def here(repository, monkeypatch):
    monkeypatch.chdir(repository.root)
    repository.write(__gitignore="ignored\nruns\nreports\n__pycache__\n")
    return repository


def judged(here, *command: str, **asked):
    request = Request(seed=3, **asked)
    project = Project.around(Path.cwd())
    return reproduce_command(
        command or COMMAND, request, session=Session(project=project, progress=RecordedProgress())
    )


def row_of(report):
    return next((row for row in report.checks if row.id == "tree/left_between_runs"), None)


def test_a_split_that_the_first_run_drew_for_both_is_named(here):
    here.write(train_py=SPLIT + PROGRAM)
    report, folder = judged(here)
    assert report.verdict == "REPEATABLE"
    assert "1 file of the tree appeared or changed, so that they did not begin alike" in report.sentence
    assert row_of(report).evidence["files"] == {"split.json": "appeared"}
    assert audit(folder / "report.json", project=Project.around(here.root)).findings == ()


def test_a_log_that_is_written_into_the_tree_leads_to_a_recipe_that_takes_it_from_there(here):
    here.write(train_py='open("metrics.jsonl", "w").write(\'{"step": 1, "loss": 2}\\n\')\n')
    report, _ = judged(here, sys.executable, "train.py")
    assert report.verdict == "UNJUDGED"
    assert report.next_command == f"reprokit init -- {sys.executable} train.py"
    rows = {row.id: row for row in report.checks}
    assert (
        rows["repeatable"].remedy == "let a recipe take what the program writes in the tree (metrics.jsonl)"
    )
    assert "COMPLETE" not in report.sentence
    assert "Hint" not in report.sentence


def test_diagnose_hints_at_the_same_recipe(here):
    here.write(train_py='open("metrics.jsonl", "w").write(\'{"step": 1, "loss": 2}\\n\')\n')
    session = Session(project=Project.around(Path.cwd()), progress=RecordedProgress())
    with pytest.raises(MetricsError) as error:
        diagnose_command((sys.executable, "train.py"), Request(seed=3), session=session)
    assert error.value.fix == f"reprokit init -- {sys.executable} train.py"


def test_runs_that_leave_nothing_for_each_other_are_told_of_nothing(here):
    report, _ = judged(here, repeats=3)
    assert "tree" not in report.sentence
    assert row_of(report) is None
    assert json.loads((Path(report.runs[1]) / "run.json").read_text())["left_by_earlier_runs"] == {}


@pytest.mark.sample(1)
@pytest.mark.parametrize("place", ["runs/exp/split.json", "runs/.split.json", "reports/x/deep/split.json"])
def test_a_split_in_the_folders_that_runs_and_reports_are_kept_in_is_named(here, place):
    inside = SPLIT.replace('__file__).with_name("split.json")', f"'{place}')")
    write = inside.replace("if not", "split.parent.mkdir(parents=True, exist_ok=True)\nif not")
    here.write(train_py=write + PROGRAM)
    report, _ = judged(here, repeats=3)
    assert row_of(report).evidence["files"] == {place: "appeared"}
    report, _ = judged(here)
    assert row_of(report) is None


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "place",
    [
        "runs/exp/20260101T000000Z-aaaa/split.json",
        "runs/sweeps/split.json",
        "runs/.index.json",
        "reports/exp/20260101T000000Z-aaaa/split.json",
        ".git/index.lock",
    ],
)
def test_a_split_that_is_called_like_what_the_tool_or_git_keeps_is_no_evidence(here, place):
    inside = SPLIT.replace('__file__).with_name("split.json")', f"'{place}')")
    write = inside.replace("if not", "split.parent.mkdir(parents=True, exist_ok=True)\nif not")
    here.write(train_py=f"{write}random.seed(split.read_text())\n{PROGRAM}")
    report, _ = judged(here)
    assert report.verdict.name == "UNJUDGED"
    row = next(row for row in report.checks if row.id == "repeatable")
    assert row.reason.endswith(place)


@pytest.mark.parametrize(
    ("line", "files"),
    [
        ("pathlib.Path('ignored/deep').mkdir(parents=True, exist_ok=True)", {"ignored/deep": "appeared"}),
        ("pathlib.Path('ignored').write_text('1')", {"ignored": "appeared"}),
        ("pathlib.Path('settings.py').write_text('RATE = 0.1\\n')", {"settings.py": "written"}),
        ("pathlib.Path('once').unlink(missing_ok=True)", {"once": "removed"}),
        (
            "s = os.stat('once').st_mtime_ns; open('once', 'w').write('2'); os.utime('once', ns=(s, s))",
            {"once": "written"},
        ),
        ("os.path.islink('link') or os.symlink('nowhere', 'link')", {"link": "appeared"}),
    ],
    ids=["folder", "ignored", "tracked", "removed", "same size and time", "link"],
)
def test_every_kind_of_change_is_named(here, line, files):
    here.write(once="1", train_py=f"import os, pathlib\n{line}\n{PROGRAM}")
    assert row_of(judged(here)[0]).evidence["files"] == files


def test_a_program_elsewhere_that_writes_beside_itself(here, tmp_path):
    other = tmp_path / "elsewhere" / "train.py"
    other.parent.mkdir()
    other.write_text(SPLIT + PROGRAM.replace("from settings import RATE", "RATE = 0.1"))
    report, _ = judged(here, sys.executable, str(other), "{seed}", "{run_dir}")
    assert row_of(report).evidence["files"] == {str(other.with_name("split.json")): "appeared"}


def test_a_folder_outside_git(here, tmp_path, monkeypatch):
    place = tmp_path / "outside"
    place.mkdir()
    (place / "train.py").write_text(SPLIT + PROGRAM.replace("from settings import RATE", "RATE = 0.1"))
    monkeypatch.chdir(place)
    assert "split.json" in judged(here)[0].sentence


@pytest.mark.parametrize("link", ["cache", "cache/split.json"])
def test_what_lies_behind_a_link_to_another_place_is_named(here, tmp_path, link):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (scratch / "split.json").write_text("0.5")
    place = Path(link)
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(scratch if link == "cache" else scratch / "split.json")
    (scratch / "again").symlink_to(scratch)
    here.write(train_py="open('cache/split.json', 'a').write('1')\n" + PROGRAM)
    files = row_of(judged(here)[0]).evidence["files"]
    assert files == {str(scratch / "split.json") if link == "cache" else link: "written"}


def test_a_large_folder_behind_a_link_is_not_looked_at(here, tmp_path, monkeypatch):
    monkeypatch.setattr(tree_changes, "_MOST_LINKED", 1)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    for name in ("a", "b"):
        (scratch / name).write_text("1")
    Path("data").symlink_to(scratch)
    here.write(train_py="open('data/a', 'a').write('1')\n" + PROGRAM)
    assert row_of(judged(here)[0]) is None


def test_runs_that_differ_for_it_are_told_too(here):
    line = "import pathlib; count = pathlib.Path('count'); extra = count.exists(); count.touch()\n"
    here.write(train_py=line + PROGRAM.replace("value = 1.0", "value = 1.0 + extra"))
    report, _ = judged(here)
    assert report.verdict == "NONDETERMINISTIC"
    assert report.sentence.endswith("did not begin alike: count.")


def test_what_a_later_run_reads_in_a_cache_of_the_home_is_in_the_sentence(here, monkeypatch, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    split = (
        "import pathlib\nkept = pathlib.Path.home() / '.cache' / 'split'\nkept.parent.mkdir(exist_ok=True)\n"
        "if not kept.exists():\n    kept.write_text('0.25')\nkept.read_text()\n"
    )
    here.write(train_py=split + PROGRAM)
    report, _ = judged(here)
    assert report.verdict == "REPEATABLE"
    kept = home / ".cache" / "split"
    assert f"A later run read what was written in caches while an earlier one ran: {kept}." in report.sentence


def test_what_a_run_leaves_among_the_objects_of_git_is_named(here):
    here.write(train_py="import pathlib; pathlib.Path('.git/objects/info/split').write_text('1')\n" + PROGRAM)
    assert ".git/objects/info/split" in row_of(judged(here)[0]).evidence["files"]


def test_a_file_in_the_folder_of_git_is_named_and_what_git_status_writes_there_is_not(here):
    ask = "import pathlib, subprocess; subprocess.run(['git', 'status'], check=True)\n"
    here.write(train_py=ask + PROGRAM)
    assert row_of(judged(here)[0]) is None
    here.write(train_py="import pathlib; pathlib.Path('.git/split').write_text('0.5')\n" + PROGRAM)
    assert set(row_of(judged(here)[0]).evidence["files"]) == {".git/split"}


def test_a_tree_that_is_too_large_is_said_to_be_unknown(here, monkeypatch):
    monkeypatch.setattr(tree_changes, "_MOST_ENTRIES", 1)
    report, _ = judged(here)
    assert "was not looked at" in row_of(report).reason


def test_byte_code_of_another_source_is_named(tmp_path):
    tree = tree_changes.Tree.of(("python",), working_dir=tmp_path, kept=())
    before = tree.look()
    kept = tmp_path / "__pycache__" / "helper.cpython-311.pyc"
    kept.parent.mkdir()
    kept.write_bytes(os.urandom(16))
    assert tree.changes(before) == {
        "left_by_earlier_runs": {"__pycache__/helper.cpython-311.pyc": "appeared"}
    }


@pytest.mark.parametrize("mode", ["CHECKED_HASH", "UNCHECKED_HASH"])
def test_byte_code_that_goes_by_a_hash_is_no_change_of_its_own_source_only(tmp_path, mode):
    """Python reads the unchecked kind without a look at the source."""
    tree = tree_changes.Tree.of(("python",), working_dir=tmp_path, kept=())
    own, other = tmp_path / "helper.py", tmp_path / "other.py"
    own.write_text("RATE = 1\n")
    other.write_text("RATE = 7\n")
    before = tree.look()
    kept, by_hash = importlib.util.cache_from_source(str(own)), py_compile.PycInvalidationMode[mode]
    py_compile.compile(str(own), cfile=kept, invalidation_mode=by_hash)
    assert tree.changes(before) == {"left_by_earlier_runs": {}}
    py_compile.compile(str(other), cfile=kept, invalidation_mode=by_hash)
    assert list(tree.changes(before)["left_by_earlier_runs"]) == [os.path.relpath(kept, tmp_path)]
