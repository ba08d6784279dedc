"""The battery is worth something: each of many broken comparators fails at least one case of it."""

import pytest

from broken_comparators.broken import BROKEN
from reprokit.adapters import from_jsonl
from reprokit.adapters.jsonl.jsonl_walk import Pace
from reprokit.core.comparison import Tolerance, Tolerances, compare_records
from support.comparison_cases import battery, outcome_of
from support.reference_comparison import Reference

CASES = battery()
QUICK = Pace(parse_all_bytes=0, edge_bytes=1, block_bytes=48, segment_bytes=16)


def _wrong(answer, want):
    return {word: answer[word] for word, value in want.items() if answer[word] != value}


@pytest.fixture
def files(tmp_path):
    def write(case):
        paths = tmp_path / "expected.jsonl", tmp_path / "actual.jsonl"
        for path, data in zip(paths, (case.expected, case.actual), strict=True):
            path.write_bytes(data)
        return paths

    return write


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_comparator_passes_every_case(case, files):
    answer = outcome_of(from_jsonl.compare(*files(case), **_options(case)))
    assert not _wrong(answer, case.want)
    assert case.kinds <= answer["kinds"]


@pytest.mark.parametrize("case", [case for case in CASES if case.expected != case.actual], ids=str)
def test_the_comparator_passes_every_case_while_skipping_what_is_equal(case, files):
    answer = outcome_of(from_jsonl.compare(*files(case), **_options(case), pace=QUICK))
    assert not _wrong(answer, case.want)
    assert answer["kinds"] >= case.kinds - {"duplicate_step", "uneven_steps", "reordered_step"}


@pytest.mark.parametrize("case", [case for case in CASES if case.want["exit_code"] != 2], ids=str)
def test_records_without_files_are_compared_alike(case):
    sides = Reference().read(case.expected), Reference().read(case.actual)
    answer = outcome_of(compare_records(*sides, **_options(case)))
    assert not _wrong(answer, case.want)
    assert answer["kinds"] >= case.kinds - {"carriage_return", "no_final_newline", "blank_end"}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_reference_passes_every_case(case):
    assert not _wrong(Reference()(case.expected, case.actual, **case.options), case.want)


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_a_broken_comparator_is_caught(broken):
    caught_by = []
    for case in CASES:
        try:
            if _wrong(broken()(case.expected, case.actual, **case.options), case.want):
                caught_by.append(case.name)
        except (ArithmeticError, TypeError, ValueError):
            caught_by.append(case.name)
    assert caught_by


def test_there_are_at_least_twenty_broken_comparators():
    assert len(BROKEN) >= 20


def _options(case):
    tolerance = Tolerance(rtol=case.options.get("rtol", 0.0), atol=case.options.get("atol", 0.0))
    rest = {name: value for name, value in case.options.items() if name not in {"rtol", "atol"}}
    return {"tolerances": Tolerances(default=tolerance), **rest}
