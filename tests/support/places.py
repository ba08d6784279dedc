"""The places that runs are made on, as a person uses them: this machine, a Ray and a Slurm of two nodes each.

>>> with opened("slurm") as place:
...     place.sweep(root, "train", "--seeds", "3,4").answer()
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import reprokit
from support import ray_cluster, slurm_cluster
from support.command_recipe import Repository
from support.kept_python import CannotBeMadeError, kept_byte_code, kept_python
from support.sweep_program import RECIPE, run_folders

SOURCE = Path(reprokit.__file__).parent.parent
LOCKED = Path(__file__).parent / "engines" / "requirements.lock"
#: Writes ten records, and waits after the sixth while there is a file ``slow``; fails with seed 5.
PROGRAM = """\
import json, os, random, sys, time
seed, run_dir = int(sys.argv[1]), sys.argv[2]
random.seed(seed)
with open(f"{run_dir}/log.jsonl", "w") as log:
    for step in range(10):
        log.write(json.dumps({"step": step, "return": random.random()}) + "\\n")
        log.flush()
        while step == 5 and os.path.exists(f"{run_dir}/../../../../slow"):
            time.sleep(0.05)
if seed == 5:
    sys.exit("no five")
"""


@dataclass(frozen=True)
class Told:
    """What a tool answered: exit code, JSON, what it said next to it."""

    code: int
    told: dict[str, Any]
    said: str

    @property
    def states(self) -> list[str]:
        assert self.told, self.said
        return [one["state"] for one in self.told["members"]]

    def runs(self, root: Path, runs: str = "runs") -> list[Path]:
        """The run folders of the members that have one."""
        return [root / runs / one["run"] for one in self.told["members"] if one["run"]]


@dataclass(frozen=True)
class Tool:
    """A tool that was started, in a session of its own."""

    process: subprocess.Popen[str]

    def answer(self, seconds: float = 400.0) -> Told:
        """Wait for its end."""
        out, said = self.process.communicate(timeout=seconds)
        assert not out or out.startswith("{"), f"stdout is for data: {out[:2000]}"
        told = json.loads(out) if out else {}
        return Told(self.process.returncode, told, said)

    def kill(self) -> None:
        """It ends without a word to anyone; what it started elsewhere does not."""
        self.process.kill()
        self.process.communicate()

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait_until(self, condition: Callable[[], Any], seconds: float = 400.0) -> Any:
        """Until something holds; fails when the tool has ended before."""
        end = time.monotonic() + seconds
        while not (found := condition()):
            assert self.process.poll() is None, self.process.communicate()[1]
            assert time.monotonic() < end, f"waited in vain; {self.process.pid} goes on"
            time.sleep(0.1)
        return found


@dataclass(frozen=True)
class UsedPlace:
    """A place with the Python that has what it needs.

    Attributes:
        name: As ``--on`` takes it.
        python: The interpreter that has the tool and what the place needs.
        options: Further words of ``sweep``.
        environment: Variables of the tool.
        cluster: What runs the place; None for this machine.
    """

    name: str
    python: Path
    options: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    cluster: Any = None

    def tool(self, root: Path, *words: str) -> Tool:
        """``reprokit WORDS`` in a folder."""
        path = os.pathsep.join([str(self.python.parent), self.environment.get("PATH", os.environ["PATH"])])
        more = {**kept_byte_code(self.python), "PYTHONPATH": str(SOURCE), "PATH": path}
        environment = {**os.environ, **self.environment, **more}
        process = subprocess.Popen(
            [str(self.python), "-m", "reprokit", *words],
            cwd=root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        return Tool(process)

    def sweep(self, root: Path, *words: str) -> Tool:
        """``reprokit sweep`` on this place."""
        return self.tool(root, "sweep", *words, "--on", self.name, *self.options, "--json")

    def lose(self, folders: list[Path]) -> None:
        """One of the machines of these runs is gone, at once."""
        if self.name == "ray":
            self.cluster.say("kill")
        else:
            node = record_of(folders[0])["machine"]["node"]
            self.cluster.ask("scontrol", "update", f"nodename={node}", "state=down", "reason=test")

    def restore(self) -> None:
        """As it was before ``lose``."""
        if self.name == "ray":
            self.cluster.say("add")
        else:
            for node in ("n1", "n2"):
                with contextlib.suppress(subprocess.CalledProcessError):  # it is up
                    self.cluster.ask("scontrol", "update", f"nodename={node}", "state=resume")
            self.cluster.wait_until_idle()


@contextlib.contextmanager
def opened(name: str) -> Iterator[UsedPlace]:
    """A place, with a cluster of its own; skips, or fails where CI sets ``REPROKIT_REQUIRE_ENGINE=1``."""
    if name == "slurm":
        _must_be(slurm_cluster.not_installed(), always=True)
        _must_be(slurm_cluster.not_possible(), always=False)
    try:
        python = kept_python("engines", LOCKED, on_top=True)
    except CannotBeMadeError as problem:
        _must_be(str(problem), always=True)
    if name == "local":
        yield UsedPlace(name=name, python=python)
        return
    with tempfile.TemporaryDirectory(prefix="at-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        if name == "ray":
            variables = kept_byte_code(python)
            with ray_cluster.running(Path(folder), python=python, variables=variables) as ray:
                yield UsedPlace(name=name, python=python, options=("--address", ray.address), cluster=ray)
        else:
            with slurm_cluster.running(Path(folder) / "c") as slurm:
                yield UsedPlace(name=name, python=python, environment=slurm.environment, cluster=slurm)


def _must_be(problem: str, *, always: bool) -> None:
    if problem and always and os.environ.get("REPROKIT_REQUIRE_ENGINE") == "1":
        pytest.fail(f"REPROKIT_REQUIRE_ENGINE=1, and this cannot be tested: {problem}")
    if problem:
        pytest.skip(problem)


def repository(root: Path, program: str = PROGRAM, recipe: str = RECIPE) -> Repository:
    """Someone's repository with a program that a file ``slow`` holds up."""
    made = Repository(root)
    made.root.mkdir(parents=True, exist_ok=True)
    made.git("init", "--quiet")
    (made.root / ".gitignore").write_text("runs/\nhere/\nreports/\n__pycache__/\nslow\ndiffers/\n")
    made.write(train_py=program, recipes__train__recipe_yaml=recipe)
    return made


def record_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "run.json").read_text())


def has_begun(folder: Path) -> bool:
    """Whether a run has written the records that come before it waits."""
    log = folder / "output" / "log.jsonl"
    return log.is_file() and log.read_text().count("\n") >= 6


def begun(root: Path, number: int) -> list[Path]:
    """The runs that wait, once they are so many; else none."""
    found = [folder for folder in run_folders(root) if has_begun(folder)]
    return found if len(found) == number else []


def sweep_of(root: Path) -> Path:
    """The record of the one sweep that there is."""
    (found,) = (root / "runs" / "sweeps").glob("*/sweep.json")
    return found
