"""What ten thousand runs of one sweep cost the tool; and a sweep of real runs on a local Ray cluster.

Without --ray one run of a program of a moment is made, and its folder is copied with other seeds, so that a
sweep finds all of them finished. Each verb is timed in a process of its own. The engine is one of this
process, whose machines end a run some looks after they began it; what copying costs is taken off. Prints a
line for each question, then one JSON object; exits 1 when a bound is missed.

    python benchmarks/scale.py [--runs N] [--folder DIR]
    python benchmarks/scale.py --ray 1000        # real runs: minutes to an hour
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil

SOURCE = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SOURCE), str(SOURCE / "tests")]

from reprokit.features.machines import elsewhere  # noqa: E402
from reprokit.features.machines import place as where  # noqa: E402
from reprokit.features.machines import sweep_on_machines as sweeps_there  # noqa: E402
from reprokit.features.machines.place import Task, TaskState, TaskStatus  # noqa: E402
from reprokit.harness import Request, judge_again  # noqa: E402
from reprokit.project import Project  # noqa: E402
from support import places  # noqa: E402
from support.sweep_program import RECIPE, RecordedSweep, swept  # noqa: E402

FULL = 10_000
NUM_MACHINES = 500
#: question → CPU seconds for 10,000 runs, or MB
BOUNDS = {
    "runs list, first time": 20.0,
    "runs list": 1.5,
    "sweep again, all finished": 60.0,
    "stats": 100.0,
    "engine": 80.0,
}
START_S = 10.0  # of the tool, and of the one environment that it looks at
RAY_BOUNDS = {"memory_mb": 500.0, "runs_list_s": 1.0, "resume_s": 5.0, "overhead_s": 2.0}
PROGRAM = """\
import json, random, sys
seed, run_dir = int(sys.argv[1]), sys.argv[2]
random.seed(seed)
with open(f"{run_dir}/log.jsonl", "w") as log:
    for step in range(4):
        log.write(json.dumps({"step": step, "return": random.random()}) + "\\n")
"""


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def copied(template: Path, folder: Path, *, seed: int, changes: Mapping[str, Any] | None = None) -> None:
    """A finished run as another seed's, with other metrics."""
    shutil.copytree(template, folder)
    metrics = (folder / "metrics.jsonl").read_bytes().replace(b"0.", f"0.{seed:05d}".encode())
    record = {**json.loads((folder / "run.json").read_text()), "run_id": folder.name, "seed": seed}
    texts = {
        "metrics.jsonl": metrics,
        "output/log.jsonl": metrics,
        "run.json": json.dumps({**record, **(changes or {})}, indent=2).encode(),
    }
    marker = json.loads((folder / "COMPLETE").read_text())
    for name, data in texts.items():
        (folder / name).write_bytes(data)
        marker["files"][name] = {"sha256": digest(data), "bytes": len(data)}
    (folder / "COMPLETE").write_text(json.dumps(marker, indent=2))


def project_with_one_run(root: Path) -> Path:
    """A repository with a program, and the folder of its one run."""
    made = places.repository(root, program=PROGRAM, recipe=RECIPE)
    made.commit()
    (found,) = swept(root, seeds="0,").members
    return root / "runs" / found.run


def filled(root: Path, num_runs: int) -> Path:
    template = project_with_one_run(root)
    for seed in range(1, num_runs):
        copied(template, template.with_name(f"20261101T000000Z-{seed:06x}-seed{seed}-1"), seed=seed)
    return template


@dataclass(frozen=True)
class Cost:
    cpu_s: float
    wall_s: float
    memory_mb: float
    out: str = ""


