"""The fake PBS commands come first on the path."""

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def fake_pbs(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", f"{Path(__file__).parent / 'fake_pbs'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_PBS", str(tmp_path / "pbs"))
