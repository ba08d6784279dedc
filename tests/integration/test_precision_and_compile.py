"""`training.precision` and `training.compile` in the four trainers, on this CPU with its own kernels."""

import shutil
from unittest import mock

import pytest

torch = pytest.importorskip("torch")

from recipes.parts import computing  # noqa: E402
from recipes.parts.computing import ScaledLoss, compute_in  # noqa: E402
from recipes.parts.flat_adam import FlatAdam  # noqa: E402
from reprokit.errors import CannotRunError  # noqa: E402
from reprokit.runtime import devices  # noqa: E402
from support.fake_cuda import fake_cuda  # noqa: E402
from support.small_trainings import (  # noqa: E402
    CONFIGS,
    HALFWAY,
    TRAINERS,
    records,
    settings_put_back,
    trained,
    write_data,
)

FILES = ("metrics.jsonl", "trace.jsonl")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(autouse=True)
def as_before():
    with settings_put_back():
        yield


def same(one, other) -> bool:
    return all((one / file).read_bytes() == (other / file).read_bytes() for file in FILES)


def is_end_of(rest, whole) -> bool:
    pairs = [
        ((rest / file).read_text().splitlines(), (whole / file).read_text().splitlines()) for file in FILES
    ]
    return all(lines and lines == of_whole[-len(lines) :] for lines, of_whole in pairs)


