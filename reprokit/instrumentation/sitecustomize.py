"""Started by Python before the program: begins the watch, then whatever ``sitecustomize`` stood here before.

This module knows how to hand on; it refuses to fail: a program is never kept from running by it.

    $ PYTHONPATH=reprokit/instrumentation REPROKIT_HOOK=plan.json python train.py
"""

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
