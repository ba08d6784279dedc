"""Kills a training at every boundary between two batches; resumed, it has to end as if nothing had been.

    python tests/stress/resume_matrix.py --table docs/evidence/resume-matrix.md

One training after another is killed by SIGKILL: the first after batch 1, the one that resumes it after
batch 2, and so on to the last batch. Each resumes from the last checkpoint, which is written after every
update. What they wrote is joined and held, byte for byte, against the training that was never killed:
metrics, trace with the ledger of samples, and the final model. Rows are drawn with noise by whichever
process reads them, and the model has dropout, so that every stream of random numbers counts.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

from recipes.parts.resumable_loader import ResumableLoader
from reprokit.runtime import checkpoint
from reprokit.runtime.checkpoint import CheckpointStore
from reprokit.runtime.metrics import MetricsWriter
from reprokit.runtime.trace import Trace

ROWS, BATCH, EPOCHS = 10, 2, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """How the rows are loaded and learnt from."""

    workers: int
    persistent: bool
    prefetch: int | None
    stream: bool
    own: bool
    accumulate: int

    @property
    def words(self) -> str:
        return " | ".join(
            (
                "iterable" if self.stream else "map",
                str(self.workers),
                "yes" if self.persistent else "no",
                "none" if not self.workers else str(self.prefetch or 2),
                "its own" if self.own else "the global one",
                "none" if self.accumulate == 1 else f"{self.accumulate} batches",
            )
        )


def cases() -> Iterator[Case]:
    """Every combination that there is: without workers nothing persists or is fetched ahead."""
    for stream, workers, persistent, prefetch, own, accumulate in product(
        (False, True), (0, 1, 4), (False, True), (None, 4), (True, False), (1, 2)
    ):
        if workers or not (persistent or prefetch):
            yield Case(
                workers=workers,
                persistent=persistent,
                prefetch=prefetch,
                stream=stream,
                own=own,
                accumulate=accumulate,
            )


class Rows(Dataset[tuple[torch.Tensor, int]]):
    """Rows with noise from the generator of the process that reads them."""

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.full((3,), float(index)) / ROWS + torch.rand(3) / 10, index


class Stream(IterableDataset[tuple[torch.Tensor, int]]):
    """The same rows, of which every worker has its part."""

    def __iter__(self) -> Iterator[tuple[torch.Tensor, int]]:
        info = get_worker_info()
        for index in range(info.id, ROWS, info.num_workers) if info else range(ROWS):
            yield Rows()[index]


def train(folder: Path, case: Case, *, resume: Path | None = None, kill_after: int | None = None) -> None:
    """The reference loop: metrics, trace and a checkpoint after every update."""
    random.seed(3)  # Python draws a seed of its own for every process that is forked
    np.random.seed(4)  # noqa: NPY002 - the global one is meant
    torch.manual_seed(5)
    order = torch.Generator().manual_seed(6)
    own = {"order": order} if case.own else {}
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.2), torch.nn.Linear(4, 1))
    sgd = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    plain = DataLoader(
        Stream() if case.stream else Rows(),
        BATCH,
        shuffle=None if case.stream else True,
        num_workers=case.workers,
        persistent_workers=case.persistent,
        prefetch_factor=case.prefetch,
        generator=order if case.own else None,
    )
    loader = ResumableLoader(plain, generators=own)
    store = CheckpointStore(folder / "checkpoints", keep=1)
    metrics, trace = MetricsWriter(folder / "metrics.jsonl"), Trace(folder / "trace.jsonl")
    batches = epoch = 0
    if resume is not None:
        batches, extra = checkpoint.restore(
            checkpoint.load(resume), model=model, optimizer=sgd, generators=own
        )
        loader.load_state_dict(extra["loader"])
        trace.resume_at(extra["updates"])
        epoch = extra["epoch"]
    ids: list[int] = []
    for number in range(epoch, EPOCHS):
        for rows, names in loader:
            loss = model(rows).square().mean() / case.accumulate
            loss.backward()
            batches, ids = batches + 1, ids + names.tolist()
            if batches % case.accumulate == 0:
                sgd.step()
                parameters = dict(model.named_parameters())
                trace.update(step=batches, parameters=parameters, generators=own, samples=ids)
                metrics.write(step=batches, **{"loss/train": loss.detach()})
                sgd.zero_grad()
                ids = []
                extra = {"loader": loader.state_dict(), "updates": trace.updates, "epoch": number}
                store.save(
                    checkpoint.training_state(
                        step=batches, model=model, optimizer=sgd, generators=own, extra=extra
                    )
                )
            if batches == kill_after:
                os.kill(os.getpid(), signal.SIGKILL)
    store.save_final(model)


def load_everything() -> None:
    """Train once in this process, so that its children need not import anything."""
    warnings.filterwarnings("ignore", message="This DataLoader will create")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="matrix-") as place:
        train(Path(place), next(cases()))


def in_a_process(
    folder: Path, case: Case, *, resume: Path | None = None, kill_after: int | None = None
) -> int:
    """Train in a process of its own; returns how it ended, as ``os.waitpid`` has it."""
    folder.mkdir()
    sys.stdout.flush()
    child = os.fork()
    if not child:
        try:
            train(folder, case, resume=resume, kill_after=kill_after)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def killed_at_every_batch(case: Case, place: Path) -> tuple[int, str]:
    """How many kills the training went through, and where it first differs; "" where it does not."""
    if in_a_process(place / "whole", case):
        return 0, "the training that no one killed did not end well"
    whole = place / "whole"
    kills, resume, last = 0, None, 0
    joined = {"metrics.jsonl": b"", "trace.jsonl": b""}
    total = _batches(case)
    for kill_after in [*range(1, total + 1), None]:
        folder = place / f"part-{kill_after or 'last'}"
        ended = in_a_process(folder, case, resume=resume, kill_after=kill_after)
        if ended != (signal.SIGKILL if kill_after else 0):
            return kills, f"the training that was to be killed after batch {kill_after} ended with {ended}"
        kills += kill_after is not None
        for name, before in joined.items():
            joined[name] = before + (folder / name).read_bytes()
            if not (whole / name).read_bytes().startswith(joined[name]):
                return kills, f"{name} of the training resumed from batch {last}"
        newest = list((folder / "checkpoints").glob("checkpoint_*.pt"))
        if newest:
            (resume,) = newest
            last = int(resume.stem.partition("_")[2])
    for name, content in joined.items():
        if content != (whole / name).read_bytes():
            return kills, f"the end of {name}"
    if (folder / "checkpoints/final_model.pt").read_bytes() != (
        whole / "checkpoints/final_model.pt"
    ).read_bytes():
        return kills, "the final model"
    return kills, ""


def _batches(case: Case) -> int:
    """Of all epochs: a worker of a stream fills its last batch alone."""
    parts = max(1, case.workers) if case.stream else 1
    return EPOCHS * sum(-(-len(range(part, ROWS, parts)) // BATCH) for part in range(parts))


#: What another command writes below the table, and this one leaves.
BELOW = "\n## Samples lost by resuming"
HEAD = """# Killed at every batch boundary

