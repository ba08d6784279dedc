r"""Tables and text of unknown origin, as a terminal may see them.

>>> print("\n".join(table([{"run": "a", "seed": 42}])))
run  seed
a    42
"""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from reprokit.reports.escaping import one_line

# Nothing in these acts on a terminal or a CI runner; a list has ten thousand of them.
_PLAIN = re.compile(r"[A-Za-z0-9 _.,+/()=%-]*(?::[A-Za-z0-9 _.,+/()=%-]+)*")


def shown(value: Any, *, limit: int = 200) -> str:
    """A value from a file that anybody may have written, as one line that acts on nothing."""
    text = "-" if value is None or value == "" else str(value)
    if len(text) <= limit and _PLAIN.fullmatch(text):
        return text
    return one_line(text, limit=limit)


def table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Lines of a table: the keys of the first row, then the rows, columns as wide as they must be."""
    if not rows:
        return []
    cells = [[*rows[0]], *([shown(row[key]) for key in rows[0]] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]


def bytes_text(size: float) -> str:
    """``1.5 MiB``."""
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


def folded(text: str, *, indent: int) -> str:
    """A line that goes on below its own beginning on a terminal; elsewhere left whole, for ``grep``."""
    if not sys.stdout.isatty():
        return text
    return textwrap.fill(
        text,
        max(shutil.get_terminal_size().columns, indent + 20),
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
        replace_whitespace=False,
    )
