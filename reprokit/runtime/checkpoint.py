"""Checkpoints: everything that a training program needs to resume as if it had never stopped.

    >>> store = CheckpointStore(run_dir / "checkpoints")
    >>> store.save(training_state(step=4096, model=model, optimizer=adam, environments=envs))
    >>> restore(load(path), model=model, optimizer=adam, environments=envs)

A file is written under another name, flushed to the disk and renamed, then listed in
``MANIFEST.json`` with its SHA-256, which is replaced in the same way: whenever the program is
killed, every file that the manifest lists is whole. Where only the last ones are kept, the manifest
lists the others under ``removed``, with their digests. Files hold tensors and plain data only and are
loaded with ``weights_only=True``: loading one never runs code.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import os
import pickle
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import torch

from reprokit.errors import CannotRunError, WorkspaceError
from reprokit.layout import FINAL_MODEL, MANIFEST
from reprokit.runtime import random_state
from reprokit.runtime.random_state import Generators

SCHEMA = 1


class Stateful(Protocol):
    """A model, an optimizer, a scheduler, or anything of the trainer's that can be saved."""

    def state_dict(self) -> dict[str, Any]:
        """Its state as tensors and plain data."""

    def load_state_dict(self, state_dict: dict[str, Any], /) -> Any:
        """Take that state over."""


