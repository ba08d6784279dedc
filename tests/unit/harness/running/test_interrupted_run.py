"""Where a training is killed: after its first checkpoint, at the same place for the same seed."""

import json

import pytest

from reprokit.errors import UsageError
from reprokit.harness.running.resuming.interrupted_run import place_of


@pytest.fixture
def run_with(tmp_path):
    def make(*steps):
        folder = tmp_path / "checkpoints"
        folder.mkdir()
        files = {f"checkpoint_{step}.pt": {"step": step} for step in steps}
        for name in files:
            (folder / name).write_bytes(b"")
        (folder / "MANIFEST.json").write_text(
            json.dumps({"files": {**files, "final_model.pt": {"step": None}}})
        )
        return tmp_path

    return make


def test_a_drawn_place_lies_after_the_first_checkpoint_and_up_to_the_last(run_with):
    run = run_with(10, 20, 30)
    places = {place_of(run, drawn_from=str(number)) for number in range(300)}
    assert places == set(range(11, 31))


def test_one_seed_gives_one_place(run_with):
    run = run_with(1000, 2_000_000)
    assert place_of(run, drawn_from="a") == place_of(run, drawn_from="a")
    assert place_of(run, drawn_from="a") != place_of(run, drawn_from="b")


@pytest.mark.parametrize(
    ("steps", "told"), [((), "no checkpoint"), ((30,), "its only checkpoint at step 30")]
)
def test_a_recipe_without_two_checkpoints_cannot_be_resumed(run_with, steps, told):
    with pytest.raises(UsageError, match=told):
        place_of(run_with(*steps), drawn_from="a")


def test_checkpoints_that_were_not_kept_were_written_all_the_same(run_with):
    run = run_with(30)
    path = run / "checkpoints" / "MANIFEST.json"
    removed = {"checkpoint_10.pt": {"step": 10}, "checkpoint_20.pt": {"step": 20}}
    path.write_text(json.dumps({**json.loads(path.read_text()), "removed": removed}))
    assert 11 <= place_of(run, drawn_from="a") <= 30
