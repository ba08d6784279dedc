"""Which samples a ``DataLoader`` of PyTorch handed out since the last update, and what arrived under the ids.

Ids are those of the sampler, as they went to ``__getitem__`` or onto a worker's queue; batches are counted
when the program receives them, not when they are prefetched. Samples of an iterable data set have no ids:
they are numbered by worker and position since the loader began, and known by their contents. So are those of
a sampler that gives iterators, or objects that only an address tells apart.

A content is 64 bits a sample: its words, the upper bits of each folded into its lower ones, times odd random
numbers, summed modulo 2^64; of a sample of more than 16 KiB only evenly spaced words have a number of their
own, and those between are summed. Batches are listened to and passed on as they are.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import operator
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any

from . import loader_ids
from .light_seeds import where
from .read_ahead import ReadAhead

_MOST_WORDS = 2_048
_AT_ONCE = 8_192  # words
_MOST_CONTENTS = 4_096
_MOST_KNOWN = 1 << 20
_MOST_LOADERS = 64
_DEEPEST = 4
_SEED = 20260
_KEPT = threading.local()


class LoaderLedger:
    """Of one process.

    Attributes:
        loaders: What is known of each loader, in the order in which they were first used. One is an object
            (two that one line made are two), with the line that iterates over it, and whether gradients are
            taken there; one that is made in each epoch takes the place of one of its lines that is gone.
        problem: Why something could not be recorded; "" where all could.
        ahead: What is being read before it is handed out, by a wrapper; None where a program reads itself.
    """

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Begin again: the process was forked."""
        self.loaders: list[dict[str, Any]] = []
        self.problem = ""
        self.ahead: ReadAhead | None = None
        self._numbers: dict[Any, int] = {}
        self._objects: dict[Any, list[weakref.ref[Any]]] = {}  # lines → the loaders that they made and use
        self._handed: dict[int, list[_Batch]] = {}
        self._known: dict[int, dict[Any, int]] = {}  # loader → id → content
        self._first_ids: dict[int, list[tuple[int, list[Any]]]] = {}  # the updates that brought new ids
        self._updates = 0

    def watch(self, module: Any) -> None:
        """Listen to the loaders of ``torch.utils.data.dataloader``."""
        _remember_line(module.DataLoader)
        _remember_indices(module)
        kind = module._BaseDataLoaderIter
        begin, natural = kind.__init__, kind.__next__

        @functools.wraps(begin)
        def begun(iterator: Any, loader: Any) -> None:
            begin(iterator, loader)
            kinds = type(loader.dataset).__qualname__, type(loader.sampler).__qualname__
            lines = vars(loader).get("_reprokit_made"), where(), kinds
            learns = sys.modules["torch"].is_grad_enabled()
            vars(iterator)["_reprokit_loader"] = *lines, learns, self._place((*lines, learns), loader)

        @functools.wraps(natural)
        def handed(iterator: Any) -> Any:
            try:
                batch = natural(iterator)
            except StopIteration:
                if self.ahead is not None:
                    self.ahead.ended = True
                raise
            try:
                self._read(iterator, batch)
            except Exception as error:  # said in the record; the program must not fail by it
                self.problem = f"the samples of a batch could not be recorded: {error!r}"
            return batch

        kind.__init__, kind.__next__ = begun, handed

    def take(self) -> dict[str, Any]:
        """The samples since the last call: ``samples`` of the first loader, ``samples_2`` of the second."""
        self._updates += 1
        handed, self._handed = self._handed, {}
        return {
            "samples" if number == 0 else f"samples_{number + 1}": self._joined(number, batches)
            for number, batches in sorted(handed.items())
        }

    def hand_out(self, number: int, found: _Batch) -> None:
        """The program gets a batch of the loader of that number."""
        facts = self.loaders[number]
        facts["batches"] += 1
        facts["samples"] += len(found.ids)
        facts["without_gradients"] += not sys.modules["torch"].is_grad_enabled()
        self._handed.setdefault(number, []).append(found)

    def _place(self, lines: Any, loader: Any) -> int:
        """Which of the loaders of these lines it is: a place of its own as long as it exists."""
        known = self._objects.setdefault(lines, [])
        found = next((number for number, one in enumerate(known) if one() is loader), None)
        if found is not None or len(known) >= _MOST_LOADERS:
            return len(known) if found is None else found
        free = next((number for number, one in enumerate(known) if one() is None), None)
        if free is None and known:
            gc.collect()  # one in a cycle of references is gone too, in every run at the same time
            free = next((number for number, one in enumerate(known) if one() is None), None)
        if free is None:
            known.append(weakref.ref(loader))
            return len(known) - 1
        known[free] = weakref.ref(loader)
        return free

    def _read(self, iterator: Any, batch: Any) -> None:
        number = self._number(iterator)
        if number >= _MOST_LOADERS:
            return
        found = _Batch(iterator, batch)
        if self.ahead is None:
            self.hand_out(number, found)
        else:
            self.ahead.batches.append((number, found))

    def _number(self, iterator: Any) -> int:
        loader = vars(iterator)["_reprokit_loader"]
        number = self._numbers.setdefault(loader, len(self._numbers))
        if number == len(self.loaders) < _MOST_LOADERS:
            made, used, (data_set, _), *_ = loader
            names = dict(zip(("file", "line", "function"), made or used))
            names.update({"used_at": used[1], "data_set": data_set})
            known = {"workers": iterator._num_workers, "stream": _is_stream(iterator), "redrawn": None}
            counts = {"batches": 0, "samples": 0, "without_gradients": 0}
            self.loaders.append({**names, **known, **counts})
        return number

    def _joined(self, number: int, batches: list[_Batch]) -> dict[str, Any]:
        ids = [one for batch in batches for one in batch.ids]
        found: dict[str, Any] = {"count": len(ids), "digest": _digest(ids), "ids": _spelled(ids)}
        placed = any(batch.placed for batch in batches)
        if placed:
            found["stream"] = True
        if self.loaders[number]["stream"]:
            workers = {batch.worker for batch in batches}
            found.update({"worker": workers.pop()} if len(workers) == 1 and None not in workers else {})
        given = [batch.contents for batch in batches if batch.contents is not None]
        if len(given) == len(batches) and len(ids) <= _MOST_CONTENTS:
            found["contents"] = b"".join(one.astype(">u8").tobytes() for one in given).hex()
            if not placed:
                self._compare(number, ids, [content for one in given for content in one.tolist()])
        return found

    def _compare(self, number: int, ids: list[Any], contents: list[int]) -> None:
        """Whether an id stands for another content than before: of a data set that draws, it may."""
        if self.loaders[number]["redrawn"] is not None:
            return
        known, firsts = self._known.setdefault(number, {}), self._first_ids.setdefault(number, [])
        before = len(known)
        if before > _MOST_KNOWN:
            return
        equal = all(map(operator.eq, map(known.get, ids, contents), contents))
        if equal:
            known.update(zip(ids, contents))
            equal = all(map(operator.eq, map(known.get, ids), contents))  # an id may come twice in one update
        if len(known) > before:
            firsts.append((self._updates, ids))
        if not equal:
            pairs = zip(ids, contents)
            wrong = next(one for one, content in pairs if known.get(one, content) != content)
            first = next(update for update, given in firsts if wrong in given)
            self.loaders[number]["redrawn"] = {"sample": wrong, "first": first, "update": self._updates}