def asked(root: Path, *words: str) -> Cost:
    """``reprokit WORDS`` in a process of its own."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "reprokit", *words],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        text=True,
    )
    assert process.stdout is not None
    out = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    assert os.waitstatus_to_exitcode(status) == 0, words
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(cpu, wall, used.ru_maxrss / 1024, out)


@dataclass
class SimulatedPlace:
    """Machines that begin one run each, and end it some looks later; a handle is the task's name."""

    template: Path
    num_machines: int = NUM_MACHINES
    looks: int = 5
    settings: Mapping[str, str] = field(default_factory=dict)
    waiting: deque[Task] = field(default_factory=deque)
    left: dict[str, int] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    copying_s: float = 0.0
    most_files: int = 0
    name: str = "ray"

    def machines(self) -> tuple[str, ...]:
        return tuple(f"m{number}" for number in range(self.num_machines))

    def submit(self, tasks: Sequence[Task]) -> tuple[str, ...]:
        self.waiting.extend(tasks)
        return tuple(task.name for task in tasks)

    def standing(self, handles: Sequence[str]) -> tuple[TaskStatus, ...]:
        return tuple(TaskStatus(going=self._going(one), machine="m0") for one in handles)

    def _going(self, handle: str) -> TaskState:
        if handle in self.ended:
            return TaskState.ENDED
        return TaskState.RUNNING if handle in self.left else TaskState.QUEUED

    def step(self, _seconds: float) -> None:
        """The time between two looks."""
        start = time.process_time()
        for name in [name for name, left in self.left.items() if left <= 1]:
            del self.left[name]
            seed = int(name.rpartition("-")[0].rpartition("seed")[2])
            copied(self.template, self.template.with_name(name), seed=seed)
            self.ended.add(name)
        self.left = {name: left - 1 for name, left in self.left.items()}
        while self.waiting and len(self.left) < self.num_machines:
            self.left[self.waiting.popleft().name] = self.looks
        self.copying_s += time.process_time() - start

    def cancel(self, handles: Sequence[str]) -> None: ...
    def close(self) -> None: ...


