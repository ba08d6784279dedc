"""A device is opened or refused by name, never exchanged; generators of those in use are saved and put back.

PyTorch/XLA is a stand-in here: tests/integration/test_xla.py has the real one.
"""

import sys
from types import ModuleType, SimpleNamespace

import pytest
import torch

from reprokit.capture import probe
from reprokit.core import numerics
from reprokit.errors import CannotRunError
from reprokit.runtime import checkpoint, cuda_backend, devices


@pytest.fixture
def xla(monkeypatch):
    """What reprokit asks of torch_xla: one device that is found, one generator."""
    package, runtime, core = (ModuleType(name) for name in ("torch_xla", "torch_xla.runtime", "xla_model"))
    held = SimpleNamespace(kind="CPU", state=0, settled=0)
    package.device = lambda: torch.device("xla:0")
    package.manual_seed = lambda seed: setattr(held, "state", seed)
    package.sync = lambda: vars(held).update(settled=held.settled + 1, state=held.state + 1)
    package.runtime = runtime
    runtime.device_type = lambda: held.kind
    core.get_rng_state = lambda: held.state
    core.set_rng_state = lambda state: setattr(held, "state", state)
    for name, module in {
        "torch_xla": package,
        "torch_xla.runtime": runtime,
        "torch_xla.core.xla_model": core,
    }.items():
        monkeypatch.setitem(sys.modules, name, module)
    return held


def test_a_tpu_is_refused_where_nobody_said_which_device_stands_for_it(monkeypatch):
    monkeypatch.delenv("PJRT_DEVICE", raising=False)
    with pytest.raises(CannotRunError, match="PJRT_DEVICE is not set"):
        devices.opened("tpu")


def test_a_tpu_is_refused_in_an_environment_without_its_library(monkeypatch):
    monkeypatch.setenv("PJRT_DEVICE", "TPU")
    monkeypatch.setitem(sys.modules, "torch_xla", None)
    with pytest.raises(CannotRunError, match="PyTorch/XLA has none"):
        devices.opened("tpu")


def test_the_cpu_does_not_silently_stand_for_a_tpu(monkeypatch, xla):
    monkeypatch.setenv("PJRT_DEVICE", "TPU")
    with pytest.raises(CannotRunError, match="took another device"):
        devices.opened("tpu")
    xla.kind = "TPU"
    assert devices.name_of(devices.opened("tpu")) == "tpu"


def test_the_cpu_stands_for_a_tpu_where_it_was_asked_for(monkeypatch, xla):
    monkeypatch.setenv("PJRT_DEVICE", "CPU")
    monkeypatch.setenv("NPROC", "1")
    assert devices.opened("tpu").type == "xla"


@pytest.mark.parametrize("threads", ["", "2"])
def test_the_cpu_is_refused_where_the_number_of_threads_is_left_to_the_machine(monkeypatch, xla, threads):
    monkeypatch.setenv("PJRT_DEVICE", "CPU")
    monkeypatch.setenv("NPROC", threads)
    with pytest.raises(CannotRunError, match="as many threads as this process has CPUs"):
        devices.opened("tpu")


def test_what_was_recorded_is_run_when_it_is_asked_for_and_when_a_checkpoint_was_put_back(xla):
    devices.settle()
    assert xla.settled == 1
    model = torch.nn.Linear(2, 2)
    devices.seed(7)
    checkpoint.restore(checkpoint.training_state(step=1, model=model), model=model)
    assert (xla.settled, xla.state) == (2, 7), "running moves the generator, so it is put back last"


def test_a_cpu_has_nothing_to_run_later():
    devices.settle()
    assert "torch_xla" not in sys.modules


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_gpu_is_refused_where_there_is_none():
    with pytest.raises(CannotRunError, match="torch finds none"):
        devices.opened("cuda")


def test_the_generator_of_a_device_is_seeded_saved_and_put_back(xla):
    devices.seed(7)
    states = devices.generator_states()
    assert states["xla"] == 7
    xla.state = 9
    devices.restore_generators(states)
    assert xla.state == 7


def test_a_checkpoint_of_another_device_has_nothing_to_put_back_here():
    devices.restore_generators({"xla": 7})
    assert "xla" not in devices.generator_states()


@pytest.fixture
def flags():
    """torch's settings of GPUs, which hold for the whole process, put back as they were."""
    mode, cudnn = torch.get_deterministic_debug_mode(), torch.backends.cudnn
    before = (cudnn.deterministic, cudnn.benchmark, cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32)
    yield
    torch.set_deterministic_debug_mode(mode)
    cudnn.deterministic, cudnn.benchmark, cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32 = before


def reported():
    """What a build with CUDA writes down of torch's settings; without a GPU they can be set all the same."""
    kinds = {"flags": probe._TORCH_SETTINGS, "cuda_flags": probe._CUDA_SETTINGS}
    return {kind: probe._settings(torch, fields, {}, field=f"torch.{kind}") for kind, fields in kinds.items()}


def test_a_gpu_that_is_opened_has_every_flag_that_fixes_its_bits(flags):
    torch.set_deterministic_debug_mode("default")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic = True, False
    cuda_backend.fix_bits()
    told = reported()
    found = {field: told[field.split(".")[1]][field.split(".")[2]] for field in numerics.CUDA_IN_FORCE}
    assert found == {field: wanted for field, (wanted, _) in numerics.CUDA_IN_FORCE.items()}


def test_a_trainer_that_switches_tf32_on_again_is_seen_by_the_next_look(flags):
    cuda_backend.fix_bits()
    torch.set_float32_matmul_precision("high")
    assert reported()["cuda_flags"]["matmul_allow_tf32"] is True


def test_the_state_of_a_gpu_is_that_of_the_one_in_use_whatever_others_there_are(monkeypatch):
    states = {"0": torch.tensor([7], dtype=torch.uint8)}
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda: states["0"])
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda state: states.update({"0": state}))
    saved = devices.generator_states()
    states["0"] = torch.tensor([9], dtype=torch.uint8)
    devices.restore_generators(saved)
    assert states["0"].tolist() == [7]
