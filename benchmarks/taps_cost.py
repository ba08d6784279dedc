"""What the native taps cost: programs with them preloaded and without, CPU time of the process.

The least CPU time with them over the least without, of so many runs of each, which take turns in being first:
what else runs on a machine only adds to it. The middle half of the ratios of the pairs is told as well. A
program that does nothing but read clocks is listed next to them and has no bound. Exits 1 beyond the bound.

    python benchmarks/taps_cost.py [--repeats N]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from reprokit.harness.diagnosing.taps.library import find_library

BOUND = 1.05
PROGRAMS = {
    "a training in NumPy": """
import numpy as np
rng = np.random.default_rng(0)
x = rng.normal(size=(4000, 64))
y = x @ rng.normal(size=64)
w = np.zeros(64)
for epoch in range(300):
    for order in np.array_split(rng.permutation(4000), 20):
        w = w - 0.05 * x[order].T @ (x[order] @ w - y[order]) / len(order)
""",
    "a training in PyTorch": """
import torch
torch.manual_seed(0)
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.Tanh(), torch.nn.Linear(128, 1))
optimizer = torch.optim.Adam(net.parameters())
x = torch.randn(4000, 64)
y = x.sum(1, keepdim=True).sin()
for step in range(600):
    order = torch.randint(len(x), (256,))
    loss = torch.nn.functional.mse_loss(net(x[order]), y[order])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "reading and writing files": """
import os, tempfile
memory = "/dev/shm" if os.path.isdir("/dev/shm") else None  # what a disk costs differs more than the taps
with tempfile.TemporaryDirectory(dir=memory) as folder:
    path = os.path.join(folder, "file")
    for round in range(10_000):
        with open(path, "wb") as out:
            out.write(b"0" * 4096)
        with open(path, "rb") as text:
            text.read()
""",
    "threads of Python that take turns": """
import threading
def work():
    for _ in range(2_000_000):
        pass
threads = [threading.Thread(target=work) for _ in range(4)]
for one in threads: one.start()
for one in threads: one.join()
""",
}
CLOCKS = {
    "only reading clocks": """
import time
for _ in range(2_000_000):
    time.perf_counter()
"""
}


def main(*, repeats: int) -> int:
    """Measure all, print the ratios, and 1 where the bound is missed."""
    missed, told = False, {}
    with tempfile.TemporaryDirectory(prefix="reprokit-bench-") as made:
        library = find_library(Path(made) / "cache")
        if library.path is None:
            sys.exit(f"no taps: {library.problem}")
        for name, source in {**PROGRAMS, **CLOCKS}.items():
            pairs = []
            for number in range(repeats):
                order = (None, library.path) if number % 2 else (library.path, None)
                spent = {taps: used(source, taps=taps, room=Path(made)) for taps in order}
                pairs.append((spent[library.path], spent[None]))
            with_taps, without = (min(side) for side in zip(*pairs, strict=True))
            told[name] = with_taps / without
            missed |= name in PROGRAMS and told[name] > BOUND
            low, middle, high = statistics.quantiles([one / other for one, other in pairs], n=4)
            print(
                f"{name}: {told[name]:.3f} times ({with_taps:.2f} s, {without:.2f} s without; "
                f"pairs {middle:.3f}, half of them {low:.3f} to {high:.3f})",
                flush=True,
            )
    print(json.dumps({"benchmark": "taps_cost", "ratios": told, "bound": BOUND, "missed": missed}))
    return int(missed)


def used(source: str, *, taps: Path | None, room: Path) -> float:
    """Seconds of CPU that a program takes."""
    program, tables = room / "program.py", room / "tables"
    program.write_text(source)
    tables.mkdir(exist_ok=True)
    for left in tables.iterdir():
        left.unlink()
    preload = {"LD_PRELOAD": str(taps), "REPROKIT_TAPS": str(tables)} if taps else {}
    process = subprocess.Popen([sys.executable, str(program)], env={**os.environ, **preload}, cwd=room)
    _, status, spent = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode or (taps and not list(tables.glob("taps-*.bin"))):
        sys.exit(f"the program ended with exit code {process.returncode}, or the taps were not loaded")
    return spent.ru_utime + spent.ru_stime


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    sys.exit(main(repeats=parser.parse_args().repeats))
