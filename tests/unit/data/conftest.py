"""What the tests of data share: a cache of their own, and sources made from bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from reprokit import data
from support.data_server import Served, serving
from support.written_table import table

__all__ = ["table"]

CONTENT = b"".join(b"%d,%d\n" % (row, row * row) for row in range(60_000))


def sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def source(*places: str, content: bytes = CONTENT, **changed) -> data.DataSource:
    declared = {
        "name": "train.csv",
        "sha256": sha256(content),
        "num_bytes": len(content),
        "where": "recipe.yaml:9",
    }
    return data.DataSource(**{**declared, "places": places, **changed})


@dataclass
class Fetching:
    cache: Path
    told: list[str] = field(default_factory=list)

    def __call__(self, one: data.DataSource, *, offline: bool = False) -> Path:
        found = data.fetch(one, cache=self.cache, offline=offline, on_progress=self.tell)
        assert found.status is data.SourceStatus.READY
        return found.path

    def tell(self, one: data.DataSource, num_bytes: int, what: str) -> None:
        if what:
            self.told.append(what)

    @property
    def left(self) -> list[str]:
        """Names in the cache, but for those of locks."""
        return sorted(path.name for path in (self.cache / "data").glob("*") if path.name != ".locks")


@pytest.fixture
def fetching(tmp_path: Path) -> Fetching:
    return Fetching(tmp_path / "cache")


@pytest.fixture
def make() -> Callable[..., data.DataSource]:
    return source


@pytest.fixture
def server() -> Iterator[Served]:
    with serving(CONTENT, piece=len(CONTENT) // 21 + 1) as found:
        yield found


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, bytes], str]:
    """Writes a file; returns its URL."""

    def write(name: str, content: bytes) -> str:
        path = tmp_path / name
        path.write_bytes(content)
        return path.as_uri()

    return write
