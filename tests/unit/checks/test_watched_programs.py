"""Rows of an unmodified program with `instrument: light`: judged by what the watch saw, on no one's word."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reprokit import checks
from reprokit.core import numerics
from reprokit.core.environments.cpu_features import VARIABLE
from reprokit.core.evidence import Evidence, GoldenEvidence, RunEvidence, TraceComparison
from reprokit.core.provenance import Provenance
from reprokit.core.verdicts.rows import Status
from reprokit.records import run_json
from support import planted

RECIPE: dict[str, Any] = {
    "name": "train",
    "command": ["python", "train.py", "{seed}"],
    "variant": "none",
    "numerics": "native",
    "outputs": [],
    "instrument": "light",
}
WRITTEN = {"recipe": "train", "seed": 3, "digests": {"program": "sha256:1"}, "backend": "local"}
RECORD = run_json.of(WRITTEN, where="run.json")


def entry(
    line: int, seed: str, *, origin: str = "seed", own: bool = True, generator: str = "a NumPy generator"
):
    return {
        "generator": generator,
        "origin": origin,
        "seed": seed,
        "file": "train.py",
        "line": line,
        "function": "main",
        "own": own,
    }


def instrument(*seeds: dict[str, Any], **further: Any) -> dict[str, Any]:
    record = {
        "process": "0",
        "parent": "",
        "children": [],
        "libraries": [],
        "seeds": list(seeds),
        "drawn_unseeded": [],
        "unseen": [],
        "not_watched": [],
        "limits": {"frameworks": [], "extensions": [], "kernels": []},
        "torch": {},
        "in_force": {"python": {}, "variables": {}},
        **further,
    }
    return {"is_python": True, "processes": {"0": record}}


def evidence(
    mine: dict[str, Any], other: dict[str, Any] | None, *, second: dict[str, Any] | None = None
) -> Evidence:
    said = {**WRITTEN, "seed": 1_000_006, "outcome": "completed", "exit_code": 0}
    runs = tuple(
        RunEvidence(path=f"run-{n}", complete=True, run=RECORD, instrument=one)
        for n, one in enumerate((mine, second or mine), start=1)
    )
    told = Evidence(recipe=RECIPE, platform="cpu-x86_64", runs=runs)
    return told if other is None else beside(told, {"run": said, "instrument": other})


def beside(told: Evidence, other_seed: dict[str, Any]) -> Evidence:
    """The runs with what was seen of one with another seed."""
    said = other_seed.get("run")
    record = None if said is None else run_json.of(said, where="run.json")
    runs = tuple(replace(run, other_seed=other_seed, other_run=record) for run in told.runs)
    return replace(told, runs=runs)


def row(told: Evidence, name: str = "seeded"):
    return next(one for one in checks.run_all(told) if one.id == name)


def test_a_seed_that_is_another_one_with_another_seed_follows():
    found = row(
        evidence(instrument(entry(4, "3"), entry(5, "17")), instrument(entry(4, "9"), entry(5, "18")))
    )
    assert (found.status, found.required) == (Status.PASSED, True)
    assert "the same in every run with the seed 3, all others with the seed 1000006" in found.reason


FAILED = {
    "made from entropy": (
        entry(4, "", origin="entropy"),
        "train.py:4 makes a NumPy generator without a seed",
    ),
    "left at its default": (
        entry(4, "", origin="default"),
        "train.py:4 makes a NumPy generator without a seed",
    ),
    "constant": (entry(4, "42"), "train.py:4 seeds a NumPy generator with 42, whatever the run's seed is"),
    "equal to the run's by chance": (entry(4, "3"), "train.py:4 seeds a NumPy generator with 3, whatever"),
}


@pytest.mark.parametrize("case", FAILED)
def test_a_seed_that_does_not_follow_fails_with_its_line(case):
    seed, reason = FAILED[case]
    found = row(evidence(instrument(seed), instrument(seed)))
    assert found.status is Status.FAILED
    assert reason in found.reason


def test_a_seed_that_is_another_one_in_the_second_run_fails():
    other = instrument(entry(4, "9"))
    found = row(evidence(instrument(entry(4, "3")), other, second=instrument(entry(4, "5"))))
    assert found.status is Status.FAILED
    assert found.reason.startswith("run-2: train.py:4 seeds a NumPy generator differently")


def test_a_draw_before_any_seed_fails_even_where_all_else_follows():
    drew = {"generator": "Python's random", "file": "train.py", "line": 2, "function": "main"}
    found = row(evidence(instrument(entry(4, "3"), drawn_unseeded=[drew]), instrument(entry(4, "9"))))
    assert found.status is Status.FAILED
    assert "train.py:2 draws from Python's random before it is given a seed" in found.reason


CHILD = {"name": "0.s0", "what": "simulator", "file": "train.py", "line": 8, "function": "main"}
UNSEEN = {
    "a child without the watch": ({"children": [CHILD]}, "train.py:8 starts simulator, which left no record"),
    "a library of C": ({"libraries": [{"library": "libsim.so", "file": "train.py", "line": 2}]}, "libsim.so"),
    "compiled code": ({"limits": {"extensions": ["simulators"]}}, "compiled code of simulators"),
    "another framework": ({"limits": {"frameworks": ["jax"]}}, "jax is imported"),
    "kernels": ({"limits": {"kernels": ["mine"]}}, "kernels of its own (mine)"),
    "a release that cannot be watched": ({"unseen": ["the seeds of NumPy's …"]}, "the seeds of NumPy's"),
    "a hook that could not be set": ({"not_watched": ["torch: AttributeError"]}, "torch: AttributeError"),
    "more seeds than are kept": ({"num_seeds_left_out": 7}, "7 more seeds"),
}


@pytest.mark.parametrize("case", UNSEEN)
@pytest.mark.parametrize("where", ["judged", "other"])
def test_what_could_not_be_seen_is_never_passed(case, where):
    further, reason = UNSEEN[case]
    mine = instrument(entry(4, "3"), **(further if where == "judged" else {}))
    other = instrument(entry(4, "9"), **(further if where == "other" else {}))
    found = row(evidence(mine, other))
    assert (found.status, found.required) == (Status.SKIPPED, True)
    assert reason in found.reason


def test_tools_of_the_system_and_packages_without_generators_do_not_count():
    further = {"children": [{**CHILD, "what": "git"}], "limits": {"extensions": ["yaml", "psutil"]}}
    assert (
        row(evidence(instrument(entry(4, "3"), **further), instrument(entry(4, "9")))).status is Status.PASSED
    )


def test_a_restored_generator_and_one_that_a_library_makes_are_not_seen():
    for odd in (entry(6, "", origin="restored"), entry(6, "", origin="entropy", own=False)):
        found = row(evidence(instrument(entry(4, "3"), odd), instrument(entry(4, "9"), odd)))
        assert (found.status, "train.py:6" in found.reason) == (Status.SKIPPED, True)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (None, "no run with another seed was made"),
        ({"seed": 3}, "the same"),
        ({"outcome": "crashed", "exit_code": 1, "message": "no such level"}, "did not finish: no such level"),
        ({"digests": {"program": "sha256:2"}}, "runs are not comparable: digests differ"),
    ],
)
def test_without_a_run_with_another_seed_nothing_is_passed(said, reason):
    told = evidence(instrument(entry(4, "3")), instrument(entry(4, "9")))
    before = dict(told.runs[0].other_seed)
    found = row(beside(told, {} if said is None else {**before, "run": {**before["run"], **said}}))
    assert found.status is Status.SKIPPED
    assert reason in found.reason


@pytest.mark.parametrize(
    ("mine", "other", "reason"),
    [
        (["3", "4"], ["9"], "seeds a NumPy generator 2 times, and once in the run with another seed"),
        (["3", "42"], ["9", "42"], "with 42 in the run with another seed too"),
        (["3", "42"], ["42", "9"], "with 42 in the run with another seed too"),
    ],
)
def test_a_line_of_which_some_seeds_were_not_shown_is_not_passed(mine, other, reason):
    found = row(evidence(*(instrument(*(entry(4, seed) for seed in seeds)) for seeds in (mine, other))))
    assert found.status is Status.SKIPPED
    assert reason in found.reason


def test_without_a_record_nothing_is_judged():
    for nothing in ({}, {"is_python": True, "processes": {}}):
        found = {one.id: one for one in checks.run_all(evidence(nothing, nothing))}
        for name in ("seeded", "trace_equal", "numerics_in_force"):
            assert (found[name].status, found[name].required) == (Status.SKIPPED, True)


def test_a_command_that_is_not_python_was_not_seen():
    told = {**instrument(entry(4, "3")), "is_python": False}
    assert "something other than Python" in row(evidence(told, instrument(entry(4, "9")))).reason


def test_a_program_without_generators_has_nothing_to_seed():
    found = row(evidence(instrument(), instrument()))
    assert (found.status, found.required) == (Status.SKIPPED, False)


def test_without_the_key_the_rows_do_not_apply():
    told = replace(evidence(instrument(), instrument()), recipe={**RECIPE, "instrument": None})
    for name in ("seeded", "trace_equal", "numerics_in_force", "checkpoints_complete"):
        found = row(told, name)
        assert (found.status, found.required) == (Status.SKIPPED, False)
        assert "`instrument: light`" in found.remedy


def test_a_program_without_pytorch_has_no_trace_and_says_why():
    found = row(evidence(instrument(), instrument()), "trace_equal")
    assert (found.status, found.required) == (Status.SKIPPED, False)
    assert "does not use PyTorch" in found.reason


@pytest.mark.parametrize(("changed", "status"), [((), Status.FAILED), (("instrumentation",), Status.ERROR)])
def test_a_trace_that_another_watch_wrote_is_no_evidence_against_the_program(changed, status):
    told = evidence(instrument(torch={"steps": 3}), instrument())
    runs = tuple(replace(run, trace_records=3, trace_digest="sha256:1") for run in told.runs)
    differs = TraceComparison(equal=False, records_compared=1, first={"what": "parameters.w", "step": 1})
    golden = GoldenEvidence(
        path="golden",
        provenance=Provenance(),
        comparison=planted.EQUAL,
        fingerprint_equal=True,
        changed=changed,
        trace=differs,
        has_trace=True,
    )
    same = TraceComparison(equal=True, records_compared=3)
    found = row(replace(told, runs=runs, trace_repeats=(same,), golden=golden), "trace_equal")
    assert (found.status, "parameters.w at step 1" in found.reason) == (status, True)


def test_parameters_that_could_not_be_read_are_an_error():
    told = evidence(instrument(torch={"steps": 3, "problem": "no storage"}), instrument())
    runs = tuple(replace(run, trace_records=3, trace_digest="sha256:1") for run in told.runs)
    same = TraceComparison(equal=True, records_compared=3)
    assert row(replace(told, runs=runs, trace_repeats=(same,)), "trace_equal").status is Status.ERROR


def test_checkpoints_are_those_declared_and_read_tensor_by_tensor():
    told = replace(evidence(instrument(), instrument()), recipe={**RECIPE, "outputs": ["*.pt"]})
    read = ("loss", "output/model.pt", "output/model.pt:weight", "output/model.pt:bias")
    found = row(
        replace(told, runs=tuple(replace(run, metric_names=read) for run in told.runs)),
        "checkpoints_complete",
    )
    assert (found.status, "1 checkpoint with 2 tensors" in found.reason) == (Status.PASSED, True)
    unread = replace(told, runs=tuple(replace(run, metric_names=read[:2]) for run in told.runs))
    assert row(unread, "checkpoints_complete").status is Status.SKIPPED
    assert row(unread, "checkpoints_complete").required is True


def pinned(**in_force: Any) -> Evidence:
    table = {setting.name: setting.value for setting in numerics.profile("native").settings}
    told = {"python": {}, "variables": dict(table), "torch": {"threads": 1}, **in_force}
    found = evidence(instrument(in_force=told), instrument())
    record = RECORD._replace(numerics="native", environment=table)
    return replace(
        found,
        recipe={**RECIPE, "variant": "cpu"},
        runs=tuple(replace(run, run=record) for run in found.runs),
    )


def test_the_profile_was_in_force_at_the_end():
    found = row(pinned(), "numerics_in_force")
    assert found.status is Status.PASSED, found.reason


def test_a_process_that_left_no_record_is_named_beside_the_profile():
    child = {"name": "", "what": "python", "file": "train.py", "line": 9, "function": "<module>"}
    told = pinned()
    (first, *others) = told.runs
    watched = first.instrument["processes"]["0"]
    started = replace(
        first, instrument={**first.instrument, "processes": {"0": {**watched, "children": [child]}}}
    )
    found = row(replace(told, runs=(started, *others)), "numerics_in_force")
    assert found.status is Status.PASSED
    assert "at the end of every process that was watched" in found.reason
    assert "train.py:9 starts python, which left no record" in found.reason


def test_a_program_that_takes_more_threads_fails():
    found = row(pinned(torch={"threads": 4}), "numerics_in_force")
    assert (found.status, "ended with torch.threads 4" in found.reason) == (Status.FAILED, True)


def test_a_variable_that_did_not_arrive_fails():
    found = row(pinned(variables={}), "numerics_in_force")
    assert (found.status, "was started with OMP_NUM_THREADS None" in found.reason) == (Status.FAILED, True)


BEFORE_2_4 = {"in_force": ["AVX2"], "not_in_force": ["AVX512F", "AVX512_SKX"]}


@pytest.mark.parametrize(
    ("in_environment", "given", "status", "reason"),
    [
        (BEFORE_2_4, "AVX512F AVX512_SKX", Status.PASSED, "was in force"),
        (BEFORE_2_4, "AVX512F", Status.FAILED, "run.json sets NPY_DISABLE_CPU_FEATURES to 'AVX512F'"),
        (None, "AVX512F AVX512_SKX", Status.FAILED, "run.json sets NPY_DISABLE_CPU_FEATURES"),
    ],
)
def test_a_process_without_numpy_has_the_names_of_the_environments_numpy(
    in_environment, given, status, reason
):
    """Such as one that only starts another: what it imports says nothing of what numpy is there."""
    table = {setting.name: setting.value for setting in numerics.profile("portable").settings}
    table[VARIABLE] = given
    found = evidence(instrument(in_force={"python": {}, "variables": dict(table)}), instrument())
    record = RECORD._replace(numerics="portable", environment=table)
    inside = {"numpy": {"cpu_features": in_environment}} if in_environment else {}
    told = replace(
        found,
        recipe={**RECIPE, "variant": "cpu", "numerics": "portable"},
        runs=tuple(replace(run, run=record, environment={"inside": inside}) for run in found.runs),
    )
    judged = row(told, "numerics_in_force")
    assert (judged.status, reason in judged.reason) == (status, True), judged.reason


def test_nothing_pinned_is_told_and_does_not_count():
    told = evidence(instrument(in_force={"python": {}, "torch": {"threads": 2}}), instrument())
    found = row(told, "numerics_in_force")
    assert (found.status, found.required) == (Status.SKIPPED, False)
    assert "torch.threads 2" in found.reason
