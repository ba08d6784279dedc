"""Which of the records near a divergence is the one that differs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reprokit import adapters
from reprokit.core.checklist import Verdict
from reprokit.harness.judging.records_nearby import records_nearby
from support import planted

LONG = f"1{'0' * 5000}"  # more digits than Python turns into decimals


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (LONG, f"{LONG[:-1]}1"),
        (LONG, f"-{LONG}"),
        ("0.5", "NaN"),
        ("null", "0.5"),
        ('"a"', '"b"'),
        ("1", "true"),
    ],
)
def test_the_record_that_differs_is_found_whatever_its_values_are(tmp_path, first, second):
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder, value in zip(folders, (first, second), strict=True):
        folder.mkdir()
        lines = ['{"step": 0, "loss": 1}', f'{{"step": 1, "loss": {value}}}', '{"step": 2, "loss": 1}']
        (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    compared = adapters.compare(*(folder / "metrics.jsonl" for folder in folders))
    evidence = replace(planted.clean(), repeats=(compared,))
    found = records_nearby(evidence, Verdict.NONDETERMINISTIC, compared.divergence, folders=folders)
    assert [one.step for one in found if one.is_divergence] == [1]
