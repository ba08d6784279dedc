"""The questions about a training on labelled data, from the loss before it to the result, one function each.

They rest on the metrics of the supervised trainers: ``initial/loss``, ``initial/chance_loss`` (the natural
logarithm of the number of classes), ``loss/train``, ``eval/…`` on what is held out, ``final/…``. The
thresholds are explained in docs/how-to/see-whether-it-learns.md.
"""

from __future__ import annotations

import math
from functools import partial
from statistics import fmean

from reprokit.learning.answers import Answer, Curve, Health, LearningFacts

_PROBE = "`reprokit runs learning RUN --probe` trains on one batch inside the environment"
_SURE = 0.9  # of what is held out must be right before doubted labels say something
_HELD_OUT = ("eval/accuracy", "eval/loss")


def is_supervised(seen: LearningFacts) -> bool:
    """Whether something is held out and judged, and nothing is played."""
    returns = any("return" in name or "ep_rew" in name for name in seen.curves)
    return not returns and any(name in seen.curves for name in _HELD_OUT)


def initial_loss(seen: LearningFacts) -> Answer:
    """Whether the loss begins where a network begins that knows nothing."""
    answer = partial(_answer, "initial_loss", "Does the loss begin where guessing is?")
    loss, chance = _last(seen, "initial/loss"), _last(seen, "initial/chance_loss")
    if loss is None or not chance:
        return answer(Health.UNKNOWN, "no loss before the first update was logged", "log initial/loss")
    guessing = f"guessing among {math.exp(chance):.0f} classes is {chance:.4g}"
    told = f"{loss:.4g} before the first update; {guessing}"
    apart = abs(loss - chance) / chance
    if apart <= 0.1:
        return answer(Health.FINE, told)
    remedy = "begin with a last layer of 0, scale the inputs, count the classes, check what the loss averages"
    return answer(Health.WRONG if apart > 0.5 else Health.LOOK, f"{told}: {apart:.0%} away", remedy)


def overfits(seen: LearningFacts) -> Answer:
    """Whether the trainer can memorise one batch."""
    answer = partial(_answer, "overfits", "Can it memorise one batch?")
    tried = (seen.probe or {}).get("overfitted")
    if not tried:
        return answer(Health.UNKNOWN, "not checked", _PROBE)
    if tried["loss"] is None:
        return answer(Health.UNKNOWN, f"not tried: {tried['why']}")
    right = "" if tried["accuracy"] is None else f", {tried['accuracy']:.0%} right"
    told = f"after {tried['updates']:,} updates on one batch its loss is {tried['loss']:.3g}{right}"
    chance = _last(seen, "initial/chance_loss") or 1.0
    if tried["loss"] < 0.1 * chance and (tried["accuracy"] is None or tried["accuracy"] > 0.99):
        return answer(Health.FINE, told)
    remedy = "the learner is at fault, not the data: check loss, labels' order, learning rate and optimizer"
    return answer(Health.WRONG, told, remedy)


def gap(seen: LearningFacts) -> Answer:
    """How much better it does on what it was trained on than on what is held out."""
    answer = partial(_answer, "gap", "Does it do as well on what is held out?")
    trained_on, held_out = seen.curves.get("loss/train"), seen.curves.get("eval/loss")
    if trained_on is None or held_out is None or not trained_on.finite or not held_out.finite:
        return answer(Health.UNKNOWN, "no loss of both parts was logged", "log loss/train and eval/loss")
    last, best = held_out.finite[-1], min(held_out.finite)
    told = f"loss {_trained(seen, trained_on):.3g} on what it was trained on, {last:.3g} on what is held out"
    right, of_held_out = _last(seen, "final/train_accuracy"), _last(seen, "final/accuracy")
    if right is not None and of_held_out is not None:
        told += f"; {right:.1%} and {of_held_out:.1%} right"
    if last > 1.2 * best:
        at = held_out.steps[held_out.values.index(best)]
        remedy = "it learns its samples by heart: stop there, use a smaller network, augment, get more data"
        return answer(Health.LOOK, f"{told}; the best was {best:.3g} at step {at:.0f}", remedy)
    if right is not None and of_held_out is not None and abs(right - of_held_out) > 0.1:
        better = "a smaller network, augmentation, more data" if right > of_held_out else "look for a leak"
        return answer(Health.LOOK, told, better)
    return answer(Health.FINE, told)


def labels(seen: LearningFacts) -> Answer | None:
    """Whether labels belong to their samples; None where no accuracy is logged."""
    accuracy, trained_on = seen.curves.get("eval/accuracy"), seen.curves.get("loss/train")
    chance = _last(seen, "initial/chance_loss")
    if accuracy is None or not accuracy.finite or not chance:
        return None
    answer, guessing = partial(_answer, "labels", "Do the labels belong to the samples?"), math.exp(-chance)
    best = max(accuracy.finite)
    told = f"at most {best:.1%} of what is held out is right, where guessing gets {guessing:.1%}"
    learns = trained_on is not None and _trained(seen, trained_on) < 0.95 * chance
    if best < 1.5 * guessing and learns:
        remedy = "it learns its samples and nothing else: shuffled labels, or a held-out part of another kind"
        return answer(Health.WRONG, told, remedy)
    if best < 1.5 * guessing:
        return answer(Health.UNKNOWN, f"{told}: where nothing is learned, labels cannot be judged")
    doubted = _last(seen, "final/doubted_labels") or 0.0
    told += f"; in {doubted:.1%} it takes another class to be ten times as likely as the label"
    if doubted > 0.05:
        remedy = "look at these samples: the labels may be wrong, or the network too sure of itself"
        return answer(Health.LOOK, told, remedy)
    if best < _SURE:
        return answer(Health.UNKNOWN, f"{told}: wrong labels are only seen by a network that is mostly right")
    return answer(Health.FINE, told)


def result(seen: LearningFacts) -> Answer:
    """Whether it gets better on what is held out."""
    answer = partial(_answer, "result", "Does it learn?")
    name = next((one for one in _HELD_OUT if one in seen.curves and seen.curves[one].finite), "")
    chance = _last(seen, "initial/chance_loss")
    if not name or (chance is None and len(seen.curves[name].finite) < 3):
        return answer(Health.UNKNOWN, "too few evaluations to say")
    curve, sign = seen.curves[name], 1 if name == "eval/accuracy" else -1
    first, last = curve.finite[0], fmean(curve.part(-0.1))
    best = max(curve.finite) if sign > 0 else min(curve.finite)
    told = f"{name} {first:.4g} → {last:.4g}, best {best:.4g}"
    floor = first if chance is None else math.exp(-chance) * 1.5 if sign > 0 else chance
    if sign * last <= sign * floor:
        remedy = "no better than guessing: go through the questions above from the top"
        return answer(Health.LOOK, told, remedy)
    return answer(Health.FINE, told)


def _trained(seen: LearningFacts, curve: Curve) -> float:
    """The loss on what it was trained on: measured at the end, or the mean of the last updates."""
    found = _last(seen, "final/train_loss")
    return fmean(curve.part(-0.1)) if found is None else found


def _last(seen: LearningFacts, name: str) -> float | None:
    curve = seen.curves.get(name)
    return curve.finite[-1] if curve is not None and curve.finite else None


def _answer(name: str, question: str, health: Health, told: str, remedy: str = "") -> Answer:
    return Answer(id=name, question=question, health=health, told=told, remedy=remedy)
