"""Names of sources: what is new in every run is left out of them, and nothing else."""

import os

import pytest

from reprokit import adapters
from reprokit.adapters.folders.source_names import lasting


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("outputs/2026-11-22/12-34-56/metrics.csv", "outputs/{date}/{time}/metrics.csv"),
        ("multirun/2026-11-22/12-34-56/3/metrics.csv", "multirun/{date}/{time}/3/metrics.csv"),
        (
            "runs/CartPole-v1__ppo__1__1763813000/tensorboard events",
            "runs/CartPole-v1__ppo__1__{time}/tensorboard events",
        ),
        ("runs/Nov22_12-34-56_some-host/tensorboard events", "runs/{time}_{host}/tensorboard events"),
        (
            "wandb/offline-run-20261122_123456-ab12cd34/run-ab12cd34.wandb",
            "wandb/offline-run-{time}-{id}/run-{id}.wandb",
        ),
        ("wandb/run-20261122_123456-my-run/run-my-run.wandb", "wandb/run-{time}-{id}/run-{id}.wandb"),
        ("mlruns/123456789012345678/0123456789abcdef0123456789abcdef", "mlruns/{id}/{id}"),
        (
            "PPO_2026-11-22_12-34-56/PPO_CartPole-v1_1b2c3_00001_1_lr=0.1_2026-11-22_12-34-57/result.json",
            "PPO_{time}/PPO_CartPole-v1_{id}_00001_1_lr=0.1_{time}/result.json",
        ),
        ("PPO_CartPole-v1_2026-11-22_12-34-56abcd_xyz/progress.csv", "PPO_CartPole-v1_{time}/progress.csv"),
        ("f81d4fae-7dec-11d0-a765-00a0c91e6bf6.csv", "{id}.csv"),
        ("log_20261122-123456.csv", "log_{time}.csv"),
        ("log-1763813000.123.csv", "log-{time}.csv"),
        ("2026-11-22T12:34:56.123456.csv", "{time}.csv"),
        ("worker-pid4711.jsonl", "worker-pid{pid}.jsonl"),
        ("tmpab12cd34/metrics.csv", "tmp{id}/metrics.csv"),
    ],
)
def test_times_hosts_and_ids_are_left_out(name, expected):
    assert lasting(name) == expected


@pytest.mark.parametrize(
    "name",
    [
        "lightning_logs/version_0/metrics.csv",
        "checkpoint-500/trainer_state.json",
        "seed-42/rank_0/metrics.jsonl",
        "1e-05/10-20-30-40/a.csv",
        "rapid123.csv",
        "run-1.csv",
        "layer_12_99_56.csv",
        "cafe/0.monitor.csv",
        "steps-100000.csv",
    ],
)
def test_what_the_program_chose_stays(name):
    assert lasting(name) == name


def test_sources_that_are_then_called_alike_are_numbered_in_the_order_they_were_begun(tmp_path):
    for time in ("12-00-01", "12-00-00", "11-59-59"):
        place = tmp_path / "outputs" / "2026-11-22" / time
        place.mkdir(parents=True)
        (place / "metrics.csv").write_text("step,loss\n0,1.5\n")
    found = adapters.find_all(tmp_path)
    name = "outputs/{date}/{time}/metrics.csv"
    assert [source.name for source in found] == [name, f"{name} (2)", f"{name} (3)"]
    assert [source.path.parent.name for source in found] == ["11-59-59", "12-00-00", "12-00-01"]


def test_random_ids_say_nothing_of_the_order(tmp_path):
    for written, name in ((2, "ffffffff"), (1, "00000000"), (3, "88888888")):
        path = tmp_path / f"tmp{name}" / "metrics.csv"
        path.parent.mkdir()
        path.write_text("step,loss\n0,1.5\n")
        os.utime(path, (written, written))
    assert [source.path.parent.name[3:] for source in adapters.find_all(tmp_path)] == [
        "00000000",
        "ffffffff",
        "88888888",
    ]


def test_two_runs_are_paired_by_what_lasts(tmp_path):
    for run, time in (("a", "12-34-56"), ("b", "23-45-01")):
        for job in ("0", "1"):
            place = tmp_path / run / "multirun" / "2026-11-22" / time / job
            place.mkdir(parents=True)
            (place / "metrics.csv").write_text(f"step,loss\n0,{job}.5\n")
    comparison = adapters.compare_runs(tmp_path / "a", tmp_path / "b")
    assert comparison.identical
    assert comparison.problems == ()
    assert len(comparison.per_metric) == 2
