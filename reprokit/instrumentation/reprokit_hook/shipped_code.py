"""The program's functions keep the name of their file where cloudpickle sends them to another process.

From its version 3.1.3 on, cloudpickle sends code as ``<dynamic-code>``: in a worker no line would be the
program's. Earlier versions send the name, which changes nothing that a program computes.
"""

from __future__ import annotations

import functools
import types
from typing import Any

from . import imports
from .frames import is_own

_COPIES = (
    "cloudpickle.cloudpickle",
    "joblib.externals.cloudpickle.cloudpickle",
    "ray.cloudpickle.cloudpickle",
)
_NAMELESS = "<dynamic-code>"


def watch() -> None:
    """Listen to each copy of cloudpickle as soon as it is there."""
    for name in _COPIES:
        imports.after(name, _keep_file_names)


def _keep_file_names(module: Any) -> None:
    natural: Any = getattr(module, "_code_reduce", None)
    table: Any = getattr(getattr(module, "Pickler", None), "_dispatch_table", None)
    if natural is None or table is None:
        return

    @functools.wraps(natural)
    def reduced(code: types.CodeType) -> Any:
        made, arguments, *rest = natural(code)
        if is_own(code.co_filename):
            named = "".join(code.co_filename)  # a string of its own, as cloudpickle makes of every name
            arguments = tuple(named if one == _NAMELESS else one for one in arguments)
        return (made, arguments, *rest)

    module._code_reduce = table[types.CodeType] = reduced
