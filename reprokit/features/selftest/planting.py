"""Copies of a pair of runs and its golden, in which faults are planted and from which they are removed again.

No original is opened for writing, and no file is changed in place: what is written is another file, so that a
copy that shares its bytes with another one keeps them.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reprokit.compressed import unpack
from reprokit.errors import CannotJudgeError
from reprokit.harness.judging.seed_response import runs_with_other_seeds
from reprokit.layout import MARKER, METRICS, PROVENANCE, RECIPE, RECORD, SOURCE, TRACE
from reprokit.project import Project
from reprokit.runs.reading import files_of
from reprokit.workspace import sha256_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """What is copied: two finished runs that agree, their golden, and metrics with another seed, or None."""

    recipe: str
    runs: tuple[Path, Path]
    golden: Path | None
    other_seed: Path | None = None


@dataclass(slots=True, kw_only=True)
class Stage:
    """A project of its own with one pair of runs and one golden.

    Attributes:
        blessed: The copy of the golden, or None as long as there is none.
        other_seed: The metrics of a run with another seed, or None.
        report: A report of the untouched copies, once someone has drawn it.
        beside: Runs made of the first one: ``varied``, ``stopped``, ``resumed``, as far as it has a place.
    """

    project: Project
    runs: tuple[Path, Path]
    originals: tuple[Path, Path]
    blessed: Path | None
    other_seed: bytes | None
    report: Path | None = None
    beside: dict[str, Path] = field(default_factory=dict)
    _before: dict[Path, bytes | None] = field(default_factory=dict)

    @staticmethod
    @contextmanager
    def of(samples: Samples) -> Iterator[Stage]:
        """Copy the samples; the copies are gone when the block is left."""
        with tempfile.TemporaryDirectory(prefix="reprokit-selftest-") as folder:
            root = Path(folder).resolve()
            project = Project.around(root)
            run_dirs = tuple(project.runs_dir / samples.recipe / run.name for run in samples.runs)
            for original, copy in zip(samples.runs, run_dirs, strict=True):
                shutil.copytree(original, copy, symlinks=True)
            for other in runs_with_other_seeds(samples.runs[0]):
                if other.name not in {run.name for run in samples.runs}:
                    shutil.copytree(other, project.runs_dir / samples.recipe / other.name, symlinks=True)
            blessed = None
            if samples.golden is not None:
                blessed = project.golden_dir.joinpath(*samples.golden.absolute().parts[-3:])
                shutil.copytree(samples.golden, blessed, symlinks=True)
                for name in (METRICS, TRACE):  # faults are planted in the plain bytes
                    unpack(blessed / name)
            stage = Stage(
                project=project,
                runs=(run_dirs[0], run_dirs[1]),
                originals=samples.runs,
                blessed=blessed,
                other_seed=samples.other_seed.read_bytes() if samples.other_seed else None,
            )
            for copy in stage.runs:
                stage.leave_out_resume(copy)
            stage.keep()
            yield stage

    @property
    def golden(self) -> Path:
        """The copy of the golden; a ``CannotJudgeError`` where there is none yet."""
        if self.blessed is None:
            raise CannotJudgeError("there is no golden to plant a fault in")
        return self.blessed

    def leave_out_resume(self, folder: Path) -> None:
        """Make the recipe of a copy say nothing of resuming, which is no question of two runs alone."""
        record = read_object(folder / RECORD)
        told = record.get("recipe_data") or {}
        if told.get("resume"):
            told["resume"] = None
            self.write_json(folder / RECORD, record)
            self.write_json(folder / SOURCE / str(told["name"]) / RECIPE, told)
            self.seal(folder)

    def copied_afresh(self) -> None:
        """Exchange every folder for a fresh copy of itself, byte for byte."""
        for folder in (*self.runs, self.golden):
            beside = folder.with_name(f".{folder.name}")
            shutil.copytree(folder, beside, symlinks=True, copy_function=link_or_copy)
            shutil.rmtree(folder)
            beside.rename(folder)

    def write(self, path: Path, data: bytes) -> None:
        """Put a file in the place of another one; ``restore`` undoes it."""
        self._remember(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.fresh")
        beside.write_bytes(data)
        beside.replace(path)

    def write_json(self, path: Path, value: Mapping[str, Any]) -> None:
        self.write(path, f"{json.dumps(value, indent=2)}\n".encode())

    def write_all(self, folders: Sequence[Path], name: str, data: bytes) -> None:
        for folder in folders:
            self.write(folder / name, data)

    def remove(self, path: Path) -> None:
        """Take a file away; ``restore`` undoes it."""
        self._remember(path)
        path.unlink()

    def restore(self) -> None:
        for path, data in self._before.items():
            if data is None:
                path.unlink(missing_ok=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                beside = path.with_name(f".{path.name}.fresh")
                beside.write_bytes(data)
                beside.replace(path)
        self._before.clear()

    def keep(self) -> None:
        """Take what was written until now for the untouched state."""
        self._before.clear()

    def seal(self, folder: Path) -> None:
        """Make what says what a folder holds agree with what it now holds: a forgery that is consistent."""
        if folder == self.golden:
            self._seal_golden()
        elif (folder / MARKER).is_file():
            self._seal_run(folder)

    def _seal_run(self, folder: Path) -> None:
        marker = read_object(folder / MARKER)
        known = marker["files"]
        listed = {
            name: {"sha256": sha256_of(folder / name), "bytes": size}
            if folder / name in self._before or name not in known
            else known[name]
            for name, size in files_of(folder).items()
        }
        self.write_json(folder / MARKER, {**marker, "files": listed})

    def _seal_golden(self) -> None:
        told = read_object(self.golden / PROVENANCE)
        for name, what in ((METRICS, "metrics"), (TRACE, "trace")):
            with contextlib.suppress(FileNotFoundError):
                told["digests"][what] = sha256_of(self.golden / name)
        self.write_json(self.golden / PROVENANCE, told)

    def _remember(self, path: Path) -> None:
        if path not in self._before:
            self._before[path] = path.read_bytes() if path.is_file() else None


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object that is known to be one."""
    value: dict[str, Any] = json.loads(path.read_bytes())
    return value


def link_or_copy(source: str, target: str) -> str:
    """A copy that shares its bytes where the file system can: no file of a stage is changed in place."""
    try:
        os.link(source, target)
    except OSError:
        return str(shutil.copy2(source, target))
    return target
