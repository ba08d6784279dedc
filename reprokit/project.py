"""Where a project keeps its recipes, goldens, runs and reports."""

from __future__ import annotations

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

    @property
    def has_make(self) -> bool:
        """Whether `make reproduce` works here: the project has the Makefile that calls this tool."""
        try:
            return "reprokit reproduce $(RECIPE)" in (self.root / "Makefile").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return False

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
        return Project(
            root=root,
            recipes_dir=root / "recipes",
            golden_dir=(golden_dir or root / "golden").resolve(),
            runs_dir=(runs_dir or root / "runs").resolve(),
            reports_dir=(reports_dir or root / "reports").resolve(),
        )

    @property
    def options(self) -> tuple[str, ...]:
        """The options that name the folders which are not the default ones, from ``root`` where inside it."""
        places = {"golden": self.golden_dir, "runs": self.runs_dir, "reports": self.reports_dir}
        words: list[str] = []
        for name, folder in places.items():
            if folder != (self.root / name).resolve():
                inside = folder.is_relative_to(self.root)
                option = "--golden" if name == "golden" else f"--{name}-dir"
                words += [option, str(folder.relative_to(self.root) if inside else folder)]
        return tuple(words)
