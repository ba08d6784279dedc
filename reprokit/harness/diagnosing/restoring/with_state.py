"""A run whose updates are counted, and whose state is kept or set at one of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from reprokit.core.records import RunSpec
from reprokit.workspace import write_json

_INSIDE = Path(__file__).parent / "inside"
_ORDERS, _PATHS = "state-orders.json", "PYTHONPATH"


def with_state(spec: RunSpec, orders: Mapping[str, Any], *, out: str, stage: Path) -> RunSpec:
    """The run with the watch of its state in it, which starts behind the hook.

    Args:
        spec: The run, with the hook first on Python's path.
        orders: What ``inside/reprokit_state.py`` is to do.
        out: Where it writes.
        stage: The run's folder while it runs; the name of the file of orders is the same in all runs.
    """
    file = (stage.parent / _ORDERS).resolve()
    write_json(file, {**orders, "out": out})
    hook, *others = spec.environment[_PATHS].split(os.pathsep)
    added = {_PATHS: os.pathsep.join([hook, str(_INSIDE), *others]), "REPROKIT_STATE": str(file)}
    return replace(spec, environment={**spec.environment, **added})
