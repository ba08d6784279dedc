"""Published ways out of a container into the host, and which engine versions have them.

>>> [escape.name for escape in known_escapes("28.5.2")]
['CVE-2026-41567']
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Escape:
    """A published way out of a container into the host."""

    name: str  # CVE number
    # Engine releases with the fix; an older release of the same major version, or of one older than all of
    # these, has it not
    fixed_in: tuple[tuple[int, int, int], ...]
    what: str  # one clause
    source: str  # the advisory


#: Newest first. Kept small: full container escapes only, not every vulnerability. Engine releases
#: are those whose release notes name the fix (docs.docker.com/engine/release-notes).
ESCAPES = (
    Escape(
        name="CVE-2026-41567",
        fixed_in=((29, 5, 1),),
        what="copying a file into a container may start the container's own program as the host's root",
        source="https://github.com/moby/moby/security/advisories/GHSA-x86f-5xw2-fm2r",
    ),
    Escape(
        name="CVE-2025-31133",
        fixed_in=((28, 5, 2), (29, 0, 0)),
        what="runc could be led to write to the host's /proc (also CVE-2025-52565, CVE-2025-52881)",
        source="https://github.com/opencontainers/runc/security/advisories/GHSA-9493-h29p-rfm2",
    ),
    Escape(
        name="CVE-2024-21626",
        fixed_in=((24, 0, 9), (25, 0, 2)),
        what="runc left the host's files reachable through a container's working folder",
        source="https://github.com/opencontainers/runc/security/advisories/GHSA-xr7r-f8xq-vfvv",
    ),
    Escape(
        name="CVE-2019-5736",
        fixed_in=((18, 9, 2),),
        what="a container could overwrite runc itself",
        source="https://nvd.nist.gov/vuln/detail/CVE-2019-5736",
    ),
)


def known_escapes(version: str | None) -> tuple[Escape, ...]:
    """The published container escapes that an engine of this version has, going by its number.

    A distribution may have repaired its build without changing the number; the caller says so.
    """
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", version or "")
    if not found:
        return ()
    number = (int(found[1]), int(found[2]), int(found[3]))
    return tuple(escape for escape in ESCAPES if not _is_fixed(number, escape.fixed_in))


def _is_fixed(number: tuple[int, int, int], fixed_in: tuple[tuple[int, int, int], ...]) -> bool:
    return number >= max(fixed_in) or any(number[0] == fix[0] and number >= fix for fix in fixed_in)
