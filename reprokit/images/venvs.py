"""A variant as a virtual environment on this host, from the very same wheels as its image.

An environment is whole or not there; its packages are those of the lock.

    >>> realise(variant, cache=cache, on_progress=print).python
    '/home/me/.cache/reprokit/venvs/cpu-9d0c…/bin/python'
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reprokit.core.records import Realisation, digest
from reprokit.errors import ImageError
from reprokit.images import byte_code, installed_files, wheels
from reprokit.images.cache import Progress, held, mark_used
from reprokit.images.installed_files import MARKER, Installed
from reprokit.images.interpreters import Interpreter, find_interpreter
from reprokit.images.locks import Variant
from reprokit.images.packages import Target, digest_of, packages_for, read_packages
from reprokit.images.subprocesses import heartbeat, run_command, uv_program
from reprokit.workspace import cannot_write, write_json

_RECIPE_VERSION = 4  # of how an environment is made; raise it when `_make` changes what comes out


def realise(variant: Variant, *, cache: Path, on_progress: Progress) -> Realisation:
    """Find the environment of a variant's lock in the cache, or make it.

    Raises:
        ImageError: The host is no Linux with glibc, has no fitting Python and cannot get one, or
            the wheels cannot be fetched or installed.
    """
    target = Target(machine=_this_machine(), python=variant.python)
    interpreter = find_interpreter(variant.python, fetch=False, on_progress=on_progress)
    made_from = {
        "recipe_version": _RECIPE_VERSION,
        "lock_digest": digest_of(variant.packages_path),
        "machine": target.machine,
        "python": interpreter.version,
        "python_path": interpreter.path,
    }
    folder = cache / "venvs" / f"{variant.name}-{digest(made_from).removeprefix('sha256:')[:16]}"
    if not _is_whole(folder, made_from):
        with held(cache, f"venv-{folder.name}", on_progress=on_progress):
            if not _is_whole(folder, made_from):
                from_wheels = wheels.fetch(variant, target, cache=cache, on_progress=on_progress)
                earlier = _of_interpreter(cache, interpreter)
                _make(folder, interpreter, from_wheels, variant, earlier, on_progress=on_progress)
                write_json(folder / MARKER, {"variant": variant.name, **made_from})
                with heartbeat(on_progress, f"environment of {variant.name}: listing its files"):
                    installed_files.write_list(folder, library=library_of(folder))
    mark_used(folder / MARKER)
    return Realisation(
        variant=variant.name,
        kind="venv",
        reference=str(folder),
        digest=digest({key: made_from[key] for key in ("lock_digest", "machine", "python")}),
        python=str(folder / "bin" / "python"),
        lock_digest=str(made_from["lock_digest"]),
        base=None,
    )


def installed(variant: Variant, folder: Path, *, cache: Path, whole: bool) -> Installed:
    """Compare the files of an environment with what was installed; ``whole``: read what has not moved too."""
    target = Target(machine=_this_machine(), python=variant.python)
    return installed_files.check(
        folder,
        wheels=wheels.folder_of(variant, target, cache=cache),
        packages=tuple(packages_for(read_packages(variant.packages_path), target)),
        whole=whole,
    )


def made(cache: Path) -> list[dict[str, Any]]:
    """What every finished environment in the cache was made from, with its ``path``."""
    found = []
    for marker in sorted((cache / "venvs").glob(f"*/{MARKER}")):
        try:
            facts = json.loads(marker.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(facts, dict):
            found.append({**facts, "path": str(marker.parent)})
    return found


def _of_interpreter(cache: Path, interpreter: Interpreter) -> tuple[Path, ...]:
    """The finished environments of one interpreter, the last used first."""
    same = (
        Path(one["path"])
        for one in made(cache)
        if (one.get("python"), one.get("python_path")) == (interpreter.version, interpreter.path)
    )
    return tuple(sorted(same, key=lambda one: (one / MARKER).stat().st_mtime, reverse=True))


def _this_machine() -> str:
    if sys.platform != "linux":
        raise ImageError(
            "the locked environments are for Linux",
            actual=f"{platform.system()} on {platform.machine()}",
            fix="start a container engine: the same command then trains in the image",
        )
    return platform.machine()


def _is_whole(folder: Path, made_from: Mapping[str, Any]) -> bool:
    """Whether the marker and the list, written last, are there, it names the same inputs, and Python runs."""
    try:
        facts = json.loads((folder / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    same = isinstance(facts, dict) and all(facts.get(key) == value for key, value in made_from.items())
    listed = installed_files.list_of(folder).is_file()
    return same and listed and os.access(folder / "bin" / "python", os.X_OK)


def _make(
    folder: Path,
    interpreter: Interpreter,
    from_wheels: Path,
    variant: Variant,
    earlier: Sequence[Path],
    *,
    on_progress: Progress,
) -> None:
    """Make the environment where it will stay: its scripts name their own place."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
        installed_files.list_of(folder).unlink(missing_ok=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from error
    environment, title = _undisturbed(), f"environment of {variant.name}"
    python = str(folder / "bin" / "python")
    venv = [interpreter.path, "-I", "-m", "venv", "--without-pip", str(folder)]
    _step(f"{title}: Python {interpreter.version}", venv, folder, environment, on_progress)
    with tempfile.TemporaryDirectory(prefix=".unpacked-", dir=folder) as unpacked:
        install = _install(python, from_wheels, unpacked)
        _step(f"{title}: installing packages", install, folder, environment, on_progress)
    with heartbeat(on_progress, f"{title}: compiling packages"):
        byte_code.write(folder, python=variant.python, earlier=earlier, environment=environment)
        byte_code.write_library(folder, library_of(folder), earlier=earlier, environment=environment)
    check = [uv_program(), "pip", "check", "--no-config", "--offline", f"--python={python}"]
    _step(f"{title}: checking packages", check, folder, environment, on_progress)


def library_of(folder: Path) -> Path:
    """The folder of the library of an environment's Python, as that Python names it.

    Raises:
        ImageError: It does not say.
    """
    ask = "import sysconfig; print(sysconfig.get_path('stdlib'))"
    python = str(folder / "bin" / "python")
    asked = subprocess.run([python, "-I", "-c", ask], capture_output=True, text=True, check=False)
    if asked.returncode or not Path(asked.stdout.strip()).is_dir():
        raise ImageError("the environment's Python does not say where its library is", where=python)
    return Path(asked.stdout.strip())


def _step(
    what: str, command: Sequence[str], folder: Path, environment: Mapping[str, str], on_progress: Progress
) -> None:
    with heartbeat(on_progress, what):
        ended = run_command(command, environment=environment)
    if ended.exit_code:
        raise ImageError(
            f"{what}: failed with exit code {ended.exit_code}",
            where=str(folder),
            actual=ended.last_lines,
            fix="the lines above say why; a full disk is the usual cause (df -h)",
        )


def _install(python: str, from_wheels: Path, unpacked: str) -> list[str]:
    """Install by uv, which checks the hashes as pip does and unpacks several wheels at a time.

    What it unpacks lies in the environment until the end, so that a file is put in place by a link.
    """
    return [
        uv_program(),
        "pip",
        "install",
        "--no-config",
        "--offline",
        "--quiet",
        f"--cache-dir={unpacked}",
        "--link-mode=hardlink",
        f"--python={python}",
        "--no-index",
        "--no-deps",
        "--no-build",
        "--require-hashes",
        f"--find-links={from_wheels}",
        f"--requirement={from_wheels / wheels.REQUIREMENTS}",
    ]


def _undisturbed() -> dict[str, str]:
    """The caller's variables without those of pip and Python, which could add packages or places."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PIP_", "UV_", "PYTHON"))}
    return {**kept, "PIP_CONFIG_FILE": os.devnull}
