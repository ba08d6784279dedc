"""A git repository with an unmodified program and its recipe, run in this Python, so that it is quick."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from reprokit.harness import Request, reproduce
from reprokit.harness.curation.promote import promote
from reprokit.project import Project
from tests.support.recorded_progress import RecordedProgress


@dataclass(frozen=True)
class Repository:
    root: Path

    def write(self, **files: str) -> None:
        for name, text in files.items():
            path = self.root / name.replace("__", "/").replace("_py", ".py").replace("_yaml", ".yaml")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.commit()

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "a change")

    def git(self, *arguments: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *identity, *arguments], cwd=self.root, check=True)

    def reproduce(self, **asked):
        request = Request(backend="local", side_by_side=False, **asked)
        project = Project.around(self.root)
        return reproduce("train", request, project=project, progress=RecordedProgress())[0]

    def promote(self, report) -> None:
        folders = [Path(run) for run in report.runs]
        promote(folders, project=Project.around(self.root), reason="first", now="2026-01-01T00:00:00+00:00")
        self.commit()