def training_state(
    *,
    step: int,
    model: Stateful,
    optimizer: Stateful | None = None,
    scheduler: Stateful | None = None,
    generators: Generators | None = None,
    environments: Sequence[Any] = (),
    extra: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Put a checkpoint together.

    Args:
        step: Steps done.
        model: Its parameters and buffers.
        optimizer: Its moments and counts.
        scheduler: The learning rate's place in its schedule.
        generators: Name → generator beside the global ones.
        environments: The training environments, in a fixed order.
        extra: What else the trainer needs: tensors, numbers, text, lists and dicts of them.
    """
    return {
        "schema": SCHEMA,
        "step": step,
        "model": model.state_dict(),
        "optimizer": None if optimizer is None else optimizer.state_dict(),
        "scheduler": None if scheduler is None else scheduler.state_dict(),
        "random": random_state.capture(generators=generators, environments=environments),
        "extra": dict(extra or {}),
    }


def restore(
    state: Mapping[str, Any],
    *,
    model: Stateful,
    optimizer: Stateful | None = None,
    scheduler: Stateful | None = None,
    generators: Generators | None = None,
    environments: Sequence[Any] = (),
) -> tuple[int, dict[str, Any]]:
    """Put everything back where ``training_state`` took it from.

    Returns:
        The step, and ``extra``.

    Raises:
        CannotRunError: The checkpoint lacks something that is asked for here; named.
    """
    wanted = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    lacking = [name for name, part in wanted.items() if part is not None and state.get(name) is None]
    lacking += [name for name in ("step", "random", "extra") if name not in state]
    if lacking:
        fix = "resume from a checkpoint_<step>.pt that this trainer wrote"
        raise CannotRunError(f"the checkpoint has no {', no '.join(lacking)}", fix=fix)
    for name, part in wanted.items():
        if part is None:
            continue
        try:
            part.load_state_dict(state[name])
        except (RuntimeError, KeyError, ValueError) as error:
            raise CannotRunError(f"the checkpoint's {name} does not fit this one: {error}") from error
    random_state.restore(state["random"], generators=generators, environments=environments)
    return int(state["step"]), dict(state["extra"])


def load(path: Path, *, sha256: str | None = None) -> dict[str, Any]:
    """Read a checkpoint, without running any code that it may hold.

    Args:
        path: The file.
        sha256: The digest that it must have (``sha256:…``), or None to take it as it is.

    Raises:
        CannotRunError: It is not there, not as its digest says, or no checkpoint.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CannotRunError(f"the checkpoint cannot be read: {error.strerror}", where=str(path)) from error
    if sha256 is not None and sha256 != digest_of(content):
        raise CannotRunError(
            "the checkpoint was changed", where=str(path), expected=sha256, actual=digest_of(content)
        )
    try:
        state = torch.load(io.BytesIO(content), weights_only=True, map_location="cpu")
    except (RuntimeError, pickle.UnpicklingError, EOFError, ValueError, KeyError) as error:
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise CannotRunError(
            f"no checkpoint that loads without running code: {reason}", where=str(path)
        ) from error
    if not isinstance(state, dict):
        raise CannotRunError("no checkpoint", where=str(path), expected="a dict", actual=type(state).__name__)
    return state


def digest_of(content: bytes) -> str:
    """SHA-256 as ``sha256:<64 hex digits>``."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


class CheckpointStore:
    """The folder ``checkpoints/`` of one run.

    Args:
        folder: Made with the first checkpoint.
        keep: How many of the last checkpoints stay, 1 or more; None for all. The final model always does.
        before: Called before a checkpoint is written: what was recorded up to it must be in its file.
    """

    def __init__(
        self, folder: Path, *, keep: int | None = None, before: Callable[[], None] = lambda: None
    ) -> None:
        self.folder = folder
        self.keep = keep
        self._before = before
        self._listed: dict[str, dict[str, Any]] = {}
        self._removed: dict[str, dict[str, Any]] = {}

    def save(self, state: Mapping[str, Any]) -> Path:
        """Write ``checkpoint_<step>.pt``.

        Raises:
            WorkspaceError: The disk is full, or the folder cannot be written.
        """
        return self._write(f"checkpoint_{state['step']}.pt", state, step=int(state["step"]))

    def save_final(self, model: Stateful) -> Path:
        """Write ``final_model.pt``: the trained parameters, by name."""
        return self._write(FINAL_MODEL, model.state_dict(), step=None)

    def prove(self) -> dict[str, dict[str, Any]]:
        """Load every file back, as somebody would who has nothing but the folder.

        Returns:
            Name → ``sha256``, ``loadable``, and ``reason`` (empty when it is).
        """
        proofs: dict[str, dict[str, Any]] = {}
        for path in sorted(self.folder.glob("*.pt")):
            reason = ""
            try:
                load(path, sha256=self._listed.get(path.name, {}).get("sha256"))
            except CannotRunError as error:
                reason = error.what
            sha256 = digest_of(path.read_bytes())
            proofs[path.name] = {"sha256": sha256, "loadable": not reason, "reason": reason}
        return proofs

    def _write(self, name: str, state: Mapping[str, Any], *, step: int | None) -> Path:
        self._before()
        buffer = io.BytesIO()
        torch.save(_on_host(dict(state)), buffer)
        content = buffer.getvalue()
        try:
            self.folder.mkdir(exist_ok=True)
            _replace(self.folder / name, content)
            self._listed[name] = {"sha256": digest_of(content), "bytes": len(content), "step": step}
            outdated = self._outdated()
            self._removed |= {one: self._listed.pop(one) for one in outdated}
            removed = {"removed": self._removed} if self._removed else {}
            manifest = json.dumps({"schema": SCHEMA, "files": self._listed, **removed}, indent=1) + "\n"
            _replace(self.folder / MANIFEST, manifest.encode("utf-8"))
            for one in outdated:  # only now: whatever the manifest lists is there
                (self.folder / one).unlink(missing_ok=True)
        except OSError as error:
            place = str(self.folder / name)
            raise WorkspaceError(
                f"the checkpoint cannot be written: {error.strerror}", where=place
            ) from error
        return self.folder / name

    def _outdated(self) -> list[str]:
        """Checkpoints beyond the last ``keep``, oldest first."""
        written = [name for name in self._listed if name != FINAL_MODEL]
        return [] if self.keep is None else written[: -self.keep]


def _on_host(value: Any) -> Any:
    """The same with every tensor on the CPU: a file then says nothing of the device that wrote it.

    What has no tensor elsewhere is returned itself, so that its file keeps its bytes.
    """
    if isinstance(value, torch.Tensor):
        return value if value.device.type == "cpu" else value.detach().cpu()
    if isinstance(value, dict):
        moved = {key: _on_host(one) for key, one in value.items()}
        if all(moved[key] is one for key, one in value.items()):
            return value
        changed = copy.copy(value)  # with the versions that a module's state has beside its tensors
        changed.update(moved)
        return changed
    if isinstance(value, list):
        items = [_on_host(one) for one in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    return value


def _replace(path: Path, content: bytes) -> None:
    """Write a whole file under a temporary name, flush it to the disk, and rename it."""
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
