"""A trainer for tests of ranks: quick, and a fault can be planted in one of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from reprokit.runtime import checkpoint
from reprokit.runtime.ranks import Ranks
from reprokit.runtime.run import Run

BATCH = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """Settings: updates, between checkpoints, and what is planted."""

    updates: int = 12
    save_interval: int = 4
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything that a recipe can set."""

    training: Training = Training()


def measures_first(
    ranks: Ranks, of_part: Callable[[slice], Tensor], gradients: Tensor, *, count: int, num_measures: int
) -> Tensor:
    """``Ranks.add_up`` with its collectives in another order: what a version of it would have changed."""
    gradients.zero_()
    measures = of_part(ranks.share_of(count))
    assert len(measures) == num_measures
    ranks._all_reduce("measures", measures)
    ranks._all_reduce("gradients", gradients)
    return measures


def end_by(fault: str) -> None:
    """What ends a rank, or the work of it, in the middle of an update."""
    if fault == "error":
        raise ValueError("a planted error")
    if fault in {"one leaves", "all leave"}:
        raise SystemExit(0)
    if fault in {"one leaves at once", "all leave at once"}:
        os._exit(0)
    if fault in {"one sleeps", "all sleep"}:
        time.sleep(1e6)


def finish(run: Run, model: torch.nn.Module, values: Tensor, fault: str) -> None:
    """The final model, and what is planted after the last update."""
    guilty = run.ranks.rank == 1
    if guilty and fault == "late drift":
        values += 1.0
    run.checkpoints.save_final(model)
    if guilty and fault == "metrics removed":
        (run.dir / "metrics.jsonl").unlink()
    if fault == "all leave after the last update":
        run.ranks.leave()
        os._exit(0)


def train(config: Config, run: Run) -> None:
    """Train."""
    settings, fault = config.training, config.training.fault
    guilty = run.ranks.rank == 1
    run.seeding.seed_everything()
    data = torch.rand(64, 5, generator=torch.Generator().manual_seed(1))
    with run.seeding.initialising():
        model = torch.nn.Linear(4, 1)
    values = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
    gradients = torch.zeros_like(values)
    torch.nn.utils.vector_to_parameters(values, model.parameters())
    values.grad = gradients
    optimizer = torch.optim.SGD([values], lr=0.1)
    sampler = run.seeding.torch_generator("batches", rank=7 if guilty and fault == "seed" else 0)
    step, state = 0, run.load_checkpoint()
    if state is not None:
        step, extra = checkpoint.restore(
            state, model=model, optimizer=optimizer, generators={"batches": sampler}
        )
        run.trace.resume_at(extra["updates"])
    while step < settings.updates:
        step += 1
        rows = torch.randperm(len(data), generator=sampler)[:BATCH]
        batch = data[rows]

        def of_part(part: slice, batch: Tensor = batch, step: int = step) -> Tensor:
            model.zero_grad()
            share = (part.stop - part.start) / BATCH
            loss = (model(batch[part, :4]).sin() - batch[part, 4:]).square().mean() * share
            torch.autograd.backward(loss)
            own = torch.cat([one.grad.flatten() for one in model.parameters() if one.grad is not None])
            gradients.add_(own)
            if guilty and fault == "gradient" and step == 3:
                gradients[2] += 1e-6
            if step == 3 and (guilty or fault.startswith("all ")):
                end_by(fault)
            return loss.detach().reshape(1)

        swapped = step == 5 and (fault == "order of all" or (fault == "order of one" and guilty))
        add_up = measures_first if swapped else Ranks.add_up
        loss = add_up(run.ranks, of_part, gradients, count=BATCH, num_measures=1)
        if guilty and step == 3 and fault in {"drift", "hidden drift"}:
            gradients[0 if fault == "drift" else 1] += 1e-3
        optimizer.step()
        own = slice(0, BATCH // 2) if fault == "samples" else run.ranks.share_of(BATCH)
        run.trace.update(
            step=step,
            parameters=dict(model.named_parameters()),
            generators={"batches": sampler},
            samples=rows[own],
            arrived=[batch[own]],
        )
        run.metrics.write(step=step, **{"loss/train": loss, "model/first": values[0]})
        if step % settings.save_interval == 0:
            run.checkpoints.save(
                checkpoint.training_state(
                    step=step,
                    model=model,
                    optimizer=optimizer,
                    generators={"batches": sampler},
                    extra={"updates": run.trace.updates},
                )
            )
        run.timing.write(step=step, total_steps=settings.updates, phase="train")
    finish(run, model, values, fault)
