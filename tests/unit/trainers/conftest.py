"""The trainers, imported from their files as the runtime does it."""

from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def ppo():
    pytest.importorskip("torch")
    from reprokit.runtime.launch import load_trainer  # noqa: PLC0415 - imports torch

    return load_trainer(PROJECT / "recipes" / "trainers" / "ppo.py")
