"""A training continues from its saved state as if it had never stopped, and what is saved is also traced."""

import itertools
import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from recipes.parts.discounted_returns import DiscountedReturns  # noqa: E402
from recipes.parts.flat_adam import FlatAdam  # noqa: E402
from recipes.parts.training_state import TrainingState  # noqa: E402
from reprokit.errors import CannotRunError  # noqa: E402
from reprokit.runtime.run import Run  # noqa: E402


@pytest.fixture
def started(tmp_path):
    """Starts a tiny training in a folder of its own; yields its run, parts and state."""
    runs = []

    def start(name, *, resume_from=None, seed=0, others=("returns",)):
        folder = tmp_path / name
        folder.mkdir()
        clock = itertools.count().__next__
        run = Run.open(folder, seed=1, device="cpu", clock=clock, resume_from=resume_from)
        runs.append(run)
        torch.manual_seed(seed)
        model = torch.nn.Linear(3, 2)
        adam, generator = FlatAdam(model, epsilon=1e-8), np.random.default_rng(seed)
        parts = {name: DiscountedReturns(2) for name in others}
        state = TrainingState(run, model=model, optimizer=adam, generators={"play": generator}, others=parts)
        return run, model, adam, generator, parts, state

    yield start
    for run in runs:
        run.__exit__(None, None, None)


def one_update(model, adam, generator, parts):
    adam.gradients.copy_(torch.from_numpy(generator.normal(size=len(adam.gradients)).astype(np.float32)))
    adam.step(learning_rate=0.1, max_norm=1.0)
    parts["returns"].follow(np.ones((3, 2), np.float32), np.zeros((3, 2), bool), gamma=0.9)


def test_a_resumed_training_is_where_the_saved_one_was(started):
    run, *whole, state = started("whole")
    assert state.resume() == 0
    one_update(*whole)
    state.trace(100)
    state.save(100)
    resumed, *others, second = started(
        "resumed", resume_from=run.dir / "checkpoints/checkpoint_100.pt", seed=5
    )
    assert second.resume() == 100
    assert resumed.trace.updates == 1
    for parts, one, into in ((whole, state, run), (others, second, resumed)):
        one_update(*parts)
        one.trace(200)
        into.trace.close()
    lines = [(one.dir / "trace.jsonl").read_text().splitlines()[-1] for one in (run, resumed)]
    assert lines[0] == lines[1]
    assert whole[3]["returns"].now.tolist() == others[3]["returns"].now.tolist()


def test_everything_that_is_named_is_traced(started):
    run, *_, state = started("run")
    state.trace(1, beside={"target.weight": torch.ones(2)})
    run.trace.close()
    [line] = (run.dir / "trace.jsonl").read_text().splitlines()
    record = json.loads(line)
    assert list(record["parameters"]) == ["weight", "bias", "target.weight"]
    assert list(record["gradients"]) == ["weight", "bias"]
    assert list(record["optimizer"]) == ["steps", "mean", "mean_square"]
    assert "play" in json.dumps(record["random"])


def test_a_checkpoint_of_another_training_is_refused(started):
    run, *_, state = started("run", others=())
    state.save(1)
    *_, other = started("other", resume_from=run.dir / "checkpoints/checkpoint_1.pt")
    with pytest.raises(CannotRunError, match="no returns"):
        other.resume()


def test_a_state_of_another_form_is_refused_by_its_name(started, tmp_path):
    run, *_, state = started("run")
    state.save(1)
    saved = torch.load(run.dir / "checkpoints/checkpoint_1.pt", weights_only=True)
    saved["extra"]["returns"] = {"before": [0.0, 0.0]}  # as another version had it
    torch.save(saved, tmp_path / "old.pt")
    *_, other = started("other", resume_from=tmp_path / "old.pt")
    with pytest.raises(CannotRunError, match="the checkpoint's returns does not fit this training: KeyError"):
        other.resume()
