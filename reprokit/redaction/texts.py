"""Texts of any length without the secrets in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from reprokit.redaction.credentials import MARK
from reprokit.redaction.issued_tokens import ISSUED_TOKEN
from reprokit.redaction.line_rules import HINTS, PRIVATE_KEY
from reprokit.redaction.lines import redact_line
from reprokit.redaction.several_lines import goes_on, of_several_lines

_COLOUR = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")  # ECMA-48: a control sequence
_SIGN, _HOOKS = re.compile(r"[=:@<,;|(&%\\\s：＝→]"), re.compile(r"hooks?/", re.IGNORECASE)
_SHORTEST_TOKEN = 15
_LONG = 1 << 14  # from here on looking for lines that may hold a secret is quicker than reading each
# A form of several lines has no more of them before, and behind, the line by which it is known.
_LINES_BEFORE, _LINES_BEHIND = 22, 4


def redact_text(text: str) -> str:
    """Text without credentials: in addresses, after names like ``token=``, and tokens by their shape.

    >>> redact_text("--tokenizer gpt2 HF_TOKEN=abc")
    '--tokenizer gpt2 HF_TOKEN=<redacted>'
    """
    if "\x1b" in text:  # the letter that ends a colour would be taken for the token's first
        plain = _COLOUR.sub("", text).replace("\x1b", "")
        redacted = redact_text(plain)
        return text if redacted == plain else redacted
    if not _SIGN.search(text) and not _HOOKS.search(text):  # a name: only a token's shape can be secret
        return ISSUED_TOKEN.sub(MARK, text) if len(text) >= _SHORTEST_TOKEN else text
    if "PRIVATE KEY" in text:
        text = PRIVATE_KEY.sub(MARK, text)
    lowered = text.lower()
    if not any(hint in lowered for hint in HINTS):
        return text
    lines = text.split("\n")
    candidates = _candidates(text) if len(text) > _LONG else range(len(lines))
    for number in candidates:
        lines[number] = redact_line(lines[number], [])
    known = [number for number in candidates if goes_on(lines[number])]
    for begin, end in _around(known, len(lines)):
        lines[begin:end] = _redact_several("\n".join(lines[begin:end])).split("\n")
    return "\n".join(lines)


def _candidates(text: str) -> Sequence[int]:
    from reprokit.redaction.candidates import lines_to_look_at  # noqa: PLC0415 - what is short needs no NumPy

    return [number - 1 for number, _ in lines_to_look_at(text)]


def _around(numbers: Sequence[int], count: int) -> Iterator[tuple[int, int]]:
    """The lines around some, as ranges that have nothing in common."""
    begin = end = 0
    for number in numbers:
        if number - _LINES_BEFORE > end:
            if end:
                yield begin, end
            begin = number - _LINES_BEFORE
        end = min(number + _LINES_BEHIND, count)
    if end:
        yield begin, end


def _redact_several(text: str) -> str:
    """The text without values that are named on another line; a word with no digit in it may be prose."""
    at, parts = 0, []
    for begin, end in sorted(of_several_lines(text, code=False)):
        if begin >= at and re.search(r"\d", text[begin:end]):
            parts += [text[at:begin], MARK]
            at = end
    return "".join([*parts, text[at:]])
