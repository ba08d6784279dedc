"""Stable-Baselines3's own determinism tests in a third of their lines: they see a fault in a seed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from real_programs import HERE, CannotBeMadeError

from support.kept_python import kept_byte_code, kept_python

TESTS = HERE / "sb3_determinism" / "deterministic.py"
pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


@pytest.fixture
def suite(tmp_path):
    """A repository with the tests in it; of several algorithms, those of A2C are run."""
    try:
        python = kept_python("real-programs", HERE / "requirements-small.txt", on_top=True)
    except CannotBeMadeError as problem:
        pytest.skip(f"its environment cannot be made here: {problem}")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    kept = {name: value for name, value in os.environ.items() if name not in {"CI", "PYTHONPATH"}}

    def run(text: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "test_deterministic.py").write_text(text)
        words = [str(python), "-m", "pytest", "-q", "-k", "A2C", "-p", "no:cacheprovider"]
        variables = {**kept, **kept_byte_code(python), "PYTHONPATH": str(HERE.parents[1])}
        return subprocess.run(
            words, cwd=tmp_path, capture_output=True, text=True, check=False, env=variables, timeout=3000
        )

    return run


def test_they_pass_and_a_fault_in_the_seed_fails(suite):
    text = TESTS.read_text()
    assert len([line for line in text.splitlines() if line.strip()]) <= 35 / 3  # 35 lines in its repository
    first = suite(text)
    assert first.returncode == 1
    assert "NO_GOLDEN" in first.stdout, first.stdout + first.stderr
    assert suite(text).returncode == 0
    for fault, verdict in (("seed=None", "NONDETERMINISTIC"), ("seed=1", "REGRESSION")):
        assert "seed=0" in text
        failed = suite(text.replace("seed=0", fault))
        assert failed.returncode == 1
        assert verdict in failed.stdout, failed.stdout
