"""``bundle.json`` of a bundle: what is in it, and how it is reproduced.

>>> manifest.recipe, manifest.seed, sorted(manifest.files)[0]
('cartpole_baseline', 42, 'README.md')
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from reprokit.errors import BundleError
from reprokit.records.newer import refuse_newer_schema, refuse_newer_tool
from reprokit.records.strict import without_repeats

FORMAT = 1
#: More than a hundred thousand files need.
MAX_BYTES = 64 << 20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")

Sha256 = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """One file of a bundle."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    sha256: Sha256
    bytes: Annotated[int, Field(ge=0)]
    executable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleManifest:
    """What a bundle says of itself; a key that is not known is an error.

    Attributes:
        format: The version of this form.
        of: What was bundled: a ``run``, a ``golden`` or a ``report``.
        recipe: The recipe's name.
        platform: Where its golden was made; empty where there is none.
        seed: The seed.
        variant: The recipe's environment; ``none`` where nothing pins it.
        modified: Overrides, ``path=value``.
        digests: What the numbers stand on, as the bundled golden or run recorded it.
        commit: The commit that was recorded; empty where none was.
        tool: The version of reprokit that made the bundle.
        vendored: Whether it holds the packages of the environment.
        left_out: One sentence for each thing that does not come with it.
        files: Name → digest, of every other file.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    format: int
    of: Literal["run", "golden", "report"]
    recipe: str
    platform: str
    seed: Annotated[int, Field(ge=0)]
    variant: str
    modified: tuple[str, ...]
    digests: Mapping[str, str]
    commit: str
    tool: str
    vendored: bool
    left_out: tuple[str, ...]
    files: Mapping[str, FileEntry]

    def to_bytes(self) -> bytes:
        """The file: the same bytes for the same content."""
        return (json.dumps(asdict(self), indent=2, sort_keys=True) + "\n").encode("ascii")


def read(data: bytes, *, where: str) -> BundleManifest:
    """Read a manifest back; strict, because everything else in a bundle is compared with it.

    Raises:
        BundleError: It is of another form, or of a version that this reprokit does not read.
    """
    try:
        value = json.loads(data, object_pairs_hook=without_repeats)
        is_whole = isinstance(value, dict)
        if is_whole:
            refuse_newer_schema(value.get("format"), name="this bundle", where=where, error=BundleError)
        if is_whole and repr(value.get("format")) != repr(FORMAT):
            raise BundleError(
                "this bundle has another format",
                where=where,
                expected=str(FORMAT),
                actual=str(value.get("format"))[:80],
                fix="read it with the version of reprokit that made it",
            )
        manifest: BundleManifest = TypeAdapter(BundleManifest).validate_json(data, strict=True)
    except (ValueError, RecursionError, ValidationError) as error:
        if isinstance(error, ValidationError) and is_whole:
            refuse_newer_tool(value, name="this bundle", where=where, error=BundleError)
        first = str(error).splitlines()[0]
        raise BundleError(f"the manifest is malformed: {first}", where=where) from error
    for what, name in (("recipe", manifest.recipe), ("variant", manifest.variant)):
        if not _NAME.fullmatch(name):
            raise BundleError(f"the manifest is malformed: {name!r} cannot be a {what}", where=where)
    return manifest
