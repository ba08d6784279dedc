"""The trainers, imported from their files as the runtime does it."""

from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def ppo():
    pytest.importorskip("torch")
    from reprokit.runtime.launch import load_trainer  # noqa: PLC0415 - imports torch

    return load_trainer(PROJECT / "recipes" / "trainers" / "ppo.py")


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """As every profile has it."""
    torch = pytest.importorskip("torch")
    before, mode = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
    torch.set_deterministic_debug_mode(mode)
