"""A container's configuration: from a RunSpec to the engine's JSON, and what the engine made of it.

``isolation`` reads what the engine reports, which is not always what was asked for: an engine drops
limits that its kernel lacks.

Source: Docker Engine API v1.41, "Create a container".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reprokit.core.records import RunSpec
from reprokit.execution import accelerators
from reprokit.execution.placeholders import fill, fill_folder, placeholders

RUN_DIR = "/run_dir"
MOUNTS = "/mnt/reprokit"
DEFAULT_MEMORY_BYTES = 8 << 30
SHARED_MEMORY_BYTES = 1 << 30
# noexec: torch trains from here, loader workers and fused optimizers included. torch.compile would
# need more, and a compiler that the images do not have.
TMPFS = "rw,noexec,nosuid,nodev,size=1073741824,mode=1777"
CPU_SHARES = 1024  # the default weight, set explicitly so that auditing tools see a limit
# Podman's default capabilities, which it lists one by one where ALL were dropped.
_CAPABILITIES_OF_PODMAN = {
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
}
_HEALTH_EVERY_NS = 600 * 10**9
_HEALTH_WITHIN_NS = 60 * 10**9


def container_config(
    spec: RunSpec,
    *,
    output: str,
    user: str,
    labels: Mapping[str, str],
    userns: str = "",
    watched: bool = True,
    ulimits: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """The container for a run, hardened: nothing but ``output`` can be written or reached.

    Args:
        spec: The run; its realisation must be an image.
        output: Folder on the engine's host that becomes ``/run_dir``.
        user: ``uid:gid`` inside the container.
        labels: The container's labels.
        userns: ``host`` on an engine that remaps users, so that ``user`` owns what it writes.
        watched: Whether the engine runs a health check; Podman can only where systemd runs.
        ulimits: More ulimits by name.

    Raises:
        ValueError: The run has no image.
        UsageError: A mount's name cannot be used.
    """
    if spec.realisation is None:
        raise ValueError("a container needs a realisation")
    values = placeholders(spec, run_dir=RUN_DIR, mounts=MOUNTS, python=spec.realisation.python)
    command = [fill(word, values) for word in spec.command]
    base_variables = {"HOME": "/tmp", "TMPDIR": "/tmp", "TZ": "UTC", "LC_ALL": "C.UTF-8"}  # noqa: S108
    limits = {"core": 0, **(ulimits or {})}
    variables = {**base_variables, **{name: fill(value, values) for name, value in spec.environment.items()}}
    return {
        "Image": spec.realisation.reference,
        "Entrypoint": command[:1],
        "Cmd": command[1:],
        "Env": [f"{name}={value}" for name, value in variables.items()],
        "WorkingDir": fill_folder(spec.working_dir, values) if spec.working_dir else RUN_DIR,
        "User": user,
        "Hostname": "reprokit",
        "Healthcheck": _health(spec.realisation.python) if watched else {"Test": ["NONE"]},
        "Labels": dict(labels),
        "HostConfig": _host_config(spec, output=output, userns=userns, ulimits=limits),
    }


def _health(python: str) -> dict[str, Any]:
    """A check every ten minutes: 20 ms of a core, and no effect on the training's numbers."""
    ask = ["CMD", python, "-I", "-S", "-c", "pass"]
    return {"Test": ask, "Interval": _HEALTH_EVERY_NS, "Timeout": _HEALTH_WITHIN_NS, "Retries": 1}


def _host_config(spec: RunSpec, *, output: str, userns: str, ulimits: Mapping[str, int]) -> dict[str, Any]:
    memory = spec.limits.memory_bytes or DEFAULT_MEMORY_BYTES
    binds = [(mount.path, f"{MOUNTS}/{mount.target}", True) for mount in spec.mounts]
    config: dict[str, Any] = {
        "NetworkMode": "bridge" if spec.limits.network else "none",
        "ReadonlyRootfs": True,
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges"],
        "Privileged": False,
        "IpcMode": "private",
        "Init": True,  # forwards signals, reaps, and makes stopping quick
        "PidsLimit": spec.limits.pids,
        "CpuShares": CPU_SHARES,
        "Memory": memory,
        "MemorySwap": memory,  # equal to Memory means no swap at all
        "ShmSize": spec.limits.shared_memory_bytes,
        "Tmpfs": {"/tmp": TMPFS},  # noqa: S108
        "Ulimits": [{"Name": name, "Soft": most, "Hard": most} for name, most in ulimits.items()],
        "LogConfig": {"Type": "none", "Config": {}},  # the host reads the streams and keeps the logs
        "RestartPolicy": {"Name": "no"},
        "Mounts": [
            {"Type": "bind", "Source": source, "Target": target, "ReadOnly": read_only}
            for source, target, read_only in [*binds, (output, RUN_DIR, False)]
        ],
    }
    if spec.limits.cpus is not None:
        config["CpusetCpus"] = ",".join(str(core) for core in spec.limits.cpus)
    if userns:
        config["UsernsMode"] = userns
    if spec.device == "cuda":
        config["DeviceRequests"] = [accelerators.gpu_request(spec)]
    return {**config, **accelerators.opened(spec)}


def isolation(inspected: Mapping[str, Any], *, engine: Mapping[str, Any]) -> dict[str, Any]:
    """What confined a container, as plain JSON, from the engine's answer to "inspect a container".

    ``relaxations`` lists what was opened beyond the default, each by name; ``engine`` is added as it is.
    """
    host, config = inspected["HostConfig"], inspected["Config"]
    return {
        "backend": "docker",
        **engine,
        "image": inspected["Image"],
        "network": host.get("NetworkMode"),
        "read_only_root": bool(host.get("ReadonlyRootfs")),
        "capabilities": {"dropped": _dropped(host.get("CapDrop") or []), "added": host.get("CapAdd") or []},
        "no_new_privileges": any(
            option in {"no-new-privileges", "no-new-privileges:true"}
            for option in host.get("SecurityOpt") or []
        ),
        "privileged": bool(host.get("Privileged")),
        "user": config.get("User") or "0:0",
        "userns": host.get("UsernsMode") or "",
        "ipc": host.get("IpcMode"),
        "init": bool(host.get("Init")),
        "pids_limit": host.get("PidsLimit"),
        "memory_bytes": host.get("Memory") or None,
        "memory_and_swap_bytes": host.get("MemorySwap") or None,
        "shared_memory_bytes": host.get("ShmSize"),
        "cpus": host.get("CpusetCpus") or None,
        "tmpfs": host.get("Tmpfs") or {},
        "log_driver": (host.get("LogConfig") or {}).get("Type"),
        "writable": sorted(mount["Destination"] for mount in inspected["Mounts"] if mount["RW"]),
        "read_only": sorted(mount["Destination"] for mount in inspected["Mounts"] if not mount["RW"]),
        "apparmor": inspected.get("AppArmorProfile") or None,
        "relaxations": accelerators.relaxations(host, shared_memory_bytes=SHARED_MEMORY_BYTES),
    }


def _dropped(reported: Sequence[str]) -> list[str]:
    """Capabilities that were dropped; Podman reports ``ALL`` as a list of its default ones."""
    names = {name.removeprefix("CAP_") for name in reported}
    return ["ALL"] if names >= _CAPABILITIES_OF_PODMAN else list(reported)
