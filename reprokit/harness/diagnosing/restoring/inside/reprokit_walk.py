"""Everything that is reachable from the frames of a program: its leaves, and how each is set.

A path is a tuple of steps. Equal objects have equal paths in two runs of one program; an object that is
reachable in several ways has the shortest, from the outermost frame of the program's own code on; the others
lead to that one.
"""

from __future__ import annotations

import collections
import ctypes
import hashlib
import random
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Path = tuple[Any, ...]

_SIMPLE = (type(None), bool, int, float, complex, str, bytes)
_MOST_NODES, _MOST_ITEMS = 300_000, 100_000
#: Objects of these modules belong to the interpreter or to this process, and are no state of a training.
_FOREIGN = frozenset(
    [
        *("logging", "threading", "_thread", "io", "_io", "socket", "ctypes", "multiprocessing", "asyncio"),
        *("concurrent", "subprocess", "warnings", "reprokit_hook", "argparse", "weakref", "importlib", "abc"),
    ]
)
_NO_STATE = (
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.CodeType,
    types.FrameType,
    types.GeneratorType,
    types.CoroutineType,
    types.TracebackType,
    type,
    property,
    staticmethod,
    classmethod,
)


class Leaf:
    """A value that has no parts: what it is, its digest, and how it is set.

    Attributes:
        payload: What another run can be given; None where it cannot be given any.
        put: Sets it; None where it cannot be set.
        root: Name, file, function and first line of the code where the path begins.
    """

    def __init__(self, path: Path, kind: str, text: Any, payload: Any, put: Any, root: Any) -> None:
        self.path, self.kind, self.payload, self.put, self.root = path, kind, payload, put, root
        self.digest = _digest(text)


class Node:
    """Something that has parts: of which kind it is, the object, and how another is set in its place."""

    def __init__(self, kind: str, value: Any, put: Any, root: Any) -> None:
        self.kind, self.value, self.put, self.root = kind, value, put, root


