"""`device: cuda` in the four trainers, on a stand-in for a GPU (``support.fake_cuda``): no GPU takes part.

Whole short trainings, their evaluations, checkpoints and resumption. They go red when a tensor is left on the
CPU, or a GPU's tensor is read as if it were there. Bits, kernels and memory of a GPU: ``tests/cuda``.
"""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from recipes.parts.written_out import WrittenOut  # noqa: E402
from reprokit.core import numerics  # noqa: E402
from reprokit.probes import rounding_probe  # noqa: E402
from reprokit.runtime.launch import launch  # noqa: E402
from support.fake_cuda import GPU, NAME, fake_cuda  # noqa: E402
from support.small_trainings import (  # noqa: E402
    CONFIGS,
    HALFWAY,
    TRAINERS,
    records,
    settings_put_back,
    trained,
    write_data,
)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(autouse=True)
def as_before():
    with settings_put_back():
        yield


@pytest.mark.parametrize("name", CONFIGS)
def test_a_trainer_that_moves_all_of_its_tensors_trains_as_on_the_cpu(name, data, tmp_path):
    trainer = TRAINERS / f"{name}.py"
    with fake_cuda():
        on_gpu = records(trained(trainer, tmp_path / "gpu", data, device="cuda"))
        again = trained(trainer, tmp_path / "again", data, device="cuda")
    for file in ("metrics.jsonl", "trace.jsonl"):
        assert (again / file).read_bytes() == (tmp_path / "gpu" / file).read_bytes()
    on_cpu = records(trained(trainer, tmp_path / "cpu", data, device="cpu"))
    assert len(on_gpu) == len(on_cpu)
    assert on_gpu[0].keys() == on_cpu[0].keys()
    for key, value in on_cpu[0].items():  # by other kernels of the same CPU
        assert on_gpu[0][key] == pytest.approx(value, rel=1e-4, abs=1e-6, nan_ok=True), key


@pytest.mark.parametrize("name", CONFIGS)
def test_a_training_that_is_resumed_goes_on_as_if_it_had_never_stopped(name, data, tmp_path):
    trainer = TRAINERS / f"{name}.py"
    checkpoint = tmp_path / "whole" / "checkpoints" / f"checkpoint_{HALFWAY[name]}.pt"
    with fake_cuda() as gpu:
        trained(trainer, tmp_path / "whole", data, device="cuda")
        gpu.random += 1  # the checkpoint puts it back
        resumed = trained(trainer, tmp_path / "rest", data, device="cuda", resume_from=checkpoint)
    for file in ("metrics.jsonl", "trace.jsonl"):
        lines = (resumed / file).read_text().splitlines()
        assert lines == (tmp_path / "whole" / file).read_text().splitlines()[-len(lines) :]
    elsewhere = trained(trainer, tmp_path / "cpu", data, device="cpu", resume_from=checkpoint)
    assert records(elsewhere)[-1]["step"] == records(resumed)[-1]["step"]


# A tensor left on the CPU, or one of the GPU read as if it were not: what it was, and what it becomes.
FAULTS = {
    "ppo: actions left on the CPU": (
        "ppo",
        "actions = torch.from_numpy(rollout.actions).flatten().to(device)",
        "actions = torch.from_numpy(rollout.actions).flatten()",
        "same device",
    ),
    "ppo: values read without a copy": (
        "ppo",
        "estimates = values.numpy(force=True)",
        "estimates = values.detach().numpy()",
        "Tensor.cpu",
    ),
    "gpt: tokens of a sample left on the CPU": (
        "gpt",
        "torch.from_numpy(tokens[:, -block_size:]).to(device)",
        "torch.from_numpy(tokens[:, -block_size:])",
        "same device",
    ),
    "gpt: a model left on the CPU": (
        "gpt",
        "model = GPT(len(corpus.characters), config.model).to(run.device)",
        "model = GPT(len(corpus.characters), config.model)",
        "same device",
    ),
    "classifier: labels left on the CPU": (
        "classifier",
        "labels = torch.from_numpy(batch.labels[part]).to(run.device)",
        "labels = torch.from_numpy(batch.labels[part])",
        "same device",
    ),
    "classifier: images left on the CPU": (
        "classifier",
        "return images.to(run.device, memory_format=torch.channels_last)",
        "return images.to(memory_format=torch.channels_last)",
        "same device",
    ),
    "classifier: scores read without a copy": ("classifier", ".numpy(force=True)", ".numpy()", "Tensor.cpu"),
}


@pytest.mark.parametrize(("name", "was", "becomes", "says"), FAULTS.values(), ids=list(FAULTS))
def test_a_tensor_that_is_left_on_the_cpu_ends_the_training(name, was, becomes, says, data, tmp_path):
    source = (TRAINERS / f"{name}.py").read_text()
    assert was in source
    trainer = tmp_path / f"{name}.py"
    trainer.write_text(source.replace(was, becomes))
    with fake_cuda(), pytest.raises((RuntimeError, TypeError), match=says):
        trained(trainer, tmp_path / "out", data, device="cuda")
    trained(trainer, tmp_path / "cpu", data, device="cpu")  # where no one would have noticed


def test_observations_that_are_left_on_the_cpu_end_a_training_by_dqn(data, tmp_path, monkeypatch):
    left = lambda self, array: array if self.in_numpy else torch.from_numpy(array)  # noqa: E731
    monkeypatch.setattr(WrittenOut, "_like_layers", left)
    with fake_cuda(), pytest.raises(RuntimeError, match="same device"):
        trained(TRAINERS / "dqn.py", tmp_path / "out", data, device="cuda")


