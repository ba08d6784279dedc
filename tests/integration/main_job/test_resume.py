"""Trainings that are killed for real and resumed: equal to the one that was never stopped, or red."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from reprokit import checks, workspace
from reprokit.core.checklist import Verdict
from reprokit.core.evidence import Evidence
from reprokit.core.verdicts.rows import Status
from reprokit.errors import CheckpointError, GoldenError, UsageError
from reprokit.features.checkpoints.checkpoint_files import exit_code, verify
from reprokit.golden import Promotion
from reprokit.harness import Project, Request, audit, judge_again
from reprokit.harness.curation import promote
from reprokit.harness.judging.resumed.resume_evidence import resume_evidence
from reprokit.harness.running.resuming.resume_point import choose, fit

torch = pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parents[3]
RECIPE = "cartpole_baseline"
STEPS, UPDATE, SAVED = 16_384, 1024, 2048
SMALLER = {
    "total_timesteps": STEPS,
    "rollout_steps": UPDATE // 8,
    "n_epochs": 2,
    "save_interval": SAVED,
    "eval_interval": 4096,
    "eval_episodes": 2,
    "final_eval_episodes": 3,
}
ROW = next(check for check in checks.discover() if check.ID == "resume_equal")


@pytest.fixture(scope="module")
def study(tmp_path_factory, study_at_module):
    """The real recipe, cut to sixteen short updates with a checkpoint at every second."""
    root = tmp_path_factory.mktemp("resume")
    for name in ("recipes", "images"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    study = study_at_module(root)
    text = study.recipe.read_text(encoding="utf-8")
    for key, value in SMALLER.items():
        text, count = re.subn(rf"(?m)^(  {key}:) .*$", rf"\1 {value}", text)
        assert count == 1, key
    study.recipe.write_text(text, encoding="utf-8")
    return study


@pytest.fixture(scope="module")
def project(study):
    return Project.around(study.root)


@pytest.fixture(scope="module")
def answer(study):
    """What `reprokit reproduce --resume` says; its runs are what all tests here stand on."""
    return study.reproduce("--stop-at", "9000")


@pytest.fixture(scope="module")
def whole(answer):
    return Path(answer.report["runs"][0])


@pytest.fixture(scope="module")
def stopped(answer):
    return Path(answer.row("resume_equal")["evidence"]["stopped"])


def judged(whole, stopped, resumed):
    seen = resume_evidence(whole, (stopped, resumed))
    return seen, ROW.check(Evidence(recipe={}, platform="cpu-x86_64", runs=(), resume=seen))


def go_on(study, reference, *arguments):
    done = study.reprokit("run", RECIPE, "--backend", "local", "--resume-from", str(reference), *arguments)
    return done, Path(done.out.strip())


def steps_of(folder, name="metrics.jsonl"):
    return [json.loads(line)["step"] for line in (folder / name).read_text().splitlines()]


def test_a_killed_and_resumed_training_equals_the_one_that_was_never_stopped(answer):
    row = answer.row("resume_equal")
    assert row["status"] == "PASSED", row["reason"]
    assert row["required"]
    assert row["reason"].startswith(
        "killed by SIGKILL at step 9216, resumed from checkpoint_8192.pt: 16 records, 16 traced updates and "
        "5 later checkpoints as if never stopped; the resumed run did steps 8193 to 16384 in "
    )


def test_the_resumed_process_executes_only_the_later_steps_in_less_time(answer, whole, stopped):
    resumed = Path(answer.row("resume_equal")["evidence"]["resumed"])
    assert steps_of(stopped) == list(range(UPDATE, 9216 + 1, UPDATE))
    assert steps_of(resumed) == list(range(8192 + UPDATE, STEPS + 1, UPDATE))
    halves = "".join(
        line
        for folder in (stopped, resumed)
        for line in (folder / "metrics.jsonl").read_text().splitlines(keepends=True)
        if folder == resumed or json.loads(line)["step"] <= 8192
    )
    assert halves == (whole / "metrics.jsonl").read_text()


def test_both_halves_are_runs_of_their_own_that_say_where_they_come_from(answer, stopped):
    resumed = Path(answer.row("resume_equal")["evidence"]["resumed"])
    first, second = (json.loads((folder / "run.json").read_text()) for folder in (stopped, resumed))
    assert (first["outcome"], first["signal"], first["stop_at"], first["attempt"]) == (
        "signalled",
        "SIGKILL",
        9000,
        1,
    )
    assert not (stopped / "COMPLETE").exists()
    assert (second["outcome"], second["attempt"]) == ("completed", 2)
    digest = workspace.sha256_of(stopped / "checkpoints" / "checkpoint_8192.pt")
    assert second["resumed_from"] == {
        "run": f"{RECIPE}/{stopped.name}",
        "checkpoint": "checkpoint_8192.pt",
        "step": 8192,
        "sha256": digest,
    }


def test_the_report_can_be_checked_again_and_falls_when_a_half_is_touched(study, project, answer, stopped):
    report = max((study.root / "reports" / RECIPE).glob("*/report.json"))
    assert audit(report, project=project).findings == ()
    metrics = stopped / "metrics.jsonl"
    before = metrics.read_text()
    try:
        metrics.write_text(before.replace("0", "1", 1))
        touched = audit(report, project=project)
    finally:
        metrics.write_text(before)
    assert touched.exit_code == 1
    assert "row resume_equal: the evidence says FAILED" in touched.findings


def test_a_resumed_run_is_never_taken_for_a_whole_one(project, answer, whole):
    resumed = Path(answer.row("resume_equal")["evidence"]["resumed"])
    twin = resumed.with_name(f"{resumed.name}-2")
    shutil.copytree(resumed, twin)
    for pair in ((whole, resumed), (resumed, twin)):
        assert judge_again(pair, Request(), project=project).verdict is Verdict.UNJUDGED
    with pytest.raises(GoldenError, match="a resumed run holds only the later steps of a training"):
        promote(
            (whole, resumed),
            project=project,
            promotion=Promotion(reason="x", created_at="2026-11-21", allow_dirty=True),
        )


def test_another_number_of_environments_is_refused_before_anything_starts(study, stopped):
    before = study.runs
    refused, _ = go_on(study, stopped.name, "--set", "environment.num_envs=16")
    assert refused.code == 2
    assert "environment.num_envs 8 → 16" in refused.err
    assert study.runs == before


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (Request(overrides=("training.learning_rate=1e-3",)), "training.learning_rate"),
        (Request(seed=43), "another seed"),
    ],
)
def test_a_training_that_began_otherwise_is_refused(project, stopped, asked, told):
    with pytest.raises(UsageError, match=told):
        fit(choose(stopped.name, project=project), RECIPE, asked, project=project)


def nudge(array, at):
    """One bit of one number."""
    flat = array.reshape(-1)
    flat[at] = np.nextafter(flat[at], np.inf) if flat.dtype.kind == "f" else flat[at] ^ 1


def add_to(place, key, amount=1):
    place[key] += amount


ALTERED = {
    "torch": lambda state: nudge(state["random"]["torch"].numpy(), 24 + 8 * 10),
    "a first moment": lambda state: nudge(state["optimizer"]["mean"].numpy(), 7),
    "python": lambda state: add_to(state["random"]["python"]["__tuple__"][1]["__tuple__"], 5),
    "numpy": lambda state: nudge(state["random"]["numpy"]["state"]["key"]["__array__"].numpy(), 5),
    "a second moment": lambda state: nudge(state["optimizer"]["mean_square"].numpy(), 7),
    "the optimizer's count": lambda state: nudge(state["optimizer"]["steps"].numpy(), 0),
    "a parameter": lambda state: nudge(state["model"]["weights.1"].numpy(), 9),
    "an environment": lambda state: nudge(
        state["random"]["environments"][3][2]["attributes"]["state"]["__array__"].numpy(), 1
    ),
    "an environment's clock": lambda state: add_to(
        state["random"]["environments"][3][0]["attributes"], "_elapsed_steps"
    ),
    "an environment's generator": lambda state: add_to(
        state["random"]["environments"][3][2]["attributes"]["_np_random"]["__random__"]["state"], "state"
    ),
    "an observation": lambda state: nudge(state["extra"]["players"]["observations"].numpy(), 2),
    "a return": lambda state: add_to(state["extra"]["players"]["returns"], 0),
    "a length": lambda state: add_to(state["extra"]["players"]["lengths"], 0),
    "an episode that counts": lambda state: add_to(state["extra"]["players"]["recent"][-1], 0),
    "the count of updates": lambda state: add_to(state["extra"], "updates"),
}
# The others may be rounded away, or end with the episode, before the next update: what was stored shows them.
SHOWS_IN_TRAINING = {"torch", "python", "numpy", "an environment's generator", "the count of updates"}


def alter(stopped, *, called, change):
    """A copy of the stopped run with one state of its last checkpoint changed, its manifest made to fit."""
    folder = stopped.with_name(f"{stopped.name}-{called.replace(' ', '-')}")
    shutil.copytree(stopped, folder)
    path = folder / "checkpoints" / "checkpoint_8192.pt"
    state = torch.load(path, weights_only=True)
    change(state)
    torch.save(state, path)
    manifest = folder / "checkpoints" / "MANIFEST.json"
    listed = json.loads(manifest.read_text())
    listed["files"][path.name]["sha256"] = workspace.sha256_of(path)
    manifest.write_text(json.dumps(listed))
    return folder


def assert_altered_state_is_found(study, whole, stopped, name):
    altered = alter(stopped, called=name, change=ALTERED[name])
    done, resumed = go_on(study, altered)
    assert done.code == 0, done.err
    seen, finding = judged(whole, altered, resumed)
    assert finding.status is Status.FAILED, finding.reason
    if name in SHOWS_IN_TRAINING:
        assert seen.first["where"].endswith("(the resumed run)")


@pytest.mark.slow
@pytest.mark.parametrize("name", list(ALTERED)[:1])
def test_a_single_altered_state_turns_the_row_red(study, whole, stopped, name):
    assert_altered_state_is_found(study, whole, stopped, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(ALTERED)[1:])
def test_every_altered_state_turns_the_row_red(study, whole, stopped, name):
    assert_altered_state_is_found(study, whole, stopped, name)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("numpy", lambda state: state["random"].pop("numpy"), "it has no random state of numpy"),
        ("optimizer", lambda state: state.update(optimizer=None), "it has no optimizer"),
        ("environment", lambda state: state["random"]["environments"].pop(), "the states of 7 environments"),
        ("the step", lambda state: add_to(state, "step"), "it holds step 8193, but is listed with step 8192"),
    ],
)
def test_a_checkpoint_that_lacks_a_state_or_is_of_another_step_is_refused_by_name(
    project, stopped, name, change, told
):
    lacking = alter(stopped, called=f"no {name}", change=change)
    with pytest.raises(CheckpointError, match=told):
        choose(str(lacking), project=project)
    found = verify(str(lacking), project=project)
    assert exit_code(found) == 1
    assert [told in problem for one in found for problem in one.problems] == [True]


def kill_at_random(study, *, draw, tool_too=False):
    """Train, and kill the training process, or the tool, at a random moment after its first checkpoint."""
    before = set(study.runs)
    tool = subprocess.Popen(
        [sys.executable, "-m", "reprokit", "run", RECIPE, "--backend", "local"],
        cwd=study.root,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    # A quick machine does an update in some 0.06 s: the run must still have one to do when it is killed.
    step, wait_s = draw.randrange(SAVED + UPDATE, STEPS - 4 * UPDATE, UPDATE), draw.uniform(0, 0.1)
    folder, end = None, time.monotonic() + 120
    while (
        folder is None
        or not (folder / "output" / "metrics.jsonl").is_file()
        or len((folder / "output" / "metrics.jsonl").read_text().splitlines()) * UPDATE < step
    ):
        assert time.monotonic() < end
        assert tool.poll() is None, tool.communicate()
        folder = next((path.parent for path in set(study.runs) - before), None)
        time.sleep(0.005)
    time.sleep(wait_s)
    if tool_too:
        tool.kill()  # and no one closes the run: the program is ended by its guard
        tool.communicate(timeout=60)
        assert (folder / "output" / "checkpoints").is_dir()
        return folder
    programs = [
        process
        for process in psutil.Process(tool.pid).children(recursive=True)
        if "reprokit.runtime.launch" in process.cmdline()
    ]
    for process in programs:
        os.kill(process.pid, signal.SIGKILL)
    _, told = tool.communicate(timeout=60)
    assert (len(programs), tool.returncode) == (1, 3), told
    return folder


def assert_a_run_killed_at_random_goes_on(study, whole, number):
    folder = kill_at_random(study, draw=random.Random(number))
    done, resumed = go_on(study, folder.name)
    assert done.code == 0, done.err
    seen, finding = judged(whole, folder, resumed)
    assert finding.status is Status.PASSED, finding.reason
    assert seen.first_resumed > seen.step >= SAVED


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1))
def test_a_run_that_is_killed_at_any_moment_goes_on_bit_for_bit(study, whole, number):
    assert_a_run_killed_at_random_goes_on(study, whole, number)


@pytest.mark.slow
def test_a_run_whose_tool_was_killed_goes_on_at_once_bit_for_bit(study, whole):
    folder = kill_at_random(study, draw=random.Random(1), tool_too=True)
    done, resumed = go_on(study, folder.name)
    assert done.code == 0, done.err
    step = json.loads((resumed / "run.json").read_text())["resumed_from"]["step"]
    first, second = ((one / "metrics.jsonl").read_text().splitlines() for one in (folder, resumed))
    halves = [line for line in first if json.loads(line)["step"] <= step] + second
    assert halves == (whole / "metrics.jsonl").read_text().splitlines()
    ours, theirs = (workspace.sha256_of(one / "checkpoints" / "final_model.pt") for one in (resumed, whole))
    assert ours == theirs


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, 21))
def test_twenty_runs_that_are_killed_at_any_moment_go_on_bit_for_bit(study, whole, number):
    assert_a_run_killed_at_random_goes_on(study, whole, number)
