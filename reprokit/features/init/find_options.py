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
        folder: The option that takes the output folder, likewise.
    """

    seed: str = ""
    folder: str = ""


def find_options(source: str) -> Options:
    """The options of a program, from its source.

    Returns:
        Empty options where the source is no Python, or declares none.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Options()
    framework = _framework(tree)
    declared = list(_declared(tree, framework))
    if framework == "hydra":
        return Options(seed="seed=")
    return Options(seed=_first(declared, _SEEDS), folder=_first(declared, _FOLDERS))


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


def _declared(tree: ast.Module, framework: str) -> Iterator[str]:
    """Every option as it is typed."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node) in _DECLARING:
            texts = [
                arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
            ]
            if _ABSL.fullmatch(_called(node)):
                yield from (f"--{text}" for text in texts[:1])
            yield from (text for text in texts if text.startswith("--"))
        elif framework in {"tyro", "simple_parsing", "transformers"} and isinstance(node, ast.ClassDef):
            for item in node.body:
                if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                    dashed = item.target.id.replace("_", "-") if framework == "tyro" else item.target.id
                    yield f"--{dashed}"
        elif framework in {"fire", "typer"} and isinstance(node, ast.FunctionDef):
            named = [*node.args.args, *node.args.kwonlyargs]
            dash = "-" if framework == "typer" else "_"
            yield from (f"--{one.arg.replace('_', dash)}" for one in named if one.arg != "self")


def _called(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