def started(tmp_path: Path, trainer: Path, **at_start: str) -> tuple[dict, dict]:
    """A training as the tool starts it, with these variables: its runtime.json and environment.json."""
    lines = (
        f"{section}:\n" + "".join(f"  {key}: {json.dumps(value)}\n" for key, value in values.items())
        for section, values in CONFIGS[trainer.stem].items()
    )
    (tmp_path / "config.yaml").write_text("".join(lines))
    run_dir = tmp_path / "run"
    run_dir.mkdir()
    places = {"run_dir": run_dir, "config": tmp_path / "config.yaml"}
    with fake_cuda():
        launch(trainer, **places, seed=42, device="cuda", at_start=at_start)
    runtime, environment = (
        json.loads((run_dir / name).read_text()) for name in ("runtime.json", "environment.json")
    )
    return runtime, environment


@pytest.fixture
def no_probe(monkeypatch):
    """How operations round is no part of a trainer, and takes longer than it."""
    monkeypatch.setattr(rounding_probe, "probe", lambda device: {"device": str(device)})


def lacks(runtime: dict) -> set[str]:
    return {lack["name"] for lack in runtime["numerics"]["missing"]}


OF_GPUS = {*numerics.cuda_variables(), *numerics.CUDA_IN_FORCE}


def test_the_settings_of_a_gpu_are_in_force_while_a_trainer_trains(tmp_path, no_probe):
    runtime, environment = started(tmp_path, TRAINERS / "ppo.py", **numerics.cuda_variables())
    assert not OF_GPUS & lacks(runtime)
    assert environment["device"]["name"] == NAME
    assert runtime["numerics"]["cuda"]["in_force"]["torch.cuda_flags.cudnn_allow_tf32"] is False


def test_a_trainer_that_nobody_told_about_its_gpu_is_seen(tmp_path, no_probe):
    runtime, _ = started(tmp_path, TRAINERS / "ppo.py")
    assert set(numerics.cuda_variables()) <= lacks(runtime)


def test_a_trainer_that_switches_tf32_on_is_seen(tmp_path, no_probe):
    trainer = tmp_path / "ppo.py"
    seeds = "    run.seeding.seed_everything()\n"
    source = (TRAINERS / "ppo.py").read_text()
    assert seeds in source
    trainer.write_text(source.replace(seeds, f"{seeds}    torch.backends.cudnn.allow_tf32 = True\n"))
    runtime, _ = started(tmp_path, trainer, **numerics.cuda_variables())
    assert OF_GPUS & lacks(runtime) == {"torch.cuda_flags.cudnn_allow_tf32"}


def test_a_trainer_that_adds_atomically_on_a_gpu_is_ended(data, tmp_path):
    was = "loss = functional.cross_entropy(logits, labels) * share"
    source = (TRAINERS / "classifier.py").read_text()
    assert was in source
    trainer = tmp_path / "classifier.py"
    trainer.write_text(source.replace(was, was.replace("(logits,", "(logits.cumsum(1),")))
    with fake_cuda(), pytest.raises(RuntimeError, match=r"cumsum.* deterministic implementation"):
        trained(trainer, tmp_path / "out", data, device="cuda")


CALLS: dict[str, tuple[Callable[[], object], str]] = {
    "a sum": (lambda: torch.ones(2, device=GPU) + torch.ones(2), "same device"),
    "a product": (lambda: torch.ones(2, 2) @ torch.ones(2, 2, device="cuda"), "same device"),
    "a view": (lambda: torch.ones(4, device=GPU)[1:3] + torch.ones(2), "same device"),
    "data of a parameter": (lambda: _parameter_on_gpu() * torch.ones(2), "same device"),
    "an index into the CPU's": (lambda: torch.ones(2)[torch.ones(2, device=GPU).long()], "same device"),
    "a generator": (lambda: torch.rand(2, device=GPU, generator=torch.Generator()), "generator"),
    "numpy": (lambda: np.asarray(torch.ones(2, device=GPU)), "Tensor.cpu"),
    "a gradient": (lambda: _left_on_the_cpu().sum().backward(), "same device"),
}


def _parameter_on_gpu() -> torch.Tensor:
    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.data = torch.ones(4, device=GPU)[:2]
    return parameter


class _Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, values):
        return values * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * torch.full((2,), 2.0)


def _left_on_the_cpu() -> torch.Tensor:
    return _Doubled.apply(torch.ones(2, device=GPU).requires_grad_())


@pytest.mark.parametrize(("call", "says"), CALLS.values(), ids=list(CALLS))
def test_the_stand_in_refuses_what_a_gpu_refuses(call, says):
    with fake_cuda(), pytest.raises((RuntimeError, TypeError), match=says):
        call()


def test_the_stand_in_takes_what_a_gpu_takes():
    with fake_cuda():
        values = torch.arange(4.0, device=GPU)
        assert (values * torch.tensor(2.0)).device == GPU, "a number of the CPU"
        assert values[torch.tensor([1, 2])].device == GPU, "an index of the CPU"
        assert torch.zeros(4).copy_(values).device.type == "cpu", "a copy to the CPU"
        assert torch.zeros(4, device=GPU).copy_(torch.ones(4)).device == GPU, "a copy from it"
        assert torch.zeros_like(values).device == values.new_empty(2).device == GPU
        assert values.sum().item() == 6.0
        assert values.cpu().numpy().tolist() == [0.0, 1.0, 2.0, 3.0]
