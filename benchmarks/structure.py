"""How the package is built, in figures: lines, widths of functions, untyped records, names, frames.

    $ python benchmarks/structure.py                 # what the source says; reads text, runs nothing
    $ python benchmarks/structure.py --frames        # and the frames from `reproduce` to the started process
    $ python benchmarks/structure.py --json --list wide

What is counted and how:

* Lines are physical lines of ``reprokit/**.py``, by kind: blank, docstring, comment, import, statement.
* Parameters: every parameter of a function, ``self`` included. Click commands (decorated with
  ``…command``, ``…option``, ``…group`` or ``…argument``) have one for each option and are left out. A
  parameter is *only handed on* where each use of it is an argument of a call, by name or by place.
* Untyped: annotations ``Mapping[str, Any]``, ``dict[str, Any]`` and the same with ``object``, names that are
  an alias of one, and ``**kwargs``.
* Frames: functions of this package on the stack from the verb to the call that starts the first run, both
  included.
"""

from __future__ import annotations

import argparse
import ast
import collections
import json
import subprocess
import sys
import tempfile
import textwrap
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WIDE = 8
WIDEST = 120
CROWDED = 20
SMALL_MODULE = 400
CLICK = ("command", "option", "group", "argument")
VAGUE = ("one", "found", "told")
MAPPINGS = {"Mapping", "MutableMapping", "dict", "Dict"}
FREE = {"Any", "object"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A module: its dotted name, its file, its text and its tree."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def place(self) -> str:
        return self.path.relative_to(ROOT).as_posix()


@dataclass(frozen=True, slots=True, kw_only=True)
class Width:
    """A function, how many parameters it takes, and which of them it only hands on."""

    where: str
    parameters: int
    handed_on: tuple[str, ...]


def modules(package: Path) -> list[Module]:
    """Every module below ``package``, in the order of paths."""
    found = []
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text(encoding="utf-8")
        found.append(Module(name=name, path=path, text=text, tree=ast.parse(text)))
    return found


def kinds_of_lines(module: Module) -> collections.Counter[str]:
    """How many physical lines are blank, docstring, comment, import, statement."""
    kind = dict.fromkeys(range(1, len(module.text.splitlines()) + 1), "statement")
    for number, line in enumerate(module.text.splitlines(), 1):
        if not line.strip():
            kind[number] = "blank"
    with module.path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT and token.line.strip().startswith("#"):
                kind[token.start[0]] = "comment"
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            _mark(kind, node, "import")
        elif isinstance(node, Function | ast.ClassDef | ast.Module):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str):
                _mark(kind, first, "docstring")
    return collections.Counter(kind.values())


def lines_with_comment(module: Module) -> int:
    """How many lines hold a comment, alone or after a statement."""
    with module.path.open("rb") as file:
        return sum(token.type == tokenize.COMMENT for token in tokenize.tokenize(file.readline))


def _mark(kind: dict[int, str], node: ast.stmt, name: str) -> None:
    for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
        kind[number] = name


def functions(module: Module) -> Iterator[Function]:
    """Every function and method of a module, nested ones too."""
    return (node for node in ast.walk(module.tree) if isinstance(node, Function))


def parameters(function: Function) -> list[str]:
    """Names of all parameters, ``*args`` and ``**kwargs`` included."""
    given = function.args
    several = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    several += [one for one in (given.vararg, given.kwarg) if one is not None]
    return [one.arg for one in several]


def is_click(function: Function) -> bool:
    """Whether a decorator makes a click command of it."""
    return any(_last_name(one).endswith(CLICK) for one in function.decorator_list)


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        return _last_name(node.func)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def widths(every: list[Module]) -> list[Width]:
    """Every function but click commands, the widest first."""
    found = [
        Width(
            where=f"{module.place}:{function.lineno} {function.name}",
            parameters=len(parameters(function)),
            handed_on=_handed_on(function),
        )
        for module in every
        for function in functions(module)
        if not is_click(function)
    ]
    return sorted(found, key=lambda width: (-width.parameters, width.where))


def _handed_on(function: Function) -> tuple[str, ...]:
    """Parameters whose every use is an argument of a call."""
    passed, used = collections.Counter[str](), collections.Counter[str]()
    for node in ast.walk(ast.Module(body=function.body, type_ignores=[])):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            used[node.id] += 1
        if isinstance(node, ast.Call):
            given = [*node.args, *(word.value for word in node.keywords)]
            passed.update(one.id for one in given if isinstance(one, ast.Name))
    return tuple(name for name in parameters(function) if used[name] and passed[name] == used[name])


