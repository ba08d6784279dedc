"""The command that trains: as it was given, with the seed and the output folder put in, or found by looking.

>>> with_placeholders(["python", "train.py", "--seed", "1"], Options(seed="--seed")).words
('python', 'train.py', '--seed', '{seed}')
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path, PurePosixPath

from reprokit.errors import UsageError
from reprokit.features.init.find_options import Options, file_name, find_options
from reprokit.images.dependency_files import find_dependencies

_LIKELY = (
    "train.py",
    "main.py",
    "run.py",
    "experiment.py",
    "training.py",
    "src/train.py",
    "scripts/train.py",
)
_LAUNCHERS = ("torchrun", "accelerate", "deepspeed", "mpirun", "horovodrun")
#: Options of ``uv run`` that say nothing of what the program sees.
_PLAIN_OPTIONS_OF_UV = frozenset(
    {"--frozen", "--locked", "--no-sync", "--offline", "--quiet", "-q", "--script", "--"}
)
_LARGEST_BYTES = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramCommand:
    """A command line with placeholders.

    Attributes:
        words: The command line.
        script: The program's file below the project's folder; "" where none was found.
        options: What its source says of its options.
        added: The placeholders that were put in, as a sentence says it.
        typed: The command as a person typed it.
    """

    words: tuple[str, ...]
    script: str
    options: Options
    added: tuple[str, ...] = ()
    typed: tuple[str, ...] = ()


def given_command(words: Sequence[str], root: Path) -> ProgramCommand:
    """A command that a person typed, with placeholders where its seed and its folder go.

    ``uv run`` is left out: it makes an environment of its own, in place of the one that is locked.
    """
    typed, words = words, _without_uv(words, root)
    script = script_of(words, root)
    options = find_options(_text(root / script)) if script else Options()
    return replace(with_placeholders(words, options, script=script), typed=tuple(typed))


def _without_uv(words: Sequence[str], root: Path) -> Sequence[str]:
    """``uv run --frozen train.py`` → ``python train.py``, where its packages can be locked.

    As it is where uv is asked for more than to run it.
    """
    if tuple(words[:2]) != ("uv", "run"):
        return words
    at = next(
        (at for at, word in enumerate(words) if at > 1 and word not in _PLAIN_OPTIONS_OF_UV), len(words)
    )
    behind = list(words[at:])
    if behind[:1] and behind[0].endswith(".py") and (root / behind[0]).is_file():
        behind = ["python", *behind]
    is_plain = bool(behind) and not behind[0].startswith("-")
    return behind if is_plain and find_dependencies(root, script_of(behind, root)) else words


def found_command(root: Path) -> ProgramCommand:
    """The program that most likely trains: ``[project.scripts]``, or a file by its usual name.

    Raises:
        UsageError: There is none, or more than one.
    """
    likely = [name for name in _LIKELY if (root / name).is_file()]
    candidates = likely[:1] or [path.name for path in sorted(root.glob("*train*.py"))]
    if len(candidates) == 1:
        return given_command(["python", candidates[0]], root)
    scripts = sorted(name for name in _project_scripts(root) if re.search(r"train|run|experiment", name))
    if not candidates and len(scripts) == 1:
        return given_command(scripts[:1], root)
    found = [*candidates, *scripts]
    raise UsageError(
        f"several programs could be the one to run: {', '.join(found)}"
        if found
        else "no program that trains was found",
        where=str(root),
        fix="name it: reprokit init -- python train.py",
    )


def recipe_name(command: ProgramCommand) -> str:
    """What the recipe of a program is called where no one says: its file, or its command."""
    is_named = command.script in command.words or "-m" in command.words
    path = Path(command.script if command.script and is_named else command.words[0])
    stem = path.parent.name if path.stem in {"__main__", "main"} and path.parent.name else path.stem
    return re.sub(r"[^A-Za-z0-9_-]+", "-", stem).strip("-_")[:60] or "training"


def with_placeholders(words: Sequence[str], options: Options, *, script: str = "") -> ProgramCommand:
    """The command with ``{seed}`` and ``{run_dir}`` in it, where the program takes them."""
    made, added = list(words), []
    for name, option in (("{seed}", options.seed), ("{run_dir}", options.folder)):
        if any(name in word for word in made) or not option:
            continue
        file = file_name(_value_of(made, option)) or options.file if name == "{run_dir}" else ""
        placeholder = f"{name}/{file}" if file else name
        if (changed := _replaced(made, option, placeholder)) is None:
            made += [f"{option}{placeholder}"] if option.endswith("=") else [option, placeholder]
        else:
            made = changed
        added.append(f"{option.rstrip('=')} {placeholder}")
    return ProgramCommand(words=tuple(made), script=script, options=options, added=tuple(added))


def script_of(words: Sequence[str], root: Path) -> str:
    """The program's own file in a command line, below the project's folder; "" where there is none.

    A script of ``[project.scripts]`` stands for the file that holds its function.
    """
    entries = _project_scripts(root)
    for at, word in enumerate(words):
        if word.endswith(".py") and (root / word).is_file():
            return PurePosixPath(word).as_posix()
        if word == "-m" and at + 1 < len(words) and words[0] not in _LAUNCHERS:
            if name := _file_of_module(words[at + 1], root):
                return name
        elif (
            word in entries
            and words[:at][-1:] in ([], ["run"])
            and (name := _file_of_module(entries[word].partition(":")[0], root))
        ):
            return name
    return ""


def _file_of_module(module: str, root: Path) -> str:
    below = module.strip().replace(".", "/")
    forms = (f"{below}.py", f"{below}/__main__.py", f"{below}/__init__.py")
    names = (*forms, *(f"src/{form}" for form in forms))
    return next((name for name in names if (root / name).is_file()), "")


def _value_of(words: Sequence[str], option: str) -> str:
    """What an option is set to in a command line; "" where it is not among the words."""
    begin = f"{option.rstrip('=')}="
    follows = (words[at + 1] for at, word in enumerate(words[:-1]) if word == option)
    joined = (word.removeprefix(begin) for word in words if word.startswith(begin))
    return next(chain(follows, joined), "")


def _replaced(words: list[str], option: str, placeholder: str) -> list[str] | None:
    """The words with an option's value replaced; None where the option is not among them."""
    for at, word in enumerate(words):
        if word == option and at + 1 < len(words):
            return [*words[: at + 1], placeholder, *words[at + 2 :]]
        if word.startswith(f"{option.rstrip('=')}="):
            return [*words[:at], f"{option.rstrip('=')}={placeholder}", *words[at + 1 :]]
    return None


def _project_scripts(root: Path) -> dict[str, str]:
    """Name → ``module:function`` of every script of the project; Poetry's own form, too."""
    try:
        data = tomllib.loads(_text(root / "pyproject.toml"))
        project, poetry = data.get("project") or {}, (data.get("tool") or {}).get("poetry") or {}
        scripts = {**(poetry.get("scripts") or {}), **(project.get("scripts") or {})}
    except (ValueError, AttributeError, TypeError):
        return {}
    return {name: entry for name, entry in scripts.items() if isinstance(entry, str)}


def _text(path: Path) -> str:
    try:
        return path.read_bytes()[:_LARGEST_BYTES].decode("utf-8", "replace")
    except OSError:
        return ""
