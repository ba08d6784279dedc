"""What every place keeps that runs are made on: this machine, and an engine of processes in place of Ray.

The same run folders, verdicts and words for failures; what was started is stopped, and nothing else; what a
killed tool left is found again; what a machine lost is tried again, and only a complete attempt counts.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reprokit import runs, where
from reprokit.errors import CannotRunError, SchedulerError, UsageError
from reprokit.harness import Request, attach
from reprokit.project import Project
from support.command_recipe import Repository
from support.process_place import ProcessPlace
from support.sweep_program import RECIPE, RecordedSweep, run_folders, seeds_of, swept

pytestmark = pytest.mark.slow  # every run of an engine is a process of the tool

#: Writes ten records, and waits after the sixth while there is a file ``slow``; fails with seed 5; its
#: numbers depend on how many files there are in a folder ``differs``.
PROGRAM = """\
import json, os, random, sys, time
seed, run_dir = int(sys.argv[1]), sys.argv[2]
beside = f"{run_dir}/../../../.."
random.seed(seed + len(os.listdir(beside + "/differs")) if os.path.exists(beside + "/differs") else seed)
with open(f"{run_dir}/log.jsonl", "w") as log:
    for step in range(10):
        log.write(json.dumps({"step": step, "return": random.random()}) + "\\n")
        log.flush()
        while step == 5 and os.path.exists(beside + "/slow"):
            time.sleep(0.05)
if seed == 5:
    sys.exit("no five")
