"""Everything that decides how a training goes on, named once: traced, saved, and put back.

>>> state = TrainingState(run, model=model, optimizer=adam, environments=envs, others={"players": players})
>>> step = state.resume()
>>> state.trace(step)
>>> state.save(step)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from recipes.parts.devices import named_gradients
from reprokit.errors import CannotRunError
from reprokit.runtime import checkpoint, devices
from reprokit.runtime.checkpoint import Stateful
from reprokit.runtime.run import Run


class TrainingState:
    """The parts of a training, and where their records go.

    Args:
        run: Its trace and checkpoints.
        model: Parameters and buffers.
        optimizer: Moments and counts.
        environments: Those that are trained on, in a fixed order.
        generators: Name → generator beside the global ones.
        others: Name → whatever else has a state.
    """

    def __init__(
        self,
        run: Run,
        *,
        model: nn.Module,
        optimizer: Stateful,
        environments: Sequence[Any] = (),
        generators: Mapping[str, np.random.Generator] | None = None,
        others: Mapping[str, Stateful] | None = None,
    ) -> None:
        self.run, self.model, self.optimizer = run, model, optimizer
        self.environments, self.generators, self.others = environments, generators, dict(others or {})

    def resume(self) -> int:
        """Go on from the checkpoint that the run names, if it names one; returns the steps done so far.

        Raises:
            CannotRunError: The checkpoint is no such one, or of another training.
        """
        saved = self.run.load_checkpoint()
        if saved is None:
            return 0
        step, extra = checkpoint.restore(
            saved,
            model=self.model,
            optimizer=self.optimizer,
            generators=self.generators,
            environments=self.environments,
        )
        fix = "resume from a checkpoint_<step>.pt that this version of the trainer wrote"
        lacking = [name for name in ("updates", *self.others) if name not in extra]
        if lacking:
            raise CannotRunError(f"the checkpoint has no {', no '.join(lacking)}", fix=fix)
        for name, other in self.others.items():
            try:
                other.load_state_dict(extra[name])
            except (KeyError, TypeError, ValueError) as error:
                what = f"the checkpoint's {name} does not fit this training: {type(error).__name__}: {error}"
                raise CannotRunError(what, fix=fix) from error
        devices.restore_generators(saved["random"])  # once more: the others have something on the device too
        self.run.trace.resume_at(extra["updates"])
        self.run.timing.resume_at(step)
        return step

    def trace(self, step: int, *, beside: Mapping[str, Tensor] | None = None) -> None:
        """Write digests of everything that decides the next update.

        Args:
            step: Steps done.
            beside: Name → tensor that is told among the parameters.
        """
        self.run.trace.update(
            step=step,
            parameters={**self.model.state_dict(), **(beside or {})},
            gradients=named_gradients(self.model),
            optimizer=self.optimizer.state_dict(),
            generators=self.generators,
            environments=self.environments,
        )

    def save(self, step: int) -> None:
        """Write a checkpoint from which ``resume`` goes on."""
        extra = {name: other.state_dict() for name, other in self.others.items()}
        self.run.checkpoints.save(
            checkpoint.training_state(
                step=step,
                model=self.model,
                optimizer=self.optimizer,
                generators=self.generators,
                environments=self.environments,
                extra={**extra, "updates": self.run.trace.updates},
            )
        )


def resume(
    run: Run,
    *,
    model: nn.Module,
    optimizer: Stateful,
    generators: Mapping[str, torch.Generator] | None = None,
) -> int:
    """Go on from the checkpoint that the run names, if it names one; returns the step to go on from.

    For a training whose state is all in these three; the checkpoint's ``extra`` has ``updates``.
    """
    state = run.load_checkpoint()
    if state is None:
        return 0
    step, extra = checkpoint.restore(state, model=model, optimizer=optimizer, generators=generators)
    run.trace.resume_at(extra["updates"])
    run.timing.resume_at(step)
    return step
