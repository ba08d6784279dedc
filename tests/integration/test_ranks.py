"""Ranks for real: processes that train one model over gloo, and what becomes of a run when one fails."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

pytest.importorskip("torch")

from reprokit.harness.judging import compare_ranks

PROJECT = Path(__file__).resolve().parents[2]
TRAINER = PROJECT / "tests" / "support" / "ranked_trainer.py"
FIXED = ("--reduction", "fixed_order", "--shards", "4")
NUMBERS = ("metrics.jsonl", "checkpoints/final_model.pt")
_UNTIL_S = 60


def begun(folder, *words, ranks=2, **settings):
    """A training in a process of its own; ``settings`` are those of the trainer."""
    folder.mkdir()
    config = folder.with_suffix(".yaml")
    lines = (f"  {name}: {json.dumps(value)}\n" for name, value in settings.items())
    config.write_text("training:\n" + ("".join(lines) or "  updates: 12\n"))
    module = "launch" if ranks == 1 else "launch_ranks"
    command = [sys.executable, "-m", f"reprokit.runtime.{module}", "--run-dir", str(folder)]
    command += ["--config", str(config), "--seed", "42", "--ranks", str(ranks), *words, "--", str(TRAINER)]
    variables = {**os.environ, "PYTHONPATH": str(PROJECT), "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, text=True)


def ended(process):
    """Its exit code and the last line that it said; no process of its own is left."""
    children = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
    _, said = process.communicate(timeout=120)
    _, alive = psutil.wait_procs(children, timeout=5)
    assert not alive
    return process.returncode, (said.splitlines() or [""])[-1]


def trained(folder, *words, **options):
    code, said = ended(begun(folder, *words, **options))
    assert code == 0, said
    return folder


def same(one, other):
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in NUMBERS)


def place(one, other):
    return compare_ranks(one, other).first["place"]


@pytest.mark.slow
def test_two_ranks_in_a_fixed_order_have_the_bytes_of_one(tmp_path):
    one, two = trained(tmp_path / "one", *FIXED, ranks=1), trained(tmp_path / "two", *FIXED)
    assert same(one, two)
    assert len((two / "trace.rank1.jsonl").read_bytes().splitlines()) == 12
    ranks = json.loads((two / "runtime.json").read_text())["ranks"]
    assert (ranks["world_size"], ranks["samples"], ranks["alike"]) == (2, True, [])


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A run of two ranks, added up by gloo."""
    return trained(tmp_path_factory.mktemp("good") / "run")


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("words", [(), FIXED], ids=["all_reduce", "fixed_order"])
def test_a_run_is_equal_to_the_next_one_on_every_rank(tmp_path, ranks, words):
    one, other = (trained(tmp_path / name, *words, ranks=ranks) for name in ("one", "other"))
    assert same(one, other)
    found = compare_ranks(one, other)
    assert (found.equal, found.records_compared) == (True, 12)
    assert len([*one.glob("trace*.jsonl")]) == ranks


@pytest.mark.slow
def test_four_ranks_in_a_fixed_order_have_the_bytes_of_two(tmp_path):
    assert same(trained(tmp_path / "two", *FIXED), trained(tmp_path / "four", *FIXED, ranks=4))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "where"),
    [
        ("seed", "rank 1, update 1: samples.digest"),
        ("gradient", "rank 1, update 3: what it gives to the collective gradients"),
        ("order of all", "rank 0, update 5: its collective 1 is 'gradients' and 'measures'"),
    ],
)
def test_a_fault_of_one_rank_is_named_with_its_update_and_collective(tmp_path, good, fault, where):
    assert place(good, trained(tmp_path / "other", fault=fault)) == where


@pytest.mark.slow
def test_ranks_that_are_fed_the_same_samples_are_recorded_as_alike(tmp_path):
    other = trained(tmp_path / "other", fault="samples")
    assert json.loads((other / "runtime.json").read_text())["ranks"]["alike"] == [[0, 1, 1]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("error", "error: rank 1 ended with exit code 1 after measures of update 2"),
        ("one leaves", "error: rank 1 ended with exit code 3 after measures of update 2"),
        (
            "one leaves at once",
            "error: rank 1 ended with exit code 0 after measures of update 2, before the end",
        ),
        (
            "all leave at once",
            "ended with exit code 0 after measures of update 2, before the end of the training",
        ),
        ("order of one", "error: rank 1 came to measures of update 5 where rank 0 came to gradients"),
        ("drift", "error: ranks 0 and 1 do not hold one model: their metrics differ from record 3 on"),
        ("hidden drift", "error: ranks 0 and 1 do not hold one model: update 3: parameter weight. expected"),
        ("late drift", "error: ranks 0 and 1 do not hold one model: checkpoint final_model.pt. expected"),
        ("metrics removed", "error: rank 1 left no metrics.jsonl: No such file or directory"),
    ],
)
def test_a_run_whose_ranks_are_at_odds_ends_with_the_reason(tmp_path, fault, said):
    code, last = ended(begun(tmp_path / "run", "--rank-timeout", "10", fault=fault))
    assert code == 3
    assert said in last


