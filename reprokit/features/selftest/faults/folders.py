"""Faults in what a run folder or a golden is made of: checkpoints, markers, records, missing files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from reprokit.core.records import Outcome
from reprokit.features.selftest.faults import Plant
from reprokit.features.selftest.mutations import not_plantable
from reprokit.features.selftest.planting import Stage, read_object
from reprokit.layout import (
    CHECKPOINTS,
    CONFIG,
    INSTRUMENT,
    MARKER,
    METRICS,
    OTHER_SEED,
    PROVENANCE,
    RECORD,
    RUNTIME,
)
from reprokit.runs.reading import files_of
from reprokit.workspace import sha256_of

_MANIFEST = "checkpoints/MANIFEST.json"


def flipped_bit(*, listed: bool) -> Plant:
    """One bit of one checkpoint; ``listed``: MANIFEST.json is forged to agree."""

    def plant(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
        name = rng.choice(_checkpoints(places[0]))
        for place in places:
            data = bytearray((place / name).read_bytes())
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            stage.write(place / name, bytes(data))
            if listed:
                manifest = read_object(place / _MANIFEST)
                manifest["files"][Path(name).name]["sha256"] = sha256_of(place / name)
                stage.write_json(place / _MANIFEST, manifest)
        return f"one bit of {name}"

    return plant


def without_checkpoint(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """A promised checkpoint is not there."""
    name = rng.choice(_checkpoints(places[0]))
    for place in places:
        stage.remove(place / name)
    return f"no {name}"


def without(name: str) -> Plant:
    """A file is not there."""

    def plant(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
        if not (places[0] / name).is_file():
            raise not_plantable(f"no {name}")
        for place in places:
            stage.remove(place / name)
        return f"no {name}"

    return plant


def without_any(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """Any one file of a run that COMPLETE lists is not there, but for those that say what was run."""
    told = {RECORD, *_sources(places[0])}
    return without(rng.choice(sorted(set(files_of(places[0])) - told)))(stage, rng, places)


def without_source(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """The recipe, its trainer or a part of it is not there; judging reads no unmodified program."""
    return without(rng.choice(_sources(places[0])))(stage, rng, places)


def cut_short(name: str) -> Plant:
    """A JSON file ends too early, anywhere."""

    def plant(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
        data = (places[0] / name).read_bytes()
        end = rng.randrange(len(data.rstrip()))
        for place in places:
            stage.write(place / name, (place / name).read_bytes()[:end])
        return f"{name} cut short after {end} of {len(data)} bytes"

    return plant


def added(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """A file that no one listed."""
    name = rng.choice(("metrics-2.jsonl", "checkpoints/checkpoint_1.pt", "notes.txt", "source/extra.py"))
    for place in places:
        stage.write(place / name, rng.randbytes(16))
    return f"one more file: {name}"


def other_record(change: Mapping[str, Any]) -> Plant:
    """``run.json`` says something else."""

    def plant(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
        for place in places:
            stage.write_json(place / RECORD, {**read_object(place / RECORD), **change})
        return f"run.json says {json.dumps(change)}"

    return plant


def said_to_be_stopped(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """A run that is said to have been stopped at the golden, whose metrics are the golden's."""
    for place in places:
        stage.remove(place / MARKER)
    return other_record({"outcome": Outcome.STOPPED_AT_GOLDEN, "exit_code": None})(stage, rng, places)


