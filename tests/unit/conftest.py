"""Puts global random states and torch's flags back, so that no test sees another's."""

# ruff: noqa: NPY002 - the global generators of numpy are what is tested

import random
import sys

import numpy as np
import pytest


@pytest.fixture
def global_state():
    torch = pytest.importorskip("torch")
    python, numpy_, torch_state = random.getstate(), np.random.get_state(), torch.get_rng_state()
    mode = torch.get_deterministic_debug_mode()
    cudnn = torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark
    yield
    random.setstate(python)
    np.random.set_state(numpy_)
    torch.set_rng_state(torch_state)
    torch.set_deterministic_debug_mode(mode)
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = cudnn


@pytest.fixture
def imported_modules():
    """Forgets modules that a test imported from a file."""
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith("reprokit_trainer_"):
            del sys.modules[name]
