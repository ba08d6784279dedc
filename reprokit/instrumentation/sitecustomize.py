"""Loaded by Python before the program: starts the hook, then runs any other ``sitecustomize`` on the path."""

import importlib.machinery
import importlib.util
import os
import sys


def _begin() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    if os.environ.get("REPROKIT_HOOK"):
        from reprokit_hook import start  # type: ignore[import-not-found, unused-ignore]

        start()
    others = [path for path in sys.path if os.path.abspath(path) != here]
    found = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if found is not None and found.loader is not None:
        found.loader.exec_module(importlib.util.module_from_spec(found))


_begin()
