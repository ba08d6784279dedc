"""Ids of a batch: of every kind of list, never two texts for one, never an address of memory."""

import numpy as np
import pytest
import torch

from reprokit.instrumentation.reprokit_hook.loader_ids import of_batch


@pytest.mark.parametrize(
    "batch",
    [
        [7, 1, 3],
        (7, 1, 3),
        torch.tensor([7, 1, 3]),
        np.array([7, 1, 3], dtype=np.uint8),
        list(np.array([7, 1, 3])),
        list(torch.tensor([7, 1, 3])),
        {7: 0, 1: 0, 3: 0}.keys(),
    ],
)
def test_a_batch_of_integers_has_its_ids_whatever_holds_it(batch):
    assert of_batch(batch).ids == [7, 1, 3]


def test_long_batches_that_differ_by_one_id_have_other_ids():
    swapped = torch.arange(4000)
    swapped[[2000, 2001]] = swapped[[2001, 2000]]
    assert of_batch(swapped).ids != of_batch(torch.arange(4000)).ids == of_batch(range(4000)).ids


def test_what_is_no_integer_is_never_rounded_to_one():
    assert of_batch([torch.tensor(0.25), np.float64(0.25), 0.25]).ids == ["0.25"] * 3
    assert of_batch([np.str_("1_2"), "1_2"]).ids == ["'1_2'"] * 2


def test_long_texts_that_begin_alike_are_told_apart():
    folder = "/data/" + 90 * "x"
    first, other = of_batch([f"{folder}/1.png", f"{folder}/2.png"]).ids
    assert first != other
    assert first[:40] == other[:40]
    assert len(first) == 60


def test_an_iterator_is_left_as_it_is():
    numbers = iter([4, 5])
    assert of_batch(numbers).opaque
    assert list(numbers) == [4, 5]


def test_objects_without_a_name_have_no_address_in_their_text():
    found = of_batch([object(), 3, object()])
    assert (found.ids, found.nameless) == (["<object object>", 3, "<object object>"], (0, 2))
    assert not of_batch(["lost at 0x12"]).nameless
