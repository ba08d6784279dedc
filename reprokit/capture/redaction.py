"""Keeping secrets out of records: addresses, command lines, and any text that looks like one.

This module knows what credentials look like; it refuses to know where the text came from. What it
takes out it replaces by a mark, so that a reader sees that something stood there.

    >>> redact_url("https://alice:hunter2@example.org/lab/code.git?token=abc")
    'https://example.org/lab/code.git'
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

MARK = "<redacted>"

# Names of options, variables and parameters whose value is a secret, by how they end. Language models
# have tokens too: max_tokens, tokenizer and pad_token are none of them.
_SENSITIVE = (
    r"(?:[\w.-]*[_.-])?(?:(?:access|auth|session)?(?<!pad[_-])(?<!eos[_-])(?<!bos[_-])(?<!unk[_-])(?<!sep[_-])"
    r"(?<!cls[_-])(?<!end[_-])(?<!mask[_-])(?<!stop[_-])(?<!start[_-])token|secrets?|passw(?:or)?d|pwd|passphrase|"
    r"(?:api|access|secret|private)[_-]?key(?:[_-]?id)?|credentials?|auth|authori[sz]ation|bearer|cookie)"
)
_SENSITIVE_NAME = re.compile(rf"-{{0,2}}{_SENSITIVE}", re.IGNORECASE)
_ASSIGNMENT = re.compile(
    rf"(?P<name>(?<![\w.-])-{{0,2}}{_SENSITIVE})(?P<sign>\s*[=:]\s*)(?P<value>\"[^\"]*\"|'[^']*'|[^\s&;,]+)",
    re.IGNORECASE,
)
_CREDENTIALS_IN_URL = re.compile(
    r"(?P<scheme>\b[a-z][a-z0-9+.-]*://)[^\s/?#@]*(?:@[^\s/?#@]*)*@", re.IGNORECASE
)
_SIGNED_QUERY = re.compile(r"(?P<name>[?&](?:[\w.-]*[_.-])?(?:sig|signature|key)=)[^\s&]+", re.IGNORECASE)
_HEADER = re.compile(r"\b(?P<kind>Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}")

# Tokens that say by their first letters what they are, from their issuers' documentation; private
# keys and JSON web tokens begin alike everywhere.
_KNOWN_TOKEN = re.compile(
    r"\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|hf_\w{20,}|xox[abposr]-[\w-]{10,}|"
    r"sk-(?=[\w-]*\d)[\w-]{20,}|AKIA[0-9A-Z]{12,}|ASIA[0-9A-Z]{12,}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|"
    r"pypi-[\w-]{32,}|npm_\w{20,}|dckr_pat_[\w-]{16,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)",
    re.DOTALL,
)


def redact_url(address: str) -> str:
    """A repository's address without user, password, query and fragment.

    A path on this machine is cut to its last part, for it says nothing to anybody else.

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
    rest = re.split(r"[?#]", rest, maxsplit=1)[0]
    authority, slash, path = rest.partition("/")
    return redact_text(f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}")


def _redact_scp_address(address: str) -> str:
    head, slash, tail = address.partition("/")
    if ":" not in head:
        return f"…/{_last_part(address)}"
    host = head.rpartition("@")[2]
    return redact_text(re.split(r"[?#]", f"{host}{slash}{tail}", maxsplit=1)[0])


def _last_part(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def redact_text(text: str) -> str:
    """Text without credentials: in addresses, after names like ``token=``, and tokens by their shape.

    >>> redact_text("--tokenizer gpt2 HF_TOKEN=abc")
    '--tokenizer gpt2 HF_TOKEN=<redacted>'
    """
    text = _CREDENTIALS_IN_URL.sub(rf"\g<scheme>{MARK}@", text)
    text = _HEADER.sub(rf"\g<kind> {MARK}", text)
    text = _ASSIGNMENT.sub(rf"\g<name>\g<sign>{MARK}", text)
    text = _SIGNED_QUERY.sub(rf"\g<name>{MARK}", text)
    return _KNOWN_TOKEN.sub(MARK, text)


def redact_command(arguments: Sequence[str]) -> tuple[str, ...]:
    """A command line without the values of options and variables whose names say that they are secret.

    >>> redact_command(["python", "train.py", "--wandb-api-key", "abc", "--seed", "7"])
    ('python', 'train.py', '--wandb-api-key', '<redacted>', '--seed', '7')
    """
    redacted: list[str] = []
    value_is_secret = False
    for argument in arguments:
        name, sign, _ = argument.partition("=")
        if value_is_secret and not argument.startswith("--"):
            redacted.append(MARK)
        elif sign and _is_sensitive(name):
            redacted.append(f"{name}={MARK}")
        else:
            redacted.append(redact_text(argument))
        value_is_secret = argument.startswith("-") and _is_sensitive(argument)
    return tuple(redacted)


def redact(value: Any) -> Any:
    """A record with every text in it redacted; the values of keys that say they are secret go whole."""
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, Mapping):
        return {
            redact_text(str(name)): MARK
            if isinstance(inner, str) and _is_sensitive(str(name))
            else redact(inner)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [redact(item) for item in value]
    return value


def _is_sensitive(name: str) -> bool:
    return bool(_SENSITIVE_NAME.fullmatch(name))
