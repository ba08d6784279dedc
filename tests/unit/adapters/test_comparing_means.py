"""Files whose metrics are judged by means: the rule reaches every format, and nothing else changes."""

from __future__ import annotations

import json

import pytest

from reprokit import adapters
from reprokit.core.tolerance import Tolerance, Tolerances

MEANS = Tolerances(metrics={"loss": Tolerance(rtol=0.01, mean_of=4)})
EVEN = [1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0]
NOISY = [0.5, 1.5, 0.9, 1.1, 2.5, 1.5, 2.25, 1.75]


@pytest.fixture(params=["metrics.jsonl", "progress.csv"])
def pair(request, tmp_path):
    def written(*sides):
        found = []
        for number, values in enumerate(sides):
            path = tmp_path / str(number) / request.param
            path.parent.mkdir(exist_ok=True)
            rows = [{"step": at, "loss": value, "other": 0.25} for at, value in enumerate(values)]
            if path.suffix == ".csv":
                lines = ["step,loss,other", *(",".join(map(repr, row.values())) for row in rows)]
            else:
                lines = list(map(json.dumps, rows))
            path.write_text("".join(f"{line}\n" for line in lines))
            found.append(path)
        return found

    return written


def test_noise_passes_approximately_and_fails_exactly(pair):
    files = pair(EVEN, NOISY)
    found = adapters.compare(*files, tolerances=MEANS)
    assert (found.within_tolerance, found.identical, found.records_compared) == (True, False, 8)
    assert not adapters.compare(*files).within_tolerance


def test_a_shift_in_one_window_fails_there(pair):
    found = adapters.compare(
        *pair(EVEN, [*NOISY[:4], *(value * 1.02 for value in NOISY[4:])]), tolerances=MEANS
    )
    assert (found.within_tolerance, found.divergence.step, found.divergence.metric) == (False, 4, "loss")


def test_nan_is_never_part_of_a_mean(pair):
    sides = [*NOISY[:3], float("nan"), *NOISY[4:]]
    assert not adapters.compare(*pair(EVEN, sides), tolerances=MEANS).within_tolerance


def test_a_record_less_is_a_difference(pair):
    assert not adapters.compare(*pair(EVEN, NOISY[:-1]), tolerances=MEANS).within_tolerance
