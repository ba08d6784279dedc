"""What the tests of all formats share: sample reports, and texts that try to be more than text."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

from reprokit.core.checklist import Report, Verdict
from support import hostile
from support import sample_report as sample_report_module


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "hostile_text" in metafunc.fixturenames:
        texts = hostile.TEXTS
        metafunc.parametrize("hostile_text", texts, ids=[f"text{number}" for number in range(len(texts))])


@pytest.fixture
def samples() -> ModuleType:
    return sample_report_module


@pytest.fixture
def sample_report() -> Callable[[Verdict], Report]:
    return sample_report_module.sample_report


@pytest.fixture(scope="session")
def blank_and_harmless() -> tuple[Report, Report]:
    """The same places filled with nothing and with a harmless word: what hostile text may look like."""
    report = sample_report_module.sample_report(Verdict.REGRESSION)
    return sample_report_module.with_text(report, ""), sample_report_module.with_text(report, "harmless")


@pytest.fixture
def hostile_report(hostile_text: str) -> Report:
    """A report with the hostile text in every place that the program under test can fill."""
    return sample_report_module.with_text(
        sample_report_module.sample_report(Verdict.REGRESSION), hostile_text
    )
