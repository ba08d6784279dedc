"""Findings about determinism claims, whole as a file of them must be, with what a test is about."""

from __future__ import annotations

from typing import Any

from reprokit.core import determinism_claims as claims

SAME = {"outcome": "same", "digest": "a", "ms": 1.0}
DIFFERS = {"outcome": "differs", "digest": "b", "ms": 2.0, "differing": 3}


def row(operation: str = "mm", **about: Any) -> dict[str, Any]:
    """Of one operation: the same in every mode, but for what is said."""
    first = {"operation": operation, "dtype": "float32", "compiled": False, "phase": "forward"}
    return {**first, "claim": claims.UNLISTED, **dict.fromkeys(claims.MODES, SAME), **about}


def findings(*rows: dict[str, Any], **about: Any) -> dict[str, Any]:
    """Of one platform."""
    return {
        "schema": claims.SCHEMA,
        "platform": "cpu-x86_64",
        "device": "a CPU",
        "torch": "2.13.0",
        "build": "cf30153c4c13",
        "cuda": None,
        "cudnn": None,
        "driver": None,
        "threads": 2,
        "capability": "AVX2",
        "repeats": 30,
        "rows": list(rows),
        "batches": {"default": [], "deterministic": []},
        **about,
    }
