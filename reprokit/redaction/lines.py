"""Secrets in one line of text: by the name before them, their place in an address, and their own shape.

>>> [one.value for one in hidden_in("export API_KEY='abc' # --hf-token2 def")]
['abc', 'def']
"""

from __future__ import annotations

import re
from typing import NamedTuple

from reprokit.redaction.credentials import MARK, NO_VALUE, is_setting, looks_random
from reprokit.redaction.line_rules import (
    AFTER_NAMES,
    BEFORE_NAMES,
    BY_NAME,
    ELEMENT,
    HINTS,
    NAME_HINTS,
    VALUE,
    holds_one_of,
)
from reprokit.redaction.secret_names import is_secret_name

_LONGEST_WORD = 40
_FILE = re.compile(r"[\w.-]+(?:/[\w.-]+)+\.[a-z]{1,5}")
# Behind "no token:" stands what to do: the name of a variable in capitals follows, without a value.
_ADVICE = re.compile(r"(?:set|export)[ \t]+[A-Z][A-Z\d]*(?:_[A-Z\d]+)+(?![\w=:])")


class Hidden(NamedTuple):
    """What is taken out of a line: the name before it ("" where its shape gave it away), and its value."""

    name: str
    value: str
    quoted: bool


def redact_line(text: str, found: list[Hidden]) -> str:
    """A line without its secrets, which are added to ``found``."""
    # Of letters that are not ASCII some are others in lower case than a pattern takes them for.
    lowered = text.lower() if text.isascii() else None
    if not holds_one_of(HINTS, lowered):
        return text
    for pattern, template, hints in BEFORE_NAMES:
        if holds_one_of(hints, lowered):
            text = _put(pattern, template, text, found)
    if holds_one_of(NAME_HINTS, lowered):
        for by_name, hints in BY_NAME:
            if holds_one_of(hints, lowered):
                text = _without_named(by_name, text, found)
        if "</" in text:
            text = ELEMENT.sub(lambda match: _without_content(match, found), text)
    for pattern, template, hints in AFTER_NAMES:
        if holds_one_of(hints, lowered):
            text = _put(pattern, template, text, found)
    return text


def hidden_in(line: str) -> tuple[Hidden, ...]:
    """What ``redact_text`` takes out of a line, without the quotes around it."""
    found: list[Hidden] = []
    redact_line(line, found)
    return tuple(one for one in found if one.value and MARK not in one.value)


def _put(pattern: re.Pattern[str], template: str, text: str, found: list[Hidden]) -> str:
    def replaced(match: re.Match[str]) -> str:
        result = match.expand(template)
        found.append(Hidden(match[1] if pattern.groups else "", taken_out(match[0], result), quoted=False))
        return result

    return pattern.sub(replaced, text)


def _without_named(pattern: re.Pattern[str], text: str, found: list[Hidden]) -> str:
    """The text without the values that stand behind a secret's name and what the pattern has for a sign."""
    parts, at = [], 0
    for match in pattern.finditer(text):
        name = _secret_name(match, text) if match.start() >= at else ""
        if not name or ("value" in pattern.groupindex and not _stands_alone(match["value"])):
            continue
        value = VALUE.match(text, match.end())
        if value and (hidden := _hidden(name, match["sign"], value)):
            begin = value.start("value") + len(value["quote"] or "")
            parts += [text[at:begin], MARK]
            at = begin + len(hidden)
            found.append(Hidden(name, hidden, quoted=bool(value["quote"])))
    return "".join([*parts, text[at:]]) if parts else text


def _secret_name(match: re.Match[str], text: str) -> str:
    """The name where it is a secret's: also "API key", and one behind the two signs of a line's end."""
    name, begin = match["name"], match.start("name")
    known = is_secret_name(name)
    if not (known or text[begin - 1 : begin] == "\\" or name.lower() in {"key", "keys"}):
        return ""
    before = text[max(0, begin - _LONGEST_WORD) : begin]
    if known:
        # What an error says of a file, in quotes or not.
        of_a_path = before.endswith("/") and match["sign"].lstrip("\"'") == ": "
        return (
            ""
            if of_a_path and not looks_random(text[match.end() :][:_LONGEST_WORD].partition(" ")[0])
            else name
        )
    if before.endswith("\\") and name[0] in "nrt":
        name = name[1:]
    elif name.lower() in {"key", "keys"} and (word := re.search(r"(\w+) +$", before)):
        name = f"{word[1]}_{name}"
    return name if is_secret_name(name) else ""


def _stands_alone(value: str) -> bool:
    """Whether it looks made by chance, and is no file: behind "PASS" stands which test passed."""
    return looks_random(value) and not _FILE.fullmatch(value)


def _without_content(match: re.Match[str], found: list[Hidden]) -> str:
    if not is_secret_name(match["name"]):
        return match[0]
    found.append(Hidden(match["name"], match[0][len(match["start"]) :], quoted=True))
    return f"{match['start']}{MARK}"


def taken_out(word: str, redacted: str) -> str:
    """What the mark stands for; "" where there is none, or more than one."""
    before, _, after = redacted.partition(MARK)
    return word[len(before) : len(word) - len(after)] if redacted.count(MARK) == 1 else ""


def _hidden(name: str, sign: str, match: re.Match[str]) -> str:
    """What of a value behind a secret's name must not be shown, without its quotes; "" for nothing."""
    value, quote = match["value"], match["quote"] or ""
    bare = value.strip("\\\"'")
    if NO_VALUE.fullmatch(bare) or NO_VALUE.fullmatch(value) or value == MARK:
        return ""
    if sign == ": " and not quote and _ADVICE.match(match.string, match.start("value")):
        return ""
    prose = sign == ": " and not quote and name.lower().rstrip("_0123456789") in {"pass", "pat"}
    if is_setting(name, bare) or (prose and not _stands_alone(bare)):
        return ""
    closed = quote and value.endswith(quote) and len(value) > len(quote)
    return value[len(quote) : len(value) - (len(quote) if closed else 0)]
