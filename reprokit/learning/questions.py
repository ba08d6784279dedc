"""The questions about a run's learning, from the reward to the result, one function each.

The thresholds and their limits are explained in docs/how-to/see-whether-it-learns.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from statistics import fmean, median
from typing import Any

from reprokit.learning import supervised
from reprokit.learning.answers import Answer, Curve, Health, LearningFacts

_RETURNS = ("train/episodic_return", "rollout/ep_rew_mean", "charts/episodic_return")
_EVALUATIONS = ("eval/return_mean", "eval/mean_reward")
_PROBE = "`reprokit runs learning RUN --probe` checks it inside the environment"
_FIND_OPERATION = "`reprokit runs learning RUN --probe` finds the operation that made it"

_ALL, _MOST = 0.99, 0.5  # shares of what is clipped at which one should look


def _answer(name: str, question: str, health: Health, told: str, remedy: str = "") -> Answer:
    return Answer(id=name, question=question, health=health, told=told, remedy=remedy)


def crash(seen: LearningFacts) -> Answer | None:
    """Whether the watched updates finished; None where they did."""
    ended = seen.observed.get("ended")
    if not ended:
        return None
    told = f"its first updates ended with {ended}"
    remedy = "fix this first: stderr.log of the probe says where"
    return _answer("crash", "Does the training run?", Health.WRONG, told, remedy)


def reward(seen: LearningFacts) -> Answer:
    """Whether there is a reward, and what it looks like."""
    curve = seen.first_of(_RETURNS)
    told, health, remedy = _of_returns(curve)
    for one in seen.observed.get("environments") or ():
        rewards = one["rewards"]
        told += f"; {one['id']} pays {_values(rewards)} in {one['steps']:,} watched steps"
        at_end = rewards.get("mean_at_termination")
        told += "" if at_end is None else f", {at_end:.4g} on average where an episode ends"
        if rewards["min"] == rewards["max"] == 0 and health is not Health.WRONG:
            paid = curve is not None and any(curve.finite)
            health = Health.LOOK if paid else Health.WRONG
            remedy = "the reward is sparse, or missing: print single rewards, and the last one of an episode"
    return _answer("reward", "Is there a reward to learn from?", health, told, remedy)


def _of_returns(curve: Curve | None) -> tuple[str, Health, str]:
    if curve is None or not curve.finite:
        return "no return was logged", Health.UNKNOWN, f"log {_RETURNS[0]}"
    values = curve.finite
    ends = f"mean return {values[0]:.4g} at first, {values[-1]:.4g} at the end"
    told = f"{ends}, between {min(values):.4g} and {max(values):.4g}"
    if len(values) > 2 and min(values) == max(values):
        return told, Health.WRONG, "every episode returns the same: print single rewards and check them"
    return told, Health.FINE, ""


def _values(rewards: Mapping[str, Any]) -> str:
    if rewards["num_distinct"] <= 3:
        return " or ".join(f"{one:g}" for one in rewards["distinct"])
    zero = f", 0 in {rewards['share_zero']:.0%}" if rewards["share_zero"] else ""
    return f"{rewards['min']:.4g} to {rewards['max']:.4g}{zero}"


def environment(seen: LearningFacts) -> Answer:
    """Whether Gymnasium's checker accepts the environments."""
    answer = partial(_answer, "environment", "Is the environment sound?")
    checked = (seen.probe or {}).get("environments")
    if not checked:
        return answer(Health.UNKNOWN, "not checked", _PROBE)
    broken = [one for one in checked if one["problem"]]
    spoilt = [one for one in seen.observed.get("environments") or () if one["places"]["not_finite"]]
    if broken or spoilt:
        told = [f"{one['id']}: {one['problem']}" for one in broken]
        told += [f"{one['id']} returned observations that are not finite" for one in spoilt]
        return answer(Health.WRONG, "; ".join(told), "fix the environment before anything else")
    warned = [f"{one['id']}: {text}" for one in checked for text in one["warnings"]]
    accepted = f"Gymnasium's checker accepts {', '.join(str(one['id']) for one in checked)}"
    return answer(Health.FINE, accepted + (f" and warns: {'; '.join(warned)}" if warned else ""))


def numbers(seen: LearningFacts) -> Answer:
    """Whether every number is finite; else the operation that made the first NaN."""
    answer = partial(_answer, "numbers", "Are all metrics finite?")
    found, watched = list(_not_numbers(seen.curves)), seen.observed.get("nan")
    what = f"; {_operation(watched)}" if watched else f"; {seen.anomaly}" if seen.anomaly else ""
    if not found and not what and not seen.observed.get("spoilt"):
        return answer(Health.FINE, f"no NaN and no infinity in {len(seen.curves)} metrics")
    told = "; ".join(found[:3]) or "no metric shows it"
    remedy = "lower training.learning_rate, or check that line" if what else _FIND_OPERATION
    return answer(Health.WRONG, told + what, remedy)


