"""Counts the updates, checkpoints and passes over the data of a program from inside it, and kills it at one.

An update is one step of an optimizer of PyTorch, one call of a function of JAX that applies optax's updates,
one round of a booster, one batch of Keras, one outermost ``fit`` of scikit-learn, one trial of Optuna. A
checkpoint is what an outermost function that saves has left in the run's folder. What is counted is written
to a file there; of PyTorch also digests of the state that each update begins with. The process is killed with
its whole group: nothing is caught or flushed.
"""

import functools
import json
import os
import resource
import signal
import sys
from typing import Any

import reprokit_stop_jax  # type: ignore[import-not-found, unused-ignore]
import reprokit_stop_state  # type: ignore[import-not-found, unused-ignore]

_FILE = ".reprokit-places"
_ORDERS, _FOLDER, _ROOT = "REPROKIT_STOP", "REPROKIT_STOP_DIR", "REPROKIT_STOP_ROOT"

#: Module → class, "" for none → methods or functions after which one update has been made.
_UPDATES: Any = {
    "lightgbm.basic": {"Booster": ("update",)},
    "xgboost.core": {"Booster": ("update",)},
    "optuna.study._tell": {"": ("_tell_with_warning",)},
    "keras.src.callbacks.callback_list": {"CallbackList": ("on_train_batch_end",)},
}
#: The same → what a whole pass over the data ends with.
_PASSES: Any = {"keras.src.callbacks.callback_list": {"CallbackList": ("on_epoch_end",)}}
#: The same → what saves.
_SAVES: Any = {
    "torch": {"": ("save",)},
    "pickle": {"": ("dump",)},
    "joblib.numpy_pickle": {"": ("dump",)},
    "numpy": {"": ("save", "savez", "savez_compressed")},
    "safetensors.torch": {"": ("save_file",)},
    "lightgbm.basic": {"Booster": ("save_model",)},
    "xgboost.core": {"Booster": ("save_model",)},
    "keras.src.models.model": {"Model": ("save", "save_weights")},
    "lightning.pytorch.trainer.trainer": {"Trainer": ("save_checkpoint",)},
    "pytorch_lightning.trainer.trainer": {"Trainer": ("save_checkpoint",)},
    "transformers.trainer": {"Trainer": ("_save_checkpoint",)},
    "accelerate.accelerator": {"Accelerator": ("save_state",)},
    "stable_baselines3.common.base_class": {"BaseAlgorithm": ("save",)},
    "torch.distributed.checkpoint.state_dict_saver": {"": ("save",)},
    "orbax.checkpoint.checkpoint_manager": {"CheckpointManager": ("save",)},
}


class _Places:
    """What has been counted in this process."""

    def __init__(self, orders: str, folder: str) -> None:
        self.folder, self.process = folder, os.getpid()
        self._kind, number, size = orders.split(":") if orders != "look" else ("", "0", "0")
        self._number, self._bytes, self._looks = int(number), int(size), orders == "look"
        self._counts: Any = {}
        self._saving = self._fitting = 0
        self._file = -1
        if self._looks:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._file = os.open(os.path.join(folder, _FILE), flags, 0o666)

    @property
    def is_here(self) -> bool:
        """Whether this is no child that was forked."""
        return os.getpid() == self.process

    @property
    def looks(self) -> bool:
        return self._looks and self.is_here

    def write(self, **line: Any) -> None:
        if self._file >= 0:
            os.write(self._file, (json.dumps(line) + "\n").encode())

    def count(self, kind: str, **more: Any) -> None:
        """One more of a kind; the end of the process where it is the one that was asked for."""
        if not self.is_here:
            return
        number = self._counts[kind] = self._counts.get(kind, 0) + 1
        self.write(kind=kind, number=number, updates=self._counts.get("update", 0), **more)
        if (kind, number) == (self._kind, self._number):
            _kill()

    @property
    def updates(self) -> int:
        found: int = self._counts.get("update", 0)
        return found

    def after(self, kind: str, natural: Any) -> Any:
        """The function, counted where it has returned."""

        @functools.wraps(natural)
        def counted(*args: Any, **options: Any) -> Any:
            made = natural(*args, **options)
            self.count(kind)
            return made

        return counted

    def outermost(self, natural: Any) -> Any:
        """A ``fit``, counted as an update where no other one called it."""

        @functools.wraps(natural)
        def fit(*args: Any, **options: Any) -> Any:
            self._fitting += 1
            try:
                made = natural(*args, **options)
            finally:
                self._fitting -= 1
            if not self._fitting:
                self.count("update")
            return made

        return fit

    def saver(self, natural: Any) -> Any:
        """What saves, counted before and after; killed by the kernel in its middle where asked for."""

        @functools.wraps(natural)
        def save(*args: Any, **options: Any) -> Any:
            if self._saving or not self.is_here:
                return natural(*args, **options)
            self._saving += 1
            try:
                self.count("save")
                before = self._files()
                if (self._kind, self._number) == ("saving", self._counts["save"]):
                    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                    resource.setrlimit(resource.RLIMIT_FSIZE, (self._bytes, self._bytes))
                made = natural(*args, **options)
                for one in (*args, *options.values()):  # or a file that is open would still be empty
                    if callable(getattr(one, "flush", None)):
                        one.flush()
            finally:
                self._saving -= 1
            after = self._files()
            changed = [(size, name) for name, (size, at) in after.items() if before.get(name) != (size, at)]
            size, name = max(changed, default=(0, ""))
            self.count("saved", bytes=size, file=name)
            return made

        return save

    def _files(self) -> Any:
        """Every file of the run's folder: its size, and when it was last written."""
        found = {}
        for folder, _, names in os.walk(self.folder):
            for name in names:
                path = os.path.join(folder, name)
                if name != _FILE and os.path.isfile(path):
                    seen = os.stat(path)
                    found[os.path.relpath(path, self.folder)] = (seen.st_size, seen.st_mtime_ns)
        return found


