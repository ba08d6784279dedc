"""Programs that start several processes as one: which of these failed first, and what it said.

The launcher's own error names a process and no reason; the reason stands above it, if that process said one.
"""

from __future__ import annotations

import re
from collections.abc import Callable

#: How the error of a launcher begins: of torchrun, and of accelerate, which calls it or starts one process.
_ERRORS = re.compile(
    r"^(?:torch\.distributed\.\S+\.ChildFailedError|subprocess\.CalledProcessError|CalledProcessError): ?",
    re.MULTILINE,
)
_TRACEBACK = "Traceback (most recent call last):"
_ROOT = re.compile(r"Root Cause \(first observed failure\):(.*)", re.DOTALL)
_RANK = re.compile(r"^\s*rank\s*: (\d+)", re.MULTILINE)
_EXIT_CODE = re.compile(r"^\s*exitcode\s*: (-?\d+) \(pid: \d+\)[ \t]*(?:\((SIG\w+)\))?", re.MULTILINE)
#: How our own launcher of ranks ends (``runtime.launch_ranks``).
_OWN = re.compile(r"^error: (rank (\d+) \S.*)\s*\Z", re.MULTILINE)
_OF_RANK = re.compile(r"^\[rank(\d+)\]: ?", re.MULTILINE)


def root_cause(stderr_tail: str, *, words_of: Callable[[str], str]) -> str:
    """Which process failed first and why, "" where no launcher ended the program.

    Args:
        stderr_tail: The end of what was printed to stderr.
        words_of: What one program's output says of its end.
    """
    own = _OWN.search(stderr_tail)
    if own is not None:
        said = "\n".join(_marked(own[2], stderr_tail))
        return f"{own[1]}: {words_of(said)}" if "exit code" in own[1] and said else own[1]
    errors = list(_ERRORS.finditer(stderr_tail))
    if not errors:
        return ""
    above = stderr_tail[: max(0, stderr_tail.rfind(_TRACEBACK, 0, errors[-1].start()))]
    root = _ROOT.search(stderr_tail, errors[-1].start())
    told = root[1] if root else ""
    rank, code = _RANK.search(told), _EXIT_CODE.search(told)
    name = f"rank {rank[1]}: " if rank else ""
    said = _said_by(rank[1] if rank else "", above)
    if _TRACEBACK in said and not (code and code[2]):
        return f"{name}{words_of(said)}"
    if code:
        return f"{name}ended by {code[2]}" if code[2] else f"{name}exit code {code[1]}"
    return ""


def _said_by(rank: str, text: str) -> str:
    """The lines that a process marked as its own, without the mark; all lines where none did."""
    return "\n".join(_marked(rank, text)) or text


def _marked(rank: str, text: str) -> list[str]:
    return [_OF_RANK.sub("", line) for line in text.splitlines() if line.startswith(f"[rank{rank}]:")]
