"""The names that a numpy has for the features of a CPU that the profile ``portable`` switches off.

numpy 2.4 has other names than the releases before it, and each ignores those that it does not have: which it
has is asked of itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reprokit.core import numerics

VARIABLE = "NPY_DISABLE_CPU_FEATURES"


def is_avx512(name: str) -> bool:
    """Whether a feature, by any numpy's name, is one of AVX-512.

    >>> [is_avx512(name) for name in ("X86_V4", "AVX512F", "AVX512_SKX", "X86_V3", "AVX2")]
    [True, True, True, False, False]
    """
    return name.startswith("AVX512") or name == "X86_V4"


def names_to_switch_off(features: Any) -> str:
    """The value of ``NPY_DISABLE_CPU_FEATURES`` for a numpy, in the order in which it names its features.

    Args:
        features: Its features as the probe tells them: ``in_force`` and ``not_in_force``.

    Returns:
        Names with blanks between them; "" where it has none, or nothing is known of it.
    """
    if not isinstance(features, Mapping):
        return ""
    known = [str(name) for key in ("in_force", "not_in_force") for name in features.get(key) or ()]
    return " ".join(sorted(filter(is_avx512, known), key=lambda name: (name != "X86_V4", name)))


def named_by_numpy(variables: Mapping[str, str], own: str) -> dict[str, str]:
    """Variables of a run, what ``portable`` switches off under other names, where they have the profile's.

    Args:
        variables: As the profile and the recipe set them.
        own: What ``names_to_switch_off`` gives; "" where nothing is known.
    """
    is_profiles = variables.get(VARIABLE) == value_of_profile()
    return {**variables, VARIABLE: own} if own and is_profiles else dict(variables)


def value_of_profile() -> str:
    """What the profile ``portable`` sets ``VARIABLE`` to: the names of numpy 2.4."""
    return numerics.variables("portable", hash_seed=0)[VARIABLE]
