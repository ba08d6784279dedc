"""Lines and tables for a terminal: folded on a terminal only, and nothing in a cell acts on it."""

from __future__ import annotations

import pytest

from reprokit.reports import tables


def test_a_line_is_folded_below_its_own_beginning_on_a_terminal(on_terminal):
    folded, _ = on_terminal(tables.folded, "name      " + "word " * 12 + "end", indent=10)
    lines = folded.splitlines()
    assert len(lines) > 1
    assert all(len(line) <= 40 for line in lines)
    assert all(line.startswith(" " * 10) and line[10] != " " for line in lines[1:])


def test_an_address_or_path_is_never_broken(on_terminal):
    address = "https://example.org/" + "a" * 60
    folded, _ = on_terminal(tables.folded, f"see {address} for more", indent=4)
    assert address in folded.split()


def test_off_a_terminal_a_line_stays_whole(capsys):
    line = "word " * 100
    assert tables.folded(line, indent=4) == line


def test_columns_are_as_wide_as_they_must_be_and_nothing_in_a_cell_acts():
    lines = tables.table([{"run": "a", "seed": 42}, {"run": "b\x1b[2J", "seed": None}])
    assert lines == ["run       seed", "a         42", "b\\x1b[2J  -"]


def test_a_table_of_nothing_is_no_line():
    assert tables.table([]) == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (500, "500.00"),
        (1497.526, "1,497.53"),
        (0.25, "0.25"),
        (0.0, "0.00"),
        (0.0123456, "0.01235"),
        (-9.87654, "-9.877"),
        (1.2e-7, "1.2e-07"),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
    ],
)
def test_a_small_number_keeps_its_digits(value, text):
    assert tables.few_digits(value) == text


def test_a_pipe_gets_ten_lines_and_is_told_how_to_have_the_rest(capsys):
    lines = ["the answer", "", *(f"row {number}" for number in range(30))]
    assert tables.for_pipe(lines, rest="-v shows all") == [
        "the answer",
        *(f"row {number}" for number in range(8)),
        "and 22 more lines (-v shows all)",
    ]
    assert tables.for_pipe(lines[:5], rest="-v shows all") == ["the answer", "row 0", "row 1", "row 2"]


def test_a_terminal_gets_every_line(on_terminal):
    lines = [f"row {number}" for number in range(30)]
    assert on_terminal(tables.for_pipe, lines, rest="-v shows all")[0] == lines


def test_a_narrow_terminal_gets_fewer_columns(on_terminal):
    rows = [{"run": "20261126T220710Z-bd96-seed1-1", "seconds": "5.3", "verdict": "NONDETERMINISTIC"}]
    assert on_terminal(tables.narrowed, rows, without=("seconds", "run"))[0] == [
        "verdict",
        "NONDETERMINISTIC",
    ]
    assert on_terminal(tables.narrowed, [{"run": "a", "seconds": "1"}], without=("seconds",))[0] == [
        "run  seconds",
        "a    1",
    ]
