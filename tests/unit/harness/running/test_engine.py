"""Carrying out a plan: side by side, in turn, interrupted, crashed; and what a person is told meanwhile."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from reprokit import runs
from reprokit.core.records import Mount, Outcome
from reprokit.errors import DiskFullError, EngineError
from reprokit.harness.running.engine import Engine
from reprokit.harness.running.failure import failure_of
from reprokit.harness.running.numbers import mounted_digest
from reprokit.harness.running.plan import plan_command

LONG = 60.0


@pytest.fixture
def carry_out(tmp_path: Path, told, fake, programs):
    def start(program, *, repeats: int = 2, side_by_side: int = 1, apart_s: float = 0.0):
        plan = plan_command(("python", "train.py"), seed=7, repeats=repeats, stamp="T")
        backend = fake(program)
        engine = Engine(
            backend=backend, runs_dir=tmp_path, host=programs["host"], progress=told, apart_s=apart_s
        )
        return engine.make(plan, side_by_side=side_by_side), backend

    return start


def states(runs_dir: Path) -> list[tuple[str, str]]:
    records = [json.loads(path.read_text()) for path in sorted(runs_dir.rglob("run.json"))]
    return [(record["state"], record.get("outcome")) for record in records]


def ticking(on_tick, seconds: float = LONG) -> None:
    """What a backend does while its program runs."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        on_tick()
        time.sleep(0.01)
    pytest.fail("no one stopped this run")


def test_runs_side_by_side_overlap(carry_out):
    meet = threading.Barrier(2, timeout=LONG)  # broken, and an error, unless both are inside at one time
    folders, _ = carry_out(lambda *_: meet.wait() and None, side_by_side=2)
    assert [runs.read(folder).complete for folder in folders] == [True, True]


def test_runs_side_by_side_begin_so_far_apart_and_overlap(carry_out):
    begun, meet = [], threading.Barrier(2, timeout=LONG)

    def program(*_):
        begun.append(time.monotonic())
        meet.wait()

    carry_out(program, side_by_side=2, apart_s=0.2)
    assert abs(begun[1] - begun[0]) > 0.1


