"""Why a program does not find a module: git does not track it, a submodule has it, or our Python ran it."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path, PurePosixPath

from reprokit.capture.interpreter import find_python
from reprokit.core.records import Outcome, RunResult, RunSpec
from reprokit.errors import UsageError
from reprokit.harness.running.programs.program_files import submodules, tracked_files

MISSING = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")


def explained(result: RunResult, *, project: Path | None, seen: Collection[str]) -> RunResult:
    """The result; where a module was not found that lies in the project and was not copied, with its file.

    Args:
        result: How a run ended.
        project: The project's folder, where the program's files are from.
        seen: Names of the files that the program saw.
    """
    missing = MISSING.search(result.message)
    if project is None or result.outcome != Outcome.CRASHED or missing is None:
        return result
    file = file_of(missing[1], project, seen)
    try:
        tracked = tracked_files(project) if file else ()
        below = _submodule_of(missing[1], project)
    except UsageError:  # in no git repository, as an unpacked bundle
        return result
    if below is not None:
        return replace(
            result,
            message=f"{result.message}; it lies in the submodule {below}, whose files no run has",
            remedy=f"put the files of {below} into the project itself, or install it as a package",
        )
    if file is None:
        return result
    if file in tracked:
        return replace(result, remedy=f"add {file} to `sees` in the recipe: the program does not see it")
    added = file.removesuffix("/__init__.py")
    return replace(
        result,
        message=f"{result.message}; git does not track {file}, so the program does not see it",
        remedy=f"git add {added}",
    )


def in_own_python(result: RunResult, spec: RunSpec) -> RunResult:
    """The result; where a module was not found and nothing but reprokit's own Python ran, which that was."""
    missing = MISSING.search(result.message)
    if result.outcome != Outcome.CRASHED or missing is None or spec.realisation is not None:
        return result
    python = find_python(spec.command)
    if python is None or Path(python).parent != Path(sys.executable).parent:
        return result
    return replace(
        result,
        message=f"{result.message}; {python} is the Python that reprokit itself is installed in",
        remedy="activate the program's own environment, and call reprokit by its whole path; "
        f"or install {missing[1]} next to reprokit",
    )


def _submodule_of(name: str, project: Path) -> str | None:
    """The submodule of a project in which a module lies, as far as its name and the usual folders say."""
    module = Path(*name.split("."))
    for one in submodules(project):
        for folder in (Path(one).parent, Path(one), Path(one, "src")):
            here = project / folder / module
            if here.is_relative_to(project / one) and (here.is_dir() or here.with_suffix(".py").is_file()):
                return one
    return None


def file_of(name: str, project: Path, seen: Collection[str]) -> str | None:
    """The module's file next to what the program saw, and not among that; the topmost first."""
    module = name.replace(".", "/")
    folders = sorted({PurePosixPath(name).parent for name in seen}, key=lambda folder: len(folder.parts))
    for folder in folders:
        for file in (f"{folder / module}.py", str(folder / module / "__init__.py")):
            if file not in seen and (project / file).is_file():
                return file
    return None
