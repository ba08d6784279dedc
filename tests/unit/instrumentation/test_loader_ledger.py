"""The watch says which samples every update of an unmodified program trained on, however they were loaded."""

from __future__ import annotations

import json

import pytest
import torch

from reprokit.instrumentation.reprokit_hook.loader_ledger import _contents
from tests.unit.instrumentation.test_light_watch import run

HEAD = """
import itertools, json, numpy, torch
from torch.utils.data import *
torch.manual_seed(1)

class Rows(Dataset):
    def __len__(self):
        return 22
    def __getitem__(self, index):
        return torch.full((3,), float(index)), index

class Stream(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        number, many = (info.id, info.num_workers) if info else (0, 1)
        return iter([(torch.full((3,), float(n)), n) for n in range(22)][number::many])

model = torch.nn.Linear(3, 1)
sgd = torch.optim.SGD(model.parameters(), lr=1e-4)

def step(batch, ids):
    model(batch).sum().backward()
    sgd.step()
    sgd.zero_grad()
    print(json.dumps(ids.tolist()))
"""

EVERY_LOADER = (
    HEAD
    + """
for kind, workers, persistent, prefetch, own in (
    (Rows, 0, False, None, False),
    (Rows, 0, False, None, True),
    (Rows, 1, False, None, False),
    (Rows, 4, False, 3, True),
    (Rows, 4, True, None, False),
    (Rows, 2, True, 4, True),
    (Stream, 0, False, None, False),
    (Stream, 1, False, None, False),
    (Stream, 4, True, 3, False),
):
    generator = torch.Generator().manual_seed(3) if own else None
    loader = DataLoader(
        kind(), batch_size=4, shuffle=kind is Rows, num_workers=workers, generator=generator,
        persistent_workers=persistent, prefetch_factor=prefetch,
    )
    for _ in range(2):
        for batch, ids in loader:
            step(batch, ids)
"""
)


def ledgers(folder):
    lines = (folder / "out" / "light-0.trace").read_text().splitlines()
    return [json.loads(line) for line in lines]


def ids_of(ledger):
    parts = [part.partition("-") for part in ledger["ids"].split(",")]
    return [n for first, _, last in parts for n in range(int(first), int(last or first) + 1)]


def test_ids_are_those_that_arrived_with_any_workers_prefetching_and_sampler(tmp_path):
    printed, records = run(tmp_path, EVERY_LOADER)
    arrived = [json.loads(line) for line in printed.splitlines()]
    pairs = list(zip(ledgers(tmp_path), arrived, strict=True))
    of_rows = [(one[name], ids) for one, ids in pairs for name in ("samples",) if name in one]
    assert len(pairs) > len(of_rows) == 72
    assert [ids_of(ledger) for ledger, _ in of_rows] == [ids for _, ids in of_rows]
    assert all(len(ledger["contents"]) == 16 * len(ids) for ledger, ids in of_rows)
    loaders = records["0"]["torch"]["loaders"]
    made = EVERY_LOADER.splitlines().index("    loader = DataLoader(") + 1
    assert {(one["line"], one["redrawn"]) for one in loaders} == {(made, None)}
    assert "ledger_problem" not in records["0"]["torch"]


def test_samples_of_a_stream_have_their_worker_and_position(tmp_path):
    run(tmp_path, HEAD + "for batch, ids in DataLoader(Stream(), 4, num_workers=2):\n    step(batch, ids)")
    found = [(one["samples"]["worker"], one["samples"]["ids"]) for one in ledgers(tmp_path)]
    assert found == [(0, "0-3"), (1, "0-3"), (0, "4-7"), (1, "4-7"), (0, "8-10"), (1, "8-10")]


def test_the_same_sample_has_the_same_content_wherever_it_comes(tmp_path):
    run(
        tmp_path,
        f"{HEAD}for _ in 1, 2:\n  for batch, ids in DataLoader(Rows(), 4, True):\n    step(batch, ids)",
    )
    seen = {}
    for one in ledgers(tmp_path):
        text = one["samples"]["contents"]
        for at, sample in enumerate(ids_of(one["samples"])):
            assert seen.setdefault(sample, text[16 * at : 16 * at + 16]) == text[16 * at : 16 * at + 16]
    assert len({*seen.values()}) == 22


