"""The page and the module with simulated numbers are both what the script writes."""

import ast
import importlib.util
from pathlib import Path

import numpy as np
import pytest

from reprokit.core.statistics import measured

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("small_samples", ROOT / "benchmarks/small_samples.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_has_the_numbers_of_the_module(script):
    page = script.PAGE.read_text()
    assert script.with_tables(page, script.page_tables(measured.COVERAGE, measured.POWER)) == page


def test_the_module_is_what_the_script_writes(script):
    text = script.module_text(measured.COVERAGE, measured.POWER)
    assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(script.MODULE.read_text()))


def test_another_number_would_be_noticed(script):
    page = script.PAGE.read_text()
    powers = {**measured.POWER, "levene": {**measured.POWER["levene"], 10: 0.01}}
    assert script.with_tables(page, script.page_tables(measured.COVERAGE, powers)) != page


def test_a_simulation_of_few_draws_comes_near(script):
    found = script.coverage("student_t", "ceiling", draws=500, generator=np.random.default_rng(0))
    assert found[5] == pytest.approx(measured.COVERAGE["student_t"]["ceiling"][5], abs=0.07)


@pytest.mark.parametrize(
    ("shape", "of", "expected"), [("normal", "mean", 0), ("skewed", "mean", 1), ("bimodal", "mean", -1)]
)
def test_the_true_values_are_those_of_the_distributions(script, shape, of, expected):
    assert script.truth(shape, of) == pytest.approx(expected, abs=1e-3)
