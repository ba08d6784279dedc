"""For ``reprokit diagnose --resume``: the samples of every update, and what parameters it began with."""

from __future__ import annotations

from typing import Any

from . import digests, imports, read_ahead
from .loader_ledger import LoaderLedger
from .watch import Watch

_MOST_UPDATES = 20_000


def watch(watched: Watch) -> None:
    """Record the ledger as a fact of the process: ``updates``, ``began_with`` and ``loaders``."""
    ledger = LoaderLedger()

    def listen(torch: Any) -> None:
        from torch.optim import optimizer as optim  # type: ignore[import-not-found, unused-ignore]

        optim.register_optimizer_step_pre_hook(lambda one, *_: _begin(watched, one))
        optim.register_optimizer_step_post_hook(lambda one, *_: _end(watched, ledger, one))

    def seen() -> None:
        if "ledger" in watched.facts:
            watched.facts["ledger"]["loaders"] = ledger.loaders

    watched.at_end.append(seen)
    imports.after("torch", listen)
    imports.after("torch.utils.data.dataloader", ledger.watch)
    imports.after("accelerate.data_loader", lambda module: read_ahead.watch(module, ledger))


def _parameters(optimizer: Any) -> str:
    return digests.of([one for group in optimizer.param_groups for one in group["params"]])


def _begin(watched: Watch, optimizer: Any) -> None:
    if "ledger" not in watched.facts:
        watched.facts["ledger"] = {"began_with": _parameters(optimizer), "updates": [], "loaders": []}


def _end(watched: Watch, ledger: LoaderLedger, optimizer: Any) -> None:
    updates = watched.facts["ledger"]["updates"]
    if len(updates) < _MOST_UPDATES:
        record = {"update": len(updates) + 1, "parameters": _parameters(optimizer)}
        updates.append({**record, **ledger.take()})
