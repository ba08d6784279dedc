"""What the tests of all formats share: sample reports, and texts that try to be more than text."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from reprokit.core.checklist import Report, Verdict


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"reports_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_SAMPLES = _load("sample_report")
_HOSTILE = _load("hostile")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "hostile_text" in metafunc.fixturenames:
        texts = _HOSTILE.TEXTS
        metafunc.parametrize("hostile_text", texts, ids=[f"text{number}" for number in range(len(texts))])


@pytest.fixture
def samples() -> ModuleType:
    return _SAMPLES


@pytest.fixture
def sample_report() -> Callable[[Verdict], Report]:
    return _SAMPLES.sample_report


@pytest.fixture(scope="session")
def blank_and_harmless() -> tuple[Report, Report]:
    """The same places filled with nothing and with a harmless word: what hostile text may look like."""
    report = _SAMPLES.sample_report(Verdict.REGRESSION)
    return _SAMPLES.with_text(report, ""), _SAMPLES.with_text(report, "harmless")


@pytest.fixture
def hostile_report(hostile_text: str) -> Report:
    """A report with the hostile text in every place that the program under test can fill."""
    return _SAMPLES.with_text(_SAMPLES.sample_report(Verdict.REGRESSION), hostile_text)
