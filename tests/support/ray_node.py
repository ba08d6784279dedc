"""One more node of a running Ray cluster, started within another command: ``unshare``, say."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from support.places import UsedPlace


@contextlib.contextmanager
def node_within(prefix: Sequence[str], ray: UsedPlace, log: Path) -> Iterator[None]:
    """One more node of a cluster, by ``ray start`` within another command."""
    words = ["-m", "ray.scripts.scripts", "start", f"--address={ray.cluster.address}", "--num-cpus=1"]
    room = ["--object-store-memory=80000000", f"--memory={9 << 30}", "--disable-usage-stats", "--block"]
    environment = {name: told for name, told in os.environ.items() if name != "PYTHONPATH"}
    with (
        log.open("w") as stream,
        subprocess.Popen(
            [*prefix, str(ray.python), *words, *room],
            stdout=subprocess.PIPE,
            stderr=stream,
            text=True,
            env={**environment, "RAY_worker_niceness": "0"},
        ) as process,
    ):
        try:
            assert process.stdout is not None
            assert any("Ray runtime started" in line for line in process.stdout), log.read_text()[-2000:]
            yield
        finally:
            process.terminate()
            process.communicate(timeout=60)
