"""Reading what the hook left, and telling where two runs drew differently."""

import json

import pytest

from reprokit.diagnosis import differing, first_operation, read_trace
from reprokit.errors import CannotJudgeError


def _site(line, values, *, kind="clock", first=1, context="0"):
    return {
        "kind": kind,
        "file": "train.py",
        "line": line,
        "function": "main",
        "first": first,
        "counts": {context: len(values)},
        "values": {context: dict(enumerate(values))},
    }


def _trace(folder, sites, *, process="0", streams=(), files=None):
    folder.mkdir(exist_ok=True)
    body = {
        "process": process,
        "sites": sites,
        "files": files or {},
        "facts": {},
        "streams": list(streams),
    }
    (folder / f"trace-{process}.json").write_text(json.dumps(body))
    (folder / f"started-{process}").touch()
    return folder


def test_sites_with_the_same_values_do_not_differ(tmp_path):
    sites = {"clock|train.py|3": _site(3, ["1.0", "2.0"])}
    one, other = (_trace(tmp_path / name, sites) for name in "ab")
    assert differing(read_trace(one), read_trace(other)) == ()


def test_sites_with_other_values_differ_in_the_order_of_the_run(tmp_path):
    one = _trace(tmp_path / "a", {"late": _site(9, ["1"], first=2), "early": _site(3, ["1"], first=1)})
    other = _trace(tmp_path / "b", {"late": _site(9, ["2"], first=2), "early": _site(3, ["2"], first=1)})
    assert differing(read_trace(one), read_trace(other)) == ("early", "late")


def test_a_site_that_one_run_never_came_to_differs(tmp_path):
    one = _trace(tmp_path / "a", {"only here": _site(3, ["1"])})
    other = _trace(tmp_path / "b", {})
    assert differing(read_trace(one), read_trace(other)) == ("only here",)


def test_the_processes_of_a_run_are_taken_together(tmp_path):
    folder = _trace(tmp_path / "a", {"s": _site(3, ["1"])})
    _trace(folder, {"s": _site(3, ["7", "8"], context="0.f1")}, process="0.f1")
    trace = read_trace(folder)
    assert (trace.sites["s"].count, trace.processes) == (3, 2)


def test_the_first_operation_with_equal_inputs_and_another_output_is_named(tmp_path):
    same = ["aten.mul.Tensor", "train.py", 3, "main", "in", "out"]
    one = ["aten.index_put.default", "train.py", 4, "main", "in", "out"]
    later = ["aten.sum.default", "train.py", 5, "main", "in 1", "out 1"]
    folders = (
        _trace(tmp_path / "a", {}, streams=[same, one, later]),
        _trace(tmp_path / "b", {}, streams=[same, [*one[:5], "other"], [*later[:4], "in 2", "out 2"]]),
    )
    found = first_operation(*folders)
    assert found is not None
    assert (found.name, found.line, found.number) == ("aten.index_put.default", 4, 1)


def test_an_operation_with_other_inputs_or_of_unwritten_memory_is_not_to_blame(tmp_path):
    one = [
        ["aten.sum.default", "t.py", 5, "f", "in 1", "out 1"],
        ["aten.empty.memory", "t.py", 6, "f", "i", "1"],
    ]
    other = [
        ["aten.sum.default", "t.py", 5, "f", "in 2", "out 2"],
        ["aten.empty.memory", "t.py", 6, "f", "i", "2"],
    ]
    folders = _trace(tmp_path / "a", {}, streams=one), _trace(tmp_path / "b", {}, streams=other)
    assert first_operation(*folders) is None


FORWARD = ["aten.upsample_bilinear2d.vec", "train.py", 18, "forward", "in", "out"]
BACKWARD = ["aten.upsample_bilinear2d_backward.default", "", 0, ""]


@pytest.mark.parametrize(
    ("forward_lines", "named"),
    [((18,), ("train.py", 18)), ((18, 18), ("train.py", 18)), ((18, 30), ("", 0)), ((), ("", 0))],
)
def test_a_backward_operation_that_no_line_called_is_named_by_the_one_line_of_its_forward_pass(
    tmp_path, forward_lines, named
):
    forward = [[FORWARD[0], "train.py", line, *FORWARD[3:]] for line in forward_lines]
    folders = [
        _trace(tmp_path / name, {}, streams=[*forward, [*BACKWARD, "grad", name]]) for name in ("a", "b")
    ]
    found = first_operation(*folders)
    assert (found.name, found.file, found.line) == (BACKWARD[0], *named)


COPY = {"device": "cpu", "stream": 0, "copy": "device to host", "bytes": 8, "non_blocking": True}
BESIDE = {"unordered": ["aten._to_copy.default", "t.py", 5, 0]}


def _raced(tmp_path, *, device, before=("in", "out")):
    """Two runs that read a copy too early in their second operation; ``before``: what the first one had."""
    streams = [
        [
            ["aten._to_copy.default", "t.py", 5, "f", *first, COPY],
            ["aten.add.Tensor", "t.py", 6, "f", second, second, *device],
        ]
        for first, second in ((("in", "out"), "1"), (before, "2"))
    ]
    names = ("a", "b")
    folders = [_trace(tmp_path / name, {}, streams=one) for name, one in zip(names, streams, strict=True)]
    return first_operation(*folders)


def test_what_reads_a_copy_that_nothing_waits_for_is_named_where_the_runs_first_differ_there(tmp_path):
    found = _raced(tmp_path, device=[BESIDE])
    assert (found.name, found.line, found.same_inputs) == ("aten.add.Tensor", 6, False)
    assert (found.beside.name, found.beside.line, found.beside.stream) == ("aten._to_copy.default", 5, 0)


def test_other_inputs_are_no_race_where_something_orders_them_or_differed_before(tmp_path):
    assert _raced(tmp_path, device=[]) is None
    (tmp_path / "before").mkdir()
    assert _raced(tmp_path / "before", device=[BESIDE], before=("in 2", "out 2")) is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"sites": {}}', "\x00garbage"])
def test_a_trace_that_the_watch_did_not_write_is_named(tmp_path, content):
    folder = _trace(tmp_path / "a", {})
    (folder / "trace-9.json").write_text(content)
    with pytest.raises(CannotJudgeError, match=r"trace-9\.json.*did not write it"):
        read_trace(folder)


@pytest.mark.parametrize(
    "change", [{"facts": None}, {"sites": {"x": 1}}, {"files": {"x": {"read": [1]}}}, {"process": []}]
)
def test_a_trace_that_the_program_wrote_over_is_an_error(tmp_path, change):
    folder = _trace(tmp_path / "a", {"clock|train.py|3": _site(3, ["1.0"])})
    path = folder / "trace-0.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "progress": {}, **change}))
    with pytest.raises(CannotJudgeError, match="damaged"):
        read_trace(folder)
