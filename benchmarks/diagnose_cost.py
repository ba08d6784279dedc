"""What the watch of ``diagnose`` costs: a recipe's training under it, against the same training without.

The recipe's own settings in its own virtual environment, one process a training, one thread, CPU time of the
whole process, imports and all. The two of a pair run at the same time, a core each, and change cores from
pair to pair: whatever else the machine does hits both. The ratio of a repeat is that of the sums of its two
pairs; told is the median. ``light`` is what every run of a diagnosis is made under; ``deep`` looks into
every operation and every draw of one update in the middle. The metrics of all must be the same bytes.
Exits 1 where ``light`` costs more than 3 %, and 3 where a platform is asked for whose GPU is not here.

On a GPU (``--platform cuda-h200``) the two of a pair run one after the other, because they would share it,
and the time is that on the wall from the first update to the last: what a GPU computes is no CPU time.

    python benchmarks/diagnose_cost.py [RECIPE] [--steps N] [--repeats N] [--platform P]
    python benchmarks/diagnose_cost.py --calls [--repeats N]   (see watched_calls.py)
"""

# ruff: noqa: PLC0415 - the training runs in another interpreter, which has torch and not the tool's packages

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit.core import numerics

PROJECT = Path(__file__).resolve().parent.parent
HOOK = PROJECT / "reprokit" / "instrumentation"
PLAIN, LIGHT, DEEP = "plain", "light", "deep"
BOUND = 1.03


def train(trainer: str, config: str, device: str, data: str) -> None:
    """Train in this process."""
    import torch

    from reprokit.runtime import config as settings_of
    from reprokit.runtime.launch import load_trainer
    from reprokit.runtime.run import Run

    torch.set_num_threads(1)
    module = load_trainer(Path(trainer))
    settings = settings_of.build(module.Config, json.loads(config))
    files = {name: Path(place) for name, place in json.loads(data).items()}
    with Run.open(Path.cwd(), seed=42, device=device, clock=time.perf_counter, data=files) as run:
        module.train(settings, run)


class Training:
    """One training in a process of its own, on one core.

    >>> seconds, told, metrics = Training(job, LIGHT, core=0, room=folder).end()
    """

    def __init__(self, job: Job, kind: str, *, core: int, room: Path) -> None:
        self.kind, self.folder, self.traced = kind, room / "run", room / "trace"
        self.folder.mkdir(parents=True)
        self.traced.mkdir()
        environment = {
            **os.environ,
            **numerics.variables(job.recipe.numerics, hash_seed=0),
            **(numerics.cuda_variables() if job.is_on_gpu else {}),
            "PYTHONPATH": str(PROJECT),
        }
        if kind != PLAIN:
            orders = {"out": str(self.traced), "output": str(self.folder), "key": "0", **job.orders(kind)}
            (self.traced / "orders.json").write_text(json.dumps(orders))
            environment |= {
                "PYTHONPATH": f"{HOOK}{os.pathsep}{PROJECT}",
                "REPROKIT_HOOK": str(self.traced / "orders.json"),
            }
        command = [job.python, __file__, "--child", str(job.recipe.trainer), json.dumps(job.config)]
        command += [str(job.recipe.device), json.dumps(job.data)]
        self.is_on_gpu = job.is_on_gpu
        with (room / "out.log").open("wb") as log, on_core(core):
            self.process = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=log, stderr=log)

    def end(self) -> tuple[float, dict, bytes]:
        """Wait for it: seconds, what the watch tells of itself, the metrics."""
        _, status, used = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        if self.process.returncode:
            log = self.folder.parent / "out.log"
            sys.exit(f"{self.kind} failed:\n{log.read_text()[-2000:]}")
        told = json.loads((self.traced / "trace-0.json").read_bytes()) if self.kind != PLAIN else {}
        seconds = self._on_the_wall() if self.is_on_gpu else used.ru_utime + used.ru_stime
        return seconds, told, (self.folder / "metrics.jsonl").read_bytes()

    def _on_the_wall(self) -> float:
        """Seconds from the first update to the last."""
        lines = (self.folder / "timing.jsonl").read_text().splitlines()
        return json.loads(lines[-1])["elapsed_s"] - json.loads(lines[0])["elapsed_s"]


