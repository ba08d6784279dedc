"""Values known to be secret, and the forms in which programs print them, taken out of texts."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote, quote_plus

from reprokit.redaction.credentials import MARK, looks_random
from reprokit.redaction.line_rules import USER_IN_URL
from reprokit.redaction.lines import taken_out
from reprokit.redaction.records import redact_command
from reprokit.redaction.secret_names import is_secret_name
from reprokit.redaction.texts import redact_text

_SHORTEST_KNOWN = 8


def secret_values(variables: Mapping[str, str], *, command: Sequence[str] = ()) -> tuple[str, ...]:
    """The secrets that variables and a command line tell, longest first; short words and paths are none."""
    found = {
        *(value for name, value in variables.items() if is_secret_name(name)),
        *map(taken_out, command, redact_command(command)),
        *(password for word in (*variables.values(), *command) for password in _passwords(word)),
    }
    usable = {one for one in found if len(one) >= _SHORTEST_KNOWN and not _is_no_secret(one)}
    written = usable | {form for one in usable for form in _forms_of(one)}
    return tuple(sorted(written, key=lambda one: (-len(one), one)))


def _is_no_secret(value: str) -> bool:
    """Whether it is an option, a record, or a path; a key in base64 may begin with a slash."""
    return value.startswith(("-", "{")) or (value.startswith("/") and not looks_random(value))


def _forms_of(secret: str) -> Iterable[str]:
    """As programs print a secret otherwise than it is: in JSON, addresses, base64 and hexadecimal digits."""
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield from (quote(secret), quote(secret, safe=""), quote_plus(secret))
    yield base64.b64encode(secret.encode("utf-8", "surrogateescape")).decode().rstrip("=")
    yield secret.encode("utf-8", "surrogateescape").hex()


def without(text: str, secrets: Iterable[str]) -> str:
    """A text with these values taken out, wherever they stand."""
    for secret in secrets:
        text = text.replace(secret, MARK)
    return redact_text(text)


def _passwords(word: str) -> Iterable[str]:
    for match in USER_IN_URL.finditer(word):
        user, sign, password = match[0].partition("://")[2][:-1].partition(":")
        yield password if sign else user