def _not_numbers(curves: Mapping[str, Curve]) -> Iterator[str]:
    """What is not finite, earliest first; returns are NaN until the first episode ends."""
    first = []
    for name, curve in curves.items():
        begun = name not in _RETURNS and "episodic" not in name
        for step, value in zip(curve.steps, curve.values, strict=True):
            if not math.isfinite(value) and begun:
                first.append((step, name, value))
                break
            begun = begun or math.isfinite(value)
    for step, name, value in sorted(first, key=lambda one: one[0]):
        yield f"{name} is {value} at step {step:.0f}"


def _operation(watched: Mapping[str, Any]) -> str:
    where = f" at {watched['file']}:{watched['line']} in {watched['function']}" if watched["file"] else ""
    of = f", the gradient of {watched['backward']}," if watched.get("backward") else ""
    return f"the first NaN comes out of {watched['operation']}{of}{where}"


def memorise(seen: LearningFacts) -> Answer:
    """Whether the trainer can memorise one transition."""
    answer = partial(_answer, "memorise", "Can it memorise one transition?")
    tried = (seen.probe or {}).get("memorised")
    if not tried:
        return answer(Health.UNKNOWN, "not checked", _PROBE)
    unknown = [one for one in tried if one["return"] is None]
    if unknown:
        return answer(Health.UNKNOWN, f"not tried: {unknown[0]['why']}")
    got = ", ".join(f"{one['return']:.3g} of 1 where the {one['action']} action pays" for one in tried)
    told = f"after {tried[0]['steps']:,} steps the greedy policy gets {got}"
    if min(one["return"] for one in tried) > 0.99:
        return answer(Health.FINE, told)
    remedy = "the learner is at fault, not the task: check loss, targets, learning rate and optimizer"
    return answer(Health.WRONG, told, remedy)


def gradients(seen: LearningFacts) -> Answer:
    """Whether gradients reach every parameter, and how long they are."""
    answer = partial(_answer, "gradients", "Do gradients flow?")
    curve, norms = seen.curves.get("optim/grad_norm"), seen.observed.get("gradients") or {}
    dead = sorted(name for name, one in norms.items() if one and not any(one))
    if curve is None or not curve.finite:
        return answer(Health.UNKNOWN, "no gradient norm was logged", "log optim/grad_norm")
    usual, last = median(curve.finite), fmean(curve.part(-0.1))
    told = f"median norm {usual:.3g}, {max(curve.finite):.3g} at most, {last:.3g} at the end"
    bound, clipped = seen.training.get("max_grad_norm"), 0.0
    if isinstance(bound, int | float):
        clipped = _share(curve.finite, bound)
        told += f"; above max_grad_norm {bound:g} in {clipped:.0%} of the records"
    if max(curve.finite) == 0 or (dead and len(dead) == len(norms)):
        remedy = "nothing is learned: does the loss depend on the parameters?"
        return answer(Health.WRONG, told, remedy)
    if dead:
        told += f"; none ever reaches {', '.join(dead)}"
        return answer(Health.LOOK, told, "a dead layer, or a parameter that nothing uses")
    if last > 10 * usual > 0:
        return answer(Health.LOOK, told, "lower training.learning_rate, or training.max_grad_norm")
    if clipped >= _ALL:
        remedy = "every gradient is scaled to one length: raise training.max_grad_norm, or scale the losses"
        return answer(Health.LOOK, told, remedy)
    return answer(Health.FINE, told)


def _share(values: Sequence[float], bound: float) -> float:
    return sum(value > bound for value in values) / len(values)


def losses(seen: LearningFacts) -> Answer | None:
    """Whether the losses stay where they were."""
    losses = {name: one for name, one in seen.curves.items() if name.startswith("loss/") and one.finite}
    if not losses:
        return None
    answer = partial(_answer, "losses", "Do the losses behave?")
    told, grown = [], []
    for name, curve in losses.items():
        early, last = max(map(abs, curve.part(0.5))), fmean(map(abs, curve.part(-0.1)))
        told.append(f"{name} {curve.finite[0]:.3g} → {curve.finite[-1]:.3g}")
        grown += [name] if last > 10 * early > 0 else []
    text = ", ".join(told)
    if grown:
        text += f"; {', '.join(grown)} ends more than 10 times above its first half: it diverges"
        remedy = "lower training.learning_rate; add lr_warmup_steps; check the scale of the reward"
        return answer(Health.WRONG, text, remedy)
    return answer(Health.FINE, text)


