"""Texts of any length without the secrets in them."""

from __future__ import annotations

import re

from reprokit.redaction.credentials import MARK
from reprokit.redaction.issued_tokens import ISSUED_TOKEN
from reprokit.redaction.line_rules import HINTS, PRIVATE_KEY
from reprokit.redaction.lines import redact_line

_COLOUR = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")  # ECMA-48: a control sequence
_SIGN, _ENCODED = re.compile(r"[=:@<,\s]"), re.compile(r"hooks|%3A", re.IGNORECASE)
_SHORTEST_TOKEN = 15


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
