"""A table is read as it is written, and its folds follow from its rows alone."""

import gzip

import numpy as np
import pytest

from recipes.parts.labelled_rows import Rows, read_rows, row_digests, stratified_folds
from reprokit.errors import DataError


def table(num_rows=200, num_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    return Rows(rng.normal(size=(num_rows, 4)).astype(np.float32), rng.integers(num_classes, size=num_rows))


def test_a_table_is_read_compressed_or_not_without_its_header(tmp_path):
    text = b"2,two,columns\n1.5,2,0\n-3,4e1,1\n"
    for name, content in (("plain.csv", text), ("small.csv.gz", gzip.compress(text))):
        (tmp_path / name).write_bytes(content)
        rows = read_rows(tmp_path / name, header_rows=1)
        assert rows.features.dtype == np.float32
        assert rows.features.tolist() == [[1.5, 2.0], [-3.0, 40.0]]
        assert rows.labels.tolist() == [0, 1]


@pytest.mark.parametrize("text", ["1,2,a\n", "1,2,0.5\n", "1,2,-1\n", "1,2,0\n3,1\n", "7\n"])
def test_what_is_no_table_with_labels_is_refused(text, tmp_path):
    (tmp_path / "rows.csv").write_text(text)
    with pytest.raises(DataError):
        read_rows(tmp_path / "rows.csv")


def test_every_fold_has_its_share_of_every_class():
    rows = table()
    folds = stratified_folds(rows, num_folds=5)
    assert set(folds.tolist()) == set(range(5))
    for label in range(3):
        counts = np.bincount(folds[rows.labels == label], minlength=5)
        assert counts.max() - counts.min() <= 1


def test_a_row_keeps_its_fold_in_whatever_order_the_rows_come():
    rows = table()
    order = np.random.default_rng(1).permutation(200)
    again = stratified_folds(Rows(rows.features[order], rows.labels[order]), num_folds=5)
    assert (again == stratified_folds(rows, num_folds=5)[order]).all()


def test_equal_rows_are_never_in_two_folds_even_with_other_labels():
    rows = table(60)
    features = np.concatenate([rows.features, rows.features])
    labels = np.concatenate([rows.labels, (rows.labels + 1) % 3])
    folds = stratified_folds(Rows(features, labels), num_folds=4)
    assert (folds[:60] == folds[60:]).all()


def test_another_salt_deals_anew_and_minus_zero_is_zero():
    rows = table()
    one, other = (stratified_folds(rows, num_folds=5, salt=salt) for salt in ("", "42"))
    assert (one != other).any()
    assert row_digests(np.array([[-0.0]], dtype=np.float32)) == row_digests(np.zeros((1, 1), np.float32))
