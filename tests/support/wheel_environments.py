"""The wheel of this tree, and environments into which it is installed with some of its extras."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

UV = Path(sys.executable).parent / "uv"


def answer(*command: str | Path, folder: Path) -> str:
    """What a command prints that ends well."""
    done = subprocess.run(
        [str(one) for one in command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def built_wheel(project: Path, folder: Path) -> Path:
    """Built from a copy of what git knows, so that nothing else of this checkout gets into it."""
    listed = answer("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", folder=project)
    for name in filter(None, listed.split("\0")):
        if (project / name).is_file():
            (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(project / name, folder / "source" / name)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    answer(*pip, "--wheel-dir", folder, folder / "source", folder=folder)
    (built,) = folder.glob("*.whl")
    return built


def environment_with(extras: str, *, wheel: Path, folder: Path) -> Path:
    """A new environment with the base and these extras, ``containers,html``, byte-code included."""
    environment = folder / "environment"
    answer(UV, "venv", "--quiet", "--no-config", f"--python={sys.executable}", environment, folder=folder)
    named = f"reprokit-verify[{extras}] @ {wheel.as_uri()}" if extras else str(wheel)
    install = [UV, "pip", "install", "--quiet", "--no-config", "--compile-bytecode"]
    answer(*install, f"--python={environment / 'bin' / 'python'}", named, folder=folder)
    return environment


def sizes_in(environment: Path) -> dict[str, int]:
    """Package → bytes of its files and their byte-code."""
    (library,) = environment.glob("lib/python3.*/site-packages")
    return {one.name: _size_of(one) for one in metadata.distributions(path=[str(library)])}


def _size_of(package: metadata.Distribution) -> int:
    files = {Path(str(package.locate_file(file))) for file in package.files or ()}
    for file in [*files]:
        if file.suffix == ".py":
            files |= set((file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"))
    return sum(file.stat().st_size for file in files if file.is_file())
