"""Streams, copies and atomics on a real GPU, as the watch of operations sees them."""

from __future__ import annotations

import json

import pytest

from reprokit.diagnosis import cause_of_operation, first_operation
from support.hooked_program import run_hooked

pytestmark = [pytest.mark.cuda, pytest.mark.timeout(600)]

ATOMICS = """
import torch
torch.manual_seed(0)
rows = torch.randint(0, 4, (1_000_000,)).cuda()
values = torch.randn(1_000_000).cuda()
torch.zeros(4, device="cuda").index_add_(0, rows, values)
"""
STREAMS = """
import torch
data = torch.ones(1_000_000, device="cuda")
side = torch.cuda.Stream()
data.mul_(2)
{wait}
with torch.cuda.stream(side):
    data + 1
"""
COPIES = """
import torch
data = torch.ones(1_000_000, device="cuda")
here = data.to("cpu", non_blocking=True)
{wait}
here + 1
"""


@pytest.fixture(scope="module")
def cuda(gpu):
    """This GPU, where the Python of these tests can compute on it."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if not torch.cuda.is_available():
        pytest.skip(f"the PyTorch of this Python ({torch.__version__}) cannot compute on {gpu.platform}")
    return gpu


def recorded(folder, label, source):
    done = run_hooked(folder, source, out=folder / label, level="deep")
    assert done.returncode == 0, done.stderr
    return json.loads((folder / label / "trace-0.json").read_bytes())["streams"]


def test_atomics_are_named_with_their_line_and_an_alternative(cuda, tmp_path):
    recorded(tmp_path, "first", ATOMICS)
    for number in range(20):  # until two of them differ
        recorded(tmp_path, str(number), ATOMICS)
        found = first_operation(tmp_path / "first", tmp_path / str(number))
        if found is not None:
            break
    assert found is not None, "21 runs were equal"
    assert (found.name, found.line) == ("aten.index_add_.default", 6)
    assert "gives it a fixed order" in cause_of_operation(found, varied=False).fix


@pytest.mark.parametrize(
    ("source", "name", "wait"),
    [
        (STREAMS, "aten.mul_.Tensor", "side.wait_stream(torch.cuda.current_stream())"),
        (STREAMS, "aten.mul_.Tensor", "torch.cuda.synchronize()"),
        (COPIES, "aten._to_copy.default", "torch.cuda.synchronize()"),
        (COPIES, "aten._to_copy.default", "torch.cuda.current_stream().synchronize()"),
    ],
)
def test_what_nothing_waits_for_is_told_and_what_is_waited_for_is_not(cuda, tmp_path, source, name, wait):
    raced, waited = (
        [one[6]["unordered"][0] for one in recorded(tmp_path, label, text) if "unordered" in (*one, {})[6]]
        for label, text in (("raced", source.format(wait="")), ("waited", source.format(wait=wait)))
    )
    assert (raced, waited) == ([name], [])
