"""A preparation that knows nothing of what is held out passes; every planted leak is found and named."""

import numpy as np
import pytest

from recipes.parts.labelled_rows import Rows, stratified_folds
from recipes.parts.leaks import leaks_of

NAMES = ["height", "weight", "age"]


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return Rows(rng.normal(size=(60, 3)).astype(np.float32), rng.integers(3, size=60))


@pytest.fixture
def folds(rows):
    return stratified_folds(rows, num_folds=3)


def standardised(rows, known):
    return (rows.features - known.mean(axis=0)) / known.std(axis=0)


def honest(rows, training):
    return standardised(rows, rows.features[training])


def fitted_on_all_rows(rows, training):
    return standardised(rows, rows.features)


def one_column_scaled_by_all(rows, training):
    prepared = honest(rows, training)
    prepared[:, 1] = rows.features[:, 1] / rows.features[:, 1].max()
    return prepared


def with_the_label_as_a_column(rows, training):
    return np.column_stack([honest(rows, training), rows.labels])


def mean_label_as_a_column(rows, training):
    return np.column_stack([honest(rows, training), np.full(len(rows.labels), rows.labels.mean())])


def held_out_by_themselves(rows, training):
    prepared = honest(rows, training)
    prepared[~training] = standardised(Rows(rows.features[~training], None), rows.features[~training])
    return prepared


def found(prepare, rows, folds):
    return {(one.kind, one.column) for one in leaks_of(prepare, rows, folds, names=NAMES)}


def test_a_preparation_fitted_on_the_training_rows_has_no_leak(rows, folds):
    assert leaks_of(honest, rows, folds) == ()


@pytest.mark.parametrize(
    ("prepare", "kind", "columns"),
    [
        (fitted_on_all_rows, "fitted_on_held_out", {0, 1, 2}),
        (one_column_scaled_by_all, "fitted_on_held_out", {1}),
        (with_the_label_as_a_column, "label_used", {3}),
        (mean_label_as_a_column, "fitted_on_held_out", {3}),
        (held_out_by_themselves, "held_out_together", {0, 1, 2}),
    ],
)
def test_a_leak_of_the_preparation_is_found_in_every_fold(prepare, kind, columns, rows, folds):
    leaks = leaks_of(prepare, rows, folds, names=NAMES)
    for fold in range(3):
        assert {one.column for one in leaks if one.kind == kind and one.fold == fold} == columns


def test_the_row_that_shows_a_leak_is_one_that_is_held_out(rows, folds):
    def largest_of_all(rows, training):
        return np.where(np.arange(3) == 1, rows.features / rows.features[:, 1].max(), honest(rows, training))

    first = leaks_of(largest_of_all, rows, folds, names=NAMES)[0]
    assert folds[first.row] == first.fold
    assert first.told == (
        f"column weight of the training rows changes with held-out row {first.row} of fold {first.fold}"
    )


def test_a_row_that_is_there_twice_in_two_folds_is_named(rows, folds):
    features = rows.features.copy()
    row = int(np.flatnonzero(folds == 1)[0])
    known = int(np.flatnonzero(folds == 0)[0])
    features[row] = features[known]
    leaks = leaks_of(honest, Rows(features, rows.labels), folds)
    assert [one.kind for one in leaks] == ["duplicate"]
    assert f"row {max(row, known)} of fold" in leaks[0].told


def test_the_label_among_the_features_is_named_whatever_stands_for_a_class(rows, folds):
    features = rows.features.copy()
    features[:, 2] = np.array([7.0, -1.0, 3.5])[rows.labels]
    leaks = leaks_of(honest, Rows(features, rows.labels), folds, names=NAMES)
    assert [(one.kind, one.told) for one in leaks] == [
        ("label_column", "each of the 3 values of column age is of one class")
    ]


def test_a_column_that_has_no_value_is_no_leak(rows, folds):
    features = rows.features.copy()
    features[:, 0] = np.nan
    assert leaks_of(honest, Rows(features, rows.labels), folds) == ()


def less_the_mean_of_five(rows, training):
    values, held_out = rows.features.copy(), np.flatnonzero(~training)
    values[held_out] -= rows.features[held_out[:5]].mean(axis=0)
    return values


def more_the_row_before(rows, training):
    values, held_out = rows.features.copy(), np.flatnonzero(~training)
    values[held_out[1:4]] += rows.features[held_out[:3]]
    return values


@pytest.mark.parametrize("prepare", [less_the_mean_of_five, more_the_row_before])
def test_a_few_held_out_rows_that_know_of_a_few_others_are_found(prepare, rows, folds):
    leaks = leaks_of(prepare, rows, folds, names=NAMES)
    assert {(one.kind, one.fold) for one in leaks} == {("held_out_together", fold) for fold in range(3)}


def test_labels_that_are_only_compared_with_each_other_are_found(rows, folds):
    two = Rows(rows.features, rows.labels % 2)

    def agrees_with_the_one_before(given, training):
        held_out, column = ~training, np.zeros((len(given.labels), 1), dtype=np.float32)
        labels = given.labels[held_out]
        column[held_out, 0] = labels == np.roll(labels, 1)
        return np.hstack([given.features, column])

    leaks = leaks_of(agrees_with_the_one_before, two, folds)
    assert {(one.kind, one.column, one.fold) for one in leaks} == {
        ("label_used", 3, fold) for fold in range(3)
    }


def test_the_smallest_of_all_rows_is_found_in_every_fold(rows, folds):
    leaks = leaks_of(lambda given, _: given.features - given.features.min(axis=0), rows, folds)
    assert {one.fold for one in leaks if one.kind == "fitted_on_held_out"} == {0, 1, 2}
