"""Operations repeated: a planted difference is found, a refusal is recorded."""

import itertools
import json
import os
import threading
import time
import warnings

import pytest
import torch

from reprokit.core import determinism_claims as claims
from reprokit.features.numerics.inside.determinism_claims import __main__ as program
from reprokit.features.numerics.inside.determinism_claims import batches
from reprokit.features.numerics.inside.determinism_claims.inputs import Case, Inputs
from reprokit.features.numerics.inside.determinism_claims.repeats import cost, observe

pytestmark = pytest.mark.usefixtures("global_state", "flags")


@pytest.fixture
def flags():
    """Puts back what ``global_state`` does not: inductor's own flag, and which warnings come once."""
    often = torch.is_warn_always_enabled()
    yield
    torch.use_deterministic_algorithms(False)
    torch.set_warn_always(often)


def case(function, *shape):
    """An operation of one input."""

    def build(make):
        values = make.floats(*(shape or (64,)))
        return lambda: function(values)

    return Case(name="planted", build=build)


def found(planted, **options):
    return observe(planted, **{"device": "cpu", "dtype": "float32", "repeats": 5, **options})


def test_an_operation_that_keeps_its_bits_is_the_same_and_its_digest_is_that_of_the_next_process():
    first, second = found(case(torch.square)), found(case(torch.square))
    assert {phase: one["outcome"] for phase, one in first.items()} == {"forward": "same", "backward": "same"}
    assert [one["digest"] for one in first.values()] == [one["digest"] for one in second.values()]
    assert "differing" not in first["forward"]


def test_noise_is_found():
    noise = itertools.count()
    answer = found(case(lambda values: values + next(noise) * 1e-3))
    assert (answer["forward"]["outcome"], answer["forward"]["differing"]) == ("differs", 4)
    assert answer["backward"]["outcome"] == "same"


def test_one_differing_repeat_of_thirty_is_found():
    turns = itertools.count()
    answer = found(case(lambda values: values + (next(turns) == 29)), repeats=30)
    assert (answer["forward"]["outcome"], answer["forward"]["differing"]) == ("differs", 1)


def test_the_sign_of_a_zero_is_a_difference_and_the_same_nan_is_none():
    signs = itertools.cycle((0.0, -0.0))
    flipped = found(case(lambda values: torch.full((3,), next(signs))))
    assert flipped["forward"]["outcome"] == "differs"
    nan = found(case(lambda values: values.detach() * float("nan")))
    assert nan["forward"]["outcome"] == "same"


def test_the_order_in_which_threads_finish_is_found():
    """A sum of parts in the order of arrival, which is forced, so that the test does not hang on luck."""
    orders = itertools.cycle(((0, 1, 2), (2, 0, 1)))

    def racing(values):
        total, arrived = torch.zeros(()), []
        parts = [torch.tensor(1e8), torch.tensor(1.0), torch.tensor(-1e8)]
        for part in next(orders):
            thread = threading.Thread(target=lambda part=part: arrived.append(parts[part]))
            thread.start()
            thread.join()
        for one in arrived:
            total = total + one
        return total

    assert found(case(racing))["forward"]["outcome"] == "differs"


def test_a_gradient_that_differs_is_found_though_the_output_does_not():
    noise = itertools.count()

    class Noisy(torch.autograd.Function):
        @staticmethod
        def forward(context, values):
            return values * 2

        @staticmethod
        def backward(context, gradient):
            return gradient * (1 + next(noise))

    answer = found(case(Noisy.apply))
    assert (answer["forward"]["outcome"], answer["backward"]["outcome"]) == ("same", "differs")


def test_a_refusal_is_recorded_with_what_it_says():
    def refuse(values):
        raise RuntimeError("planted does not have a deterministic implementation\nand more")

    assert found(case(refuse)) == {
        "forward": {"outcome": "raises", "message": "planted does not have a deterministic implementation"}
    }


def test_a_warning_about_determinism_is_recorded_and_others_are_not():
    def warn(text):
        return lambda values: warnings.warn(text, stacklevel=1) or values + 0

    assert found(case(warn("planted is not deterministic")))["forward"]["warned"] is True
    assert "warned" not in found(case(warn("planted is slow")))["forward"]


