"""The few calls of GitHub's REST API that a comment needs, each answer bounded in time and size.

Source: https://docs.github.com/en/rest (version 2022-11-28).
"""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any

import requests

from reprokit.errors import CannotRunError

_TIMEOUT_S = 30
_MAX_ANSWER_BYTES = 32 << 20
_BLOCK_BYTES = 1 << 16


class RestClient:
    """A session with one repository; a context manager."""

    def __init__(self, repository: str, *, api_url: str, token: str) -> None:
        self._base = f"{api_url.rstrip('/')}/repos/{repository}"
        self._session = requests.Session()
        self._session.trust_env = False  # no .netrc in the place of the token
        self._session.headers.update(
            {
                "Accept": "application/vnd.github+json",
                "Authorization": f"Bearer {token}",
                "X-GitHub-Api-Version": "2022-11-28",
            }
        )

    def __enter__(self) -> RestClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session.close()

    def get(self, path: str, **query: str | int) -> Any:
        """A JSON answer."""
        return self._json("GET", path, params=query)

    def send(self, method: str, path: str, body: dict[str, Any]) -> Any:
        """POST or PATCH a JSON object."""
        return self._json(method, path, json=body)

    def download(self, path: str, *, max_bytes: int) -> bytes | None:
        """A file, through GitHub's redirect to its store; None where it is larger than allowed."""
        return self._bytes("GET", path, max_bytes=max_bytes)

    def _json(self, method: str, path: str, **parts: Any) -> Any:
        content = self._bytes(method, path, max_bytes=_MAX_ANSWER_BYTES, **parts)
        try:
            return json.loads(content or b"")
        except ValueError as error:
            raise CannotRunError("GitHub's answer is not JSON", where=f"{method} {path}") from error

    def _bytes(self, method: str, path: str, *, max_bytes: int, **parts: Any) -> bytes | None:
        where = f"{method} {path}"
        try:
            # requests leaves the token out where a redirect goes to another host.
            with self._session.request(
                method, f"{self._base}/{path}", timeout=_TIMEOUT_S, stream=True, **parts
            ) as answer:
                if not answer.ok:
                    raise CannotRunError(
                        f"GitHub answered {answer.status_code}", where=where, fix=_remedy(answer.status_code)
                    )
                content = bytearray()
                for block in answer.iter_content(_BLOCK_BYTES):
                    content += block
                    if len(content) > max_bytes:
                        return None
                return bytes(content)
        except requests.RequestException as error:
            raise CannotRunError(f"GitHub cannot be reached: {type(error).__name__}", where=where) from error


def _remedy(status: int) -> str | None:
    if status in {401, 403, 404}:
        return "the job needs `permissions: {actions: read, pull-requests: write}` and GITHUB_TOKEN"
    return "run the job again" if status >= 500 else None
