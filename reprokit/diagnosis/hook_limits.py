"""What the hook could not record in a program: one sentence for each limit that was met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reprokit.diagnosis.traces import HookTrace

_BEGINS = "limits "


def limits_of(trace: HookTrace) -> tuple[str, ...]:
    """A sentence for each kind of thing in a finished run that could not be recorded."""
    seen = [one for name, one in trace.facts.items() if name.startswith(_BEGINS) and isinstance(one, Mapping)]
    by_effect = "is imported: its operations and draws are seen only by their effect"
    sentences = [f"{name} {by_effect}" for name in _all(seen, "frameworks")]
    kernels = _all(seen, "kernels")
    if kernels:
        sentences.append(f"kernels of its own ({', '.join(kernels)}): what they compute is seen, not how")
    extensions = _all(seen, "extensions")
    if extensions:
        sentences.append(
            f"compiled code of {', '.join(extensions)}: "
            "where it draws numbers from is seen only by its effect"
        )
    native = max((_number(one, "native_threads") for one in seen), default=0)
    if native:
        threads = f"{native} thread{'s' if native > 1 else ''} of C or C++ libraries"
        python = max(_number(one, "python_threads") for one in seen)
        sentences.append(f"{threads} worked beside {python} of Python: in which order is not recorded")
    unwatched = trace.started - trace.processes
    if unwatched > 0:
        sentences.append(
            f"{unwatched} of {trace.started} Python processes ended without a trace: killed, or by _exit"
        )
    return tuple(sentences)


def compiled_packages(trace: HookTrace) -> frozenset[str]:
    """Packages with compiled code, other than NumPy's and PyTorch's."""
    return frozenset(
        name
        for fact, one in trace.facts.items()
        if fact.startswith(_BEGINS) and isinstance(one, Mapping)
        for name in (*_all([one], "extensions"), *_all([one], "frameworks"))
    )


def computing_threads(trace: HookTrace) -> dict[str, int]:
    """With how many threads a run's numeric libraries computed: library → the most of any process."""
    found: dict[str, int] = {}
    for name, one in trace.facts.items():
        if name.startswith(_BEGINS) and isinstance(one, Mapping):
            for library, count in (one.get("computing_threads") or {}).items():
                found[library] = max(found.get(library, 0), int(count))
    return found


def _all(seen: Sequence[Mapping[str, Any]], kind: str) -> list[str]:
    return sorted({str(name) for one in seen for name in one.get(kind) or ()})


def _number(one: Mapping[str, Any], kind: str) -> int:
    value = one.get(kind)
    return value if isinstance(value, int) else 0
