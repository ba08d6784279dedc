"""The first update of a PyTorch program: by how much it moved each parameter, left beside the trace.

An update that moves nothing, such as one at a learning rate of zero, is passed over. Of more than ``MOST``
parameters every second, third, … is kept, tensor by tensor. Numbers lie in a file as 32-bit floating-point
numbers, one tensor after another; the facts say which.
"""

from __future__ import annotations

import array
import hashlib
import os
from collections.abc import Iterable
from typing import Any

#: So many parameters are kept, 16 MiB.
MOST = 2**22


class FirstUpdate:
    """What the first update of one process does.

    Attributes:
        is_seen: Whether it was recorded.
    """

    def __init__(self, facts: dict[str, Any], *, out: str, process: str) -> None:
        self._facts = facts
        self._path = os.path.join(out, f"first-update-{process}.f32")
        self._before: list[Any] | None = None
        self._every = 1
        self.is_seen = False

    def before(self, parameters: Iterable[Any]) -> None:
        """Keep the parameters as they are before an update."""
        if self.is_seen:
            return
        self._facts["steps"] = self._facts.get("steps", 0) + 1
        seen = list(parameters)
        self._every = max(1, -(-sum(one.numel() for one in seen) // MOST))
        self._before = self._kept(seen)

    def after(self, parameters: Iterable[Any]) -> None:
        """Leave by how much the update moved them, where it moved any."""
        if self.is_seen or self._before is None:
            return
        seen = list(parameters)
        moved = [(one - two).float() for one, two in zip(self._kept(seen), self._before)]
        self._before = None
        if any(bool(one.any()) for one in moved):
            self._leave(moved, seen)

    def _kept(self, parameters: list[Any]) -> list[Any]:
        return [one.detach().reshape(-1)[:: self._every].double().cpu() for one in parameters]

    def _leave(self, moved: list[Any], parameters: list[Any]) -> None:
        digest = hashlib.sha256()
        with open(self._path, "wb") as stream:
            for one in moved:
                data = array.array("f", one.tolist()).tobytes()
                digest.update(data)
                stream.write(data)
        self._facts["first_update"] = {
            "step": self._facts["steps"],
            "shapes": [list(one.shape) for one in parameters],
            "every": self._every,
            "file": os.path.basename(self._path),
            "sha256": digest.hexdigest(),
        }
        self.is_seen = True
