"""A Ray cluster of two nodes on this machine, by Ray's own utility; a program of its own, spoken to by lines.

It prints its address and then one line for each word that it reads: ``kill`` ends the second node as when its
power goes, ``end`` ends all. Ray is imported only here, never in the process of the tests.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_STORE_BYTES = 80_000_000
_MEMORY_BYTES = 9 << 30  # one run with the memory that a recipe declares by default


@dataclass(frozen=True)
class Cluster:
    process: subprocess.Popen[str]
    address: str

    def kill_node(self) -> None:
        """One of the two nodes is gone, with all that ran on it."""
        self._say("kill")

    def _say(self, word: str) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


@contextmanager
def running(folder: Path) -> Iterator[Cluster]:
    """A cluster whose nodes can each carry out one run at a time."""
    environment = {
        **os.environ,
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "0",
        "RAY_TMPDIR": str(folder),
    }
    environment.pop("PYTHONPATH", None)
    with (
        (folder / "cluster.log").open("w") as log,
        subprocess.Popen(
            [sys.executable, __file__, *sys.path[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=environment,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            assert address, (folder / "cluster.log").read_text()[-2000:]
            yield Cluster(process, address)
        finally:
            process.communicate("end\n")


def main() -> None:
    """Start it, and do what is asked."""
    sys.path[1:1] = sys.argv[1:]
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what Ray prints is no answer
    from ray.cluster_utils import Cluster as RayCluster  # noqa: PLC0415

    node = {"num_cpus": 1, "object_store_memory": _STORE_BYTES, "memory": _MEMORY_BYTES}
    cluster = RayCluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    second = cluster.add_node(**node)
    cluster.wait_for_nodes()
    print(cluster.address, file=out, flush=True)
    for line in sys.stdin:
        if line.strip() == "end":
            break
        cluster.remove_node(second, allow_graceful=False)
        print("gone", file=out, flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    main()
