"""A Slurm cluster of two nodes on this machine, for one test module: munged, slurmctld, two slurmd."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch")
#: Debian keeps daemons where a user's path does not look.
_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
#: Only the loopback is needed. With IPv4 alone Slurm would ask for what a host without another address has
#: not (AI_ADDRCONFIG of getaddrinfo(3)).
_CONF = """\
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock,cred_expire=5
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0
CommunicationParameters=EnableIPv6
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
KillWait=15
MinJobAge=3600
SlurmdTimeout=20
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={first} CPUs=1 RealMemory=16000 State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={second} CPUs=1 RealMemory=16000 State=UNKNOWN
PartitionName=cpu Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
"""


def not_installed() -> str:
    """Which programs are missing, in one line; "" where none is."""
    missing = [name for name in _PROGRAMS if shutil.which(name, path=_PATH) is None]
    return f"not installed: {', '.join(missing)} (.ci/set-up installs slurm-wlm and munge)" if missing else ""


def not_possible() -> str:
    """Why this machine cannot have a cluster even so, in one line; "" where it can."""
    return "slurmd needs root" if os.getuid() != 0 else ""


@dataclass(frozen=True)
class Cluster:
    folder: Path

    def ask(self, *command: str) -> str:
        """What one of Slurm's commands prints."""
        return subprocess.run(
            command, capture_output=True, text=True, check=True, env=self.environment
        ).stdout

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "PATH": _PATH, "SLURM_CONF": str(self.folder / "slurm.conf")}

    def wait_until_idle(self, seconds: float = 90.0) -> None:
        """Until both nodes can take a job."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with contextlib.suppress(subprocess.CalledProcessError):
                if self.ask("sinfo", "--noheader", "--Node", "--format=%T").split() == ["idle", "idle"]:
                    return
            time.sleep(0.5)
        raise TimeoutError((self.folder / "slurmctld.log").read_text()[-2000:])


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Cluster]:
    """A cluster whose nodes are idle; what was started is stopped at the end, each by its own number."""
    folder.mkdir(parents=True)
    (folder / "state").mkdir()
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)
    numbers = _free_ports(3)
    (folder / "slurm.conf").write_text(
        _CONF.format(
            host=socket.gethostname(),
            folder=folder,
            port=numbers[0],
            first=numbers[1],
            second=numbers[2],
        )
    )
    conf = str(folder / "slurm.conf")
    cluster = Cluster(folder)
    munge = [f"--{name}={folder}/munge.{end}" for name, end in _MUNGE]
    try:
        for command in (
            ["munged", "--force", f"--key-file={key}", *munge],
            ["slurmctld", "-f", conf],
            *(["slurmd", "-N", node, "-f", conf] for node in ("n1", "n2")),
        ):
            subprocess.run(command, check=True, env=cluster.environment)
        cluster.wait_until_idle()
        yield cluster
        _end_jobs(cluster)
    finally:
        for name in ("n1", "n2", "slurmctld", "munge"):
            with contextlib.suppress(OSError, ValueError):
                os.kill(int((folder / f"{name}.pid").read_text()), signal.SIGTERM)


def _end_jobs(cluster: Cluster) -> None:
    """What a test that failed left running."""
    end = time.monotonic() + 30
    while cluster.ask("squeue", "--noheader").strip() and time.monotonic() < end:
        cluster.ask("scancel", "--full", "--user=root")
        time.sleep(1)


_MUNGE = (("socket", "sock"), ("pid-file", "pid"), ("log-file", "log"), ("seed-file", "seed"))


def _free_ports(number: int) -> list[int]:
    """Ports that no one has, below those that the system gives away while the daemons start."""
    found: list[int] = []
    while len(found) < number:
        port = random.randrange(20_000, 30_000)
        with socket.socket() as tried, contextlib.suppress(OSError):
            tried.bind(("", port))
            found += [port] if port not in found else []
    return found
