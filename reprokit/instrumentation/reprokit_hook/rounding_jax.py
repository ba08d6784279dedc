"""A twin of a JAX program: parameters and gradients are rounded where ``jax.grad`` and optax are called.

What they return is mostly compiled, and rounding with it: ``u`` of ``1 + u ε`` is a hash of the value's own
bits, its place and the seed. Every gradient is of rounded parameters and is rounded; the kind ``updates``
rounds what ``optax.apply_updates`` returns too. The control multiplies the updates of optax, and gradients in
a program without it. A program is not ended early, as compiled code cannot be left.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable
from typing import Any

#: Kinds of numbers with fewer digits than single precision, as JAX writes a computation.
_LOW = re.compile(r"\b(bf16|f16|f8\w*)\[")
_TOO_FEW_DIGITS = "the program computes in {what} in part, where rounding cannot be imitated from outside"


class Gradients:
    """The gradients and updates of one process."""

    def __init__(
        self, facts: dict[str, Any], *, kind: str, seed: int, start: int, rate: float | None
    ) -> None:
        self._facts, self._kind, self._seed, self._start = facts, kind, seed, start
        self._rate = rate  # of the control; None in a twin

    def listen(self, jax: Any) -> None:
        """Follow ``jax.grad`` and ``jax.value_and_grad``, before the program has them."""
        self._jax = jax
        jax.grad = self._gradient(jax.grad, has_value=False)
        jax.value_and_grad = self._gradient(jax.value_and_grad, has_value=True)

    def listen_optax(self, optax: Any) -> None:
        """Follow ``optax.apply_updates``."""
        natural = optax.apply_updates

        @functools.wraps(natural)
        def apply_updates(params: Any, updates: Any) -> Any:
            if _is_keras_there():
                return natural(params, updates)
            works = self._works(counts=True)
            if self._rate is not None:
                return natural(params, self._scaled(updates, works))
            made = natural(params, updates)
            return self._rounded(made, works, salt=1) if self._kind == "updates" else made

        optax.apply_updates = apply_updates

    def _gradient(self, natural: Callable[..., Any], *, has_value: bool) -> Callable[..., Any]:
        @functools.wraps(natural)
        def gradient(fun: Any, argnums: Any = 0, has_aux: bool = False, *given: Any, **named: Any) -> Any:
            evaluate = natural(fun, argnums, has_aux, *given, **named)

            @functools.wraps(evaluate)
            def evaluated(*values: Any, **others: Any) -> Any:
                if _is_keras_there():
                    return evaluate(*values, **others)
                at = (argnums,) if isinstance(argnums, int) else tuple(argnums)
                self._look_for_few_digits(functools.partial(fun, **others), values, at)
                has_optax = "optax" in sys.modules
                works = self._works(counts=not has_optax)
                if self._rate is None:
                    values = tuple(
                        self._rounded(one, works, salt=2) if number in at else one
                        for number, one in enumerate(values)
                    )
                found = evaluate(*values, **others)
                change = self._changed(works, has_optax=has_optax)
                if has_value:
                    return found[0], change(found[1])
                return (change(found[0]), found[1]) if has_aux else change(found)

            return evaluated

        return gradient

    def _changed(self, works: Any, *, has_optax: bool) -> Callable[[Any], Any]:
        if self._rate is None:
            return lambda gradients: self._rounded(gradients, works, salt=3)
        return lambda gradients: gradients if has_optax else self._scaled(gradients, works)

    def _look_for_few_digits(self, fun: Any, values: Any, at: Any) -> None:
        """Read what is computed; arguments that are not differentiated may be of any kind."""
        if self._facts.get("refused"):
            return
        given = list(values)

        def of_chosen(*chosen: Any) -> Any:
            for number, one in zip(at, chosen):
                given[number] = one
            return fun(*given)

        try:
            text = str(self._jax.make_jaxpr(of_chosen)(*(values[number] for number in at)))
        except Exception as error:  # arguments that only the program's own call takes: nothing is known
            self._facts["refused"] = f"whether the program computes in few digits cannot be seen: {error!r}"
            return
        if found := _LOW.search(text):
            self._facts["refused"] = _TOO_FEW_DIGITS.format(what=found.group(1))

    def _works(self, *, counts: bool) -> Any:
        """Whether enough updates were made, asked while the program runs; and count one."""
        import numpy as np
        from jax.experimental import io_callback  # type: ignore[import-not-found, unused-ignore]

        def asked() -> Any:
            works = self._facts["updates"] >= self._start
            self._facts["updates"] += counts
            return np.bool_(works)

        return io_callback(asked, self._jax.ShapeDtypeStruct((), np.bool_))

    def _scaled(self, tree: Any, works: Any) -> Any:
        numpy = self._jax.numpy

        def scaled(one: Any) -> Any:
            if not self._is_rounded(one):
                return one
            self._facts["rounded"] += 1
            return one * numpy.where(works, self._rate, 1.0).astype(one.dtype)

        return self._jax.tree_util.tree_map(scaled, tree)

    def _rounded(self, tree: Any, works: Any, *, salt: int) -> Any:
        leaves, form = self._jax.tree_util.tree_flatten(tree)
        made = [self._round(one, works, salt=97 * at + salt) for at, one in enumerate(leaves)]
        return self._jax.tree_util.tree_unflatten(form, made)

    def _round(self, value: Any, works: Any, *, salt: int) -> Any:
        if not self._is_rounded(value):
            return value
        jax, numpy = self._jax, self._jax.numpy
        epsilon = float(numpy.finfo(value.dtype).eps)
        self._facts["rounded"] += 1
        self._facts["epsilon"] = max(self._facts["epsilon"], epsilon)
        noise = (self._share(value, salt) * epsilon).astype(value.dtype) * value
        return value + jax.lax.stop_gradient(numpy.where(works, noise, numpy.zeros_like(noise)))

    def _share(self, value: Any, salt: int) -> Any:
        """``u``, even in [-1, 1]: the end of MurmurHash3 over the value's bits, its place and the seed."""
        jax, numpy = self._jax, self._jax.numpy
        size = value.dtype.itemsize
        bits = jax.lax.bitcast_convert_type(jax.lax.stop_gradient(value), f"uint{8 * size}")
        if size == 8:
            bits = bits ^ (bits >> 32)
        mixed = bits.astype(numpy.uint32)
        mixed ^= jax.lax.iota(numpy.uint32, value.size).reshape(value.shape) * numpy.uint32(0x9E3779B9)
        mixed ^= numpy.uint32((self._seed * 0x27D4EB2F + salt * 0x165667B1) % 2**32)
        for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
            mixed = (mixed ^ (mixed >> shift)) * numpy.uint32(factor)
        mixed ^= mixed >> 16
        return mixed.astype(numpy.float32) * numpy.float32(2.0**-31) - 1

    def _is_rounded(self, value: Any) -> bool:
        numpy = self._jax.numpy
        return hasattr(value, "dtype") and numpy.issubdtype(value.dtype, numpy.floating) and value.size > 0


def _is_keras_there() -> bool:
    """Keras trains by JAX too, and its own twin rounds there."""
    return "keras" in sys.modules
