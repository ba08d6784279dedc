"""Cross-validation of a perceptron on a table: one file, top to bottom.

The rows are dealt into folds by their own values; for each fold a network is trained on the rows of the
others, and judged on that fold alone (M. Stone, https://doi.org/10.1111/j.2517-6161.1974.tb00994.x). Before
anything is trained, the preparation is searched for leaks; one ends the run, and is named (decision 0061).

    $ python -m reprokit.runtime.launch --run-dir out --config config.yaml --seed 42 -- cross_validation.py
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from sys import intern
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from recipes.parts.flat_adam import FlatAdam
from recipes.parts.labelled_rows import Rows, read_rows, stratified_folds
from recipes.parts.leaks import leaks_of
from recipes.parts.schedules import is_due
from reprokit.errors import DataError
from reprokit.runtime import checkpoint
from reprokit.runtime.config import Ge, Gt, Le
from reprokit.runtime.run import Run

# --- Settings ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """What is learned: a table with the label in its last column.

    Attributes:
        file: A data set of the recipe.
        header_rows: Lines at its beginning that are no rows.
        columns: What the features are called, in order.
        num_classes: Labels count from 0 to below it.
        folds: How many.
        folds_by: ``row``: by each row's values, the same for every seed. ``seed``: the seed counts as well.
    """

    file: str
    header_rows: Annotated[int, Ge(0)] = 0
    columns: tuple[str, ...] = ()
    num_classes: Annotated[int, Ge(2)]
    folds: Annotated[int, Ge(2)] = 5
    folds_by: Literal["row", "seed"] = "row"


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Fully connected layers; a ReLU follows each but the last."""

    hidden_sizes: tuple[Annotated[int, Ge(1)], ...] = (32,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """How each network is learned.

    Attributes:
        total_timesteps: Training rows, all folds together, or a few more: each fold has its share.
        batch_size: Rows in an update; the last one of an epoch may have fewer.
        learning_rate: Constant.
        adam_epsilon: Added to the root in Adam's denominator.
        overfit_batch: Train on the first batch only, again and again: it must be memorised.
    """

    total_timesteps: Annotated[int, Gt(0)] = 20_000
    batch_size: Annotated[int, Ge(1)] = 16
    learning_rate: Annotated[float, Gt(0), Le(1)] = 1e-2
    adam_epsilon: Annotated[float, Gt(0)] = 1e-8
    overfit_batch: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Logging:
    """What is kept; metrics and trace have a record of every update. Steps are rows trained on, in all folds.

    Attributes:
        save_interval: Steps between checkpoints; 1 keeps one of every update.
        eval_interval: Steps between evaluations on the fold that is held out.
    """

    save_interval: Annotated[int, Ge(1)] = 5_000
    eval_interval: Annotated[int, Ge(1)] = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything that a recipe can set."""

    dataset: Dataset
    model: Model = Model()
    training: Training = Training()
    logging: Logging = Logging()


# --- Data ----------------------------------------------------------------------------------------


def prepare(rows: Rows, training: np.ndarray) -> np.ndarray:
    """Every column with mean 0 and deviation 1 over the training rows; nothing else is known of the others.

    Args:
        rows: The table.
        training: Which rows are trained on, bool [rows].

    Returns:
        float32 [rows, columns].
    """
    known = rows.features[training].astype(np.float64)
    mean, deviation = known.mean(axis=0), known.std(axis=0)
    prepared: np.ndarray = (rows.features - mean) / np.where(deviation > 0, deviation, 1.0)
    return prepared.astype(np.float32)


def refuse_leaks(rows: Rows, folds: np.ndarray, settings: Dataset) -> None:
    """End the run where something that is held out is known in training.

    Raises:
        DataError: It is; row, column and fold are named.
    """
    found = leaks_of(prepare, rows, folds, names=settings.columns)
    if found:
        more = f"; {len(found) - 3} more" if len(found) > 3 else ""
        told = "; ".join(one.told for one in found[:3]) + more
        fix = "fit the preparation on the training rows only, drop the column, or drop the repeated row"
        raise DataError(f"what is held out reaches the training: {told}", where=settings.file, fix=fix)


class Fold(NamedTuple):
    """One part of the table held out: features, labels, and the row numbers of both parts."""

    number: int
    features: np.ndarray
    labels: np.ndarray
    training: np.ndarray
    held_out: np.ndarray


def fold_of(rows: Rows, folds: np.ndarray, number: int, settings: Training, run: Run) -> Fold:
    """The table with one fold held out, prepared for it."""
    training = np.flatnonzero(folds != number)
    features = prepare(rows, folds != number)
    if settings.overfit_batch:
        training = rows_of_epoch(training, run, fold=number, epoch=0)[: settings.batch_size]
    return Fold(number, features, rows.labels, training, np.flatnonzero(folds == number))


def rows_of_epoch(rows: np.ndarray, run: Run, *, fold: int, epoch: int) -> np.ndarray:
    """The rows in the random order of one epoch of one fold: it follows from the seed and both numbers."""
    return np.random.default_rng(run.seeding.derive(f"order{fold}", epoch)).permutation(rows)


def batches(
    fold: Fold, settings: Training, run: Run, *, done: int, size: int
) -> Iterator[tuple[int, np.ndarray]]:
    """Batches of a fold after ``done`` of ``size`` rows: rows up to its end, row numbers, int64 [batch]."""
    count = len(fold.training)
    for epoch in itertools.count(done // count):
        order = rows_of_epoch(fold.training, run, fold=fold.number, epoch=epoch)
        for first in range(done % count, count, settings.batch_size):
            if done >= size:
                return
            samples = order[first : min(first + settings.batch_size, first + size - done)]
            done += len(samples)
            yield done, samples


# --- Model and learning --------------------------------------------------------------------------


def network(num_columns: int, num_classes: int, hidden_sizes: tuple[int, ...]) -> nn.Sequential:
    """From features, float32 [batch, num_columns], to logits, float32 [batch, num_classes]."""
    layers: list[nn.Module] = []
    for width in hidden_sizes:
        layers += [nn.Linear(num_columns, width), nn.ReLU()]
        num_columns = width
    last = nn.Linear(num_columns, num_classes)
    nn.init.zeros_(last.weight)  # so that at first every class has the same probability
    nn.init.zeros_(last.bias)
    return nn.Sequential(*layers, last)


def learn(
    model: nn.Module, adam: FlatAdam, features: np.ndarray, classes: np.ndarray, *, learning_rate: float
) -> dict[str, float]:
    """One update; returns what it was like, before the step."""
    device = adam.values.device
    labels = torch.from_numpy(classes).to(device)
    logits = model(torch.from_numpy(features).to(device))
    loss = functional.cross_entropy(logits, labels)
    adam.gradients.zero_()
    torch.autograd.backward(loss)
    norm = adam.step(learning_rate=learning_rate, max_norm=math.inf)
    accuracy = (logits.argmax(dim=1) == labels).float().mean().item()
    return {"loss/train": loss.item(), "train/accuracy": accuracy, "optim/grad_norm": norm.item()}


@torch.no_grad()
def evaluate(model: nn.Module, fold: Fold, rows: np.ndarray, run: Run) -> dict[str, float]:
    """``loss``, ``accuracy`` and ``doubted_labels`` on some rows.

    The last is the share of rows of which it holds another class for ten times as likely as the label.
    """
    logits = model(torch.from_numpy(fold.features[rows]).to(run.device))
    log_probs, labels = logits.log_softmax(dim=1).numpy(force=True), fold.labels[rows]
    of_labels = log_probs[np.arange(len(rows)), labels]
    return {
        "loss": -of_labels.mean(dtype=np.float64),
        "accuracy": (log_probs.argmax(axis=1) == labels).mean(),
        "doubted_labels": (log_probs.max(axis=1) - of_labels >= math.log(10)).mean(),
    }


# --- Training ------------------------------------------------------------------------------------


class Learner:
    """The network of the fold at work, its optimizer, and what the folds before it came to.

    Args:
        config: The recipe's settings.
        run: Seeds and device.
        num_columns: How many features there are.
    """

    def __init__(self, config: Config, run: Run, num_columns: int) -> None:
        self.models = nn.ModuleList()
        with run.seeding.initialising():
            for _ in range(config.dataset.folds):
                one = network(num_columns, config.dataset.num_classes, config.model.hidden_sizes)
                self.models.append(one.to(run.device))
        self.epsilon = config.training.adam_epsilon
        self.results: list[dict[str, float]] = []
        self.begin(0)

    def begin(self, fold: int) -> None:
        """Take up the network of one fold, with a new optimizer."""
        self.fold, self.model = fold, self.models[fold]
        self.adam = FlatAdam(self.model, epsilon=self.epsilon)


def train(config: Config, run: Run) -> None:
    """Train a network for each fold and write its records.

    ``config`` has the recipe's settings, ``run`` seeds, device, and where the records go.
    """
    settings, logging = config.training, config.logging
    run.seeding.seed_everything()
    rows = read_rows(run.data[config.dataset.file], header_rows=config.dataset.header_rows)
    salt = str(run.seed) if config.dataset.folds_by == "seed" else ""
    folds = stratified_folds(rows, num_folds=config.dataset.folds, salt=salt)
    refuse_leaks(rows, folds, config.dataset)
    parts = [fold_of(rows, folds, number, settings, run) for number in range(config.dataset.folds)]
    num_rows = sum(len(part.training) for part in parts)
    sizes = [math.ceil(settings.total_timesteps * len(part.training) / num_rows) for part in parts]
    learner = Learner(config, run, rows.features.shape[1])
    step = resume(run, learner)
    if step == 0:
        first = evaluate(learner.model, parts[0], parts[0].held_out, run)
        chance = math.log(config.dataset.num_classes)
        run.metrics.write(step=0, **{"initial/loss": first["loss"], "initial/chance_loss": chance})

    for part in parts[learner.fold :]:
        start = sum(sizes[: part.number])
        if learner.fold != part.number:
            learner.begin(part.number)
        for done, samples in batches(part, settings, run, done=step - start, size=sizes[part.number]):
            before, step = step, start + done
            features, labels = part.features[samples], part.labels[samples]
            record: dict[str, Any] = {"fold/number": part.number}
            rate = settings.learning_rate
            record |= learn(learner.model, learner.adam, features, labels, learning_rate=rate)
            trace(run, learner, step=step, samples=samples, arrived=(rows.features[samples], labels))
            if is_due(logging.eval_interval, before, step):
                found = evaluate(learner.model, part, part.held_out, run)
                record |= {f"eval/{name}": value for name, value in found.items()}
            if done == sizes[part.number]:
                learner.results.append(result_of(learner, part, run))
                record |= {f"fold/{name}": value for name, value in learner.results[-1].items()}
            if step == sum(sizes):
                record |= final_record(learner.results)
            run.metrics.write(step=step, **record)
            if is_due(logging.save_interval, before, step):
                save(run, learner, step=step)
            run.timing.write(step=step, total_steps=sum(sizes), phase=f"fold {part.number}")
    run.checkpoints.save_final(learner.models)


def trace(run: Run, learner: Learner, *, step: int, samples: np.ndarray, arrived: tuple[Any, ...]) -> None:
    """Write digests of everything that decides the next update, and which rows this one was made from."""
    model = dict(learner.model.named_parameters())
    run.trace.update(
        step=step,
        parameters={f"{learner.fold}.{name}": one for name, one in model.items()},
        gradients={f"{learner.fold}.{name}": one.grad for name, one in model.items() if one.grad is not None},
        optimizer=learner.adam.state_dict(),
        samples=samples,
        arrived=arrived,
    )


def save(run: Run, learner: Learner, *, step: int) -> None:
    """Write a checkpoint from which ``resume`` goes on."""
    extra = {"fold": learner.fold, "results": learner.results, "updates": run.trace.updates}
    state = checkpoint.training_state(step=step, model=learner.models, optimizer=learner.adam, extra=extra)
    run.checkpoints.save(state)


def resume(run: Run, learner: Learner) -> int:
    """Go on from the checkpoint that the run names, if it names one. Returns the step to go on from."""
    state = run.load_checkpoint()
    if state is None:
        return 0
    for fold in range(1, state["extra"]["fold"] + 1):  # those before it too: an optimizer joins the weights
        learner.begin(fold)
    step, extra = checkpoint.restore(state, model=learner.models, optimizer=learner.adam)
    learner.results = [{intern(name): value for name, value in one.items()} for one in extra["results"]]
    run.trace.resume_at(extra["updates"])
    run.timing.resume_at(step)
    return step


def result_of(learner: Learner, part: Fold, run: Run) -> dict[str, float]:
    """What a fold's network makes of that fold, and of the rows that it was trained on; plain numbers."""
    held_out = evaluate(learner.model, part, part.held_out, run)
    trained_on = evaluate(learner.model, part, part.training, run)
    found = {**held_out, "train_loss": trained_on["loss"], "train_accuracy": trained_on["accuracy"]}
    return {name: float(value) for name, value in found.items()}


def final_record(results: list[dict[str, float]]) -> dict[str, float]:
    """Means over the folds, and how far their accuracies are apart."""
    accuracies = np.array([one["accuracy"] for one in results])
    record = {f"final/{name}": np.mean([one[name] for one in results]) for name in results[0]}
    return record | {"final/accuracy_std": accuracies.std(), "final/accuracy_min": accuracies.min()}