def test_micro_batches_of_one_update_stand_in_one_ledger(tmp_path):
    source = (
        "for n, (batch, ids) in enumerate(DataLoader(Rows(), 2)):\n  if n % 3 == 2:\n    step(batch, ids)"
    )
    run(tmp_path, HEAD + source)
    assert [one["samples"]["ids"] for one in ledgers(tmp_path)] == ["0-5", "6-11", "12-17"]


@pytest.mark.parametrize(
    ("loader", "ids"),
    [
        ("DataLoader(Rows(), 2, sampler=numpy.array([5, 6, 9, 1]))", ["5,6", "9,1"]),
        ("DataLoader(Rows(), 2, sampler=torch.tensor([5, 6, 9, 1]))", ["5,6", "9,1"]),
        ("DataLoader(Rows(), batch_sampler=[[5, 6], [9, 1]])", ["5,6", "9,1"]),
        ("DataLoader(Rows(), batch_sampler=torch.tensor([5, 6, 9, 1]).split(2))", ["5,6", "9,1"]),
        ("DataLoader(Subset(Rows(), [5, 6, 9, 1]), 2)", ["0,1", "2,3"]),
        (
            "DataLoader(Rows(), 11, sampler=DistributedSampler(Rows(), 2, 1, shuffle=False))",
            ["1,3,5,7,9,11,13,15,17,19,21"],
        ),
    ],
)
def test_ids_of_other_samplers_are_recorded(tmp_path, loader, ids):
    run(tmp_path, f"{HEAD}\nfor batch, ids in {loader}:\n    step(batch, ids)")
    assert [one["samples"]["ids"] for one in ledgers(tmp_path)] == ids


def test_ids_that_are_words_are_recorded_as_they_are(tmp_path):
    source = "class Named(Rows):\n  def __getitem__(self, name):\n    return torch.ones(3), len(name)\n"
    loader = "DataLoader(Named(), 2, sampler=['cat', 'horse'])"
    run(tmp_path, f"{HEAD}\n{source}\nfor batch, ids in {loader}:\n    step(batch, ids)")
    assert ledgers(tmp_path)[0]["samples"]["ids"] == ["'cat'", "'horse'"]


def test_a_data_set_that_draws_is_told_with_its_first_sample(tmp_path):
    source = "class Noisy(Rows):\n  def __getitem__(self, index):\n    return torch.rand(3), index\n"
    loop = "for _ in range(2):\n  for batch, ids in DataLoader(Noisy(), 11):\n    step(batch, ids)"
    _, records = run(tmp_path, f"{HEAD}\n{source}\n{loop}")
    assert records["0"]["torch"]["loaders"][0]["redrawn"] == {"sample": 0, "first": 1, "update": 3}


def test_each_loader_has_a_ledger_of_its_own_and_one_that_nobody_iterates_has_none(tmp_path):
    source = """
unused = DataLoader(Rows(), 2)
held_out = DataLoader(Rows(), 22)
for batch, ids in DataLoader(Rows(), 11):
    step(batch, ids)
    for batch, ids in held_out:
        pass
"""
    _, records = run(tmp_path, HEAD + source)
    first, second = ledgers(tmp_path)
    assert first["samples"]["ids"] == "0-10"
    assert "samples_2" not in first
    assert (second["samples"]["ids"], second["samples_2"]["ids"]) == ("11-21", "0-21")
    assert len(records["0"]["torch"]["loaders"]) == 2


ONE_LINE = """
def make(rows):
    return DataLoader(Rows(), rows)
def read(loader, learn):
    with torch.set_grad_enabled(learn):
        for batch, ids in loader:
            if learn:
                step(batch, ids)
def both(train, held_out):
    read(train, True); read(held_out, True)
"""