class _Batch:
    """What was handed out once: ids, the worker it came from, and a content of 64 bits for each id.

    ``placed`` is true where ids are only places in the stream, so that contents must tell samples apart.
    """

    def __init__(self, iterator: Any, batch: Any) -> None:
        facts = vars(iterator)
        self.worker: int | None = facts.pop("_reprokit_worker", None)
        index = facts.pop("_reprokit_index", None)
        columns = list(_tensors(batch))
        asked = loader_ids.Ids([], opaque=True) if _is_stream(iterator) else loader_ids.of_batch(index)
        self.placed = asked.opaque or bool(asked.nameless)
        self.ids = asked.ids
        if self.placed:
            some = int(columns[0].shape[0]) if columns and columns[0].ndim else 1
            count = some if asked.opaque else len(asked.ids)
            positions = facts.setdefault("_reprokit_positions", {})
            worker = self.worker if _is_stream(iterator) else None
            begin = positions.get(worker, 0)
            positions[worker] = begin + count
            if asked.opaque:
                self.ids = list(range(begin, begin + count))
            for place in () if asked.opaque else asked.nameless:
                self.ids[place] = f"{self.ids[place]} {begin + place}"
        self.contents = _contents(columns, len(self.ids))


def _remember_line(loader: Any) -> None:
    """Have every loader know the line that made it."""
    natural = loader.__init__

    @functools.wraps(natural)
    def made(self: Any, *args: Any, **options: Any) -> None:
        vars(self).setdefault("_reprokit_made", where())
        natural(self, *args, **options)

    loader.__init__ = made