class Walk:
    """The leaves and nodes that are reachable at one moment.

    Attributes:
        leaves: By path.
        nodes: By path.
        opaque: Types of compiled objects that tell nothing of themselves, by path.
        also: Another path of an object → the one that it has.
        whole: Whether all of it was walked.
    """

    def __init__(self, frames: list[tuple[types.FrameType, bool]]) -> None:
        self.leaves: dict[Path, Leaf] = {}
        self.nodes: dict[Path, Node] = {}
        self.opaque: dict[Path, str] = {}
        self.also: dict[Path, Path] = {}
        self.whole = True
        self._seen: dict[int, tuple[Any, Path]] = {}
        self._begun: set[Path] = set()
        self._next: Any = collections.deque()
        for name, value, (state, back) in _generators():
            self._seen[id(value)] = value, (name,)
            self.leaves[name,] = Leaf((name,), "generator", state, state, back, ("", "", "", 0))
        for own in (True, False):
            for frame, is_own in frames:
                if is_own is own:
                    self._of_frame(frame, own=own)
            self._all()

    def _of_frame(self, frame: types.FrameType, *, own: bool) -> None:
        code = frame.f_code
        spaces = [(frame.f_globals, "<module>")] if own else []
        module = frame.f_globals.get("__name__")
        if frame.f_locals is not frame.f_globals and code.co_name != "<module>":
            spaces.append((frame.f_locals, code.co_name))
        for space, function in spaces:
            line = code.co_firstlineno if function != "<module>" else 0
            file = code.co_filename if own else ""
            for name, value in list(space.items()):
                if name.startswith("__"):
                    continue
                of_main = function == "<module>" and module == "__main__"
                first = name if of_main else (str(module) + "." + function, name)
                put = _putter_of_variable(frame, name, function=function)
                self._add((first,), value, put, (name, file, function, line))

    def _all(self) -> None:
        while self._next:
            if len(self._seen) > _MOST_NODES:
                self.whole = False
                self._next.clear()
                return
            path, value, put, root = self._next.popleft()
            try:
                self._visit(path, value, put, root)
            except Exception as error:  # an object may fail to tell its state; the program must not
                self.opaque[path] = type(error).__name__

    def _add(self, path: Path, value: Any, put: Any, root: Any) -> None:
        if len(path) > 1 or path not in self._begun:
            self._begun.add(path)
            self._next.append((path, value, put, root))

    def _visit(self, path: Path, value: Any, put: Any, root: Any) -> None:
        kind = type(value)
        if kind in _SIMPLE or (hasattr(kind, "dtype") and _package(kind) == "numpy" and not _is_array(value)):
            self.leaves[path] = Leaf(path, "value", [kind.__name__, repr(value)], value, put, root)
            return
        if isinstance(value, _NO_STATE) or _package(kind) in _FOREIGN or path in self.nodes:
            return
        if id(value) in self._seen:
            self.also[path] = self._seen[id(value)][1]
            return
        self._seen[id(value)] = value, path
        if self._generator(path, value, root) or self._array(path, value, put, root):
            return
        if isinstance(value, dict):
            self._dict(path, value, put, root)
        elif isinstance(value, (list, tuple, collections.deque, set, frozenset)):
            self._list(path, value, put, root)
        else:
            self._object(path, value, put, root)

    def _generator(self, path: Path, value: Any, root: Any) -> bool:
        found = _state_of_generator(value)
        if found is None:
            return False
        state, back = found
        self.leaves[path] = Leaf(path, "generator", state, state, back, root)
        return True

    def _array(self, path: Path, value: Any, put: Any, root: Any) -> bool:
        torch: Any = sys.modules.get("torch")
        if torch is not None and isinstance(value, torch.Tensor):
            plain = value.detach().cpu().clone()
            text = [str(plain.dtype), tuple(plain.shape), _bytes_of_tensor(plain)]
            self.leaves[path] = Leaf(path, "array", text, plain, _putter_of_tensor(value, put), root)
            if value.is_leaf and value.grad is not None:
                self._add((*path, ".grad"), value.grad, lambda new: setattr(value, "grad", new), root)
            return True
        if _is_array(value):
            plain = value.copy()
            text = [
                str(plain.dtype),
                plain.shape,
                plain.tobytes() if not plain.dtype.hasobject else repr(plain),
            ]
            self.leaves[path] = Leaf(path, "array", text, plain, _putter_of_array(value, put), root)
            return True
        if _package(type(value)) in ("jaxlib", "jax") and hasattr(value, "__array__"):
            numpy: Any = sys.modules["numpy"]
            plain = numpy.array(value)
            text = [str(plain.dtype), plain.shape, plain.tobytes()]
            as_jax = None if put is None else (lambda new: put(sys.modules["jax"].numpy.asarray(new)))
            self.leaves[path] = Leaf(path, "array", text, plain, as_jax, root)
            return True
        return False

    def _dict(self, path: Path, value: Any, put: Any, root: Any) -> None:
        self.nodes[path] = Node("dict", value, put, root)
        for number, (key, one) in enumerate(list(value.items())[:_MOST_ITEMS]):
            if _is_address(key):
                continue
            step = ("key", key) if _is_plain_key(key) else ("nth", number)
            self._add((*path, step), one, _putter_of_item(value, key), root)

    def _list(self, path: Path, value: Any, put: Any, root: Any) -> None:
        items = list(value)
        if items and all(map(_is_address, items)):
            return
        if all(type(one) in _SIMPLE for one in items):
            ordered = (
                sorted(map(repr, items)) if isinstance(value, (set, frozenset)) else list(map(repr, items))
            )
            text = [type(value).__name__, ordered]
            self.leaves[path] = Leaf(path, "list", text, items, _putter_of_list(value, put), root)
            return
        if isinstance(value, (set, frozenset)):
            return
        kind = "list" if isinstance(value, list) else "tuple" if type(value) is tuple else "other"
        self.nodes[path] = Node(kind, value, put, root)
        length = (*path, ("length",))
        self.leaves[length] = Leaf(length, "length", len(items), None, None, root)
        for number, one in enumerate(items[:_MOST_ITEMS]):
            if isinstance(value, tuple):
                setter = _putter_in_tuple(value, number, put)
            else:
                setter = _putter_of_item(value, number)
            self._add((*path, ("item", number)), one, setter, root)

    def _object(self, path: Path, value: Any, put: Any, root: Any) -> None:
        if _is_optimizer(value):
            self._optimizer(path, value, put, root)
            return
        attributes = dict(getattr(value, "__dict__", None) or {})
        for above in type(value).__mro__:
            slots = above.__dict__.get("__slots__", ())
            for slot in (slots,) if isinstance(slots, str) else slots:
                name = slot
                if slot.startswith("__") and not slot.endswith("__"):
                    name = f"_{above.__name__.lstrip('_')}{slot}"
                if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                    attributes.setdefault(name, getattr(value, name))
        if not attributes:
            self.opaque[path] = f"{type(value).__module__}.{type(value).__name__}"
            return
        self.nodes[path] = Node("object", value, put, root)
        if any(isinstance(one, (ctypes.c_void_p, ctypes._Pointer)) for one in attributes.values()):
            self.opaque[path] = f"{type(value).__module__}.{type(value).__name__}"
        for name, one in attributes.items():
            self._add((*path, "." + name), one, _putter_of_attribute(value, name), root)

    def _optimizer(self, path: Path, value: Any, put: Any, root: Any) -> None:
        """As its ``state_dict`` names it: by the numbers of the parameters."""
        self.nodes[path] = Node("object", value, put, root)
        state = (*path, ".state")
        self.nodes[state] = Node("optimizer", value, None, root)
        parameters = [one for group in value.param_groups for one in group["params"]]
        for number, parameter in enumerate(parameters):
            if parameter in value.state:
                step = (*state, ("item", number))
                self._add(step, value.state[parameter], _putter_of_item(value.state, parameter), root)
        for number, group in enumerate(value.param_groups):
            for key, one in group.items():
                if key != "params":
                    step = (*path, ".param_groups", ("item", number), ("key", key))
                    self._add(step, one, _putter_of_item(group, key), root)
            for place, one in enumerate(group["params"]):
                step = (*path, ".param_groups", ("item", number), ("key", "params"), ("item", place))
                self._add(step, one, None, root)
        for name, one in vars(value).items():
            if name not in ("state", "param_groups", "defaults") and "hook" not in name:
                self._add((*path, "." + name), one, _putter_of_attribute(value, name), root)


