"""Does `reprokit data fetch` from a server on this machine keep up with a plain copy that hashes?

    python benchmarks/data_fetch.py --megabytes 1000

Both read the same file and write a new one that is flushed to the disk; they take turns. The fetch also
crosses a socket, and a process on the other side of it reads the file for it.
"""

from __future__ import annotations

import argparse
import hashlib
import http.server
import os
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from reprokit import data

_BLOCK_BYTES = 1 << 20
_MOST = 2.0  # times as long as the copy


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--folder", type=Path, help="where both are written; a temporary folder when left out"
    )
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as name:
        return _race(Path(name), asked)


def _race(folder: Path, asked: argparse.Namespace) -> int:
    file = folder / "served" / "data.bin"
    file.parent.mkdir()
    with file.open("wb") as stream:
        for _ in range(asked.megabytes):
            stream.write(os.urandom(10**6))
    one = data.DataSource(
        name="data.bin", sha256=_copied(file, folder / "first")[0], num_bytes=file.stat().st_size, places=()
    )
    server = subprocess.Popen(
        [sys.executable, __file__, "--serve", str(file.parent)], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    try:
        source = data.DataSource(
            name=one.name,
            sha256=one.sha256,
            num_bytes=one.num_bytes,
            places=(f"http://127.0.0.1:{int(server.stdout.readline())}/data.bin",),
        )
        writes, copies, fetches = [], [], []
        for number in range(asked.repeats):
            writes.append(_written(file, folder / f"write{number}"))
            copies.append(_copied(file, folder / f"copy{number}")[1])
            fetches.append(_fetched(source, folder / f"cache{number}"))
    finally:
        server.kill()
        server.wait()
    write = statistics.median(writes)
    print(f"plain copy         {write:7.2f} s  {asked.megabytes / write:7.0f} MB/s")
    return _told(copies, fetches, megabytes=asked.megabytes)


def _told(copies: list[float], fetches: list[float], *, megabytes: int) -> int:
    copy, fetch = statistics.median(copies), statistics.median(fetches)
    ratio = statistics.median(one / other for one, other in zip(fetches, copies, strict=True))
    print(f"copy with hashing  {copy:7.2f} s  {megabytes / copy:7.0f} MB/s")
    print(f"data fetch         {fetch:7.2f} s  {megabytes / fetch:7.0f} MB/s")
    print(f"ratio              {ratio:7.2f}    at most {_MOST}")
    return int(ratio > _MOST)


def _copied(file: Path, target: Path) -> tuple[str, float]:
    """Digest, and the seconds that the copy took."""
    began, sha = time.perf_counter(), hashlib.sha256()
    with file.open("rb") as read, target.open("wb", buffering=0) as written:
        while block := read.read(_BLOCK_BYTES):
            sha.update(block)
            written.write(block)
        os.fsync(written.fileno())
    took = time.perf_counter() - began
    target.unlink()
    return f"sha256:{sha.hexdigest()}", took


def _written(file: Path, target: Path) -> float:
    """Seconds that a copy takes which reads, writes and flushes, and does nothing else: the disk's own."""
    began = time.perf_counter()
    with file.open("rb") as read, target.open("wb", buffering=0) as written:
        while block := read.read(_BLOCK_BYTES):
            written.write(block)
        os.fsync(written.fileno())
    took = time.perf_counter() - began
    target.unlink()
    return took


def _fetched(source: data.DataSource, cache: Path) -> float:
    began = time.perf_counter()
    found = data.fetch(source, cache=cache, offline=False, on_progress=lambda *_: None)
    took = time.perf_counter() - began
    assert found.status is data.SourceStatus.READY
    found.path.unlink()
    return took


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def _serve(folder: str) -> None:
    handler = partial(_Quiet, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        _serve(sys.argv[2])
    raise SystemExit(main())