@pytest.mark.parametrize("precision", ["bfloat16", pytest.param("float16", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", CONFIGS)
def test_a_training_in_lower_precision_repeats_and_is_resumed_byte_for_byte(name, precision, data, tmp_path):
    trainer, training = TRAINERS / f"{name}.py", {"precision": precision}
    usual = trained(trainer, tmp_path / "usual", data)
    whole = trained(trainer, tmp_path / "whole", data, training=training)
    assert not same(whole, usual), "the precision is in use"
    assert same(trained(trainer, tmp_path / "again", data, training=training), whole)
    checkpoint = whole / "checkpoints" / f"checkpoint_{HALFWAY[name]}.pt"
    rest = trained(trainer, tmp_path / "rest", data, training=training, resume_from=checkpoint)
    assert is_end_of(rest, whole)
    scaled = "optim/loss_scale" in records(whole)[-1]
    assert scaled is (precision == "float16")
    model = torch.load(whole / "checkpoints" / "final_model.pt", weights_only=True)
    assert {one.dtype for one in model.values()} == {torch.float32}


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", CONFIGS)
def test_a_scale_that_is_not_put_back_is_seen_after_a_resume(name, data, tmp_path, monkeypatch):
    trainer, training = TRAINERS / f"{name}.py", {"precision": "float16"}
    whole = trained(trainer, tmp_path / "whole", data, training=training)
    own = {"loss_scale", "growth_tracker", "updates_left_out"}
    monkeypatch.setattr(
        ScaledLoss,
        "load_state_dict",
        lambda self, state: self.adam.load_state_dict({k: v for k, v in state.items() if k not in own}),
    )
    checkpoint = whole / "checkpoints" / f"checkpoint_{HALFWAY[name]}.pt"
    rest = trained(trainer, tmp_path / "rest", data, training=training, resume_from=checkpoint)
    assert not is_end_of(rest, whole)


@pytest.mark.parametrize(("then", "now"), [("float16", "float32"), ("float32", "float16")])
def test_a_checkpoint_of_another_precision_is_refused(then, now, data, tmp_path):
    trainer = TRAINERS / "classifier.py"
    whole = trained(trainer, tmp_path / "whole", data, training={"precision": then})
    checkpoint = whole / "checkpoints" / f"checkpoint_{HALFWAY['classifier']}.pt"
    with pytest.raises(CannotRunError, match=r"optimizer does not fit this one: .*loss_scale"):
        trained(trainer, tmp_path / "rest", data, training={"precision": now}, resume_from=checkpoint)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", CONFIGS)
def test_a_gpu_scales_the_loss_where_the_gradients_are(name, data, tmp_path):
    trainer, training = TRAINERS / f"{name}.py", {"precision": "float16"}
    with fake_cuda():
        whole = trained(trainer, tmp_path / "whole", data, device="cuda", training=training)
        checkpoint = whole / "checkpoints" / f"checkpoint_{HALFWAY[name]}.pt"
        rest = trained(
            trainer, tmp_path / "rest", data, device="cuda", training=training, resume_from=checkpoint
        )
    assert is_end_of(rest, whole)
    assert "optim/loss_scale" in records(whole)[-1]


def scaled_adam() -> tuple[torch.nn.Linear, ScaledLoss]:
    model = torch.nn.Linear(2, 1, bias=False)
    torch.nn.init.ones_(model.weight)
    return model, ScaledLoss(FlatAdam(model, epsilon=1e-8))


def test_an_update_whose_gradient_is_not_finite_is_left_out_and_the_scale_is_halved():
    model, adam = scaled_adam()
    adam.gradients.zero_()
    torch.autograd.backward(adam.scaled(model(torch.full((1, 2), 1e35)).sum()))
    assert adam.step(learning_rate=0.1, max_norm=1.0).item() == 0.0
    assert model.weight.tolist() == [[1.0, 1.0]]
    assert adam.record() == {"optim/loss_scale": 2.0**15, "optim/updates_left_out": 1}


def test_gradients_are_scaled_back_before_they_are_measured_and_stepped_with():
    (model, adam), plain = scaled_adam(), torch.nn.Linear(2, 1, bias=False)
    torch.nn.init.ones_(plain.weight)
    unscaled = FlatAdam(plain, epsilon=1e-8)
    inputs = torch.tensor([[3.0, 4.0]])
    torch.autograd.backward(adam.scaled(model(inputs).sum()))
    torch.autograd.backward(unscaled.scaled(plain(inputs).sum()))
    norms = [one.step(learning_rate=0.1, max_norm=1.0).item() for one in (adam, unscaled)]
    assert norms == [5.0, 5.0]
    assert torch.equal(adam.gradients, unscaled.gradients)
    assert torch.equal(model.weight, plain.weight)


@pytest.mark.smoke
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what the compiler itself calls
@pytest.mark.skipif(not shutil.which("g++"), reason="torch.compile needs g++, and this machine has none")
@pytest.mark.parametrize(
    "name", ["classifier", *(pytest.param(n, marks=pytest.mark.slow) for n in ("ppo", "gpt"))]
)
def test_a_compiled_training_repeats_and_is_resumed_byte_for_byte(name, data, tmp_path):
    torch.compiler.reset()
    torch._dynamo.utils.counters.clear()
    trainer, training = TRAINERS / f"{name}.py", {"compile": "default"}
    whole = trained(trainer, tmp_path / "whole", data, training=training)
    assert devices.facts()["compilations"] > 0
    assert same(trained(trainer, tmp_path / "again", data, training=training), whole)
    checkpoint = whole / "checkpoints" / f"checkpoint_{HALFWAY[name]}.pt"
    rest = trained(trainer, tmp_path / "rest", data, training=training, resume_from=checkpoint)
    assert is_end_of(rest, whole)


def refused(*, precision: str = "float32", mode: str | None = None) -> str:
    with pytest.raises(CannotRunError) as error:
        compute_in(torch.nn.Linear(2, 1), precision=precision, mode=mode)
    return error.value.told()


def test_what_a_device_cannot_do_is_refused_with_what_it_can(monkeypatch):
    assert "CUDA graphs" in refused(mode="reduce-overhead")
    monkeypatch.setattr(computing.shutil, "which", lambda name: None)
    assert "C++ compiler" in refused(mode="default")
    device = mock.PropertyMock(return_value=torch.device("xla"))
    with mock.patch.object(torch.nn.Parameter, "device", device, create=True):
        assert "TPUs have no float16" in refused(precision="float16")
        assert "XLA compiles every model by itself" in refused(mode="default")
