"""Puts into the wheel what `reprokit.packaged` looks for there, and a README for the package's own page."""

import re
import shutil
import tomllib
from pathlib import Path

from setuptools import setup
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
        cmdclass={"build_py": BuildWithFolders},
        long_description=readme(),
        long_description_content_type="text/markdown",
    )
