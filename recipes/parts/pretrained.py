"""Starts a training from a model that was trained before.

The file is a data set of the recipe, its SHA-256 checked beforehand (``data_files``).

    >>> start_from(model, run.data["warm_start.pt"])
"""

from __future__ import annotations

from pathlib import Path

from torch import nn

from reprokit.errors import CannotRunError
from reprokit.runtime import checkpoint


def start_from(model: nn.Module, path: Path) -> None:
    """Put the parameters and buffers of a final model, or of a checkpoint's model, into this one.

    Args:
        model: Of the same shape; changed in place.
        path: ``final_model.pt`` or ``checkpoint_<step>.pt``.

    Raises:
        CannotRunError: It cannot be read without running code, or is of another shape.
    """
    state = checkpoint.load(path)
    try:
        model.load_state_dict(state.get("model", state))
    except (RuntimeError, TypeError, AttributeError) as error:
        told = " ".join(str(error).split())
        fix = "name a model of the same layers, or change the recipe's section model"
        raise CannotRunError(
            f"the pretrained model does not fit: {told}", where=str(path), fix=fix
        ) from error