@pytest.mark.slow
def test_a_rank_that_hangs_in_a_run_that_is_to_be_killed_is_no_planned_kill(tmp_path):
    words = ("--stop-at", "8", "--rank-timeout", "3")
    code, last = ended(begun(tmp_path / "planned", *words))
    assert code == -signal.SIGKILL
    code, last = ended(begun(tmp_path / "hangs", *words, fault="one sleeps"))
    assert code == 3
    assert last.startswith(
        "error: rank 1 hangs after measures of update 2: rank 0 waited 3 s at gradients of"
    )


def test_a_training_alone_that_ends_its_process_early_has_not_run(tmp_path):
    code, last = ended(begun(tmp_path / "run", ranks=1, fault="all leave"))
    assert code == 3
    assert "the trainer ended the process, with exit code 0, before `train` returned" in last


@pytest.mark.slow
def test_ranks_that_are_all_stopped_in_no_collective_end_the_run_within_a_minute(tmp_path):
    process = begun(tmp_path / "run", fault="all sleep")
    began = time.monotonic()
    code, last = ended(process)
    assert time.monotonic() - began < _UNTIL_S + 20  # it begins with the imports of both
    assert code == 3
    assert last.startswith("error: rank 0 hangs after measures of update 2; rank 1 hangs after measures of")


@pytest.mark.slow
@pytest.mark.parametrize(("ranks", "rank"), [(2, 0), (2, 1), (4, 2), (2, "all")])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_rank_that_dies_or_hangs_ends_the_run_within_a_minute(tmp_path, ranks, rank, how):
    process = begun(tmp_path / "run", ranks=ranks, updates=10_000_000)
    victims = [_rank_of(process, one, tmp_path / "run") for one in ((0, 1) if rank == "all" else (rank,))]
    began = time.monotonic()
    for victim in victims:
        os.kill(victim.pid, how)
    code, last = ended(process)
    assert time.monotonic() - began < _UNTIL_S
    assert code == 3
    word = "was ended by SIGKILL" if how == signal.SIGKILL else "hangs"
    assert re.match(f"error: rank {'[01]' if rank == 'all' else rank} {word}", last)


