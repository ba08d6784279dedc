"""Inside a program: counts its updates, walks its state at one of them, and sets what another run had there.

The orders are the file that REPROKIT_STATE names: ``out``, a folder; ``record``, kind of update → its number;
``first``, whether the first of every kind is told without its contents; ``put``, a kind, the folder of a
recording, and paths, each with the one that it has there; ``one_worker``, whether each pool has one process.
A kind is a loop of the program or what a framework does once an update. Only the first process is watched,
and those that it starts by themselves, not forked ones.
"""

from __future__ import annotations

import atexit
import builtins
import functools
import json
import os
import pickle
import sys
import types
from typing import Any

import reprokit_walk  # type: ignore[import-not-found, unused-ignore]
from reprokit_hook import imports  # type: ignore[import-not-found, unused-ignore]
from reprokit_hook.frames import is_own  # type: ignore[import-not-found, unused-ignore]

_MOST, _MOST_TOLD = 20_000, 12
_REMEMBER = "__reprokit_remember__"
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Updates:
    """What is counted, and done at the moments that were asked for.

    Attributes:
        counts: Kind → how many there were.
        order: The kinds as they came, by their number in ``counts``; of each the first ones only.
    """

    def __init__(self, orders: dict[str, Any]) -> None:
        self.orders, self.pid = orders, os.getpid()
        self.counts: dict[str, int] = {}
        self.order: list[int] = []
        self._numbers: dict[str, int] = {}
        self._busy, self._told = False, 0

    def begin(self, kind: str) -> None:
        """One more of a kind begins."""
        if self._busy or os.getpid() != self.pid:
            return
        number = self.counts[kind] = self.counts.get(kind, 0) + 1
        if number <= _MOST:
            self.order.append(self._numbers.setdefault(kind, len(self._numbers)))
        self._busy = True
        try:
            self._act(kind, number)
        finally:
            self._busy = False

    def _act(self, kind: str, number: int) -> None:
        put, out = self.orders.get("put") or {}, self.orders["out"]
        record = (self.orders.get("record") or {}).get(kind) == number
        told = number == 1 and self.orders.get("first") and self._told < _MOST_TOLD
        if record or told:
            self._told += 1
            folder = os.path.join(out, f"state-{self._told}")
            _keep(reprokit_walk.Walk(_stack()), folder, kind=kind, contents=record)
        if (put.get("kind"), 1) == (kind, number):
            _put(reprokit_walk.Walk(_stack()), put, out)

    def write(self) -> None:
        """What was counted, when the program ends."""
        if os.getpid() == self.pid and self.counts:
            path = os.path.join(self.orders["out"], f"updates-{self.pid}.json")
            with open(path, "w", encoding="utf-8") as out:
                json.dump({"counts": self.counts, "order": self.order}, out)


def start() -> None:
    """Begin to count in this process."""
    with open(os.environ["REPROKIT_STATE"], encoding="utf-8") as stream:
        updates = Updates(json.load(stream))
    if updates.orders.get("one_worker"):
        imports.after("multiprocessing.pool", _one_process)
        imports.after("concurrent.futures.process", _one_process_of_executor)
        return
    atexit.register(updates.write)
    natural = getattr(builtins, _REMEMBER, None)
    if natural is not None:

        def remember(variables: Any, file: str, line: int, function: str) -> None:
            natural(variables, file, line, function)
            updates.begin(f"loop|{file}|{line}|{function}")

        setattr(builtins, _REMEMBER, remember)
    imports.after("torch", lambda module: _watch_torch(module, updates))
    for name, places in _CALLED.items():
        imports.after(name, functools.partial(_watch_calls, places=places, updates=updates))


def _one_process(module: Any) -> None:
    natural = module.Pool.__init__

    @functools.wraps(natural)
    def begin(self: Any, processes: Any = None, *args: Any, **named: Any) -> None:
        natural(self, processes if isinstance(self, module.ThreadPool) else 1, *args, **named)

    module.Pool.__init__ = begin


def _one_process_of_executor(module: Any) -> None:
    natural = module.ProcessPoolExecutor.__init__

    @functools.wraps(natural)
    def begin(self: Any, _max_workers: Any = None, *args: Any, **named: Any) -> None:
        natural(self, 1, *args, **{name: one for name, one in named.items() if name != "max_workers"})

    module.ProcessPoolExecutor.__init__ = begin


