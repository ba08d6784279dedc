"""Patterns for what programs print find the numbers again, and nothing else."""

from __future__ import annotations

import pytest

from reprokit.adapters import canonical_records
from reprokit.harness.initialising.printed_metrics import propose_patterns


@pytest.mark.parametrize(
    ("printed", "records"),
    [
        (
            "epoch 1 loss: 0.5\nepoch 2 loss: 0.25\n",
            ['{"step": 1, "loss": 0.5}', '{"step": 2, "loss": 0.25}'],
        ),
        ("iter=1,loss=1e-3\niter=2,loss=nan\n", ['{"step": 1, "loss": 0.001}', '{"step": 2, "loss": NaN}']),
        ("accuracy = 0.97\n", ['{"step": 0, "accuracy": 0.97}']),
        ("a 1\na 2\nx: 0.5\rx: 0.25\n", ['{"step": 0, "x": 0.5}', '{"step": 1, "x": 0.25}']),
    ],
)
def test_every_number_that_has_a_name_is_found_again(tmp_path, printed, records):
    log = tmp_path / "stdout.log"
    log.write_text(printed)
    made = canonical_records(tmp_path / "output", logs=[log], printed=propose_patterns(printed), places={})
    assert [line.decode() for line in made.records] == records


def test_where_no_number_has_a_name_nothing_is_proposed():
    assert propose_patterns("hello\n1 2 3\n") == ()
