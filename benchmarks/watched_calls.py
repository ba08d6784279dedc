"""What the watch of calls costs: small programs with it and without, CPU time of the process, start left out.

The median of the ratios of so many pairs, each run after the other on one core. What both take for a program
that does nothing (the interpreter, and the hook) is subtracted. Exits 1 beyond a bound.

    python benchmarks/diagnose_cost.py --calls [--repeats N]
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HOOK = Path(__file__).resolve().parent.parent / "reprokit" / "instrumentation"
#: Name → how often as long it may take, and the program.
PROGRAMS = {
    "millions of cheap calls": (
        2.5,
        """
def f(x):
    return x + 1
def main():
    total = 0
    for _ in range(20_000_000):
        total = f(total)
main()
""",
    ),
    "millions of calls in comprehensions": (
        2.5,
        """
def f(x):
    return x + 1
def main():
    for _ in range(200):
        [f(x) for x in range(50_000)]
main()
""",
    ),
    "a training in NumPy": (
        1.3,
        """
import numpy as np
rng = np.random.default_rng(0)
x = rng.normal(size=(4000, 64))
y = x @ rng.normal(size=64)
def gradient(w, x, y):
    return x.T @ (x @ w - y) / len(x)
w = np.zeros(64)
for epoch in range(5000):
    for order in np.array_split(rng.permutation(4000), 20):
        w = w - 0.05 * gradient(w, x[order], y[order])
""",
    ),
    "a training in PyTorch": (
        1.3,
        """
import torch
torch.manual_seed(0)
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.Tanh(), torch.nn.Linear(128, 1))
optimizer = torch.optim.Adam(net.parameters())
x = torch.randn(4000, 64)
y = x.sum(1, keepdim=True).sin()
for step in range(6000):
    order = torch.randint(len(x), (256,))
    loss = torch.nn.functional.mse_loss(net(x[order]), y[order])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
    "arrays of 64 MB": (
        1.5,
        """
import numpy as np
def step(a, b):
    return np.add(a, b)
a, b = np.ones(8_000_000), np.ones(8_000_000)
for _ in range(100):
    a = np.sqrt(step(a, b))
""",
    ),
}
NOTHING = "import numpy\n"


def main(*, repeats: int) -> int:
    """Measure all, print the medians, and 1 where a bound is missed."""
    missed, told = False, {}
    with tempfile.TemporaryDirectory(prefix="reprokit-bench-") as made:
        for name, (bound, source) in PROGRAMS.items():
            head = "import torch\n" if "import torch" in source else NOTHING
            starts = [used(head, watched=watched, room=Path(made)) for watched in (False, True)]
            ratios = []
            for _ in range(repeats):
                plain = used(source, watched=False, room=Path(made)) - starts[0]
                ratios.append((used(source, watched=True, room=Path(made)) - starts[1]) / plain)
            told[name] = statistics.median(ratios)
            missed |= told[name] > bound
            every = " ".join(f"{one:.2f}" for one in sorted(ratios))
            print(f"{name}: {told[name]:.2f} times, bound {bound:g} ({every})")
    print(json.dumps({"benchmark": "watched_calls", "ratios": told, "missed": missed}))
    return int(missed)


def used(source: str, *, watched: bool, room: Path) -> float:
    """Seconds of CPU that a program takes."""
    program, out = room / "program.py", room / "out"
    program.write_text(source)
    out.mkdir(exist_ok=True)
    for left in out.iterdir():
        left.unlink()
    environment = dict(os.environ)
    if watched:
        orders = {"out": str(out), "key": "0", "calls": {"mode": "watch"}, "level": "calls"}
        (room / "orders.json").write_text(json.dumps(orders))
        environment |= {"PYTHONPATH": str(HOOK), "REPROKIT_HOOK": str(room / "orders.json")}
    process = subprocess.Popen([sys.executable, str(program)], env=environment, cwd=room)
    _, status, spent = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"the program ended with exit code {process.returncode}")
    return spent.ru_utime + spent.ru_stime
