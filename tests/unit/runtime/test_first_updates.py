"""A training asked for its first updates: where it ends, and that no one can take it for a whole one."""

import json

import pytest
import torch

from reprokit.core.records import STOPPED_EARLY
from reprokit.runtime.first_updates import EnoughUpdates, FirstUpdatesMetrics, FirstUpdatesTrace
from reprokit.runtime.launch import main

pytestmark = pytest.mark.usefixtures("global_state", "imported_modules")

TRAINER = """
from dataclasses import dataclass
import torch

@dataclass(frozen=True)
class Training:
    steps: int = 5

@dataclass(frozen=True)
class Config:
    training: Training = Training()

def train(config, run):
    run.seeding.seed_everything()
    for step in range(1, config.training.steps + 1):
        try:
            run.trace.update(step=step, parameters={"weight": torch.rand(2)})
            if step % EVERY == 0:
                run.metrics.write(step=step, **{"loss/value": float(step)})
        except Exception:
            raise SystemExit("the trainer caught the end")
    (run.dir / "trained to the end").touch()
"""


def written(path):
    return [json.loads(line)["step"] for line in path.read_text().splitlines()]


def first_updates(tmp_path, *options, every=1):
    (tmp_path / "trainer.py").write_text(TRAINER.replace("EVERY", str(every)))
    (tmp_path / "config.yaml").write_text("training:\n  steps: 5\n")
    out = tmp_path / "out"
    out.mkdir(exist_ok=True)
    words = ["--run-dir", out, "--config", tmp_path / "config.yaml", "--seed", "7", *options, "--"]
    return main([str(word) for word in [*words, tmp_path / "trainer.py"]]), out


def test_the_training_ends_after_the_metrics_that_follow_the_last_update(tmp_path):
    code, out = first_updates(tmp_path, "--max-updates", "3")

    assert code == STOPPED_EARLY
    assert written(out / "trace.jsonl") == [1, 2, 3]
    assert written(out / "metrics.jsonl") == [1, 2, 3]
    assert not (out / "trained to the end").exists()


def test_where_no_metrics_follow_it_ends_at_the_next_update(tmp_path):
    code, out = first_updates(tmp_path, "--max-updates", "3", every=2)

    assert code == STOPPED_EARLY
    assert written(out / "trace.jsonl") == [1, 2, 3]
    assert written(out / "metrics.jsonl") == [2]


def test_the_first_updates_are_those_of_the_whole_training(tmp_path):
    _, out = first_updates(tmp_path, "--max-updates", "3")
    first = (out / "trace.jsonl").read_text()
    out.rename(tmp_path / "stopped")

    code, out = first_updates(tmp_path)

    assert code == 0
    assert (out / "trace.jsonl").read_text().startswith(first)


def test_a_training_that_ends_by_itself_before_is_no_whole_run_either(tmp_path):
    code, out = first_updates(tmp_path, "--max-updates", "9")

    assert (out / "trained to the end").exists()
    assert code == STOPPED_EARLY != 0


@pytest.mark.parametrize("options", [("--max-updates", "0"), ("--max-updates", "2", "--resume-from", "x.pt")])
def test_no_updates_and_a_training_gone_on_with_are_refused(tmp_path, options, capsys):
    with pytest.raises(SystemExit) as ended:
        first_updates(tmp_path, *options)

    assert ended.value.code == 2
    assert "--max-updates" in capsys.readouterr().err


def test_the_end_is_not_caught_by_except_exception(tmp_path):
    assert not issubclass(EnoughUpdates, Exception)
    with FirstUpdatesTrace(tmp_path / "trace.jsonl", max_updates=1) as trace:
        with FirstUpdatesMetrics(tmp_path / "metrics.jsonl", trace=trace) as metrics:
            metrics.write(step=0, **{"loss/value": 1.0})
            trace.update(step=1, parameters={"weight": torch.zeros(1)})
            with pytest.raises(EnoughUpdates):
                metrics.write(step=1, **{"loss/value": 1.0})
        with pytest.raises(EnoughUpdates):
            trace.update(step=2, parameters={})
    assert written(tmp_path / "trace.jsonl") == [1]