def test_an_interruption_does_not_wait_for_the_next_start(carry_out):
    def program(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carry_out(program, side_by_side=2, apart_s=threading.TIMEOUT_MAX / 2)


def test_runs_in_turn_do_not_overlap(carry_out):
    inside = []

    def program(spec, _output, _tick):
        inside.append(("in", spec.run_id))
        time.sleep(0.01)
        inside.append(("out", spec.run_id))

    carry_out(program, repeats=3)
    ids = [f"T-seed7-{number}" for number in (1, 2, 3)]
    assert inside == [(way, name) for name in ids for way in ("in", "out")]


def test_no_more_runs_than_asked_for_go_on_at_one_time(carry_out):
    inside, most = 0, 0
    lock = threading.Lock()

    def program(*_):
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        time.sleep(0.05)
        with lock:
            inside -= 1

    folders, _ = carry_out(program, repeats=5, side_by_side=2)
    assert len(folders) == 5
    assert most == 2


def test_folders_come_in_the_plans_order_whoever_was_first(carry_out, monkeypatch):
    second_is_there, create = threading.Event(), runs.create

    def first_comes_last(runs_dir, spec, **options):
        if spec.run_id.endswith("-1"):
            assert second_is_there.wait(LONG)
        return create(runs_dir, spec, **options)

    def program(spec, _output, _tick):
        if spec.run_id.endswith("-2"):
            second_is_there.set()

    monkeypatch.setattr(runs, "create", first_comes_last)
    folders, _ = carry_out(program, side_by_side=2)
    assert [folder.name for folder in folders] == ["T-seed7-1", "T-seed7-2"]


def test_a_first_run_that_fails_stops_the_sequence(carry_out, programs, told):
    failing = lambda *_: programs["ended"](Outcome.CRASHED, 1, "it crashed")  # noqa: E731
    folders, backend = carry_out(failing, repeats=3)
    assert backend.seen == ["T-seed7-1"]
    [stored] = [runs.read(folder) for folder in folders]
    assert (stored.complete, stored.incomplete_because) == (False, "it crashed")
    assert told.notes == ["run 1: it crashed"]


def test_side_by_side_a_run_that_fails_lets_the_other_end(carry_out, programs):
    def program(spec, _output, _tick):
        return programs["ended"](Outcome.CRASHED, 1, "it crashed") if spec.run_id.endswith("-1") else None

    folders, _ = carry_out(program, side_by_side=2)
    assert [runs.read(folder).complete for folder in folders] == [False, True]


def test_an_interruption_in_turn_closes_the_folder_and_passes_on(carry_out, tmp_path):
    def program(_spec, output, _tick):
        (output / "metrics.jsonl").write_text('{"step": 1}\n')
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carry_out(program, repeats=2)
    assert states(tmp_path) == [("finished", "interrupted")]
    assert len(list(tmp_path.rglob("T-seed7-1/metrics.jsonl"))) == 1
    assert not list(tmp_path.rglob("COMPLETE"))


def test_an_interruption_side_by_side_stops_all_closes_their_folders_and_passes_on(
    carry_out, tmp_path, monkeypatch
):
    """The main thread waits for the others: there Ctrl-C arrives."""
    both = threading.Barrier(3, timeout=LONG)

    def program(_spec, _output, on_tick):
        both.wait()
        ticking(on_tick)

    def interrupted(*_arguments, **_options):
        both.wait()
        raise KeyboardInterrupt

    monkeypatch.setattr("reprokit.harness.running.threads_of_runs.wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        carry_out(program, side_by_side=2)
    assert states(tmp_path) == [("finished", "interrupted")] * 2
    assert not list(tmp_path.rglob("COMPLETE"))


def test_after_an_interruption_no_further_run_is_started(carry_out, tmp_path, monkeypatch):
    both = threading.Barrier(3, timeout=LONG)

    def program(_spec, _output, on_tick):
        both.wait()
        ticking(on_tick)

    def interrupted(*_arguments, **_options):
        both.wait()
        raise KeyboardInterrupt

    monkeypatch.setattr("reprokit.harness.running.threads_of_runs.wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        carry_out(program, repeats=4, side_by_side=2)
    assert len(list(tmp_path.rglob("run.json"))) == 2


@pytest.mark.parametrize("crashing", ["-1", "-2"])
def test_a_crash_in_a_worker_thread_surfaces_and_stops_the_other(carry_out, tmp_path, crashing):
    both = threading.Barrier(2, timeout=LONG)

    def program(spec, _output, on_tick):
        both.wait()
        if spec.run_id.endswith(crashing):
            raise EngineError("planted")
        ticking(on_tick)

    with pytest.raises(EngineError, match="planted"):
        carry_out(program, side_by_side=2)
    assert ("finished", "interrupted") in states(tmp_path)
    assert not list(tmp_path.rglob("COMPLETE"))


def test_steps_are_told_as_the_program_tells_them(carry_out, told):
    def program(_spec, output, on_tick):
        (output / "timing.jsonl").write_text(
            '{"step": 10, "total_steps": 100}\n{"step": 20, "total_steps": 100}\n'
        )
        on_tick()

    carry_out(program, repeats=1)
    assert told.updates[-1] == ("seed 7", 20, 100)


def test_a_program_that_tells_no_steps_gives_signs_of_life(carry_out, told):
    def program(_spec, output, on_tick):
        (output / "deep").mkdir()
        (output / "deep" / "metrics.jsonl").write_bytes(b"x" * 2500)
        on_tick()

    carry_out(program, repeats=1)
    assert told.updates == []
    assert told.signs[-1] == ("seed 7", "2.5 kB written, 0.0 kB printed")


@pytest.mark.parametrize(
    "text", ["", "{", '{"step": 1', '{"step": "1"}\n', "[1]\n", "null\n", '{"step": 1}\n{"st']
)
def test_a_timing_log_that_is_being_written_does_no_harm(carry_out, told, text):
    def program(_spec, output, on_tick):
        (output / "timing.jsonl").write_text(text)
        on_tick()

    folders, _ = carry_out(program, repeats=1)
    assert runs.read(folders[0]).complete
    assert [step for _, step, _ in told.updates] == ([1, 1] if "}\n{" in text else [])


def test_of_several_runs_the_first_that_failed_is_told_with_the_end_of_its_log(carry_out, programs):
    def program(spec, output, _tick):
        (output.parent / "stderr.log").write_text("".join(f"line {number}\n" for number in range(50)))
        return programs["ended"](Outcome.CRASHED, 1, f"{spec.run_id} crashed")

    folders, _ = carry_out(program, side_by_side=2)
    failure = failure_of(folders, [runs.read(folder) for folder in folders])
    assert failure["message"] == "T-seed7-1 crashed"
    assert (failure["outcome"], failure["remedy"]) == ("crashed", "look at its log")
    assert failure["log"] == str(folders[0] / "stderr.log")
    assert failure["log_tail"].splitlines() == [f"line {number}" for number in range(30, 50)]


def test_an_instruction_that_the_cpu_lacks_is_told_with_the_platform(carry_out, programs):
    def program(*_):
        died = programs["ended"](Outcome.SIGNALLED, None, "the program was ended by SIGILL")
        return replace(died, signal="SIGILL", remedy="the processor lacks an instruction")

    [folder] = carry_out(program, repeats=1)[0]
    told = json.loads((folder / "environment.json").read_text())
    told["host"]["cpu"]["features"] = ["sse4_2"]
    (folder / "environment.json").write_text(json.dumps(told))
    failure = failure_of([folder], [runs.read(folder)])
    assert failure["outcome"] == "signalled"
    assert failure["remedy"] == (
        "the processor lacks an instruction: this CPU is cpu-x86_64-noavx2, and portable recipes need "
        "AVX2 with FMA (cpu-x86_64)"
    )


def test_of_runs_that_all_ended_well_no_failure_is_told(carry_out):
    folders, _ = carry_out(lambda *_: None)
    assert failure_of(folders, [runs.read(folder) for folder in folders]) is None


def test_a_run_whose_folder_cannot_be_closed_says_why_and_is_never_finished(make, programs, monkeypatch):
    def full(folder, result, *, environment, secrets, facts):
        raise DiskFullError("no space left on the disk", where=str(folder), fix="free some space")

    monkeypatch.setattr("reprokit.runs.finish", full)
    [folder] = make.of_command(programs["logging"]())
    record = json.loads((folder / "run.json").read_text())
    assert (record["state"], record["outcome"], record["remedy"]) == (
        "finished",
        "disk_full",
        "free some space",
    )
    assert not runs.read(folder).complete


# The package that is mounted


@pytest.fixture
def in_package(tmp_path, told, fake, programs):
    """Runs a program with a package of a test's own mounted."""
    package = tmp_path / "reprokit"
    package.mkdir()
    (package / "launch.py").write_text("first\n")

    def start(program):
        plan = plan_command(("python", "train.py"), seed=7, repeats=1, stamp="T")
        mounts = (Mount(name="reprokit", path=str(package)),)
        plan = replace(
            plan,
            specs=tuple(replace(spec, mounts=mounts) for spec in plan.specs),
            facts={**plan.facts, "mounted_digest": mounted_digest(package)},
        )
        backend = fake(lambda *_: program(package))
        words = {"runs_dir": tmp_path / "runs", "host": programs["host"], "progress": told}
        return runs.read(Engine(backend=backend, **words).make(plan)[0])

    return start


def test_a_run_during_which_nothing_of_the_package_changes_is_complete(in_package):
    assert in_package(lambda _: None).complete


@pytest.mark.parametrize(
    "change",
    [
        lambda package: (package / "launch.py").write_text("other\n"),
        lambda package: (package / "new.py").write_text(""),
        lambda package: (package / "launch.py").rename(package / "moved.py"),
    ],
)
def test_a_run_during_which_the_package_changes_is_not(in_package, change):
    stored = in_package(lambda package: change(package) and None)
    assert not stored.complete
    assert stored.incomplete_because.startswith("the mounted package changed while the run was under way")
    assert (stored.record.outcome, stored.record.exit_code) == ("mounts_changed", 0)


def test_a_program_that_fails_says_why_whatever_changed(in_package, programs):
    def fails(package):
        (package / "launch.py").write_text("other\n")
        return programs["ended"](Outcome.CRASHED, 1, "it crashed")

    assert in_package(fails).incomplete_because == "it crashed"


@pytest.mark.parametrize(("numerics", "outcome"), [({}, "crashed"), ({"probe": {}}, "completed")])
def test_a_trainer_that_ends_its_process_before_it_is_done_leaves_no_finished_run(
    make, programs, numerics, outcome
):
    """What it recorded at its start is there; what is probed after the training is not."""
    train = programs["training"]()

    def program(spec, output, on_tick):
        train(spec, output, on_tick)
        inside = json.loads((output / "environment.json").read_text())
        (output / "environment.json").write_text(json.dumps({**inside, "numerics": numerics}))

    (folder,) = make.of_recipe(program, seed=42)
    assert json.loads((folder / "run.json").read_text())["outcome"] == outcome
    assert runs.read(folder).complete == (outcome == "completed")
