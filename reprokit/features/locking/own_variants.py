"""Makes an environment of a person's own: a folder under ``images/`` with all that it is built from.

``images/<name>/`` holds ``variant.toml`` (bases by digest, and what was asked for), ``requirements.lock``,
``Dockerfile``, ``base/``, and in ``local/`` the wheels that no index has. Bases and Dockerfile are copied
when the environment is first made, and stay: a later version of this tool changes no environment.

    >>> files = [Path("requirements.txt")]
    >>> lock_from("mine", files, project=Path("."), choice=Choice(), on_progress=print).moved
    ('numpy (none) -> 2.4.6', 'xgboost (none) -> 3.2.0')
"""

from __future__ import annotations

import dataclasses
import platform
import shutil
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reprokit.errors import ImageError
from reprokit.features.locking import local_wheels, variant_file
from reprokit.features.locking.choose_python import (
    ChosenPython,
    CommandPython,
    Wish,
    as_version,
    choose_python,
    python_of,
    version_file,
)
from reprokit.features.locking.dependencies import Dependencies, Wanted, combined, read_dependencies
from reprokit.features.locking.own_base import bring_base, with_bases
from reprokit.features.locking.project_file import editable_of
from reprokit.features.locking.python_limits import PythonLimit, limits_of
from reprokit.features.locking.solve import head, rendered, versions_of
from reprokit.features.locking.solve_target import SourceOnlyError, allowed_hashes
from reprokit.features.locking.torch_builds import solve_for_device
from reprokit.features.locking.variant_file import Declared, VariantChoice
from reprokit.images import interpreters, locks
from reprokit.images.building.debian_packages import moved_versions
from reprokit.images.cache import Progress
from reprokit.images.interpreters import SUPPORTED
from reprokit.images.locks import Variant, must_be_name, read_lock
from reprokit.images.packages import Package, read_packages, read_text
from reprokit.layout import LOCK
from reprokit.packaged import packaged
from reprokit.project import project_folder
from reprokit.workspace import cannot_write, write_atomic