def shown(path: Path) -> str:
    """A path as Python would write it."""
    text = ""
    for number, step in enumerate(path):
        if isinstance(step, str):
            text += step
        elif number == 0:
            text += step[1]
        elif step[0] == "key":
            text += f"[{step[1]!r}]"
        elif step[0] in ("item", "nth"):
            text += f"[{step[1]}]"
        else:
            text += ": its length"
    for name in ("_modules", "_parameters", "_buffers"):
        head, *rest = text.split(f".{name}['")
        text = head + "".join("." + one.replace("']", "", 1) for one in rest)
    return text


def put_in(walk: Walk, recorded: Any, wanted: list[Path]) -> tuple[list[Path], list[Path]]:
    """Set the wanted leaves to what was recorded of another run; which were set, and which could not be.

    Args:
        walk: Of this run.
        recorded: ``leaves`` of the other run, path → kind and payload, and the kinds of its ``nodes``.
        wanted: Paths.
    """
    done: list[Path] = []
    failed: list[Path] = []
    missing: dict[Path, list[Path]] = {}
    for path in wanted:
        leaf = walk.leaves.get(path)
        if leaf is None and path in recorded["leaves"]:
            above = _deepest(walk, path)
            if above is not None:
                missing.setdefault(path[: len(above) + 1] if above in walk.nodes else above, []).append(path)
                continue
        if leaf is None or leaf.put is None or path not in recorded["leaves"]:
            failed.append(path)
            continue
        (done if _quietly(leaf.put, recorded["leaves"][path][1]) else failed).append(path)
    for top, paths in missing.items():
        (done if _quietly(_plant, walk, recorded, top, paths) else failed).extend(paths)
    return done, failed


