"""Samples in the trace: order counts, the type of the ids does not, and an id stands for one content."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reprokit.errors import DataError, MetricsError
from reprokit.runtime.checkpoint import CheckpointStore
from reprokit.runtime.samples import as_ids, ids_digest, sample_contents, spelled, spelled_each
from reprokit.runtime.trace import Trace

pytestmark = pytest.mark.usefixtures("global_state")


def _records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def _traced(path, **samples):
    with Trace(path) as trace:
        trace.update(step=1, parameters={"w": torch.ones(2)}, **samples)
    return _records(path)[0]


def test_a_trace_without_samples_has_no_word_about_them(tmp_path):
    assert list(_traced(tmp_path / "trace.jsonl")) == ["update", "step", "parameters", "random"]


def test_samples_stand_before_what_they_change(tmp_path):
    record = _traced(tmp_path / "trace.jsonl", samples=[3, 4, 5, 9])
    assert list(record)[:4] == ["update", "step", "samples", "parameters"]
    assert record["samples"] == {"count": 4, "digest": ids_digest(as_ids([3, 4, 5, 9])), "ids": "3-5,9"}


def test_the_order_of_samples_counts():
    assert ids_digest(as_ids([1, 2])) != ids_digest(as_ids([2, 1]))


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int32, np.int64, np.uint64])
def test_the_type_of_the_ids_does_not_count(kind):
    assert ids_digest(as_ids(np.array([7, 1], dtype=kind))) == ids_digest(as_ids([7, 1]))
    assert ids_digest(as_ids(torch.tensor([7, 1]))) == ids_digest(as_ids([7, 1]))


@pytest.mark.parametrize(
    "ids", [[0.0, 1.0], [True], ["a"], [[1, 2]], [[1], [2, 3]], [2**64], np.array([2**63], dtype=np.uint64)]
)
def test_what_is_no_row_of_ids_is_refused(ids):
    with pytest.raises(MetricsError):
        as_ids(ids)


@pytest.mark.parametrize(
    ("ids", "text"),
    [
        ([], ""),
        ([5], "5"),
        ([5, 6], "5,6"),
        ([5, 6, 7], "5-7"),
        ([7, 6, 5], "7,6,5"),
        ([1, 1, 2, 3, 0], "1,1-3,0"),
        ([-2, -1, 0], "-2-0"),
        ([2**63 - 2, 2**63 - 1, -(2**63)], f"{2**63 - 2},{2**63 - 1},{-(2**63)}"),
    ],
)
def test_ids_are_spelled_in_order(ids, text):
    assert spelled(as_ids(ids)) == text


def test_a_sample_that_becomes_another_is_named_with_both_updates(tmp_path):
    first, later = torch.rand(2, 3), torch.rand(2, 3)
    with Trace(tmp_path / "trace.jsonl") as trace:
        trace.update(step=1, parameters={}, samples=[8, 9], arrived=[first])
        trace.update(step=2, parameters={}, samples=[9, 8], arrived=[first.flip(0)])
        with pytest.raises(DataError, match="sample 8 of update 3 is not what it was in update 1"):
            trace.update(step=3, parameters={}, samples=[8], arrived=[later[:1]])


def test_a_sample_that_is_two_in_one_update_is_named(tmp_path):
    rows = torch.rand(3, 3)
    with Trace(tmp_path / "trace.jsonl") as trace:
        trace.update(step=1, parameters={}, samples=[5, 5], arrived=[rows[[0, 0]]])
        with pytest.raises(DataError, match="sample 7 of update 2 is not what it was in update 2"):
            trace.update(step=2, parameters={}, samples=[5, 7, 7], arrived=[rows])


def test_every_sample_has_its_content(tmp_path):
    with Trace(tmp_path / "trace.jsonl") as trace, pytest.raises(MetricsError, match="needs its row"):
        trace.update(step=1, parameters={}, samples=[8, 9], arrived=[torch.ones(1, 2)])


def test_a_moved_value_and_a_flipped_bit_are_other_contents():
    row = np.arange(9, dtype=np.float32)
    moved, flipped = row[[1, 0, *range(2, 9)]], row.copy()
    flipped.view(np.uint32)[8] ^= 1
    rows = sample_contents(np.stack([row, moved, flipped, row]), torch.tensor([1, 1, 1, 2]))
    assert len({*rows.tolist()}) == 4


@pytest.mark.parametrize("bit", range(64))
def test_one_bit_that_flips_in_several_words_of_a_row_is_another_content(bit):
    row = np.random.default_rng(5).integers(2**63, size=8, dtype=np.uint64)
    flipped = row ^ np.uint64(1 << bit)
    some = np.where(np.arange(8) < 2, flipped, row)
    assert len({*sample_contents(np.stack([row, flipped, some])).tolist()}) == 3


@pytest.mark.parametrize("kind", [torch.float64, torch.float32, torch.float16])
@pytest.mark.parametrize("change", [torch.neg, lambda x: 2 * x, lambda x: 4 * x, lambda x: -2 * x])
def test_a_row_that_is_negated_or_scaled_is_another_content(kind, change):
    row = torch.linspace(0.5, 4, 8, dtype=kind)
    some = torch.cat([change(row[:4]), row[4:]])
    assert len({*sample_contents(torch.stack([row, change(row), some])).tolist()}) == 3


def test_images_and_labels_of_different_numbers_are_refused():
    with pytest.raises(MetricsError, match="different numbers"):
        sample_contents(torch.ones(2, 2), torch.ones(3))


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.uint8, torch.int64, torch.bool])
def test_rows_of_any_type_have_contents(kind):
    rows = torch.tensor([[0, 1], [1, 0], [0, 1]]).to(kind)
    first, second, third = sample_contents(rows).tolist()
    assert first == third != second


def test_no_samples_have_no_contents():
    assert sample_contents(torch.empty(0, 4)).tolist() == []


@pytest.mark.parametrize(
    "tensors",
    [
        [],
        [torch.tensor(1.0)],
        [np.float64(1)],
        [torch.eye(2).to_sparse()],
        [np.array(["a", "b"], dtype=object)],
        [torch.ones(2), torch.tensor(1.0)],
    ],
)
def test_what_has_no_rows_of_numbers_is_refused(tensors):
    with pytest.raises(MetricsError):
        sample_contents(*tensors)


def test_numbers_that_are_conjugated_only_when_read_have_the_content_of_what_is_read():
    rows = torch.tensor([1j, 2])
    assert sample_contents(rows.conj()).tolist() == sample_contents(rows.conj().resolve_conj()).tolist()
    assert sample_contents(torch.empty(0, 2, dtype=torch.bfloat16)).tolist() == []


def _updates(trace, rows, *, every):
    """Ten in full or not, of which the last two are written when the file is closed."""
    for update in range(10):
        ids = np.array([update, update + 1])
        trace.update(step=update, parameters={}, samples=ids, arrived=(rows[ids], ids), every=every)


def test_updates_that_are_written_together_have_the_samples_of_updates_written_alone(tmp_path):
    rows = np.random.default_rng(3).random((11, 4), dtype=np.float32)
    with Trace(tmp_path / "alone.jsonl") as alone, Trace(tmp_path / "together.jsonl") as together:
        _updates(alone, rows, every=1)
        _updates(together, rows, every=96)
        assert [len(_records(tmp_path / name)) for name in ("alone.jsonl", "together.jsonl")] == [10, 8]
    alone, together = (_records(tmp_path / name) for name in ("alone.jsonl", "together.jsonl"))
    for key in ("update", "samples"):
        assert [one[key] for one in alone] == [one[key] for one in together]


def test_what_waits_is_written_before_a_checkpoint(tmp_path):
    with Trace(tmp_path / "trace.jsonl") as trace:
        store = CheckpointStore(tmp_path / "checkpoints", before=trace.flush)
        _updates(trace, np.zeros((11, 4)), every=96)
        store.save({"step": 10})
        assert len(_records(tmp_path / "trace.jsonl")) == 10


def test_memory_that_a_trainer_uses_again_has_the_contents_of_its_update(tmp_path):
    batch = np.zeros((2, 3), dtype=np.float32)
    with Trace(tmp_path / "trace.jsonl") as trace:
        _updates(trace, np.zeros((11, 4)), every=96)
        for update in range(2):
            batch[:] = update
            ids = [100 + update, 200 + update]
            trace.update(step=11, parameters={}, samples=ids, arrived=(torch.from_numpy(batch),), every=96)
    contents = [record["samples"]["contents"] for record in _records(tmp_path / "trace.jsonl")[-2:]]
    assert contents[0] != contents[1]


def _seen_from(batch):
    """A view that no one can write to, of memory that is written to."""
    view = batch[:]
    view.setflags(write=False)
    return view


@pytest.mark.parametrize("view", [_seen_from, lambda batch: torch.from_numpy(batch).numpy()])
def test_a_view_of_memory_that_a_trainer_uses_again_has_the_contents_of_its_update(tmp_path, view):
    batch = np.zeros((2, 3), dtype=np.float32)
    with Trace(tmp_path / "trace.jsonl") as trace:
        _updates(trace, np.zeros((11, 4)), every=96)
        for update in range(2):
            batch[:] = update
            ids = [100 + update, 200 + update]
            trace.update(step=11, parameters={}, samples=ids, arrived=(view(batch),), every=96)
    contents = [record["samples"]["contents"] for record in _records(tmp_path / "trace.jsonl")[-2:]]
    assert contents[0] != contents[1]


def test_read_only_memory_has_the_contents_of_a_copy(tmp_path):
    rows = np.random.default_rng(3).random((2, 4))
    told = []
    for name, write in [("copied", True), ("kept", False)]:
        rows.setflags(write=write)
        with Trace(tmp_path / name) as trace:
            trace.update(step=1, parameters={}, samples=[5, 7], arrived=(rows[:],))
        told.append(_records(tmp_path / name))
    assert told[0] == told[1]


@given(st.lists(st.lists(st.integers(-3, 9), max_size=9), min_size=1, max_size=4))
def test_ids_of_several_updates_are_spelled_as_those_of_each(parts):
    parts = [np.array(one, dtype=np.int64) for one in parts]
    assert spelled_each(parts) == [spelled(one) for one in parts]


def test_large_batches_do_not_wait(tmp_path):
    with Trace(tmp_path / "trace.jsonl") as trace:
        _updates(trace, np.zeros((11, 1 << 18)), every=96)
        assert len(_records(tmp_path / "trace.jsonl")) == 10


def test_all_updates_before_one_with_a_wrong_sample_are_written(tmp_path):
    rows = np.arange(11.0)
    trace = Trace(tmp_path / "trace.jsonl")
    _updates(trace, rows, every=96)
    for first, second in [(4, 5), (4, 6)]:
        ids = np.array([4, 5])
        trace.update(step=11, parameters={}, samples=ids, arrived=(rows[[first, second]], ids), every=96)
    with pytest.raises(DataError, match="sample 5 of update 12 is not what it was in update 5"):
        trace.close()
    assert [one["update"] for one in _records(trace.path)] == list(range(1, 12))


@pytest.mark.parametrize("far", [-1, -(2**63), 2**23, 2**63 - 1])
def test_ids_of_any_size_stand_for_one_content(tmp_path, far):
    with Trace(tmp_path / "trace.jsonl") as trace:
        trace.update(step=1, parameters={}, samples=[far, 0], arrived=(np.array([1, 2]),))
        trace.update(step=2, parameters={}, samples=[0, far], arrived=(np.array([2, 1]),))
        with pytest.raises(DataError, match=f"sample {far:,} of update 3 is not what it was in update 1"):
            trace.update(step=3, parameters={}, samples=[far], arrived=(np.array([2]),))
