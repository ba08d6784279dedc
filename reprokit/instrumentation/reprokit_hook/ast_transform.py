"""The program's own source files, compiled with a call around each place that cannot be wrapped otherwise.

Iterating over a set, ``hash()``, ``id()``, ``datetime.now()`` and uninitialised memory have no function that
could be replaced. Line numbers stay the same, nothing is cached, and libraries are compiled as usual.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib.machinery
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from . import foreign_readers, imports, loop_variables, wrapped_calls
from .frames import is_own, real
from .watch import Watch

if TYPE_CHECKING:
    #: Changes the tree of a file, which is given with its path.
    Rewrite = Callable[[ast.Module, str], ast.Module]

_ITERATE, _CALL, _REMEMBER = "__reprokit_iterate__", "__reprokit_call__", "__reprokit_remember__"
_TAKES = frozenset(
    [
        "list",
        "tuple",
        "iter",
        "enumerate",
        "zip",
        "map",
        "filter",
        "sum",
        "min",
        "max",
        "any",
        "all",
        "reversed",
        "deque",
        "Counter",
        "OrderedDict",
        "islice",
        "chain",
        "dict",
        "array",
        "cycle",
    ]
)
_IN_ORDER = {"range", "zip", "enumerate", "sorted", "list", "tuple", "reversed", "iter", "map", "filter"}
_METHODS = {
    "join",
    "extend",
    "fromkeys",
    "from_iterable",
    "fromiter",
    "writelines",
    "choice",
    "sample",
    "map",
    "array",
    "tensor",
    "asarray",
    "accumulate",
    "reduce",
}


def begin(watch: Watch) -> None:
    """From now on, compile the program's own files this way: the script too, once Python comes to it."""
    setattr(builtins, _ITERATE, wrapped_calls.iterating(watch))
    setattr(builtins, _CALL, wrapped_calls.calling(watch))
    if watch.orders.get("level") == "loops":
        setattr(builtins, _REMEMBER, loop_variables.remembering(watch))
    compile_with(rewritten)


def compile_with(rewrite: Rewrite) -> None:
    """From now on, compile the program's own files with this change: the script too, once it starts."""
    loader = importlib.machinery.SourceFileLoader
    natural = loader.get_code

    def get_code(self: Any, fullname: str) -> Any:
        path = self.get_filename(fullname)
        made = compiled(self.get_data(path), path, rewrite) if is_own(path) else None
        return natural(self, fullname) if made is None else made

    loader.get_code = get_code  # type: ignore[method-assign]
    imports.after("runpy", lambda module: _watch_runpy(module, rewrite))
    _when_the_script_starts(lambda path: _run_script(path, rewrite))


def _watch_runpy(module: Any, rewrite: Rewrite) -> None:
    """``runpy.run_path`` reads the file by itself, past the loader."""
    natural = module._get_code_from_file
    at = natural.__code__.co_varnames.index("fname")  # its place differs between releases

    @functools.wraps(natural)
    def code_from_file(*args: Any) -> Any:
        found = natural(*args)
        path = os.fsdecode(args[at])
        if not is_own(path):
            return found
        with open(path, "rb") as stream:
            source = stream.read()
        # what is compiled already is no source, and stays as it is
        made = compiled(source, path, rewrite) or (found[0] if isinstance(found, tuple) else found)
        return (made, *found[1:]) if isinstance(found, tuple) else made  # Python 3.12 gives the code only

    module._get_code_from_file = code_from_file


def _when_the_script_starts(act: Callable[[str], None]) -> None:
    """Python announces the script (PEP 578) before running it; run here, it ends with its own exit code."""
    done: list[str] = []

    def heard(event: str, args: tuple[Any, ...]) -> None:
        if event == "cpython.run_file" and not done:
            done.append(event)
            act(str(args[0]))

    heard.__cantrace__ = True  # type: ignore[attr-defined]
    sys.addaudithook(heard)


def _run_script(path: str, rewrite: Rewrite) -> None:
    try:
        with open(path, "rb") as stream:
            source = stream.read()
    except OSError:
        return  # Python will report it
    code = compiled(source, path, rewrite) if is_own(path) else None
    if code is None:
        return
    module = sys.modules["__main__"]
    module.__file__ = path
    module.__cached__ = None  # type: ignore[attr-defined]
    module.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
    exec(code, module.__dict__)  # noqa: S102 - the program that was to be run
    sys.exit(0)


