"""Values known to be secret, in the forms in which programs print them, taken out of texts."""

from __future__ import annotations

import base64
import functools
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote, quote_plus

from reprokit.redaction.credentials import MARK, looks_random
from reprokit.redaction.line_rules import USER_IN_URL
from reprokit.redaction.lines import taken_out
from reprokit.redaction.records import redact_command
from reprokit.redaction.secret_names import is_secret_name
from reprokit.redaction.texts import redact_text

_SHORTEST_KNOWN = 8
# Where a terminal ends a line or changes a colour, also with the sides of a box; blanks alone are no break.
_BREAK = r"(?:(?=[ \t│|\\]{0,200}[\r\n\x1b])(?:\x1b\[[0-?]*[ -/]*[@-~]|[\s│|\\]){1,300})?"
_LONGEST_PIECE = 16
_FOR_HTML = str.maketrans({one: f"\\u{ord(one):04x}" for one in "<>&'"})


class _Forms(NamedTuple):
    """What is looked for: as it is, in any case, and in pieces with breaks between."""

    exact: tuple[str, ...]
    in_any_case: tuple[str, ...]
    in_pieces: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]


def secret_values(variables: Mapping[str, str], *, command: Sequence[str] = ()) -> tuple[str, ...]:
    """The secrets that variables and a command line tell, longest first; short words and paths are none."""
    found = {
        *(value for name, value in variables.items() if is_secret_name(name)),
        *map(taken_out, command, redact_command(command)),
        *(password for word in (*variables.values(), *command) for password in _passwords(word)),
    }
    usable = (one for one in found if len(one) >= _SHORTEST_KNOWN and not _is_no_secret(one))
    return tuple(sorted(usable, key=lambda one: (-len(one), one)))


def without(text: str, secrets: Iterable[str]) -> str:
    """A text with these values taken out, wherever and in whichever form they stand."""
    forms = _forms_of(tuple(secrets))
    for form in forms.exact:
        text = text.replace(form, MARK)
    lowered = text.lower()
    for form in forms.in_any_case:
        if form in lowered:
            text = re.sub(re.escape(form), MARK, text, flags=re.IGNORECASE)
    for pieces, pattern in forms.in_pieces:
        if any(piece in text for piece in pieces):
            text = pattern.sub(MARK, text)
    return redact_text(text)


def _is_no_secret(value: str) -> bool:
    """Whether it is an option, a record, or a path; a key in base64 may begin with a slash."""
    return value.startswith(("-", "{")) or (value.startswith("/") and not looks_random(value))


@functools.lru_cache(maxsize=8)
def _forms_of(secrets: tuple[str, ...]) -> _Forms:
    exact = {form for one in secrets for form in (one, *_as_written(one), *_as_base64(one))}
    in_any_case = {form.lower() for one in secrets for form in _as_escaped(one)} - {
        one.lower()
        for one in secrets  # which are looked for as they are
    }
    longest_first = functools.partial(sorted, key=lambda one: (-len(one), one))
    return _Forms(
        exact=tuple(longest_first(form for form in exact if len(form) >= _SHORTEST_KNOWN)),
        in_any_case=tuple(longest_first(in_any_case)),
        in_pieces=tuple((_pieces_of(one), re.compile(_BREAK.join(map(re.escape, one)))) for one in secrets),
    )


def _as_written(secret: str) -> Iterator[str]:
    """As JSON, addresses and HTML have it."""
    for text in (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]):
        yield from (text, text.replace("/", "\\/"))
    yield from (quote(secret), quote(secret, safe=""), quote_plus(secret))
    yield from (html.escape(secret), html.escape(secret, quote=False))


def _as_escaped(secret: str) -> Iterator[str]:
    """As programs write it that do not agree about small and capital letters."""
    content = _bytes_of(secret)
    yield from (content.hex(), content.hex(":"), content.hex(" "))
    yield base64.b32encode(content).decode().rstrip("=")
    yield from (form for form in _as_written(secret) if form != secret)
    for_html = json.dumps(secret)[1:-1].translate(_FOR_HTML)
    yield from (form for form in (for_html, for_html.replace("/", "\\/")) if form != secret)


def _as_base64(secret: str) -> Iterator[str]:
    """As base64 has it, also twice, and behind the letters of a user: those three bytes apart look alike."""
    content = _bytes_of(secret)
    yield base64.b64encode(content).decode().rstrip("=")
    yield from _encoded_twice(content)
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + content).decode()
        begin, end = -(-before * 8 // 6), (before + len(content)) * 8 // 6
        inner = encoded[begin:end]
        yield from (inner, inner.replace("+", "-").replace("/", "_"))


def _encoded_twice(content: bytes) -> Iterator[str]:
    once = base64.b64encode(content)
    for form in (once, once.rstrip(b"=")):
        yield base64.b64encode(form).decode().rstrip("=")


def _bytes_of(secret: str) -> bytes:
    return secret.encode("utf-8", "surrogateescape")


def _pieces_of(secret: str) -> tuple[str, ...]:
    """Parts, one of which is whole where breaks are fewer than parts."""
    size = min(_LONGEST_PIECE, len(secret) // 2)
    return tuple(secret[at : at + size] for at in range(0, len(secret) - size + 1, size))


def _passwords(word: str) -> Iterable[str]:
    for match in USER_IN_URL.finditer(word):
        user, sign, password = match[0].partition("://")[2][:-1].partition(":")
        yield password if sign else user
