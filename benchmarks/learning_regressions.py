"""Planted learning regressions: changes to a trainer or a setting that ought to make it learn worse.

Each changes the text of the trainer or of a part, or a setting; ``gate_data.py`` measures how often the gate
finds it. A text that is replaced must stand exactly once in its file, so that no plant is silently lost.

    python benchmarks/learning_regressions.py NAME TREE    # change the file in a copy of the repository
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

PPO = "recipes/trainers/ppo.py"
PLAYING, WEIGHTS = "recipes/parts/playing.py", "recipes/parts/initial_weights.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plant:
    """One change.

    Attributes:
        name: Also the label of its runs.
        what: In words.
        recipe: Whose runs it changes.
        file: Whose text it changes: the trainer, or one of its parts.
        texts: Text of the file and what stands there instead.
        settings: As for ``reprokit run --set``.
    """

    name: str
    what: str
    recipe: str = "cartpole_baseline"
    file: str = PPO
    texts: tuple[tuple[str, str], ...] = ()
    settings: tuple[str, ...] = ()


EVALUATE_ON_PLAYERS = """def evaluate_on(
    players: Players, actor: Callable[[np.ndarray], np.ndarray], *, num_episodes: int
) -> np.ndarray:
    returns = np.zeros(num_episodes)
    for number in range(num_episodes):
        env, over = players.envs[number % len(players.envs)], False
        observation, _ = env.reset()
        while not over:
            action = int(actor(observation[None].astype(np.float32)).argmax())
            observation, reward, terminated, truncated, _ = env.step(action)
            returns[number] += float(reward)
            over = terminated or truncated
    return returns


class Batch(NamedTuple):"""

PLAY = """    while step < settings.total_timesteps:
        rollout = players.play(model.actor(), settings.rollout_steps)
"""
PLAY_STALE = """    import copy

    stale = copy.deepcopy(model)
    while step < settings.total_timesteps:
        rollout = players.play(stale.actor(), settings.rollout_steps)
        stale = copy.deepcopy(model)
"""

PLANTS = (
    Plant(
        name="no_bootstrap_at_truncation",
        what="an episode that is cut off counts as lost",
        texts=(
            (
                "    next_values[tuple(rollout.cut_at.T)] = estimates[",
                "    _unused = estimates[",
            ),
        ),
    ),
    Plant(
        name="bootstrap_at_terminal",
        what="a lost episode is worth what the next one begins with",
        texts=(("    next_values[rollout.done] = 0.0", "    next_values[rollout.done] += 0.0"),),
    ),
    Plant(
        name="advantages_across_episodes",
        what="advantages run from one episode into the one before",
        texts=(
            (
                "np.where(rollout.done, 0.0, settings.gamma * settings.gae_lambda)",
                "np.full(rollout.done.shape, settings.gamma * settings.gae_lambda)",
            ),
        ),
    ),
    Plant(
        name="values_off_by_one",
        what="the value of a state stands for that of the next",
        texts=(("estimates[num_envs : num_played + num_envs].reshape", "estimates[:num_played].reshape"),),
    ),
    Plant(
        name="gae_lambda_zero",
        what="GAE lambda 0 instead of 0.95",
        settings=("training.gae_lambda=0.0",),
    ),
    Plant(
        name="advantages_not_normalised",
        what="advantages as they are, not standardised",
        texts=(("    advantages = (advantages - mean) / (std + 1e-8)\n", ""),),
    ),
    Plant(
        name="learning_rate_x3",
        what="learning rate 9e-4 instead of 3e-4",
        settings=("training.learning_rate=9e-4",),
    ),
    Plant(name="one_epoch", what="1 pass over a rollout instead of 10", settings=("training.n_epochs=1",)),
    Plant(
        name="first_minibatch_only",
        what="a pass over a rollout ends after the first of 16 minibatches",
        texts=(
            (
                "for part in minibatches(batch, settings):",
                "for part in list(minibatches(batch, settings))[:1]:",
            ),
        ),
    ),
    Plant(
        name="not_shuffled",
        what="minibatches in the order of time, not shuffled",
        texts=(("torch.randperm(len(batch.actions)).view", "torch.arange(len(batch.actions)).view"),),
    ),
    Plant(
        name="no_clipping",
        what="probability ratios not clipped",
        settings=("training.clip_range=1000.0",),
    ),
    Plant(
        name="ratio_of_one",
        what="old log-probabilities computed again in every minibatch",
        texts=(("(log_probs - part.log_probs).exp()", "(log_probs - log_probs.detach()).exp()"),),
    ),
    Plant(
        name="stale_actor",
        what="a rollout is played by the actor from before the last update",
        texts=(
            (
                PLAY,
                PLAY_STALE,
            ),
        ),
    ),
    Plant(
        name="normal_init",
        what="weights drawn from a normal distribution, not orthogonal",
        file=WEIGHTS,
        texts=(("nn.init.orthogonal_(weight, gain)", "nn.init.normal_(weight, std=gain)"),),
    ),
    Plant(
        name="entropy_bonus",
        what="entropy coefficient 0.1 instead of 0",
        settings=("training.ent_coef=0.1",),
    ),
    Plant(
        name="gradients_clipped_tight",
        what="gradients scaled down to norm 0.005 instead of 0.5",
        settings=("training.max_grad_norm=0.005",),
    ),
    Plant(
        name="observation_noise",
        what="noise of standard deviation 0.1 on every observation in training",
        file=PLAYING,
        texts=(
            (
                "row[:] = observation\n",
                "row[:] = observation + 0.1 * torch.randn(len(observation)).numpy()\n",
            ),
        ),
    ),
    Plant(
        name="evaluation_on_training_environments",
        what="evaluations play on the environments of the training",
        texts=(
            ("class Batch(NamedTuple):", EVALUATE_ON_PLAYERS),
            (
                "returns = evaluate(spec, model.actor(), num_episodes=logging.eval_episodes, seed=seed)",
                "returns = evaluate_on(players, model.actor(), num_episodes=logging.eval_episodes)",
            ),
        ),
    ),
    Plant(
        name="stale_target_network",
        what="target network copied every 5,000 updates instead of 100",
        recipe="cartpole_dqn",
        settings=("training.target_update=5000",),
    ),
)


def planted(plant: Plant, source: str) -> str:
    """The file's source with the change.

    Raises:
        ValueError: A text that is replaced stands there not once.
    """
    for before, after in plant.texts:
        if source.count(before) != 1:
            raise ValueError(f"{plant.name}: stands {source.count(before)} times in {plant.file}: {before!r}")
        source = source.replace(before, after)
    return source


def plant_in(tree: Path, plant: Plant) -> None:
    """Change the file in a copy of the repository."""
    if plant.texts:
        file = tree / plant.file
        file.write_text(planted(plant, file.read_text(encoding="utf-8")), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=[plant.name for plant in PLANTS])
    parser.add_argument("tree", type=Path)
    options = parser.parse_args()
    plant_in(options.tree, next(plant for plant in PLANTS if plant.name == options.name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
