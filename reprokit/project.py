"""Where a project keeps its recipes, goldens, environments, runs and reports.

The folders have the names of these things, unless ``pyproject.toml`` at the project's top says otherwise::

    [tool.reprokit]
    golden = "baselines"
    runs = "artifacts/runs"
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path, PurePosixPath
from typing import Any

from reprokit.errors import UsageError
from reprokit.regular_file import read_regular

PYPROJECT = "pyproject.toml"
_TABLE = re.compile(r"^\s*\[\s*tool\s*\.\s*reprokit\s*\]", re.MULTILINE)
_LIMIT, _EXTENSIONS = "golden_limit_mb", "extensions"
_NO_FOLDERS = frozenset({_LIMIT, _EXTENSIONS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What ``[tool.reprokit]`` may say; the folders are below the project's, as POSIX paths.

    Attributes:
        golden_limit_mb: Size in MB (10^6 bytes) above which the files of a golden are compressed.
        extensions: ``NAME==VERSION`` of each package of others that is loaded.
    """

    recipes: str = "recipes"
    golden: str = "golden"
    images: str = "images"
    runs: str = "runs"
    reports: str = "reports"
    golden_limit_mb: float = 5.0
    extensions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """The folders that one command works in, all absolute.

    >>> open_project().runs_dir.name
    'runs'
    """

    root: Path
    recipes_dir: Path
    golden_dir: Path
    runs_dir: Path
    reports_dir: Path
    # The options that name the folders which are not the default ones, from `root` where inside it
    options: tuple[str, ...] = ()
    # Whether `make reproduce` works here: the project has the Makefile that calls this tool
    has_make: bool = False
    # The `reprokit` that trainers import their runtime from; None for the one that runs this command
    package: Path | None = None
    # Where the project was unpacked from: `file` and `sha256` of a bundle; None for any other project
    bundle: Mapping[str, str] | None = None

    @staticmethod
    def around(
        start: Path,
        *,
        golden_dir: Path | None = None,
        runs_dir: Path | None = None,
        reports_dir: Path | None = None,
    ) -> Project:
        """The project of the nearest folder from ``start`` up with ``recipes/`` or ``[tool.reprokit]``.

        Where there is none, it is that of ``start``.

        Raises:
            UsageError: ``[tool.reprokit]`` says something else than it may.
        """
        start = start.resolve()
        root = next((folder for folder in (start, *start.parents) if _is_top(folder)), start)
        named = {"golden": golden_dir, "runs": runs_dir, "reports": reports_dir}
        usual = {name: project_folder(root, name) for name in named}
        places = {name: (folder or usual[name]).resolve() for name, folder in named.items()}
        return Project(
            root=root,
            recipes_dir=project_folder(root, "recipes"),
            golden_dir=places["golden"],
            runs_dir=places["runs"],
            reports_dir=places["reports"],
            options=tuple(_options(root, places, usual)),
            has_make=_has_make(root / "Makefile"),
        )


def project_folder(root: Path, name: str) -> Path:
    """One of a project's folders: ``recipes``, ``golden``, ``images``, ``runs`` or ``reports``."""
    return root / str(getattr(settings_of(root), name))


def settings_of(root: Path) -> Settings:
    """What a project's ``pyproject.toml`` says under ``[tool.reprokit]``.

    Raises:
        UsageError: It is not TOML, has a key that means nothing, or a value that cannot be.
    """
    text = _table_in(root)
    return Settings() if text is None else _settings(text, where=str(root / PYPROJECT))


def settings_in(text: str, *, where: str) -> Settings:
    """The same of the text of a ``pyproject.toml``.

    Raises:
        UsageError: As of ``settings_of``.
    """
    return _settings(text, where=where) if _has_table(text) else Settings()


def _settings(text: str, *, where: str) -> Settings:
    try:
        table: Mapping[str, Any] = tomllib.loads(text)["tool"]["reprokit"]
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"not TOML: {error}", where=where) from error
    known = [field.name for field in fields(Settings)]
    for key, value in table.items():
        problem = _problem(key, value, known)
        if problem:
            line = f"{where}:{_line_of(key, text)}"
            raise UsageError(problem, where=line, expected=f"[tool.reprokit] has {', '.join(known)}")
    told = Settings(**{key: _value(key, value) for key, value in table.items()})
    folders = [getattr(told, name) for name in known if name not in _NO_FOLDERS]
    twice = next((name for name in folders if folders.count(name) > 1), None)
    if twice:
        raise UsageError(f"two settings name the same folder {twice}", where=f"{where}:{_line_of('', text)}")
    return told


def root_of_recipe(file: Path) -> Path:
    """The project's folder of a ``recipe.yaml``: that whose folder of recipes it lies in."""
    recipes_dir = file.absolute().parents[1]
    for folder in recipes_dir.parents:
        if _table_in(folder) is not None and project_folder(folder, "recipes") == recipes_dir:
            return folder
    return recipes_dir.parent


def _is_top(folder: Path) -> bool:
    return (folder / "recipes").is_dir() or _table_in(folder) is not None


def _table_in(root: Path) -> str | None:
    """The text of ``pyproject.toml``; None where it says nothing of reprokit, whatever else it says."""
    try:
        text = read_regular(root / PYPROJECT).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return text if _has_table(text) else None


def _has_table(text: str) -> bool:
    if "reprokit" not in text:
        return False
    try:
        tool = tomllib.loads(text).get("tool")
    except tomllib.TOMLDecodeError:
        return _TABLE.search(text) is not None
    return isinstance(tool, dict) and isinstance(tool.get("reprokit"), dict)


def _problem(key: str, value: object, known: list[str]) -> str:
    """What is wrong with one entry; "" where nothing is."""
    if key not in known:
        return f"{key!r} means nothing here"
    if key == _LIMIT:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return "" if number and 0 < float(str(value)) < 1e6 else f"{key} is not a number of MB above 0"
    if key == _EXTENSIONS:
        is_list = isinstance(value, list) and all(isinstance(one, str) for one in value)
        return "" if is_list else f'{key} is not a list of "NAME==VERSION"'
    path = PurePosixPath(value) if isinstance(value, str) else None
    inside = path is not None and path.parts and not path.is_absolute() and ".." not in path.parts
    return "" if inside else f"{key} is not a folder below this one: {value!r}"


def _value(key: str, value: Any) -> Any:
    if key == _EXTENSIONS:
        return tuple(value)
    return value if key == _LIMIT else PurePosixPath(value).as_posix()


def _line_of(key: str, text: str) -> int:
    """The line of a key of the table, counted from 1; that of the table where it is nowhere."""
    table = _TABLE.search(text)
    start = table.end() if table else 0
    found = re.compile(rf"^\s*[\"']?{re.escape(key)}[\"']?\s*[=.]", re.MULTILINE).search(text, start)
    at = text.index(key, found.start()) if found and key else start
    return text.count("\n", 0, at) + 1


def _options(root: Path, places: Mapping[str, Path], usual: Mapping[str, Path]) -> Iterator[str]:
    for name, folder in places.items():
        if folder != usual[name].resolve():
            yield "--golden" if name == "golden" else f"--{name}-dir"
            yield str(folder.relative_to(root) if folder.is_relative_to(root) else folder)


def _has_make(makefile: Path) -> bool:
    try:
        return "reprokit reproduce $(RECIPE)" in read_regular(makefile).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return False
