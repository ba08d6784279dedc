"""Every environment of Gymnasium, below all wrappers: what it is given, and what it answers.

Outside the windows that are digested, a step costs a count and a comparison.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Iterator
from time import perf_counter
from typing import Any

from . import current, digests
from .frames import own_caller
from .progress import TrainingProgress
from .watch import Watch

_MOST_CALLS = 200_000


def watch_environments(module: Any, watch: Watch, progress: TrainingProgress) -> None:
    """``gymnasium.core``: every class of environments that is made from now on."""
    recorder = _recorder(watch, progress)
    _subclasses(module.Env, lambda kind: not issubclass(kind, module.Wrapper), recorder)


def watch_vectors(module: Any, watch: Watch, progress: TrainingProgress) -> None:
    """``gymnasium.vector.vector_env``: environments that are many by themselves, not made of single ones."""
    made_of_others = ("Wrapper", "SyncVectorEnv", "AsyncVectorEnv")
    recorder = _recorder(watch, progress)
    _subclasses(module.VectorEnv, lambda kind: not kind.__name__.endswith(made_of_others), recorder)


def _recorder(watch: Watch, progress: TrainingProgress) -> _Environments:
    if watch.environments is None:
        watch.environments = _Environments(watch, progress)
    found: _Environments = watch.environments
    return found


def _of_this_process() -> _Environments | None:
    watch = current()
    return None if watch is None or watch.progress is None else _recorder(watch, watch.progress)


def _subclasses(base: Any, wanted: Any, recorder: _Environments) -> None:
    own = vars(base).get("__init_subclass__")

    def made(cls: Any, /, **options: Any) -> None:
        # Generic's, which most bases inherit, is no Python function since 3.12.
        inherited = super(base, cls).__init_subclass__ if own is None else own.__get__(None, cls)
        inherited(**options)
        if wanted(cls):
            for name in ("step", "reset"):
                if name in vars(cls):
                    setattr(cls, name, recorder.around(vars(cls)[name], resets=name == "reset"))

    base.__init_subclass__ = classmethod(made)


class _Environments:
    """All environments of a process, numbered as they are first used."""

    def __init__(self, watch: Watch, progress: TrainingProgress) -> None:
        self._watch, self._progress = watch, progress
        self._numbers: dict[int, int] = {}
        self._all: dict[int, Any] = {}
        self._count = 0
        self._inside: set[int] = set()
        self._seen: dict[int, tuple[Any, Any]] = {}
        self.scripts: dict[int, dict[str, Any]] = {}
        self._scripted = progress.orders.get("record")
        progress.flush.append(self.flush)
        progress.generators.others.append(self._generators)

    def __reduce__(self) -> Any:
        """In another process, to which a class of the program was sent: that process's own."""
        return _of_this_process, ()

    def around(self, natural: Any, *, resets: bool) -> Any:
        """A class's ``step`` or ``reset``, recorded where it is the outermost call."""
        inside, progress, scripted = self._inside, self._progress, self._scripted is not None

        @functools.wraps(natural)
        def called(this: Any, *args: Any, **options: Any) -> Any:
            me = id(this)
            if me in inside:
                return natural(this, *args, **options)
            inside.add(me)
            if resets:
                self._number(this)  # every one is reset before it is stepped: numbers hold from run to run
            else:
                progress.steps += 1
            try:
                if not (progress.window or scripted):
                    return natural(this, *args, **options)
                return self._recorded(natural, this, args, options, resets=resets)
            finally:
                inside.discard(me)
                if progress.steps >= progress.wake:
                    progress.look()

        if resets or scripted or _may_step_others(natural):
            return called

        @functools.wraps(natural)
        def stepped(this: Any, *args: Any, **options: Any) -> Any:
            steps = progress.steps + 1
            if steps < progress.wake:  # nothing is digested: a count and a comparison are all that is done
                progress.steps = steps
                return natural(this, *args, **options)
            return called(this, *args, **options)

        return stepped

    def _recorded(self, natural: Any, this: Any, args: Any, options: Any, *, resets: bool) -> Any:
        began = perf_counter()
        number, progress = self._number(this), self._progress
        given = digests.of("reset" if resets else "step", args, options)
        if self._scripted == number:
            self._write(number, this, args, options, resets=resets)
        spent = perf_counter() - began
        made = natural(this, *args, **options)
        began = perf_counter()
        answer = made[0] if resets else made[:4]
        if progress.fine:
            answered = digests.of(answer)
            names = {f"actions in environment {number}": given, f"answers of environment {number}": answered}
            progress.tell("reset" if resets else "step", names)
            if progress.mode == "deep":
                self._watch.note_operation(f"environment {number}", own_caller(), given=given, made=answered)
        elif progress.window:
            actions, answers = self._seen.setdefault(number, (digests.new(), digests.new()))
            actions.update(given.encode())
            digests.feed(answers, answer)
        progress.spent(spent + perf_counter() - began)
        return made

    def flush(self) -> None:
        """Write what environments were given and answered since the last time."""
        if self._seen:
            streams = {}
            for number, (actions, answers) in sorted(self._seen.items()):
                streams[f"actions in environment {number}"] = actions.hexdigest()
                streams[f"answers of environment {number}"] = answers.hexdigest()
            self._seen = {}
            self._progress.write("environments", streams)

    def _number(self, this: Any) -> int:
        me = id(this)
        if me not in self._numbers:
            number = self._numbers[me] = self._count
            self._count += 1
            self._all[number] = weakref.ref(this)
            weakref.finalize(this, self._forget, me, number)
        return self._numbers[me]

    def _forget(self, me: int, number: int) -> None:
        self._numbers.pop(me, None)
        self._all.pop(number, None)

    def _generators(self) -> Iterator[tuple[str, Any]]:
        for number, found in list(self._all.items()):
            this = found()
            spaces = {"": this, "the action space of ": getattr(this, "action_space", None)}
            for name, one in spaces.items():
                made = getattr(one, "_np_random", None)
                if made is not None:
                    yield f"the generator of {name}environment {number}", made

    def _write(self, number: int, this: Any, args: Any, options: Any, *, resets: bool) -> None:
        """Record a call, to be replayed in another process."""
        script = self.scripts.setdefault(number, {"spec": _spec(this), "calls": []})
        if len(script["calls"]) < _MOST_CALLS:
            call = {"reset": resets, "args": _as_json(args), "options": _as_json(options)}
            script["calls"].append(call)


def _may_step_others(function: Any) -> bool:
    """Whether a ``step`` may call another one, its own class's above it or another environment's."""
    code = getattr(function, "__code__", None)
    return code is None or bool({"step", "super", "__class__"} & {*code.co_names, *code.co_freevars})


def _spec(this: Any) -> str:
    spec = getattr(this, "spec", None)
    if spec is None or not isinstance(spec.entry_point, str) or "__main__" in spec.entry_point:
        return ""
    module = sys.modules.get(spec.entry_point.split(":")[0])
    return spec.to_json() if module is not None else ""


def _as_json(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return {"array": value.tolist(), "dtype": str(value.dtype)}
    if isinstance(value, (list, tuple)):
        return {"tuple": [_as_json(one) for one in value]}
    if isinstance(value, dict):
        return {"dict": [[key, _as_json(one)] for key, one in value.items()]}
    return value if isinstance(value, (bool, int, float, str, type(None))) else {"unknown": repr(value)}
