"""Reads conda's ``environment.yml``: its Python and its ``pip:`` part; what only conda has is an error."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from reprokit.errors import ImageError
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
        raise ImageError(
            "these packages come from conda, and cannot be pinned here",
            where=str(path),
            actual=", ".join(only_conda),
            fix=_WAY,
        )
    lines = "\n".join(str(line) for one in listed if isinstance(one, dict) for line in one.get("pip") or ())
    found = requirements_file.parse_lines(lines, base=path.parent, name=str(path), root=root, wanted=wanted)
    return found + Dependencies(python=_specifier(python))


def _name(text: str) -> str:
    return re.split(r"[\s=<>!~]", text.rpartition("::")[2], maxsplit=1)[0].lower()


def _specifier(text: str) -> str:
    """``python=3.11`` is conda's way to say ``==3.11.*``."""
    version: Any = re.fullmatch(r"(?:\S+::)?python\s*={1,2}\s*(\d+\.\d+)[\d.*]*", text)
    if version:
        return f"=={version[1]}.*"
    return text.rpartition("::")[2].removeprefix("python").strip()
