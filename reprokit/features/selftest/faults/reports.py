"""Faults in a report: cut short, or made to say something else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

from reprokit.features.selftest.mutations import not_plantable
from reprokit.features.selftest.planting import Stage, read_object


def cut_report(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """``report.json`` ends too early, anywhere."""
    file = report_file(stage)
    data = file.read_bytes()
    end = rng.randrange(len(data.rstrip()))
    stage.write(file, data[:end])
    return f"report.json cut short after {end} of {len(data)} bytes"


def says_otherwise(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """A row, the sentence or a digest of the report is another one."""
    file = report_file(stage)
    told = read_object(file)
    what = rng.choice(("sentence", "row", "digest"))
    if what == "sentence":
        told["sentence"] += " Trust me."
    elif what == "row":
        row = rng.choice([row for row in told["checks"] if row["status"] == "PASSED"])
        row["reason"] += " (and more)"
    else:
        path = rng.choice(sorted(told["evidence_digests"]))
        told["evidence_digests"][path] = f"sha256:{rng.randbytes(32).hex()}"
    stage.write_json(file, told)
    return f"report.json: another {what}"


def untouched(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """Nothing at all."""
    return f"nothing in {report_file(stage).name}"


def report_file(stage: Stage) -> Path:
    """The report of the untouched copies."""
    if stage.report is None:
        raise not_plantable("a report")
    return stage.report
