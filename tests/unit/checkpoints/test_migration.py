"""Older layouts: what they kept is moved, what they did not keep is named, and nothing is made up."""

import random

import numpy as np
import pytest

from reprokit import checkpoints
from reprokit.checkpoints import torch_writer
from reprokit.errors import CheckpointError


def saved_as_the_guides_teach(torch, path):
    """Word for word what the field's guides save: generators and all, arrays of numpy included."""
    torch.manual_seed(1)
    random.seed(2)
    np.random.seed(3)  # noqa: NPY002 - the global one is what such programs keep
    model = torch.nn.Linear(3, 2)
    adam = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    adam.step()
    state = {
        "model_state_dict": model.state_dict(),
        "optimizer_state_dict": adam.state_dict(),
        "epoch": 3,
        "torch_rng_state": torch.get_rng_state(),
        "numpy_rng_state": np.random.get_state(),  # noqa: NPY002
        "python_rng_state": random.getstate(),
        "cuda_rng_state": None,
    }
    torch.save(state, path)
    return model, adam


def drawn(torch):
    return random.random(), np.random.random(), torch.rand(1).item()  # noqa: NPY002


def test_a_real_older_file_becomes_one_of_today_and_its_generators_go_on(tmp_path):
    torch = pytest.importorskip("torch")
    checkpoint = pytest.importorskip("reprokit.runtime.checkpoint")
    model, adam = saved_as_the_guides_teach(torch, tmp_path / "old.pt")
    moved = checkpoints.migrated(checkpoints.read(tmp_path / "old.pt", older=True))
    assert moved.state["step"] == 3
    assert checkpoints.problems_of(moved.state) == ["it has no environment states"]
    torch_writer.write(
        {**moved.state, "random": {**moved.state["random"], "environments": []}}, tmp_path / "new.pt"
    )

    expected = drawn(torch)
    for seed in (random.seed, np.random.seed, torch.manual_seed):
        seed(9)
    other = torch.nn.Linear(3, 2)
    others_adam = torch.optim.Adam(other.parameters())
    step, extra = checkpoint.restore(checkpoint.load(tmp_path / "new.pt"), model=other, optimizer=others_adam)
    assert (step, extra) == (3, {"epoch": 3})
    assert drawn(torch) == expected
    for name, value in model.state_dict().items():
        assert torch.equal(other.state_dict()[name], value)
    assert torch.equal(
        others_adam.state_dict()["state"][0]["exp_avg"], adam.state_dict()["state"][0]["exp_avg"]
    )


def test_arrays_of_numpy_are_refused_elsewhere_with_the_way_to_convert_them(tmp_path):
    torch = pytest.importorskip("torch")
    saved_as_the_guides_teach(torch, tmp_path / "old.pt")
    with pytest.raises(CheckpointError, match=r"could run code.*reprokit runs checkpoint convert"):
        checkpoints.read(tmp_path / "old.pt")


def test_todays_layout_and_bare_parameters_stay_as_they_are():
    for state in ({"schema": 1, "step": 5}, {"weight": 0.5}):
        assert checkpoints.migrated(state).state == state
        assert checkpoints.migrated(state).changes == ()


@pytest.mark.parametrize("schema", [2, 99, 0, -1, "1", 1.0, True])
def test_a_layout_that_nobody_knows_is_refused(schema):
    with pytest.raises(CheckpointError, match="unknown layout"):
        checkpoints.migrated({"schema": schema, "model_state_dict": {}})


def test_what_an_older_file_held_besides_is_kept():
    moved = checkpoints.migrated({"model_state_dict": {"w": 1.0}, "step": 7, "epoch": 2, "best": 0.5})
    assert moved.state["step"] == 7
    assert moved.state["extra"] == {"step": 7, "epoch": 2, "best": 0.5}
    assert "layout 0 → 1: best is extra.best" in moved.changes
    assert "it has no optimizer" in checkpoints.problems_of(moved.state)
