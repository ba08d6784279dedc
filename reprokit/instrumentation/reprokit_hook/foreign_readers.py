"""Functions whose code another compiler reads (numba, torch.compile, triton) get their untouched code back.

Python announces it when ``__code__`` is read (PEP 578). What only looks at it, or hands it on to another
process of the program, sees the code as it is.
"""

from __future__ import annotations

import sys
import types
from typing import Any

#: Modules that read code and compile nothing of it.
_LOOKERS = frozenset(
    [
        *(
            "inspect",
            "functools",
            "dataclasses",
            "typing",
            "traceback",
            "enum",
            "abc",
            "warnings",
            "unittest",
        ),
        *(
            "doctest",
            "joblib",
            "cloudpickle",
            "reprokit_hook",
            "sitecustomize",
            "linecache",
            "pickle",
            "types",
        ),
        *("copyreg", "pdb", "logging", "asyncio", "contextlib", "collections", "importlib", "__main__"),
        *("pytest", "ray", "dill", "lightning", "pytorch_lightning", "lightning_fabric"),
    ]
)
#: Of PyTorch, only these compile.
_COMPILERS = ("torch._dynamo", "torch._inductor", "torch.fx", "torch.jit", "torch._jit", "torch.export")
_plain: dict[tuple[str, str, int], types.CodeType | None] = {}
_begun: list[bool] = []
_reading: list[bool] = []


def remember(untouched: types.CodeType, compiled: types.CodeType) -> None:
    """Keep the untouched code of every function of a file."""
    plain = dict(_named(untouched))
    for key in dict(_named(compiled)):
        _plain[key] = plain.get(key)
    if not _begun:
        _begun.append(True)
        sys.addaudithook(_heard)


def _named(code: types.CodeType) -> list[tuple[tuple[str, str, int], types.CodeType | None]]:
    """The code of all functions in one; None for those that cannot be told apart."""
    found: dict[tuple[str, str, int], types.CodeType | None] = {}
    waiting = [code]
    while waiting:
        one = waiting.pop()
        waiting += [inner for inner in one.co_consts if isinstance(inner, types.CodeType)]
        key = _key(one)
        found[key] = None if key in found else one
    return list(found.items())


def _key(code: types.CodeType) -> tuple[str, str, int]:
    return code.co_filename, getattr(code, "co_qualname", code.co_name), code.co_firstlineno


def _compiles(module: str) -> bool:
    """Whether a module that reads code may compile it; any that is not known may."""
    package = module.partition(".")[0]
    return package not in _LOOKERS and (package != "torch" or module.startswith(_COMPILERS))


def _heard(event: str, args: tuple[Any, ...]) -> None:
    if event != "object.__getattr__" or _reading or args[1:2] != ("__code__",):
        return
    function = args[0]
    if type(function) is not types.FunctionType:
        return
    _reading.append(True)
    try:
        reader = sys._getframe(1).f_globals.get("__name__") or ""
        if not _compiles(str(reader)):
            return
        code = function.__code__
        untouched = _plain.get(_key(code))
        if untouched is not None and untouched is not code:
            function.__code__ = untouched
    except (ValueError, AttributeError):  # another number of free variables: it stays as it is
        return
    finally:
        _reading.pop()


_heard.__cantrace__ = True  # type: ignore[attr-defined]
