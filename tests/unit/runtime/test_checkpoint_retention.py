"""Only the last checkpoints stay; the manifest tells the others, whenever the program is killed."""

import json

import pytest

from reprokit import checkpoints
from reprokit.errors import CheckpointError

torch = pytest.importorskip("torch")
checkpoint = pytest.importorskip("reprokit.runtime.checkpoint")


def saved(store, steps):
    model = torch.nn.Linear(2, 1)
    for step in steps:
        store.save(checkpoint.training_state(step=step, model=model))
    return model


def manifest(store):
    return json.loads((store.folder / "MANIFEST.json").read_text())


def test_the_last_ones_stay_and_the_others_leave_their_digests(tmp_path):
    store = checkpoint.CheckpointStore(tmp_path / "checkpoints", keep=2)
    whole = checkpoint.CheckpointStore(tmp_path / "all")
    saved(whole, (10, 20, 30))
    saved(store, (10, 20))
    digests = {name: entry["sha256"] for name, entry in manifest(store)["files"].items()}
    assert "removed" not in manifest(store)
    model = saved(store, (30, 40))
    store.save_final(model)
    assert sorted(path.name for path in store.folder.glob("*.pt")) == [
        "checkpoint_30.pt",
        "checkpoint_40.pt",
        "final_model.pt",
    ]
    assert {name: entry["sha256"] for name, entry in manifest(store)["removed"].items()} == digests
    assert {name: one.sha256 for name, one in checkpoints.removed(store.folder).items()} == digests
    assert [one.step for one in checkpoints.removed(store.folder).values()] == [10, 20]
    assert [one.problem for one in checkpoints.listed(store.folder)] == ["", "", ""]
    assert len(list(whole.folder.glob("*.pt"))) == 3


def test_one_that_a_kill_left_behind_is_no_checkpoint_any_more(tmp_path, monkeypatch):
    store = checkpoint.CheckpointStore(tmp_path / "checkpoints", keep=1)
    saved(store, (10,))
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint.Path, "unlink", lambda *_a, **_k: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            saved(store, (20,))
    assert (store.folder / "checkpoint_10.pt").is_file()
    assert [one.step for one in checkpoints.listed(store.folder)] == [20]
    assert checkpoints.last_whole(store.folder).step == 20


@pytest.mark.parametrize("removed", [[], "x", {"../a.pt": {}}, 5])
def test_a_forged_list_of_removed_ones_is_refused(tmp_path, removed):
    store = checkpoint.CheckpointStore(tmp_path / "checkpoints", keep=1)
    saved(store, (10,))
    (store.folder / "MANIFEST.json").write_text(json.dumps({**manifest(store), "removed": removed}))
    with pytest.raises(CheckpointError):
        checkpoints.listed(store.folder)
