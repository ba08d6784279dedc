"""The tree of sums against a plain running sum."""

import numpy as np
import pytest

from recipes.parts.sum_tree import SumTree


def tree_of(*weights):
    tree = SumTree(len(weights))
    tree.set(np.arange(len(weights)), np.array(weights, dtype=float))
    return tree


@pytest.mark.parametrize("capacity", [1, 2, 3, 4, 5, 63, 64, 65])
def test_the_total_is_the_sum_of_the_leaves(capacity):
    weights = np.arange(1, capacity + 1, dtype=float)
    tree = tree_of(*weights)
    assert tree.total == weights.sum()
    assert tree.leaves.tolist() == weights.tolist()


def test_a_leaf_is_found_from_where_its_weight_begins_to_where_it_ends():
    tree = tree_of(2.0, 1.0, 4.0)
    assert tree.find(np.array([0.0, 1.99, 2.0, 2.99, 3.0, 6.99])).tolist() == [0, 0, 1, 1, 2, 2]


def test_a_leaf_without_weight_is_never_found():
    tree = tree_of(0.0, 3.0, 0.0, 0.0, 2.0, 0.0)
    assert set(tree.find(np.linspace(0, np.nextafter(5.0, 0), 1000)).tolist()) == {1, 4}
    assert tree.find(np.array([5.0])).tolist() == [4]  # rounding may bring a target to the very end


def test_changed_leaves_change_the_sums_and_the_last_of_two_values_counts():
    tree = tree_of(1.0, 1.0, 1.0)
    tree.set(np.array([2, 0, 2]), np.array([5.0, 0.5, 7.0]))
    assert tree.leaves.tolist() == [0.5, 1.0, 7.0]
    assert tree.total == 8.5
    assert tree.weights_of(np.array([2, 0])).tolist() == [7.0, 0.5]


def test_a_tree_put_back_from_its_leaves_has_the_same_bits_whatever_its_history():
    rng = np.random.default_rng(0)
    tree = SumTree(100)
    for _ in range(200):
        tree.set(rng.integers(100, size=7), rng.random(7))
    again = tree_of(*tree.leaves)
    assert again.total == tree.total
    targets = rng.random(1000) * tree.total
    assert again.find(targets).tolist() == tree.find(targets).tolist()