def _remember_indices(module: Any) -> None:
    """Have every batch know the indices that it was asked for with, and the worker that made it."""
    one, many = module._SingleProcessDataLoaderIter, module._MultiProcessingDataLoaderIter
    fetch, put, process, reset = one._next_index, many._try_put_index, many._process_data, many._reset

    @functools.wraps(fetch)
    def next_index(iterator: Any) -> Any:
        index = fetch(iterator)
        vars(iterator)["_reprokit_index"] = index
        return index

    @functools.wraps(put)
    def try_put(iterator: Any) -> None:
        number, sent = iterator._send_idx, vars(iterator).setdefault("_reprokit_sent", {})
        put(iterator)
        if iterator._send_idx > number:
            sent[number] = vars(iterator).get("_reprokit_asked")

    @functools.wraps(process)
    def processed(iterator: Any, data: Any, *worker: Any) -> Any:
        facts, waiting = vars(iterator), iterator._task_info
        sent = facts.get("_reprokit_sent", {})
        number = next((key for key in sent if key not in waiting), None)
        if getattr(iterator, "_in_order", True):
            number = iterator._rcvd_idx - 1
        facts["_reprokit_index"] = sent.pop(number, None)
        facts["_reprokit_worker"] = worker[0] if worker else None
        return process(iterator, data, *worker)

    @functools.wraps(reset)
    def restarted(iterator: Any, loader: Any, *more: Any, **options: Any) -> None:
        vars(iterator)["_reprokit_sent"], vars(iterator)["_reprokit_positions"] = {}, {}
        reset(iterator, loader, *more, **options)

    def asked(iterator: Any) -> Any:
        index = fetch(iterator)
        vars(iterator)["_reprokit_asked"] = index
        return index

    one._next_index, many._next_index = next_index, asked
    many._try_put_index, many._process_data, many._reset = try_put, processed, restarted


def _is_stream(iterator: Any) -> bool:
    return bool(iterator._dataset_kind)  # of the two kinds, the iterable one is 1


def _spelled(ids: list[Any]) -> Any:
    """As in the traces of trainers: ``4-6,9``; a list where some id is no integer."""
    if not set(map(type, ids)) <= {int}:
        return ids
    if not any(map(operator.eq, map((1).__add__, ids), ids[1:])):
        return ",".join(map(str, ids))
    runs: list[list[int]] = []
    for id_ in ids:
        if runs and id_ == runs[-1][1] + 1:
            runs[-1][1] = id_
        else:
            runs.append([id_, id_])
    return ",".join(
        f"{first}-{last}" if last - first > 1 else ",".join(map(str, range(first, last + 1)))
        for first, last in runs
    )


