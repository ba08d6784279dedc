"""The shape of a log: which metrics have a value that is not finite."""

import pytest

from reprokit.adapters import log_shape


@pytest.mark.parametrize(
    "written", ["NaN", '"NaN"', '"nan"', '"-nan"', '" inf"', '"-Infinity"', '["NaN"]', "null"]
)
def test_what_is_not_finite_counts_as_such_also_where_it_is_text(tmp_path, written):
    path = tmp_path / "metrics.jsonl"
    path.write_text(f'{{"step": 0, "loss": 0.5}}\n{{"step": 1, "loss": {written}}}\n')
    assert log_shape.shape_of(path).not_finite == {"loss"}


@pytest.mark.parametrize("written", ["0.5", '"info"', '"nano"', '"0.5"', '""'])
def test_other_texts_and_numbers_are_finite(tmp_path, written):
    path = tmp_path / "metrics.jsonl"
    path.write_text(f'{{"step": 0, "loss": {written}}}\n')
    assert log_shape.shape_of(path).not_finite == frozenset()