def _kill() -> None:
    """The end of the program, launcher and all."""
    own, root = os.getpgrp(), os.environ.get(_ROOT, "")
    if root.isdigit() and int(root) != os.getpid():
        group = os.getpgid(int(root))
        if group != own:
            os.killpg(group, signal.SIGKILL)
    os.killpg(own, signal.SIGKILL)


class _Finder:
    """Changes modules as soon as they have been imported."""

    def __init__(self, changes: Any) -> None:
        self._changes = changes

    def find_spec(self, name: str, *_: Any) -> Any:
        changes = self._changes.pop(name, None)
        if changes is None:
            return None
        import importlib.util

        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        natural: Any = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            natural(module)
            for change in changes:
                change(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign, unused-ignore]
        return spec


def _wrapped(wrap: Any, named: Any) -> Any:
    """A change of a module: these functions of it are wrapped."""

    def change(module: Any) -> None:
        for owner, names in named.items():
            holder = getattr(module, owner, None) if owner else module
            for name in names:
                if holder is not None and hasattr(holder, name):
                    setattr(holder, name, wrap(getattr(holder, name)))

    return change


def _fits(places: _Places) -> Any:
    """Every ``fit`` and ``partial_fit`` of scikit-learn is made by one decorator."""

    def change(module: Any) -> None:
        natural = getattr(module, "_fit_context", None)
        if natural is not None:
            module._fit_context = lambda **options: (
                lambda fit: functools.wraps(fit)(places.outermost(natural(**options)(fit)))
            )

    return change


def _passes(places: _Places) -> Any:
    """A loader of PyTorch that is at its end."""

    def change(module: Any) -> None:
        natural = module._BaseDataLoaderIter.__next__

        def following(self: Any) -> Any:
            try:
                return natural(self)
            except StopIteration:
                places.count("pass")
                raise

        module._BaseDataLoaderIter.__next__ = following

    return change


def _optimizers(places: _Places) -> Any:
    def change(module: Any) -> None:
        state = reprokit_stop_state.State()

        def begins(optimizer: Any, *_: Any) -> None:
            if places.looks:
                places.write(kind="state", updates=places.updates, parts=state.of(optimizer))

        module.register_optimizer_step_pre_hook(begins)
        module.register_optimizer_step_post_hook(lambda *_: places.count("update"))

    return change


def start() -> None:
    """Begin to count, in the program's first Python and in rank 0."""
    orders, folder = os.environ[_ORDERS], os.environ[_FOLDER]
    is_child = _ROOT in os.environ
    os.environ.setdefault(_ROOT, str(os.getpid()))
    if os.environ.get("RANK", "0") != "0" or (is_child and "RANK" not in os.environ):
        return
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it, and would have an error in its place
    places = _Places(orders, folder)
    changes: Any = {}
    for kind, table in (("update", _UPDATES), ("pass", _PASSES)):
        for module, named in table.items():
            wrap = functools.partial(places.after, kind)
            changes.setdefault(module, []).append(_wrapped(wrap, named))
    for module, named in _SAVES.items():
        changes.setdefault(module, []).append(_wrapped(places.saver, named))
    changes.setdefault("sklearn.base", []).append(_fits(places))
    changes.setdefault("torch.utils.data.dataloader", []).append(_passes(places))
    changes.setdefault("torch.optim.optimizer", []).append(_optimizers(places))
    updates = reprokit_stop_jax.Updates(lambda: places.count("update"))
    changes.setdefault("optax", []).append(_wrapped(updates.applied, {"": ("apply_updates",)}))
    changes.setdefault("jax", []).append(_wrapped(updates.compiler, {"": ("jit", "pmap")}))
    backward = _wrapped(functools.partial(places.after, "backward"), {"Tensor": ("backward",)})
    changes.setdefault("torch._tensor", []).append(backward)
    for module in [name for name in changes if name in sys.modules]:
        for change in changes.pop(module):
            change(sys.modules[module])
    sys.meta_path.insert(0, _Finder(changes))