Each line is a training of {epochs} epochs on {rows} rows in batches of {batch}, killed by SIGKILL after its
first batch, resumed, killed after the next one, and so on to its end; with gradient accumulation also in the
middle of an update, where the last checkpoint is an earlier one. What all parts wrote is held byte for byte
against the training that no one killed: `metrics.jsonl`, `trace.jsonl` with the ledger of samples, and the
final model. Rows are read with noise by whichever process reads them, and the model has dropout. The loop is
`tests/stress/resume_matrix.py`, its loader `recipes/parts/resumable_loader.py`; the table is written by

```
python tests/stress/resume_matrix.py --table docs/evidence/resume-matrix.md
```

`make test` runs a sample of it, `make test-all` all. Last written on {machine}: {kills} kills in {cases}
trainings, {failed} of which did not end as if nothing had been.

| data set | workers | persistent | fetched ahead | generator of the sampler | accumulation | kills | result |
|---|---|---|---|---|---|---|---|
"""


def _table(lines: list[str], kills: int, failed: int) -> str:
    machine = f"{platform.machine()}, {os.cpu_count()} cores, torch {torch.__version__}"
    facts = {"epochs": EPOCHS, "rows": ROWS, "batch": BATCH, "machine": machine, "failed": failed}
    return HEAD.format(**facts, kills=kills, cases=len(lines)) + "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--table", type=Path)
    given = parser.parse_args()
    load_everything()
    before = given.table.read_text(encoding="utf-8") if given.table and given.table.exists() else ""
    below = "".join(before.partition(BELOW)[1:])
    lines, all_kills, failed = [], 0, 0
    for case in cases():
        began = perf_counter()
        with tempfile.TemporaryDirectory(prefix="matrix-") as place:
            kills, wrong = killed_at_every_batch(case, Path(place))
        all_kills, failed = all_kills + kills, failed + bool(wrong)
        lines.append(f"| {case.words} | {kills} | {wrong or 'equal'} |")
        print(lines[-1], f"{perf_counter() - began:.1f} s", flush=True)
        if given.table:
            given.table.write_text(_table(lines, all_kills, failed) + below, encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
