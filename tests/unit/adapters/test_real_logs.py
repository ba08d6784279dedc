"""Logs that real libraries wrote (``logs/README.md``): every number comes back, but what a format loses."""

import lzma
import math
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from reprokit import adapters
from reprokit.adapters.folders.canonical import canonical_records
from reprokit.adapters.printed import printed_numbers

from .logs.make_logs import NOT_INSTALLED, VALUES

LOGS = Path(__file__).parent / "logs"
LARGEST = sys.float_info.max
#: What SQLite and MLflow make of some numbers: no sign of zero, the largest float64 for an infinity.
IN_DATABASE = {-0.0: 0.0, math.inf: LARGEST, -math.inf: -LARGEST}
MLFLOW = [0.0 if value == 0 else IN_DATABASE.get(value, value) for value in VALUES]


def bits(value):
    """Of a float, whole numbers included: W&B writes 2.0 as 2."""
    return struct.pack("<d", math.nan if math.isnan(value) else float(value)).hex()


def unpacked(name, folder):
    """A copy of the logs of one library."""
    place = folder / name
    shutil.copytree(LOGS / name, place)
    for packed in place.rglob("*.xz"):
        packed.with_suffix("").write_bytes(lzma.decompress(packed.read_bytes()))
        packed.unlink()
    for run in place.glob("mlruns/*/*"):  # git keeps no times: the first run is the one that logged `twice`
        if run.is_dir():
            os.utime(run, (1, 1 if (run / "metrics" / "twice").exists() else 2))
    return place


def read(folder):
    """Name of each source → its records."""
    found = {}
    for source in adapters.find_all(folder):
        readings = list(adapters.adapter_named(source.adapter).read(source.path))
        assert all(one.record is not None and not one.notes for one in readings), readings
        found[source.name] = [one.record for one in readings]
    return found


#: Folder → name of the source, of the metric, and the numbers.
EXPECTED = {
    "wandb": ("wandb/offline-run-{time}-{id}/run-{id}.wandb", "eval.accuracy", VALUES),
    "mlflow": ("mlflow.db", "run 2/eval/loss", MLFLOW),
    "mlflow_files": ("mlruns/{id}/{id} (2)", "eval/loss", VALUES),
    "keras": ("training.csv", "loss", VALUES),
    "stable_baselines3": ("progress.csv", "train/loss", VALUES),
    "lightning": ("lightning_logs/version_0/metrics.csv", "train_loss", VALUES),
    "transformers": ("trainer_state.json", "value", VALUES),
    "ray": (
        "PPO_{time}/PPO_CartPole-v1_{id}_00000_0_{time}/result.json",
        "env_runners/episode_return_mean",
        VALUES,
    ),
    "hydra": ("multirun/{date}/{time}/1/metrics.csv", "loss", [0.1, -0.0]),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_every_float_comes_back_in_every_bit(name, tmp_path):
    check(name, unpacked(name, tmp_path))


def check(name, folder):
    source, metric, values = EXPECTED[name]
    records = read(folder)[source]
    found = [record[metric] for record in records if isinstance(record.get(metric), float | int)]
    assert list(map(bits, found)) == list(map(bits, values))


def test_what_ray_tune_and_monitor_add_by_themselves_is_left_out(tmp_path):
    rays = read(unpacked("ray", tmp_path))
    *_, table = rays.values()
    assert len(rays) == 2
    assert set(table[0]) == {
        "loss",
        "done",
        "training_iteration",
        "iterations_since_restore",
        "env_runners/episode_return_mean",
    }
    assert [record["loss"] for record in table[:2]] == VALUES[:2]
    assert read(unpacked("stable_baselines3", tmp_path))["monitor.csv"] == [
        {"r": 11.0, "l": 11},
        {"r": 10.0, "l": 10},
        {"r": 9.0, "l": 9},
    ]


def test_what_only_the_summary_of_wandb_holds_is_the_last_record(tmp_path):
    (records,) = read(unpacked("wandb", tmp_path)).values()
    assert records[0] == {"_step": 0, "eval.accuracy": 0.1, "loss": 0.1, "note": "step 0"}
    assert records[-1] == {"_step": 12, "best": 0.1}
    assert len(records) == len(VALUES) + 1


def test_a_metric_that_mlflow_got_twice_at_a_step_is_read_twice(tmp_path):
    for name, metric in (("mlflow", "run 1/twice"), ("mlflow_files", "twice")):
        records, *_ = read(unpacked(name, tmp_path)).values()
        assert sum(metric in record for record in records) == len(VALUES)


@pytest.mark.parametrize("name", EXPECTED)
def test_two_runs_in_folders_called_by_other_times_are_equal(name, tmp_path):
    one, other = unpacked(name, tmp_path / "a"), unpacked(name, tmp_path / "b")
    for folder in sorted((one, *one.rglob("*")), key=lambda path: -len(path.parts)):
        if folder.is_dir() and "2026" in folder.name:
            folder.rename(folder.with_name(folder.name.replace("2026", "2025")))
    assert adapters.compare_runs(one, other).identical
    made = canonical_records(other, places={})
    assert canonical_records(one, places={}).records == made.records
    assert made.sources


def test_the_last_states_of_bars_are_read(tmp_path):
    pattern = r"(?#final)epoch (?P<step>\d+).*loss=(?P<loss>\S+)\]"
    found = printed_numbers.read(LOGS / "tqdm" / "stderr.log", [pattern])
    assert [one.record for one in found] == [
        {"step": 0, "loss": 0.25},
        {"step": 1, "loss": 0.125},
        {"step": 2, "loss": 0.0833},
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", [*EXPECTED, "tqdm"])
def test_the_installed_library_writes_what_is_read(name, tmp_path):
    python = os.environ.get("REPROKIT_LOG_WRITERS", sys.executable)
    ended = subprocess.run(
        [python, LOGS / "make_logs.py", tmp_path, name],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if ended.returncode == NOT_INSTALLED:
        pytest.skip(f"{ended.stderr.strip().splitlines()[-1]}; $REPROKIT_LOG_WRITERS may name another Python")
    assert ended.returncode == 0, ended.stderr
    if name == "tqdm":
        pattern = r"(?#final)epoch (?P<step>\d+).*loss=(?P<loss>\S+)\]"
        assert [
            one.record["step"] for one in printed_numbers.read(tmp_path / name / "stderr.log", [pattern])
        ] == [0, 1, 2]
    else:
        check(name, tmp_path / name)
