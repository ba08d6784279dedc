"""The probe: inputs that no CPU rounds, digests that repeat and see one bit, nothing else touched."""

import random

import numpy as np
import pytest
import torch

from reprokit.probes import rounding_probe
from reprokit.probes.fixed_inputs import float32s, float64s
from reprokit.runtime.trace import random_digests

pytestmark = pytest.mark.usefixtures("global_state")


def test_fixed_inputs_are_what_integer_arithmetic_in_python_gives():
    def split_mix(counter):
        z = counter * 0x9E3779B97F4A7C15 % 2**64
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        return z ^ z >> 31

    raw = [split_mix((3 << 32) + index) for index in range(100)]
    bits = [(z >> 63) << 31 | (127 - 12 + (z >> 32) % 15) << 23 | z & 0x7FFFFF for z in raw]

    assert float32s(100, stream=3).view(np.uint32).tolist() == bits


@pytest.mark.parametrize("make", [float32s, float64s])
def test_fixed_inputs_are_finite_of_both_signs_and_of_many_magnitudes(make):
    values = make(10_000, stream=1)

    assert np.isfinite(values).all()
    assert 2**-12 <= np.abs(values).min() < 2**-11
    assert 4 < np.abs(values).max() < 8
    assert 0.4 < (values < 0).mean() < 0.6
    assert not np.array_equal(values, make(10_000, stream=2))


def test_the_probe_repeats_and_leaves_every_random_state_and_setting_as_it_was():
    torch.set_deterministic_debug_mode("error")
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002 - the global one is meant
    torch.manual_seed(1)
    before = random_digests()

    first = rounding_probe.probe()

    assert random_digests() == before
    assert torch.get_deterministic_debug_mode() == 2
    assert torch.is_grad_enabled()
    assert rounding_probe.probe() == first
    assert first["missing"] == {}
    assert set(first) == {"version", "device", "digests", "missing"}


def test_everything_that_training_uses_is_in_the_probe():
    names = set(rounding_probe.probe()["digests"])
    functions = ("exp", "log", "sqrt", "tanh", "relu", "gelu", "sigmoid")

    assert {f"torch.{name} float32" for name in functions} <= names
    assert {
        "torch.softmax",
        "torch.log_softmax",
        "torch.norm",
        "torch.sum",
        "torch.nn.init.orthogonal_",
    } <= names
    assert {"torch.baddbmm 2x256x64x64", "torch.addmm 256x64x64", "torch.mm 256x64x64"} <= names
    layers = ("embedding", "layer_norm", "softmax", "gelu", "conv2d", "max_pool2d", "cross_entropy")
    assert {f"torch.{name} with gradient" for name in layers} <= names
    assert {"torch.attention fused with gradient", "torch.attention formula with gradient"} <= names
    assert {
        "torch.Adam fused",
        "torch.AdamW fused",
        "torch.Adam plain",
        "torch.rand",
        "torch.randperm",
    } <= names
    assert {"numpy.exp float64", "numpy.log float64", "numpy.tanh float32", "numpy.matmul float32"} <= names
    assert {"numpy.random normal", "python.random normal", "python.exp"} <= names


def test_a_root_that_rounds_otherwise_in_one_place_is_seen_in_it_and_in_what_takes_roots(monkeypatch):
    before = rounding_probe.probe()["digests"]
    exact = torch.sqrt

    def otherwise(values):
        roots = exact(values)
        roots[7] = torch.nextafter(roots[7], torch.tensor(9.0, dtype=roots.dtype))
        return roots

    monkeypatch.setattr(torch, "sqrt", otherwise)
    after = rounding_probe.probe()["digests"]

    assert {name for name in before if before[name] != after[name]} == {
        "torch.sqrt float32",
        "torch.sqrt float64",
    }


def test_a_gradient_that_rounds_otherwise_is_seen_where_the_result_is_the_same(monkeypatch):
    before = rounding_probe.probe()["digests"]
    exact = torch.nn.functional.gelu

    def otherwise(values):
        values.requires_grad and values.register_hook(lambda gradient: gradient * (1 + 2**-23))
        return exact(values)

    monkeypatch.setattr(torch.nn.functional, "gelu", otherwise)
    after = rounding_probe.probe()["digests"]

    assert {name for name in before if before[name] != after[name]} == {"torch.gelu with gradient"}


def test_what_a_build_does_not_have_is_missing_with_its_reason_and_the_rest_is_there(monkeypatch):
    def gone(*_args, **_kwargs):
        raise NotImplementedError("no such kernel in this build")

    monkeypatch.setattr(torch, "_fused_adam_", gone)

    told = rounding_probe.probe()

    assert told["missing"] == {"torch.Adam fused": "no such kernel in this build"}
    assert "torch.Adam plain" in told["digests"]