"""


@pytest.fixture
def theirs(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "theirs")
    made.root.mkdir()
    made.git("init", "--quiet")
    (made.root / ".gitignore").write_text("runs/\nreports/\n__pycache__/\nslow\ndiffers/\n")
    made.write(train_py=PROGRAM, recipes__train__recipe_yaml=RECIPE)
    return made


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProcessPlace]:
    """The engine of processes, opened wherever Ray would be."""
    made = ProcessPlace()
    monkeypatch.setattr(where, "open_place", lambda *_args, **_more: made)
    yield made
    made.wait()


@pytest.fixture(params=["local", "processes"])
def on(request: pytest.FixtureRequest) -> str:
    """The name of a place, as ``--on`` takes it."""
    if request.param == "processes":
        request.getfixturevalue("place")
    return "local" if request.param == "local" else "ray"


def states(answer) -> list[str]:
    return [str(member.state) for member in answer.members]


def metrics(root: Path, answer) -> list[bytes]:
    return [(root / "runs" / member.run / "metrics.jsonl").read_bytes() for member in answer.members]


def wait_until(condition, seconds: float = 400.0):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)
    return found


def record_of(folder: Path) -> dict:
    return json.loads((folder / "run.json").read_text())


def test_runs_have_whole_folders_that_say_where_they_were_made(theirs, on):
    told = RecordedSweep()
    answer = swept(theirs.root, told=told, on=on)
    assert (answer.exit_code, states(answer), answer.actions) == (0, ["complete"] * 3, ("run",) * 3)
    assert seeds_of(run_folders(theirs.root)) == [3, 4, 6]
    for folder in run_folders(theirs.root):
        assert runs.read(folder).complete
        assert record_of(folder)["where"] == on
        assert len(record_of(folder)["machine"]["id"]) == 12
    assert ("train seed 3", "complete") in told.members
    again = swept(theirs.root, on=on)
    assert (again.actions, len(run_folders(theirs.root))) == (("reuse",) * 3, 3)


def test_every_place_gives_the_bytes_of_this_machine_and_uses_its_runs_again(theirs, place, tmp_path):
    there = swept(theirs.root, on="ray")
    (theirs.root / "runs").rename(tmp_path / "before")
    here = swept(theirs.root)
    named = [(tmp_path / "before" / member.run / "metrics.jsonl").read_bytes() for member in there.members]
    assert metrics(theirs.root, here) == named
    assert here.name == there.name, "the same members"


def test_a_program_that_fails_is_told_in_the_same_words(theirs, on):
    answer = swept(theirs.root, seeds="4,5", on=on)
    assert (answer.exit_code, states(answer)) == (3, ["complete", "crashed"])
    assert answer.members[1].message == "the program ended with exit code 1: no five"
    assert len(run_folders(theirs.root)) == 2, "a crash of the program is no loss of a machine"


def test_an_interrupt_ends_what_was_started_and_nothing_else(theirs, place, monkeypatch):
    (theirs.root / "slow").touch()
    bystander = place.submit([_sleeper(theirs.root)])
    looked = place.standing

    def interrupted(handles):
        if any((folder / "output").is_dir() for folder in run_folders(theirs.root)):
            monkeypatch.setattr(place, "standing", looked)
            raise KeyboardInterrupt
        return looked(handles)

    monkeypatch.setattr(place, "standing", interrupted)
    with pytest.raises(KeyboardInterrupt):
        swept(theirs.root, seeds="3,4", on="ray")
    assert [one.going for one in place.standing(bystander)] == [where.Going.RUNNING]
    assert len(place.stopped) == 2
    assert not any(one.going.goes_on for one in place.standing(sorted(place.stopped)))
    place.cancel(bystander)
    (record,) = map(
        json.loads, [path.read_text() for path in (theirs.root / "runs/sweeps").glob("*/sweep.json")]
    )
    assert {member["state"] for member in record["members"]} == {"interrupted"}
    assert not any((folder / "COMPLETE").exists() for folder in run_folders(theirs.root))
    assert place.closed


def _sleeper(root: Path) -> where.Task:
    log = root.parent / "bystander.log"
    return where.Task(name="bystander", command=("sleep", "300"), working_dir=root, log=log)


def test_a_lost_machine_costs_an_attempt_and_only_the_complete_one_counts(theirs, place):
    (theirs.root / "slow").touch()
    answers = []
    tool = threading.Thread(target=lambda: answers.append(swept(theirs.root, seeds="3,", on="ray")))
    tool.start()
    wait_until(lambda: [one for one in run_folders(theirs.root) if _has_begun(one)])
    (handle,) = [name for name, (task, _) in place.started.items() if "seed3" in task.name]
    (theirs.root / "slow").unlink()
    place.lose(handle)
    tool.join(400)
    (answer,) = answers
    assert (states(answer), answer.members[0].attempts) == (["complete"], 2)
    lost, whole = run_folders(theirs.root)
    assert (record_of(lost)["outcome"], record_of(lost)["attempt"]) == ("machine_lost", 1)
    assert (record_of(whole)["attempt"], runs.read(whole).complete) == (2, True)
    assert not (lost / "COMPLETE").exists()


def _has_begun(folder: Path) -> bool:
    log = folder / "output" / "log.jsonl"
    return log.is_file() and log.read_text().count("\n") >= 6


def test_an_attempt_that_begins_otherwise_than_the_one_before_is_no_result(theirs, place):
    (theirs.root / "slow").touch()
    (theirs.root / "differs").mkdir()
    answers = []
    tool = threading.Thread(target=lambda: answers.append(swept(theirs.root, seeds="3,", on="ray")))
    tool.start()
    wait_until(lambda: [one for one in run_folders(theirs.root) if _has_begun(one)])
    (handle,) = [name for name, (task, _) in place.started.items() if "seed3" in task.name]
    (theirs.root / "slow").unlink()
    (theirs.root / "differs" / "now").touch()
    place.lose(handle)
    tool.join(400)
    (answer,) = answers
    assert (answer.exit_code, states(answer)) == (3, ["crashed"])
    assert answer.members[0].message.startswith("nondeterminism: record 0 is another one than in the earlier")
    assert "fingerprint sha256:" in answer.members[0].message
    last = run_folders(theirs.root)[-1]
    assert record_of(last)["outcome"] == "attempts_differ"
    assert not (last / "COMPLETE").exists()


def test_what_a_killed_tool_left_running_is_found_again(theirs, place, monkeypatch):
    (theirs.root / "slow").touch()
    looked = place.standing

    class KilledError(Exception):
        """The tool ends without a word to anybody."""

    def killed(handles):
        if all(map(_has_begun, found := run_folders(theirs.root))) and len(found) == 2:
            raise KilledError
        return looked(handles)

    monkeypatch.setattr(place, "standing", killed)
    with pytest.raises(KilledError):
        swept(theirs.root, seeds="3,4", on="ray")
    begun, told = run_folders(theirs.root), RecordedSweep()

    def then_go_on(handles):
        if any("found again" in note for note in told.notes):
            (theirs.root / "slow").unlink(missing_ok=True)
        return looked(handles)

    monkeypatch.setattr(place, "standing", then_go_on)
    (record,) = (theirs.root / "runs/sweeps").glob("*/sweep.json")
    answer = attach(record, project=Project.around(theirs.root), progress=told)
    assert states(answer) == ["complete"] * 2
    assert run_folders(theirs.root) == begun, "nothing was begun a second time"
    assert sum("found again, running" in note for note in told.notes) == 2


def test_machines_that_would_not_compute_alike_are_refused_before_anything_runs(theirs, monkeypatch):
    mixed = ProcessPlace(machines=("one", "two"), changes={"two": {"PYTHONPATH": str(_other_python(theirs))}})
    monkeypatch.setattr(where, "open_place", lambda *_args, **_more: mixed)
    with pytest.raises(CannotRunError, match=r"a machine has other code|would not compute train alike"):
        swept(theirs.root, on="ray")
    mixed.wait()
    assert run_folders(theirs.root) == []
    assert mixed.closed


def _other_python(theirs: Repository) -> Path:
    """A folder that adds a package to what this Python has: another environment."""
    made = theirs.root.parent / "more" / "other-1.0.dist-info"
    made.mkdir(parents=True)
    (made / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    return made.parent


def test_a_machine_that_says_nothing_is_named_with_the_last_line_of_its_log(theirs, monkeypatch):
    silent = ProcessPlace(machines=("mute",), changes={"mute": {"HOME": "/"}})
    start = silent._start

    def without_tool(task):
        return start(
            where.Task(
                name=task.name,
                command=("sh", "-c", "echo no tool here"),
                working_dir=task.working_dir,
                log=task.log,
            )
        )

    monkeypatch.setattr(silent, "_start", without_tool)
    monkeypatch.setattr(where, "open_place", lambda *_args, **_more: silent)
    with pytest.raises(SchedulerError, match=r"mute.*no tool here"):
        swept(theirs.root, on="ray")
    silent.wait()


def test_a_place_that_nobody_knows_is_wrong_usage(theirs):
    with pytest.raises(UsageError, match=r"nothing is run on 'moon'\. expected local or ray or slurm"):
        swept(theirs.root, on="moon", request=Request(backend="local"))
