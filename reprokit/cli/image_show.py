"""``reprokit image show``: what is in an image, and how it came to be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from reprokit.cli.options import engine_option, examples
from reprokit.layout import IMAGE_PROVENANCE, SBOM


@click.command(
    "show",
    short_help="Say what is in an image and what it was made from.",
    epilog=examples("reprokit image show cpu", "reprokit image show cpu --json > cpu-image.json"),
)
@click.argument("variant", default="cpu")
@engine_option
@click.option("--all", "show_all", is_flag=True, help="List every package and material.")
@click.option("--json", "as_json", is_flag=True, help="Print both documents as one JSON object.")
def show_image(variant: str, show_all: bool, as_json: bool) -> int:
    """Say what is in the image of VARIANT and what it was made from; it is built where it is missing.

    The documents are those that every run in the image has in its folder: `sbom.cdx.json` (CycloneDX
    1.6; scanners read it) and `image-provenance.json` (in-toto, SLSA 1.0).
    """
    import json

    from reprokit import images
    from reprokit.errors import ImageError
    from reprokit.images import cache, image_documents
    from reprokit.images.locks import project_around

    realisation = images.resolve(
        variant,
        project=project_around(Path.cwd()),
        kind="image",
        on_progress=lambda line: click.echo(line, err=True),
    )
    files = image_documents.files_of(realisation.reference, cache=cache.cache_folder(None))
    if not files:
        raise ImageError(
            "this image was made elsewhere, and its documents with it",
            where=realisation.reference,
            fix=f"make it here: docker image rm {realisation.reference}, then reprokit image build {variant}",
        )
    sbom, provenance = (json.loads(files[name]) for name in (SBOM, IMAGE_PROVENANCE))
    if as_json:
        answer = {"image": realisation.reference, "sbom": sbom, "provenance": provenance}
        click.echo(json.dumps(answer, indent=2, ensure_ascii=False))
    else:
        click.echo("\n".join(_page(realisation.reference, sbom, provenance, show_all=show_all)))
    return 0


def _page(
    image: str, sbom: Mapping[str, Any], provenance: Mapping[str, Any], *, show_all: bool
) -> Iterator[str]:
    definition = provenance["predicate"]["buildDefinition"]
    given, settings = definition["externalParameters"], definition["internalParameters"]
    builder = provenance["predicate"]["runDetails"]["builder"]
    kinds = {
        "Python packages": [one for one in sbom["components"] if _is(one, "pypi")],
        "System packages": [one for one in sbom["components"] if _is(one, "deb")],
    }
    yield f"{'Image':<16} {image}"
    yield f"{'Variant':<16} {given['variant']} for {settings['machine']}, Python {settings['python']}"
    yield f"{'Built on':<16} {given['base']}"
    yield f"{'Built by':<16} {builder['id']} {builder['version']['reprokit']}, network {settings['network']}"
    yield f"{'Dated':<16} {sbom['metadata']['timestamp']} (of the lock, not of the build)"
    for title, components in kinds.items():
        yield f"{title:<16} {_packages(components)}"
    yield f"{'Made from':<16} {len(definition['resolvedDependencies'])} materials, each by its SHA-256"
    if show_all:
        for title, components in kinds.items():
            yield from ("", title, *(_line(one) for one in components))
        yield from ("", "Materials")
        yield from (
            f"  {one['digest']['sha256'][:16]}  {one['name']}" for one in definition["resolvedDependencies"]
        )


def _is(component: Mapping[str, Any], kind: str) -> bool:
    return str(component.get("purl", "")).startswith(f"pkg:{kind}/")


def _packages(components: Sequence[Mapping[str, Any]]) -> str:
    hashed = sum("hashes" in one for one in components)
    return f"{len(components)}, {hashed} with the hash of the file that was installed"


def _line(component: Mapping[str, Any]) -> str:
    known = component.get("hashes", [{"content": "-"}])[0]["content"][:16]
    return f"  {known:<16}  {component['name']} {component['version']}"
