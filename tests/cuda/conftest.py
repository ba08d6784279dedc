"""The GPU that these tests are about, and how runs are made on it; a reason where there is none."""

from __future__ import annotations

import pytest

from support.gpu_host import Gpu, find_gpu


@pytest.fixture(scope="session")
def gpu() -> Gpu:
    """The first GPU of this host."""
    found = find_gpu()
    if isinstance(found, str):
        pytest.skip(f"needs an NVIDIA GPU: {found}")
    return found
