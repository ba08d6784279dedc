"""What can go wrong with a container, told apart by the tool as a person starts it.

The engine is the test's own, so that it can be stopped in the middle of a run. Its image is made from
a small lock, whose numpy and torch fail in the way that the seed asks for as soon as the runtime
imports them. The slow test does the same to the real image and the real training.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import docker
import pytest

pytestmark = [
    pytest.mark.engine,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # the SDK's socket
]

ROOT = Path(__file__).resolve().parents[3]
HANG, GREEDY, KILLED, CRASH, SEGFAULT, FULL, READ_ONLY = range(1, 8)
FAILING = f"""
import os, sys, time
seed = int(sys.argv[sys.argv.index("--seed") + 1])
out = sys.argv[sys.argv.index("--run-dir") + 1]
print("begun", flush=True)
if seed == {HANG}:
    time.sleep(600)
elif seed == {GREEDY}:
    x = b"x" * (400 << 20)
elif seed == {KILLED}:
    os.kill(os.getpid(), 9)
elif seed == {SEGFAULT}:
    os.kill(os.getpid(), 11)
elif seed == {FULL}:
    raise OSError(28, os.strerror(28), out)
elif seed == {READ_ONLY}:
    open("/opt/x", "w")
raise ValueError("planted")
"""


def load(image: str, second_engine) -> None:
    """Take an image over from the engine of this host."""
    with contextlib.closing(docker.from_env()) as here, contextlib.closing(second_engine.client()) as there:
        reference = here.images.get(image).tags[0]
        there.api.load_image(here.api.get_image(reference))


@pytest.fixture(scope="module")
def fragile(second_engine, base_image: str, shared_small_project, study_at_module):
    """A study whose training fails as its seed says, in the second engine."""
    load(base_image, second_engine)
    small = shared_small_project
    wheels = (small.add_wheel(name, text=FAILING) for name in ("numpy", "torch"))
    small.lock.write_text("".join(wheels), encoding="utf-8")
    shutil.copytree(ROOT / "recipes", small.root / "recipes", ignore=shutil.ignore_patterns("__pycache__"))
    study = study_at_module(small.root)
    text = study.recipe.read_text(encoding="utf-8").replace("memory_gib: 4", "memory_gib: 0.125")
    study.recipe.write_text(text, encoding="utf-8")
    return study


@pytest.fixture
def surroundings(second_engine, shared_small_project) -> dict[str, str]:
    return {"DOCKER_HOST": second_engine.host, "REPROKIT_CACHE": str(shared_small_project.cache)}


@pytest.fixture
def reproduce(fragile, surroundings):
    """Reproduce with the seed that asks for a failure; the answer is always that nothing was trained."""

    def start(seed: int, *options: str):
        answer = fragile.reprokit(
            "reproduce",
            "cartpole_baseline",
            "--backend",
            "docker",
            "--base",
            "bootstrap",
            "--json",
            "--seed",
            str(seed),
            *options,
            env=surroundings,
        )
        assert (answer.code, answer.report["verdict"]) == (3, "NOT_RUN"), answer.out + answer.err
        return answer

    return start


def in_run_json(answer) -> list[dict]:
    records = [json.loads((Path(run) / "run.json").read_text()) for run in answer.report["runs"]]
    assert not any((Path(run) / "COMPLETE").exists() for run in answer.report["runs"])
    return records


@pytest.mark.slow  # each is also a test of the backend, on any engine
@pytest.mark.parametrize(
    ("seed", "options", "word", "says", "do"),
    [
        (GREEDY, (), "out_of_memory", "limit of 128.0 MiB was reached", "raise the run's memory limit"),
        (KILLED, (), "signalled", "ended by SIGKILL", "find out who sent it"),
        (SEGFAULT, (), "signalled", "ended by SIGSEGV", "PYTHONFAULTHANDLER"),
        (CRASH, (), "crashed", "ValueError: planted", "stderr.log"),
        (HANG, ("--timeout", "3"), "timed_out", "limit of 3 s", "raise the run's time limit"),
        (FULL, (), "disk_full", "No space left on device", "free space"),
        (READ_ONLY, (), "crashed", "Read-only file system", "{run_dir}"),
    ],
)
def test_every_failure_in_a_container_has_its_own_word_and_says_what_to_do(
    reproduce, seed, options, word, says, do
):
    answer = reproduce(seed, *options)
    told = answer.report["not_run"]
    assert told["outcome"] == word
    assert says in told["message"]
    assert do in told["remedy"]
    assert "begun" in told["log_tail"] or "planted" in told["log_tail"] or "Error" in told["log_tail"]
    assert {record["outcome"] for record in in_run_json(answer)} == {word}


def stopped_mid_run(study, second_engine, surroundings, wait_for, number, *options: str, begun):
    """Start, wait until every run has begun, stop the engine, and take what the tool answers."""
    command = [sys.executable, "-m", "reprokit", "reproduce", "cartpole_baseline", "--backend", "docker"]
    before = set(study.runs)
    with subprocess.Popen(
        [*command, "--json", *options],
        cwd=study.root,
        env={**os.environ, "PYTHONPATH": str(ROOT), **surroundings},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as tool:
        try:
            # Of a pair: a run whose container is not there yet would be told that there is no engine.
            wait_for(lambda: sum(begun(run.parent) for run in set(study.runs) - before) == 2, 60)
            second_engine.end(number)
            out, err = tool.communicate(timeout=60)
        finally:
            tool.kill()
    assert tool.returncode == 3, out + err
    return json.loads(out)


def is_lost_and_said(report) -> None:
    """The word in report, run.json and every drawing; and what to do."""
    assert report["verdict"] == "NOT_RUN"
    told = report["not_run"]
    assert told["outcome"] == "engine_lost"
    assert "the container engine went away while the program ran" in told["message"]
    assert "start the engine again" in told["remedy"]
    for run in map(Path, report["runs"]):
        record = json.loads((run / "run.json").read_text())
        assert (record["state"], record["outcome"]) == ("finished", "engine_lost")
        assert not (run / "COMPLETE").exists()


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGTERM, id="stopped", marks=pytest.mark.slow),
        pytest.param(signal.SIGKILL, id="killed", marks=pytest.mark.slow),
    ],
)
def test_an_engine_that_goes_away_mid_run_is_told_and_the_next_start_leaves_no_container(
    fragile, second_engine, surroundings, reproduce, wait_for, number
):
    reproduce(CRASH)  # the image is there
    report = stopped_mid_run(
        fragile,
        second_engine,
        surroundings,
        wait_for,
        number,
        "--seed",
        str(HANG),
        "--base",
        "bootstrap",
        begun=lambda run: (run / "stdout.log").is_file() and (run / "stdout.log").read_bytes() == b"begun\n",
    )
    is_lost_and_said(report)
    drawn = next(path for path in sorted((fragile.root / "reports").glob("*/*/report.md"))[::-1])
    assert "engine_lost" in drawn.read_text() or "went away" in drawn.read_text()
    shown = fragile.reprokit("report", "show", *report["runs"], "--json", env=surroundings)
    assert (shown.code, shown.report["not_run"]["outcome"]) == (3, "engine_lost")
    gone = fragile.reprokit(
        "run", "cartpole_baseline", "--backend", "docker", "--seed", str(CRASH), env=surroundings
    )
    assert gone.code == 3
    assert "is not running" in gone.err or "no container engine" in gone.err, gone.err
    second_engine.start()
    with contextlib.closing(second_engine.client()) as client:
        assert client.api.containers(all=True) != []
        reproduce(CRASH)
        assert client.api.containers(all=True) == []


@pytest.mark.slow
def test_an_engine_that_goes_away_in_the_middle_of_real_training_is_told(
    study, second_engine, cpu_image, wait_for
):
    load(cpu_image.reference, second_engine)
    study.change(study.recipe, "\n  total_timesteps: 12288", "\n  total_timesteps: 1000000")
    host = {"DOCKER_HOST": second_engine.host}
    report = stopped_mid_run(
        study,
        second_engine,
        host,
        wait_for,
        signal.SIGTERM,
        begun=lambda run: (
            (run / "output" / "metrics.jsonl").is_file()
            and (run / "output" / "metrics.jsonl").read_bytes().count(b"\n") > 2
        ),
    )
    second_engine.start()
    is_lost_and_said(report)
    study.change(study.recipe, "\n  total_timesteps: 1000000", "\n  total_timesteps: 12288")
    after = study.reprokit("reproduce", "cartpole_baseline", "--backend", "docker", "--json", env=host)
    assert (after.code, after.report["verdict"]) == (0, "REPRODUCED"), after.out + after.err
    with contextlib.closing(second_engine.client()) as client:
        assert client.api.containers(all=True) == []


@pytest.mark.slow
def test_an_image_whose_build_fails_is_told(fragile, surroundings):
    dockerfile = fragile.root / "images" / "Dockerfile"
    text = dockerfile.read_text(encoding="utf-8")
    dockerfile.write_text(text.replace("COPY wheels", "RUN echo planted >&2 && false\nCOPY wheels"))
    try:
        answer = fragile.reprokit(
            "reproduce",
            "cartpole_baseline",
            "--backend",
            "docker",
            "--base",
            "bootstrap",
            "--json",
            env=surroundings,
        )
    finally:
        dockerfile.write_text(text)
    assert (answer.code, answer.report["verdict"]) == (3, "NOT_RUN"), answer.out + answer.err
    told = answer.report["not_run"]
    assert told["outcome"] == "image_build_failed"
    assert "planted" in told["message"]
    assert told["remedy"]
