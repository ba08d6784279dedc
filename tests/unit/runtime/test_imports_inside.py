"""What starts a trainer runs where the tool's own packages are not installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

STARTS = """\
import sys
class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name in {"psutil", "click", "docker", "git", "deepdiff", "scipy", "pydantic", "msgspec"}:
            raise ModuleNotFoundError(f"{name} is not installed")
sys.meta_path.insert(0, NotInstalled())
import reprokit.runtime.launch
import reprokit.runtime.launch_ranks
"""


def test_the_launcher_of_trainers_imports_no_package_that_only_the_tool_has():
    pytest.importorskip("torch")
    subprocess.run([sys.executable, "-c", STARTS], check=True)
