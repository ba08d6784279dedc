"""The words that resume a program from ``{stopped_run_dir}``, and the file that a pattern in them means."""

from __future__ import annotations

import glob
import re
from pathlib import Path

PLACEHOLDER = "{stopped_run_dir}"


def chosen_in(word: str, left: Path, *, last: bool = False) -> str | None:
    """A word with its pattern replaced by one file: of those that fit it, the middle one, or the last.

    Args:
        word: As a person wrote it: ``{stopped_run_dir}/checkpoint_*.pt``.
        left: The folder that the placeholder stands for.
        last: What a killed run wrote last is taken.

    Returns:
        The word, its placeholder kept; None where no file fits the pattern.
    """
    pattern = pattern_of(word)
    if pattern is None:
        return word
    before, _, _ = word.partition(PLACEHOLDER)
    fitting = sorted((path.relative_to(left).as_posix() for path in left.glob(pattern)), key=_natural)
    number = len(fitting) - 1 if last else (len(fitting) - 1) // 2
    return f"{before}{PLACEHOLDER}/{fitting[number]}" if fitting else None


def pattern_of(word: str) -> str | None:
    """The pattern below ``{stopped_run_dir}`` in a word; None where there is none."""
    if PLACEHOLDER not in word or not glob.has_magic(word.replace(PLACEHOLDER, "")):
        return None
    return word.partition(PLACEHOLDER)[2].lstrip("/")


def _natural(path: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", path)]
