"""Secrets whose names, or what else tells them, stand on another line or in another entry."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from reprokit.redaction.credentials import is_credential, looks_random, stands_for_one
from reprokit.redaction.issued_tokens import ISSUED_TOKEN
from reprokit.redaction.line_rules import NAME_HINTS, holds_one_of
from reprokit.redaction.secret_names import SERVICES, is_secret_name

# Name and value on lines of their own, as in YAML, in wrapped code and in a container's list of variables.
_NEXT_LINE = re.compile(
    r"(?P<name>(?<![\w.-])[\w.-]{2,80})[\"']?[ \t]*(?:=>|[:=])[ \t]*"
    r"[(\[{>|+\\-]{0,3}[\"']*[ \t]*\r?\n[ \t]*(?:-[ \t]+)?"
    r"(?P<quote>[\"']?)(?P<value>[^\s\"',]{4,500})(?=[\"',]{0,4}[ \t)\]},;]*(?:\r?\n|\Z))"
)
# Words of a command, each on a line of its own: in JSON, YAML, behind a backslash, in a file of options.
_OPTION = r"[ \t]*(?:-[ \t]+)?[\"']?(?P<name>--?[\w.-]{2,80})[\"']?,?[ \t]*\\?[ \t]*\r?"
_NEXT_WORD = re.compile(
    rf"^{_OPTION}\n[ \t]*(?:-[ \t]+)?(?P<quote>[\"']?)(?P<value>[^\s\"',-][^\s\"',]{{3,500}})"
    r"(?=[\"']?,?[ \t]*\\?[ \t]*(?:\r?\n|\Z))",
    re.MULTILINE,
)
# Next to each other in a table or a list in HTML, and in a property list.
_CELL = (
    r"[ \t]*<(?:t[dh]|dt|key)(?:[ ][^<>\n]{0,200})?>\s{0,40}"
    r"(?P<name>[\w.-]{2,80})\s{0,40}</(?:t[dh]|dt|key)>\s{0,40}"
)
_NEXT_CELL = re.compile(
    rf"{_CELL}<(?:t[dh]|dd|string)(?:[ ][^<>\n]{{0,200}})?>\s{{0,40}}(?P<value>[^\s<>]{{8,500}})\s{{0,40}}</"
)
_VALUE = r"(?P<value>[^\s\"',}]{4,500})"
# As Weights & Biases keeps a setting in its config.yaml.
_DESCRIBED = re.compile(
    r"^[ \t]*[\"']?(?P<name>[\w.-]{2,80})[\"']?[ \t]*:[ \t]*\{?[ \t]*\r?\n"
    r"(?:[ \t]+[\"']?desc[\"']?:[^\n]*\n)?"
    rf"[ \t]+[\"']?value[\"']?[ \t]*:[ \t]*[\"']?{_VALUE}",
    re.MULTILINE,
)
_VALUE_AND_NAME = re.compile(
    rf"\bvalue[\"']?\s{{0,3}}[:=]\s{{0,3}}[\"']?{_VALUE}[\"']?,?\s{{0,40}}"
    r"[\"']?\b(?:name|key|variable)[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?P<name>[\w.-]{2,80})",
    re.IGNORECASE,
)
# What an option, a field of a class or a variable of Terraform is without another value.
_DEFAULT_OF_OPTION = re.compile(
    r"[\"'](?P<name>--?[\w.-]{2,80})[\"'],(?:\s{0,40}[\"']--?[\w-]{1,40}[\"'],)?"
    r"(?:(?![\"']--?\w|\badd_arg|\bdefault\s)[\s\S]){0,300}?"
    rf"\bdefault\s{{0,3}}=\s{{0,3}}[\"']{_VALUE}[\"']"
)
_DEFAULT_OF_FIELD = re.compile(
    r"\b(?P<name>\w{2,80})[ \t]*(?::[^=\n]{1,60})?=[ \t]*"
    r"(?:\w{1,20}\.)?(?:[Ff]ield|Option|Argument|attrib|ib)\("
    rf"\s{{0,40}}(?:[^()]{{0,200}}?\bdefault\s{{0,3}}=\s{{0,3}})?[\"']{_VALUE}[\"']"
)
_DEFAULT_OF_CALL = re.compile(  # api_key = os.environ.get("KEY", "…") over several lines
    r"\b(?P<name>\w{2,80})[\"']?\]?[ \t]*[:=][ \t]*[\w.]{1,80}\(\s{0,40}[\"'][\w.-]{1,80}[\"'],\s{0,40}"
    rf"(?:default\s{{0,3}}=\s{{0,3}})?[\"']{_VALUE}[\"']"
)
_DEFAULT_OF_VARIABLE = re.compile(
    rf"\bvariable\s{{1,3}}\"(?P<name>[\w.-]{{2,80}})\"\s{{0,3}}\{{[^{{}}]{{0,500}}?\bdefault\s{{0,9}}=\s{{0,3}}\"{_VALUE}\""
)
_NAME_AND_VALUE = re.compile(
    r"[\"']?\b(?:name|key|variable|machine)[\"']?\s{0,3}[:=]\s{0,3}"
    r"(?P<quote>[\"']?)(?P<name>[\w.-]{2,80})[\"']?\s{0,3},?\s{0,40}"
    r"[\"']?(?:value|password)[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?P<value>[^\s\"',}]{4,500})",
    re.IGNORECASE,
)
_NAMING = (
    *(_NEXT_LINE, _NEXT_WORD, _NAME_AND_VALUE, _DESCRIBED, _VALUE_AND_NAME),
    *(_DEFAULT_OF_OPTION, _DEFAULT_OF_FIELD, _DEFAULT_OF_CALL, _DEFAULT_OF_VARIABLE),
)
_DOCKER_LOGIN = re.compile(r"[\"']?\b_?auth[\"']?\s*[:=]\s*[\"']?(?P<value>[A-Za-z0-9+/]{8,}={0,2})")
_NETRC = re.compile(r"\bmachine\s+\S+\s+(?:login\s+\S+\s+)?(?:account\s+\S+\s+)?password\s+(?P<value>\S+)")
_KEY = (
    r"[ \t]*[\"']?key[\"']?[ \t]*[:=][ \t]*[\"']?"
    r"(?P<value>[\w+/=.-]{16,200})(?=[\"',]*[ \t,]*\r?(?:\n|\Z))"
)
_KEY_ALONE = re.compile(r"[ \t]*[\"']?key[\"']?[ \t]*[:=][ \t]*[\"']?[\w+/=.-]{16,200}[\"']?")
_USERNAME = re.compile(r"[\"']username[\"']")
_USER_AND_KEY = re.compile(r"[\"']key[\"']\s*:\s*[\"'](?P<value>[0-9a-f]{32,64})[\"']")
_NEAR = 500
# The name of a section or of a record that says what its key is for: in TOML, and in YAML, JSON and Python.
_SECTION = re.compile(
    rf"^[ \t]*\[+[ \t\"']*(?:[\w-]+\.)*(?:{SERVICES})[ \t\"']*\]+[^\n]*\n"
    rf"(?:(?![ \t]*\[)[^\n]*\n){{0,20}}?{_KEY}",
    re.MULTILINE | re.IGNORECASE,
)
_RECORD = re.compile(
    rf"^(?P<indent>[ \t]*)[\"']?(?:{SERVICES})[\"']?[ \t]*[:=][ \t]*(?:\{{|dict\()?[ \t]*\r?\n"
    rf"(?:(?P=indent)[ \t]+[^\n]*\n){{0,20}}?(?P=indent)(?=[ \t]){_KEY}",
    re.MULTILINE | re.IGNORECASE,
)
_LOGIN = re.compile(r"\blogin\(\s*(?:[^()]{0,200},)?\s*key\s*=\s*[\"'](?P<value>[^\s\"'\\]{8,200})[\"']")
_JOINED = re.compile(r"(?:\"\"|'')\.join\(\s*[\[(](?P<value>[^\])]{1,1000})[\])]")
_PART = re.compile(r"[\"']([^\"']*)[\"']")
_Span = tuple[int, int]

# Which line has such a form begin, go on or end: one must match for a text to be searched at all.
_OPEN = re.compile(
    r"(?P<name>(?<![\w.-])[\w.-]{2,80})[\"']?[ \t]*(?:=>|[:=])[ \t]*(?:[\w.]{1,80}(?=\())?"
    r"[(\[{>|+\\-]{0,3}[\"']*[ \t\r]*\Z"
)
_OPEN_ENDS = tuple(":=>([{|+\\-\"'")
_BESIDE = re.compile(  # a value that is no number
    r"\bvalue[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?=[\d.]{0,40}[A-Za-z+/_])|"
    r"\bdefault\s{0,9}=\s{0,3}[\"']|(?:[Ff]ield|Option|Argument)\("
)
_NAMED = re.compile(
    r"[\s{\"'-]*(?:name|key|variable|machine)[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?P<name>[\w.-]{2,80})[\"']?,?\s*\Z",
    re.IGNORECASE,
)
_OF_COMMAND, _OF_TABLE = re.compile(_OPTION), re.compile(_CELL)
_LONGEST_END = 120


def goes_on(line: str) -> bool:
    """Whether a line may be one of those over which a secret and its name are spread."""
    bare = line.rstrip()
    if bare.endswith(_OPEN_ENDS) and (match := _OPEN.search(bare[-_LONGEST_END:])):
        return is_secret_name(match["name"])
    if match := _OF_COMMAND.fullmatch(bare) or _OF_TABLE.fullmatch(bare):
        return is_secret_name(match["name"])
    if match := _NAMED.match(bare):
        return is_secret_name(match["name"]) or bool(_KEY_ALONE.match(bare))
    if _BESIDE.search(bare):
        return True
    return bool(_KEY_ALONE.match(bare)) or bare.lstrip().startswith("password ") or ".join(" in line


def of_several_lines(text: str, *, code: bool) -> Iterator[_Span]:
    """Where credentials begin and end whose names stand on another line, or in another entry."""
    lowered = text.lower() if text.isascii() else None
    if holds_one_of(NAME_HINTS, lowered):
        yield from _named(text, code=code)
    for match in _DOCKER_LOGIN.finditer(text) if holds_one_of(("auth",), lowered) else ():
        if re.fullmatch(r"[\x21-\x7e]+:[\x20-\x7e]{3,}", _decoded(match["value"])):
            yield match.span("value")
    for match in _NETRC.finditer(text) if holds_one_of(("machine",), lowered) else ():
        if not stands_for_one(match["value"]):
            yield match.span("value")
    if holds_one_of(("key",), lowered):
        yield from _of_keys(text)
    for match in _JOINED.finditer(text) if ".join(" in text else ():
        if ISSUED_TOKEN.search("".join(_PART.findall(match["value"]))):
            yield match.span("value")


def _named(text: str, *, code: bool) -> Iterator[_Span]:
    for pattern in _NAMING:
        for match in pattern.finditer(text):
            quoted = pattern not in {_NEXT_LINE, _NEXT_WORD} or bool(match["quote"])
            name, value = match["name"], match["value"]
            if is_secret_name(name) and is_credential(name, value, quoted=quoted, code=code):
                yield match.span("value")
    for match in _NEXT_CELL.finditer(text) if "</" in text else ():
        if is_secret_name(match["name"]) and looks_random(match["value"]):
            yield match.span("value")


def _of_keys(text: str) -> Iterator[_Span]:
    """Of keys that have no other name: next to a user's name, in a service's section, and in a call."""
    for match in _USER_AND_KEY.finditer(text):
        if _USERNAME.search(text, max(0, match.start() - _NEAR), match.end() + _NEAR):
            yield match.span("value")
    for pattern in (_SECTION, _RECORD, _LOGIN):
        for match in pattern.finditer(text):
            if looks_random(match["value"]) and not stands_for_one(match["value"]):
                yield match.span("value")


def _decoded(word: str) -> str:
    """The text that a word in base64 stands for; "" where it stands for none."""
    plain = word.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        content = base64.b64decode(plain + "=" * (-len(plain) % 4))
    except (ValueError, binascii.Error):
        return ""
    return content.decode("latin-1") if re.fullmatch(rb"[\t\n\r\x20-\x7e]+", content) else ""
