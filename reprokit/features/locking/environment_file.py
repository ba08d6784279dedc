"""Reads conda's ``environment.yml`` and ``pixi.toml``; what only conda has is an error."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from reprokit.errors import ImageError, OnlyCondaError
from reprokit.features.locking import requirements_file
from reprokit.features.locking.dependencies import Dependencies, Wanted
from reprokit.images.packages import read_text

#: What conda lists for its own sake: a locked environment has no need of it.
_OWN = {"pip", "setuptools", "wheel"}
_WAY = (
    "move each package that the package index has under `pip:` (numpy=1.26 becomes `- numpy==1.26.*`); "
    "a library of the system becomes `--system NAME`; CUDA comes with the wheels of torch, jax and others"
)


def read_environment(path: Path, *, root: Path, wanted: Wanted) -> Dependencies:
    """The ``pip:`` part of an environment file.

    Raises:
        ImageError: It cannot be read, or lists packages of conda, which have no hashes that pip can check.
    """
    try:
        data = YAML(typ="safe", pure=True).load(read_text(path))
    except YAMLError as error:
        raise ImageError("not valid YAML", where=str(path), actual=str(error).partition("\n")[0]) from error
    listed = data.get("dependencies") if isinstance(data, dict) else None
    if not isinstance(listed, list):
        raise ImageError("no list of dependencies", where=str(path), expected="dependencies: […]")
    of_conda = [str(one) for one in listed if not isinstance(one, dict)]
    python = next((one for one in of_conda if _name(one) == "python"), "")
    only_conda = [one for one in of_conda if _name(one) not in {"python", *_OWN}]
    if only_conda:
        raise _only_conda(only_conda, path)
    lines = "\n".join(str(line) for one in listed if isinstance(one, dict) for line in one.get("pip") or ())
    found = requirements_file.parse_lines(lines, base=path.parent, name=str(path), root=root, wanted=wanted)
    return found + Dependencies(python=_specifier(python))


def read_pixi(path: Path, *, root: Path, wanted: Wanted) -> Dependencies:
    """``[pypi-dependencies]`` of a ``pixi.toml``, and its Python.

    Raises:
        ImageError: It cannot be read, names an address, or lists packages of conda.
    """
    try:
        data = tomllib.loads(read_text(path))
    except ValueError as error:
        raise ImageError(f"not valid TOML: {error}", where=str(path), fix="correct the file") from error
    of_conda = {str(name): _version(one) for name, one in (data.get("dependencies") or {}).items()}
    only_conda = [f"{name} {version}" for name, version in of_conda.items() if name not in {"python", *_OWN}]
    if only_conda:
        raise _only_conda(only_conda, path)
    wanted_of_index = (data.get("pypi-dependencies") or {}).items()
    lines = "\n".join(_as_line(str(name), one) for name, one in wanted_of_index)
    found = requirements_file.parse_lines(lines, base=path.parent, name=str(path), root=root, wanted=wanted)
    python = of_conda.get("python", "*")
    is_plain = re.fullmatch(r"\d+\.\d+(?:\.\*)?", python)
    range_ = f"=={python.removesuffix('.*')}.*" if is_plain else python.replace("*", "")
    return found + Dependencies(python=range_)


def _as_line(name: str, asked: Any) -> str:
    """A dependency of pixi as a line of a requirements file."""
    table = asked if isinstance(asked, dict) else {}
    extras = f"[{','.join(table['extras'])}]" if table.get("extras") else ""
    if address := table.get("git") or table.get("url"):
        return f"{name} @ {'git+' if 'git' in table else ''}{address}"
    if place := table.get("path"):
        return f"{'-e ' if table.get('editable') else ''}./{place}{extras}"
    version = _version(asked)
    return f"{name}{extras}{'' if version == '*' else version}"


def _version(asked: Any) -> str:
    return str(asked.get("version") or "*") if isinstance(asked, dict) else str(asked)


def _only_conda(packages: Sequence[str], path: Path) -> OnlyCondaError:
    return OnlyCondaError(
        "these packages come from conda, and cannot be pinned here",
        where=str(path),
        actual=", ".join(packages),
        fix=_WAY,
    )


def _name(text: str) -> str:
    return re.split(r"[\s=<>!~]", text.rpartition("::")[2], maxsplit=1)[0].lower()


def _specifier(text: str) -> str:
    """``python=3.11`` is conda's way to say ``==3.11.*``."""
    version: Any = re.fullmatch(r"(?:\S+::)?python\s*={1,2}\s*(\d+\.\d+)[\d.*]*", text)
    if version:
        return f"=={version[1]}.*"
    return text.rpartition("::")[2].removeprefix("python").strip()
