"""Secrets taken out of every command, address and text before it is written, shown or sent.

What is taken out leaves a mark, so that a reader sees that something stood there. Three ways lead to a
secret: the name before it (``--api-key``, ``MYTOKEN=``, ``"password":``), its place in an address, and
its own shape (a token that begins with its issuer's letters). Whatever is recorded goes through here
once more than needed rather than once less: redacting twice gives the same text.

    >>> redact_url("https://alice:hunter2@example.org/lab/code.git?token=abc")
    'https://example.org/lab/code.git'
"""

from __future__ import annotations

from reprokit.redaction.addresses import redact_url
from reprokit.redaction.credentials import MARK
from reprokit.redaction.known_values import secret_values, without
from reprokit.redaction.records import redact, redact_command
from reprokit.redaction.texts import redact_text

__all__ = ["MARK", "redact", "redact_command", "redact_text", "redact_url", "secret_values", "without"]