def exploration(seen: LearningFacts) -> Answer | None:
    """How many places and actions are tried."""
    answer = partial(_answer, "exploration", "Does it explore?")
    told, health, remedy = [], Health.FINE, ""
    if (epsilon := seen.curves.get("exploration/epsilon")) and epsilon.finite:
        told.append(f"epsilon {epsilon.finite[0]:.3g} → {epsilon.finite[-1]:.3g}")
    if (entropy := seen.curves.get("policy/entropy")) and entropy.finite:
        told.append(f"entropy of the policy {entropy.finite[0]:.3g} → {entropy.finite[-1]:.3g} nats")
        early = entropy.part(0.1)[-1]
        if early < 0.05 * max(entropy.finite[0], 1e-9):
            health = Health.LOOK
            remedy = "the policy is almost deterministic early on: raise training.ent_coef"
    for one in seen.observed.get("environments") or ():
        cells, most = one["places"]["cells"], one["places"]["share_of_most_visited"]
        told.append(f"{one['id']}: {cells:,} cells visited in {one['steps']:,} steps, the busiest {most:.0%}")
        told.append(f"actions {', '.join(f'{name} {share:.0%}' for name, share in one['actions'].items())}")
        stuck = most > 0.9 or max(one["actions"].values(), default=0.0) > 0.98
        if stuck:
            health, remedy = Health.LOOK, "it stays in one place, or does one thing: explore more"
    if not told:
        return answer(Health.UNKNOWN, "not recorded", _PROBE)
    return answer(health, "; ".join(told), remedy)


def values_bounded(seen: LearningFacts) -> Answer | None:
    """Q-values against the most that returns can be: the sum of discounted rewards."""
    size, bound = seen.curves.get("q/magnitude"), seen.curves.get("q/bound")
    if size is None or bound is None or not size.finite or not bound.finite:
        return None
    answer, most = partial(_answer, "q_values", "Are the Q-values possible?"), max(size.finite)
    told = f"at most {most:.4g}, {size.finite[-1]:.4g} at the end; no return can pass {max(bound.finite):.4g}"
    if most <= max(bound.finite):
        return answer(Health.FINE, told)
    remedy = "overestimation: lower the learning rate, update the target network less often"
    return answer(Health.WRONG, told, remedy)


def updates(seen: LearningFacts) -> Answer | None:
    """How far an update moves a PPO policy, and what its critic explains."""
    told, health, remedy = [], Health.FINE, ""
    if (kl := seen.curves.get("policy/approx_kl")) and kl.finite:
        told.append(f"approximate KL {median(kl.finite):.2g}, {max(kl.finite):.2g} at most")
        if max(kl.finite) > 0.1:
            health, remedy = Health.LOOK, "updates are large: lower learning_rate or n_epochs, set target_kl"
    if (clipped := seen.curves.get("policy/clip_fraction")) and clipped.finite:
        told.append(f"{fmean(clipped.finite):.0%} of ratios clipped")
        if fmean(clipped.finite) >= _MOST:
            health, remedy = Health.LOOK, "most updates end at the clip: lower learning_rate or n_epochs"
    if (explained := seen.curves.get("value/explained_variance")) and explained.finite:
        told.append(f"the critic explains {fmean(explained.part(-0.1)):.2f} of the variance at the end")
    if not told:
        return None
    return _answer("updates", "Are the updates of a reasonable size?", health, ", ".join(told), remedy)


def result(seen: LearningFacts) -> Answer:
    """Whether returns rise."""
    answer = partial(_answer, "result", "Does it learn?")
    curve = seen.first_of(_EVALUATIONS) or seen.first_of(_RETURNS)
    if curve is None or len(curve.finite) < 3:
        return answer(Health.UNKNOWN, "too few returns to say")
    first, last, best = fmean(curve.part(0.1)), fmean(curve.part(-0.1)), max(curve.finite)
    kind = "greedy return" if seen.first_of(_EVALUATIONS) else "return in training"
    told = f"{kind} {first:.4g} → {last:.4g}, best {best:.4g}{_converged(curve)}"
    if best - last > 0.5 * (best - min(curve.finite)) and best > first:
        remedy = "it forgot: lower learning_rate, keep the best checkpoint, try more seeds"
        return answer(Health.LOOK, told, remedy)
    if last <= first and best - min(curve.finite) > 0:
        remedy = "no better than at its start: go through the questions above from the top"
        return answer(Health.LOOK, told, remedy)
    return answer(Health.FINE, told)


def _converged(curve: Curve) -> str:
    """From which step on it stays within a twentieth of the way up of its best; "" where it does not."""
    best, worst = max(curve.finite), min(curve.finite)
    near = [value >= best - 0.05 * (best - worst) for value in curve.values]
    if not near[-1] or best == worst:
        return ""
    begun = len(near) - next((index for index, one in enumerate(reversed(near)) if not one), len(near))
    return f"; it stays near it from step {curve.steps[begun]:.0f} on"


#: In the order in which one looks for what is wrong; of a training on labelled data: ``SUPERVISED``.
QUESTIONS: tuple[Callable[[LearningFacts], Answer | None], ...] = (
    crash,
    reward,
    environment,
    numbers,
    losses,
    gradients,
    memorise,
    exploration,
    values_bounded,
    updates,
    result,
)
SUPERVISED: tuple[Callable[[LearningFacts], Answer | None], ...] = (
    crash,
    supervised.initial_loss,
    numbers,
    losses,
    gradients,
    supervised.overfits,
    supervised.labels,
    supervised.gap,
    supervised.result,
)
