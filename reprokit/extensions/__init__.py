"""Packages of others that add to the tool: which are named, verified and loaded, and what they bring.

An entry point alone loads nothing. One is imported only where ``[tool.reprokit] extensions`` of the project
names it with its exact version, from the tool's own site-packages, and from the bytes that its RECORD
vouches for.

    >>> load(["pbs-queue==1.0"])
    >>> [one.label for one in loaded()]
    ['pbs-queue 1.0']
"""

from reprokit.extensions.declaration import Extension
from reprokit.extensions.named import NamedExtension, parse
from reprokit.extensions.registry import (
    BrokenExtension,
    LoadedExtension,
    at_work,
    broken,
    brought,
    brought_or_why,
    hint_of_unnamed,
    is_at_work,
    listed_by,
    load,
    loaded,
    must_be_new,
    must_be_there,
    recorded,
    unload,
    why_not_loaded,
)

__all__ = [
    "BrokenExtension",
    "Extension",
    "LoadedExtension",
    "NamedExtension",
    "at_work",
    "broken",
    "brought",
    "brought_or_why",
    "hint_of_unnamed",
    "is_at_work",
    "listed_by",
    "load",
    "loaded",
    "must_be_new",
    "must_be_there",
    "parse",
    "recorded",
    "unload",
    "why_not_loaded",
]
