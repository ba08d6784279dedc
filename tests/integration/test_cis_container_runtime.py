"""Section 5 (container runtime) of the CIS Docker Benchmark 1.6.0, asked of a running container.

By the numbers of the benchmark, and of the host's engine's own account, as docker-bench-security asks
it. 5.1, 5.7, 5.23, 5.24, 5.28 and 5.30 are about the engine, its users or its images, and not asked.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import docker
import pytest

from reprokit.execution.docker_config import container_config

pytestmark = pytest.mark.engine

Inspected = Mapping[str, Any]
NULL_DEVICE = {"PathOnHost": "/dev/null", "PathInContainer": "/dev/x", "CgroupPermissions": "r"}
_SENSITIVE = ("/", "/boot", "/dev", "/etc", "/lib", "/proc", "/sys", "/usr")


def host(inspected: Inspected, name: str) -> Any:
    return inspected["HostConfig"].get(name)


def options(inspected: Inspected) -> str:
    return " ".join(host(inspected, "SecurityOpt") or [])


def ports(inspected: Inspected) -> list[Any]:
    return [bound for found in (host(inspected, "PortBindings") or {}).values() for bound in found or []]


#: Number → whether the benchmark warns.
WARNS: dict[str, Callable[[Inspected], bool]] = {
    "5.2 AppArmor profile": lambda c: c.get("AppArmorProfile") in {None, "", "unconfined"},
    "5.3 SELinux options": lambda c: not options(c),
    "5.4 capabilities": lambda c: bool(host(c, "CapAdd")),
    "5.5 privileged": lambda c: bool(host(c, "Privileged")),
    "5.6 sensitive folders": lambda c: any(m["Source"] in _SENSITIVE and m["RW"] for m in c["Mounts"]),
    "5.8 privileged ports": lambda c: any(0 < int(one["HostPort"]) < 1024 for one in ports(c)),
    "5.9 open ports": lambda c: bool(ports(c)),
    "5.10 host network": lambda c: host(c, "NetworkMode") == "host",
    "5.11 memory": lambda c: not host(c, "Memory"),
    "5.12 CPU priority": lambda c: not host(c, "CpuShares") and not host(c, "NanoCpus"),
    "5.13 read-only root": lambda c: not host(c, "ReadonlyRootfs"),
    "5.14 interface": lambda c: any(one.get("HostIp") in {"", "0.0.0.0"} for one in ports(c)),  # noqa: S104
    "5.15 restarts": lambda c: (host(c, "RestartPolicy") or {}).get("MaximumRetryCount", 0) > 5,
    "5.16 host processes": lambda c: host(c, "PidMode") == "host",
    "5.17 host IPC": lambda c: host(c, "IpcMode") == "host",
    "5.18 devices": lambda c: bool(host(c, "Devices")),
    "5.20 propagation": lambda c: any("shared" in (m.get("Propagation") or "") for m in c["Mounts"]),
    "5.21 host UTS": lambda c: host(c, "UTSMode") == "host",
    "5.22 seccomp": lambda c: "seccomp=unconfined" in options(c) or "seccomp:unconfined" in options(c),
    "5.25 control group": lambda c: host(c, "CgroupParent") not in {"", "docker"},
    "5.26 new privileges": lambda c: "no-new-privileges" not in options(c),
    "5.27 health": lambda c: not (c["State"].get("Health") or {}).get("Status"),
    "5.29 PIDs": lambda c: not (host(c, "PidsLimit") or 0) > 0,
    "5.31 user namespace": lambda c: host(c, "UsernsMode") == "host",
    "5.32 engine socket": lambda c: any("docker.sock" in m["Source"] for m in c["Mounts"]),
}


def warnings(inspected: Inspected) -> set[str]:
    return {name for name, warns in WARNS.items() if warns(inspected)}


@pytest.fixture
def running(engine: docker.DockerClient) -> Iterator[Callable[[Mapping[str, Any]], Inspected]]:
    """Starts a container of a configuration; the engine's account of it while it runs."""
    started: list[str] = []

    def start(config: Mapping[str, Any]) -> Inspected:
        name = f"reprokit-test-cis-{uuid.uuid4().hex[:12]}"
        engine.api.create_container_from_config(dict(config), name=name)
        started.append(name)
        engine.api.start(name)
        found: Inspected = engine.api.inspect_container(name)
        assert found["State"]["Running"]
        return found

    yield start
    for name in started:
        with contextlib.suppress(docker.errors.NotFound):
            engine.api.remove_container(name, force=True)


def has_apparmor(engine: docker.DockerClient) -> bool:
    return any("apparmor" in option for option in engine.info().get("SecurityOptions") or [])


def test_a_running_recipe_has_no_warning_but_for_an_apparmor_that_the_host_lacks(
    engine, running, in_container, run_dir
):
    (run_dir / "output").chmod(0o777)
    config = container_config(
        in_container("import time; time.sleep(60)"),
        output=str(run_dir / "output"),
        user="65532:65532",
        labels={},
    )
    expected = set() if has_apparmor(engine) else {"5.2 AppArmor profile"}
    assert warnings(running(config)) == expected


def test_an_ordinary_container_has_many(running, python_image):
    found = warnings(
        running(
            {
                "Image": python_image,
                "Cmd": ["/opt/python/bin/python3", "-c", "import time; time.sleep(60)"],
                "HostConfig": {},
            }
        )
    )
    assert found >= {
        "5.3 SELinux options",
        "5.11 memory",
        "5.12 CPU priority",
        "5.13 read-only root",
        "5.26 new privileges",
        "5.27 health",
        "5.29 PIDs",
    }


def test_a_container_that_was_opened_on_purpose_has_each_warning(running, python_image, tmp_path):
    found = warnings(
        running(
            {
                "Image": python_image,
                "Cmd": ["/opt/python/bin/python3", "-c", "import time; time.sleep(60)"],
                "HostConfig": {
                    "CapAdd": ["NET_RAW"],
                    "SecurityOpt": ["seccomp=unconfined"],
                    "PidMode": "host",
                    "IpcMode": "host",
                    "UTSMode": "host",
                    "NetworkMode": "host",
                    "Binds": ["/etc:/host/etc", "/var/run/docker.sock:/var/run/docker.sock"],
                    "Devices": [
                        {"PathOnHost": "/dev/null", "PathInContainer": "/dev/x", "CgroupPermissions": "r"}
                    ],
                },
            }
        )
    )
    assert found >= {
        "5.4 capabilities",
        "5.6 sensitive folders",
        "5.10 host network",
        "5.16 host processes",
        "5.17 host IPC",
        "5.18 devices",
        "5.21 host UTS",
        "5.22 seccomp",
        "5.32 engine socket",
    }
