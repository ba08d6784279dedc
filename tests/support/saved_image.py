"""Images as an engine saves them: a base with layers on top, and their one form."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from reprokit.images.building import layers
from reprokit.images.building.canonical import CanonicalImage, Form, canonical

EPOCH = 1_000_000


def member(name: str, content: bytes | None = b"", **changes) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.mode, info.mtime = (0o644, EPOCH + 5) if content is not None else (0o755, EPOCH + 5)
    info.type = tarfile.REGTYPE if content is not None else tarfile.DIRTYPE
    info.size = len(content or b"")
    for key, value in changes.items():
        setattr(info, key, value)
    return info, content or b""


def link(name: str, target: str, kind: bytes) -> tuple[tarfile.TarInfo, bytes]:
    return member(name, b"", type=kind, linkname=target, size=0)


def packed(*members) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for info, content in members:
            tar.addfile(info, io.BytesIO(content))
    return stream.getvalue()


BASE = packed(member("etc", None), member("etc/passwd", b"root\n"), member("usr", None))


def saved(path: Path, *above: bytes, history=(), config=None) -> Path:
    """What an engine saves of a base with layers on top."""
    parts = [BASE, *above]
    settings = {
        "architecture": "amd64",
        "os": "linux",
        "created": "2026-11-21T07:00:00Z",
        "container": "random",
        "config": {"Hostname": "random", "Env": ["A=1"], **(config or {})},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(p).hexdigest()}" for p in parts]},
        "history": [{"created_by": "base"}, *({"created_by": step} for step in history)],
    }
    names = [f"{n}/layer.tar" for n in range(len(parts))]
    manifest = json.dumps([{"Config": "c.json", "Layers": names, "RepoTags": None}]).encode()
    files = [
        ("c.json", json.dumps(settings).encode()),
        ("manifest.json", manifest),
        *zip(names, parts, strict=True),
    ]
    path.write_bytes(packed(*(member(name, content) for name, content in files)))
    return path


@pytest.fixture
def form_of(tmp_path):
    """The one form of a base with these layers on top."""
    with contextlib.ExitStack() as stack:
        count = iter(range(99))

        def make(*above: bytes, form: Form | None = None, **settings) -> CanonicalImage:
            path = saved(tmp_path / f"{next(count)}.tar", *above, **settings)
            return canonical(stack.enter_context(layers.opened(path)), form or FORM)

        yield make


FORM = Form(
    base_layers=(f"sha256:{hashlib.sha256(BASE).hexdigest()}",),
    num_base_steps=1,
    epoch=EPOCH,
    created="2026-10-01T00:00:00Z",
    labels={"a": "b"},
    tag="reprokit/test:1",
    made_by="reprokit",
)
