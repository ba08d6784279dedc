"""What `trace diff` says of an operation that two runs differ in."""

from reprokit.diagnosis import Operation, UnfinishedWork
from reprokit.reports.pages import trace_diff

COPY = UnfinishedWork(name="aten.copy_", file="data.py", line=7, stream=3)
FOUND = {"name": "aten.mul", "file": "train.py", "line": 9, "function": "main", "number": 12}


def lines_of(**more):
    operation = Operation(**FOUND, **more)
    events = ({"main": 2}, {"main": 2})
    return list(trace_diff.page_lines(began=None, events=events, operation=operation, drew=(), num_sites=0))


def test_of_a_race_both_lines_are_named():
    assert lines_of(beside=COPY)[1:3] == [
        "operation 12: aten.mul at train.py:9",
        "  nothing makes it wait for aten.copy_ at data.py:7, on stream 3",
    ]


def test_what_raced_with_nothing_has_no_second_line():
    assert lines_of()[1:] == ["operation 12: aten.mul at train.py:9", "0 of 0 lines drew different values"]
