"""Draws from PyTorch's default generator before anyone has seeded it, by the program's own line.

Operations are looked at from the import of PyTorch until the program seeds it, or for ``most`` operations:
what is drawn later belongs to the line that drew last. Each line draws from a state of its own. A draw that
is overwritten before anything has read it, such as a weight that is initialised twice, reaches no number.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from .frames import own_caller, site_of
from .watch import Watch, unit

#: How many operations are looked at in a program that neither seeds nor ends before.
MOST_OPERATIONS = 20_000
_KIND = "torch_unseeded"
#: Operations that give their first argument new contents.
_OVERWRITES = frozenset({"copy_", "fill_", "zero_", "uniform_", "normal_", "random_", "exponential_"})
#: Operations that read no number.
_VIEWS = frozenset({"view", "detach", "t", "transpose", "alias", "_unsafe_view"})


def watch_draws(torch: Any, dispatch: Any, watch: Watch, *, most: int | None) -> None:
    """Look at draws; for every operation of the program where ``most`` is None."""
    draws = _Draws(torch, watch, most)
    mode = _mode(torch, dispatch, draws)
    mode.__enter__()
    watch.at_end.append(draws.tell)
    if most is not None:
        _leave_early(torch, dispatch, mode, draws)


class _Draws:
    """By line: the state that it draws from, and whether anything read what it drew."""

    def __init__(self, torch: Any, watch: Watch, most: int | None) -> None:
        self._torch, self._watch, self._most = torch, watch, most
        self._generator = torch.default_generator
        self._seed = torch.manual_seed
        self._began_with, self._began = self._generator.initial_seed(), state_of(torch)
        self._of_site: dict[str, Any] = {}
        self._unread: dict[int, tuple[int, set[str]]] = {}
        self._read: set[str] = set()
        self._last: Any = None
        self._num_seen = 0
        self.ended = False

    @property
    def seeded(self) -> bool:
        """Whether the program has seeded it."""
        return bool(self._generator.initial_seed() != self._began_with)

    def looks(self) -> bool:
        """Whether the operation that comes now is looked at; the last one is followed by nothing."""
        self._num_seen += 1
        if not self.ended and self._most is not None and self._num_seen > self._most:
            self.end()
        return not self.ended

    def drawn(self, func: Any, args: Any, options: Any) -> Any:
        """A draw, from the state of its line."""
        frame = None if self.seeded else own_caller()
        if frame is None or any(isinstance(arg, self._torch.Generator) for arg in args):
            return func(*args, **options)
        watch, generator, site = self._watch, self._generator, site_of(frame, _KIND)
        name, before = f"{watch.context}{unit(site)}", generator.get_state()
        if name not in self._of_site:
            generator.manual_seed(watch.random(site).getrandbits(60))
        else:
            generator.set_state(self._of_site[name])
        try:
            made = func(*args, **options)
        finally:
            self._of_site[name] = generator.get_state()
            generator.set_state(before)
            what = f"torch.{func._schema.name.split('::')[-1]}"
            watch.seen(site, f"{watch.random(site).getrandbits(64):x}", what=what)
        self._last = site
        self._made(made, unit(site))
        return made

    def _made(self, made: Any, name: str) -> None:
        place = self._place(made)
        if place:
            self._unread[place] = made.numel(), {name}
        else:
            self._read.add(name)

    def used(self, name: str, args: Any) -> None:
        """An operation is given these: what was drawn into them is read, or overwritten."""
        if not self._unread or name in _VIEWS:
            return
        for number, arg in enumerate(_flat(args)):
            count, names = self._unread.pop(self._place(arg), (0, set()))
            if names and (number or name not in _OVERWRITES or arg.numel() < count):
                self._read |= names

    def _place(self, one: Any) -> int:
        """Where a tensor's numbers lie; 0 where that is not known."""
        if not isinstance(one, self._torch.Tensor):
            return 0
        try:
            return int(one.data_ptr())
        except Exception:  # a tensor without memory: fake, sparse, wrapped
            return 0

    def end(self) -> None:
        """Look no further: what is drawn from now on follows from a seed of the line that drew last."""
        if self.ended:
            return
        self.ended = True
        self._read |= self._left()
        self._unread.clear()
        if self._last is not None and not self.seeded:
            self._seed(self._watch.random(self._last, 1).getrandbits(60))
            self._began_with = self._generator.initial_seed()
            if self._watch.progress is not None:
                self._watch.progress.generators.began(self._torch)

    def _left(self) -> set[str]:
        return {name for _, names in self._unread.values() for name in names}

    def tell(self) -> None:
        """Which lines drew what was overwritten; and whether something was drawn that was not looked at."""
        alive = self._read | self._left()
        for name, record in list(self._watch.sites.items()):
            if record["kind"] == _KIND:
                record["overwritten"] = name not in alive
        unseen = self._last is None and not self.seeded and self._began != state_of(self._torch)
        self._watch.facts["torch_drew"] = self.ended and unseen
        if self.seeded:
            self._watch.seeded.add("torch")


def state_of(torch: Any) -> bytes:
    """The default generator's state, read without an operation that anyone would watch."""
    return bytes(torch.default_generator.get_state().numpy().tobytes())


def _flat(args: Any) -> Iterator[Any]:
    for arg in args:
        if isinstance(arg, (list, tuple)):
            yield from arg
        else:
            yield arg


def _mode(torch: Any, dispatch: Any, draws: _Draws) -> Any:
    seeded_tag = torch.Tag.nondeterministic_seeded

    class Unseeded(dispatch.TorchDispatchMode):  # type: ignore[misc, name-defined, unused-ignore]
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return False  # else the first operation imports all of the compiler

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            options = kwargs or {}
            if not draws.looks():
                return func(*args, **options)
            draws.used(func._schema.name.split("::")[-1], args)
            if seeded_tag not in func.tags or options.get("generator") is not None:
                return func(*args, **options)
            return draws.drawn(func, args, options)

    return Unseeded()


def _leave_early(torch: Any, dispatch: Any, mode: Any, draws: _Draws) -> None:
    """Take the mode off where the program seeds or it has ended: from inside an operation no one can."""
    from torch.optim import optimizer as optim  # type: ignore[import-not-found, unused-ignore]

    handles: list[Any] = []

    def look(*_: Any) -> None:
        if not (draws.ended or draws.seeded) or dispatch._get_current_dispatch_mode() is not mode:
            return
        draws.end()
        mode.__exit__(None, None, None)
        while handles:
            handles.pop().remove()

    torch.manual_seed = torch.random.manual_seed = _after(look, torch.manual_seed)
    handles.append(torch.nn.modules.module.register_module_forward_pre_hook(look))
    handles.append(optim.register_optimizer_step_pre_hook(look))


def _after(act: Callable[[], None], natural: Any) -> Any:
    @functools.wraps(natural)
    def called(*args: Any, **options: Any) -> Any:
        made = natural(*args, **options)
        act()
        return made

    return called
