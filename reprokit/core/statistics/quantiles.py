"""Quantiles of Student's t. scipy has them; it is an extra, and is loaded where one is asked for."""

from __future__ import annotations

from typing import Any

from reprokit import extras


def t_quantile(freedom: Any, probability: float) -> Any:
    """The quantile of Student's t, of the shape of ``freedom``.

    Raises:
        MissingExtraError: scipy is not installed.
    """
    extras.must_have("scipy")
    import scipy.special  # noqa: PLC0415  (an extra, and slow to load)

    return scipy.special.stdtrit(freedom, probability)
