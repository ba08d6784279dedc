"""Calls of operations whose claim is false: found by name in the source, wherever they stand."""

import pytest

from reprokit.core.environments.false_claims import false_calls


def row(operation, *, outcome="differs", compiled=False):
    """Findings with deterministic algorithms on."""
    about = {"operation": operation, "dtype": "float32", "phase": "forward", "compiled": compiled}
    return {**about, "claim": "unlisted", "deterministic": {"outcome": outcome}}


@pytest.mark.parametrize(
    ("operation", "call"),
    [
        ("index_add", "x.index_add_(0, i, y)"),
        ("index_put accumulate=True", "x.index_put((i,), y, accumulate=True)"),
        ("interpolate bilinear", "functional.interpolate(x)"),
        ("max_unpool2d", "nn.MaxUnpool2d(3)"),
        ("cumsum", "cumsum(x)"),
    ],
)
def test_a_call_is_found_by_its_name_however_it_is_spelled(operation, call):
    (found,) = false_calls(f"import torch\nmade = {call}\n", [row(operation)])
    assert (found.line, found.operation) == (2, operation.split()[0])
    assert found.why == "forward: the result differs and nothing is raised"


def test_what_is_not_called_or_repeats_is_not_found():
    source = "made = x.cumsum\nother = x.index_add(0, i, y)\n"
    assert false_calls(source, [row("cumsum"), row("index_add", outcome="same")]) == []


def test_an_operation_is_found_once_a_line_and_says_whether_it_was_compiled():
    found = false_calls("a = x.cumsum(0) + y.cumsum(0)", [row("cumsum", compiled=True), row("cumsum")])
    assert [one.why for one in found] == ["forward compiled: the result differs and nothing is raised"]


@pytest.mark.parametrize(
    "source",
    [b"cumsum(\xff\xfe)", b"\0cumsum()", "def cumsum", "x = cumsum(" * 500, "cumsum;" + "-" * 100_000 + "1"],
)
def test_what_is_no_python_has_no_calls(source):
    assert false_calls(source, [row("cumsum")]) == []


@pytest.mark.parametrize(
    "rest",
    [
        "**".join(["1"] * 50_000),
        "+".join(["1"] * 200_000),
        "lambda:" * 20_000 + "1",
        "f" + "()" * 50_000,
        "if a:\n pass\n" + "elif a:\n pass\n" * 20_000,
    ],
    ids=["powers", "sums", "lambdas", "calls", "elifs"],
)
def test_a_source_that_nests_too_deep_for_a_parser_has_the_calls_that_it_can_find(rest):
    assert [one.line for one in false_calls(f"cumsum(x)\n{rest}\n", [row("cumsum")])] in ([], [1])
