"""A variant as a container image: wheels and Dockerfile in, image ID out, with no network.

This module knows the build context and the engine's builder; it refuses to choose a base.

    >>> realise(lock, lock.variant("cpu"), base="auto", cache=cache, on_progress=print).reference
    'sha256:8f0d…'
"""

from __future__ import annotations

import re
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import docker.errors
from docker import DockerClient

from reprokit.core.records import Realisation, digest
from reprokit.errors import ImageError
from reprokit.images import bases, engine, wheels
from reprokit.images.bases import Base
from reprokit.images.cache import Progress, held
from reprokit.images.commands import heartbeat
from reprokit.images.locks import Lock, Variant
from reprokit.images.packages import Target, digest_of
from reprokit.workspace import cannot_write

PYTHON = "/opt/reprokit/bin/python"
_STEP = re.compile(r"Step (\d+)/(\d+) : (FROM|COPY|RUN)")


def realise(lock: Lock, variant: Variant, *, base: str, cache: Path, on_progress: Progress) -> Realisation:
    """Find the image of a variant's content in the engine, or build it.

    Args:
        lock: ``images/lock.toml``.
        variant: Which environment.
        base: ``auto``, ``registry`` or ``bootstrap``. ``auto`` takes an image that is there on
            whichever base, before it asks whether the registry can be reached.
        cache: The cache folder.
        on_progress: Called with a line now and then.

    Raises:
        EngineError: No engine answers.
        ImageError: The base, the wheels or the build failed.
    """
    with engine.connected() as client:
        machine = engine.machine(client)
        contents = {
            kind: content_of(lock, variant, machine=machine, base_identity=identity)
            for kind in bases.allowed_kinds(base)
            if (identity := bases.identity(lock, kind=kind, machine=machine))
        }
        found = _found(client, variant, contents.values())
        if found is None:
            with held(cache, f"image-{variant.name}-{machine}", on_progress=on_progress):
                found = _found(client, variant, contents.values())
                if found is None:
                    kind = bases.choose(client, lock, wanted=base, on_progress=on_progress)
                    _make(client, lock, variant, machine, kind, contents[kind], cache, on_progress)
                    found = _found(client, variant, [contents[kind]])
        if found is None:
            raise ImageError("the engine built the image, but does not have it", where=variant.name)
    return Realisation(
        variant=variant.name,
        kind="image",
        reference=found.id,
        digest=found.id,
        python=PYTHON,
        lock_digest=found.labels[engine.LOCK],
        base=found.labels[engine.BASE],
    )


def content_of(lock: Lock, variant: Variant, *, machine: str, base_identity: str) -> str:
    """Digest of everything that goes into a variant's image; equal content, same image."""
    return digest(
        {
            "dockerfile": digest_of(lock.dockerfile),
            "lock": digest_of(variant.packages_path),
            "base": base_identity,
            "machine": machine,
            "python": variant.python,
            "variant": variant.name,
        }
    )


def _tag(variant: Variant, content: str) -> str:
    return f"reprokit/{variant.name}:{content.removeprefix('sha256:')[:16]}"


def _found(client: DockerClient, variant: Variant, contents: Iterable[str]) -> engine.StoredImage | None:
    found = (engine.find(client, engine.CONTENT, one, tag=_tag(variant, one)) for one in contents)
    return next((image for image in found if image is not None), None)


def _make(
    client: DockerClient,
    lock: Lock,
    variant: Variant,
    machine: str,
    kind: str,
    content: str,
    cache: Path,
    on_progress: Progress,
) -> None:
    target = Target(machine=machine, python=variant.python)
    from_wheels = wheels.fetch(variant, target, cache=cache, on_progress=on_progress)
    base = bases.obtain(client, lock, kind=kind, machine=machine, cache=cache, on_progress=on_progress)
    engine.sweep_stages(client, content)
    try:
        with tempfile.TemporaryFile(dir=cache) as context:
            _write_context(context, lock, from_wheels)
            context.seek(0)
            with heartbeat(on_progress, f"image of {variant.name}: building on {base.name}"):
                _build(
                    client,
                    context,
                    base,
                    variant,
                    content,
                    _labels(lock, variant, base, content),
                    on_progress,
                )
    except OSError as error:
        raise cannot_write(cache, error) from error
    finally:
        engine.sweep_stages(client, content)


def _labels(lock: Lock, variant: Variant, base: Base, content: str) -> dict[str, str]:
    opencontainers = {
        "title": f"reprokit {variant.name}",
        "description": f"{variant.title}: every package pinned by hash, built without a network",
        "created": lock.bootstrap.timestamp.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "version": content.removeprefix("sha256:")[:16],
        "base.name": base.name,
        "base.digest": base.digest,
    }
    return {
        **{f"org.opencontainers.image.{key}": value for key, value in opencontainers.items()},
        engine.VARIANT: variant.name,
        engine.LOCK: digest_of(variant.packages_path),
        engine.BASE: base.title,
        engine.CONTENT: content,
        engine.STAGE: "",  # finished: no leftover, and neither is anything made on top
    }


def _write_context(context: BinaryIO, lock: Lock, from_wheels: Path) -> None:
    """Dockerfile and wheels as a tar file: sorted, nobody's, from no time."""
    with tarfile.open(fileobj=context, mode="w", format=tarfile.PAX_FORMAT) as tar:
        files = {"Dockerfile": lock.dockerfile}
        files |= {f"wheels/{path.name}": path for path in sorted(from_wheels.iterdir())}
        for name, path in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.mode = path.stat().st_size, lock.bootstrap.epoch, 0o644
            with path.open("rb") as stream:
                tar.addfile(member, stream)


def _build(
    client: DockerClient,
    context: BinaryIO,
    base: Base,
    variant: Variant,
    content: str,
    labels: Mapping[str, str],
    on_progress: Progress,
) -> None:
    """Let the engine build; the labels come last, so only a finished image carries them."""
    output: list[str] = []
    try:
        events = client.api.build(
            fileobj=context, custom_context=True, tag=_tag(variant, content), labels=dict(labels),
            buildargs={"BASE": base.id, "CONTENT": content}, network_mode="none", nocache=True,
            rm=True, forcerm=True, decode=True, use_config_proxy=False,
        )  # fmt: skip
        # Read to the end even after an error: only then is the connection free again.
        errors = [error for event in events if (error := _follow(event, variant, output, on_progress))]
    except docker.errors.APIError as error:
        raise _build_error(variant, str(error.explanation or error), output) from error
    if errors:
        raise _build_error(variant, errors[0], output)


def _follow(event: Mapping[str, Any], variant: Variant, output: list[str], on_progress: Progress) -> str:
    """Keep what the builder says; returns its error, or ""."""
    text = str(event.get("stream", ""))
    output.append(text)
    if match := _STEP.match(text):
        on_progress(f"image of {variant.name}: step {match[1]} of {match[2]}, {match[3]}")
    return str(event.get("error", ""))


def _build_error(variant: Variant, what: str, output: list[str]) -> ImageError:
    lines = [line for line in "".join(output).splitlines() if line.strip()]
    return ImageError(
        f"the image of {variant.name} could not be built: {what.strip()}",
        where=f"images/Dockerfile, {variant.packages_path.name}",
        actual="\n".join(lines[-8:]),
        fix="the lines above say why; a full disk is the usual cause (df -h, docker system df)",
    )
