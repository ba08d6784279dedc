"""Puts into the wheel what `reprokit.packaged` looks for there, and a README for the package's own page.

With REPROKIT_TAPS_FOR=x86_64 or aarch64 the wheel is one for that machine (Linux, glibc from 2.17 on) and
brings the native taps of `diagnose`, built by the package `ziglang` wherever this runs. Without it the wheel
is one for all, and the taps are built where they are first needed.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
FILES = [
    *(ROOT / "images" / name for name in ("lock.toml", "Dockerfile")),
    *ROOT.glob("images/base/**/*.lock"),
    *(
        page
        for kind in ("tutorial", "how-to", "reference", "explanation", "evidence")
        for page in ROOT.glob(f"docs/{kind}/*.md")
    ),
]

TAPS = "reprokit/harness/diagnosing/taps"
#: For which machine the taps are built; "" for none.
MACHINE = os.environ.get("REPROKIT_TAPS_FOR", "")
_GLIBC = (2, 17)

_RELATIVE_LINK = re.compile(r"\]\((?![a-z]+:|#)([^)]+)\)")
_PICTURES = (".png", ".svg")


class BuildWithFolders(build_py):
    """Copies files from outside the package; an editable install finds them where they are."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        for path in FILES:
            target = Path(self.build_lib) / "reprokit" / "packaged" / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        if MACHINE:
            build_taps(Path(self.build_lib) / TAPS / "taps.so")


class WheelForMachine(bdist_wheel):
    """A wheel that any Python 3 takes; on one kind of machine, where it brings the taps."""

    def get_tag(self) -> tuple[str, str, str]:
        if not MACHINE:
            return super().get_tag()
        return "py3", "none", f"manylinux_{_GLIBC[0]}_{_GLIBC[1]}_{MACHINE}"


def build_taps(library: Path) -> None:
    """Build the native taps for another machine than this one, or for this one."""
    target = f"{MACHINE}-linux-gnu.{_GLIBC[0]}.{_GLIBC[1]}"
    options = ["-shared", "-fPIC", "-O2", "-s", "-fasynchronous-unwind-tables", "-target", target]
    source, libraries = str(ROOT / TAPS / "taps.c"), ["-ldl", "-lpthread"]
    command = [sys.executable, "-m", "ziglang", "cc", *options, "-o", str(library), source, *libraries]
    subprocess.run(command, check=True)


def with_absolute_links(text: str, *, repository: str) -> str:
    """A page whose links to other files lead to the repository: elsewhere a relative one leads nowhere.

    >>> with_absolute_links("[a](docs/a.md) ![b](docs/b.svg)", repository="https://host/o/r")
    '[a](https://host/o/r/blob/main/docs/a.md) ![b](https://host/o/r/raw/main/docs/b.svg)'
    """
    return _RELATIVE_LINK.sub(
        lambda link: f"]({repository}/{'raw' if link[1].endswith(_PICTURES) else 'blob'}/main/{link[1]})",
        text,
    )


def readme() -> str:
    """README.md as the package's page shows it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return with_absolute_links(text, repository=project["urls"]["Source"])


if __name__ == "__main__":
    setup(
        cmdclass={"build_py": BuildWithFolders, "bdist_wheel": WheelForMachine},
        long_description=readme(),
        long_description_content_type="text/markdown",
    )
