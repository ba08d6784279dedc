"""The TensorBoard service: every line of every run becomes one event, once."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader


@pytest.fixture(scope="module")
def serve(project: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("serve", project / "images" / "tensorboard" / "serve.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


def shown(events: Path, run: str) -> list[tuple[int, dict[str, float]]]:
    path = events / run / "events.out.tfevents.reprokit"
    return [
        (event.step, {value.tag: round(value.tensor.float_val[0], 3) for value in event.summary.value})
        for event in EventFileLoader(str(path)).Load()
    ]


def write(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as stream:
        stream.write("".join(lines))


def test_numbers_become_scalars_at_their_step(serve, runs, tmp_path):
    write(runs / "r" / "1" / "metrics.jsonl", '{"step": 5, "a/x": 1.5, "n": 2, "b": true, "s": "no"}\n')
    assert serve.Follower(runs, tmp_path / "events").follow() == 1
    assert shown(tmp_path / "events", "r/1") == [(5, {"a/x": 1.5, "n": 2.0})]


def test_a_run_is_followed_while_it_writes_and_after_its_files_have_moved(serve, runs, tmp_path):
    follower = serve.Follower(runs, tmp_path / "events")
    during, after = runs / "r" / "1" / "output" / "metrics.jsonl", runs / "r" / "1" / "metrics.jsonl"
    write(during, '{"step": 1, "a": 1}\n', '{"step": 2, "a"')
    assert follower.follow() == 1
    write(during, ": 2}\n")
    during.rename(after)
    assert follower.follow() == 1
    assert follower.follow() == 0
    assert [step for step, _ in shown(tmp_path / "events", "r/1")] == [1, 2]


def test_lines_that_are_no_records_are_passed_over(serve, runs, tmp_path):
    write(runs / "r" / "metrics.jsonl", "not json\n", "[1]\n", '{"a": 1}\n', '{"step": 3, "a": 1}\n')
    serve.Follower(runs, tmp_path / "events").follow()
    assert [step for step, _ in shown(tmp_path / "events", "r")] == [3]


def test_the_runs_are_only_read(serve, runs, tmp_path):
    write(runs / "r" / "metrics.jsonl", '{"step": 3, "a": 1}\n')
    before = sorted(runs.rglob("*"))
    serve.Follower(runs, tmp_path / "events").follow()
    assert sorted(runs.rglob("*")) == before


def test_serving_ends_with_tensorboard_and_its_exit_code(serve, runs, tmp_path, monkeypatch):
    fake = tmp_path / "fake" / "tensorboard"
    fake.mkdir(parents=True)
    (fake / "__init__.py").write_text("")
    (fake / "main.py").write_text("import sys; sys.exit(0 if sys.argv[-1] == '6006' else 9)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "fake"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    arguments = [str(runs), "--events", str(tmp_path / "events"), "--every-s", "0.01", "--", "--port", "6006"]
    assert serve.main(arguments) == 0
    assert serve.main([*arguments[:-1], "1"]) == 9
