"""What a script says of itself in its comments."""

from __future__ import annotations

import pytest

from reprokit.errors import ImageError
from reprokit.features.locking.dependencies import Wanted, read_dependencies

BLOCK = """\
#!/usr/bin/env python
# /// script
# requires-python = ">=3.10"
# dependencies = [
#   "numpy<3",
#   "tqdm",
# ]
# ///
import numpy
"""


def read(path, text):
    path.write_text(text)
    return read_dependencies(path, root=path.parent, wanted=Wanted())


def test_its_dependencies_and_its_python(tmp_path):
    found = read(tmp_path / "train.py", BLOCK)
    assert [one.text for one in found.requirements] == ["numpy<3", "tqdm"]
    assert found.python == ">=3.10"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("import numpy\n", "0 blocks"),
        (BLOCK + BLOCK, "2 blocks"),
        (BLOCK.replace('">=3.10"', "three"), "not valid TOML"),
        (BLOCK.replace("tqdm", "tqdm @ git+https://example.org/tqdm"), "cannot be pinned"),
    ],
)
def test_what_cannot_be_locked_is_told(tmp_path, text, what):
    with pytest.raises(ImageError, match=what):
        read(tmp_path / "train.py", text)
