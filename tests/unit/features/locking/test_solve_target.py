"""Which wheels fit a Python and a machine, and what solving for them does not fetch."""

from __future__ import annotations

import http.server
import sys
import threading

import pytest

from reprokit.features.locking.dependencies import Dependencies
from reprokit.features.locking.solve_target import SolveConditions, solve_for, tags_of
from reprokit.images.packages import Target


@pytest.mark.parametrize(
    ("python", "fitting", "unfitting"),
    [
        ("3.13", {"cp313-cp313", "cp38-abi3", "py3-none"}, {"cp313-cp313t"}),
        ("3.13t", {"cp313-cp313t", "py3-none"}, {"cp313-cp313", "cp38-abi3"}),
        ("3.8", {"cp38-cp38", "py3-none"}, {"cp39-cp39"}),
    ],
)
def test_wheels_of_builds_with_and_without_the_gil_are_told_apart(python, fitting, unfitting):
    found = {
        f"{tag.interpreter}-{tag.abi}"
        for tag in tags_of(Target(machine="x86_64", python=python), glibc="2.28")
    }
    assert fitting <= found
    assert not unfitting & found


def test_no_python_is_fetched_to_solve_for_it(tmp_path, monkeypatch):
    asked = []

    class Mirror(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *_words: object) -> None:
            """Say nothing."""

    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(sys.executable)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Mirror)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name, value in {
        "PATH": str(tmp_path / "bin"),
        "UV_PYTHON_INSTALL_DIR": str(tmp_path / "pythons"),
        "UV_PYTHON_INSTALL_MIRROR": f"http://127.0.0.1:{server.server_port}",
        "UV_HTTP_RETRIES": "0",
        "UV_NO_INDEX": "1",
    }.items():
        monkeypatch.setenv(name, value)
    other = "3.14" if sys.version_info[:2] == (3, 13) else "3.13"
    given = SolveConditions(
        target=Target(machine="x86_64", python=other), glibc="2.36", wheels=tmp_path / "wheels"
    )
    try:
        solve_for(Dependencies(), given=given, output=tmp_path / "requirements.lock")
    finally:
        server.shutdown()
        server.server_close()
    assert asked == []
