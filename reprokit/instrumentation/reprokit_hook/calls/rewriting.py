"""The program's source with every call watched: ``f(x)`` becomes ``after(site, before(site, f, x)())``.

``before`` returns a ``functools.partial``, which adds no frame: ``super()``, ``locals()`` and tracebacks
stay as they are. A site is ``file:line:column-end``. Statements of loops and functions stand twice, watched
and untouched, and a tick chooses (see ``ticks``). Line numbers stay.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from typing import Any

BEFORE, AFTER, ROUND, TICKS = "__rk_before__", "__rk_after__", "__rk_round__", "__rk_ticks__"
ORDER, MATMUL, REBOUND = "__rk_order__", "__rk_matmul__", "__rk_rebound__"
#: They look at the frame that calls them, or are cheap and always give the same for the same.
_LEFT = frozenset(
    [
        *("super", "locals", "globals", "vars", "dir", "eval", "exec", "isinstance", "issubclass", "len"),
        *("range", "enumerate", "zip", "type", "hasattr", "getattr", "setattr", "callable", "print", "int"),
        *("float", "bool", "abs", "round", "ord", "chr", "slice", "property", "staticmethod", "classmethod"),
    ]
)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_FUNCTIONS, ast.Lambda, ast.ClassDef)


def rewritten(
    tree: ast.Module, path: str, *, only: frozenset[str] | None = None, places: list[str] | None = None
) -> ast.Module:
    """The tree with its calls watched.

    Args:
        tree: Of the source; it is changed.
        path: How the file is called in sites.
        only: These sites alone, and nothing twice; None for all of them.
        places: Takes up the places whose ticks the code asks for.
    """
    _hoist(tree)
    rewriter = _Rewriter(path, only)
    new: ast.Module = rewriter.visit(tree)
    if places is not None:
        places += rewriter.places
    return ast.fix_missing_locations(new)


class _Scope:
    """A function or class around what is rewritten: the names that it binds, and those that it declares."""

    def __init__(self, node: Any) -> None:
        self.bound = _bound(node)
        self.is_function = isinstance(node, _FUNCTIONS)
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()


class _Rewriter(ast.NodeTransformer):
    def __init__(self, path: str, only: frozenset[str] | None) -> None:
        self._path, self._only = path, only
        self.places: list[str] = []
        self._around: list[_Scope] = []

    def _site(self, node: Any, line: int) -> str:
        end = getattr(node, "end_col_offset", 0)
        more = (getattr(node, "end_lineno", None) or line) - line
        return f"{self._path}:{line}:{node.col_offset}-{end}{f'+{more}' if more else ''}"

    def _wanted(self, site: str) -> bool:
        return self._only is None or site in self._only

    def visit_Call(self, node: ast.Call) -> Any:
        site = self._site(node, getattr(node.func, "end_lineno", None) or node.lineno)
        self.generic_visit(node)
        if (isinstance(node.func, ast.Name) and node.func.id in _LEFT) or not self._wanted(site):
            return node
        return self._watched(node, site, node.func, node.args, node.keywords)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        site = self._site(node, node.lineno)
        self.generic_visit(node)
        if not isinstance(node.op, ast.MatMult) or not self._wanted(site):
            return node
        return self._watched(node, site, _name(MATMUL), [node.left, node.right], [])

    def _watched(self, node: Any, site: str, called: ast.expr, args: Any, keywords: Any) -> ast.expr:
        before = _call(BEFORE, [ast.Constant(site), called, *args], keywords)
        done = ast.Call(func=before, args=[], keywords=[])
        watched: ast.expr = _at(_call(AFTER, [ast.Constant(site), done]), node)
        return watched

    def visit_Expr(self, node: ast.Expr) -> Any:
        """A call that stands alone may have changed its receiver: that may be another object from then on."""
        found = node.value.value if isinstance(node.value, ast.Await) else node.value
        owner = (
            found.func.value
            if isinstance(found, ast.Call) and isinstance(found.func, ast.Attribute)
            else None
        )
        line = getattr(getattr(found, "func", None), "end_lineno", None) or node.lineno
        site = self._site(found, line)
        target = copy.deepcopy(owner)
        self.generic_visit(node)
        if self._only is None or site not in self._only or not isinstance(target, ast.Name):
            return node
        if self._around:
            self._declare(target.id)
        again = _call(REBOUND, [ast.Constant(site), ast.Name(target.id, ast.Load())])
        bound = ast.Assign(targets=[ast.Name(target.id, ast.Store())], value=again)
        return [node, _at(bound, node)]

    def _declare(self, name: str) -> None:
        """For a name that this function reads and others bind: binding it alone would make it local."""
        here, *further = reversed(self._around)
        if name not in here.bound:
            inside = any(name in one.bound for one in further if one.is_function)
            (here.nonlocals if inside else here.globals).add(name)

    def _iterated(self, node: Any) -> None:
        if self._only is None and isinstance(node.iter, (ast.Name, ast.Attribute, ast.Subscript, ast.Set)):
            site = self._site(node.iter, node.iter.lineno)
            node.iter = _at(_call(ORDER, [ast.Constant(site), node.iter]), node.iter)

    def visit_For(self, node: Any) -> Any:
        untouched = copy.deepcopy(node.body)
        self.generic_visit(node)
        if isinstance(node, ast.For):
            self._iterated(node)
        node.body = self._twice(node, node.body, untouched)
        return node

    visit_AsyncFor = visit_For  # noqa: N815 - ast's name

    def visit_While(self, node: ast.While) -> Any:
        untouched, test = copy.deepcopy(node.body), copy.deepcopy(node.test)
        self.generic_visit(node)
        node.test = self._either(node, "test", node.test, test)
        node.body = self._twice(node, node.body, untouched)
        return node

    def visit_FunctionDef(self, node: Any) -> Any:
        """The body, and the defaults; decorators and annotations belong to whoever reads them."""
        untouched = copy.deepcopy(node.body)
        node.args.defaults = [self.visit(one) for one in node.args.defaults]
        node.args.kw_defaults = [one and self.visit(one) for one in node.args.kw_defaults]
        node.body = self._twice(node, self._inside(node), untouched)
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 - ast's name

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        node.body = self._inside(node)
        return node

    def _inside(self, node: Any) -> list[Any]:
        """The body of a function or class, below its docstring the declarations of what it binds now."""
        scope = _Scope(node)
        self._around.append(scope)
        docstring = 1 if ast.get_docstring(node, clean=False) is not None else 0
        body = _flat(self.visit(one) for one in node.body)
        self._around.pop()
        made: list[Any] = [ast.Global(sorted(scope.globals))] if scope.globals else []
        made += [ast.Nonlocal(sorted(scope.nonlocals))] if scope.nonlocals else []
        return [*body[:docstring], *(_at(one, body[0]) for one in made), *body[docstring:]]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        untouched = copy.deepcopy(node.body)
        self.generic_visit(node)
        node.body = self._either(node, "lambda", node.body, untouched)
        return node

    def visit_ListComp(self, node: Any) -> Any:
        names = [name for name in ("elt", "key", "value") if hasattr(node, name)]
        untouched = {name: copy.deepcopy(getattr(node, name)) for name in names}
        tests = [copy.deepcopy(one.ifs) for one in node.generators]
        self.generic_visit(node)
        for name in names:
            setattr(node, name, self._either(node, name, getattr(node, name), untouched[name]))
        for number, (one, plain) in enumerate(zip(node.generators, tests)):
            pairs = enumerate(zip(one.ifs, plain))
            one.ifs = [self._either(node, f"if{number}.{which}", *pair) for which, pair in pairs]
            if not one.is_async:
                self._iterated(one)
        return node

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp  # noqa: N815 - ast's names

    def _place(self, node: Any, what: str) -> str:
        self.places.append(f"{self._path}:{node.lineno}:{node.col_offset}:{what}")
        return self.places[-1]

    def _either(self, node: Any, what: str, watched: ast.expr, untouched: ast.expr) -> ast.expr:
        """``watched if tick else untouched``."""
        if self._only is not None or not _calls([untouched]):
            return watched
        chosen: ast.expr = _at(ast.IfExp(_tick(self._place(node, what)), watched, untouched), untouched)
        return chosen

    def _twice(self, node: Any, watched: list[Any], untouched: list[Any]) -> list[Any]:
        """``if tick: watched else: untouched``, below a docstring."""
        kept = any(isinstance(one, (ast.Global, ast.Nonlocal)) for one in _within(untouched))
        if self._only is not None or kept or not _calls(untouched):
            return watched
        head: list[Any] = []
        if isinstance(node, _FUNCTIONS) and ast.get_docstring(node, clean=False) is not None:
            head, watched, untouched = watched[:1], watched[1:], untouched[1:]
        if not untouched:
            return head
        place = self._place(node, type(node).__name__)
        begun = _at(ast.Expr(_call(ROUND, [ast.Constant(place)])), untouched[0])
        return [*head, _at(ast.If(_tick(place), [begun, *watched], untouched), untouched[0])]


def _hoist(tree: ast.Module) -> None:
    """Put ``global`` and ``nonlocal`` at the beginning of their function: there they may not stand twice."""
    for node in ast.walk(tree):
        if not isinstance(node, _FUNCTIONS):
            continue
        found = [one for one in _within(node.body) if isinstance(one, (ast.Global, ast.Nonlocal))]
        if not found:
            continue
        node.body = [_Without().visit(one) for one in node.body]
        docstring = 1 if ast.get_docstring(node, clean=False) is not None else 0
        node.body[docstring:docstring] = found


class _Without(ast.NodeTransformer):
    """Puts ``pass`` in place of the declarations of one function."""

    def visit(self, node: Any) -> Any:
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            return ast.copy_location(ast.Pass(), node)
        return node if isinstance(node, _SCOPES) else self.generic_visit(node)


def _bound(scope: Any) -> set[str]:
    """The names that a function or class binds or declares itself."""
    arguments = ast.walk(scope.args) if isinstance(scope, _FUNCTIONS) else ()
    found = {one.arg for one in arguments if isinstance(one, ast.arg)}
    inside = _within(scope.body)
    for one in (scope, *inside):
        children = ast.iter_child_nodes(one)
        found.update(child.name for child in children if isinstance(child, (*_FUNCTIONS, ast.ClassDef)))
    for one in inside:
        if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load):
            found.add(one.id)
        elif isinstance(one, (ast.Global, ast.Nonlocal)):
            found.update(one.names)
        elif isinstance(one, ast.alias):
            found.add(one.asname or one.name.partition(".")[0])
        elif isinstance(getattr(one, "name", None), str):  # of an exception, or of a pattern
            found.add(one.name)  # type: ignore[attr-defined]
        elif isinstance(getattr(one, "rest", None), str):
            found.add(one.rest)  # type: ignore[attr-defined]
    return found


def _within(body: list[Any]) -> list[ast.AST]:
    """Everything in these statements but what stands in functions and classes of their own."""
    found: list[ast.AST] = []
    waiting: list[ast.AST] = [one for one in body if not isinstance(one, _SCOPES)]
    while waiting:
        one = waiting.pop(0)
        found.append(one)
        waiting += [inner for inner in ast.iter_child_nodes(one) if not isinstance(inner, _SCOPES)]
    return found


def _calls(body: list[Any]) -> bool:
    """Whether there is a call, inner functions included."""
    wanted = (ast.Call, ast.MatMult)
    return any(isinstance(inner, wanted) for one in body for inner in ast.walk(one))


def _flat(found: Any) -> list[Any]:
    """Statements, of which a visit may have made several."""
    return [one for some in found for one in (some if isinstance(some, list) else [some])]


def _tick(place: str) -> ast.expr:
    found = ast.Subscript(value=_name(TICKS), slice=_index(ast.Constant(place)), ctx=ast.Load())
    return ast.Call(func=found, args=[], keywords=[])


def _index(value: ast.expr) -> Any:
    """Before Python 3.9 a subscript's value stands in a node of its own."""
    index: Callable[..., Any] = getattr(ast, "Index", lambda value: value)
    return index(value=value)


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _call(name: str, args: list[Any], keywords: Any = ()) -> ast.Call:
    return ast.Call(func=_name(name), args=args, keywords=list(keywords))


def _at(new: Any, node: Any) -> Any:
    """A new node where another one stands, with all that has no place yet."""
    ast.copy_location(new, node)
    for inner in ast.walk(new):
        if "lineno" in inner._attributes and not hasattr(inner, "lineno"):
            ast.copy_location(inner, node)
    return new