@contextmanager
def on_core(core: int) -> Iterator[None]:
    """What is started here stays on one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(before)[core % len(before)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@dataclass
class Job:
    """What is trained."""

    python: str
    recipe: Any
    config: dict
    data: dict[str, str]
    middle: int = 0

    @property
    def is_on_gpu(self) -> bool:
        return self.recipe.device == "cuda"

    def orders(self, kind: str) -> dict:
        """What the watch is to look at."""
        if kind == LIGHT:
            return {"level": "light", "progress": {"mode": "measure"}}
        stretch = {"mode": "deep", "from": [self.middle, 0], "to": [self.middle, 2**62]}
        return {"level": "deep", "progress": stretch}

    def pair(self, kinds: Sequence[str]) -> list[tuple[float, dict, bytes]]:
        """These at the same time, a core each; on a GPU one after the other."""
        with tempfile.TemporaryDirectory(prefix="reprokit-bench-") as made:
            if self.is_on_gpu:
                return [Training(self, kind, core=0, room=Path(made, kind)).end() for kind in kinds]
            begun = [
                Training(self, kind, core=core, room=Path(made, str(core))) for core, kind in enumerate(kinds)
            ]
            return [one.end() for one in begun]


def main() -> int:
    if sys.argv[1:2] == ["--child"]:
        train(*sys.argv[2:])
        return 0
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("recipe", nargs="?", default="cartpole_baseline")
    parser.add_argument("--steps", type=int, help="of training; the recipe's own when left out")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--platform", help="such as cuda-h200; the CPU when left out")
    parser.add_argument("--calls", action="store_true", help="measure the watch of calls, on small programs")
    options = parser.parse_args()
    if options.calls:
        import watched_calls

        return watched_calls.main(repeats=options.repeats)
    from reprokit import capture, images, recipes
    from reprokit.harness.running.environments.recipe_data import fetched
    from reprokit.harness.running.programs import hooked_run

    overrides = [f"platform={options.platform}"] if options.platform else []
    recipe = recipes.load(options.recipe, recipes_dir=PROJECT / "recipes", overrides=overrides)
    if recipe.device == "cuda" and not capture.capture_host(PROJECT).get("gpus"):
        print(f"{options.platform}: this host has no NVIDIA GPU: nothing was measured", file=sys.stderr)
        return 3
    hooked_run.compile_hook()
    made = images.resolve(recipe.variant, project=PROJECT, kind="venv", on_progress=lambda _: None)
    config = json.loads(json.dumps(recipe.training_config))
    if options.steps:
        config["training"]["total_timesteps"] = options.steps
    job = Job(made.python, recipe, config, data={one.name: str(one.path) for one in fetched(recipe)})
    ((_, told, metrics),) = job.pair([LIGHT])  # warm; how many updates there are
    updates = told["progress"]["updates"]
    job.middle = updates // 2
    ratios = {kind: [compared(job, kind, metrics) for _ in range(options.repeats)] for kind in (LIGHT, DEEP)}
    return report(recipe.name, ratios, updates=updates)


def compared(job: Job, kind: str, metrics: bytes) -> float:
    """How many times as long as without, of two pairs."""
    spent = {PLAIN: 0.0, kind: 0.0}
    for kinds in ((PLAIN, kind), (kind, PLAIN)):
        for one, (seconds, told, same) in zip(kinds, job.pair(kinds), strict=True):
            if same != metrics:
                sys.exit(f"{one}: the watch changes the numbers")
            spent[one] += seconds
            print(f"{one:<6} {seconds:7.2f} s  {_watched(told)}", file=sys.stderr)
    return spent[kind] / spent[PLAIN]


def _watched(told: dict) -> str:
    if not told:
        return ""
    spent, events = told["progress"]["spent_s"], len(told["progress"]["events"])
    return f"{events} events, {len(told['streams'])} operations, {spent:.3f} s spent on digests"


def report(name: str, ratios: dict[str, list[float]], *, updates: int) -> int:
    """Print the medians; 1 where the bound is missed."""
    medians = {kind: statistics.median(found) for kind, found in ratios.items()}
    missed = medians[LIGHT] > BOUND
    every = {kind: " ".join(f"{one:.3f}" for one in sorted(found)) for kind, found in ratios.items()}
    print(f"light {medians[LIGHT]:.3f} times as long, bound {BOUND:g}{'  MISSED' if missed else ''}")
    print(f"deep, of one update in {updates:,}: {medians[DEEP]:.3f} times as long")
    print(f"all ratios: light {every[LIGHT]}; deep {every[DEEP]}")
    told = {"benchmark": "diagnose_cost", "recipe": name, "ratios": medians, "bound": BOUND}
    print(json.dumps({**told, "all": ratios, "missed": missed}))
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
