"""What is asked of machines before and between runs, with an engine of processes in place of a cluster.

Machines that would not compute alike are refused by name, a busy one is asked later, an attempt that begins
otherwise than the one before is no result. Real clusters: test_where.py.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reprokit.errors import CannotRunError, SchedulerError, UsageError
from reprokit.features.machines import machines
from reprokit.features.machines import place as where
from reprokit.harness import Request
from support import places
from support.command_recipe import Repository
from support.places import has_begun, record_of
from support.process_place import ProcessPlace
from support.sweep_program import RecordedSweep, run_folders, swept

pytestmark = pytest.mark.slow  # every run of an engine is a process of the tool

#: Waits as the program of ``places`` does; its numbers depend on how many files are in a folder ``differs``.
PROGRAM = places.PROGRAM.replace(
    "random.seed(seed)",
    "random.seed(seed + len(os.listdir(f'{run_dir}/../../../../differs')))",
)


@pytest.fixture
def theirs(tmp_path: Path) -> Repository:
    made = places.repository(tmp_path / "theirs", program=PROGRAM)
    (made.root / "differs").mkdir()
    return made


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProcessPlace]:
    """The engine of processes, opened wherever Ray would be."""
    made = ProcessPlace()
    monkeypatch.setattr(where, "open_place", lambda *_args, **_more: made)
    yield made
    made.wait()


def states(answer) -> list[str]:
    return [str(member.state) for member in answer.members]


def wait_until(condition, seconds: float = 400.0):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)
    return found


def test_an_attempt_that_begins_otherwise_than_the_one_before_is_no_result(theirs, place):
    (theirs.root / "slow").touch()
    answers = []
    tool = threading.Thread(target=lambda: answers.append(swept(theirs.root, seeds="3,", on="ray")))
    tool.start()
    wait_until(lambda: [one for one in run_folders(theirs.root) if has_begun(one)])
    (handle,) = [name for name, (task, _) in place.started.items() if "seed3" in task.name]
    (theirs.root / "slow").unlink()
    (theirs.root / "differs" / "now").touch()
    place.lose(handle)
    tool.join(400)
    (answer,) = answers
    assert (answer.exit_code, states(answer)) == (3, ["crashed"])
    assert answer.members[0].message.startswith("nondeterminism: record 0 differs from that of the earlier")
    assert "fingerprint sha256:" in answer.members[0].message
    last = run_folders(theirs.root)[-1]
    assert record_of(last)["outcome"] == "attempts_differ"
    assert not (last / "COMPLETE").exists()


def test_machines_that_would_not_compute_alike_are_refused_before_anything_runs(theirs, monkeypatch):
    mixed = ProcessPlace(machines=("one", "two"), changes={"two": {"PYTHONPATH": str(_other_python(theirs))}})
    monkeypatch.setattr(where, "open_place", lambda *_args, **_more: mixed)
    with pytest.raises(CannotRunError, match=r"a machine has different code|would not compute train alike"):
        swept(theirs.root, on="ray")
    mixed.wait()
    assert run_folders(theirs.root) == []
    assert mixed.closed


def test_members_on_other_machines_have_the_settings_of_the_platform_that_was_asked_for(theirs, place):
    file = theirs.root / "recipes" / "train" / "recipe.yaml"
    file.write_text(file.read_text() + "platform_settings: {cpu-x86_64: {}}\n")
    theirs.commit()
    answer = swept(theirs.root, seeds="3,", on="ray", settings=["platform=cpu-x86_64"])
    assert states(answer) == ["complete"], answer.members
    (record,) = [record_of(folder) for folder in run_folders(theirs.root)]
    assert (record["platform_asked"], record["modified"]) == ("cpu-x86_64", [])
    assert swept(theirs.root, seeds="3,", settings=["platform=cpu-x86_64"]).actions == ("reuse",)


def test_a_busy_machine_is_not_waited_for_and_its_task_is_taken_back(theirs, monkeypatch):
    place, told = ProcessPlace(machines=("one", "two"), busy=("two",)), RecordedSweep()
    monkeypatch.setattr(where, "open_place", lambda *_args, **_more: place)
    monkeypatch.setattr(machines, "_BUSY_S", 1.0)
    answer = swept(theirs.root, told=told, seeds="3,", on="ray")
    place.wait()
    assert states(answer) == ["complete"]
    assert place.stopped == {"queued-two"}
    assert any(note.startswith("two: busy") for note in told.notes)


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


def test_a_sweep_that_is_complete_asks_no_machine_and_another_seed_asks_all_of_them(theirs, place):
    def asked() -> int:
        return sum(task.name.startswith("asked") for task, _ in place.started.values())

    assert swept(theirs.root, seeds="3,4", on="ray").exit_code == 0
    assert asked() == 1
    told = RecordedSweep()
    answer = swept(theirs.root, seeds="3,4", on="ray", told=told)
    assert (answer.exit_code, set(answer.actions), asked()) == (0, {"reuse"}, 1)
    assert any("no machine of ray is asked" in note for note in told.notes)
    assert swept(theirs.root, seeds="3,4,5", on="ray").actions == ("reuse", "reuse", "run")
    assert asked() == 2


def test_a_sweep_with_a_run_that_was_changed_asks_the_machines_and_makes_it_again(theirs, place):
    assert swept(theirs.root, seeds="3,", on="ray").exit_code == 0
    (folder,) = run_folders(theirs.root)
    with (folder / "metrics.jsonl").open("a") as log:
        log.write('{"step": 9, "return": 1.0}\n')
    answer = swept(theirs.root, seeds="3,", on="ray")
    assert (answer.exit_code, answer.actions) == (0, ("retry",))
    assert len(run_folders(theirs.root)) == 2


def test_a_sweep_of_changed_code_asks_the_machines(theirs, place):
    assert swept(theirs.root, seeds="3,", on="ray").exit_code == 0
    program = theirs.root / "train.py"
    program.write_text(program.read_text() + "\nprint('changed')\n")
    assert swept(theirs.root, seeds="3,", on="ray").actions == ("run",)
