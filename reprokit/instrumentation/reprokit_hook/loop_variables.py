"""Digests of a loop's variables as each round begins: a resumed run is aligned with a whole one by them."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .watch import Watch

_MOST_ROUNDS, _MOST_NAMES, _DEEP = 400, 60, 6


def remembering(watch: Watch) -> Callable[..., None]:
    """The function that the body of every loop of the program calls first."""
    loops: dict[str, list[dict[str, str]]] = watch.facts.setdefault("loops", {})
    within = threading.local()

    def remember(variables: Mapping[str, Any], file: str, line: int, function: str) -> None:
        rounds = loops.setdefault(f"{file}|{line}|{function}", [])
        if len(rounds) < _MOST_ROUNDS and not getattr(within, "remember", False):
            within.remember = True  # a variable's own `__repr__` or `state_dict` may have a loop, too
            try:
                names = [name for name in list(variables)[:_MOST_NAMES] if not name.startswith("__")]
                rounds.append(dict(_digests({name: variables[name] for name in names})))
            finally:
                within.remember = False

    return remember


def _digests(variables: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in variables.items():
        text = None
        with contextlib.suppress(Exception):  # an object may fail to tell its state; the program must not
            text = _text_of(value, _DEEP)
        if text is not None:
            yield name, _short(text)


def _short(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _text_of(value: Any, deep: int) -> str | None:
    """A value as text that is equal where the values are; None for a value that has none."""
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return repr(value)
    if deep and isinstance(value, (list, tuple)):
        return repr([_text_of(one, deep - 1) for one in value[:1000]]) + str(len(value))
    if deep and isinstance(value, dict):
        return repr(sorted((repr(key), _text_of(one, deep - 1)) for key, one in list(value.items())[:1000]))
    if hasattr(value, "tobytes") and hasattr(value, "dtype"):
        return f"{value.dtype}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
    return _state_text(value, deep)


def _state_text(value: Any, deep: int) -> str | None:
    if hasattr(value, "bit_generator"):
        return repr(value.bit_generator.state)
    for state in ("state_dict", "getstate", "get_state"):
        if deep and callable(getattr(value, state, None)) and not isinstance(value, type):
            return _text_of(getattr(value, state)(), deep - 1)
    if hasattr(value, "detach") and hasattr(value, "numpy"):
        return _text_of(value.detach().cpu().numpy(), deep)
    return None
