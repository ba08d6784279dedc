"""Addresses of repositories, without who fetches from them."""

from __future__ import annotations

import re

from reprokit.redaction.credentials import MARK
from reprokit.redaction.line_rules import USER_IN_URL
from reprokit.redaction.texts import redact_text


def redact_url(address: str) -> str:
    """A repository's address without user, password, query and fragment.

    A path on this machine is cut to its last part, for it says nothing to anyone else.

    >>> redact_url("deploy:hunter2@example.org:lab/code.git")
    'example.org:lab/code.git'
    """
    if "::" in address:  # a remote helper: what follows is a command line
        return f"{address.partition('::')[0]}::{MARK}"
    scheme, separator, rest = address.partition("://")
    if not separator:
        return _redact_scp_address(address)
    if scheme.lower() == "file":
        return f"file://…/{_last_part(rest)}"
    rest = USER_IN_URL.sub(r"\g<scheme>", f"{scheme}://{rest}").partition("://")[2]
    return redact_text(f"{scheme}://{re.split(r'[?#]', rest, maxsplit=1)[0]}")


def _redact_scp_address(address: str) -> str:
    head, slash, tail = address.partition("/")
    if ":" not in head:
        return f"…/{_last_part(address)}"
    host = head.rpartition("@")[2] if "@" in head else head
    if "@" in tail and "@" not in head:  # a slash in the password
        host, slash, tail = tail.rpartition("@")[2].partition("/")
    return redact_text(re.split(r"[?#]", f"{host}{slash}{tail}", maxsplit=1)[0])


def _last_part(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]