def another_start(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """A resumed run that continued from another file than the stopped run's checkpoint."""
    told = read_object(places[0] / RECORD)["resumed_from"]
    change = {"resumed_from": {**told, "sha256": f"sha256:{rng.randbytes(32).hex()}"}}
    return other_record(change)(stage, rng, places)


def from_the_start(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """A resumed run that did all the steps once more."""
    for place in places:
        stage.write(place / METRICS, (stage.runs[0] / METRICS).read_bytes())
    return "the records of all steps"


def untouched(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """Nothing at all."""
    return "nothing"


def silent_record(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """``run.json`` does not say whether a setting was overridden."""
    for place in places:
        told = read_object(place / RECORD)
        del told["modified"]
        stage.write_json(place / RECORD, told)
    return "run.json without `modified`"


def another_program(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """The record of a run of other code."""
    digests = read_object(places[0] / RECORD)["digests"]
    name = "program" if "program" in digests else "trainer"
    changed = {**digests, name: f"sha256:{rng.randbytes(32).hex()}"}
    for place in places:
        beside = read_object(place / OTHER_SEED) if (place / OTHER_SEED).is_file() else {}
        if beside:  # the run with another seed was one of the same code
            beside["run"]["digests"] = changed
            stage.write_json(place / OTHER_SEED, beside)
    return other_record({"digests": changed})(stage, rng, places)


def unseeded_generator(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """A generator that no one has given a seed: as the runtime tells it, or the watch over a program."""
    name = next((name for name in (RUNTIME, INSTRUMENT) if (places[0] / name).is_file()), "")
    if not name:
        raise not_plantable("a generator that no one looked at")
    for place in places:
        record = read_object(place / name)
        if name == RUNTIME:
            record["seeding"]["generators"]["numpy"] = None
        else:
            place_of_it = {"file": "train.py", "line": rng.randint(1, 99), "function": "main", "own": True}
            made = {"generator": "a NumPy generator", "origin": "entropy", "seed": "", **place_of_it}
            record["processes"]["0"]["seeds"].append(made)
        stage.write_json(place / name, record)
    return f"a generator without a seed in {name}"


def another_seed(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """The record of a run with another seed."""
    seed = int(read_object(places[0] / RECORD)["seed"]) + rng.randint(1, 1000)
    return other_record({"seed": seed})(stage, rng, places)


def other_config(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """``config.yaml`` with another value for one setting than the recipe has."""
    lines = (places[0] / CONFIG).read_text(encoding="utf-8").splitlines()
    numbers = [i for i, line in enumerate(lines) if line.rpartition(": ")[2].replace(".", "", 1).isdigit()]
    if not numbers:
        raise not_plantable("another setting")
    at = rng.choice(numbers)
    key, _, value = lines[at].rpartition(": ")
    lines[at] = f"{key}: {value}1"
    for place in places:
        stage.write(place / CONFIG, "".join(f"{line}\n" for line in lines).encode())
    return f"config.yaml: {lines[at].strip()}"


def one_run_twice(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """The second run is a copy of the first one."""
    first, second = stage.runs
    for name in sorted({*files_of(first), *files_of(second)}):
        if (first / name).is_file():
            stage.write(second / name, (first / name).read_bytes())
        else:
            stage.remove(second / name)
    return "the second run is a copy of the first"


def no_golden(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """There is no golden for this recipe, platform and seed."""
    for path in sorted(stage.golden.iterdir()):
        stage.remove(path)
    stage.golden.rmdir()
    return "no golden"


def other_provenance(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """A golden that says to be of another recipe, platform or seed than its folder."""
    told = read_object(stage.golden / PROVENANCE)
    key = rng.choice(("recipe", "platform", "seed"))
    told[key] = told[key] + 1 if key == "seed" else f"{told[key]}-2"
    stage.write_json(stage.golden / PROVENANCE, told)
    return f"a golden of {key} {told[key]!r}"


def no_fingerprint(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """A golden that no one took a numerics fingerprint of."""
    told = read_object(stage.golden / PROVENANCE)
    stage.write_json(stage.golden / PROVENANCE, {**told, "fingerprint": "unknown"})
    return "a provenance without a fingerprint"


def other_digest(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """A golden with another digest of its own files."""
    told = read_object(stage.golden / PROVENANCE)
    key = rng.choice([name for name in ("metrics", "trace") if told["digests"].get(name)])
    told["digests"][key] = f"sha256:{rng.randbytes(32).hex()}"
    stage.write_json(stage.golden / PROVENANCE, told)
    return f"another digest of {key} in the provenance"


def _sources(place: Path) -> list[str]:
    record = read_object(place / RECORD)
    trainer = record["recipe_data"].get("trainer")
    own = [f"source/trainers/{trainer}.py"] if trainer else []
    own += sorted(name for name in files_of(place) if name.startswith("source/parts/"))
    return [f"source/{record['recipe']}/recipe.yaml", *own]


def _checkpoints(place: Path) -> list[str]:
    found = sorted(f"checkpoints/{path.name}" for path in (place / CHECKPOINTS).glob("*.pt"))
    if not found:
        raise not_plantable("a checkpoint")
    return found
