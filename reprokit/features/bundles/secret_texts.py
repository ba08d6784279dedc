r"""Credentials in a text that is given away: what the redactor would take out, unless it only stands for one.

In a configuration file every value behind a secret's name is taken for a secret that does not read like a
placeholder; in code, where most of them are variables, what is in quotes or looks like made by chance.

    >>> found_in("host: example.org\napi_key: 8f14e45fceea167a", code=False)
    'line 2 holds what looks like a password or key'
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from urllib.parse import unquote

from reprokit.redaction.candidates import lines_to_look_at
from reprokit.redaction.credentials import is_credential, looks_random, stands_for_one
from reprokit.redaction.issued_tokens import ISSUED_TOKEN
from reprokit.redaction.lines import Hidden, hidden_in
from reprokit.redaction.secret_names import SERVICES, is_secret_name
from reprokit.redaction.several_lines import of_several_lines

_PRIVATE_KEY = re.compile(
    r"(?:-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----)"
    r"[\s\S]{0,200}?(?<![A-Za-z0-9+/=])(?=[A-Za-z+/]{0,40}\d)[A-Za-z0-9+/=]{16}"
)
_PUTTY_KEY = re.compile(r"PuTTY-User-Key-File-\d|^Private-Lines:[ \t]*\d", re.MULTILINE)
_KUBERNETES = re.compile(
    r"^kind:[ \t]*Secret[ \t\r]*$[\s\S]*?^(?:stringData|data):[ \t]*\r?\n[ \t]+[\w.-]+:[ \t]*[^\s{$<]{4}",
    re.MULTILINE,
)
_JSON_WEB_KEY = re.compile(r"[\"']kty[\"']\s*:[^{}]*[\"'](?:d|k)[\"']\s*:\s*[\"'][\w-]{16,}")
# Each with a word without which it finds nothing.
_KEYS = (
    (_PRIVATE_KEY, "PRIVATE KEY"),
    (_PUTTY_KEY, "PuTTY-User-Key-File-"),
    (_PUTTY_KEY, "Private-Lines:"),
    (_JSON_WEB_KEY, "kty"),
)
_ENCODES = ("\\u00", "\\x", "%3", "%40")
_USER_IN_URL = re.compile(
    r"\b[a-z][a-z0-9+.-]{1,20}://(?P<user>[^\s/:@\"'`{}<>$%]*)(?::(?P<password>[^\s@\"'`{}<>$]{4,200})?)?@[\w.-]+",
    re.IGNORECASE,
)
_ENCODED_SIGN = re.compile(r"\\u00[0-7]|\\x[0-7]|%3[AaDd]|%40")
_ESCAPED = re.compile(r"\\u00([0-7][0-9a-fA-F])|\\x([0-7][0-9a-fA-F])")
# How documents write a token that is none; and the address of a picture, whose token is meant to be public.
_MADE_UP = re.compile(r"(?i:x{6}|example|(.)\1{9})")
_BADGE = re.compile(r"(?<=badge\.svg)\?token=\w+")
# Behind the name of a service alone; behind those of repositories and runs stand digests.
_OF_A_SERVICE = re.compile(
    rf"[\"'](?!git|gh|mlflow)(?:{SERVICES})[\"'][ \t]*:[ \t]*[\"']([\w-]{{20,200}})[\"']", re.IGNORECASE
)
# Of a word in a vocabulary: in JSON, a short number without quotes.
_TOKEN_ID = re.compile(r"(?<=\")[ \t]*:[ \t]*\d{1,6}(?=[ \t]*(?:[,}\r]|\Z))")
_PLACE_TELLS = re.compile(
    r"login|sshpass|mysql|mariadb|twine|mongo|redis-cli|pwd|auth|identified|password|(?:^|\W)(?:-u|--user)\b|"
    r"\b(?:zip|unzip|sqlcmd|bcp|ipmitool|mosquitto_\w+|7z\w?|(?:un)?rar|openssl|smb\w+|rpcclient|ldap\w+|"
    r"keytool|jarsigner|https?|xh|htpasswd|\w*ftp\w*)[ \t]|:(?:\*|\d{4}):",
    re.IGNORECASE,
)
_COLOUR = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,500}>")
_TABLE_HEAD = re.compile(r"^[ \t]*\|(.+)\|[ \t\r]*\n[ \t]*\|[ :|-]*-[ :|-]*\|[ \t\r]*\n", re.MULTILINE)
_BROKEN_TEXT = re.compile(r"([\"'])[ \t]*(?:\+[ \t]*)?(?:\\?\r?\n[ \t]*)?\1")
_TOKEN, _ADDRESS, _KEY, _PASSWORD = (
    "what looks like a token",
    "an address with a password",
    "a private key",
    "what looks like a password or key",
)


def found_in(text: str, *, code: bool) -> str:
    """What of a text must not be given away, with its line; "" where nothing says so.

    Args:
        text: All of it.
        code: Whether names without quotes stand for values, as in a program.
    """
    keys = (pattern.search(text) for pattern, word in _KEYS if word in text)
    if key := next(filter(None, keys), None):
        return f"line {_line_at(text, key.start())} holds {_KEY}"
    is_encoded = any(sign in text for sign in _ENCODES) and _ENCODED_SIGN.search(text)
    escaped = unquote(_ESCAPED.sub(_unescaped, text)) if is_encoded else text
    shown = html.unescape(escaped) if "&#" in escaped else escaped
    if shown != text and (found := found_in(shown, code=code)):
        return found
    # Without its tags prose stands behind many a "Password:", so that only what looks made by chance counts.
    bare = _TAG.sub("", text) if "</" in text else text
    if bare != text and (found := found_in(bare, code=True)):
        return found
    return _in_lines(_COLOUR.sub("", text) if "\x1b" in text else text, code=code)


def _in_lines(text: str, *, code: bool) -> str:
    lines = lines_to_look_at(text)
    for number, line in lines:
        if what := _what_is_secret(line, code=code):
            return f"line {number} holds {what}"
    for begin in _of_the_whole(text, code=code) if lines else ():
        return f"line {_line_at(text, begin)} holds {_PASSWORD}"
    joined = _BROKEN_TEXT.sub("", text) if code else text
    in_parts = joined != text and any(has_token(line) for _, line in lines_to_look_at(joined))
    return f"it holds {_TOKEN}, in parts" if in_parts else ""


def _of_the_whole(text: str, *, code: bool) -> Iterator[int]:
    yield from (begin for begin, _ in of_several_lines(text, code=code))
    yield from (match.start() for match in _KUBERNETES.finditer(text))
    yield from _of_columns(text)
    yield from _of_tables(text)


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


def _of_tables(text: str) -> Iterator[int]:
    """Where a row of a table in Markdown begins that has what looks made by chance in such a column."""
    for head in _TABLE_HEAD.finditer(text) if "|" in text else ():
        secret = [
            at
            for at, name in enumerate(head[1].split("|"))
            if is_secret_name(name.strip(" `*_").replace(" ", "_"))
        ]
        begin = head.end()
        while secret and text[begin : begin + 200].lstrip(" \t").startswith("|"):
            end = (text.find("\n", begin) + 1) or len(text)
            cells = text[begin:end].strip(" \t\r\n").removeprefix("|").split("|")
            if any(at < len(cells) and looks_random(cells[at]) for at in secret):
                yield begin
            begin = end


def _line_at(text: str, begin: int) -> int:
    return text.count("\n", 0, begin) + 1


def has_token(text: str, pattern: re.Pattern[str] = ISSUED_TOKEN) -> bool:
    """Whether a text holds a token that its issuer may have given: ``hf_xxxxxxxxxxxxxxxxxxxx`` is none."""
    return any(not _MADE_UP.search(match[0]) for match in pattern.finditer(text))


def _what_is_secret(line: str, *, code: bool) -> str:
    line = _TOKEN_ID.sub("", _BADGE.sub("", line))
    if has_token(line):
        return _TOKEN
    if any(map(_has_password, _USER_IN_URL.finditer(line))):
        return _ADDRESS
    of_a_service = any(looks_random(match[1]) for match in _OF_A_SERVICE.finditer(line))
    return _PASSWORD if of_a_service or any(_counts(one, code=code) for one in hidden_in(line)) else ""


def _counts(one: Hidden, *, code: bool) -> bool:
    if "://" in one.name:
        return False  # looked at as an address
    if is_secret_name(one.name):
        return is_credential(one.name, one.value, quoted=one.quoted, code=code)
    value = one.value.split()[-1] if one.value.split() else ""  # behind Bearer, Basic
    told = bool(_PLACE_TELLS.search(one.name))
    mixed = re.search(r"\d", value) and re.search(r"[A-Za-z]", value)
    return not stands_for_one(value) and (looks_random(value) or bool(told and mixed and "(" not in value))


def _has_password(match: re.Match[str]) -> bool:
    password = match["password"]
    if password is None:
        return looks_random(match["user"])
    return not stands_for_one(password)


def _unescaped(match: re.Match[str]) -> str:
    return chr(int(match[1] or match[2], 16))
