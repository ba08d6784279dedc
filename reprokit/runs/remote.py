"""A finished run at a URL: copied there whole or not at all, and checked against its COMPLETE again.

    >>> push(Path("runs/cartpole_baseline/20261121T101500Z-3fa9-seed42-1"), "gs://bucket/experiments")
    'gs://bucket/experiments/cartpole_baseline/20261121T101500Z-3fa9-seed42-1'

A file is written under another name, read back, checked against its digest and only then moved to its own
name; COMPLETE comes last. Whoever looks meanwhile sees no COMPLETE, and so no finished run. fsspec and what
it needs for a protocol are imported here and nowhere else, and only when a URL is named.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit.errors import MissingExtraError, ReportError, UploadError, UsageError
from reprokit.layout import MARKER, RECORD, read_json
from reprokit.redaction import secret_values, without
from reprokit.runs.reading import read
from reprokit.workspace import sha256_of

_BLOCK_BYTES = 1 << 20
_PARTIAL = ".partial-"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteRun:
    """A run at a URL, checked against its COMPLETE."""

    url: str  # where it is
    num_files: int  # files that COMPLETE lists
    problems: tuple[str, ...] = ()  # what is not as it says, a sentence each


def is_url(reference: str) -> bool:
    """Whether a person named a place that only fsspec reaches."""
    return "://" in reference


def must_be_known(url: str) -> None:
    """Raise `UsageError` for a URL that nothing could be copied to; nothing is sent."""
    _Store.at(url)


def push(run_dir: Path, url: str) -> str:
    """Copy a finished run to ``<url>/<recipe>/<run id>``, unless it is there, whole; returns where.

    Raises:
        ReportError: It is no run folder.
        UploadError: It is not complete, another run is there, or a file did not arrive.
        UsageError: No one knows the URL's protocol, or its package is not installed.
    """
    stored = read(run_dir)
    if not stored.complete:
        raise UploadError(
            f"only a finished run is copied: {stored.incomplete_because}",
            where=str(run_dir),
            fix="run it again",
        )
    marker = run_dir / MARKER
    files = read_json(marker)["files"]
    store = _Store.at(f"{url.rstrip('/')}/{run_dir.resolve().parent.name}/{run_dir.resolve().name}")
    with store.failures_named():
        there = store.digest(MARKER)
        if there == sha256_of(marker) and not verify(store.url).problems:
            return store.url
        if there not in {None, sha256_of(marker)}:
            fix = "name another URL"
            raise UploadError("another run is there already", where=store.url, fix=fix)
        store.remove(MARKER)  # from here on no one takes it for whole
        for name, entry in files.items():
            store.put(run_dir / name, name, sha256=str(entry["sha256"]))
        store.put(marker, MARKER, sha256=sha256_of(marker))
    return store.url


def verify(url: str) -> RemoteRun:
    """Check every file of a run at a URL against its COMPLETE.

    Raises:
        ReportError: There is no finished run.
        UploadError: It cannot be read.
        UsageError: No one knows the URL's protocol, or its package is not installed.
    """
    store = _Store.at(url.rstrip("/"))
    with store.failures_named():
        files = _listed(store)
        there = store.names()
        found = {name: store.digest(name) for name in files}
    problems = [
        f"{name} is missing" if found[name] is None else f"{name} is not the file that COMPLETE lists"
        for name, entry in files.items()
        if found[name] != entry.get("sha256")
    ]
    problems += [f"{name} was added" for name in sorted(there - set(files) - {MARKER})]
    return RemoteRun(url=store.url, num_files=len(files), problems=tuple(problems))


def _listed(store: _Store) -> Mapping[str, Mapping[str, Any]]:
    fix = "name the URL of a run, as `reprokit runs push` printed it"
    content = store.content(MARKER)
    if content is None:
        raise ReportError("there is no finished run: COMPLETE is missing", where=store.url, fix=fix)
    try:
        files = json.loads(content)["files"]
        sound = RECORD in files and all(isinstance(entry, dict) for entry in files.values())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ReportError("COMPLETE is damaged", where=store.url, fix=fix) from error
    if not sound:
        raise ReportError("COMPLETE is damaged", where=store.url, fix=fix)
    return dict(files)


class _Store:
    """One folder behind a URL."""

    def __init__(self, url: str, system: Any, root: str) -> None:
        self.url, self._system, self._root = url, system, root

    @classmethod
    def at(cls, url: str) -> _Store:
        try:
            url_to_fs = importlib.import_module("fsspec.core").url_to_fs  # only who names a URL needs it
        except ImportError as error:
            raise MissingExtraError(
                "fsspec is not installed", where=url, fix="pip install 'reprokit-verify[remote]'"
            ) from error
        try:
            system, root = url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise UsageError(
                f"this URL cannot be reached: {_without_secrets(error, url)}",
                where=url,
                fix="install the package that fsspec names for it (s3fs for s3://, gcsfs for gs://)",
            ) from error
        return cls(url, system, str(root).rstrip("/"))

    @contextmanager
    def failures_named(self) -> Iterator[None]:
        """Raise any failure of the storage, whatever its package calls it, as an UploadError."""
        try:
            yield
        except (ReportError, UploadError, UsageError):
            raise
        except Exception as error:
            what = f"the storage failed: {type(error).__name__}: {_without_secrets(error, self.url)[:200]}"
            fix = "check its permissions and the network, then push again"
            raise UploadError(what, where=self.url, fix=fix) from error

    def names(self) -> set[str]:
        prefix = self._root.lstrip("/") + "/"
        return {str(path).lstrip("/").removeprefix(prefix) for path in self._system.find(self._root)}

    def content(self, name: str) -> bytes | None:
        try:
            return bytes(self._system.cat_file(f"{self._root}/{name}"))
        except FileNotFoundError:
            return None

    def digest(self, name: str) -> str | None:
        sha = hashlib.sha256()
        try:
            with self._system.open(f"{self._root}/{name}", "rb") as stream:
                while block := stream.read(_BLOCK_BYTES):
                    sha.update(block)
        except FileNotFoundError:
            return None
        return f"sha256:{sha.hexdigest()}"

    def remove(self, name: str) -> None:
        with suppress(FileNotFoundError):
            self._system.rm_file(f"{self._root}/{name}")

    def put(self, path: Path, name: str, *, sha256: str) -> None:
        """Write a file under another name, read it back, and move it to its own."""
        partial = f"{name}{_PARTIAL}{secrets.token_hex(4)}"
        target = f"{self._root}/{name}"
        self._system.makedirs(target.rpartition("/")[0], exist_ok=True)
        try:
            self._system.put_file(str(path), f"{self._root}/{partial}")
            self._must_be(partial, name, sha256=sha256)
            self.remove(name)
            self._system.mv(f"{self._root}/{partial}", target)
        except BaseException:
            with suppress(Exception):  # what is left is no run; the first error is the one to tell
                self.remove(partial)
            raise

    def _must_be(self, partial: str, name: str, *, sha256: str) -> None:
        arrived = self.digest(partial)
        if arrived != sha256:
            what, fix = f"{name} did not arrive unchanged", "push it again"
            raise UploadError(what, where=self.url, expected=sha256, actual=str(arrived), fix=fix)


def _without_secrets(error: Exception, url: str) -> str:
    """What a storage's package says, which may repeat the password that stands in the URL."""
    return without(str(error), secret_values({}, command=(url,)))