def test_pytorch_refuses_an_operation_that_its_list_has_and_only_with_the_flag():
    unpool = next(one for one in program.CASES if one.name == "max_unpool2d")
    assert found(unpool, repeats=2)["forward"]["outcome"] == "same"
    torch.use_deterministic_algorithms(True)
    refused = found(unpool, repeats=2)["forward"]
    assert refused["outcome"] == "raises"
    assert "deterministic" in refused["message"]


def modes(*outcomes):
    """What three modes found of one operation, forward."""
    rows = [
        {"operation": "max_unpool2d", "dtype": "float32", "compiled": False, "forward": outcome}
        for outcome in outcomes
    ]
    return {mode: {"rows": [one], "batches": []} for mode, one in zip(claims.MODES, rows, strict=True)}


def test_what_raises_with_nothing_set_is_not_there_and_what_raises_only_with_the_flag_refuses():
    same, refused = {"outcome": "same", "digest": "a"}, {"outcome": "raises", "message": "no"}
    [absent] = program._merged(modes(refused, refused, refused), device="cpu")["rows"]
    assert absent["default"]["outcome"] == "unavailable"
    assert claims.judge(absent["claim"], absent).verdict == "not run"

    [held] = program._merged(modes(same, refused, same), device="cpu")["rows"]
    assert (held["claim"], claims.judge(held["claim"], held).verdict) == ("raises", "holds")

    [lie] = program._merged(modes(same, same, same), device="cpu")["rows"]
    assert claims.judge(lie["claim"], lie).verdict == "false"


def test_a_gradient_whose_forward_refuses_is_refused():
    found_there = modes(*({"outcome": "same", "digest": "a"},) * 3)
    found_there["default"]["rows"][0]["backward"] = {"outcome": "same", "digest": "b"}
    found_there["deterministic"]["rows"][0]["forward"] = {"outcome": "raises", "message": "no"}
    found_there["warn_only"]["rows"][0]["backward"] = {"outcome": "same", "digest": "b"}
    backward = program._merged(found_there, device="cpu")["rows"][1]
    assert (backward["phase"], backward["deterministic"]["outcome"]) == ("backward", "raises")


def test_a_warning_of_an_operation_covers_its_gradients():
    found_there = modes(*({"outcome": "same", "digest": "a"},) * 3)
    for mode in claims.MODES:
        found_there[mode]["rows"][0]["backward"] = {"outcome": "differs", "digest": "b", "differing": 1}
    found_there["warn_only"]["rows"][0]["forward"] = {"outcome": "same", "digest": "a", "warned": True}
    backward = program._merged(found_there, device="cpu")["rows"][1]
    assert backward["warn_only"]["warned"] is True
    assert "warned" not in backward["default"]


def test_another_digest_in_the_second_process_is_a_difference():
    first = {"outcome": "same", "digest": "a"}
    program._join([first, {"outcome": "same", "digest": "b"}])
    assert first == {"outcome": "differs", "digest": "a", "differing": 1, "other_process_differs": True}
    kept = {"outcome": "same", "digest": "a"}
    program._join([kept, {"outcome": "same", "digest": "a"}])
    assert kept == {"outcome": "same", "digest": "a"}


def test_an_operation_that_takes_longer_where_it_must_repeat_has_a_cost_and_the_mode_is_put_back():
    def slower(values):
        if torch.are_deterministic_algorithms_enabled():
            time.sleep(0.02)
        return torch.square(values)

    told = cost(case(slower), device="cpu", dtype="float32", pairs=5)
    assert told["forward"]["low"] > 2
    assert told["backward"]["ratio"] < told["forward"]["ratio"]
    assert not torch.are_deterministic_algorithms_enabled()


def test_an_operation_that_refuses_in_one_of_the_modes_has_no_cost():
    def refuses(values):
        if torch.are_deterministic_algorithms_enabled():
            raise RuntimeError("no deterministic implementation")
        return torch.square(values)

    assert cost(case(refuses), device="cpu", dtype="float32", pairs=5) == {}
    assert not torch.are_deterministic_algorithms_enabled()


def test_a_cost_is_given_to_rows_that_were_not_compiled():
    about = {"operation": "mm", "dtype": "float32", "phase": "forward"}
    rows = [
        {**about, "compiled": False},
        {**about, "compiled": True},
        {**about, "dtype": "x", "compiled": False},
    ]
    measured = {"ratio": 2.0, "low": 1.5, "high": 2.5}
    program._add_costs(
        rows, {"rows": [{"operation": "mm", "dtype": "float32", "cost": {"forward": measured}}]}
    )
    assert [one.get("cost") for one in rows] == [measured, None, None]


