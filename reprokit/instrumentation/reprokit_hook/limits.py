"""What cannot be recorded in this process: frameworks, compiled code, kernels, threads of C libraries.

Counted when the process ends. Nothing is imported for it.
"""

from __future__ import annotations

import ctypes
import importlib.machinery
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from .frames import STANDARD, is_own
from .older_pythons import without_prefix
from .watch import Watch

_FRAMEWORKS = ("jax", "tensorflow", "mxnet", "paddle", "mindspore", "cupy", "tinygrad", "mlx", "dgl")
_KERNELS = ("cupy", "pycuda", "numba.cuda", "pyopencl")
#: Whose operations and draws are watched.
_WATCHED = ("numpy", "torch")
_OPENBLAS = (
    "openblas_get_num_threads",
    "openblas_get_num_threads64_",
    "scipy_openblas_get_num_threads64_",
    "scipy_openblas_get_num_threads",
)
_SUFFIXES = tuple(importlib.machinery.EXTENSION_SUFFIXES)


def watch(watch: Watch) -> None:
    """Count when the process ends."""
    watch.at_end.append(lambda: watch.facts.update({f"limits {watch.process}": found()}))


def found() -> dict[str, Any]:
    """What is there now, by kind: lists of names, and numbers of threads."""
    modules = {name: module for name, module in list(sys.modules.items()) if module is not None}
    return {
        "frameworks": [name for name in _FRAMEWORKS if name in modules],
        "extensions": sorted(_extensions(modules)),
        "kernels": sorted({*(name for name in _KERNELS if name in modules), *_own_kernels(modules)}),
        "python_threads": threading.active_count(),
        "native_threads": max(0, _threads() - threading.active_count()),
        "computing_threads": dict(_computing_threads(modules)),
    }


def _computing_threads(modules: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """With how many threads the numeric libraries compute, as they say themselves."""
    if "torch" in modules:
        with suppress(Exception):
            yield "PyTorch", int(modules["torch"].get_num_threads())
    with suppress(OSError), open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for path in {line.split()[-1] for line in maps if "openblas" in line}:
            with suppress(OSError):
                library = ctypes.CDLL(path)
                for name in _OPENBLAS:
                    if hasattr(library, name):
                        yield "OpenBLAS", int(getattr(library, name)())


def _extensions(modules: dict[str, Any]) -> set[str]:
    """Packages with compiled code that is not Python's own, NumPy's or PyTorch's."""
    names = set()
    for name, module in modules.items():
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or not file.endswith(_SUFFIXES):
            continue
        inside = without_prefix(file, STANDARD)
        standard = inside != file and not inside.startswith(("site-packages", "dist-packages"))
        package = name.partition(".")[0]
        if not standard and package not in _WATCHED:
            names.add(package)
    return names


def _own_kernels(modules: dict[str, Any]) -> set[str]:
    """Libraries of operations that the program has loaded into PyTorch, and Triton functions of its own."""
    names: set[str] = set()
    loaded = getattr(getattr(modules.get("torch"), "ops", None), "loaded_libraries", None)
    names.update(os.path.basename(str(one)) for one in loaded or ())
    if "triton" not in modules:
        return names
    for module in modules.values():
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and is_own(file):
            names.update(
                name for name, one in list(vars(module).items()) if type(one).__name__ == "JITFunction"
            )
    return names


def _threads() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 0