@pytest.mark.parametrize(
    ("source", "num_loaders"),
    [
        (
            "train, held_out = make(11), make(22)\nfor _ in range(2): both(train, held_out)",
            2,
        ),
        (
            "train, held_out = [DataLoader(Rows(), n) for n in (11, 22)]\nboth(train, held_out)",
            2,
        ),
        (
            "for _ in range(3):\n    train, held_out = make(11), make(22)\n    both(train, held_out)",
            2,
        ),
        ("for _ in range(80): read(make(11), True)", 1),
        ("keep = []\nfor _ in range(80):\n    one = make(11); one.own = one\n    read(one, True)", None),
        ("train = make(11)\nfor _ in range(2): read(train, True); read(train, False)", 2),
    ],
)
def test_a_loader_is_an_object_and_one_that_is_made_anew_takes_its_place(tmp_path, source, num_loaders):
    _, records = run(tmp_path, HEAD + ONE_LINE + source + "\n")
    loaders = records["0"]["torch"]["loaders"]
    assert len(loaders) == num_loaders if num_loaders else len(loaders) < 64
    assert {one["file"].rpartition("/")[2] for one in loaders} == {"program.py"}
    assert not any({"samples", "samples_2"} <= set(one) for one in ledgers(tmp_path)[:2])


def test_a_program_without_a_loader_has_the_trace_that_it_always_had(tmp_path):
    run(tmp_path, HEAD + "step(torch.ones(2, 3), torch.arange(2))")
    assert [*ledgers(tmp_path)[0]] == ["update", "step", "parameters", "random"]


def test_the_ledger_changes_no_number(tmp_path):
    source = (
        HEAD + "for batch, ids in DataLoader(Rows(), 4, shuffle=True, num_workers=2):\n    step(batch, ids)\n"
    )
    source += "print(model.weight.tolist(), torch.rand(1), numpy.random.rand())"
    source = source.replace("torch.manual_seed(1)", "torch.manual_seed(1)\nnumpy.random.seed(2)")
    (tmp_path / "plain").mkdir()
    assert run(tmp_path, source)[0] == run(tmp_path / "plain", source, watched=False)[0]


@pytest.mark.parametrize("change", [torch.neg, lambda x: 2 * x, lambda x: -2 * x])
@pytest.mark.parametrize("kind", [torch.float64, torch.float32, torch.bfloat16, torch.complex64])
def test_a_row_that_is_negated_or_scaled_is_another_content(kind, change):
    row = torch.linspace(0.5, 4, 8).to(kind)
    some = torch.cat([change(row[:4]), row[4:]])
    assert len({*_contents([torch.stack([row, change(row), some])], 3).tolist()}) == 3


def test_numbers_that_are_conjugated_only_when_read_have_a_content():
    rows = torch.complex(torch.ones(2, 3), torch.ones(2, 3))
    first, other = _contents([rows.conj()], 2).tolist()[0], _contents([rows], 2).tolist()[0]
    assert first != other


def test_a_batch_of_ids_that_can_be_taken_once_is_not_taken_and_is_known_by_its_contents(tmp_path):
    loader = "DataLoader(Rows(), batch_sampler=[iter([5, 6]), iter([9])])"
    printed, _ = run(tmp_path, f"{HEAD}\nfor batch, ids in {loader}:\n    step(batch, ids)")
    found = [one["samples"] for one in ledgers(tmp_path)]
    assert printed.split("\n")[:2] == ["[5, 6]", "[9]"]
    assert [(one["ids"], one["stream"], len(one["contents"])) for one in found] == [
        ("0,1", True, 32),
        ("2", True, 16),
    ]


@pytest.mark.parametrize("changed", [0, 1, 2, 12_345, 49_999])
@pytest.mark.parametrize("value", [1, -(2**63)])
def test_a_word_that_changes_anywhere_in_a_large_sample_is_another_content(changed, value):
    rows = torch.zeros(2, 50_000, dtype=torch.int64)
    rows[1, changed] = value
    assert len({*_contents([rows], 2).tolist()}) == 2
