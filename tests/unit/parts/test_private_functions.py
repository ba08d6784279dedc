"""Trainers and parts call two private functions of torch, which are still what they were."""

import ast
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

RECIPES = Path(__file__).resolve().parents[3] / "recipes"
FILES = sorted([*RECIPES.glob("trainers/*.py"), *RECIPES.glob("parts/**/*.py")])
KNOWN = {("parts/flat_adam.py", "torch._fused_adam_"), ("parts/flat_adamw.py", "torch._fused_adamw_")}
FUSED_ADAM = (
    "_fused_adam_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, "
    "Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, "
    "float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, "
    "Tensor? found_inf=None) -> ()"
)


def private_names(source):
    """Dotted names that begin with torch and go through something private, and their lines."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            name = ast.unparse(node)
            if name.startswith("torch.") and any(_is_private(part) for part in name.split(".")):
                yield name, node.lineno
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "torch":
            for one in node.names:
                name = f"{node.module}.{one.name}"
                if any(_is_private(part) for part in name.split(".")):
                    yield name, node.lineno


def _is_private(part):
    return part.startswith("_") and not part.startswith("__")


def test_no_other_private_function_of_torch_is_called():
    found = {
        (str(path.relative_to(RECIPES)), name)
        for path in FILES
        for name, _ in private_names(path.read_text(encoding="utf-8"))
    }
    assert found == KNOWN


@pytest.mark.parametrize(
    "source", ["torch._C._jit()", "from torch._dynamo import config", "from torch.optim import _functional"]
)
def test_a_private_name_is_seen_however_it_is_written(source):
    assert list(private_names(source))


@pytest.mark.parametrize("name", ["_fused_adam_", "_fused_adamw_"])
def test_the_kernel_is_there_and_takes_what_it_took(name):
    assert callable(getattr(torch, name)), "torch.optim.adam._fused_adam shows what took its place"
    assert f"aten::{FUSED_ADAM}".replace("_fused_adam_", name) in {
        str(one) for one in torch._C._jit_get_schemas_for_operator(f"aten::{name}")
    }