def test_a_row_that_depends_on_its_batch_is_found():
    def build(function):
        return lambda make: (function, make.floats(batches.ROWS, 4, grad=False))

    def compare(function):
        return batches._compare(build(function), Inputs(device="cpu", dtype=torch.float32))

    assert compare(torch.square) == {"sizes": [], "others": False}
    assert compare(lambda rows: rows * len(rows)) == {"sizes": list(batches.SIZES), "others": False}
    assert compare(lambda rows: rows - rows.mean(0))["others"] is True


def test_every_operation_has_a_name_of_its_own():
    names = [one.name for one in program.CASES]
    assert len(set(names)) == len(names)


def test_what_is_said_to_be_documented_is_in_pytorchs_lists():
    """A name or condition that fits no entry would be judged by the general promise alone."""
    listed = claims.statements(torch.use_deterministic_algorithms.__doc__)
    assert len(listed) > 40
    unlisted = {
        one.name
        for one in program.CASES
        if one.documented
        and {
            claims.claim_of(listed, name=one.documented, phase="backward", device=device, words=one.words)
            for device in ("cpu", "cuda")
        }
        == {claims.UNLISTED}
    }
    assert unlisted == {
        "avg_pool2d",
        "max_pool2d",
        "adaptive_max_pool3d",
        "scatter_reduce amax",
        "embedding_bag sum",
        "embedding_bag mean",
        "interpolate nearest",
        "interpolate area",
    }


@pytest.mark.parametrize("one", program.CASES, ids=lambda one: one.name)
def test_every_operation_can_be_built_for_the_cpu(one):
    computation = one.build(Inputs(device="cpu", dtype=torch.float32))
    assert callable(computation)


def test_the_program_answers_with_a_row_for_each_phase(tmp_path, monkeypatch):
    """The modes follow each other in this process; that each gets one of its own is tested below."""

    def measure(arguments, *, mode, repeats, variables):
        words = [*arguments, "--mode", mode, "--repeats", str(repeats)]
        torch.use_deterministic_algorithms(False)
        return json.loads(json.dumps(program.measure_mode(program._parser().parse_args(words))))

    monkeypatch.setattr(program, "_measure", measure)
    output = tmp_path / "findings.json"
    assert program.main(["--only", "max_unpool1d", "--repeats", "3", "--output", str(output)]) == 0
    answer = json.loads(output.read_text())
    assert answer["schema"] == claims.SCHEMA
    assert answer["platform"].startswith("cpu-")
    assert (answer["torch"], answer["repeats"]) == (torch.__version__, 3)
    assert {(row["dtype"], row["phase"]) for row in answer["rows"]} == {
        (dtype, phase) for dtype in ("float32", "bfloat16") for phase in ("forward", "backward")
    }
    assert {claims.judge(row["claim"], row).verdict for row in answer["rows"]} == {"holds"}


def test_each_mode_has_processes_of_its_own_with_the_workspace_that_cublas_needs(monkeypatch):
    asked = []

    def measure(_, *, mode, repeats, variables):
        asked.append((mode, repeats, variables.get("CUBLAS_WORKSPACE_CONFIG")))
        return {"rows": [], "batches": []}

    monkeypatch.setattr(program, "_measure", measure)
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8")
    for mode in claims.MODES:
        program._measure_in_processes([], mode, 30)
    assert asked == [
        ("default", 29, None),
        ("default", 1, None),
        ("deterministic", 29, ":4096:8"),
        ("deterministic", 1, ":4096:8"),
        ("warn_only", 30, ":4096:8"),
    ]


def test_a_process_of_its_own_answers_as_this_one_would():
    words = ["--only", "max_unpool1d", "--output", "not/used.json"]
    answer = program._measure(words, mode="default", repeats=1, variables=os.environ)
    options = program._parser().parse_args(["--only", "max_unpool1d", "--mode", "default", "--repeats", "1"])
    here = program.measure_mode(options)
    digests = [[row["forward"]["digest"] for row in found["rows"]] for found in (answer, here)]
    assert digests[0] == digests[1]
