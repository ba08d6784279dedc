"""Secrets whose names stand on another line, or in another entry."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from reprokit.redaction.credentials import is_credential, stands_for_one
from reprokit.redaction.line_rules import NAME_HINTS, holds_one_of
from reprokit.redaction.secret_names import is_secret_name

_KUBERNETES = re.compile(
    r"^kind:[ \t]*Secret[ \t\r]*$[\s\S]*?^(?:stringData|data):[ \t]*\r?\n[ \t]+[\w.-]+:[ \t]*[^\s{$<]{4}",
    re.MULTILINE,
)
# Name and value on lines of their own, as in YAML, in wrapped code and in a container's list of variables.
_NEXT_LINE = re.compile(
    r"(?P<name>(?<![\w.-])[\w.-]{2,80})[\"']?[ \t]*(?:=>|[:=])[ \t]*"
    r"[(\[{>|+\\-]{0,3}[\"']*[ \t]*\r?\n[ \t]*(?:-[ \t]+)?"
    r"(?P<quote>[\"']?)(?P<value>[^\s\"',]{4,500})(?=[\"',]?[ \t)\]},;]*(?:\r?\n|\Z))"
)
_NAME_AND_VALUE = re.compile(
    r"[\"']?\b(?:name|key|variable|machine)[\"']?\s{0,3}[:=]\s{0,3}"
    r"(?P<quote>[\"']?)(?P<name>[\w.-]{2,80})[\"']?\s{0,3},?\s{0,40}"
    r"[\"']?(?:value|password)[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?P<value>[^\s\"',}]{4,500})",
    re.IGNORECASE,
)
_DOCKER_LOGIN = re.compile(r"[\"']?\b_?auth[\"']?\s*[:=]\s*[\"']?(?P<value>[A-Za-z0-9+/]{8,}={0,2})")
_NETRC = re.compile(r"\bmachine\s+\S+\s+(?:login\s+\S+\s+)?(?:account\s+\S+\s+)?password\s+(?P<value>\S+)")
_USER_AND_KEY = re.compile(r"[\"']key[\"']\s*:\s*[\"'](?P<value>[0-9a-f]{32,64})[\"']")


def of_several_lines(text: str, *, code: bool) -> Iterator[int]:
    """Where a value begins whose name stands on another line, or in another entry."""
    lowered = text.lower() if text.isascii() else None
    named = holds_one_of(NAME_HINTS, lowered)
    for match in _NEXT_LINE.finditer(text) if named else ():
        if is_secret_name(match["name"]) and is_credential(
            match["name"], match["value"], quoted=bool(match["quote"]), code=code
        ):
            yield match.start("value")
    for match in _NAME_AND_VALUE.finditer(text) if named else ():
        if is_secret_name(match["name"]) and is_credential(
            match["name"], match["value"], quoted=True, code=code
        ):
            yield match.start("value")
    for match in _DOCKER_LOGIN.finditer(text) if holds_one_of(("auth",), lowered) else ():
        if re.fullmatch(r"[\x21-\x7e]+:[\x20-\x7e]{3,}", decoded(match["value"])):
            yield match.start("value")
    yield from (match.start() for match in _KUBERNETES.finditer(text))
    for match in _NETRC.finditer(text) if holds_one_of(("machine",), lowered) else ():
        if not stands_for_one(match["value"]):
            yield match.start("value")
    yield from _of_columns(text)
    if re.search(r"[\"']username[\"']", text):  # kaggle.json
        yield from (match.start("value") for match in _USER_AND_KEY.finditer(text))


def _of_columns(text: str) -> Iterator[int]:
    """Where a row begins with something in a column that is named like a secret."""
    comments = re.match(r"(?:#[^\n]*\n)*", text)
    skipped = comments.end() if comments else 0
    head, _, rest = text[skipped:].partition("\n")
    sign = next((one for one in (",", "\t", ";") if one in head), "")
    names = [name.strip("\"' \r") for name in head.split(sign)] if sign else []
    secret = [at for at, name in enumerate(names) if is_secret_name(name)]
    if not secret or any(not re.fullmatch(r"[\w .-]+", name) for name in names):
        return
    begin = skipped + len(head) + 1
    for row in rest.split("\n"):
        cells = [cell.strip("\"' \r") for cell in row.split(sign)]
        if len(cells) == len(names) and any(
            is_credential(names[at], cells[at], quoted=True, code=False) for at in secret
        ):
            yield begin
        begin += len(row) + 1


def decoded(word: str) -> str:
    """The text that a word in base64 stands for; "" where it stands for none."""
    plain = word.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        content = base64.b64decode(plain + "=" * (-len(plain) % 4))
    except (ValueError, binascii.Error):
        return ""
    return content.decode("latin-1") if re.fullmatch(rb"[\t\n\r\x20-\x7e]+", content) else ""
