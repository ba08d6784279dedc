"""A sample of the matrix of kills in `make test`, all of it in `make test-all`; loaders that forget, too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("resume_matrix.py")
SAMPLE = """
import sys, tempfile
from pathlib import Path
from tests.stress import resume_matrix as matrix
matrix.load_everything()
{before}
wanted = [
    case for case in matrix.cases()
    if (case.workers, case.stream, case.own, case.persistent) == ({workers}, {stream}, {own}, {persistent})
    and case.accumulate == 2 and case.prefetch is None
]
with tempfile.TemporaryDirectory(prefix="matrix-") as place:
    print(matrix.killed_at_every_batch(wanted[0], Path(place)))
"""
FORGETS = "matrix.ResumableLoader.load_state_dict = lambda self, state: None"
#: Restores the place and not the streams of the workers.
OTHER_DRAWS = """
natural = matrix.ResumableLoader.load_state_dict
def load(self, state):
    for begun in state["begun"]:
        begun["torch"] = matrix.torch.get_rng_state()
    natural(self, state)
matrix.ResumableLoader.load_state_dict = load
"""


def _said(before: str = "", *, workers: int, stream: bool, own: bool, persistent: bool) -> str:
    source = SAMPLE.format(before=before, workers=workers, stream=stream, own=own, persistent=persistent)
    root = SCRIPT.parents[2]
    done = subprocess.run(
        [sys.executable, "-c", source], cwd=root, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.sample(1)
#: The first two are the cases in which a loader is made to forget below: without that, nothing is found.
@pytest.mark.parametrize(
    ("workers", "stream", "own", "persistent"),
    [(0, False, True, False), (1, False, False, False), (1, False, False, True)],
)
def test_killed_at_every_batch_it_ends_as_if_nothing_had_been(workers, stream, own, persistent):
    said = _said(workers=workers, stream=stream, own=own, persistent=persistent)
    assert said == "(10, '')"


def test_a_loader_that_forgets_its_place_is_found():
    said = _said(FORGETS, workers=0, stream=False, own=True, persistent=False)
    assert "of the training resumed from batch 2" in said


@pytest.mark.slow
def test_workers_that_draw_from_another_state_are_found():
    said = _said(OTHER_DRAWS, workers=1, stream=False, own=False, persistent=False)
    assert "of the training resumed from batch" in said


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_combination_ends_as_if_nothing_had_been(tmp_path):
    table = tmp_path / "table.md"
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--table", str(table)], cwd=SCRIPT.parents[2], check=False, timeout=3500
    )
    assert done.returncode == 0, table.read_text()
