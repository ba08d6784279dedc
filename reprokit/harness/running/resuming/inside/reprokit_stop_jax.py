"""Updates of JAX: a call of optax's ``apply_updates``, or of a compiled function that holds one.

Inside a compiled function Python runs only while it is traced, so that its calls are what can be counted. A
loop that is compiled whole (``jax.lax.scan`` over many updates) is one update: nothing can end between them.
"""

import functools
import threading
import types
from typing import Any


class Updates:
    """What is known of the compiled functions of a program.

    Args:
        count: Called after each update.
    """

    def __init__(self, count: Any) -> None:
        self._count = count
        self._holding: Any = set()
        self._thread = threading.local()

    def applied(self, natural: Any) -> Any:
        """``apply_updates``, which is an update by itself where nothing is being traced."""

        @functools.wraps(natural)
        def apply_updates(*args: Any, **options: Any) -> Any:
            made = natural(*args, **options)
            if self._calls():
                self._holding.add(self._calls()[-1])
            elif not _is_traced(made):
                self._count()
            return made

        return apply_updates

    def compiler(self, natural: Any) -> Any:
        """``jax.jit`` or ``jax.pmap``, whose functions are counted."""

        @functools.wraps(natural)
        def compiled(*args: Any, **options: Any) -> Any:
            made = natural(*args, **options)
            if args or "fun" in options:
                return _Compiled(made, self, args[0] if args else options["fun"])
            return lambda function: _Compiled(made(function), self, function)

        return compiled

    def call(self, natural: Any, function: Any, args: Any, options: Any) -> Any:
        """Call a compiled function; an update where it holds one and no other compiled function called it."""
        function = getattr(function, "__func__", function)
        calls = self._calls()
        calls.append(function)
        try:
            made = natural(*args, **options)
        finally:
            calls.pop()
        if function in self._holding:
            if calls:
                self._holding.add(calls[-1])
            elif not _is_traced(made):
                self._count()
        return made

    def _calls(self) -> Any:
        """The compiled functions that are being called in this thread, the outermost first."""
        if not hasattr(self._thread, "calls"):
            self._thread.calls = []
        return self._thread.calls


class _Compiled:
    """A compiled function; all but its call is left as it is."""

    def __init__(self, natural: Any, updates: Updates, function: Any) -> None:
        functools.update_wrapper(self, natural)
        self._reprokit = natural, updates, function

    def __call__(self, *args: Any, **options: Any) -> Any:
        natural, updates, function = self._reprokit
        return updates.call(natural, function, args, options)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reprokit[0], name)


def _is_traced(made: Any) -> bool:
    import jax  # type: ignore[import-not-found, unused-ignore]

    return any(isinstance(one, jax.core.Tracer) for one in jax.tree_util.tree_leaves(made))
