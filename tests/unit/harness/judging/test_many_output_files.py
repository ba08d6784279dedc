"""Programs that leave thousands of files beside their metrics."""

from __future__ import annotations

import json
import time
from pathlib import Path
from types import SimpleNamespace

from reprokit.harness.judging.differences import output_files
from reprokit.layout import MARKER, OUTPUT

_NUM_FILES, _LIMIT_S = 3_000, 5


def stored(folder: Path, number: int) -> SimpleNamespace:
    """A run whose program left many files, one of them with other content in each run."""
    output = folder / OUTPUT
    output.mkdir(parents=True)
    listed = {}
    for index in range(_NUM_FILES):
        text = f"{number}" if index == 7 else "same"
        (output / f"{index}.bin").write_text(text)
        listed[f"{OUTPUT}/{index}.bin"] = {"sha256": f"digest of {text}", "size": len(text)}
    (folder / MARKER).write_text(json.dumps({"files": listed}))
    record = SimpleNamespace(keeps_output=True, run_id=folder.name)
    return SimpleNamespace(path=folder, record=record)


def test_thousands_of_output_files_are_compared_in_seconds(tmp_path, monkeypatch):
    runs = [stored(tmp_path / f"run-{number}", number) for number in (1, 2)]
    monkeypatch.setattr(
        output_files.program_output,
        "left_by",
        lambda run: [path.name for path in (run.path / OUTPUT).iterdir()],
    )
    began_s = time.process_time()
    assert output_files.differing_outputs(runs, ()) == {"7.bin": "differs"}
    assert time.process_time() - began_s < _LIMIT_S
