"""What the records of the ranks of one run say together: one model, and samples of its own for each.

>>> facts_of_ranks(settings, run_dir=run_dir, folders=[meeting / "rank1"])
{'world_size': 2, 'reduction': 'all_reduce', 'shards': 1, 'seeding': {...}, 'samples': True, 'alike': []}
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, zip_longest
from pathlib import Path
from typing import Any

from reprokit.errors import CannotRunError
from reprokit.layout import METRICS, RUNTIME, TRACE, rank_trace, read_json
from reprokit.runtime.rank_settings import RankSettings

#: One sample may be in two batches by chance, where they are drawn with replacement.
_FEWEST_SAMPLES = 2
_SHOWN = 200
_NONE = object()
_FIX = "draw batches from the streams of rank 0, and change no gradient once they were added up"


def facts_of_ranks(settings: RankSettings, *, run_dir: Path, folders: Sequence[Path]) -> dict[str, Any]:
    """The section ``ranks`` of ``runtime.json``.

    Args:
        settings: How many ranks there are, and how they train.
        run_dir: The run's folder, with the records of rank 0 and the traces of all.
        folders: The folders of the other ranks, from rank 1 on.

    Returns:
        Besides the settings: ``seeding`` of the other ranks; ``samples``: whether every update of every rank
        has the contents of its samples; ``alike``: two ranks, and the first update that both were given the
        same samples for.

    Raises:
        CannotRunError: The ranks did not train one model: they have other metrics, parameters or checkpoints,
            other settings of the numerics, or took part in other collectives; or one left no records.
    """
    runtime = read_json(run_dir / RUNTIME)
    metrics = _read(run_dir / METRICS, rank=0)
    seeding = {}
    for rank, folder in enumerate(folders, start=1):
        own = read_json(folder / RUNTIME)
        _must_be_equal(metrics, _read(folder / METRICS, rank=rank), what="metrics", rank=rank)
        if own.get("numerics") != runtime.get("numerics"):
            raise CannotRunError(f"ranks 0 and {rank} compute under other numerics")
        seeding[str(rank)] = {name: (own.get("seeding") or {}).get(name) for name in ("seed", "generators")}
    alike: dict[tuple[int, int], int] = {}
    complete = True
    for updates in _updates(run_dir, len(folders) + 1):
        first = updates[0]
        for rank, record in enumerate(updates):
            if _course(record) != _course(first):
                what = f"ranks 0 and {rank} took part in other collectives in update {first.get('update')}"
                raise CannotRunError(what, expected=_told(first), actual=_told(record))
            of = f"update {record.get('update')}: parameter"
            _must_hold_one_model(first.get("parameters"), record.get("parameters"), of=of, rank=rank)
        fed = [_samples(record) for record in updates]
        complete = complete and None not in fed
        for one, other in combinations(range(len(fed)), 2):
            if fed[one] and fed[one] == fed[other]:
                alike.setdefault((one, other), int(first["update"]))
    for rank, folder in enumerate(folders, start=1):
        models = read_json(folder / RUNTIME).get("models")
        _must_hold_one_model(runtime.get("models"), models, of="checkpoint", rank=rank)
    return {
        **settings.as_saved(),
        "seeding": seeding,
        "samples": complete,
        "alike": [[*pair, update] for pair, update in sorted(alike.items())],
    }


def _must_be_equal(expected: bytes, actual: bytes, *, what: str, rank: int) -> None:
    if expected == actual:
        return
    lines = (content.splitlines(keepends=True) for content in (expected, actual))
    pairs = zip_longest(*lines, fillvalue=b"")
    number, (one, other) = next((number, pair) for number, pair in enumerate(pairs, 1) if pair[0] != pair[1])
    raise CannotRunError(
        f"ranks 0 and {rank} do not hold one model: their {what} differ from record {number} on",
        expected=one.decode("utf-8", "replace")[:_SHOWN] or "no record",
        actual=other.decode("utf-8", "replace")[:_SHOWN] or "no record",
        fix=_FIX,
    )


def _must_hold_one_model(expected: Any, actual: Any, *, of: str, rank: int) -> None:
    """Metrics need not show another model: what was added up over the ranks is equal on all of them."""
    expected, actual = expected or {}, actual or {}
    if expected == actual:
        return
    name = ""
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        name = next(
            key for key in {**expected, **actual} if expected.get(key, _NONE) != actual.get(key, _NONE)
        )
        expected, actual = expected.get(name), actual.get(name)
    raise CannotRunError(
        f"ranks 0 and {rank} do not hold one model: {of} {name}".rstrip(),
        expected=str(expected)[:_SHOWN],
        actual=str(actual)[:_SHOWN],
        fix=_FIX,
    )


def _read(path: Path, *, rank: int) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CannotRunError(
            f"rank {rank} left no {path.name}: {error.strerror}", fix="let no program remove a run's files"
        ) from error


def _updates(run_dir: Path, world_size: int) -> Iterator[list[Mapping[str, Any]]]:
    """The records of one update after the other, one a rank."""
    names = [TRACE, *(rank_trace(rank) for rank in range(1, world_size))]
    traces = (_read(run_dir / name, rank=rank).splitlines() for rank, name in enumerate(names))
    for lines in zip_longest(*traces, fillvalue=b"{}"):
        yield [json.loads(line) for line in lines]


def _course(record: Mapping[str, Any]) -> list[Any]:
    """What happened in an update, without the numbers."""
    collectives = [(one["name"], one["operation"]) for one in record.get("collectives") or ()]
    return [record.get("update"), record.get("step"), *collectives]


def _told(record: Mapping[str, Any]) -> str:
    return str(_course(record))[:_SHOWN] if record else "no record"


def _samples(record: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """What tells the samples of an update from others; empty for fewer than two, None where not known."""
    samples = record.get("samples")
    if not isinstance(samples, Mapping) or "contents" not in samples:
        return None
    return (samples["digest"], samples["contents"]) if samples["count"] >= _FEWEST_SAMPLES else ()
