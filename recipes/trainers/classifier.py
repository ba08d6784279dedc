"""A classifier of small images, a perceptron or a convolutional network: one file, top to bottom.

Cross-entropy, minimised by Adam on minibatches; docs/decisions/0061-supervised-trainers.md has the choices.
The order of the samples and what is drawn to augment them follow from the seed and the epoch alone, so a
training goes on from any batch with nothing but its step: there is no loader whose place could be lost.

    $ python -m reprokit.runtime.launch --run-dir out --config config.yaml --seed 42 -- classifier.py
"""

from __future__ import annotations

import itertools
import math
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from recipes.parts.computing import compute_in
from recipes.parts.devices import Adam, adam_of, named_gradients
from recipes.parts.labelled_rows import read_rows, stratified_folds
from recipes.parts.schedules import is_due
from recipes.parts.training_state import resume
from reprokit.runtime import checkpoint
from reprokit.runtime.config import Ge, Gt, Le
from reprokit.runtime.run import Run

# --- Settings ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """What is learned: a table with a square image and its label in each row.

    Attributes:
        file: A data set of the recipe.
        side: Pixels in a row and in a column of an image.
        largest: The value of the brightest pixel, which becomes 1.
        num_classes: Labels count from 0 to below it.
        folds: One in so many images of each class is held out for validation, chosen by its own pixels.
        shift: A training image is moved by up to so many pixels in both directions; 0 leaves it in place.
    """

    file: str
    side: Annotated[int, Ge(2)]
    largest: Annotated[float, Gt(0)]
    num_classes: Annotated[int, Ge(2)] = 10
    folds: Annotated[int, Ge(2)] = 5
    shift: Annotated[int, Ge(0)] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Convolutions, if any, then fully connected layers.

    Attributes:
        architecture: ``mlp`` has no convolutions.
        channels: Of each convolution, 3 × 3; each is followed by max-pooling, 2 × 2, and a ReLU.
        hidden_sizes: Widths of the fully connected layers but the last; a ReLU follows each.
    """

    architecture: Literal["mlp", "cnn"] = "mlp"
    channels: tuple[Annotated[int, Ge(1)], ...] = (8, 16)
    hidden_sizes: tuple[Annotated[int, Ge(1)], ...] = (64,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """How it is learned.

    Attributes:
        total_timesteps: Training images. Training ends with the first update at or after it.
        batch_size: Images in an update; the last one of an epoch may have fewer.
        learning_rate: What it is at first.
        lr_schedule: ``linear`` falls from ``learning_rate`` to 0 at the end.
        adam_epsilon: Added to the root in Adam's denominator.
        max_grad_norm: Longer gradients are scaled down to this; null for any length.
        overfit_batch: Train on the first batch only, again and again, unaugmented: it must be memorised.
        precision: Of the network; parameters stay float32. Float16 scales the loss.
        compile: A mode of ``torch.compile``, or null.
    """

    total_timesteps: Annotated[int, Gt(0)] = 10_000
    batch_size: Annotated[int, Ge(1)] = 64
    learning_rate: Annotated[float, Gt(0), Le(1)] = 1e-3
    lr_schedule: Literal["constant", "linear"] = "linear"
    adam_epsilon: Annotated[float, Gt(0)] = 1e-8
    max_grad_norm: Annotated[float, Gt(0)] | None = None
    overfit_batch: bool = False
    precision: Literal["float32", "bfloat16", "float16"] = "float32"
    compile: Literal["default", "reduce-overhead"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Logging:
    """What is kept; metrics and trace have a record of every update. Intervals are in training images.

    Attributes:
        save_interval: Between checkpoints; 1 keeps one of every update.
        eval_interval: Between evaluations on what is held out.
        trace_interval: Updates between digests of parameters, gradients, moments; the first 8 have them.
    """

    save_interval: Annotated[int, Ge(1)] = 10_000
    eval_interval: Annotated[int, Ge(1)] = 5_000
    trace_interval: Annotated[int, Ge(1)] = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything that a recipe can set."""

    dataset: Dataset
    model: Model = Model()
    training: Training = Training()
    logging: Logging = Logging()


# --- Data ----------------------------------------------------------------------------------------


class Images(NamedTuple):
    """Images, uint8 [rows, side, side]; the brightest value; labels, int64 [rows]; rows of both parts."""

    pixels: np.ndarray
    largest: np.float32
    labels: np.ndarray
    training: np.ndarray
    held_out: np.ndarray


def read_images(settings: Dataset, run: Run) -> Images:
    """The data set, and which of its rows are trained on.

    Raises:
        ValueError: An image has another size, a pixel is no byte, or a label is none of the classes.
    """
    rows = read_rows(run.data[settings.file])
    if rows.features.shape[1] != settings.side**2:
        raise ValueError(f"{rows.features.shape[1]} pixels are no image of {settings.side} × {settings.side}")
    if rows.labels.max() >= settings.num_classes:
        raise ValueError(f"label {rows.labels.max()} is none of {settings.num_classes} classes")
    folds = stratified_folds(rows, num_folds=settings.folds)
    pixels = rows.features.astype(np.uint8)
    if (pixels != rows.features).any():
        raise ValueError("a pixel is no whole number from 0 to 255")
    pixels = pixels.reshape(-1, settings.side, settings.side)
    parts = np.flatnonzero(folds != 0), np.flatnonzero(folds == 0)
    return Images(pixels, np.float32(settings.largest), rows.labels, *parts)


class Batch(NamedTuple):
    """The images of one update, in order.

    Attributes:
        step: Training images up to its end.
        samples: Their row numbers in the file, int64 [batch].
        pixels: uint8 [batch, side, side], as they are in the file.
        labels: int64 [batch].
        inputs: float32 [batch, side, side], as they are trained on.
    """

    step: int
    samples: np.ndarray
    pixels: np.ndarray
    labels: np.ndarray
    inputs: np.ndarray


def trained_rows(data: Images, settings: Training, run: Run) -> np.ndarray:
    """The rows that are trained on in every epoch: all of them, or those of the first batch."""
    if settings.overfit_batch:
        return rows_of_epoch(data.training, run, epoch=0)[: settings.batch_size]
    return data.training


def batches(data: Images, rows: np.ndarray, config: Config, run: Run, *, step: int) -> Iterator[Batch]:
    """All batches after ``step`` training images: every epoch takes the rows in an order of its own."""
    settings = config.training
    shift = 0 if settings.overfit_batch else config.dataset.shift
    for epoch in itertools.count(step // len(rows)):
        order = rows_of_epoch(rows, run, epoch=epoch)
        generator = np.random.default_rng(run.seeding.derive("augmentation", epoch, rank=0))
        moves = generator.integers(2 * shift + 1, size=(len(rows), 2))
        for first in range(step % len(rows), len(rows), settings.batch_size):
            part = slice(first, min(first + settings.batch_size, len(rows)))
            if step >= settings.total_timesteps:
                return
            samples, step = order[part], epoch * len(rows) + part.stop
            pixels = data.pixels[samples]
            pixels.setflags(write=False)  # so that the ledger need not copy them
            shifted = moved(pixels, moves[part], shift=shift) if shift else pixels
            yield Batch(step, samples, pixels, data.labels[samples], shifted / data.largest)


def rows_of_epoch(rows: np.ndarray, run: Run, *, epoch: int) -> np.ndarray:
    """All rows in the random order of one epoch, which follows from the seed and its number."""
    return np.random.default_rng(run.seeding.derive("order", epoch, rank=0)).permutation(rows)


def moved(pixels: np.ndarray, moves: np.ndarray, *, shift: int) -> np.ndarray:
    """Each image moved down and to the right by its ``moves - shift`` pixels, 0 where nothing was."""
    side = pixels.shape[1]
    wide = np.pad(pixels, ((0, 0), (shift, shift), (shift, shift)))
    windows = np.lib.stride_tricks.sliding_window_view(wide, (side, side), axis=(1, 2))
    down, right = (2 * shift - moves).T
    found: np.ndarray = windows[np.arange(len(pixels)), down, right]
    return found


# --- Model and learning --------------------------------------------------------------------------


def network(dataset: Dataset, settings: Model) -> nn.Sequential:
    """From images, float32 [batch, 1, side, side], to logits, float32 [batch, num_classes]."""
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    channels, side = 1, dataset.side
    for number, width in enumerate(settings.channels if settings.architecture == "cnn" else (), start=1):
        layers[f"convolution{number}"] = nn.Conv2d(channels, width, kernel_size=3, padding=1)
        layers[f"pooling{number}"] = nn.MaxPool2d(2)
        layers[f"relu{number}"] = nn.ReLU()  # before pooling it gives the same, on four times as many
        channels, side = width, side // 2
    layers["flatten"] = nn.Flatten()
    inputs = channels * side**2
    for number, width in enumerate(settings.hidden_sizes, start=1):
        layers[f"hidden{number}"] = nn.Linear(inputs, width)
        layers[f"activation{number}"] = nn.ReLU()
        inputs = width
    layers["logits"] = last = nn.Linear(inputs, dataset.num_classes)
    nn.init.zeros_(last.weight)  # so that at first every class has the same probability
    nn.init.zeros_(last.bias)
    return nn.Sequential(layers)


def as_input(pixels: np.ndarray, run: Run) -> Tensor:
    """Images as the network takes them; channels last in memory, which its convolutions are fastest with."""
    images = torch.from_numpy(pixels).unsqueeze(1)
    return images.to(run.device, memory_format=torch.channels_last)


def learn(
    model: nn.Module, adam: Adam, batch: Batch, run: Run, *, learning_rate: float, max_norm: float
) -> dict[str, float]:
    """One update; returns what it was like, before the step."""

    def of_part(part: slice) -> Tensor:
        labels = torch.from_numpy(batch.labels[part]).to(run.device)
        logits, share = model(as_input(batch.inputs[part], run)), len(labels) / len(batch.labels)
        loss = functional.cross_entropy(logits, labels) * share
        torch.autograd.backward(adam.scaled(loss))
        return torch.stack([loss.detach(), (logits.argmax(dim=1) == labels).float().mean() * share])

    measures = run.ranks.add_up(of_part, adam.gradients, count=len(batch.samples), num_measures=2)
    norm = adam.step(learning_rate=learning_rate, max_norm=max_norm)
    record = {"loss/train": measures[0].item(), "train/accuracy": measures[1].item()}
    record |= {"optim/grad_norm": norm.item(), "optim/learning_rate": learning_rate}
    return record | adam.record()


def learning_rate_at(step: int, settings: Training) -> float:
    """The learning rate of the update that ends at the training image ``step``."""
    done = (min(step, settings.total_timesteps) - 1) / settings.total_timesteps
    return settings.learning_rate * (1 - done if settings.lr_schedule == "linear" else 1.0)


@torch.no_grad()
def evaluate(model: nn.Module, data: Images, rows: np.ndarray, run: Run) -> dict[str, float]:
    """What the network makes of some rows, as they are in the file.

    Returns:
        ``loss``, ``accuracy``, and ``doubted_labels``: the share of rows of which it holds another class for
        ten times as likely as the label. Many of them among rows held out mean wrong labels.
    """
    scores = [
        model(as_input(data.pixels[part] / data.largest, run)).log_softmax(dim=1).numpy(force=True)
        for part in np.array_split(rows, math.ceil(len(rows) / 500))
    ]
    log_probs, labels = np.concatenate(scores), data.labels[rows]
    of_labels = log_probs[np.arange(len(rows)), labels]
    return {
        "loss": -of_labels.mean(dtype=np.float64),
        "accuracy": (log_probs.argmax(axis=1) == labels).mean(),
        "doubted_labels": (log_probs.max(axis=1) - of_labels >= math.log(10)).mean(),
    }


# --- Training ------------------------------------------------------------------------------------


def train(config: Config, run: Run) -> None:
    """Train with a recipe's settings; ``run`` has seeds, device, data, and where the records go."""
    settings, logging = config.training, config.logging
    run.seeding.seed_everything()
    data = read_images(config.dataset, run)
    rows = trained_rows(data, settings, run)
    with run.seeding.initialising():
        model = network(config.dataset, config.model).to(run.device)
    compute_in(model, precision=settings.precision, mode=settings.compile)
    adam = adam_of(model, epsilon=settings.adam_epsilon, precision=settings.precision)
    before = resume(run, model=model, optimizer=adam)
    if before == 0:
        first = evaluate(model, data, data.held_out, run)
        chance = math.log(config.dataset.num_classes)
        run.metrics.write(step=0, **{"initial/loss": first["loss"], "initial/chance_loss": chance})

    for batch in batches(data, rows, config, run, step=before):
        rate, bound = learning_rate_at(batch.step, settings), settings.max_grad_norm or math.inf
        own = run.ranks.share_of(len(batch.samples))
        record = learn(model, adam, batch, run, learning_rate=rate, max_norm=bound)
        run.trace.update(
            step=batch.step,
            parameters=model.named_parameters,
            gradients=partial(named_gradients, model),
            optimizer=adam.state_dict,
            samples=batch.samples[own],
            arrived=(batch.pixels[own], batch.labels[own]),
            every=logging.trace_interval,
        )
        if is_due(logging.eval_interval, before, batch.step):
            found = evaluate(model, data, data.held_out, run)
            record |= {f"eval/{name}": value for name, value in found.items()}
        if batch.step >= settings.total_timesteps:
            record |= final_record(model, data, rows, run)
        run.metrics.write(step=batch.step, **record)
        if is_due(logging.save_interval, before, batch.step):
            extra = {"updates": run.trace.updates}
            state = checkpoint.training_state(step=batch.step, model=model, optimizer=adam, extra=extra)
            run.checkpoints.save(state)
        run.timing.write(step=batch.step, total_steps=settings.total_timesteps, phase="train")
        before = batch.step
    run.checkpoints.save_final(model)


def final_record(model: nn.Module, data: Images, rows: np.ndarray, run: Run) -> dict[str, float]:
    """What the trained network makes of the images held out, and of those that it was trained on."""
    held_out = evaluate(model, data, data.held_out, run)
    trained_on = evaluate(model, data, rows, run)
    return {f"final/{name}": value for name, value in held_out.items()} | {
        "final/train_loss": trained_on["loss"],
        "final/train_accuracy": trained_on["accuracy"],
    }
