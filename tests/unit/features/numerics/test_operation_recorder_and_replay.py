"""Operations listened to and run again: all that were called, none that was not, and the guilty one alone."""

import numpy as np
import pytest
import torch

from reprokit.features.numerics.inside import operation_replay, recorded_calls
from reprokit.features.numerics.inside.operation_recorder import listening
from reprokit.features.numerics.inside.recorded_calls import NotRecordableError, decode, encode

pytestmark = pytest.mark.usefixtures("global_state")


def recorded(program):
    with listening() as calls:
        program()
    return calls.as_data()


def small_training():
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3)
    optimizer_state = torch.zeros(12)
    for _ in range(2):
        loss = model(torch.rand(8, 4)).tanh().square().mean()
        loss.backward()
        optimizer_state.add_(model.weight.grad.flatten().square()).sqrt()
    np.exp(np.linspace(-1, 1, 50))
    np.linalg.norm(np.ones(3))


def names(data):
    return {call["name"] for call in data["calls"]}


def test_forward_backward_and_optimizer_are_heard_and_what_was_not_called_is_not():
    data = recorded(small_training)

    called = {"aten.addmm.default", "aten.tanh.default", "aten.tanh_backward.default", "aten.sqrt.default"}
    assert called | {"numpy.exp", "numpy.linalg.norm"} <= names(data)
    assert not {name for name in data["counts"] if name.startswith(("aten.exp.", "aten.log", "numpy.log"))}
    assert data["counts"]["aten.sqrt.default"] == 2


def test_views_are_counted_and_not_kept():
    data = recorded(lambda: torch.ones(2, 3).t().reshape(-1))

    assert data["counts"]["aten.t.default"] == 1
    assert "aten.t.default" not in names(data)


def test_after_listening_numpy_is_as_it_was():
    before = np.exp, np.sum, np.linalg.qr
    with listening():
        assert np.exp is not before[0]
        assert np.add.reduce(np.ones(3)) == 3

    assert before == (np.exp, np.sum, np.linalg.qr)


def test_listening_changes_no_number():
    def weights():
        torch.manual_seed(3)
        model = torch.nn.Linear(4, 3)
        model(torch.rand(8, 4)).sum().backward()
        return torch.cat([model.weight, model.weight.grad])

    alone = weights()
    with listening():
        heard = weights()

    assert torch.equal(alone, heard)


def test_only_a_few_calls_of_each_signature_are_kept():
    data = recorded(lambda: [torch.ones(5).exp() for _ in range(100)])

    assert data["counts"]["aten.exp.default"] == 100
    assert len([call for call in data["calls"] if call["name"] == "aten.exp.default"]) == 3


def test_calls_come_back_from_a_file_as_they_were(tmp_path):
    value = (
        torch.arange(6.0).reshape(2, 3).t(),
        np.ones((2, 2), order="F"),
        np.float32(0.1),
        [1, None, 2.5, "a"],
        {"dtype": torch.float64, "device": torch.device("cpu"), "generator": torch.Generator()},
    )
    recorded_calls.save(tmp_path / "calls.pt", encode(value))

    tensor, array, scalar, plain, words = decode(recorded_calls.load(tmp_path / "calls.pt"))

    assert torch.equal(tensor, value[0])
    assert tensor.stride() == value[0].stride()
    assert array.dtype == np.float64
    assert (scalar, scalar.dtype) == (np.float32(0.1), np.float32)
    assert plain == value[3]
    assert words == {"dtype": torch.float64, "device": torch.device("cpu"), "generator": None}


@pytest.mark.parametrize("value", [object(), np.array(["a"]), torch.ones(1, dtype=torch.complex64), {1, 2}])
def test_what_cannot_come_back_as_it_was_is_refused(value):
    with pytest.raises(NotRecordableError):
        encode(value)


def test_a_file_that_holds_code_is_refused(tmp_path):
    torch.save(print, tmp_path / "calls.pt")

    with pytest.raises(Exception, match="Weights only load failed"):
        recorded_calls.load(tmp_path / "calls.pt")


def test_the_same_cpu_finds_nobody_guilty():
    data = recorded(small_training)

    assert operation_replay.compared_with(data, operation_replay.answers(data)) == []


def test_one_bit_in_one_result_is_the_fault_of_that_operation_alone():
    data = recorded(small_training)
    theirs = operation_replay.answers(data)
    variants = list(operation_replay.variants(data["calls"]))
    at = next(i for i, call in enumerate(variants) if call["name"] == "aten.sqrt.default")
    theirs[at][0].view(torch.int32)[3] ^= 1

    (entry,) = operation_replay.compared_with(data, theirs)

    assert entry == {
        "operation": "aten.sqrt.default",
        "calls": 2,
        "inputs": "recorded",
        "differing": 1,
        "elements": 12,
        "shape": [12],
        "dtype": "float32",
    }


def test_a_function_of_one_tensor_is_tried_on_many_more_numbers():
    few = torch.ones(2)
    data = recorded(few.sqrt)
    theirs = operation_replay.answers(data)
    theirs[1][0].view(torch.int32)[100] ^= 1

    (entry,) = operation_replay.compared_with(data, theirs)

    assert (entry["inputs"], entry["differing"], entry["elements"]) == ("generated", 1, 16_384)


def test_memory_that_nobody_wrote_and_what_does_not_repeat_are_not_judged(monkeypatch):
    data = recorded(lambda: (torch.empty(4), np.exp(np.ones(3))))
    told = iter(range(100))
    monkeypatch.setattr(np, "exp", lambda values: values + next(told))

    answers = operation_replay.answers(data)

    assert answers == [None] * len(answers)
    assert operation_replay.compared_with(data, answers) == []


def test_what_an_operation_writes_into_its_arguments_counts():
    def step():
        weights, moments = [torch.ones(3)], [torch.ones(3)]
        torch._foreach_add_(weights, moments)

    data = recorded(step)
    theirs = operation_replay.answers(data)
    at = [call["name"] for call in operation_replay.variants(data["calls"])].index("aten._foreach_add_.List")
    theirs[at][0].view(torch.int32)[0] ^= 1

    assert [entry["operation"] for entry in operation_replay.compared_with(data, theirs)] == [
        "aten._foreach_add_.List"
    ]


def test_zero_of_the_other_sign_differs_and_a_nan_is_its_own_bits():
    assert recorded_calls.differing([torch.tensor([0.0, 1.0])], [torch.tensor([-0.0, 1.0])]) == (1, 2)
    assert recorded_calls.differing([torch.tensor([float("nan")])], [torch.tensor([float("nan")])]) == (0, 1)
    assert recorded_calls.differing([torch.ones(2)], [torch.ones(3)]) == (2, 2)
