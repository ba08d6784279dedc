"""What a watch could not see in a program, in words: limits that were met, not limits that there are.

This module knows the hook's counts; it refuses to know what follows for an answer.

    >>> limits_of(trace)
    ('jax is imported: its operations and draws are seen only by their effect',)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reprokit.diagnosis.traces import Trace

_BEGINS = "limits "


def limits_of(trace: Trace) -> tuple[str, ...]:
    """A sentence for every kind of thing that was there and could not be watched.

    Args:
        trace: Of a run to its end.
    """
    seen = [one for name, one in trace.facts.items() if name.startswith(_BEGINS) and isinstance(one, Mapping)]
    told = [
        f"{name} is imported: its operations and draws are seen only by their effect"
        for name in _all(seen, "frameworks")
    ]
    kernels = _all(seen, "kernels")
    if kernels:
        told.append(f"kernels of its own ({', '.join(kernels)}): what they compute is seen, not how")
    extensions = _all(seen, "extensions")
    if extensions:
        told.append(f"compiled code of {', '.join(extensions)}: what it draws on is seen only by its effect")
    native = max((_number(one, "native_threads") for one in seen), default=0)
    if native:
        threads = f"{native} thread{'s' if native > 1 else ''} of C or C++ libraries"
        python = max(_number(one, "python_threads") for one in seen)
        told.append(f"{threads} beside {python} of Python: in which order they work is not recorded")
    unwatched = trace.started - trace.processes
    if unwatched > 0:
        told.append(
            f"{unwatched} of {trace.started} Python processes ended without a trace: killed, or by _exit"
        )
    return tuple(told)


def _all(seen: Sequence[Mapping[str, Any]], kind: str) -> list[str]:
    return sorted({str(name) for one in seen for name in one.get(kind) or ()})


def _number(one: Mapping[str, Any], kind: str) -> int:
    value = one.get(kind)
    return value if isinstance(value, int) else 0
