"""A Ray cluster of two nodes on this machine, by Ray's own utility; a program of its own, spoken to by lines.

It prints its address and then one line for each word that it reads: ``kill`` ends the second node as when its
power goes, ``add`` begins another one, ``head`` ends the first node with all that the cluster knows,
``again`` begins a cluster of the same address, ``fill`` fills the object store of each node, ``end`` ends
all. Ray is imported only here, never in the process of the tests.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

_STORE_BYTES = 80_000_000
_TRIES = 4
_MEMORY_BYTES = 9 << 30  # one run with the memory that a recipe declares by default
#: Keeps an object on every node until it is ended.
_FILL = """\
import sys, ray
ray.init(address=sys.argv[1], log_to_driver=False)
kept = ray.remote(num_cpus=0)(lambda size: bytes(size))
nodes = [{"ray.io/node-id": node["NodeID"]} for node in ray.nodes() if node["Alive"]]
objects = [kept.options(label_selector=one).remote(int(sys.argv[2])) for one in nodes]
ray.wait(objects, num_returns=len(objects), fetch_local=False)
print("full", flush=True)
sys.stdin.read()
"""
_NODE = {"num_cpus": 1, "object_store_memory": _STORE_BYTES, "memory": _MEMORY_BYTES}


@dataclass(frozen=True)
class Cluster:
    process: subprocess.Popen[str]
    address: str
    log: Path

    def say(self, word: str) -> str:
        """``kill``, ``add``, ``head``, ``again`` or ``fill``; returns when it is done."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        assert answer, self.log.read_text()[-2000:]
        return answer


@contextmanager
def running(folder: Path, *, python: Path, variables: Mapping[str, str]) -> Iterator[Cluster]:
    """A cluster whose nodes can each carry out one run at a time.

    Args:
        folder: An empty one with a short path, for what Ray writes.
        python: A Python that has Ray.
        variables: More for its processes.
    """
    environment = {
        **os.environ,
        **variables,
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "0",
        "RAY_gcs_server_request_timeout_seconds": "300",  # of a machine that does much else
        "RAY_agent_register_timeout_ms": "300000",
        "RAY_health_check_period_ms": "1000",  # what is gone refuses at once; what is busy has 10 s
        "RAY_TMPDIR": str(folder),
    }
    environment.pop("PYTHONPATH", None)
    path = folder / "cluster.log"
    with (
        path.open("w") as log,
        subprocess.Popen(
            [str(python), __file__],
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
            assert address, path.read_text()[-2000:]
            yield Cluster(process, address, path)
        finally:
            with suppress(BrokenPipeError):
                process.communicate("end\n")


def main() -> None:
    """Start it, and do what is asked."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what Ray prints is no answer
    from ray.cluster_utils import Cluster as RayCluster  # noqa: PLC0415

    cluster, second = _begun(RayCluster())
    print(cluster.address, file=out, flush=True)
    filling = ExitStack()
    for line in sys.stdin:
        word = line.strip()
        if word == "end":
            break
        if word == "kill":
            cluster.remove_node(second, allow_graceful=False)
        elif word == "add":
            second = _patiently(partial(cluster.add_node, **_NODE))
            cluster.wait_for_nodes()
        elif word == "head":
            cluster.head_node.kill_all_processes(check_alive=False, allow_graceful=False, wait=True)
        elif word == "again":
            before, port = cluster, int(cluster.address.rpartition(":")[2])
            cluster, second = _begun(RayCluster(), gcs_server_port=port)
            _end(before)
        elif word == "fill":
            filling.enter_context(_filled(cluster.address))
        print("done", file=out, flush=True)
    filling.close()
    _end(cluster)


@contextmanager
def _filled(address: str) -> Iterator[None]:
    """Another program of the cluster keeps nearly all of each node's object store."""
    size = str(int(0.95 * _STORE_BYTES))
    with subprocess.Popen(
        [sys.executable, "-c", _FILL, address, size], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "full\n"
        yield
        process.communicate()


def _begun(cluster: Any, **of_the_head: Any) -> tuple[Any, Any]:
    """A cluster of two nodes, and the second one."""
    _patiently(lambda: cluster.add_node(**_NODE, **of_the_head, include_dashboard=False))
    second = _patiently(lambda: cluster.add_node(**_NODE))
    cluster.wait_for_nodes()
    return cluster, second


def _end(cluster: Any) -> None:
    with suppress(Exception):  # of a cluster without its head not all can be ended in order
        cluster.shutdown()


def _patiently(start: Callable[[], Any]) -> Any:
    """Ray gives a node 30 seconds to start, which a machine that does much else may not have."""
    for _ in range(_TRIES - 1):
        with suppress(Exception):
            return start()
    return start()


if __name__ == "__main__":
    main()
