"""One build of a variant's image, from its ingredients to its canonical form."""

from __future__ import annotations

import contextlib
import re
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from docker import DockerClient

from reprokit.errors import ImageError
from reprokit.images.building import builders, image_store, layers
from reprokit.images.building.bases import Base
from reprokit.images.building.canonical import CanonicalImage, Form, canonical
from reprokit.images.cache import Progress, held
from reprokit.images.locks import Lock, Variant
from reprokit.images.packages import digest_of
from reprokit.images.subprocesses import heartbeat
from reprokit.workspace import cannot_write

_IMPORTING = 'File "<string>", line 1, in <module>'  # of a traceback: the Dockerfile's `python -c "import …"`
_RAISED = re.compile(r"\b[A-Za-z.]*(?:Error|Exception): .*")
_COMMAND = re.compile(r"The command '.{80,}'", re.DOTALL)  # long shell code, which the Dockerfile has too
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")  # the classic builder colours stderr
_STEP = re.compile(r"(?:Step (\d+)/(\d+) : |#\d+ \[.*?(\d+)/(\d+)\] )(FROM|COPY|RUN)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingredients:
    """Everything that an image is made from."""

    lock: Lock
    variant: Variant
    base: Base
    wheels: Path  # the folder of the wheels and their `requirements.txt`
    content: str  # the digest of all of it
    tag: str  # the name that the image gets


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildConditions:
    """Build conditions that must not change an image."""

    title: str = "as always"  # for people
    builder: str = builders.CLASSIC  # `classic` or `buildkit`
    # Time of every file of the context in seconds since 1970; None for the lock's date
    mtime: int | None = None
    uid: int = 0  # user and group id of the files
    owner: str = ""  # user and group name of the files
    mode: int = 0o644  # the files' mode
    is_reversed: bool = False  # whether the context lists its files from the last to the first
    cores: str = ""  # which cores the steps may use, `0` or `0,1`; empty for all. Classic builder only.
    variables: Mapping[str, str] = field(default_factory=dict)  # variables that every build step sees


@contextlib.contextmanager
def made(
    client: DockerClient,
    ingredients: Ingredients,
    *,
    conditions: BuildConditions,
    cache: Path,
    on_progress: Progress,
) -> Iterator[CanonicalImage]:
    """Build with no cache and no network; the image is readable until the block ends.

    Nothing is left in the engine: a caller that wants the image there loads it.

    Raises:
        ImageError: A build step failed.
        WorkspaceError: The cache cannot be written, or the disk is full.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="image-", dir=cache) as name:
            archive = Path(name) / "image.tar"
            # The sweep cannot tell a broken build's stages from those of one that runs: one at a time.
            turn = f"build-{ingredients.variant.name}-{ingredients.content[7:23]}"
            with held(cache, turn, on_progress=on_progress):
                image_store.sweep_stages(client, ingredients.content)
                try:
                    _build(client, ingredients, conditions, archive, on_progress)
                except Exception:
                    image_store.sweep_stages(client, ingredients.content)
                    raise
                except BaseException:  # Ctrl-C or TERM: the engine is still at work
                    image_store.sweep_late_stages(client, ingredients.content)
                    raise
                image_store.sweep_stages(client, ingredients.content)
            on_progress(f"image of {ingredients.variant.name}: normalising times and order")
            with layers.opened(archive) as image:
                yield canonical(image, _form(client, ingredients))
    except OSError as error:
        raise cannot_write(cache, error) from error


def _build(
    client: DockerClient,
    ingredients: Ingredients,
    conditions: BuildConditions,
    archive: Path,
    on_progress: Progress,
) -> None:
    name = ingredients.variant.name
    output: list[str] = []

    def follow(line: str) -> None:
        output.append(line)
        if match := _STEP.match(line):
            number, total = match[1] or match[3], match[2] or match[4]
            on_progress(f"image of {name}: step {number} of {total}, {match[5]}")

    with tempfile.TemporaryFile(dir=archive.parent) as context:
        write_context(context, ingredients, conditions)
        context.seek(0)
        arguments = {"CONTENT": ingredients.content, "IMPORTS": ",".join(ingredients.variant.imports)}
        request = builders.BuildRequest(
            context=context,
            base=ingredients.base.reference,
            base_id=ingredients.base.id,
            arguments={**arguments, **conditions.variables},
            cores=conditions.cores,
        )
        try:
            with heartbeat(on_progress, f"image of {name}: building on {ingredients.base.name}"):
                raw = builders.build(client, request, builder=conditions.builder, on_line=follow)
        except builders.BuildFailedError as error:
            raise _build_error(ingredients.lock, ingredients.variant, str(error), output) from error
    with heartbeat(on_progress, f"image of {name}: reading it back"), archive.open("wb") as stream:
        for block in client.images.get(raw).save(chunk_size=1 << 20):
            stream.write(block)
    client.images.remove(raw, force=True)


def write_context(context: BinaryIO, ingredients: Ingredients, conditions: BuildConditions) -> None:
    """Write Dockerfile and wheels as a tar file, with the conditions' owners, modes, times and order."""
    lock = ingredients.lock
    files = {"Dockerfile": lock.dockerfile}
    files |= {f"wheels/{path.name}": path for path in sorted(ingredients.wheels.iterdir())}
    with tarfile.open(fileobj=context, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, path in sorted(files.items(), reverse=conditions.is_reversed):
            member = tarfile.TarInfo(name)
            member.size, member.mode = path.stat().st_size, conditions.mode
            member.mtime = lock.bootstrap.epoch if conditions.mtime is None else conditions.mtime
            member.uid = member.gid = conditions.uid
            member.uname = member.gname = conditions.owner
            with path.open("rb") as stream:
                tar.addfile(member, stream)


def _form(client: DockerClient, ingredients: Ingredients) -> Form:
    base = client.images.get(ingredients.base.id)
    return Form(
        base_layers=tuple(base.attrs["RootFS"]["Layers"]),
        num_base_steps=len(base.history()),
        epoch=ingredients.lock.bootstrap.epoch,
        created=ingredients.lock.bootstrap.date,
        labels=_labels(ingredients),
        tag=ingredients.tag,
        made_by=f"reprokit image build {ingredients.variant.name}",
        version=ingredients.variant.form,
    )


def _labels(ingredients: Ingredients) -> dict[str, str]:
    variant, base = ingredients.variant, ingredients.base
    opencontainers = {
        "title": f"reprokit {variant.name}",
        "description": f"{variant.title}: every package pinned by hash, built without a network",
        "created": ingredients.lock.bootstrap.date,
        "version": ingredients.content.removeprefix("sha256:")[:16],
        "base.name": base.name,
        "base.digest": base.digest,
    }
    return {
        **{f"org.opencontainers.image.{key}": value for key, value in opencontainers.items()},
        image_store.VARIANT: variant.name,
        image_store.LOCK: digest_of(variant.packages_path),
        image_store.BASE: base.title,
        image_store.CONTENT: ingredients.content,
        image_store.STAGE: "",  # finished: no leftover, and neither is anything made on top
    }


def _build_error(lock: Lock, variant: Variant, what: str, output: list[str]) -> ImageError:
    lines = [line for line in _COLOUR.sub("", "".join(output)).splitlines() if line.strip()]
    if any(_IMPORTING in line for line in lines):
        return ImageError(
            f"the packages of {variant.name} do not fit together: "
            f"`import {', '.join(variant.imports)}` fails in the image",
            where=str(variant.packages_path),
            actual=next((found[0] for line in reversed(lines) if (found := _RAISED.search(line))), None),
            fix=f"pin what fits in {variant.input_path.name}, then: reprokit image lock {variant.name}",
        )
    return ImageError(
        f"the image of {variant.name} could not be built: {_COMMAND.sub('a step', what.strip())}",
        where=f"{lock.dockerfile.relative_to(lock.root)}, {variant.packages_path.name}",
        actual="\n".join(lines[-8:]),
        fix="the lines above say why; a full disk is the usual cause (df -h, docker system df)",
    )
