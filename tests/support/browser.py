"""A headless Chromium that tests speak to, and colours as it computes them.

Skipped, with the reason, where no Chromium is found; REPROKIT_REQUIRE_BROWSER=1 makes that an error.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

#: https://github.com/dequelabs/axe-core 4.14.1, with its licence next to it.
_AXE = Path(__file__).parent / "axe" / "axe.min.js"


class Browser:
    """A headless Chromium spoken to over its DevTools pipe: one page, closed at the end."""

    def __init__(self, binary: str, profile: Path) -> None:
        self._profile = profile
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        # The browser reads commands from descriptor 3 and answers on 4.
        bootstrap = (
            "import os,sys; a,b=map(int,sys.argv[1:3]); a,b=os.dup(a),os.dup(b); "
            "os.dup2(a,3); os.dup2(b,4); os.set_inheritable(3,True); os.set_inheritable(4,True); "
            "os.execv(sys.argv[3], sys.argv[3:])"
        )
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                bootstrap,
                str(to_browser),
                str(from_browser),
                binary,
                *FLAGS,
                f"--user-data-dir={profile}",
                "--remote-debugging-pipe",
                "about:blank",
            ],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._sent = 0
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    _session: str | None = None

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._sent += 1
        message: dict[str, Any] = {"id": self._sent, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._sent:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self.events.append(answer)

    def open(self, page: Path, *, width: int, height: int = 900, scheme: str = "light") -> None:
        self.events.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url=page.as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._receive())

    def evaluate(self, expression: str) -> Any:
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def screenshot(self) -> Image.Image:
        height = self.evaluate("document.documentElement.scrollHeight")
        width = self.evaluate("innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        return Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB")

    def violations(self) -> list[str]:
        """What axe-core finds wrong with the accessibility of the page: rule, impact and first element."""
        self.evaluate(f"{_AXE.read_text(encoding='utf-8')}; 0")
        found = self.call(
            "Runtime.evaluate",
            expression="axe.run().then(found => found.violations.map("
            "one => `${one.id} (${one.impact}): ${one.nodes[0].html.slice(0, 200)}`))",
            awaitPromise=True,
            returnByValue=True,
        )
        return list(found["result"]["value"])

    def complaints(self) -> list[dict[str, Any]]:
        wanted = {"Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"}
        return [event for event in self.events if event.get("method") in wanted]

    def close(self) -> None:
        with contextlib.suppress(OSError, AssertionError, EOFError):
            self._session = None
            self.call("Browser.close")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=20)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._write)
        os.close(self._read)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            block = os.read(self._read, 1 << 20)
            if not block:
                raise EOFError("the browser went away")
            self._buffer += block
        line, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(line)


def chromium_binary() -> str:
    found = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None
    )
    if found is None:
        reason = "no Chromium on PATH: install the distribution's package 'chromium'"
        if os.environ.get("REPROKIT_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return found
