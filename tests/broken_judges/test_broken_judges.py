"""The selftest is worth something: each of many broken judges makes it fail."""

from __future__ import annotations

import sys

import pytest

from broken_judges.broken_judges import BROKEN
from reprokit.errors import CannotJudgeError
from reprokit.features.selftest import judging
from reprokit.features.selftest.planting import Stage
from reprokit.features.selftest.score import CLEAN, prepare, run
from reprokit.features.selftest.table import KINDS

ONE_ROUND = 400


@pytest.fixture(scope="module")
def stage(samples):
    with Stage.of(samples) as prepared:
        prepare(prepared)
        yield prepared


def test_there_are_at_least_twenty_broken_judges():
    assert len(BROKEN) >= 20


def test_the_real_judge_misses_nothing(samples, silent):
    """Every kind of fault at least once; the slow test plants thousands."""
    result = run(samples, num_faults=100, num_clean=5, seed=1, progress=silent)
    assert [(miss.id, miss.because) for miss in result.misses] == []
    assert result.not_planted == []
    assert {row.id for row in result.rows.values()} == {*(kind.id for kind in KINDS), CLEAN}
    assert (result.planted, result.clean.planted, result.exit_code) == (100, 5, 0)


@pytest.mark.parametrize("broken", BROKEN[::7], ids=lambda broken: broken.__name__)
def test_a_broken_judge_is_caught(broken, stage, monkeypatch, capsys):
    """As soon as the first fault is missed, or a clean copy is not REPRODUCED."""
    broken(monkeypatch)
    caught = next((one for one in everything(stage) if not one.is_right), None)
    assert caught is not None
    with capsys.disabled():
        sys.stdout.write(f"\n  {broken.__name__}: {caught.id}: {caught.because}")


@pytest.mark.slow
@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_a_broken_judge_makes_the_selftest_fail(broken, samples, silent, monkeypatch, capsys):
    """The whole way, from the samples to the exit code; a judge that spoils the runs themselves ends in 4."""
    broken(monkeypatch)
    try:
        result = run(samples, num_faults=ONE_ROUND, num_clean=2, seed=0, progress=silent)
        told, code = sorted({miss.id.partition("/")[0] for miss in result.misses}), result.exit_code
    except CannotJudgeError as error:
        told, code = [str(error)], error.exit_code
    assert code in {1, 4}
    with capsys.disabled():
        sys.stdout.write(f"\n  {broken.__name__} ({code}): {', '.join(told)}")


@pytest.mark.slow
def test_thousands_of_faults_and_clean_copies(samples, silent):
    result = run(samples, num_faults=5000, num_clean=1000, seed=7, progress=silent)
    assert [(miss.id, miss.because) for miss in result.misses] == []
    assert (result.planted, result.clean.right) == (5000, 1000)


def everything(stage):
    yield judging.clean(stage, 0)
    for fault in judging.faults(ONE_ROUND):
        try:
            yield judging.judged(stage, fault, seed=0)
        except CannotJudgeError:
            continue


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_what_a_broken_judge_replaces_is_still_there(broken, monkeypatch):
    broken(monkeypatch)
