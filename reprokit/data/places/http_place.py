"""Reads a file over HTTP from any offset; follows redirects to HTTP alone, and never from https to http."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urljoin

import requests
import urllib3

from reprokit.data.sources import protocol_of
from reprokit.data.transfer import BLOCK_BYTES, PlaceRefusedError, Transfer, TransferCutError
from reprokit.redaction import redact_text

_TIMEOUT_S = (15.0, 60.0)  # to connect, and without one byte
_MOST_REDIRECTS = 10
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
#: Answers of a server that may give another one soon (RFC 9110, section 15).
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


@contextmanager
def opened(url: str, *, offset: int) -> Iterator[Transfer]:
    """The file from an offset, or from its beginning where the server does not do ranges.

    Raises:
        TransferCutError: The connection failed, or the server asks to come again.
        PlaceRefusedError: The server does not give the file.
    """
    with requests.Session() as session:
        try:
            with _answer(session, url, offset=offset) as response:
                yield _transfer(response, offset=offset)
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            raise TransferCutError(f"the connection failed: {type(error).__name__}") from error


def _answer(session: requests.Session, url: str, *, offset: int) -> requests.Response:
    """The answer after all redirects, its body not yet read."""
    headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={offset}-"} if offset else {})}
    for _ in range(_MOST_REDIRECTS):
        response = session.get(url, headers=headers, stream=True, timeout=_TIMEOUT_S, allow_redirects=False)
        if response.status_code not in _REDIRECTS:
            return response
        response.close()
        url = _redirected(url, response.headers.get("Location", ""))
    raise PlaceRefusedError(f"more than {_MOST_REDIRECTS} redirects")


def _redirected(url: str, location: str) -> str:
    target = urljoin(url, location)
    known = {"https"} if protocol_of(url) == "https" else {"http", "https"}
    if protocol_of(target) not in known:
        refused = redact_text(target)[:200]
        raise PlaceRefusedError(
            f"the server redirects from {protocol_of(url)} to {refused}, which is not followed"
        )
    return target


def _transfer(response: requests.Response, *, offset: int) -> Transfer:
    status, headers = response.status_code, response.headers
    is_web_page = headers.get("Content-Type", "").partition(";")[0].strip().lower() == "text/html"
    if status in _PASSING:
        raise TransferCutError(f"the server answered {status}")
    if status == 206:
        found = _RANGE.fullmatch(headers.get("Content-Range", ""))
        if found is None or int(found[1]) != offset:
            raise PlaceRefusedError("the server returned a different range from the one requested")
        total = None if found[2] == "*" else int(found[2])
        blocks = _blocks(response)
        return Transfer(begins_at=offset, total_bytes=total, blocks=blocks, is_web_page=is_web_page)
    if status != 200:
        raise PlaceRefusedError(f"the server answered {status}")
    length = headers.get("Content-Length", "")
    total = int(length) if length.isdecimal() else None
    return Transfer(begins_at=0, total_bytes=total, blocks=_blocks(response), is_web_page=is_web_page)


def _blocks(response: requests.Response) -> Iterator[bytes]:
    """The body as it was sent: what a server compressed on its own account is not the declared file.

    What has arrived is given at once: of a full block that is waited for, a cut connection would lose all.
    """
    try:
        while block := response.raw.read1(BLOCK_BYTES, decode_content=False):
            yield block
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise TransferCutError(f"the connection was cut: {type(error).__name__}") from error