def _plant(walk: Walk, recorded: Any, top: Path, paths: list[Path]) -> None:
    """Make what is missing altogether, of dicts and lists, from its leaves."""
    value = _built(recorded, top, paths)
    if top in walk.leaves:
        walk.leaves[top].put(value)
        return
    above, step = walk.nodes[top[:-1]], top[-1]
    if above.kind == "optimizer":
        parameters = [one for group in above.value.param_groups for one in group["params"]]
        above.value.state[parameters[step[1]]] = value
    elif above.kind == "dict" and step[0] == "key":
        above.value[step[1]] = value
    elif above.kind == "object" and isinstance(step, str):
        setattr(above.value, step[1:], value)
    else:
        raise TypeError(above.kind)


def _built(recorded: Any, top: Path, paths: list[Path]) -> Any:
    if top in recorded["leaves"]:
        return recorded["leaves"][top][1]
    kind = recorded["nodes"][top]
    steps = list(dict.fromkeys(path[: len(top) + 1] for path in paths if path[len(top)] != ("length",)))
    parts = {one: [path for path in paths if path[: len(one)] == one] for one in steps}
    if kind == "dict" and all(one[-1][0] == "key" for one in steps):
        return {one[-1][1]: _built(recorded, one, parts[one]) for one in steps}
    if kind in ("list", "tuple"):
        ordered = sorted(steps, key=lambda one: one[-1][1])
        items = [_built(recorded, one, parts[one]) for one in ordered]
        return items if kind == "list" else tuple(items)
    raise TypeError(kind)


def _deepest(walk: Walk, path: Path) -> Path | None:
    """The longest beginning of a path that this walk has: a node, or a leaf that is None there."""
    for length in range(len(path) - 1, 0, -1):
        if path[:length] in walk.nodes or path[:length] in walk.leaves:
            return path[:length]
    return None


def _quietly(act: Callable[..., Any], *given: Any) -> bool:
    try:
        act(*given)
    except Exception:  # what cannot be set is said, and the program goes on
        return False
    return True


def _generators() -> list[tuple[str, Any, Any]]:
    """The global ones: name, object, and its state with what sets it.

    NumPy's is asked through its module: the hook has another object in its place.
    """
    numpy: Any = sys.modules.get("numpy.random")
    torch: Any = sys.modules.get("torch")
    found: list[tuple[str, Any, Any]] = [("random", random._inst, _state_of_generator(random._inst))]
    if numpy is not None and hasattr(numpy, "mtrand"):
        own = numpy.get_state(legacy=False), numpy.set_state
        found.append(("numpy.random", numpy.mtrand._rand, own))
    if torch is not None and hasattr(torch, "default_generator"):
        one = torch.default_generator
        found.append(("torch.default_generator", one, _state_of_generator(one)))
    return found


def _state_of_generator(value: Any) -> tuple[Any, Any] | None:
    kind = type(value)
    if isinstance(value, random.Random) and not isinstance(value, random.SystemRandom):
        return value.getstate(), value.setstate
    if _package(kind) == "numpy" and hasattr(value, "bit_generator"):
        bits = value.bit_generator
        return bits.state, lambda new: setattr(bits, "state", new)
    if _package(kind) == "numpy" and kind.__name__ == "RandomState":
        return value.get_state(legacy=False), value.set_state
    if kind.__name__ == "Generator" and _package(kind) in ("torch", "torch._C"):
        return value.get_state(), value.set_state
    return None


def _is_optimizer(value: Any) -> bool:
    module: Any = sys.modules.get("torch.optim.optimizer")
    return module is not None and isinstance(value, module.Optimizer)


