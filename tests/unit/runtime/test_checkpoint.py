"""Checkpoints: whole or not there, listed with their digest, loaded without running code."""

import errno
import hashlib
import json
import os
import pickle

import numpy as np
import pytest
import torch

from reprokit.errors import CannotRunError, WorkspaceError
from reprokit.runtime import checkpoint
from reprokit.runtime.checkpoint import CheckpointStore, load, restore, training_state

pytestmark = pytest.mark.usefixtures("global_state")


def program():
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2)
    return model, optimizer, scheduler


def train(model, optimizer, scheduler, num_steps):
    for _ in range(num_steps):
        optimizer.zero_grad()
        model(torch.rand(4, 3)).pow(2).mean().backward()
        optimizer.step()
        scheduler.step()
    return [parameter.detach().clone() for parameter in model.parameters()]


@pytest.fixture
def store(tmp_path):
    return CheckpointStore(tmp_path / "checkpoints")


def test_training_goes_on_as_if_it_had_never_stopped(store):
    model, optimizer, scheduler = program()
    train(model, optimizer, scheduler, 3)
    state = training_state(step=3, model=model, optimizer=optimizer, scheduler=scheduler, extra={"best": 0.5})
    path = store.save(state)
    expected = train(model, optimizer, scheduler, 4)

    model, optimizer, scheduler = program()
    torch.rand(99)
    step, extra = restore(load(path), model=model, optimizer=optimizer, scheduler=scheduler)
    assert (step, extra) == (3, {"best": 0.5})
    actual = train(model, optimizer, scheduler, 4)
    assert all(torch.equal(one, other) for one, other in zip(expected, actual, strict=True))


def test_the_manifest_lists_every_file_with_digest_size_and_step(store):
    model, *_ = program()
    paths = [store.save(training_state(step=8, model=model)), store.save_final(model)]
    manifest = json.loads((store.folder / "MANIFEST.json").read_text())
    assert manifest["schema"] == 1
    assert [manifest["files"][path.name]["step"] for path in paths] == [8, None]
    for path in paths:
        content = path.read_bytes()
        assert manifest["files"][path.name]["sha256"] == "sha256:" + hashlib.sha256(content).hexdigest()
        assert manifest["files"][path.name]["bytes"] == len(content)
    assert sorted(manifest["files"]) == ["checkpoint_8.pt", "final_model.pt"]


def test_nothing_but_checkpoints_and_manifest_is_left(store):
    store.save(training_state(step=1, model=program()[0]))
    assert sorted(path.name for path in store.folder.iterdir()) == ["MANIFEST.json", "checkpoint_1.pt"]


@pytest.mark.parametrize("renames", [0, 1])
def test_a_program_killed_while_saving_leaves_the_last_checkpoint_whole(store, monkeypatch, renames):
    model, *_ = program()
    store.save(training_state(step=1, model=model))
    replace, seen = checkpoint.Path.replace, []

    def killed(self, target):
        if len(seen) == renames:
            raise KeyboardInterrupt
        seen.append(target)
        return replace(self, target)

    monkeypatch.setattr(checkpoint.Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        store.save(training_state(step=2, model=model))
    listed = json.loads((store.folder / "MANIFEST.json").read_text())["files"]
    for name, entry in listed.items():
        assert load(store.folder / name, sha256=entry["sha256"])["step"] == entry["step"]
    assert "checkpoint_1.pt" in listed


def test_a_file_reaches_the_disk_before_it_gets_its_name(store, monkeypatch):
    events = []
    fsync, replace = os.fsync, checkpoint.Path.replace
    monkeypatch.setattr(os, "fsync", lambda file: (events.append("fsync"), fsync(file))[1])
    monkeypatch.setattr(
        checkpoint.Path, "replace", lambda self, to: (events.append(to.name), replace(self, to))[1]
    )
    store.save(training_state(step=1, model=program()[0]))
    assert events == ["fsync", "checkpoint_1.pt", "fsync", "fsync", "MANIFEST.json", "fsync"]


def test_a_full_disk_is_an_error_that_names_the_file(store, monkeypatch):
    def full(file):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WorkspaceError, match=r"checkpoint_1\.pt.*No space left"):
        store.save(training_state(step=1, model=program()[0]))


