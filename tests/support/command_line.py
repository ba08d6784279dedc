"""The command, called in this process as its entry point calls it.

>>> reprokit("data", "show", "table.csv")
0
"""

from __future__ import annotations

import pytest

from reprokit.cli import main


def reprokit(*words: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return int(ended.value.code or 0)
