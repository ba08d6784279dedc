"""Where an unmodified program is not the one that its golden was made with: files, lines, both texts."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from itertools import islice, takewhile
from pathlib import Path

from reprokit.capture import git_history
from reprokit.core.provenance import Provenance
from reprokit.core.records import digest_bytes
from reprokit.errors import ReprokitError
from reprokit.layout import PROGRAM
from reprokit.project import Project
from reprokit.runs import StoredRun

_LONGEST = 60
_BEFORE = 20  # characters that are equal, before the first that is not
_LARGEST_BYTES = 1 << 20
_MOST = 8


def program_changes(golden: Path, provenance: Provenance, run: StoredRun) -> tuple[str, ...]:
    """Every place where the files that a run's program saw are not the golden's.

    Args:
        golden: The golden's folder; the commit that last touched it has the old text.
        provenance: Its ``provenance.json``.
        run: The run, whose folder holds the new text.

    Returns:
        ``file:line old → new``, the first of each stretch of lines; a file alone where its old text is in no
        commit. Empty for a recipe with a trainer.
    """
    before = provenance.program
    after = run.record.program.files if run.record.program else {}
    names = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    if not before or not names:
        return ()
    try:
        commit = git_history.last_commit(golden)
    except (ReprokitError, OSError):
        commit = ""
    project = Project.around(golden).root
    found = (
        one for name in names for one in _changes(name, before, project, commit, run.path / PROGRAM / name)
    )
    return tuple(one for _, one in zip(range(_MOST), found, strict=False))


def _changes(name: str, before: Mapping[str, str], project: Path, commit: str, new: Path) -> Iterator[str]:
    if name not in before:
        yield f"{name} is new"
    elif not new.is_file():
        yield f"{name} is gone"
    else:
        old = _old_text(name, before[name], project, commit)
        yield from (name,) if old is None else changed_lines(name, old, new.read_bytes())


def _old_text(name: str, sha256: str, project: Path, commit: str) -> bytes | None:
    """The file as the golden's commit has it; None where that is not what the golden was made with."""
    try:
        content = git_history.file_at(project, commit, name) if commit else b""
    except (ReprokitError, OSError):
        return None
    return content if digest_bytes(content) == sha256 else None


def changed_lines(name: str, old: bytes, new: bytes) -> Iterator[str]:
    """``name:line old → new``, the first of each stretch of lines; ``name`` alone where it is no text."""
    if not _can_be_compared(old, new):
        yield name
        return
    left, right = _texts(old, new)
    for kind, first, end, start, stop in difflib.SequenceMatcher(
        a=left, b=right, autojunk=False
    ).get_opcodes():
        if kind != "equal":
            was, now = " ".join(left[first:end]), " ".join(right[start:stop])
            yield f"{name}:{start + 1} {' → '.join(_shown(was, now))}"


def unified_lines(old: bytes, new: bytes) -> Iterator[str]:
    """A unified diff without the lines that name the files; nothing where it is no text."""
    if _can_be_compared(old, new):
        left, right = _texts(old, new)
        yield from islice(difflib.unified_diff(left, right, n=2, lineterm=""), 2, None)


def _can_be_compared(old: bytes, new: bytes) -> bool:
    return max(len(old), len(new)) <= _LARGEST_BYTES and b"\0" not in old + new and old != new


def _texts(old: bytes, new: bytes) -> tuple[list[str], list[str]]:
    return old.decode("utf-8", "replace").splitlines(), new.decode("utf-8", "replace").splitlines()


def _shown(was: str, now: str) -> Iterator[str]:
    """Both texts on one line each, in quotes; of long ones the part where they differ."""
    lines = [" ".join(text.split()) for text in (was, now)]
    equal = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*lines, strict=False)))
    start = equal - _BEFORE if equal >= _LONGEST - 1 else 0  # what differs would be cut off
    yield from (_cut(line, start) for line in lines)


def _cut(line: str, start: int) -> str:
    if not line:
        return "nothing"
    found = f"…{line[start:]}" if start else line
    return repr(found if len(found) <= _LONGEST else f"{found[: _LONGEST - 1]}…")