def engine(root: Path, num_runs: int) -> Cost:
    """All members handed over, followed and closed; no one is asked what it would run."""
    template = project_with_one_run(root)
    place = SimulatedPlace(template)
    where.open_place = lambda *_args, **_more: place  # type: ignore[assignment]
    sweeps_there.on_machines = lambda groups, **_more: groups
    run = elsewhere.carry_out_elsewhere
    sweeps_there.carry_out_elsewhere = lambda *args, **more: run(*args, **more, sleep=place.step)
    before, start = time.process_time(), time.perf_counter()
    answer = swept(root, seeds=f"0..{num_runs - 1}", on="ray", told=RecordedSweep())
    cpu, wall = time.process_time() - before - place.copying_s, time.perf_counter() - start
    assert answer.exit_code == 0, [one for one in answer.members if one.state != "complete"][:3]
    return Cost(cpu, wall, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def synthetic(folder: Path, num_runs: int) -> int:
    """Every question on finished runs that were copied; returns the exit code."""
    root = folder / "listed"
    template = filled(root, num_runs)
    time.sleep(2.5)  # what is younger than two seconds is not remembered
    print(f"{num_runs:,} runs", flush=True)
    seeds = ("--seeds", f"0..{num_runs - 1}")
    found = {
        "runs list, first time": _told("runs list, first time", asked(root, "runs", "list"), num_runs),
        "runs list": _told("runs list", asked(root, "runs", "list"), num_runs),
    }
    again = asked(root, "sweep", "train", *seeds, "--json")
    found["sweep again, all finished"] = _told("sweep again, all finished", again, num_runs)
    told = json.loads(again.out)
    assert {one["action"] for one in told["members"]} == {"reuse"}
    found["stats"] = _told("stats", asked(root, "stats", told["name"], "--json"), num_runs)
    found["engine"] = _told("engine", engine(folder / "engine", num_runs), num_runs)
    one = _golden_check(root, template)
    record = Path(told["path"]).stat().st_size
    size = sum(file.stat().st_size for file in template.rglob("*") if file.is_file())
    print(
        f"a golden check of two runs {one:.3f} s; sweep.json {record / 1e6:.2f} MB; a run {size / 1e3:.0f} kB"
    )
    rows = {name: [c.cpu_s, c.wall_s, c.memory_mb] for name, c in found.items()}
    sizes = {"golden_check_s": one, "sweep_json_bytes": record, "run_bytes": size}
    print(json.dumps({"benchmark": "scale", "runs": num_runs, "cpu_s_wall_s_memory_mb": rows, **sizes}))
    return int(any(_is_late(name, cost, num_runs) for name, cost in found.items()))


def _is_late(name: str, cost: Cost, num_runs: int) -> bool:
    """Beyond the bound, of which the start of the tool is no part that grows."""
    return cost.cpu_s > START_S + BOUNDS[name] * num_runs / FULL


def _told(name: str, cost: Cost, num_runs: int) -> Cost:
    late = "  MISSED" if _is_late(name, cost, num_runs) else ""
    bound = START_S + BOUNDS[name] * num_runs / FULL
    costs = (
        f"{cost.cpu_s:8.2f} s CPU (bound {bound:.1f}), {cost.wall_s:8.2f} s wall, {cost.memory_mb:6.0f} MB"
    )
    print(f"{name:<28} {costs}{late}", flush=True)
    return cost


def _golden_check(root: Path, template: Path) -> float:
    """CPU seconds of a judgement of two runs of one seed."""
    twin = template.with_name(template.name.removesuffix("-1") + "-2")
    copied(template, twin, seed=0)
    shutil.copy(template / "metrics.jsonl", twin / "metrics.jsonl")
    before = time.process_time()
    for _ in range(10):
        judge_again([template, twin], Request(), project=Project.around(root))
    return (time.process_time() - before) / 10


def on_ray(folder: Path, num_runs: int) -> int:
    """Real runs on two nodes of this machine; returns the exit code."""
    root = folder / "real"
    bare = str(Path(sys.base_prefix) / "bin" / "python3")  # asked what is in it before each run: here little
    program = PROGRAM.replace("range(4)", "range(2)")
    theirs = places.repository(root, program=program, recipe=RECIPE.replace("[python", f"[{bare}"))
    theirs.commit()
    seeds = ("train", "--seeds", f"0..{num_runs - 1}")
    with places.opened("ray") as ray:
        first = ray.sweep(root, "train", "--seeds", f"{num_runs},").answer(600)
        assert first.code == 0, first.said
        start = time.perf_counter()
        tool = ray.sweep(root, *seeds)
        with _watched(tool.process.pid) as most:
            answer = tool.answer(12 * 3600)
        ended, wall = time.time(), time.perf_counter() - start
        assert answer.states == ["complete"] * num_runs, answer.said[-2000:]
        start = time.perf_counter()
        again = ray.sweep(root, *seeds)
        with _watched(again.process.pid) as most_again:
            told = again.answer(600)
        resume = time.perf_counter() - start
        assert {one["action"] for one in told.told["members"]} == {"reuse"}
    records = [json.loads((one / "run.json").read_text()) for one in answer.runs(root)]
    trained = sum(record["duration_s"] for record in records)
    first_run = min(datetime.fromisoformat(record["started_at"]) for record in records)
    after_start = ended - first_run.timestamp()
    time.sleep(2.5)
    asked(root, "runs", "list")
    listed = asked(root, "runs", "list")
    found = {
        "memory_mb": max(most[0], most_again[0]),
        "runs_list_s": listed.wall_s,
        "resume_s": resume,
        "overhead_s": (2 * after_start - trained) / num_runs,
    }
    missed = [name for name, value in found.items() if value > RAY_BOUNDS[name]]
    before = wall - after_start
    print(f"{num_runs:,} runs on two nodes: {wall:.0f} s, {before:.0f} s of it before the first one")
    print(f"the programs took {trained:.0f} s on both together")
    for name, value in found.items():
        print(f"{name:<12} {value:8.2f} (bound {RAY_BOUNDS[name]:g}){'  MISSED' if name in missed else ''}")
    print(json.dumps({"benchmark": "scale --ray", "runs": num_runs, "wall_s": wall, "found": found}))
    return int(bool(missed))


@contextlib.contextmanager
def _watched(pid: int) -> Any:
    """The most memory that a process had, in MB: a list of one number."""
    most, over = [0.0], threading.Event()

    def look() -> None:
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            while not over.wait(0.2):
                most[0] = max(most[0], process.memory_info().rss / 2**20)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield most
    finally:
        over.set()
        thread.join()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=FULL)
    parser.add_argument("--ray", type=int, help="So many real runs on Ray in place of all others.")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as root:
        if options.ray:
            return on_ray(Path(root), options.ray)
        return synthetic(Path(root), options.runs)


if __name__ == "__main__":
    sys.exit(main())
