"""Streams and copies of an accelerator: what an operation touches before it is done, and what it waits for.

The accelerator is a stand-in: tensors of the CPU that are said to lie on ``cuda:0``, streams by their number,
and events that are told to the watch as ``torch.cuda`` tells them. It computes at once, so it shows what is
recorded, and nothing of real timing: tests/cuda has that.
"""

from __future__ import annotations

import json
import sys

import pytest

from reprokit.instrumentation.reprokit_hook.device_order import DeviceOrder, goes_on
from support.hooked_program import run_hooked

torch = pytest.importorskip("torch", reason="torch is not installed")
dispatch = pytest.importorskip("torch.utils._python_dispatch", reason="torch is not installed")

SIDE = 7000  # a stream's own number


class StandIn(DeviceOrder):
    """An order of a device on which tensors lie that were put there."""

    def __init__(self):
        super().__init__(torch)
        self.there, self.pinned, self.now = {}, {}, 0
        self._listens = True

    def put(self, tensor):
        self.there[tensor.untyped_storage()._cdata] = tensor
        return tensor

    def pin(self, tensor):
        self.pinned[tensor.untyped_storage()._cdata] = tensor
        return tensor

    def place(self, tensor):
        return "cuda:0" if tensor.untyped_storage()._cdata in self.there else "cpu"

    def stream(self):
        return self.now

    def is_pinned(self, tensor):
        return tensor.untyped_storage()._cdata in self.pinned


class Recorded(dispatch.TorchDispatchMode):
    """What is recorded of every operation; results lie where the first tensor does."""

    def __init__(self, order):
        super().__init__()
        self.order, self.told = order, []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        if isinstance(args[0], torch.Tensor) and self.order.place(args[0]) != "cpu":
            self.order.put(made)
        at = ("train.py", sys._getframe(1).f_lineno)
        self.told.append(self.order.of(func, args, kwargs or {}, made, at))
        return made


@pytest.fixture
def gpu():
    order = StandIn()
    with Recorded(order) as mode:
        order.told = mode.told
        yield order


def on(gpu, stream):
    gpu.now = stream


def unordered(gpu):
    """The name of what the last operation does not wait for; "" where it waits."""
    return gpu.told[-1].get("unordered", [""])[0]


def test_a_program_on_the_cpu_has_nothing_recorded(gpu):
    torch.ones(3).add_(1).sum()
    assert gpu.told == [{}] * len(gpu.told)
    assert len(gpu.told) == 3


@pytest.mark.parametrize("non_blocking", [False, True])
def test_a_copy_is_told_with_its_direction_bytes_and_whether_the_host_waits(gpu, non_blocking):
    there, here = gpu.put(torch.zeros(8)), gpu.pin(torch.zeros(8))
    there.copy_(here, non_blocking=non_blocking)
    here.copy_(there, non_blocking=non_blocking)
    up, down = gpu.told[-2:]
    size = {"stream": 0, "bytes": 32, "non_blocking": non_blocking}
    assert up == {"device": "cuda:0", "copy": "host to device", **size}
    assert down == {"device": "cpu", "copy": "device to host", **size}
    assert (goes_on(up), goes_on(down)) == (False, non_blocking)


def test_another_stream_reads_what_is_being_computed(gpu):
    made = gpu.put(torch.ones(4)).mul_(2)
    on(gpu, SIDE)
    made + 1
    assert (unordered(gpu), gpu.told[-1]["stream"]) == ("aten.mul_.Tensor", 1)


def test_another_stream_writes_what_is_being_read(gpu):
    data = gpu.put(torch.ones(4))
    data.sum()
    on(gpu, SIDE)
    data.zero_()
    assert unordered(gpu) == "aten.sum.default"


@pytest.mark.parametrize(
    "wait",
    [
        lambda gpu: (gpu.event_recorded(5, 0), gpu.stream_waits(5, SIDE)),
        lambda gpu: (gpu.event_recorded(5, 0), gpu.host_waits_for_event(5)),
        lambda gpu: gpu.host_waits_for_stream(0),
        lambda gpu: gpu.host_waits_for_all(),
    ],
)
def test_a_stream_that_waits_is_ordered(gpu, wait):
    made = gpu.put(torch.ones(4)).mul_(2)
    wait(gpu)
    on(gpu, SIDE)
    made + 1
    assert unordered(gpu) == ""


def test_an_event_orders_only_what_was_before_it(gpu):
    made = gpu.put(torch.ones(4)).mul_(2)
    gpu.event_recorded(5, 0)
    made.mul_(3)
    gpu.stream_waits(5, SIDE)
    on(gpu, SIDE)
    made + 1
    assert unordered(gpu) == "aten.mul_.Tensor"


def test_waiting_for_a_stream_that_waited_is_enough(gpu):
    made = gpu.put(torch.ones(4)).mul_(2)
    gpu.event_recorded(5, 0)
    gpu.stream_waits(5, SIDE)
    gpu.event_recorded(6, SIDE)
    gpu.stream_waits(6, 9000)
    on(gpu, 9000)
    made + 1
    assert unordered(gpu) == ""


def test_the_host_reads_a_copy_that_is_not_done(gpu):
    here = gpu.pin(torch.zeros(4))
    here.copy_(gpu.put(torch.ones(4)), non_blocking=True)
    here + 1
    assert unordered(gpu) == "aten.copy_.default"
    gpu.host_waits_for_all()
    here + 1
    assert unordered(gpu) == ""


def test_the_host_refills_a_buffer_that_is_still_being_copied_but_may_read_it(gpu):
    here, there = gpu.pin(torch.zeros(4)), gpu.put(torch.zeros(4))
    there.copy_(here, non_blocking=True)
    here + 1
    assert unordered(gpu) == ""
    here.fill_(3)
    assert unordered(gpu) == "aten.copy_.default"


@pytest.mark.parametrize(("pinned", "non_blocking"), [(True, False), (False, True)])
def test_the_host_waits_for_a_copy_that_blocks_or_is_of_memory_that_can_be_paged_out(
    gpu, pinned, non_blocking
):
    here = torch.zeros(4)
    if pinned:
        gpu.pin(here)
    here.copy_(gpu.put(torch.ones(4)), non_blocking=non_blocking)
    here + 1
    assert unordered(gpu) == ""


def test_parts_of_a_buffer_that_do_not_meet_and_views_of_it_are_no_race(gpu):
    data = gpu.put(torch.ones(8))
    data[:4].mul_(2)
    on(gpu, SIDE)
    data[4:].mul_(3)
    assert unordered(gpu) == ""
    data.view(2, 4)
    assert unordered(gpu) == ""
    data[3:5].mul_(3)
    assert unordered(gpu) == "aten.mul_.Tensor"


def test_a_trace_of_a_program_on_the_cpu_is_as_long_as_ever(tmp_path):
    source = "import torch\ntorch.ones(3).add_(1).sum().item()\n"
    done = run_hooked(tmp_path, source, out=tmp_path / "out", level="deep")
    assert done.returncode == 0, done.stderr
    streams = json.loads((tmp_path / "out" / "trace-0.json").read_bytes())["streams"]
    assert {len(one) for one in streams} == {6}
    assert [one[0] for one in streams][:3] == ["aten.ones.default", "aten.add_.Tensor", "aten.sum.default"]
