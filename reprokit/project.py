"""Where a project keeps its recipes, goldens, runs and reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """The folders that one command works in, all absolute."""

    root: Path
    recipes_dir: Path
    golden_dir: Path
    runs_dir: Path
    reports_dir: Path
    # The options that name the folders which are not the default ones, from `root` where inside it
    options: tuple[str, ...] = ()
    # Whether `make reproduce` works here: the project has the Makefile that calls this tool
    has_make: bool = False

    @staticmethod
    def around(
        start: Path,
        *,
        golden_dir: Path | None = None,
        runs_dir: Path | None = None,
        reports_dir: Path | None = None,
    ) -> Project:
        """The project of the nearest folder from ``start`` up with ``recipes/``; else that of ``start``."""
        start = start.resolve()
        root = next((folder for folder in (start, *start.parents) if (folder / "recipes").is_dir()), start)
        named = {"golden": golden_dir, "runs": runs_dir, "reports": reports_dir}
        places = {name: (folder or root / name).resolve() for name, folder in named.items()}
        return Project(
            root=root,
            recipes_dir=root / "recipes",
            golden_dir=places["golden"],
            runs_dir=places["runs"],
            reports_dir=places["reports"],
            options=tuple(_options(root, places)),
            has_make=_has_make(root / "Makefile"),
        )


def _options(root: Path, places: Mapping[str, Path]) -> Iterator[str]:
    for name, folder in places.items():
        if folder != (root / name).resolve():
            yield "--golden" if name == "golden" else f"--{name}-dir"
            yield str(folder.relative_to(root) if folder.is_relative_to(root) else folder)


def _has_make(makefile: Path) -> bool:
    try:
        return "reprokit reproduce $(RECIPE)" in makefile.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
