"""Secrets taken out of every command, address and text before it is written, shown or sent.

What is taken out leaves a mark, so that a reader sees that something stood there. Three ways lead to a
secret: the name before it (``--api-key``, ``MYTOKEN=``, ``"password":``), its place in an address, and
its own shape (a token that begins with its issuer's letters). Whatever is recorded goes through here
once more than needed rather than once less: redacting twice gives the same text.

    >>> redact_url("https://alice:hunter2@example.org/lab/code.git?token=abc")
    'https://example.org/lab/code.git'
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, quote_plus

from reprokit.issued_tokens import ISSUED_TOKEN
from reprokit.secret_lines import (
    HINTS,
    MARK,
    NO_VALUE,
    PRIVATE_KEY,
    USER_IN_URL,
    is_setting,
    looks_random,
    redact_line,
    taken_out,
)
from reprokit.secret_names import is_secret_name

_COLOUR = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")  # ECMA-48: a control sequence
_SIGN, _ENCODED = re.compile(r"[=:@<,\s]"), re.compile(r"hooks|%3A", re.IGNORECASE)
_SHORTEST_TOKEN = 15
_SHORTEST_KNOWN = 8


def redact_text(text: str) -> str:
    """Text without credentials: in addresses, after names like ``token=``, and tokens by their shape.

    >>> redact_text("--tokenizer gpt2 HF_TOKEN=abc")
    '--tokenizer gpt2 HF_TOKEN=<redacted>'
    """
    if "\x1b" in text:  # the letter that ends a colour would be taken for the token's first
        plain = _COLOUR.sub("", text).replace("\x1b", "")
        redacted = redact_text(plain)
        return text if redacted == plain else redacted
    if not _SIGN.search(text) and not _ENCODED.search(text):  # a name: only a token's shape can be secret
        return ISSUED_TOKEN.sub(MARK, text) if len(text) >= _SHORTEST_TOKEN else text
    if "PRIVATE KEY" in text:  # the only secret of several lines
        text = PRIVATE_KEY.sub(MARK, text)
    lowered = text.lower()
    if not any(hint in lowered for hint in HINTS):
        return text
    return "\n".join(redact_line(line, []) for line in text.split("\n"))


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


def redact_command(arguments: Sequence[str]) -> tuple[str, ...]:
    """A command line without the values of options and variables whose names say that they are secret.

    >>> redact_command(["python", "train.py", "--wandb-api-key", "abc", "--seed", "7"])
    ('python', 'train.py', '--wandb-api-key', '<redacted>', '--seed', '7')
    """
    redacted: list[str] = []
    before = ""
    for argument in arguments:
        name, sign, value = argument.partition("=")
        secret_follows = before.startswith("-") and is_secret_name(before)
        if secret_follows and not argument.startswith("--"):
            redacted.append(argument if is_setting(before, argument) else MARK)
        elif sign and is_secret_name(name) and not (NO_VALUE.fullmatch(value) or is_setting(name, value)):
            redacted.append(f"{name}={MARK}")
        else:
            redacted.append(_redact_after(before, argument))
        before = argument
    return tuple(redacted)


def redact(value: Any) -> Any:
    """A record with every text in it redacted; the values of keys that say they are secret go whole."""
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, Mapping):
        return {
            # Of a nested record's own name: config/api_key.
            redact_text(str(name)): _marked(inner)
            if is_secret_name(str(name).rpartition("/")[2])
            else redact(inner)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        if all(isinstance(item, str) for item in value):  # may be a command: an option, then its value
            return list(redact_command(value))
        return [redact(item) for item in value]
    return value


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


def _redact_after(before: str, argument: str) -> str:
    """An argument; where the one before it says that user and password follow, without the password."""
    user, sign, password = argument.partition(":")
    numbers = user.isdecimal() and password.isdecimal()  # of a user and a group
    if before in {"-u", "--user", "--proxy-user"} and sign and not numbers:
        return f"{user}:{MARK}"
    if before == "login" and re.fullmatch(r"[0-9a-f]{32,}", argument):
        return MARK
    return redact_text(argument)


def _marked(value: Any) -> Any:
    if isinstance(value, str):
        return value if NO_VALUE.fullmatch(value) else MARK
    if isinstance(value, Mapping):
        return {redact_text(str(name)): _marked(inner) for name, inner in value.items()}
    return [_marked(item) for item in value] if isinstance(value, list | tuple) else value
