"""Faults in environment records: another machine, other numerics, another platform, a missing fact.

Which facts can change numbers is said by ``core.fingerprint_rules``; these follow it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, cast

from reprokit.core import fingerprint
from reprokit.core.environment_record import EnvironmentRecord
from reprokit.features.selftest.mutations import not_plantable
from reprokit.features.selftest.planting import Stage, read_object
from reprokit.layout import ENVIRONMENT, PROVENANCE, RECORD

#: Facts of another machine that change no number: written over those of the record.
_MACHINE: Mapping[str, Any] = {
    "host.kernel": "5.10.0-selftest",
    "host.os.name": "Another Linux 1",
    "host.cpu.model": "Another CPU @ 1.00GHz",
    "host.cpu.vendor": "AnotherVendor",
    "host.memory.total_bytes": 4_294_967_296,
}
#: Facts that can change numbers.
_NUMERICS: Mapping[str, Any] = {
    "inside.libc.version": "2.17",
    "inside.numpy.blas.version": "0.0.1",
    "inside.torch.mkl": "1999.1-Product Build 19990101",
    "inside.torch.onednn": "v0.0.1 (Git Hash 0000000)",
    "inside.torch.compiler": "GCC 2.95",
}


def another_machine(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """Facts of another machine that change no number."""
    profile = read_object(stage.runs[0] / RECORD)["recipe_data"].get("numerics")
    kept = "" if profile == "portable" else "host.cpu."  # natively, another CPU may round differently
    facts = {name: value for name, value in _MACHINE.items() if not kept or not name.startswith(kept)}
    return _other_facts(stage, rng, places, facts)


def other_numerics(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """Facts that can change numbers."""
    return _other_facts(stage, rng, places, _NUMERICS)


def another_architecture(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """A record of another platform."""
    for place in places:
        record = _environment(place)
        for section in ("inside", "host"):
            record[section]["cpu"] = {**record[section].get("cpu", {}), "architecture": "aarch64"}
        stage.write_json(place / ENVIRONMENT, record)
    return "a record of aarch64"


def missing_fact(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """A record without something that every record must hold."""
    recipe = read_object(stage.runs[0] / RECORD)["recipe_data"]
    fields = ["host.kernel", "host.libc", "inside.packages", "limits"]
    fields += [] if "command" in recipe else ["inside.torch"]
    fields += [] if recipe["variant"] == "none" else ["inside.numerics"]
    field = rng.choice(fields)
    section, _, name = field.rpartition(".")
    for place in places:
        record = _environment(place)
        del (record[section] if section else record)[name]
        stage.write_json(place / ENVIRONMENT, record)
    return f"no {field} in the environment record"


def _other_facts(stage: Stage, rng: Random, places: Sequence[Path], facts: Mapping[str, Any]) -> str:
    there = [field for field in facts if _at(_environment(places[0]), field) not in {None, facts[field]}]
    chosen = sorted(rng.sample(there, rng.randint(1, len(there)))) if there else []
    if not chosen:
        raise not_plantable("another environment")
    for place in places:
        record = _environment(place)
        for field in chosen:
            section, _, name = field.rpartition(".")
            _at(record, section)[name] = facts[field]
        _write_environment(stage, place, record)
    return f"other facts: {', '.join(chosen)}"


def _environment(place: Path) -> dict[str, Any]:
    if (place / PROVENANCE).is_file():
        record: dict[str, Any] = read_object(place / PROVENANCE)["environment"]
        return record
    return read_object(place / ENVIRONMENT)


def _write_environment(stage: Stage, place: Path, record: dict[str, Any]) -> None:
    if place != stage.golden:
        stage.write_json(place / ENVIRONMENT, record)
        return
    told = read_object(place / PROVENANCE)
    typed = cast("EnvironmentRecord", record)
    facts, digest = fingerprint.facts(typed), fingerprint.fingerprint(typed)
    stage.write_json(
        place / PROVENANCE,
        {**told, "environment": record, "fingerprint": digest, "fingerprint_facts": facts},
    )


def _at(record: Any, path: str) -> Any:
    for name in path.split("."):
        record = record.get(name) if isinstance(record, dict) else None
    return record
