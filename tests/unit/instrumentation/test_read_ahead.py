"""An update's samples are those that a wrapper handed out to it, whatever it has read ahead."""

from __future__ import annotations

import json

import pytest

from tests.unit.instrumentation.test_light_watch import run
from tests.unit.instrumentation.test_loader_ledger import HEAD, ids_of, ledgers

#: As accelerate's: one batch is read before the one before it is handed out; the first ones may be gone past.
AHEAD = """
class DataLoaderShard:
    def __init__(self, base, skip=0):
        self.base, self.skip = base, skip
    def __iter__(self):
        batches, number = iter(self.base), 0
        try:
            current = next(batches)
        except StopIteration:
            return
        while True:
            try:
                following = next(batches)
            except StopIteration:
                if number >= self.skip:
                    yield current
                return
            if number >= self.skip:
                yield current
            number, current = number + 1, following
"""
PLAIN = """
class DataLoaderShard:
    def __init__(self, base, skip=0):
        self.base, self.skip = base, skip
    def __iter__(self):
        yield from self.base
"""
LOOP = """
from accelerate.data_loader import DataLoaderShard
for batch, ids in DataLoaderShard(DataLoader(Rows(), SIZE, shuffle=True, num_workers=WORKERS), SKIP):
    step(batch, ids)
for batch, ids in DataLoader(Rows(), 11):
    step(batch, ids)
"""


def trained_on(tmp_path, wrapper, *, size=4, workers=0, skip=0):
    """The ids that every update says it trained on, and those that the program saw."""
    package = tmp_path / "accelerate"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "data_loader.py").write_text(wrapper)
    loop = LOOP.replace("SIZE", str(size)).replace("WORKERS", str(workers)).replace("SKIP", str(skip))
    printed, records = run(tmp_path, f"{HEAD}\nimport sys; sys.path.insert(0, {str(tmp_path)!r})\n{loop}")
    assert "ledger_problem" not in records["0"]["torch"]
    told = [ids_of(one.get("samples") or one["samples_2"]) for one in ledgers(tmp_path)]
    return told, [json.loads(line) for line in printed.splitlines()]


@pytest.mark.parametrize(
    ("wrapper", "more"),
    [(AHEAD, {}), (AHEAD, {"workers": 2}), (AHEAD, {"size": 22}), (AHEAD, {"skip": 3}), (PLAIN, {})],
)
def test_an_update_is_told_what_it_was_given_and_not_what_was_read_ahead(tmp_path, wrapper, more):
    told, given = trained_on(tmp_path, wrapper, **more)
    assert len(told) > 2
    assert told == given
