"""Two probes of how operations round, compared.

A probe is the section ``numerics.probe`` of an environment record: operation → digest of what it gave for
inputs that are the same everywhere. No one knows which operations a recipe calls, so a difference here
explains a verdict and never makes one: docs/decisions/0003.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reprokit.core.environment_record import EnvironmentRecord
from reprokit.core.evidence import fact

#: Where a probe stands in an environment record.
FIELD = "inside.numerics.probe"

_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundingComparison:
    """Which operations round differently, in the order of the first probe, or why none was compared."""

    differing: tuple[str, ...] = ()
    compared: int = 0
    only_one: tuple[str, ...] = ()
    because: str = ""


def compare(expected: Mapping[str, Any] | None, actual: Mapping[str, Any] | None) -> RoundingComparison:
    """Compare two probes; None or anything else where a record has none."""
    left, right = _digests(expected), _digests(actual)
    if not left or not right or expected is None or actual is None:
        return RoundingComparison(because="a record holds no probe of how operations round")
    for what in ("version", "device"):
        if expected.get(what) != actual.get(what):
            because = f"one probe is of {what} {expected.get(what)}, the other of {what} {actual.get(what)}"
            return RoundingComparison(because=because)
    both = [name for name in left if name in right]
    return RoundingComparison(
        differing=tuple(name for name in both if left[name] != right[name]),
        compared=len(both),
        only_one=tuple(sorted(left.keys() ^ right.keys())),
        because="" if both else "the two probes have no operation in common",
    )


def compare_records(expected: EnvironmentRecord, actual: EnvironmentRecord) -> RoundingComparison:
    """The same, of two whole environment records."""
    return compare(probe_of(expected), probe_of(actual))


def probe_of(environment: EnvironmentRecord) -> Mapping[str, Any] | None:
    """The probe in an environment record; None in one from before there were probes."""
    value = fact(environment, FIELD)
    return value if isinstance(value, Mapping) else None


def sentence(differing: Sequence[str]) -> str:
    """``here `torch.exp` rounds differently``, or "" where nothing does."""
    if not differing:
        return ""
    names = [f"`{name}`" for name in differing[:_SHOWN]]
    more = f" and {len(differing) - _SHOWN} more" if len(differing) > _SHOWN else ""
    verb = "rounds" if len(differing) == 1 else "round"
    return f"here {', '.join(names)}{more} {verb} differently"


def _digests(probe: Mapping[str, Any] | None) -> dict[str, str]:
    found = probe.get("digests") if isinstance(probe, Mapping) else None
    if not isinstance(found, Mapping):
        return {}
    return {str(name): value for name, value in found.items() if isinstance(value, str)}
