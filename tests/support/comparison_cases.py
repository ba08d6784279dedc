# ruff: noqa: E501  a case is a row of a table
# fmt: off
"""The battery: pairs of files, and what every comparator must say about them.

A case that the package's comparator and the reference pass, and that at least one broken
comparator fails, is worth its line.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from reprokit.core.comparison import Comparison, exit_code

NAN, INF = float("nan"), float("inf")


@dataclass(frozen=True, kw_only=True)
class Case:
    """Two files and the parts of the answer that matter for them.

    ``kinds`` are problems that must be named; only the package's comparator names any.
    """

    name: str
    expected: bytes
    actual: bytes
    want: dict[str, Any]
    options: dict[str, Any] = field(default_factory=dict)
    kinds: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return self.name.replace(" ", "_")


def lines(*records: Any, end: str = "\n") -> bytes:
    """Records as a file; a string or bytes stands for itself."""
    texts = [
        one if isinstance(one, bytes) else (one if isinstance(one, str) else json.dumps(one)).encode()
        for one in records
    ]
    return b"".join(text + end.encode() for text in texts)


def losses(*values: Any, start: int = 0) -> bytes:
    """A file with one metric, at steps 0, 1, 2, …; a string is written as it is."""
    return lines(
        *(
            f'{{"step": {start + at}, "loss": {value if isinstance(value, str) else json.dumps(value)}}}'
            for at, value in enumerate(values)
        )
    )


def outcome_of(comparison: Comparison) -> dict[str, Any]:
    """The package's answer in the reference's words, and the kinds of problems besides."""
    divergence, per_metric = comparison.divergence, comparison.per_metric
    wrong = {name: one for name, one in per_metric.items() if one.mismatches}
    return {
        "exit_code": exit_code(comparison),
        "identical": comparison.identical,
        "records": comparison.records_compared,
        "divergence": None if divergence is None else (divergence.record, divergence.metric),
        "mismatches": {name: one.mismatches for name, one in wrong.items()},
        "first_steps": {name: one.first_step for name, one in wrong.items()},
        "max_abs": {name: one.max_abs_error for name, one in per_metric.items() if name != "step"},
        "metrics": comparison.metrics_compared,
        "kinds": {problem.kind for problem in comparison.problems},
    }


def _same(name: str, expected: bytes, actual: bytes, *kinds: str, **options: Any) -> Case:
    return Case(
        name=name, expected=expected, actual=actual, want={"exit_code": 0, "mismatches": {}, "divergence": None},
        options=options, kinds=frozenset(kinds),
    )


def _differs(
    name: str, expected: bytes, actual: bytes, at: tuple[int, str | None], *kinds: str, **options: Any
) -> Case:
    return Case(
        name=name, expected=expected, actual=actual, want={"exit_code": 1, "identical": False, "divergence": at},
        options=options, kinds=frozenset(kinds),
    )


def _unreadable(name: str, data: bytes, *kinds: str) -> list[Case]:
    """A file that cannot be compared: not with a good one, on either side, and not with itself."""
    good = losses(0.5, 0.25, 0.125)
    return [
        Case(name=f"{name} {where}", expected=left, actual=right, want={"exit_code": 2, "identical": False}, kinds=frozenset(kinds))
        for where, left, right in (("in actual", good, data), ("in expected", data, good), ("in both", data, data))
    ]


def _tolerances() -> list[Case]:
    return [
        _same("within rtol", losses(100.0), losses(101.0), rtol=0.01),
        _differs("just outside rtol", losses(100.0), losses(101.5), (0, "loss"), rtol=0.01),
        _same("rtol is of expected", losses(110.0), losses(99.0), rtol=0.1),
        _differs("rtol is not of actual", losses(99.0), losses(110.0), (0, "loss"), rtol=0.1),
        _same("exactly on the bound", losses(1.0), losses(1.5), atol=0.5),
        _same("both terms add up", losses(10.0), losses(11.5), rtol=0.1, atol=0.5),
        _differs("the larger term is not enough", losses(10.0), losses(11.75), (0, "loss"), rtol=0.1, atol=0.5),
        _same("zeros of both signs within a tolerance", losses(0.0), losses(-0.0), atol=1e-300),
        _differs("nothing beside zero within rtol alone", losses(0.0), losses(1e-30), (0, "loss"), rtol=0.5),
        _differs("NaN within no tolerance", losses(NAN), losses(1.0), (0, "loss"), "nan_placement", atol=1e9),
        _differs("infinity within no tolerance", losses(INF), losses(1.0), (0, "loss"), "infinity_placement", rtol=0.5),
        _differs("opposite infinities", losses(INF), losses(-INF), (0, "loss"), "infinity_placement", rtol=1.0),
        _differs("overflow grants nothing", losses(1.7e308), losses(-1.7e308), (0, "loss"), rtol=1.5),
        _same("overflow takes nothing", losses(1.7e308), losses(-1.7e308), rtol=2.5),
        _differs("the step has no tolerance", losses(1.0, 2.0), losses(1.0, 2.0, start=1), (0, "step"), rtol=1.0, atol=9.0),
        _same("integers have a tolerance", losses(100), losses(101), rtol=0.01),
        _differs("strings have none", losses("\"a\""), losses("\"b\""), (0, "loss"), atol=9.0),
        _differs("booleans have none", losses(False), losses(True), (0, "loss"), atol=9.0),
        Case(
            name="identical is not within tolerance", expected=losses(1.0), actual=losses(1.25),
            want={"exit_code": 0, "identical": False, "max_abs": {"loss": 0.25}}, options={"atol": 0.5},
        ),
    ]


def _numbers() -> list[Case]:
    big, huge = 2**53, int("9" * 640)
    return [
        _same("equal", losses(0.5, 0.25), losses(0.5, 0.25)),
        _differs("one ulp", losses(0.1), losses(0.1 + 2**-56), (0, "loss")),
        _differs("sixth decimal", losses(0.123456), losses(0.123457), (0, "loss")),
        _differs("beyond float32", losses(0.1), losses(0.10000000000000002), (0, "loss")),
        _same("1 is 1.0", losses(1), losses(1.0)),
        _same("1e2 is 100", losses("1e2"), losses(100)),
        _differs("sign of zero", losses(0.0), losses(-0.0), (0, "loss")),
        _differs("sign of zero beside an integer", losses(0), losses(-0.0), (0, "loss")),
        _differs("integers beyond 2**53", losses(big), losses(big + 1), (0, "loss")),
        _differs("integer against float beyond 2**53", losses(big + 1), losses(float(big)), (0, "loss")),
        _differs("integers beyond 64 bits", losses(2**70), losses(2**70 + 1), (0, "loss")),
        _differs("long integers", losses(huge), losses(huge - 1), (0, "loss")),
        _differs("integers of 5,000 digits", losses("9" * 5000), losses("9" * 4999 + "8"), (0, "loss")),
        _same("an integer of 5,000 digits", losses("9" * 5000), losses("9" * 5000)),
        _differs("the least number", losses(0.0), losses(5e-324), (0, "loss")),
        _same("NaN at the same place", losses(0.5, NAN), losses(0.5, NAN)),
        _differs("NaN elsewhere", losses(0.5, NAN), losses(NAN, 0.5), (0, "loss"), "nan_placement"),
        _differs("a number became NaN", losses(0.5, 0.25), losses(0.5, NAN), (1, "loss"), "nan_placement"),
        _same("the same infinity", losses(1.0, INF, -INF), losses(1.0, INF, -INF)),
        _differs("another infinity", losses(INF), losses(-INF), (0, "loss"), "infinity_placement"),
        _differs("infinity and the largest number", losses(INF), losses(1.7976931348623157e308), (0, "loss"), "infinity_placement"),
        _same("only NaN says little", losses(NAN), losses(NAN), "only_nan"),
    ]


def _types() -> list[Case]:
    return [
        _differs("true is not 1", losses(1), losses(True), (0, "loss"), "changed_type"),
        _differs("false is not 0", losses(0.0), losses(False), (0, "loss"), "changed_type"),
        _differs("null is not NaN", losses(NAN), losses(None), (0, "loss"), "changed_type"),
        _differs("null is not missing", lines({"step": 0, "a": 1.0, "b": None}), lines({"step": 0, "a": 1.0}), (0, "b"), "missing_metric"),
        _differs("null is not zero", losses(0.0), losses(None), (0, "loss"), "changed_type"),
        _differs("a string is not a number", losses(1), losses("\"1\""), (0, "loss"), "changed_type"),
        _differs("strings differ", losses("\"a\""), losses("\"A\""), (0, "loss")),
        _same("an escape is its character", losses("\"\\u0041\""), losses("\"A\"")),
        _same("nested values", losses([1, {"a": 0.5}]), losses([1.0, {"a": 0.5}])),
        _differs("deep inside", losses([1, {"a": [0.5]}]), losses([1, {"a": [0.75]}]), (0, "loss")),
        _differs("the order of elements", losses([1, 2]), losses([2, 1]), (0, "loss")),
        _differs("one element more", losses([1, 2]), losses([1, 2, 3]), (0, "loss"), "changed_structure"),
        _same("the order of keys inside", losses({"a": 1, "b": 2}), losses({"b": 2, "a": 1})),
        _differs("one key more inside", losses({"a": 1}), losses({"a": 1, "b": None}), (0, "loss/b"), "extra_metric"),
        _differs("a number in an object", losses({"a": 1, "b": 0.5}), losses({"a": 1, "b": 0.25}), (0, "loss/b")),
        _same("a number in an object is left out", losses({"a": 1, "b": 0.5}), losses({"a": 1, "b": 0.25}), "ignored_metric", ignore=["loss/b"]),
        _differs("an array is not an object", losses([]), losses({}), (0, "loss"), "changed_type"),
    ]


def _names() -> list[Case]:
    one = lines({"step": 0, "loss": 1.0, "kl": 2.0})
    return [
        _same("the order of keys", one, lines({"kl": 2.0, "loss": 1.0, "step": 0})),
        _same("white space", one, lines('  { "step":0 ,\t"loss":1.0,"kl":2.0}  ')),
        _differs("a metric is missing", one, lines({"step": 0, "loss": 1.0}), (0, "kl"), "missing_metric"),
        _differs("a metric is new", lines({"step": 0, "loss": 1.0}), one, (0, "kl"), "extra_metric"),
        _differs("a metric is renamed", one, lines({"step": 0, "loss": 1.0, "kl_div": 2.0}), (0, "kl"), "renamed_metric"),
        _differs("capitals", one, lines({"step": 0, "Loss": 1.0, "kl": 2.0}), (0, "loss")),
        _differs("a space at the end", one, lines({"step": 0, "loss ": 1.0, "kl": 2.0}), (0, "loss")),
        _differs("normalisation", lines({"step": 0, "r\u00e9": 1.0}), lines({"step": 0, "re\u0301": 1.0}), (0, "r\u00e9"), "name_normalisation"),
        _differs("the step is missing", one, lines({"loss": 1.0, "kl": 2.0}), (0, "step"), "missing_metric"),
        _same("only one metric is asked for", one, lines({"step": 0, "loss": 9.0, "kl": 2.0}), metrics=["kl"]),
        _differs("the one that is asked for", one, lines({"step": 0, "loss": 9.0, "kl": 2.5}), (0, "kl"), metrics=["kl"]),
        _same("a metric is ignored", one, lines({"step": 0, "loss": 9.0, "kl": 2.0}), "ignored_metric", ignore=["l*s"]),
        _differs("a pattern is not a part", one, lines({"step": 0, "loss": 9.0, "kl": 2.0}), (0, "loss"), ignore=["oss"]),
        Case(name="a metric that neither has", expected=one, actual=one, want={"exit_code": 2}, options={"metrics": ["klx"]}, kinds=frozenset({"unknown_metric"})),
        Case(name="everything ignored", expected=one, actual=one, want={"exit_code": 2}, options={"ignore": ["*"]}, kinds=frozenset({"no_values"})),
        Case(name="one asked for is not there", expected=one, actual=one, want={"exit_code": 2}, options={"metrics": ["kl", "nope"]}, kinds=frozenset({"unknown_metric"})),
    ]


def _records() -> list[Case]:
    three = losses(3.0, 2.0, 1.0)
    twice = lines(*({"step": step, "loss": loss} for step, loss in ((0, 3.0), (1, 2.0), (1, 2.5), (2, 1.0))))
    again = lines(*({"step": step, "loss": loss} for step, loss in ((0, 3.0), (1, 2.0), (1, 9.0), (2, 1.0))))
    return [
        _differs("the last record is missing", three, losses(3.0, 2.0), (2, None), "missing_record"),
        _differs("a record is new at the end", losses(3.0, 2.0), three, (2, None), "extra_record"),
        _differs("records changed places", three, lines(*three.decode().split("\n")[1::-1], *three.decode().split("\n")[2:3]), (0, "step"), "reordered_step"),
        _differs("a step is skipped", three, lines({"step": 0, "loss": 3.0}, {"step": 2, "loss": 1.0}), (1, "step"), "skipped_step", "missing_record"),
        _differs("a step comes twice", three, lines({"step": 0, "loss": 3.0}, {"step": 0, "loss": 3.0}, {"step": 1, "loss": 2.0}), (1, "step"), "duplicate_step"),
        _same("a step comes twice in both", twice, twice, "duplicate_step"),
        _differs("the second of two doubles", twice, again, (2, "loss"), "duplicate_step"),
        _same("uneven steps in both", lines(*({"step": at, "loss": 1.0} for at in (0, 1, 5))), lines(*({"step": at, "loss": 1.0} for at in (0, 1, 5))), "uneven_steps"),
        _same("steps go back in both", lines(*({"step": at, "loss": 1.0} for at in (5, 1, 2))), lines(*({"step": at, "loss": 1.0} for at in (5, 1, 2))), "reordered_step"),
        _differs("the last value", losses(*map(float, range(50))), losses(*map(float, range(49)), 0.5), (49, "loss")),
        _differs("the first value", losses(*map(float, range(1, 50))), losses(0.5, *map(float, range(2, 50))), (0, "loss")),
        _differs("the second metric of a record", lines({"step": 0, "a": 1.0, "b": 1.0}), lines({"step": 0, "a": 1.0, "b": 2.0}), (0, "b")),
        Case(
            name="every mismatch counts", expected=losses(1.0, 2.0, 3.0, 4.0), actual=losses(1.0, 2.5, 3.0, 5.0),
            want={"exit_code": 1, "divergence": (1, "loss"), "mismatches": {"loss": 2}, "first_steps": {"loss": 1}, "max_abs": {"loss": 1.0}, "records": 4, "metrics": 1},
        ),
        Case(
            name="the first of several metrics", expected=lines({"step": 0, "a": 1.0, "b": 1.0}, {"step": 1, "a": 1.0, "b": 1.0}),
            actual=lines({"step": 0, "a": 1.0, "b": 2.0}, {"step": 1, "a": 2.0, "b": 2.0}),
            want={"exit_code": 1, "divergence": (0, "b"), "mismatches": {"b": 2, "a": 1}},
        ),
        _differs(
            "names that change from record to record",
            lines({"step": 0, "a": 1.0}, {"step": 1, "b": 1.0}), lines({"step": 0, "a": 1.0}, {"step": 1, "b": 2.0}), (1, "b"),
        ),
        _same("no step at all", lines({"loss": 1.0}, {"loss": 2.0}), lines({"loss": 1.0}, {"loss": 2.0})),
        _same("carriage returns", losses(1.0, 2.0), losses(1.0, 2.0).replace(b"\n", b"\r\n"), "carriage_return"),
        _same("empty lines at the end", losses(1.0, 2.0), losses(1.0, 2.0) + b"\n \t\n\n", "blank_end"),
        _same("no line feed at the end", losses(1.0, 2.0), losses(1.0, 2.0)[:-1], "no_final_newline"),
    ]


def _malformed() -> list[Case]:
    good = losses(0.5, 0.25)
    depth = "[" * 10_000 + "]" * 10_000
    return [
        case
        for name, data, kinds in (
            ("empty file", b"", ["empty_file"]),
            ("torn last line", good + b'{"step": 2, "lo', ["torn_line"]),
            ("torn last line with its line feed", good + b'{"step": 2, "lo\n', ["torn_line"]),
            ("torn first line", good[5:], ["torn_line"]),
            ("torn inside a character", good + '{"step": 2, "é'.encode()[:-1], ["torn_line"]),
            ("blank line", good + b"\n" + losses(1.0, start=2), ["blank_line"]),
            ("line of white space", good + b" \t\n" + losses(1.0, start=2), ["blank_line"]),
            ("only line feeds", b"\n\n\n", ["blank_line"]),
            ("byte order mark", b"\xef\xbb\xbf" + good, ["byte_order_mark"]),
            ("invalid UTF-8", good + b'{"step": 2, "\xff": 1}\n', ["invalid_utf8"]),
            ("overlong UTF-8", good + b'{"step": 2, "\xc0\xaf": 1}\n', ["invalid_utf8"]),
            ("NUL", good + b'{"step": 2, "loss": 1\x00}\n', ["nul_byte"]),
            ("NULs after a crash", good + b"\x00" * 64, ["nul_byte"]),
            ("another encoding", good.decode().encode("utf-16"), ["nul_byte"]),
            ("a repeated key", good + b'{"step": 2, "loss": 1, "loss": 1}\n', ["duplicate_key"]),
            ("a repeated key, spelt in two ways", good + b'{"step": 2, "loss": 1, "l\\u006fss": 1}\n', ["duplicate_key"]),
            ("a repeated key inside", good + b'{"step": 2, "loss": {"a": 1, "a": 1}}\n', ["duplicate_key"]),
            ("a repeated step", good + b'{"step": 2, "step": 2, "loss": 1}\n', ["duplicate_key"]),
            ("two objects on a line", good + b'{"step": 2, "loss": 1}{"step": 3, "loss": 1}\n', ["two_values_on_a_line"]),
            ("two objects with a comma", good + b'{"step": 2, "loss": 1}, {"step": 3, "loss": 1}\n', ["two_values_on_a_line"]),
            ("an array on a line", good + b'[{"step": 2, "loss": 1}]\n', ["not_an_object"]),
            ("a number on a line", good + b"3.5\n", ["not_an_object"]),
            ("no JSON", good + b"step 3 loss 0.5\n", ["invalid_json"]),
            ("single quotes", good + b"{'step': 2}\n", ["invalid_json"]),
            ("a comma too many", good + b'{"step": 2, "loss": 1,}\n', ["invalid_json"]),
            ("a leading zero", good + b'{"step": 2, "loss": 01}\n', ["invalid_json"]),
            ("no digit after the point", good + b'{"step": 2, "loss": 1.}\n', ["invalid_json"]),
            ("a value is missing", good + b'{"step": 2, "loss": }\n', ["invalid_json"]),
            ("1e400", good + b'{"step": 2, "loss": 1e400}\n', ["number_overflow"]),
            ("-1e400", good + b'{"step": 2, "loss": -1e400}\n', ["number_overflow"]),
            ("depth 10,000", good + b'{"step": 2, "loss": %b}\n' % depth.encode(), ["too_deep"]),
            ("nothing but steps", lines({"step": 0}, {"step": 1}, {"step": 2}), []),
            ("empty objects", lines({}, {}, {}), []),
        )
        for case in _unreadable(name, data, *kinds)
    ]


def battery() -> list[Case]:
    """Every case."""
    readable = [*_numbers(), *_types(), *_names(), *_records(), *_tolerances()]
    steps_only = {
        "nothing but steps in actual",
        "nothing but steps in expected",
        "empty objects in actual",
        "empty objects in expected",
    }
    return readable + [case for case in _malformed() if case.name not in steps_only]
