"""Where first updates part: in the trace, or in metrics that the trace does not decide."""

from __future__ import annotations

import json

import pytest

from reprokit.features.numerics.cpu_answer import (
    CpuAnswer,
    CpuVerdict,
    Measure,
    first_difference,
    head,
    where,
)
from reprokit.harness import gate_code
from reprokit.harness.judging.differences.trace_comparison import count_records
from reprokit.harness.running.first_updates import PartialRun

TRACE = [{"update": n, "step": 64 * n, "parameters": {"weight": f"{n}a", "bias": f"{n}b"}} for n in (1, 2, 3)]
METRICS = [{"step": 64 * n, "loss/value": 1.0 / n} for n in (1, 2, 3)]


@pytest.fixture
def left(tmp_path):
    def make(name, *, trace=TRACE, metrics=METRICS):
        output = tmp_path / name / "output"
        output.mkdir(parents=True)
        for file, records in (("trace.jsonl", trace), ("metrics.jsonl", metrics)):
            (output / file).write_text("".join(json.dumps(record) + "\n" for record in records))
        return PartialRun(folder=tmp_path / name)

    return make


@pytest.fixture
def measure(left):
    made = left("measure")
    return Measure(trace=made.trace, metrics=made.metrics, name="the golden")


def changed(records, at, **words):
    return [{**record, **words} if index == at else record for index, record in enumerate(records)]


def test_equal_records_differ_nowhere(measure, left):
    assert first_difference(measure, left("same")) is None


def test_the_update_and_the_tensor_are_named(measure, left):
    other = changed(TRACE, 1, parameters={"weight": "2a", "bias": "odd"})

    first = first_difference(measure, left("other", trace=other))

    assert (first["update"], first["step"], first["what"]) == (2, 128, "parameters.bias")
    assert (first["expected"], first["actual"]) == ("2b", "odd")
    assert where(first) == "update 2 (step 128, parameters bias)"


def test_a_metric_that_rounds_otherwise_under_an_equal_trace_is_found(measure, left):
    other = changed(METRICS, 2, **{"loss/value": 1 / 3 + 1e-16})

    first = first_difference(measure, left("other", metrics=other))

    assert (first["update"], first["what"]) == (3, "metric loss/value")


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_fewer_records_differ(measure, left, kept):
    assert first_difference(measure, left("trace", trace=TRACE[:kept])) is not None
    assert first_difference(measure, left("metrics", metrics=METRICS[:kept])) is not None


def test_more_updates_than_were_asked_for_differ(measure, left):
    more = [*TRACE, {**TRACE[0], "update": 4}]

    assert first_difference(measure, left("more", trace=more))["what"] == "record"


def test_a_golden_is_cut_to_what_the_native_run_wrote(left, tmp_path):
    whole = left("whole")
    (tmp_path / "cut").write_bytes(head(whole.trace, lines=2))

    assert count_records(tmp_path / "cut") == 2
    assert count_records(tmp_path / "nowhere") == 0
    assert whole.trace.read_bytes().startswith((tmp_path / "cut").read_bytes())


def test_a_gate_of_several_cpus_ends_with_the_gravest():
    def answer(verdict):
        return CpuAnswer(recipe="r", cpu="EPYC", verdict=verdict, sentence="")

    codes = {verdict: answer(verdict).exit_code for verdict in CpuVerdict}

    assert [verdict for verdict, code in codes.items() if code == 0] == [CpuVerdict.REPRODUCED]
    assert gate_code([answer(verdict) for verdict in CpuVerdict]) == 1
    assert gate_code([answer(CpuVerdict.REPRODUCED), answer(CpuVerdict.ANOTHER_PLATFORM)]) == 4
    assert gate_code([answer(CpuVerdict.REPRODUCED)]) == 0
    assert gate_code([]) == 4
