"""Loaded after the hook's own: starts the watch of updates, then runs any other ``sitecustomize``."""

import importlib.machinery
import importlib.util
import os
import sys


def _begin() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    if os.environ.get("REPROKIT_STATE") and "reprokit_hook" in sys.modules:
        import reprokit_state  # type: ignore[import-not-found, unused-ignore]

        reprokit_state.start()
    others = [path for path in sys.path if os.path.abspath(path) != here and not _is_the_hooks(path)]
    found = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if found is not None and found.loader is not None:
        found.loader.exec_module(importlib.util.module_from_spec(found))


def _is_the_hooks(path: str) -> bool:
    return os.path.isdir(os.path.join(path, "reprokit_hook"))


_begin()
