"""Every kind of call site that the hook knows has a category, a sentence and a fix."""

import re
from pathlib import Path

import pytest

from reprokit import instrumentation
from reprokit.diagnosis import (
    Operation,
    Site,
    UnfinishedWork,
    category_of,
    cause_of,
    cause_of_operation,
    cause_of_simulator,
    known_of_operation,
)

CATEGORIES = {
    "unseeded_rng",
    "hash_order",
    "file_order",
    "clock",
    "process_identity",
    "concurrency",
    "uninitialised_memory",
    "environment",
    "resume_state",
    "leftover_state",
    "nondeterministic_kernel",
    "simulator",
    "nonportable_numerics",
    "unknown",
}
HOOK = Path(instrumentation.__file__).parent / "reprokit_hook"
KINDS = sorted(
    {
        kind
        for path in HOOK.glob("*.py")
        for kind in re.findall(r'site_of\(\w+, "(\w+)"\)|\(\("(\w+)", \*(?:place|site)', path.read_text())
        for kind in kind
        if kind
    }
)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_the_hook_has_a_category_and_a_fix(kind):
    site = Site(kind=kind, file="train.py", line=3, function="main", what="", count=1, digest="", first=1)
    cause = cause_of(site, confidence="high")
    assert category_of(kind) in CATEGORIES - {"unknown"}
    assert cause.what
    assert cause.fix


@pytest.mark.parametrize(
    ("processes", "generator", "is_anew"),
    [
        (("0.f1", "0.f2"), "Python's global generator", True),
        (("0", "0.f1"), "Python's global generator", False),
        (("0.f1",), "NumPy's global generator", False),
    ],
)
def test_that_python_seeds_its_generator_anew_in_a_fork_is_said_where_only_forks_draw(
    processes, generator, is_anew
):
    place = {"file": "train.py", "line": 3, "function": "main", "count": 1, "digest": "", "first": 1}
    site = Site(kind="unseeded", what="random.random", processes=processes, **place)
    cause = cause_of(site, confidence="high", never_seeded=generator)
    assert ("seeds it again" in cause.what) is is_anew


def operation(name, **more):
    return Operation(name=name, file="train.py", line=9, function="main", number=3, **more)


@pytest.mark.parametrize(
    ("name", "category", "word"),
    [
        ("aten.index_put_.default", "nondeterministic_kernel", "a different output"),
        ("the optimizer's step", "nondeterministic_kernel", "different parameters"),
        ("a draw from NumPy's global generator", "unknown", "a different number of values"),
    ],
)
def test_what_gave_another_output_for_equal_inputs_is_named_with_its_line(name, category, word):
    cause = cause_of_operation(operation(name), varied=False)
    assert (cause.category, cause.line, cause.confidence) == (category, 9, "high")
    assert word in cause.what
    assert cause.fix


@pytest.mark.parametrize(
    ("name", "alternative"),
    [
        ("aten.scatter_add_.default", "gives it a fixed order"),
        ("aten.index_add_.default", "gives it a fixed order"),
        ("aten.put_.default", "index_put_ on the flattened tensor"),
        ("aten.bincount.default", "index_add_ into zeros"),
        ("aten.upsample_bilinear2d_backward.default", "gives it a fixed order"),
        ("aten.adaptive_max_pool3d_backward.default", "it differs as well, and no error says so"),
        ("aten.cumsum.default", "compiled by torch.compile it differs as well"),
        ("aten.upsample_bicubic2d_backward.default", "mode='nearest'"),
        ("aten._ctc_loss_backward.default", "on the CPU"),
        ("aten.mm.default", "CUBLAS_WORKSPACE_CONFIG"),
    ],
)
def test_on_a_gpu_an_operation_is_told_with_its_deterministic_alternative(name, alternative):
    fixes = [
        cause_of_operation(operation(name, device=device), varied=False).fix
        for device in ({"device": "cuda:0", "stream": 0}, {})
    ]
    assert alternative in fixes[0]
    assert alternative not in fixes[1]  # a CPU's kernels differ by threads


@pytest.mark.parametrize(
    ("device", "where", "fix"),
    [({"device": "cuda:0", "stream": 1}, "on stream 1", "wait_stream"), ({}, "on the host", "non_blocking")],
)
@pytest.mark.parametrize(("same", "confidence"), [(True, "high"), (False, "medium")])
def test_a_race_is_named_with_both_its_lines_and_not_as_a_kernel(device, where, fix, same, confidence):
    other = UnfinishedWork(name="aten.mul.Tensor", file="train.py", line=7, stream=0)
    found = operation("aten.index_add_.default", device=device, beside=other, same_inputs=same)
    cause = cause_of_operation(found, varied=False)
    assert (cause.category, cause.line, cause.confidence) == ("concurrency", 9, confidence)
    assert "aten.mul.Tensor at train.py:7 was given on stream 0" in cause.what
    assert where in cause.what
    assert fix in cause.fix


def test_numbers_that_only_arrive_have_no_cause_but_are_told():
    found = operation("what Linear is given")
    assert cause_of_operation(found, varied=False) is None
    assert known_of_operation(found).startswith("what Linear is given at train.py:9 differs")


def test_an_environment_is_as_sure_a_cause_as_its_check_was():
    alone, unchecked = (
        cause_of_simulator(operation("environment 2"), confidence=how) for how in ("high", "medium")
    )
    assert (alone.category, alone.confidence, unchecked.confidence) == ("simulator", "high", "medium")
    assert "alone" in alone.what
    assert "alone" not in unchecked.what


def test_a_clock_that_may_be_a_seed_is_told_where_a_seed_comes_from():
    place = {"file": "train.py", "line": 3, "function": "main", "count": 1, "digest": "", "first": 1}
    site = Site(kind="clock", what="time.time", **place)
    assert "take a seed from a setting" in cause_of(site, confidence="high").fix