@pytest.mark.slow
@pytest.mark.parametrize("do_train", [True, False], ids=["when they train", "when they import"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_ranks_do_not_outlive_who_watches_them(tmp_path, monkeypatch, do_train, how):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    process = begun(tmp_path / "run", updates=10_000_000)
    if do_train:
        _rank_of(process, 1, tmp_path / "run")
    until = time.monotonic() + 60
    while len(ranks := psutil.Process(process.pid).children()) < 2:
        assert time.monotonic() < until
    process.send_signal(how)
    _, alive = psutil.wait_procs(ranks, timeout=10)
    process.communicate()
    assert (alive, process.returncode) == ([], -how)
    if how == signal.SIGTERM:
        assert [*tmp_path.glob("reprokit-ranks-*")] == []


def _rank_of(process, rank, folder):
    """The process of a rank, once the ranks have trained for a while."""
    until = time.monotonic() + 90
    trace = folder / "trace.rank1.jsonl"
    while not trace.is_file() or trace.read_bytes().count(b"\n") < 20:
        assert time.monotonic() < until
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.2)
    for child in psutil.Process(process.pid).children():
        words = child.cmdline()
        if words[words.index("--rank") + 1] == str(rank):
            return child
    raise AssertionError(f"no rank {rank}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("then", "now", "words", "equal"),
    [(2, 2, (), True), (2, 4, FIXED, True), (4, 1, FIXED, True), (2, 4, (), False), (2, 1, (), False)],
)
def test_a_run_is_resumed_on_as_many_ranks_or_in_a_fixed_order(tmp_path, then, now, words, equal):
    whole = trained(tmp_path / "whole", *words, ranks=then)
    checkpoint = ("--resume-from", str(whole / "checkpoints" / "checkpoint_8.pt"))
    code, last = ended(begun(tmp_path / "resumed", *words, *checkpoint, ranks=now, updates=12))
    if not equal:
        assert code == 3
        assert "the checkpoint is of other ranks" in last
        return
    assert code == 0, last
    rest = (whole / "metrics.jsonl").read_bytes().splitlines()[8:]
    assert (tmp_path / "resumed" / "metrics.jsonl").read_bytes().splitlines() == rest
    final = [(folder / NUMBERS[1]).read_bytes() for folder in (whole, tmp_path / "resumed")]
    assert final[0] == final[1]
    if then == now:
        names = ("trace.jsonl", "trace.rank1.jsonl")
        for name in names:
            later = (whole / name).read_bytes().splitlines()[8:]
            assert (tmp_path / "resumed" / name).read_bytes().splitlines() == later


RECIPE = """\
schema: 1
name: line
title: A line on two ranks
variant: cpu
trainer: ranked_trainer
seeds: [42]
platforms: [cpu-x86_64]
ranks: {world_size: 2}
training:
  updates: 12
nondeterminism: []
"""


@pytest.fixture
def project(tmp_path):
    """A project with a recipe of ranks, and the pinned environments of this one."""
    for name in ("recipes/line", "recipes/trainers"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "recipes" / "line" / "recipe.yaml").write_text(RECIPE)
    shutil.copy(TRAINER, tmp_path / "recipes" / "trainers")
    shutil.copytree(PROJECT / "images", tmp_path / "images")
    shutil.copy(PROJECT / "pyproject.toml", tmp_path)
    return tmp_path


def asked(project, *words):
    """The tool at work, in a process of its own; its temporary files are below the project."""
    room = project / "temporary"
    room.mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-m", "reprokit", *words, "--json"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(PROJECT), "TMPDIR": str(room)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def told(project, *words):
    return json.loads(asked(project, *words).communicate()[0])


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("backend", ["local", "docker"])
def test_a_recipe_of_ranks_is_reproduced(project, backend, request):
    if backend == "docker":
        request.getfixturevalue("engine")
    report = told(project, "reproduce", "line", "--backend", backend)
    rows = {one["id"]: one for one in report["checks"]}
    assert report["verdict"] == "NO_GOLDEN"
    assert {rows[name]["status"] for name in ("repeatable", "trace_equal", "distinct")} == {"PASSED"}
    assert "2 ranks" in rows["distinct"]["reason"]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("fault", "verdict", "words"),
    [
        ("samples", "NO_GOLDEN", "ranks 0 and 1 train on the same samples in update 1"),
        (
            "error",
            "NOT_RUN",
            "rank 1 ended with exit code 1 after measures of update 2: ValueError: a planted",
        ),
        (
            "all leave after the last update",
            "NOT_RUN",
            "the trainer ended the process, with exit code 0, before `train` returned",
        ),
        ("hidden drift", "NOT_RUN", "ranks 0 and 1 do not hold one model: update 3: parameter weight"),
    ],
)
def test_a_recipe_of_ranks_that_fail_is_told_with_the_rank(project, fault, verdict, words):
    report = told(project, "reproduce", "line", "--backend", "local", "--set", f"training.fault={fault}")
    assert report["verdict"] == verdict
    assert words in json.dumps(report, ensure_ascii=False)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_recipe_of_ranks_is_equal_when_it_is_resumed(project):
    report = told(project, "reproduce", "line", "--backend", "local", "--resume")
    row = next(one for one in report["checks"] if one["id"] == "resume_equal")
    assert row["status"] == "PASSED", row


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_rank_that_is_stopped_ends_what_the_tool_runs_and_nothing_is_left(project):
    words = ("--backend", "local", "--set", "training.updates=10000000")
    tool = asked(project, "reproduce", "line", *words)
    victim = _rank_of_tool(tool, project)
    processes = psutil.Process(tool.pid).children(recursive=True)
    began = time.monotonic()
    os.kill(victim.pid, signal.SIGSTOP)
    out, _ = tool.communicate(timeout=300)
    assert time.monotonic() - began < _UNTIL_S
    report = json.loads(out)
    assert report["verdict"] == "NOT_RUN"
    assert "rank 1 hangs" in json.dumps(report)
    assert psutil.wait_procs(processes, timeout=5)[1] == []
    assert [*(project / "temporary").glob("reprokit-ranks-*")] == []


def _rank_of_tool(tool, project):
    """The process of rank 1 below the tool, once the ranks have trained for a while."""
    until = time.monotonic() + 300
    while not any(one.stat().st_size > 20_000 for one in project.glob("runs/**/trace.rank1.jsonl")):
        assert time.monotonic() < until
        assert tool.poll() is None, tool.communicate()
        time.sleep(0.2)
    for child in psutil.Process(tool.pid).children(recursive=True):
        if "--rank 1 " in f"{' '.join(child.cmdline())} " and "reprokit.runtime.launch" in child.cmdline():
            return child
    raise AssertionError("no rank 1")
