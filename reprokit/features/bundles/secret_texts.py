r"""Credentials in a text that is given away: what the redactor would take out, unless it only stands for one.

In a configuration file every value behind a secret's name is taken for a secret that does not read like a
placeholder; in code, where most of them are variables, what is in quotes or looks like made by chance.

    >>> found_in("host: example.org\napi_key: 8f14e45fceea167a", code=False)
    'line 2 holds what looks like a password or key'
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from urllib.parse import unquote

from reprokit.features.bundles.secret_candidates import lines_to_look_at
from reprokit.issued_tokens import ISSUED_TOKEN
from reprokit.secret_lines import (
    NAME_HINTS,
    NO_VALUE,
    Hidden,
    hidden_in,
    holds_one_of,
    is_setting,
    looks_random,
)
from reprokit.secret_names import is_secret_name, may_be_prose

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
    r"\b[a-z][a-z0-9+.-]{1,20}://(?P<user>[^\s/:@\"'`{}<>$%]*)(?::(?P<password>[^\s@\"'`{}<>$]{4,200}))?@[\w.-]+",
    re.IGNORECASE,
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
_ENCODED_SIGN = re.compile(r"\\u00[0-7]|\\x[0-7]|%3[AaDd]|%40")
_ESCAPED = re.compile(r"\\u00([0-7][0-9a-fA-F])|\\x([0-7][0-9a-fA-F])")
_STANDS_FOR = re.compile(
    r"^\$|\$[{(]|\{\{|\}\}|^\{\w*\}$|^<.*>$|%\(|^%[a-z]$|\*{3}|\.{3}|…|x{4}|^\W*$|^!\w+$|^@\w+$",
    re.IGNORECASE,
)
# How documents write a token that is none; and the address of a picture, whose token is meant to be public.
_MADE_UP = re.compile(r"(?i:x{6}|example|(.)\1{9})")
_BADGE = re.compile(r"(?<=badge\.svg)\?token=\w+")
_WORDS_FOR = frozenset(
    re.findall(
        r"[a-z]+",
        "your example changeme change placeholder dummy fake sample todo fixme redacted insert "
        "replace foo bar  secret secrets password passwd passphrase token key keys apikey string str "
        "text required optional none  null hidden env environ default basic bearer prompt ask vault "
        "keyring any bool int public private yes  no on off enabled disabled test testing here the my "
        "some this type true false include omit same origin  undefined nil file pass pw pwd user "
        "not needed unused username repo mypass mypassword mysecret mytoken custom field prose ",
    )
)
_CODE = re.compile(r"[\w.]*[(\[{].*|[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+[,;)\]:]*")
_PLACE_TELLS = re.compile(
    r"login|sshpass|mysql|mariadb|pwd|auth|identified|password|(?:^|\W)(?:-u|--user)\b", re.IGNORECASE
)
_COLOUR = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_BROKEN_TEXT = re.compile(r"([\"'])[ \t]*(?:\+[ \t]*)?(?:\\?\r?\n[ \t]*)?\1")
_SHORTEST, _SHORTEST_IN_CODE, _LONG, _WORDS_OF_PROSE = 4, 6, 20, 6
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
    if escaped != text and (found := found_in(escaped, code=code)):
        return found
    return _in_lines(_COLOUR.sub("", text) if "\x1b" in text else text, code=code)


def _in_lines(text: str, *, code: bool) -> str:
    lines = lines_to_look_at(text)
    for number, line in lines:
        if what := _what_is_secret(line, code=code):
            return f"line {number} holds {what}"
    for begin in _of_several_lines(text, code=code) if lines else ():
        return f"line {_line_at(text, begin)} holds {_PASSWORD}"
    joined = _BROKEN_TEXT.sub("", text) if code else text
    in_parts = joined != text and any(has_token(line) for _, line in lines_to_look_at(joined))
    return f"it holds {_TOKEN}, in parts" if in_parts else ""


def _line_at(text: str, begin: int) -> int:
    return text.count("\n", 0, begin) + 1


def has_token(text: str, pattern: re.Pattern[str] = ISSUED_TOKEN) -> bool:
    """Whether a text holds a token that its issuer may have given: ``hf_xxxxxxxxxxxxxxxxxxxx`` is none."""
    return any(not _MADE_UP.search(match[0]) for match in pattern.finditer(text))


def is_credential(name: str, value: str, *, quoted: bool, code: bool) -> bool:
    """Whether what stands behind a name is a credential, and no placeholder, variable or setting."""
    bare = value.partition("\\n")[0].strip("\\\"'`()[]{},; \t")
    quoted = quoted or (value.startswith("`") and value.endswith("`"))  # as Markdown quotes
    in_list = not code and value.startswith("[")
    variable = not quoted and not in_list and bool(_CODE.fullmatch(value))
    if len(bare) < _SHORTEST or is_setting(name, bare) or _stands_for_one(bare, quoted=quoted):
        return False
    if looks_random(bare):
        return not (code and variable)
    mixed = bool(re.search(r"\d", bare) and re.search(r"[A-Za-z]", bare))
    if quoted and mixed and len(bare) >= _LONG and re.fullmatch(r"[A-Za-z0-9+/_=.-]+", bare):
        return True
    if variable or _is_path(bare):
        return False
    if may_be_prose(name) or not is_secret_name(name) or _is_a_way(name):
        return (quoted or not code) and mixed and name.lower().endswith(("pass", "pwd", "pw"))
    long = len(bare) >= _LONG // 2 and not _words(bare) & _WORDS_FOR
    in_text = not quoted and mixed and bool(set(value) & {"'", '"'})  # 'host=x password=…'
    in_code = (quoted or in_text) and " " not in bare and (mixed or long) and len(bare) >= _SHORTEST_IN_CODE
    return in_code or not code


def _what_is_secret(line: str, *, code: bool) -> str:
    line = _BADGE.sub("", line)
    if has_token(line):
        return _TOKEN
    if any(map(_has_password, _USER_IN_URL.finditer(line))):
        return _ADDRESS
    return _PASSWORD if any(_counts(one, code=code) for one in hidden_in(line)) else ""


def _counts(one: Hidden, *, code: bool) -> bool:
    if "://" in one.name:
        return False  # looked at as an address
    if is_secret_name(one.name):
        return is_credential(one.name, one.value, quoted=one.quoted, code=code)
    value = one.value.split()[-1] if one.value.split() else ""  # behind Bearer, Basic
    told = bool(_PLACE_TELLS.search(one.name))
    mixed = re.search(r"\d", value) and re.search(r"[A-Za-z]", value)
    return not _stands_for_one(value) and (looks_random(value) or bool(told and mixed and "(" not in value))


def _has_password(match: re.Match[str]) -> bool:
    password = match["password"]
    if password is None:
        return looks_random(match["user"])
    return not _stands_for_one(password)


def _of_several_lines(text: str, *, code: bool) -> Iterator[int]:
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
        if not _stands_for_one(match["value"]):
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


def _stands_for_one(value: str, *, quoted: bool = True) -> bool:
    """Whether a value is written for another: a variable, a placeholder, a number, a sentence."""
    if _STANDS_FOR.search(value) or NO_VALUE.fullmatch(value) or value.count(" ") >= _WORDS_OF_PROSE:
        return True
    if not quoted and re.fullmatch(r"\d*\.\d+|0x[0-9A-Fa-f]+U?L*;?", value):
        return True
    if is_secret_name(value) and value.isupper():  # the name of another variable
        return True
    words = _words(value)
    return (
        not looks_random(value)
        and bool(words & _WORDS_FOR)
        and (
            words <= _WORDS_FOR
            or bool(re.search(r"your|example|changeme|placeholder|dummy|fake|sample", value.lower()))
        )
    )


def _words(value: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", value)}


def _is_a_way(name: str) -> bool:
    """Whether a name is as often of how someone signs in as of a secret."""
    return bool(
        re.search(r"(?:auth|authori[sz]ation|credentials?|creds|cookies?|bearer|jwt|otp|pat)$", name.lower())
    )


def _is_path(value: str) -> bool:
    return value.startswith(
        ("/", "./", "../", "~", "file:", "http:", "https:", "s3:", "gs:")
    ) and not looks_random(value)


def _unescaped(match: re.Match[str]) -> str:
    return chr(int(match[1] or match[2], 16))
