"""What the tool costs next to the training that it judges.

Four questions, each a ratio or a difference within one run of this file, medians of turns:

- ``reproduce`` of the baseline (two runs side by side, capture, judgement, reports) against one bare
  training in the same environment with the same settings;
- a container against the same empty program without one;
- ``reprokit --help``;
- the share of the training that its digests (``trace.jsonl``) take.

    python benchmarks/job.py [--repeats N] [--backend local|docker]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT))

from reprokit import images, recipes  # noqa: E402
from reprokit.core import numerics  # noqa: E402
from reprokit.core.records import Realisation, RunSpec  # noqa: E402
from reprokit.execution import Backend, docker, local  # noqa: E402

RECIPE, SEED = "cartpole_baseline", 42
REPRODUCE_TIMES, CONTAINER_S, HELP_S, DIGEST_SHARE = 1.4, 0.5, 0.080, 0.01

# Trains as the tool would, and tells how long that took and how long Trace.update was at it.
TRAIN = """
import json, sys, time
start = time.perf_counter()
from pathlib import Path
from reprokit.runtime import launch, trace
spent, update = [0.0], trace.Trace.update
def timed(self, **what):
    begun = time.perf_counter()
    update(self, **what)
    spent[0] += time.perf_counter() - begun
if sys.argv[1] == "digests":
    trace.Trace.update = timed
code = launch.main(sys.argv[2:])
print(json.dumps({"code": code, "total_s": time.perf_counter() - start, "digests_s": spent[0]}))
"""


def train(python: str, what: str) -> dict[str, float]:
    """One bare training: no second run, no capture by the host, no judgement."""
    recipe = recipes.load(RECIPE, recipes_dir=PROJECT / "recipes")
    environment = {
        **os.environ,
        **numerics.variables(recipe.numerics, hash_seed=0),
        "PYTHONPATH": str(PROJECT),
    }
    with tempfile.TemporaryDirectory(prefix="reprokit-bench-") as folder:
        config, output = Path(folder) / "config.yaml", Path(folder) / "out"
        config.write_text(recipe.config_yaml(), encoding="utf-8")
        output.mkdir()
        done = subprocess.run(
            [
                python,
                "-c",
                TRAIN,
                what,
                "--run-dir",
                output,
                "--config",
                config,
                "--seed",
                str(SEED),
                "--device",
                "cpu",
                "--",
                recipe.trainer,
            ],
            env=environment,
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def reproduce(backend: str) -> None:
    with tempfile.TemporaryDirectory(prefix="reprokit-bench-") as folder:
        subprocess.run(
            [
                sys.executable,
                "-m",
                "reprokit",
                "reproduce",
                RECIPE,
                "--backend",
                backend,
                "--runs-dir",
                f"{folder}/runs",
                "--reports-dir",
                f"{folder}/reports",
            ],
            cwd=PROJECT,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def empty_program(backend: Backend, realisation: Realisation) -> Callable[[], None]:
    """A run of a program that does nothing."""

    def run() -> None:
        with tempfile.TemporaryDirectory(prefix="reprokit-bench-") as folder:
            (Path(folder) / "output").mkdir()
            spec = RunSpec(
                recipe="nothing",
                run_id="nothing",
                seed=0,
                device="cpu",
                command=("{python}", "-c", "pass"),
                realisation=realisation,
            )
            result = backend.run(spec, Path(folder), on_tick=lambda: None)
            assert result.exit_code == 0, result

    return run


def show_help() -> None:
    tool = Path(sys.executable).parent / "reprokit"
    subprocess.run([tool, "--help"], check=True, stdout=subprocess.DEVNULL)


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def in_turns(calls: dict[str, Callable[[], object]], *, repeats: int) -> dict[str, float]:
    """Median seconds of each."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            times[name].append(seconds(call))
    return {name: statistics.median(found) for name, found in times.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--backend", choices=("local", "docker"), default="local")
    options = parser.parse_args()
    venv = images.resolve("cpu", project=PROJECT, kind="venv", on_progress=print)
    engine = docker.engine_status().reachable
    reproduce(options.backend)  # makes what is made once
    job = in_turns(
        {"bare": lambda: train(venv.python, "bare"), "reproduce": lambda: reproduce(options.backend)},
        repeats=options.repeats,
    )
    traced = [train(venv.python, "digests") for _ in range(options.repeats)]
    share = statistics.median(one["digests_s"] / one["total_s"] for one in traced)
    help_s = in_turns({"help": show_help}, repeats=15)["help"]
    found = [
        ("reproduce, times one bare run", job["reproduce"] / job["bare"], REPRODUCE_TIMES),
        ("digests, share of a training", share, DIGEST_SHARE),
        ("reprokit --help, s", help_s, HELP_S),
    ]
    if engine:
        image = images.resolve("cpu", project=PROJECT, kind="image", on_progress=print)
        with tempfile.TemporaryDirectory(prefix="reprokit-bench-") as folder:
            empty = in_turns(
                {
                    "container": empty_program(docker.DockerBackend(workspace=folder), image),
                    "local": empty_program(local.LocalBackend(), venv),
                },
                repeats=11,
            )
        found.append(("a container, s more than without", empty["container"] - empty["local"], CONTAINER_S))
    else:
        print("no container engine: the cost of a container is not measured", file=sys.stderr)
    print(f"one bare run {job['bare']:.1f} s, reproduce ({options.backend}) {job['reproduce']:.1f} s")
    for name, value, bound in found:
        print(f"{name:<34} {value:8.4f}  (bound {bound}){'  MISSED' if value > bound else ''}")
    print(json.dumps({"benchmark": "job", "found": {name: value for name, value, _ in found}}))
    return int(not engine or any(value > bound for _, value, bound in found))


if __name__ == "__main__":
    sys.exit(main())