def untyped(every: list[Module]) -> collections.Counter[str]:
    """Annotations of mappings with free values, aliases of them in use, and ``**kwargs``."""
    count: collections.Counter[str] = collections.Counter()
    aliases = {
        node.targets[0].id
        for module in every
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _is_free(node.value)
    }
    for module in every:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Subscript) and _is_free(node):
                count["mappings with free values"] += 1
            elif isinstance(node, Function) and node.args.kwarg is not None and not is_click(node):
                count["**kwargs"] += 1
            elif isinstance(node, ast.Call) and _is_get(node):
                count[".get("] += 1
        for annotation in _annotations(module):
            count["uses of an alias"] += sum(
                isinstance(node, ast.Name) and node.id in aliases for node in ast.walk(annotation)
            )
    return count


def _is_free(node: ast.expr) -> bool:
    if not isinstance(node, ast.Subscript) or _last_name(node.value) not in MAPPINGS:
        return False
    key_and_value = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
    return len(key_and_value) == 2 and _last_name(key_and_value[1]) in FREE


def _is_get(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and node.func.attr == "get" and bool(node.args)


def _annotations(module: Module) -> Iterator[ast.expr]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            yield node.annotation
        if isinstance(node, Function) and node.returns is not None:
            yield node.returns


def any_parameters(every: list[Module], package: str) -> int:
    """Parameters in one package whose annotation is just ``Any``."""
    return sum(
        isinstance(node, ast.arg) and node.annotation is not None and _last_name(node.annotation) == "Any"
        for module in every
        if module.name.startswith(package)
        for node in ast.walk(module.tree)
    )


def class_names(every: list[Module]) -> dict[str, list[str]]:
    """Public class names that stand for several classes: name to modules."""
    places: dict[str, list[str]] = collections.defaultdict(list)
    for module in every:
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(module.place)
    return {name: where for name, where in sorted(places.items()) if len(where) > 1}


def importers(every: list[Module]) -> dict[str, set[str]]:
    """Which modules import a module, or a name from it."""
    names = {module.name for module in every}
    users: dict[str, set[str]] = collections.defaultdict(set)
    for module in every:
        for node in ast.walk(module.tree):
            for target in (_module_of(name, names) for name in _imported(node)):
                if target != module.name:
                    users[target].add(module.name)
    users.pop("", None)
    return users


def _module_of(name: str, names: set[str]) -> str:
    """The module that a dotted name lies in, or ""."""
    while name and name not in names:
        name = name.rpartition(".")[0]
    return name


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [name.name for name in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [f"{node.module}.{name.name}" for name in node.names]
    return []


def single_importers(every: list[Module]) -> list[str]:
    """Modules that one module of the same folder imports, and no other, at most 400 lines together."""
    by_name = {module.name: module for module in every}
    single = []
    for name, users in sorted(importers(every).items()):
        if len(users) != 1:
            continue
        module, user = by_name[name], by_name[next(iter(users))]
        lines = len(module.text.splitlines()) + len(user.text.splitlines())
        if module.path.parent == user.path.parent and lines <= SMALL_MODULE:
            single.append(f"{module.place} <- {user.place}")
    return single


def vague_names(every: list[Module]) -> collections.Counter[str]:
    """How often a name that says nothing is read or written."""
    return collections.Counter(
        node.id
        for module in every
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Name) and node.id in VAGUE
    )


def crowded_folders(every: list[Module]) -> dict[str, int]:
    """Folders of more than 20 modules, ``__init__`` left out."""
    count = collections.Counter(
        module.path.parent.relative_to(ROOT).as_posix() for module in every if module.path.stem != "__init__"
    )
    return {folder: number for folder, number in count.most_common() if number > CROWDED}


#: Runs the tool in this process and stops it at the call that starts a run, whose stack it prints. A thread's
#: stack continues where the thread was started.
TRACER = textwrap.dedent(
    """
    import os, sys, threading, traceback
    backend, home = sys.argv[1], sys.argv[2]
    started_by, first = {}, threading.Lock()

    def stack():
        above = started_by.get(threading.current_thread(), [])
        own = [frame for frame in traceback.extract_stack() if "/reprokit/" in frame.filename]
        return above + [frame for frame in own if frame.name != "<module>"]

    def seen():
        frames = stack()
        begins = next((i for i, f in enumerate(frames) if f.filename.endswith("commands/reproduce.py")), None)
        if begins is not None:
            places = (frame.filename.rpartition("/reprokit/")[2] for frame in frames[begins:])
            lines = [f"FRAME {place} {frame.name}" for place, frame in zip(places, frames[begins:])]
            first.acquire()  # for good: the other run of the pair comes here too
            os.write(1, "\\n".join(lines).encode())
            os._exit(0)

    begin = threading.Thread.start
    def start_thread(self):
        started_by[self] = stack()
        begin(self)
    threading.Thread.start = start_thread

    def hook(event, arguments):
        if event == "subprocess.Popen" and "local_guard" in str(arguments[1]):
            seen()
    sys.addaudithook(hook)

    if backend == "docker":
        from docker.api.container import ContainerApiMixin
        begin_container = ContainerApiMixin.start
        ContainerApiMixin.start = lambda *given, **named: (seen(), begin_container(*given, **named))

    from reprokit.cli import main
    program = ["--", sys.executable, home + "/train.py", "{run_dir}"]
    recipe = ["pinpad", "--backend", "docker"]
    main(["reproduce", "--runs-dir", home + "/runs", "--reports-dir", home + "/reports",
          *(program if backend == "local" else recipe)])
    """
)

PROGRAM = """
import json, pathlib, sys
pathlib.Path(sys.argv[1], "metrics.jsonl").write_text(json.dumps({"step": 1, "loss": 0.5}) + "\\n")
"""


def frames(backend: str) -> list[str]:
    """Functions of this package from the verb to the call that starts a run: ``file function``."""
    with tempfile.TemporaryDirectory() as home:
        Path(home, "train.py").write_text(PROGRAM, encoding="utf-8")
        command = [sys.executable, "-c", TRACER, backend, home]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    seen = [line.removeprefix("FRAME ") for line in done.stdout.splitlines() if line.startswith("FRAME ")]
    if not seen:
        raise SystemExit(f"no run was started with --backend {backend}:\n{done.stdout}\n{done.stderr}")
    return seen


def measured(every: list[Module]) -> dict[str, object]:
    """Every figure that the source alone gives."""
    lines: collections.Counter[str] = collections.Counter()
    for module in every:
        lines.update(kinds_of_lines(module))
    wide = widths(every)
    widest = wide[:WIDEST]
    same_name = class_names(every)
    passed = collections.Counter(
        f"{node.arg}={node.arg}"
        for module in every
        for node in ast.walk(module.tree)
        if isinstance(node, ast.keyword) and isinstance(node.value, ast.Name) and node.arg == node.value.id
    )
    return {
        "modules": len(every),
        "lines": lines.total(),
        "lines by kind": dict(lines.most_common()),
        "lines with a comment, percent": round(100 * sum(map(lines_with_comment, every)) / lines.total(), 1),
        f"functions with {WIDE} or more parameters": sum(width.parameters >= WIDE for width in wide),
        f"parameters of the {WIDEST} widest functions": sum(width.parameters for width in widest),
        "of them only handed on": sum(len(width.handed_on) for width in widest),
        "arguments most often passed under their own name": dict(passed.most_common(6)),
        "untyped": dict(untyped(every)),
        "parameters of reports that are Any": any_parameters(every, "reprokit.reports"),
        "class names of several classes": len(same_name),
        "classes that they stand for": sum(map(len, same_name.values())),
        "modules with one importer, next to it, small": len(single_importers(every)),
        "uses of one, found, told": dict(vague_names(every).most_common()),
        f"folders of more than {CROWDED} modules": crowded_folders(every),
    }


def main() -> int:
    """Print the figures; with ``--list`` what stands behind one of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--frames", action="store_true", help="count frames too; docker needs an engine")
    parser.add_argument("--list", choices=["wide", "classes", "single"], help="print what is behind a figure")
    asked = parser.parse_args()
    every = modules(ROOT / "reprokit")
    if asked.list == "wide":
        rows = [
            f"{one.parameters:3} {one.where} (handed on: {', '.join(one.handed_on)})" for one in widths(every)
        ]
        print("\n".join(rows[:WIDEST]))
        return 0
    if asked.list == "classes":
        print("\n".join(f"{name}: {', '.join(where)}" for name, where in class_names(every).items()))
        return 0
    if asked.list == "single":
        print("\n".join(single_importers(every)))
        return 0
    figures = measured(every)
    if asked.frames:
        for backend in ("local", "docker"):
            stack = frames(backend)
            figures[f"frames to the process, {backend}"] = len(stack)
            print("\n".join(f"{backend}: {frame}" for frame in stack), file=sys.stderr)
    if asked.json:
        print(json.dumps(figures, indent=2))
    else:
        print("\n".join(f"{name}: {value}" for name, value in figures.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
