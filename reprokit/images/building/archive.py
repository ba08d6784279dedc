"""A root file system as an image archive whose ID follows from its content alone.

``docker import`` would put the time of the import into the image's ID.
"""

from __future__ import annotations

import datetime as dt
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

from reprokit.core.records import canonical_json, digest_bytes
from reprokit.workspace import sha256_of

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def write_archive(
    rootfs: Path,
    archive: Path,
    *,
    architecture: str,
    created: dt.datetime,
    labels: Mapping[str, str],
    tag: str,
) -> str:
    """Write a one-layer image that ``docker load`` takes; its ID in engines with a classic image store.

    ``rootfs``, a tar file, becomes the layer byte for byte; ``architecture`` is ``amd64`` or ``arm64``.
    """
    layer = sha256_of(rootfs)
    date = created.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    configuration = canonical_json(
        {
            "architecture": architecture,
            "os": "linux",
            "created": date,
            "config": {"Env": [f"PATH={_PATH}"], "Cmd": ["/bin/sh"], "Labels": dict(labels)},
            "rootfs": {"type": "layers", "diff_ids": [layer]},
            "history": [{"created": date, "created_by": "mmdebstrap"}],
        }
    ).encode()
    image_id = digest_bytes(configuration)
    names = {"Config": f"{_hex(image_id)}.json", "Layers": [f"{_hex(layer)}.tar"], "RepoTags": [tag]}
    with tarfile.open(archive, "w", format=tarfile.PAX_FORMAT) as tar:
        _add(tar, f"{_hex(image_id)}.json", configuration)
        with rootfs.open("rb") as stream:
            member = tarfile.TarInfo(f"{_hex(layer)}.tar")
            member.size = rootfs.stat().st_size
            tar.addfile(member, stream)
        _add(tar, "manifest.json", canonical_json([names]).encode())
    return image_id


def _hex(digest: str) -> str:
    return digest.removeprefix("sha256:")


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))
