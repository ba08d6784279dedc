"""What Slurm does to its jobs: cancelled, out of time, requeued. A requeued job continues where it was."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from reprokit import runs
from support import places
from support.places import Tool, UsedPlace, begun, record_of
from support.study_project import make_study
from support.sweep_program import run_folders

#: A cluster, and for every run a process of the tool.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

STEPS = 307_200
#: While a file is there, every update of a training takes as long at least, on a machine of any speed.
SLOW, PAUSE_S = "slow", 1.0


@pytest.fixture(scope="module")
def slurm() -> Iterator[UsedPlace]:
    with places.opened("slurm") as found:
        yield found


def job_of(root: Path) -> str:
    """Slurm's number of the one run's job."""
    (handle,) = (root / "runs" / "sweeps").glob("*/jobs/*.handle.json")
    return json.loads(handle.read_text())["handle"]


def test_scancel_ends_a_run_that_is_then_no_complete_one(slurm, tmp_path):
    theirs = places.repository(tmp_path / "theirs")
    (theirs.root / "slow").touch()
    tool = slurm.sweep(theirs.root, "train", "--seeds", "3,")
    (folder,) = tool.wait_until(lambda: begun(theirs.root, 1))
    slurm.cluster.ask("scancel", job_of(theirs.root))
    answer = tool.answer()
    assert (answer.code, answer.states) == (3, ["interrupted"]), answer.said
    assert not runs.read(folder).complete
    assert run_folders(theirs.root) == [folder], "a person ended it: it is not tried again"


def test_a_run_without_checkpoints_ends_at_the_time_limit(slurm, tmp_path):
    theirs = places.repository(tmp_path / "theirs")
    (theirs.root / "slow").touch()
    tool = slurm.sweep(theirs.root, "train", "--seeds", "3,", "--slurm", "time=4")
    answer = tool.answer()
    assert (answer.code, answer.states) == (3, ["crashed"]), answer.said
    (folder,) = run_folders(theirs.root)
    assert record_of(folder)["outcome"] == "timed_out"
    assert answer.told["members"][0]["message"] == "the time limit of the scheduler was near"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A training of some seconds that writes a checkpoint every few thousand steps."""
    return training_of(STEPS, tmp_path / "study")


def training_of(num_steps: int, root: Path) -> Path:
    made = make_study(root)
    text = made.recipe.read_text()
    text = re.sub(r"total_timesteps: \d+", f"total_timesteps: {num_steps}", text)
    made.recipe.write_text(re.sub(r"save_interval: \d+", "save_interval: 8192", text))
    return made.root


def with_a_checkpoint(root: Path, attempt: int) -> Path | None:
    """The folder of an attempt, once it has a whole checkpoint."""
    found = [one for one in run_folders(root) if record_of(one).get("attempt") == attempt]
    return next((one for one in found if list(one.glob("output/checkpoints/checkpoint_*.pt"))), None)


def test_a_requeued_run_goes_on_from_its_newest_checkpoint_with_the_bytes_of_one_run(slurm, study):
    """Requeued twice: each attempt resumes the one before, and the last one holds all records."""
    tool = slurm.sweep(study, "cartpole_baseline", "--seeds", "42,", "--backend", "local")
    first = requeued(slurm, tool, study, attempt=1)
    second = requeued(slurm, tool, study, attempt=2)
    answer = tool.answer()
    assert (answer.code, answer.states, answer.told["members"][0]["attempts"]) == (0, ["complete"], 3)
    (whole,) = answer.runs(study)
    assert [record_of(one)["outcome"] for one in (first, second)] == ["machine_lost"] * 2
    assert runs.read(whole).complete
    point = record_of(whole)["resumed_from"]
    assert (point["run"], point["joined"]) == (f"cartpole_baseline/{second.name}", True)
    assert record_of(second)["resumed_from"]["run"] == f"cartpole_baseline/{first.name}"
    has_the_bytes_of_one_run(whole, study, slurm)
    again = slurm.sweep(study, "cartpole_baseline", "--seeds", "42,", "--backend", "local").answer()
    assert [one["action"] for one in again.told["members"]] == ["reuse"]


def has_the_bytes_of_one_run(whole: Path, root: Path, slurm: UsedPlace) -> None:
    """Compared with a run on this machine that no one interrupts."""
    here = places.UsedPlace(name="local", python=slurm.python)
    same = here.sweep(root, "cartpole_baseline", "--seeds", "42,", "--backend", "local", "--runs-dir", "here")
    (alike,) = same.answer(900).runs(root, "here")
    assert "resumed_from" not in record_of(alike)
    for name in ("metrics.jsonl", "trace.jsonl"):
        assert (whole / name).read_bytes() == (alike / name).read_bytes(), name


def test_a_run_that_is_near_its_time_limit_requeues_itself_and_goes_on_from_its_newest_checkpoint(
    slurm, tmp_path
):
    """No one asks for it but Slurm: 90 s before the limit, or up to a minute earlier, by its documentation.

    So an attempt has 30 to 90 of its 180 seconds, and the training takes 150 and more.
    """
    root = training_of(STEPS, tmp_path / "long")
    pauses_while_there(tmp_path / SLOW, root)
    asked = ("cartpole_baseline", "--seeds", "42,", "--backend", "local", "--slurm", "time=3")
    answer = slurm.sweep(root, *asked).answer(1500)
    (tmp_path / SLOW).unlink()
    assert (answer.code, answer.states) == (0, ["complete"]), answer.said
    (whole,) = answer.runs(root)
    *before, last = sorted(run_folders(root), key=lambda one: record_of(one)["attempt"])
    assert last == whole
    assert len(before) >= 1, "it was never near its limit"
    assert [record_of(one)["outcome"] for one in before] == ["timed_out"] * len(before)
    points = [record_of(one)["resumed_from"] for one in (*before[1:], whole)]
    assert [one["run"] for one in points] == [f"cartpole_baseline/{one.name}" for one in before]
    steps = [one["step"] for one in points]
    assert steps == sorted(set(steps)), "each attempt came further than the one before"
    assert steps[0] > 0
    has_the_bytes_of_one_run(whole, root, slurm)


def pauses_while_there(file: Path, root: Path) -> None:
    """Have the study's own copy of the trainer pause after each record of metrics."""
    file.touch()
    (trainer,) = (root / "recipes" / "trainers").glob("ppo.py")
    line = "        run.metrics.write(step=step, **record)\n"
    pause = f"        __import__('time').sleep({PAUSE_S} * __import__('os').path.exists({str(file)!r}))\n"
    text = trainer.read_text()
    assert text.count(line) == 1
    trainer.write_text(text.replace(line, line + pause))


def requeued(slurm: UsedPlace, tool: Tool, study: Path, *, attempt: int) -> Path:
    folder = tool.wait_until(lambda: with_a_checkpoint(study, attempt))
    slurm.cluster.ask("scontrol", "requeue", job_of(study))
    return folder
