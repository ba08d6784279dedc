"""The pinned environments as lines: which are built, what one holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reprokit.reports.tables import table

if TYPE_CHECKING:
    from reprokit.images.housekeeping import Held, RemovalPlan
    from reprokit.images.inventory import InventoryRow


def image_table(rows: Sequence[InventoryRow]) -> list[str]:
    """One line for each environment, with short IDs and digests."""
    return table([_columns(row) for row in rows])


def document_lines(
    image: str, sbom: Mapping[str, Any], provenance: Mapping[str, Any], *, show_all: bool
) -> Iterator[str]:
    """What is in an image and what it was made from, out of its two documents."""
    definition = provenance["predicate"]["buildDefinition"]
    given, settings = definition["externalParameters"], definition["internalParameters"]
    builder = provenance["predicate"]["runDetails"]["builder"]
    kinds = {
        "Python packages": [one for one in sbom["components"] if _is_of_kind(one, "pypi")],
        "System packages": [one for one in sbom["components"] if _is_of_kind(one, "deb")],
    }
    yield f"{'Image':<16} {image}"
    yield f"{'Variant':<16} {given['variant']} for {settings['machine']}, Python {settings['python']}"
    yield f"{'Built on':<16} {given['base']}"
    yield f"{'Built by':<16} {builder['id']} {builder['version']['reprokit']}, network {settings['network']}"
    yield f"{'Dated':<16} {sbom['metadata']['timestamp']} (of the lock, not of the build)"
    for title, components in kinds.items():
        hashed = sum("hashes" in component for component in components)
        yield f"{title:<16} {len(components)}, {hashed} with the hash of the file that was installed"
    yield f"{'Made from':<16} {len(definition['resolvedDependencies'])} materials, each by its SHA-256"
    if show_all:
        for title, components in kinds.items():
            yield from ("", title, *map(_component_line, components))
        yield from ("", "Materials")
        for one in definition["resolvedDependencies"]:
            yield f"  {one['digest']['sha256'][:16]}  {one['name']}"


def pruned_lines(found: RemovalPlan, *, removed: bool) -> Iterator[str]:
    """What is kept, with the reason, and what goes; images count with their bases."""
    for one, because in found.kept:
        yield f"keep    {_held_line(one)}  {because}"
    for one in found.going:
        yield f"{'removed' if removed else 'remove '} {_held_line(one)}"
    total = sum(one.size_bytes for one in found.going)
    yield f"{len(found.going)} {'removed' if removed else 'to remove'}, {total / (1 << 30):.1f} GiB"


def _held_line(one: Held) -> str:
    shown = one.reference.removeprefix("sha256:")[:12] if one.kind in {"image", "base"} else one.reference
    return f"{one.kind:<6} {one.size_bytes / (1 << 30):6.2f} GiB  {shown}"


def _columns(row: InventoryRow) -> dict[str, str | None]:
    kind, _, base = (row.base or "").partition("sha256:")
    return {
        " ": "*" if row.current else " ",
        "variant": row.variant,
        "kind": row.kind,
        "size": f"{row.size_bytes / 1e9:.2f} GB" if row.size_bytes else None,
        "lock": row.lock_digest.removeprefix("sha256:")[:12],
        "base": f"{kind}{base[:12]}",
        "reference": row.reference[7:19] if row.reference.startswith("sha256:") else row.reference,
    }


def _is_of_kind(component: Mapping[str, Any], kind: str) -> bool:
    return str(component.get("purl", "")).startswith(f"pkg:{kind}/")


def _component_line(component: Mapping[str, Any]) -> str:
    known = component.get("hashes", [{"content": "-"}])[0]["content"][:16]
    return f"  {known:<16}  {component['name']} {component['version']}"
