"""Faults in the numbers: metrics, traces, a golden of another time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from random import Random

from reprokit.features.selftest import mutations
from reprokit.features.selftest.faults import Plant
from reprokit.features.selftest.mutations import not_plantable
from reprokit.features.selftest.planting import Stage, read_object
from reprokit.layout import METRICS, PROVENANCE, RECORD, TRACE


def of_records(mutate: mutations.OnRecords) -> Plant:
    """A fault in the records of ``metrics.jsonl``, the same one in every place."""

    def plant(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
        found = mutations.read((places[0] / METRICS).read_bytes())
        data = mutations.write(mutations.records(found, mutate, rng=rng))
        stage.write_all(places, METRICS, data)
        return mutate.__name__

    return plant


def of_first_run(mutate: mutations.OnRecords) -> Plant:
    """The same in the first run, whatever the places."""

    def plant(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
        return of_records(mutate)(stage, rng, stage.runs[:1])

    return plant


def of_bytes(mutate: mutations.OnBytes, *, name: str = METRICS) -> Plant:
    """A fault in the bytes of a file, the same one in every place."""

    def plant(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
        data = mutations.raw((places[0] / name).read_bytes(), mutate, rng=rng)
        stage.write_all(places, name, data)
        return f"{mutate.__name__} of {name}: {len(data)} bytes are left"

    return plant


def sign_of_zero(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """-0.0 where runs and golden agree on 0.0: equal to ``==``, another number all the same."""
    name = _agreed(stage, rng, 0.0)
    of_records(mutations.sign_of_zero)(stage, rng, places)
    return f"-0.0 in the place of 0.0, {name}"


def same_nonfinite(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """NaN or an infinity, the same one in both runs and the golden: nothing differs."""
    value = rng.choice((math.nan, math.inf, -math.inf))
    return f"{value} everywhere, {_agreed(stage, rng, value)}"


def promised(stage: Stage) -> frozenset[str]:
    """Metrics that the recipe expects a value of: a row of its own looks at them."""
    return frozenset(read_object(stage.runs[0] / RECORD)["recipe_data"].get("expected") or ())


def _agreed(stage: Stage, rng: Random, value: float) -> str:
    """Give runs and golden one value in one place, sealed, as if the training had come to it."""
    found = mutations.read((stage.golden / METRICS).read_bytes())
    choices = list(mutations.floats(found, but=promised(stage)))
    if not choices:
        raise not_plantable("a float")
    index, name = rng.choice(choices)
    found[index][name] = value
    everything = (*stage.runs, stage.golden)
    stage.write_all(everything, METRICS, mutations.write(found))
    for folder in everything:
        stage.seal(folder)
    return f"{name} in record {index}"


def another_seeds_metrics(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """The metrics of a real run with another seed."""
    if stage.other_seed is None:
        raise not_plantable("another_seed")
    stage.write_all(places, METRICS, stage.other_seed)
    return "the metrics of a run with another seed"


def older_golden(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """A golden of an earlier trainer: other numbers from some record on, other digests, an earlier date."""
    found = mutations.read((stage.golden / METRICS).read_bytes())
    first, factor = rng.randrange(len(found)), 1 + rng.uniform(1e-9, 1e-3)
    changed = [dict(record) for record in found]
    for index, name in mutations.floats(changed):
        if index >= first:
            changed[index][name] *= factor
    if mutations.write(changed) == mutations.write(found):
        raise not_plantable("older_golden")
    stage.write(stage.golden / METRICS, mutations.write(changed))
    told = read_object(stage.golden / PROVENANCE)
    code = "program" if "program" in told["digests"] else "trainer"
    told["digests"][code] = f"sha256:{rng.randbytes(32).hex()}"
    stage.write_json(
        stage.golden / PROVENANCE, {**told, "created_at": "2020-01-01T00:00:00+00:00", "reason": "old"}
    )
    return f"an older golden: different numbers from record {first} on"


def flipped_digest(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """One digit of one digest of parameters or random states, in a record that the golden holds too."""
    if not (stage.golden / TRACE).is_file():
        raise not_plantable("flipped_digest")
    held = (stage.golden / TRACE).read_bytes().splitlines(keepends=True)
    line = rng.choice(held)
    digits = [i for i in range(len(line) - 32) if line[i - 1 : i] == b'"' and line[i + 32 : i + 33] == b'"']
    at = rng.choice(digits) + rng.randrange(32)
    digit = rng.choice([c for c in b"0123456789abcdef" if c != line[at]])
    forged = line[:at] + bytes([digit]) + line[at + 1 :]
    for place in places:
        stage.write(place / TRACE, (place / TRACE).read_bytes().replace(line, forged))
    return "one digit of a digest in trace.jsonl"
