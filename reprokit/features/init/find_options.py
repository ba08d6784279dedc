"""Which options a program takes for its seed and its output folder, read from its source without running it.

argparse, click, typer, tyro and dataclasses, fire, absl flags and Hydra's settings are known.

    >>> find_options('parser.add_argument("--seed", type=int)').seed
    '--seed'
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_SEEDS = ("seed", "random-seed", "random-state", "manual-seed", "rng-seed", "global-seed")
_FOLDERS = (
    "run-dir",
    "output-dir",
    "out-dir",
    "output",
    "out",
    "logdir",
    "log-dir",
    "log-path",
    "save-dir",
    "results-dir",
    "workdir",
    "work-dir",
    "checkpoint-dir",
    "default-root-dir",
)
_FILES = ("output-file", "out-file", "metrics-file", "log-file", "logfile", "metrics", "log", "results")
_FILE_NAME = re.compile(r"(?:.*/)?([\w-][\w.-]*\.[A-Za-z]\w{0,7})")
_DECLARING = {
    "add_argument",
    "option",
    "Option",
    "DEFINE_integer",
    "DEFINE_string",
    "DEFINE_float",
    "DEFINE_bool",
}
_ABSL = re.compile(r"DEFINE_\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What of a program's options matters here.

    Attributes:
        seed: The option that takes the seed, as it is typed (``--seed``, for Hydra ``seed=``), or "".
        folder: The option that takes the output folder, likewise; or the file that the program logs to.
        file: The name of that file, from the option's default; "" where the option takes a folder.
    """

    seed: str = ""
    folder: str = ""
    file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredOption:
    """An option of a program.

    Attributes:
        typed: As it is typed: ``--num-workers``.
        default: What it is where it is not given; None where that is not known.
        is_flag: Whether it takes no value.
    """

    typed: str
    default: Any = None
    is_flag: bool = False


def find_options(source: str) -> Options:
    """The options of a program, from its source.

    Returns:
        Empty options where the source is no Python, or declares none.
    """
    tree = _parsed(source)
    if tree is None:
        return Options()
    framework = _framework(tree)
    declared = {one.typed: one for one in _declared(tree, framework)}
    if framework == "hydra":
        return Options(seed="seed=")
    files = {typed: file_name(one.default) for typed, one in declared.items()}
    folder = _first(list(declared), _FOLDERS) or _first([typed for typed in files if files[typed]], _FILES)
    return Options(seed=_first(list(declared), _SEEDS), folder=folder, file=files.get(folder, ""))


def file_name(value: Any) -> str:
    """The name of the file that a value names; "" where it names none, or a folder.

    >>> file_name("logs/metrics.jsonl"), file_name("runs")
    ('metrics.jsonl', '')
    """
    found = _FILE_NAME.fullmatch(value) if isinstance(value, str) else None
    return found[1] if found else ""


def declared_options(source: str) -> tuple[DeclaredOption, ...]:
    """Every option of a program, with its default; none of one that Hydra configures."""
    tree = _parsed(source)
    framework = "" if tree is None else _framework(tree)
    return () if tree is None or framework == "hydra" else tuple(_declared(tree, framework))


def _parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _first(declared: list[str], wanted: tuple[str, ...]) -> str:
    """The declared option that is wanted most; one that ends in a wanted word where none is that word."""
    by_name = {option.lstrip("-").replace("_", "-").lower(): option for option in reversed(declared)}
    exact = next((by_name[name] for name in wanted if name in by_name), "")
    if exact or wanted is not _SEEDS:
        return exact
    return next((option for name, option in by_name.items() if re.split(r"[-.]", name)[-1] == "seed"), "")


def _framework(tree: ast.Module) -> str:
    imported = {
        alias.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    } | {
        node.module.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
    }
    known = ("hydra", "tyro", "click", "typer", "fire", "absl", "simple_parsing", "argparse", "transformers")
    return next((name for name in known if name in imported), "")


def _declared(tree: ast.Module, framework: str) -> Iterator[DeclaredOption]:
    """Every option as it is typed."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node) in _DECLARING:
            yield from _of_call(node)
        elif framework in {"tyro", "simple_parsing", "transformers"} and isinstance(node, ast.ClassDef):
            for item in node.body:
                if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                    dashed = item.target.id.replace("_", "-") if framework == "tyro" else item.target.id
                    yield _option(f"--{dashed}", item.value)
        elif framework in {"fire", "typer"} and isinstance(node, ast.FunctionDef):
            named = [*node.args.args, *node.args.kwonlyargs]
            given = [*node.args.defaults, *node.args.kw_defaults]
            defaults = [None] * (len(named) - len(given)) + given
            dash = "-" if framework == "typer" else "_"
            for one, default in zip(named, defaults, strict=True):
                if one.arg != "self":
                    yield _option(f"--{one.arg.replace('_', dash)}", default)


def _of_call(node: ast.Call) -> Iterator[DeclaredOption]:
    """The options that a call declares: ``add_argument("-s", "--seed", default=1)``."""
    texts = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    said = {one.arg: one.value for one in node.keywords}
    is_absl = bool(_ABSL.fullmatch(_called(node)))
    default = node.args[1] if is_absl and len(node.args) > 1 else said.get("default")
    action, flag = said.get("action"), said.get("is_flag")
    is_switch = (isinstance(action, ast.Constant) and action.value == "store_true") or (
        isinstance(flag, ast.Constant) and flag.value is True
    )
    typed = (
        [f"--{text}" for text in texts[:1]] if is_absl else [text for text in texts if text.startswith("--")]
    )
    for text in typed:
        yield _option(text, default, is_switch=is_switch)


def _option(typed: str, default: ast.expr | None, *, is_switch: bool = False) -> DeclaredOption:
    value = default.value if isinstance(default, ast.Constant) else None
    return DeclaredOption(typed=typed, default=value, is_flag=is_switch or isinstance(value, bool))


def _called(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