def _is_array(value: Any) -> bool:
    numpy: Any = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, getattr(numpy, "ndarray", ()))


def _is_address(value: Any) -> bool:
    """Whether it may be what ``id`` gives, which no other run has."""
    return type(value) is int and 1 << 40 < value < 1 << 47


def _is_plain_key(key: Any) -> bool:
    return type(key) in _SIMPLE or (type(key) is tuple and all(type(one) in _SIMPLE for one in key))


def _package(kind: type) -> str:
    return str(getattr(kind, "__module__", "")).partition(".")[0]


def _bytes_of_tensor(plain: Any) -> Any:
    torch: Any = sys.modules["torch"]
    if plain.layout != torch.strided or not plain.numel():
        return repr(plain)
    return bytes(plain.contiguous().flatten().view(torch.uint8).numpy())


def _putter_of_variable(frame: types.FrameType, name: str, *, function: str) -> Any:
    def put(new: Any) -> None:
        if function == "<module>":
            frame.f_globals[name] = new
            return
        frame.f_locals[name] = new
        if sys.version_info < (3, 13):
            ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))

    return put


def _putter_of_item(container: Any, key: Any) -> Any:
    return lambda new: container.__setitem__(key, new)


def _putter_of_attribute(value: Any, name: str) -> Any:
    def put(new: Any) -> None:
        try:
            setattr(value, name, new)
        except Exception:  # frozen, or a check that belongs to another way of setting it
            object.__setattr__(value, name, new)

    return put


def _putter_in_tuple(value: Any, number: int, put: Any) -> Any:
    """A new tuple, with all that was put into the old one before."""
    if put is None:
        return None
    kind = type(value)

    def set_one(new: Any) -> None:
        now = _tuples.setdefault(id(value), (value, list(value)))[1]
        now[number] = new
        put(kind(*now) if hasattr(kind, "_fields") else kind(now))

    return set_one


#: Items of tuples as they are by now: by the tuple that was there at first, which is kept alive.
_tuples: dict[int, tuple[Any, list[Any]]] = {}


def _putter_of_list(value: Any, put: Any) -> Any:
    def set_all(new: Any) -> None:
        if isinstance(value, list):
            value[:] = new
        elif isinstance(value, (set, collections.deque)):
            value.clear()
            value.update(new) if isinstance(value, set) else value.extend(new)
        else:
            put(type(value)(*new) if hasattr(value, "_fields") else type(value)(new))

    return set_all if put is not None or not isinstance(value, (tuple, frozenset)) else None


def _putter_of_tensor(value: Any, put: Any) -> Any:
    def set_all(new: Any) -> None:
        if value.shape == new.shape and value.dtype == new.dtype:
            with sys.modules["torch"].no_grad():
                value.detach().copy_(new)
        else:
            put(new.to(value.device))

    return set_all


def _putter_of_array(value: Any, put: Any) -> Any:
    def set_all(new: Any) -> None:
        if value.shape == new.shape and value.dtype == new.dtype and value.flags.writeable:
            value[...] = new
        else:
            put(new)

    return set_all


def _digest(value: Any) -> str:
    seen = hashlib.blake2b(digest_size=16)
    _feed(seen, value)
    return seen.hexdigest()


def _feed(seen: Any, value: Any) -> None:
    if isinstance(value, bytes):
        seen.update(b"b%d:" % len(value) + value)
    elif isinstance(value, dict):
        for key in sorted(value, key=repr):
            seen.update(repr(key).encode())
            _feed(seen, value[key])
    elif isinstance(value, (list, tuple)):
        seen.update(b"[%d" % len(value))
        for one in value:
            _feed(seen, one)
    elif hasattr(value, "tobytes"):
        _feed(seen, value.tobytes())
    elif hasattr(value, "tolist"):
        seen.update(repr(value.tolist()).encode())
    else:
        seen.update(repr(value).encode("utf-8", "replace"))