class Bomb:
    def __reduce__(self):
        return (os.system, ("echo exploded > exploded",))


@pytest.mark.parametrize(
    "write", [torch.save, lambda value, path: path.write_bytes(pickle.dumps(value, protocol=2))]
)
def test_a_file_that_would_run_code_is_not_loaded(tmp_path, monkeypatch, write):
    monkeypatch.chdir(tmp_path)
    write({"model": Bomb()}, tmp_path / "checkpoint_1.pt")
    with pytest.raises(CannotRunError, match="without running code"):
        load(tmp_path / "checkpoint_1.pt")
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", b"PK\x03\x04 cut"])
def test_a_broken_file_is_named(tmp_path, content):
    (tmp_path / "checkpoint_1.pt").write_bytes(content)
    with pytest.raises(CannotRunError, match=r"checkpoint_1\.pt"):
        load(tmp_path / "checkpoint_1.pt")


def test_a_changed_file_is_refused(store):
    path = store.save(training_state(step=1, model=program()[0]))
    with pytest.raises(CannotRunError, match="was changed"):
        load(path, sha256="sha256:" + "0" * 64)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(CannotRunError, match=r"gone\.pt"):
        load(tmp_path / "gone.pt")


def test_a_tensor_alone_is_no_checkpoint(tmp_path):
    torch.save(torch.zeros(1), tmp_path / "x.pt")
    with pytest.raises(CannotRunError, match="expected a dict"):
        load(tmp_path / "x.pt")


def test_what_a_checkpoint_lacks_is_named():
    model, optimizer, _ = program()
    state = training_state(step=1, model=model)
    with pytest.raises(CannotRunError, match="no optimizer"):
        restore(state, model=model, optimizer=optimizer)
    with pytest.raises(CannotRunError, match="no model, no step, no random, no extra"):
        restore({}, model=model)


def test_a_model_of_another_shape_is_refused():
    state = training_state(step=1, model=torch.nn.Linear(4, 2))
    with pytest.raises(CannotRunError, match="model does not fit"):
        restore(state, model=torch.nn.Linear(3, 2))


def test_every_random_state_is_in_it(store):
    generator = np.random.default_rng(1)
    path = store.save(training_state(step=1, model=program()[0], generators={"noise": generator}))
    assert set(load(path)["random"]) == {"python", "numpy", "torch", "generators", "environments"}


def test_the_proof_names_what_does_not_load(store):
    model, *_ = program()
    whole, broken = (store.save(training_state(step=step, model=model)) for step in (1, 2))
    broken.write_bytes(b"spoilt")
    proof = store.prove()
    sha256 = "sha256:" + hashlib.sha256(whole.read_bytes()).hexdigest()
    assert proof["checkpoint_1.pt"] == {"sha256": sha256, "loadable": True, "reason": ""}
    assert not proof["checkpoint_2.pt"]["loadable"]
    assert "changed" in proof["checkpoint_2.pt"]["reason"]


def test_no_checkpoint_is_no_proof(store):
    assert store.prove() == {}


def test_what_is_on_the_cpu_is_saved_as_it_is_and_what_is_not_is_moved(monkeypatch):
    state = {"model": torch.nn.Linear(2, 2).state_dict(), "extra": {"list": [torch.ones(2), 1]}, "step": 3}
    assert checkpoint._on_host(state) is state
    elsewhere = torch.ones(2, device="meta")
    monkeypatch.setattr(torch.Tensor, "cpu", lambda self: torch.zeros(self.shape))
    model = torch.nn.Linear(2, 2, device="meta").state_dict()
    moved = checkpoint._on_host({"model": model, "extra": [elsewhere]})
    assert [one.device.type for one in (*moved["model"].values(), *moved["extra"])] == ["cpu"] * 3
    assert moved["model"]._metadata == model._metadata
    assert model["weight"].device.type == "meta", "the training's own tensors stay where they are"
