"""The variation ``batch_composition``: rows are computed in two parts where no gradient is taken."""

import pytest

from support.hooked_program import run_hooked

pytest.importorskip("torch", reason="its programs compute with it")

PROGRAM = """\
import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode

NAMES = ("linear", "matmul", "mm", "conv2d", "scaled_dot_product_attention")

class Told(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function.__name__.strip("_") in NAMES:
            print(function.__name__, *args[0].shape)
        return function(*args, **(kwargs or {{}}))

ones = torch.ones
with Told(), {mode}():
    made = {line}
print(tuple(made.shape), bool((made == made.flatten()[0]).all()))
"""


def shapes(tmp_path, line, *, mode="torch.no_grad", vary=("batch_composition",)):
    """What was computed: the operations with the shapes of their first operands, then the whole result's."""
    source = PROGRAM.format(line=line, mode=mode)
    done = run_hooked(tmp_path, source, out=tmp_path / "out", vary=list(vary))
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("torch.nn.Linear(3, 1)(ones(5, 3))", ["linear 2 3", "linear 3 3", "(5, 1) True"]),
        ("ones(5, 3) @ ones(3, 4)", ["matmul 2 3", "matmul 3 3", "(5, 4) True"]),
        ("torch.mm(ones(2, 3), ones(3, 4))", ["mm 1 3", "mm 1 3", "(2, 4) True"]),
        ("ones(2, 6, 3).matmul(ones(3))", ["matmul 1 6 3", "matmul 1 6 3", "(2, 6) True"]),
        (
            "functional.conv2d(ones(3, 1, 4, 4), ones(3, 1, 3, 3))",
            ["conv2d 1 1 4 4", "conv2d 2 1 4 4", "(3, 3, 2, 2) True"],
        ),
        (
            "functional.scaled_dot_product_attention(*[ones(2, 1, 4, 8)] * 3, is_causal=True)",
            ["scaled_dot_product_attention 1 1 4 8"] * 2 + ["(2, 1, 4, 8) True"],
        ),
    ],
)
def test_a_batch_is_computed_in_two_parts(tmp_path, line, told):
    assert shapes(tmp_path, line) == told


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("torch.nn.Linear(3, 1)(ones(1, 3))", "linear 1 3"),
        ("torch.nn.Linear(3, 1)(ones(3))", "linear 3"),
        ("ones(2, 3) @ ones(2, 3, 4)", "matmul 2 3"),
        ("functional.conv2d(ones(1, 4, 4), ones(3, 1, 3, 3))", "conv2d 1 4 4"),
        ("torch.mm(ones(2, 3), ones(3, 4), out=torch.empty(2, 4))", "mm 2 3"),
    ],
)
def test_what_is_no_batch_of_rows_stays_whole(tmp_path, line, told):
    assert shapes(tmp_path, line)[:-1] == [told]


def test_where_gradients_are_taken_nothing_changes(tmp_path):
    line = "torch.nn.Linear(3, 1)(ones(5, 3))"
    assert shapes(tmp_path, line, mode="torch.enable_grad")[0] == "linear 5 3"


def test_nothing_changes_unasked(tmp_path):
    assert shapes(tmp_path, "torch.nn.Linear(3, 1)(ones(5, 3))", vary=())[0] == "linear 5 3"
