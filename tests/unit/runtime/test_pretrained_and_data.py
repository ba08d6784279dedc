"""Data and pretrained models come from files whose digest was checked; anything else is refused."""

import hashlib

import pytest

from reprokit.errors import CannotRunError
from reprokit.runtime import data_files

torch = pytest.importorskip("torch")

from reprokit.runtime import checkpoint  # noqa: E402
from reprokit.runtime.pretrained import start_from  # noqa: E402


def digest_of(path):
    return "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_file_with_the_declared_digest_is_handed_over(tmp_path):
    path = tmp_path / "levels.json"
    path.write_text("[]")
    assert data_files.checked([("levels.json", digest_of(path), str(path))]) == {"levels.json": path}
    assert data_files.checked([]) == {}


def test_one_changed_byte_and_a_missing_file_are_refused_by_name(tmp_path):
    path = tmp_path / "levels.json"
    path.write_text("[]")
    declared = ("levels.json", digest_of(path), str(path))
    path.write_text("[ ]")
    with pytest.raises(CannotRunError, match=r"the data levels\.json is another file"):
        data_files.checked([declared])
    path.unlink()
    with pytest.raises(CannotRunError, match=r"the data levels\.json cannot be read: No such file"):
        data_files.checked([declared])


@pytest.mark.parametrize("kind", ["final", "checkpoint"])
def test_a_model_starts_from_a_final_model_and_from_a_checkpoint(tmp_path, kind):
    torch.manual_seed(0)
    trained, fresh = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    store = checkpoint.CheckpointStore(tmp_path / "checkpoints")
    if kind == "final":
        path = store.save_final(trained)
    else:
        path = store.save(checkpoint.training_state(step=1, model=trained))
    start_from(fresh, path)
    assert torch.equal(fresh.weight, trained.weight)
    assert torch.equal(fresh.bias, trained.bias)


def test_a_model_of_another_shape_and_a_file_that_runs_code_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = checkpoint.CheckpointStore(tmp_path / "checkpoints")
    path = store.save_final(torch.nn.Linear(3, 2))
    with pytest.raises(CannotRunError, match=r"the pretrained model does not fit: .*size mismatch"):
        start_from(torch.nn.Linear(4, 2), path)
    evil = tmp_path / "evil.pt"
    torch.save({"weight": Evil()}, evil)
    with pytest.raises(CannotRunError, match="without running code"):
        start_from(torch.nn.Linear(3, 2), evil)
    assert not (tmp_path / "ran").exists()


class Evil:
    def __reduce__(self):
        return open, ("ran", "w")
