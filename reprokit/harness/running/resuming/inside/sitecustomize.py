"""Loaded before the program: counts its places to be killed at, then runs any other ``sitecustomize``."""

import importlib.machinery
import importlib.util
import os
import sys


def _begin() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    if os.environ.get("REPROKIT_STOP"):
        import reprokit_stop  # type: ignore[import-not-found, unused-ignore]

        reprokit_stop.start()
    sys.path[:] = [
        path for path in sys.path if os.path.abspath(path) != here
    ]  # or the next would find it again
    found = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if found is not None and found.loader is not None:
        found.loader.exec_module(importlib.util.module_from_spec(found))


_begin()