__all__ = ["Relocked", "VariantChoice", "lock_again", "lock_from"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Relocked:
    """Whether a lock agreed with what its input solves to, the version changes, a line each, and its Python.

    Attributes:
        python: Its minor version and why it is the one, as a sentence says it.
    """

    agrees: bool
    moved: tuple[str, ...]
    python: str = ""


def lock_from_file(
    name: str,
    source: Path,
    *,
    project: Path,
    command: Sequence[str],
    started_in: Path,
    python: str | None,
    fetch: bool,
    on_progress: Progress,
) -> str:
    """Lock an environment from one file of a project, in the Python of the program; see ``lock_from``.

    Args:
        name: Of the environment.
        source: The file.
        project: The folder that holds ``images/``, or will.
        command: The program's command line.
        started_in: The folder in which a person starts it: ``project`` may be a copy of it.
        python: The version that is asked for, or None.
        fetch: Whether uv may fetch an interpreter that this host does not have.
        on_progress: Called with one line for a person now and then.

    Returns:
        Its Python, and why it is the one.

    Raises:
        ImageError: As for ``lock_from``; or uv cannot fetch the interpreter.
        UsageError: As for ``lock_from``.
    """
    made = lock_from(
        name,
        [source],
        project=project,
        choice=VariantChoice(python=python),
        command=python_of(command, root=started_in),
        build_missing=True,
        on_progress=on_progress,
    )
    if fetch:
        variant = locks.read_lock(project).variant(name)
        interpreters.find_interpreter(variant.python, fetch=True, on_progress=on_progress)
    return made.python


def lock_from(
    name: str,
    sources: Sequence[Path],
    *,
    project: Path,
    choice: VariantChoice,
    command: CommandPython | None = None,
    build_missing: bool = False,
    write: bool = True,
    on_progress: Progress,
) -> Relocked:
    """Lock what a project's files ask for as the environment ``images/<name>``; again: keep what still fits.

    Args:
        name: Of the environment.
        sources: Files of the project: requirements*.txt, uv.lock, pylock.toml, pyproject.toml, poetry.lock,
            environment.yml. Several are taken together; none: those of the environment that is there.
        project: The folder that holds ``images/``, or will.
        choice: Extras, groups, Python and so on; what is None there stays as it was.
        command: The Python that the program's command starts, which decides where nothing else does.
        build_missing: Whether to build what has no wheel, as if ``choice.build`` named it.
        write: Whether to write it, or only to say what would change.
        on_progress: Called with one line for a person now and then.

    Raises:
        UsageError: What is asked for contradicts a file; both are named.
        ImageError: A file cannot be read, something cannot be pinned (the message names it), there is no
            solution, or the package index could not be reached.
        WorkspaceError: ``images/`` cannot be written.
    """
    if choice.python is not None:
        choice = dataclasses.replace(choice, python=as_version(choice.python))
    images_dir = project_folder(project, "images")
    folder = images_dir / must_be_name(name, where=str(images_dir))
    before = variant_file.read(folder / locks.VARIANT)
    if before is None:
        if (images_dir / "lock.toml").is_file() and name in read_lock(project).variants:
            what = f"the environment {name!r} is declared in images/lock.toml"
            fix = "choose another name, or edit its requirements.in"
            raise ImageError(what, where=str(folder), fix=fix)
        before = variant_file.new(tomllib.loads(read_text(packaged("images") / "lock.toml")))
    named = tuple(_inside(path, project) for path in sources) or before.sources
    machine = choice.machine or (None if before.machines else platform.machine())
    declared = variant_file.chosen(before, choice, sources=named, machine=_as_linux_says(machine))
    found = _chosen_python(declared, asked=choice.python, folder=folder, project=project, command=command)
    declared = dataclasses.replace(declared, python=found.python)
    if found.python != before.python:
        declared = with_bases(declared, on_progress=on_progress)
    with tempfile.TemporaryDirectory(prefix="reprokit-built-") as built:
        while True:
            try:
                made = _lock(
                    folder, declared, project=project, built=Path(built), write=write, on_progress=on_progress
                )
                break
            except SourceOnlyError as error:
                if not build_missing or not set(error.requirements).isdisjoint(declared.build):
                    raise
                declared = dataclasses.replace(declared, build=(*declared.build, *error.requirements))
    return dataclasses.replace(made, python=found.sentence)


def lock_again(project: Path, variant: Variant, *, write: bool, on_progress: Progress) -> Relocked:
    """Solve an environment of ``lock_from`` again from the files it was made from.

    Raises:
        ImageError: As for ``lock_from``.
    """
    return lock_from(
        variant.name, (), project=project, choice=VariantChoice(), write=write, on_progress=on_progress
    )


def _lock(
    folder: Path, declared: Declared, *, project: Path, built: Path, write: bool, on_progress: Progress
) -> Relocked:
    """Make the folder again elsewhere, and replace its files only when all of it is there."""
    asked = _dependencies(declared, project=project)
    editables = tuple(editable_of(one) for one in asked.editable)
    imports = tuple(dict.fromkeys(_inside(editable.imports_from, project) for editable in editables))
    declared = dataclasses.replace(declared, imports_from=imports)
    with tempfile.TemporaryDirectory(prefix="reprokit-lock-") as name:
        made = Path(name) / folder.name
        if folder.is_dir():
            shutil.copytree(folder, made)
        made.mkdir(exist_ok=True)
        before = variant_file.read(made / locks.VARIANT)
        had = read_packages(made / LOCK) if (made / LOCK).is_file() else ()
        local_wheels.fill(
            made / "local",
            asked.wheels,
            editables,
            build=declared.build,
            python=declared.python,
            allowed=allowed_hashes(asked),
            built=built,
            on_progress=on_progress,
        )
        sources = ", ".join(declared.sources)
        on_progress(f"solving {sources} for Python {declared.python} on {declared.machines[0]}")
        packages, declared = solve_for_device(asked, declared, folder=made, on_progress=on_progress)
        (made / LOCK).write_text(_text(folder.name, packages), encoding="utf-8")
        (made / locks.VARIANT).write_text(variant_file.text(folder.name, declared), encoding="utf-8")
        is_same = before is None or before.base["bootstrap"] == declared.base["bootstrap"]
        bring_base(made, declared, is_same=is_same, on_progress=on_progress)
        agrees = folder.is_dir() and _without_remarks(made) == _without_remarks(folder)
        if agrees:
            on_progress(f"{folder}: agrees with {sources}")
        elif write:
            _replace(made, folder)
            on_progress(f"the environment {folder.name} is locked")
        else:
            on_progress(f"{folder}: differs from what {sources} solves to")
    return Relocked(agrees=agrees, moved=moved_versions(versions_of(had), versions_of(packages)))


def _dependencies(declared: Declared, *, project: Path) -> Dependencies:
    wanted = Wanted(
        extras=declared.extras, groups=declared.groups, python=declared.python, machine=declared.machines[0]
    )
    return combined(
        read_dependencies(project / source, root=project, wanted=wanted) for source in declared.sources
    )


def _chosen_python(
    declared: Declared, *, asked: str | None, folder: Path, project: Path, command: CommandPython | None
) -> ChosenPython:
    """The Python that is asked for, that it had, that ``.python-version`` names, or of the command."""
    if asked:
        wishes = [Wish(asked, "--python")]
    elif declared.python:
        wishes = [Wish(declared.python, _inside(folder / locks.VARIANT, project))]
    else:
        wishes = [wish for wish in [version_file(project)] if wish is not None]
    reading = dataclasses.replace(declared, python=declared.python or SUPPORTED[0])
    limits = {limit.where: limit for limit in limits_of(project)}
    for source in declared.sources:
        if text := _dependencies(dataclasses.replace(reading, sources=(source,)), project=project).python:
            limits[source] = PythonLimit(text, source)
    return choose_python(wishes, tuple(limits.values()), command=command)


def _text(name: str, packages: Sequence[Package]) -> str:
    return head(f"reprokit image lock {name}") + "".join(map(rendered, packages))


def _contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def _without_remarks(folder: Path) -> dict[str, bytes]:
    """The same without remarks in variant.toml: an older tool wrote others, which ask for nothing."""
    found = _contents(folder)
    lines = found.get(locks.VARIANT, b"").splitlines(keepends=True)
    return {**found, locks.VARIANT: b"".join(line for line in lines if not line.startswith(b"#"))}


def _replace(made: Path, folder: Path) -> None:
    wanted = _contents(made)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in sorted(_contents(folder).keys() - wanted.keys()):
            (folder / name).unlink()
        for name, content in wanted.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            write_atomic(folder / name, content)
    except OSError as error:
        raise cannot_write(folder, error) from error


def _inside(path: Path, project: Path) -> str:
    found = path.resolve()
    if not found.is_relative_to(project.resolve()):
        expected = f"a path below {project}"
        raise ImageError("the file is outside the project", where=str(path), expected=expected)
    return found.relative_to(project.resolve()).as_posix()


def _as_linux_says(machine: str | None) -> str | None:
    return {"arm64": "aarch64", "AMD64": "x86_64"}.get(machine or "", machine)
