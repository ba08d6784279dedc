"""A cause: the process ID, which users of PBS take for the number of their job."""

from collections.abc import Mapping
from typing import Any

from reprokit.api.extensions import NamedCause, Proposal


def propose(found: Mapping[str, Any]) -> Proposal | None:
    for tap in found["taps"]:
        if tap["kind"] == "process_id" and tap["differs"]:
            return Proposal(
                what="uses the process ID, which PBS users take for the job's number",
                fix="take PBS_ARRAY_INDEX, and record it as a setting",
                file=tap["file"],
                line=tap["line"],
            )
    return None


CAUSE = NamedCause(propose=propose)