def _digest(ids: list[Any]) -> str:
    return hashlib.blake2b(repr(ids).encode(), digest_size=16).hexdigest()


def _tensors(batch: Any, deep: int = 0) -> Iterator[Any]:
    """Every tensor of a batch, however it is wrapped."""
    if hasattr(batch, "element_size") and hasattr(batch, "ndim"):
        yield batch
    elif deep < _DEEPEST:
        inside = batch.values() if hasattr(batch, "values") and hasattr(batch, "keys") else batch
        if isinstance(inside, (list, tuple)) or inside is not batch:
            for one in inside:
                yield from _tensors(one, deep + 1)


def _contents(columns: list[Any], count: int) -> Any:
    """Sixty-four bits a sample, of its row in every tensor; None where no tensor has a row for each."""
    numpy, torch = sys.modules.get("numpy"), sys.modules["torch"]
    rows = [column for column in columns if column.ndim and column.shape[0] == count and column.numel()]
    if (
        numpy is None
        or not rows
        or any(row.device.type != "cpu" or row.layout != torch.strided for row in rows)
    ):
        return None
    total = numpy.zeros(count, dtype=numpy.uint64)
    for number, one in enumerate(rows):
        words = _words(numpy, torch, one.detach())
        every = -(-words.shape[1] // _MOST_WORDS)
        weights = _weights(numpy, number, _MOST_WORDS + 1)
        at_once = max(1, _AT_ONCE // words.shape[1])
        for begin in range(0, count, at_once):
            part = slice(begin, begin + at_once)
            some = _folded(numpy, words[part, ::every])
            total[part] += some @ weights[: some.shape[1]]
            if every > 1:  # those between: a plain sum, which no single word can change without being seen
                looked_at = some.sum(1, dtype=numpy.uint64)
                rest = _folded(numpy, words[part]).sum(1, dtype=numpy.uint64) - looked_at
                total[part] += rest * weights[-1]
    return total


def _folded(numpy: Any, words: Any) -> Any:
    """Words with their upper bits folded into their lower ones; they last until this thread asks again.

    Without it the topmost bits of two words would cancel: two negated float64 would be overlooked. The memory
    is kept, since to take it and give it back in every update costs more than what is computed in it.
    """
    kept = vars(_KEPT).setdefault("words", numpy.empty(0, dtype=numpy.uint64))
    if kept.size < words.size <= _AT_ONCE:
        kept = _KEPT.words = numpy.empty(_AT_ONCE, dtype=numpy.uint64)
    place = kept[: words.size].reshape(words.shape) if words.size <= _AT_ONCE else None
    folded = numpy.right_shift(words, numpy.uint64(33), out=place)
    folded ^= words
    return folded


def _words(numpy: Any, torch: Any, tensor: Any) -> Any:
    """The bytes of every row, as numbers of 64 bits, filled up with zeros."""
    try:
        plain = tensor.numpy()
    except (TypeError, RuntimeError):  # a type that numpy does not know, or a conjugate that was not made yet
        plain = tensor.resolve_conj().resolve_neg().contiguous().flatten().view(torch.uint8).numpy()
    rows = numpy.ascontiguousarray(plain).reshape(len(tensor), -1)
    if rest := -rows.shape[1] * rows.itemsize % 8:
        rows = numpy.pad(rows.view(numpy.uint8), ((0, 0), (0, rest)))
    return rows.view(numpy.uint64)


@functools.lru_cache(maxsize=32)
def _weights(numpy: Any, number: int, words: int) -> Any:
    """Odd numbers, always the same; made without a generator that anyone would watch."""
    size = 8 * words
    drawn = numpy.frombuffer(hashlib.shake_128(f"{_SEED} {number}".encode()).digest(size), dtype=numpy.uint64)
    return drawn | numpy.uint64(1)
