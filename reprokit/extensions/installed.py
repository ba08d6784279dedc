"""A named distribution in the tool's own site-packages, with every file as its RECORD says.

Only the folder ``NAME-VERSION.dist-info`` of that one distribution is looked at, so that it costs the same
however many are installed. The bytes that were verified are what is imported later; nothing is read twice.
Source: https://packaging.python.org/en/latest/specifications/recording-installed-packages/
"""

from __future__ import annotations

import ast
import base64
import csv
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from reprokit.errors import UsageError
from reprokit.extensions.named import NamedExtension, normalised
from reprokit.regular_file import read_regular

GROUP = "reprokit.extensions"

_MAX_FILE_BYTES, _MAX_FILES = 8 << 20, 2_000
_HASHES = ("sha256", "sha384", "sha512")
_NATIVE = (".so", ".pyd", ".dll", ".dylib")
#: What the code of an extension may import besides its own files: what the tool itself always has.
_MAY_IMPORT = frozenset({"reprokit", "click", "numpy"})


class RefusedError(Exception):
    """An installed extension is not loaded; the text says why, as a clause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedExtension:
    """An extension whose files are as its RECORD says.

    Attributes:
        modules: Dotted name → file and source, of every module.
        packages: Those of them that are packages.
        entry: ``module:name`` of its declaration.
        entry_name: What it calls itself.
        digest: SHA-256 over its modules and its entry point: the same wherever this wheel is installed.
    """

    named: NamedExtension
    modules: Mapping[str, tuple[str, bytes]]
    packages: frozenset[str]
    entry: str
    entry_name: str
    digest: str


def find(named: NamedExtension, *, site_packages: Path) -> Path:
    """The dist-info folder of a named distribution.

    Raises:
        UsageError: It is not installed there, or in another version.
    """
    folder = site_packages / f"{named.package}-{named.version.replace('-', '_')}.dist-info"
    if (folder / "METADATA").is_file():
        return folder
    prefix, end = f"{named.package}-", ".dist-info"
    there = (one.removeprefix(prefix).removesuffix(end) for one in _names_in(site_packages, prefix, end))
    raise UsageError(
        f"the extension {named.name} is not installed in this version",
        where=str(site_packages),
        expected=named.version,
        actual=", ".join(sorted(there)) or "none",
        fix=f"install it where reprokit is installed: {sys.executable} -m pip install "
        f"{named.name}=={named.version}, or correct [tool.reprokit] extensions",
    )


def verify(named: NamedExtension, folder: Path, *, site_packages: Path) -> VerifiedExtension:
    """Read every file of an extension once, and compare it with the RECORD.

    Raises:
        RefusedError: A file is missing, was changed, lies elsewhere, or is of a kind that is not loaded.
    """
    if Path(os.path.realpath(folder)) != Path(os.path.realpath(site_packages)) / folder.name:
        raise RefusedError(f"{folder.name} is a link to somewhere else")
    contents = dict(_verified_files(folder, site_packages))
    about = f"{folder.name}/"
    _must_be_itself(named, contents, about)
    modules, packages = _modules(named, contents, site_packages)
    entry_name, entry = _entry(contents.get(f"{about}entry_points.txt", b""))
    for name, (file, source) in modules.items():
        _must_import_little(name, file, source, own=named.package)
    said = [
        entry_name,
        entry,
        *sorted(f"{n} {hashlib.sha256(s).hexdigest()}" for n, (_, s) in modules.items()),
    ]
    return VerifiedExtension(
        named=named,
        modules=modules,
        packages=packages,
        entry=entry,
        entry_name=entry_name,
        digest=f"sha256:{hashlib.sha256(json.dumps(said).encode()).hexdigest()}",
    )


def every_installed(site_packages: Path) -> list[NamedExtension]:
    """Every distribution there with an entry point of our group: for hints, where something is missing."""
    found = []
    for folder in _names_in(site_packages, "", ".dist-info"):
        name, _, version = folder.removesuffix(".dist-info").rpartition("-")
        try:
            text = read_regular(site_packages / folder / "entry_points.txt", most_bytes=_MAX_FILE_BYTES)
        except OSError:
            continue
        if f"[{GROUP}]".encode() in text:
            found.append(NamedExtension(name=normalised(name), version=version))
    return sorted(found, key=lambda one: one.label)


def _names_in(folder: Path, prefix: str, end: str) -> Iterator[str]:
    try:
        yield from (name for name in os.listdir(folder) if name.startswith(prefix) and name.endswith(end))  # noqa: PTH208
    except OSError:
        return


def _verified_files(folder: Path, site_packages: Path) -> Iterator[tuple[str, bytes]]:
    """Path from site-packages → bytes, of every file of the RECORD; byte-code caches are never read."""
    record = f"{folder.name}/RECORD"
    try:
        text = _read(site_packages, record).decode("utf-8")
        rows = list(csv.reader(text.splitlines(), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise RefusedError("its RECORD cannot be read") from error
    if len(rows) > _MAX_FILES:
        raise RefusedError(f"its RECORD names more than {_MAX_FILES:,} files")
    seen = set()
    for row in rows:
        if len(row) != 3:
            raise RefusedError(
                f"its RECORD has a line that is not file, hash and size: {','.join(row)[:80]!r}"
            )
        name, told, size = row
        _must_lie_inside(name)
        if name in seen:
            raise RefusedError(f"its RECORD names {name} twice")
        seen.add(name)
        if name == record or (name.endswith(".pyc") and "__pycache__" in PurePosixPath(name).parts):
            continue
        yield name, _verified(site_packages, name, told, size)


def _must_lie_inside(name: str) -> None:
    parts = PurePosixPath(name).parts
    plain = not name.startswith("/") and "\\" not in name and ":" not in name and "\0" not in name
    if not parts or not plain or ".." in parts or "/".join(parts) != name:
        raise RefusedError(f"its RECORD names a file outside of site-packages: {name!r}")
    if name.endswith(".pth"):
        raise RefusedError(f"it changes where Python looks for modules: {name}")
    if name.endswith(_NATIVE) or any(f"{end}." in name for end in _NATIVE):
        raise RefusedError(f"it has a module that is not Python: {name}")


def _verified(site_packages: Path, name: str, told: str, size: str) -> bytes:
    method, _, expected = told.partition("=")
    if method not in _HASHES or not expected:
        raise RefusedError(f"its RECORD has no hash of {name}")
    content = _read(site_packages, name)
    found = base64.urlsafe_b64encode(hashlib.new(method, content).digest()).rstrip(b"=").decode()
    if found != expected.rstrip("=") or (size and size != str(len(content))):
        raise RefusedError(f"{name} is not what its RECORD says: it was changed after it was installed")
    return content


def _read(site_packages: Path, name: str) -> bytes:
    """A file that lies in site-packages itself: by way of no link."""
    file = site_packages / name
    if os.path.realpath(file) != os.path.join(os.path.realpath(site_packages), *name.split("/")):  # noqa: PTH118
        raise RefusedError(f"{name} is a link to somewhere else")
    try:
        content = read_regular(file, most_bytes=_MAX_FILE_BYTES + 1)
    except OSError as error:
        raise RefusedError(f"{name} cannot be read: {error.strerror}") from error
    if len(content) > _MAX_FILE_BYTES:
        raise RefusedError(f"{name} is larger than {_MAX_FILE_BYTES >> 20} MiB")
    return content


def _must_be_itself(named: NamedExtension, contents: Mapping[str, bytes], about: str) -> None:
    """The metadata say the same name and version, a pure wheel, and no installation from a folder."""
    metadata = _headers(contents.get(f"{about}METADATA", b""))
    name, version = metadata.get("name", ""), metadata.get("version", "")
    if normalised(name) != named.name or version != named.version:
        raise RefusedError(f"its METADATA say {name} {version}")
    if _headers(contents.get(f"{about}WHEEL", b"")).get("root-is-purelib") != "true":
        raise RefusedError("it was not installed from a wheel of nothing but Python")
    if (text := contents.get(f"{about}direct_url.json")) is not None:
        try:
            is_archive = "archive_info" in json.loads(text)
        except (ValueError, TypeError):
            is_archive = False
        if not is_archive:
            raise RefusedError("it was installed from a folder or a repository: install a wheel of it")


def _headers(text: bytes) -> dict[str, str]:
    """The headers of an email, as METADATA and WHEEL are written; ``email`` itself takes 50 ms to import."""
    found = dict[str, str]()
    for line in text.decode("utf-8", "replace").splitlines():
        if not line.strip():
            break
        name, colon, value = line.partition(":")
        if colon and not line[0].isspace():
            found.setdefault(name.lower(), value.strip())
    return found


def _modules(
    named: NamedExtension, contents: Mapping[str, bytes], site_packages: Path
) -> tuple[dict[str, tuple[str, bytes]], frozenset[str]]:
    """Its modules, all of the one package that is called as the distribution."""
    found, packages = dict[str, tuple[str, bytes]](), set[str]()
    for name, content in contents.items():
        if not name.endswith(".py"):
            continue
        parts = list(PurePosixPath(name).with_suffix("").parts)
        if parts[0] != named.package or not all(part.isidentifier() for part in parts):
            raise RefusedError(f"its only package may be {named.package}, and it has {name}")
        if parts[-1] == "__init__":
            parts.pop()
            packages.add(".".join(parts))
        if ".".join(parts) in found:
            raise RefusedError(f"it has the module {'.'.join(parts)} twice")
        found[".".join(parts)] = (str(site_packages / name), content)
    if named.package not in packages:
        raise RefusedError(f"it has no package {named.package}")
    if named.package in sys.stdlib_module_names or named.package in {*_MAY_IMPORT, "__main__"}:
        raise RefusedError(f"{named.package} is the name of a module that the tool needs")
    return found, frozenset(packages)


def _entry(text: bytes) -> tuple[str, str]:
    """Name and place of the one entry point of our group."""
    group, found = "", []
    for line in text.decode("utf-8", "replace").splitlines():
        said = line.strip()
        if said.startswith("["):
            group = said.strip("[]").strip()
        elif group == GROUP and "=" in said and not said.startswith(("#", ";")):
            name, _, place = (part.strip() for part in said.partition("="))
            found.append((name, place))
    if len(found) != 1 or ":" not in found[0][1]:
        raise RefusedError(f"it has {len(found)} entry points of the group {GROUP}, not one `module:name`")
    return found[0]


def _must_import_little(name: str, file: str, source: bytes, *, own: str) -> None:
    """Its code may name only what was verified, and what the tool itself has: nothing else is recorded."""
    try:
        tree = ast.parse(source, filename=file)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise RefusedError(f"{name} is not Python of this version: {error}") from error
    for node in ast.walk(tree):
        for imported in _imported(node):
            top = imported.partition(".")[0]
            if top not in sys.stdlib_module_names and top not in _MAY_IMPORT and top != own:
                raise RefusedError(f"{name} imports {imported}, which its own RECORD does not vouch for")
            if top == "reprokit" and imported.split(".")[1:2] != ["api"]:
                raise RefusedError(f"{name} imports {imported}: of reprokit only reprokit.api is for others")


def _imported(node: ast.AST) -> list[str]:
    """The modules that a statement imports by their whole names; of reprokit itself what it takes from it."""
    if isinstance(node, ast.Import):
        return [one.name for one in node.names]
    if not isinstance(node, ast.ImportFrom) or node.level:
        return []
    if node.module == "reprokit":
        return [f"reprokit.{one.name}" for one in node.names]
    return [node.module or ""]
