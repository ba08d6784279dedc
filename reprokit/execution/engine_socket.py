"""Ask the engine on its default socket whether a killed tool left containers, without loading its SDK.

The SDK takes longer to load than all else that a run of a moment costs; mostly there are no such containers.
"""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from urllib.parse import urlencode

from reprokit import extras

_SOCKET = Path("/var/run/docker.sock")
_LIMIT_S = 5.0
_MOST_BYTES = 1 << 16
#: Of every container of a run: whose runs folder it writes to.
WORKSPACE_LABEL = "dev.reprokit.workspace"


def remove_orphans(workspace: str, *, socket_path: Path = _SOCKET) -> tuple[str, ...]:
    """Remove the containers that a killed tool left in this workspace; their names.

    See ``docker_orphans.remove_orphans``, which does it wherever this question is not answered by "none".
    """
    if not _is_elsewhere() and _has_none(workspace, socket_path):
        return ()
    if not extras.is_installed("docker"):  # whoever has it here removes them
        return ()
    from reprokit.execution import docker_orphans

    return docker_orphans.remove_orphans(workspace)


def _is_elsewhere() -> bool:
    """Whether the engine may be another one than that behind the default socket."""
    chosen = os.environ.get("DOCKER_HOST") or os.environ.get("DOCKER_CONTEXT")
    folder = Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker")
    return bool(chosen) or (folder / "config.json").exists()


def _has_none(workspace: str, path: Path) -> bool:
    """Whether the engine says that no container of this workspace is there; False where it says nothing."""
    filters = json.dumps({"label": [f"{WORKSPACE_LABEL}={workspace}"]})
    asked = (
        f"GET /containers/json?{urlencode({'all': 1, 'filters': filters})} HTTP/1.0\r\nHost: engine\r\n\r\n"
    )
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as engine:
            engine.settimeout(_LIMIT_S)
            engine.connect(str(path))
            engine.sendall(asked.encode())
            answer = b""
            while (block := engine.recv(4096)) and len(answer) < _MOST_BYTES:
                answer += block
    except FileNotFoundError:
        return True  # no engine, so that nothing runs
    except OSError:
        return False
    head, _, body = answer.partition(b"\r\n\r\n")
    return head.split(b" ")[1:2] == [b"200"] and body.strip() == b"[]"