#: Functions that frameworks call once an update, by module.
_CALLED: dict[str, tuple[tuple[str, str], ...]] = {
    "torch.utils.data.dataloader": (("DataLoader", "__iter__"),),
    "lightgbm.basic": (("Booster", "update"),),
    "xgboost.core": (("Booster", "update"),),
    "keras.src.callbacks.callback_list": (("CallbackList", "on_epoch_begin"),),
    "stable_baselines3.common.on_policy_algorithm": (("OnPolicyAlgorithm", "collect_rollouts"),),
    "stable_baselines3.common.off_policy_algorithm": (("OffPolicyAlgorithm", "collect_rollouts"),),
    "optuna.study.study": (("Study", "ask"),),
    "hyperopt.base": (("Trials", "new_trial_ids"),),
    "sklearn.ensemble._gb": (("BaseGradientBoosting", "fit"),),
    "sklearn.neural_network._multilayer_perceptron": (("BaseMultilayerPerceptron", "fit"),),
    "sklearn.linear_model._stochastic_gradient": (("BaseSGD", "partial_fit"),),
}


def _watch_calls(module: Any, *, places: Any, updates: Updates) -> None:
    for owner, name in places:
        kind = getattr(module, owner, None)
        natural = getattr(kind, name, None)
        if natural is None:
            continue
        setattr(kind, name, _counted(natural, f"{owner}.{name}", updates))


def _counted(natural: Any, kind: str, updates: Updates) -> Any:
    @functools.wraps(natural)
    def call(*args: Any, **named: Any) -> Any:
        updates.begin(kind)
        return natural(*args, **named)

    return call


def _watch_torch(torch: Any, updates: Updates) -> None:
    """The first forward pass of a module in training after each step of an optimizer."""
    stepped = [True]

    def forward(module: Any, *_: Any) -> None:
        if stepped[0] and module.training and torch.is_grad_enabled():
            stepped[0] = False
            updates.begin("forward pass")

    def step(*_: Any) -> None:
        stepped[0] = True

    from torch.nn.modules.module import register_module_forward_pre_hook
    from torch.optim.optimizer import register_optimizer_step_post_hook

    register_module_forward_pre_hook(forward)
    register_optimizer_step_post_hook(step)


def _stack() -> list[tuple[types.FrameType, bool]]:
    """The frames of the program and of libraries, outermost first, and which are the program's own."""
    found = []
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not (file.startswith(("<", _HERE)) or "reprokit_hook" in file or _is_the_tools(frame)):
            found.append((frame, is_own(file)))
        frame = frame.f_back
    return found[::-1]


def _is_the_tools(frame: types.FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith(("runpy", "importlib", "sitecustomize"))


def _keep(walk: Any, folder: str, *, kind: str, contents: bool) -> None:
    """The recording: an index without contents, and the contents, which only the program itself reads."""
    os.mkdir(folder)
    index: list[Any] = []
    held: dict[Any, Any] = {}
    for path, leaf in walk.leaves.items():
        index.append(
            {
                "path": reprokit_walk.shown(path),
                "steps": repr(path),
                "kind": leaf.kind,
                "digest": leaf.digest,
                "root": leaf.root,
                "settable": leaf.put is not None,
            }
        )
        held[path] = (leaf.kind, leaf.payload)
    nodes = {path: node.kind for path, node in walk.nodes.items()}
    problem = _write_contents({"leaves": held, "nodes": nodes}, folder) if contents else ""
    opaque = [[reprokit_walk.shown(path), kind] for path, kind in walk.opaque.items()]
    roots = {tuple(one.root) for one in [*walk.leaves.values(), *walk.nodes.values()]}
    nodes_shown = {repr(path): [reprokit_walk.shown(path), kind] for path, kind in nodes.items()}
    with open(os.path.join(folder, "index.json"), "w", encoding="utf-8") as text:
        found = {"kind": kind, "leaves": index, "nodes": nodes_shown, "opaque": opaque, "stack": _own_lines()}
        found["also"] = [[repr(path), repr(one)] for path, one in walk.also.items()]
        json.dump({**found, "roots": sorted(roots), "whole": walk.whole, "problem": problem}, text)


def _write_contents(contents: Any, folder: str) -> str:
    """Why they cannot be carried to another process; "" where they can."""
    try:
        with open(os.path.join(folder, "held.pickle"), "wb") as out:
            pickle.dump(contents, out, protocol=4)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _own_lines() -> list[list[Any]]:
    """The program's own frames, innermost first: file, line, function."""
    return [
        [frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name]
        for frame, own in _stack()[::-1]
        if own
    ]


def _put(walk: Any, put: dict[str, Any], out: str) -> None:
    with open(os.path.join(put["from"], "held.pickle"), "rb") as stream:
        recorded = pickle.load(stream)  # noqa: S301 - written by a run of this program
    wanted = put["steps"]
    told = {repr(path): leaf for path, leaf in recorded["leaves"].items()}
    paths = [path for path in [*recorded["leaves"], *walk.leaves] if repr(path) in wanted]
    recorded["leaves"].update({path: told[wanted[repr(path)]] for path in paths})
    done, failed = reprokit_walk.put_in(walk, recorded, list(dict.fromkeys(paths)))
    with open(os.path.join(out, "put.json"), "w", encoding="utf-8") as text:
        json.dump({"done": list(map(repr, done)), "failed": list(map(repr, failed))}, text)