def compiled(source: bytes, path: str, rewrite: Rewrite) -> Any:
    """The code object of a file of the program; None where it cannot be parsed, which Python will report.

    Other compilers that read a function's code are given the untouched one.
    """
    try:
        made = compile(rewrite(ast.parse(source, path), path), path, "exec", dont_inherit=True)
        foreign_readers.remember(compile(source, path, "exec", dont_inherit=True), made)
    except (SyntaxError, ValueError, RecursionError):
        return None
    return made


def rewritten(tree: ast.Module, path: str) -> ast.Module:
    """The tree with a call around every place that is watched."""
    return cast("ast.Module", _Rewriter(path).visit(tree))


class _Rewriter(ast.NodeTransformer):
    def __init__(self, path: str) -> None:
        self._path = real(path)
        self._function = ["<module>"]

    def visit_FunctionDef(self, node: Any) -> Any:
        self._function.append(node.name)
        self.generic_visit(node)
        self._function.pop()
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 - ast's name

    def visit_For(self, node: ast.For) -> Any:
        self.generic_visit(node)
        node.iter = self._iterated(node.iter)
        return self._remembered(node)

    def visit_While(self, node: ast.While) -> Any:
        self.generic_visit(node)
        return self._remembered(node)

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        if not node.is_async:
            node.iter = self._iterated(node.iter)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        if any(isinstance(target, (ast.Tuple, ast.List)) for target in node.targets):
            node.value = self._iterated(node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        node.args = [self._given(arg) for arg in node.args]
        for word in node.keywords:
            word.value = self._given(word.value)
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if name in wrapped_calls.NAMES:
            place = [ast.Constant(name, **_at(node)), *self._place(node)]
            return _call(_CALL, [*place, node.func, *node.args], node, keywords=node.keywords)
        # ties stay in the order in which they came
        by_key = name == "sorted" and any(word.arg == "key" for word in node.keywords)
        if by_key or name in (_TAKES if isinstance(node.func, ast.Name) else _METHODS | _TAKES):
            node.args = [arg if isinstance(arg, ast.Starred) else self._iterated(arg) for arg in node.args]
        return node

    def _given(self, node: ast.expr) -> ast.expr:
        """``key=hash``: the function itself, handed on."""
        if not (isinstance(node, ast.Name) and node.id in {"hash", "id"}):
            return node
        at = _at(node)
        one = ast.Name("one", ast.Load(), **at)
        call = _call(_CALL, [ast.Constant(node.id, **at), *self._place(node), node, one], node)
        given = ast.arguments(
            posonlyargs=[ast.arg("one", **at)], args=[], kwonlyargs=[], kw_defaults=[], defaults=[]
        )
        return ast.Lambda(args=given, body=call, **at)

    def visit_Starred(self, node: ast.Starred) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = self._iterated(node.value)
        return node

    def _remembered(self, node: Any) -> Any:
        """A loop whose body begins by recording its variables, where that is asked for."""
        if hasattr(builtins, _REMEMBER):
            recorded = _call(_REMEMBER, [_call("locals", [], node), *self._place(node)], node)
            node.body.insert(0, ast.Expr(recorded, **_at(node)))
        return node

    def _iterated(self, node: ast.expr) -> ast.expr:
        if isinstance(node, (ast.Constant, ast.List, ast.Tuple, ast.ListComp, ast.Starred, ast.Dict)):
            return node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _IN_ORDER:
            return node  # no set, whatever it was given, which is looked at itself
        return _call(_ITERATE, [node, *self._place(node)], node)

    def _place(self, node: Any) -> list[ast.expr]:
        words = (self._path, node.lineno, self._function[-1])
        return [ast.Constant(word, **_at(node)) for word in words]


def _call(name: str, args: list[ast.expr], node: Any, *, keywords: Any = ()) -> ast.Call:
    at = _at(node)
    return ast.Call(func=ast.Name(name, ast.Load(), **at), args=args, keywords=[*keywords], **at)


def _at(node: Any) -> dict[str, Any]:
    return {name: getattr(node, name) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset")}
