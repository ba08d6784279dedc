"""A training starts from a model that was trained before, or says why it cannot."""

import pytest

from reprokit.errors import CannotRunError

torch = pytest.importorskip("torch")

from recipes.parts.pretrained import start_from  # noqa: E402
from reprokit.runtime import checkpoint  # noqa: E402


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
