"""Floating-point numbers that are the same on every machine: assembled from bits, never rounded."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def float32s(count: int, *, stream: int) -> NDArray[np.float32]:
    """float32 [count] of either sign, with magnitudes from 2^-12 to 2^3; other values for each ``stream``."""
    raw = _hashed(count, stream=stream)
    exponent = np.uint32(127 - 12) + ((raw >> np.uint64(32)) % np.uint64(15)).astype(np.uint32)
    mantissa = raw.astype(np.uint32) & np.uint32(0x7FFFFF)
    sign = (raw >> np.uint64(63)).astype(np.uint32)
    bits: NDArray[np.uint32] = sign << np.uint32(31) | exponent << np.uint32(23) | mantissa
    return bits.view(np.float32)


def float64s(count: int, *, stream: int) -> NDArray[np.float64]:
    """float64 [count], likewise."""
    raw, other = _hashed(count, stream=stream), _hashed(count, stream=stream + (1 << 20))
    exponent = np.uint64(1023 - 12) + other % np.uint64(15)
    mantissa = raw & np.uint64((1 << 52) - 1)
    sign = other >> np.uint64(63)
    bits: NDArray[np.uint64] = sign << np.uint64(63) | exponent << np.uint64(52) | mantissa
    return bits.view(np.float64)


def _hashed(count: int, *, stream: int) -> NDArray[np.uint64]:
    """uint64 [count]: SplitMix64 (https://doi.org/10.1145/2660193.2660195) of a counter, modulo 2^64."""
    z = np.arange(count, dtype=np.uint64) + np.uint64(stream << 32)
    z = z * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
