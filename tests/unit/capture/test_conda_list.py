"""What conda has installed, by its own records in an environment."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from reprokit.capture.conda_list import explicit_list, prefix_of


def test_every_package_is_listed_with_its_address_and_digest_in_one_order(tmp_path):
    folder = tmp_path / "conda-meta"
    folder.mkdir()
    for name in ("b", "a"):
        (folder / f"{name}.json").write_text(
            json.dumps({"url": f"https://example.org/{name}.conda", "md5": "0f"})
        )
    (folder / "torn.json").write_text("{")
    assert explicit_list(tmp_path).splitlines() == [
        "@EXPLICIT",
        "# torn.json cannot be read",
        "https://example.org/a.conda#0f",
        "https://example.org/b.conda#0f",
    ]


def test_no_environment_of_conda_has_no_list(tmp_path):
    assert explicit_list(tmp_path) == ""


def test_the_environment_is_that_of_the_python_that_the_command_starts(tmp_path):
    assert prefix_of([sys.executable, "train.py"], folder=tmp_path) == Path(sys.prefix)
