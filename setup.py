"""Puts into the wheel what `reprokit.packaged` looks for there: what images are made from, pages of docs/."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
FILES = [
    *(ROOT / "images" / name for name in ("lock.toml", "Dockerfile")),
    *ROOT.glob("images/base/*.lock"),
    *(
        page
        for kind in ("tutorial", "how-to", "reference", "explanation")
        for page in ROOT.glob(f"docs/{kind}/*.md")
    ),
]


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


setup(cmdclass={"build_py": BuildWithFolders})
