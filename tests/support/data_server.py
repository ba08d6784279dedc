"""A small web server on this machine that gives data well, badly, or something else."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Served:
    """What one server gives: ``content`` at every path; the path says how.

    ``/good`` with ranges; ``/cut`` the same, but the connection is cut after ``piece`` bytes; ``/whole``
    knows no ranges; ``/more`` sends more; ``/html``; ``/gone``; ``/to/<URL>`` redirects there, ``/circle``
    to itself; ``/busy`` answers 503 twice; ``/other`` has as many other bytes.
    """

    content: bytes
    piece: int = 1 << 16
    url: str = ""
    asked: list[tuple[str, int]] = field(default_factory=list)  # path and offset of every request


@contextmanager
def serving(content: bytes, *, piece: int = 1 << 16) -> Iterator[Served]:
    served = Served(content=content, piece=piece)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self, served)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def answer(handler: http.server.BaseHTTPRequestHandler, served: Served) -> None:
    wanted = handler.headers.get("Range", "")
    offset = int(wanted.removeprefix("bytes=").rstrip("-") or 0) if wanted else 0
    path = handler.path
    served.asked.append((path, offset))
    busy = sum(one == "/busy" for one, _ in served.asked)
    if path.startswith(("/to/", "/circle")):
        handler.send_response(302)
        handler.send_header("Location", path.removeprefix("/to/"))
        handler.end_headers()
    elif path == "/gone" or (path == "/busy" and busy < 3):
        handler.send_error(404 if path == "/gone" else 503)
    elif path == "/more":
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(served.content + b"more")
    elif path == "/html":
        body(handler, b"<html>please log in</html>", kind="text/html")
    elif path == "/other":
        body(handler, bytes(255 - byte for byte in served.content))
    else:
        ranged(handler, served, offset=0 if path == "/whole" else offset)


def body(handler: http.server.BaseHTTPRequestHandler, content: bytes, *, kind: str = "text/csv") -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content)


def ranged(handler: http.server.BaseHTTPRequestHandler, served: Served, *, offset: int) -> None:
    total = len(served.content)
    handler.send_response(206 if offset else 200)
    if offset:
        handler.send_header("Content-Range", f"bytes {offset}-{total - 1}/{total}")
    handler.send_header("Content-Length", str(total - offset))
    handler.end_headers()
    end = offset + served.piece if handler.path == "/cut" else total
    handler.wfile.write(served.content[offset:end])  # and the connection ends, whatever was promised
