"""The functions that compiled program code calls around its watched places: see ``ast_transform``."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

from . import outside_files, uninitialised_memory
from .watch import Watch

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_FIXED = (int, float, complex, bool)
_MOST = 100_000


def iterating(watch: Watch) -> Callable[..., Any]:
    """What every watched iteration goes through: sets whose order the hash seed or addresses decide."""

    def iterate(items: Any, file: str, line: int, function: str) -> Any:
        if type(items) is not set and type(items) is not frozenset:
            return items
        if len(items) < 2 or len(items) > _MOST or not depends(items):
            return items
        site = ("set_order", file, line, function)
        return watch.order(site, list(items), key)

    return iterate


def depends(items: Any) -> bool:
    """Whether the order of a set depends on more than what is in it: numbers hash the same everywhere."""
    return any(not isinstance(item, _FIXED) for item in items)


def key(item: Any) -> str:
    """A name for an element that holds from run to run: its text without addresses."""
    number = getattr(item, "_reprokit_number", None)
    if number is not None:
        return f"future {number}"
    text = repr(item)
    if " at 0x" in text:
        text = _ADDRESS.sub("", text) + _ADDRESS.sub(
            "", repr(sorted(getattr(item, "__dict__", {}).items(), key=str))
        )
    return text


def calling(watch: Watch) -> Callable[..., Any]:
    """What every watched call goes through."""

    def call(name: str, file: str, line: int, function: str, real: Any, *args: Any, **options: Any) -> Any:
        if name in uninitialised_memory.NAMES:
            site = ("unwritten", file, line, function)
            return uninitialised_memory.unwritten(watch, site, real, args, options)
        if name in _BUILT_IN:
            return _BUILT_IN[name](watch, (file, line, function), real, args, options)
        return real(*args, **options)

    return call


def _hash(watch: Watch, place: Any, real: Any, args: Any, options: Any) -> Any:
    if real is not hash or len(args) != 1 or isinstance(args[0], _FIXED):
        return real(*args, **options)
    return watch.value(("hash", *place), lambda: real(*args))


def _id(watch: Watch, place: Any, real: Any, args: Any, options: Any) -> Any:
    if real is not id:
        return real(*args, **options)
    return watch.value(("address", *place), lambda: real(*args))


def _now(watch: Watch, place: Any, real: Any, args: Any, options: Any) -> Any:
    owner = getattr(real, "__self__", None)
    datetime = sys.modules.get("datetime")
    if datetime is None or not isinstance(owner, type) or not issubclass(owner, datetime.date):
        return real(*args, **options)

    def natural() -> Any:
        value = real(*args, **options)
        return value + datetime.timedelta(days=1) if watch.varies("clock") else value

    made = options.get("tz", args[0] if args else None)
    site = ("clock", *place)
    return watch.value(site, natural, encode=_iso, decode=lambda text: _read(owner, text, made))


def _iso(value: Any) -> str:
    return str(value.isoformat())


def _read(owner: Any, text: str, zone: Any) -> Any:
    value = owner.fromisoformat(text)
    return value.astimezone(zone) if zone is not None else value


def _local(watch: Watch, place: Any, real: Any, args: Any, options: Any) -> Any:
    """Local time: what the time zone makes of a moment."""
    owner = getattr(real, "__self__", None)
    datetime = sys.modules.get("datetime")
    kind: Any = owner if isinstance(owner, type) else type(owner)
    if datetime is None or not issubclass(kind, datetime.date) or len(args) > 1 or "tz" in options:
        return real(*args, **options)
    site = ("time_zone", *place)
    return watch.value(site, lambda: real(*args, **options), encode=_iso, decode=kind.fromisoformat)


def _pop(watch: Watch, place: Any, real: Any, args: Any, options: Any) -> Any:
    items = getattr(real, "__self__", None)
    if args or type(items) is not set or len(items) < 2 or not depends(items):
        return real(*args, **options)
    first = watch.order(("set_order", *place), list(items), key)[0]
    items.discard(first)
    return first


def _seed(watch: Watch, place: Any, real: Any, args: Any, options: Any) -> Any:
    owner: Any = getattr(real, "__self__", None)
    if args or options or type(owner).__module__ != "torch._C" or type(owner).__name__ != "Generator":
        return real(*args, **options)
    made = int.from_bytes(watch.entropy(("unseeded", *place), 8), "little") >> 1
    owner.manual_seed(made)
    return made


def _text(watch: Watch, place: Any, real: Any, args: Any, options: Any) -> Any:
    if len(args) != 1 or options or real not in {repr, str}:
        return real(*args, **options)
    items = args[0]
    if watch.output and real is str and watch.output in (path := str(items)):
        return watch.value(("run_path", *place), lambda: path)
    if type(items) not in {set, frozenset} or len(items) < 2 or not depends(items):
        return real(*args)
    texts = [repr(one) for one in watch.order(("set_order", *place), list(items), key)]
    inside = "{" + ", ".join(texts) + "}"
    return inside if type(items) is set else f"frozenset({inside})"


def _generator(watch: Watch, place: Any, real: Any, args: Any, options: Any) -> Any:
    made = real(*args, **options)
    if watch.progress is not None:
        watch.progress.generators.add(made, place[0], place[1])
    return made


def _query(watch: Watch, place: Any, real: Any, args: Any, options: Any) -> Any:
    """The first query of a database that was there: where what it holds comes in."""
    text = args[0] if args and isinstance(args[0], str) else ""
    if text.lstrip()[:6].lower() == "select":
        outside_files.queried(getattr(real, "__self__", None), place, watch)
    return real(*args, **options)


_BUILT_IN: dict[str, Callable[..., Any]] = {
    "hash": _hash,
    "id": _id,
    **dict.fromkeys(("now", "utcnow", "today"), _now),
    "pop": _pop,
    "seed": _seed,
    **dict.fromkeys(("fromtimestamp", "astimezone"), _local),
    **dict.fromkeys(("repr", "str"), _text),
    **dict.fromkeys(("default_rng", "Generator", "RandomState", "Random"), _generator),
    "execute": _query,
}
#: Names whose calls are wrapped; what a call really calls decides at run time.
NAMES = frozenset(_BUILT_IN) | uninitialised_memory.NAMES
