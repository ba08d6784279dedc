"""Secrets in one line of text: by the name before them, their place in an address, and their own shape.

>>> [one.value for one in hidden_in("export API_KEY='abc' # --hf-token2 def")]
['abc', 'def']
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from reprokit.issued_tokens import ISSUED_TOKEN, ISSUED_TOKEN_HINTS
from reprokit.secret_names import is_secret_name, may_be_prose

MARK = "<redacted>"

_NUMBER = re.compile(r"[+-]?\d[\d.,_]*(?:e[+-]?\d+)?\s?(?:%|[munµ]?s|it/s)?|[+-]?(?:nan|inf)", re.IGNORECASE)
NO_VALUE = re.compile(
    r"(?:true|false|null|none|)|<[\w/|-]{1,20}>|\$\{\{.*|\$\{\w+\}|(?-i:\$[A-Z_]{3,})", re.IGNORECASE
)

_QUOTE = r"(?:'\"'\"'|\\*(?:\"{3}|'{3})|(?:\\+\"){3}|\\*[\"'])"  # the first is how a shell quotes a quote
_VALUE = re.compile(
    rf"(?P<before>![\w/!:.-]*[ \t]+|[bru]{{1,2}}(?={_QUOTE}))?(?P<value>{MARK}|(?P<quote>{_QUOTE})"
    r"(?:(?!(?P=quote))(?:\\.|[^\r\n]))*(?:(?P=quote)|$)"
    r"|\[[^\]\r\n]*\]|\{[^{}\r\n]*\}|[^\s&;,]+(?:,(?=[^\s,=:]+(?:[\s,]|$))[^\s&;,]+)*)",
    re.IGNORECASE | re.MULTILINE,
)
_TYPE = (
    r"(?:Optional\[)?(?:str|bytes|SecretStr|Any|string)\]?(?:[ \t]*\|[ \t]*None)?"  # between name and value
)
_ASSIGNMENT = re.compile(
    rf"(?P<name>(?<![\w.-])[-+~]{{0,2}}[\w.-]++)"
    rf"(?P<sign>{_QUOTE}?\]?[ \t]*(?::[ \t]*{_TYPE}[ \t]*=|=>|:=|[=:])[ \t]*)(?!\Z)"
)
_SET = re.compile(r"(?:\bsetenv|\bset[ \t]+-g?x|%env)[ \t]+(?P<name>[\w.-]++)(?P<sign>[ \t]+)(?=\S)")
_OPTION = re.compile(  # also in a list of words, as programs print their arguments
    rf"(?P<name>(?<![\w.-])--?[\w.-]++)(?P<sign>[ \t]+(?!-)|{_QUOTE},[ \t]*(?!{_QUOTE}-))(?!\Z)"
)
_PAIR = re.compile(  # ("HF_TOKEN", "…"), as a sorted dictionary is printed
    rf"[(\[]{_QUOTE}(?P<name>[\w.-]++)"
    rf"(?P<sign>{_QUOTE},[ \t]*)(?={_QUOTE}[^\"'\\\r\n]{{1,500}}{_QUOTE}[ \t]*[)\]])"
)
_LOOSE = re.compile(  # in a table, a listing or a sentence, where what follows looks like made by chance
    rf"(?P<name>(?<![\w.-])[\w.-]++)"
    rf"(?P<sign>{_QUOTE}?(?:[ \t]*(?:->|<-|→|==|[|│┃])[ \t]*|[ \t]+(?:(?:is|was|set[ ]to)[ ])?))"
    r"(?=[\"']?(?P<value>[\w.+/=~-]{12,200})(?![\w+/=~-]))"
)
_ELEMENT = re.compile(r"(?P<start><(?P<name>[\w.-]++)(?:\s[^<>]*)?>)[^<]+(?=</)")
_HEADER = re.compile(
    r"(?P<name>\b(?:proxy-)?authorization|\b(?:set-)?cookie|\bx-(?:[a-z]+-){0,4}(?:key|token|auth|secret))"
    rf"(?P<sign>{_QUOTE}?[ \t]*[:=][ \t]*+{_QUOTE}?+)(?!{MARK})"
    r"(?:Digest [^\r\n]+|[^\r\n\"'\\]+)",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"\b(?P<kind>Bearer|Basic|ApiKey)\s+[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)

# A password may hold a slash: after "user:" everything up to the last "@" is taken for one.
USER_IN_URL = re.compile(
    r"(?P<scheme>\b[a-z][a-z0-9+.-]{0,30}:/{1,3})"
    r"(?:[^\s/?#@:\"'<>]*:[^\s\"<>]{0,2000}@|[^\s/?#@]*(?:@[^\s/?#@]*)*@)",
    re.IGNORECASE,
)
_USER_AT_HOST = re.compile(
    r"(?<![\w/.@:+-])(?!mailto:)[\w.+-]+:[^\s@:/\"'<>{}]+@(?=(?!sha\d+:)[\w-]+(?:\.[\w-]+)*(?:[:/]|$|\s))"
)
_SIGNED_QUERY = re.compile(r"(?P<name>[?&](?:[\w.-]*[_.-])?(?:sig|signature|key)=)[^\s&]+", re.IGNORECASE)
_WEBHOOK = re.compile(
    r"(?P<name>hooks\.slack\.com/(?:services|workflows)/|discord(?:app)?\.com/api/webhooks/|"
    r"hooks\.zapier\.com/hooks/|\bwebhook\.office\.com/|api\.telegram\.org/bot)[\w/:@-]+"
)
_OF_A_PROGRAM = re.compile(
    r"(?P<name>(?<!\S)(?:-u|--(?:proxy-)?user)[ =]+(?!\d+:\d+(?!\S))[^\s:/]+:|"
    r"(?<=[\"'])(?:-u|--(?:proxy-)?user)\\*[\"'],[ \t]*\\*[\"'](?!\d+:\d+\\*[\"'])[^\s:/]+:|"
    r"\blogin[ \t]+\S+[ \t]+password[ \t]+|"
    r"\b(?:docker|podman|helm|az|oc)[ \t](?:[\w./=@:-]+[ \t]+){0,6}?login[ \t]"
    r"(?:[\w./=@:-]+[ \t]+){0,6}?-p[ \t=]*|"
    r"\b(?:mysql|mysqldump|mysqladmin|mariadb)[ \t](?:[\w./=@:-]+[ \t]+){0,6}?-p(?=\w)|"
    r"\bsshpass[ \t]+-p[ \t]*|\bwandb[ \t]+login[ \t]+(?!-)|"
    r"\blogin\\*[\"'],[ \t]*\\*[\"'](?=[0-9a-f]{32}))[^\s\"']+"
)
_CALL = re.compile(  # of a function that takes a password, or a statement of a database
    r"(?P<name>(?:\b|(?<=\\n))login\((?:[^()\r\n]{0,80},)?[ \t]*key[ \t]*=[ \t]*\\*[\"']|"
    r"(?:\b|(?<=\\n))login\([ \t]*\\*[\"'](?:[^\"'\\\r\n]{0,80}\\*[\"'],[ \t]*\\*[\"'])?|"
    r"(?i:\b(?:user|host|dbname|port|uid|user id)=[^\s,;()\"']+(?:;|[ ])[ ]*"
    r"(?:[\w ]{1,20}=[^\s,;()\"']+(?:;|[ ])[ ]*){0,8}?(?:password|pwd)=)(?=[^\s,;()]+(?:[ ;\"']|$))|"
    r"\b(?:auth[ \t]*=[ \t]*|\w*BasicAuth)\([ \t]*\\*[\"'][^\"'\\\r\n]{0,80}\\*[\"'],[ \t]*\\*[\"']|"
    r"\b(?:identified[ \t]+by|IDENTIFIED[ \t]+BY|password|PASSWORD)[ \t]+')[^\s\"'\\]+"
)

# A variable such as KAGGLE_KEY: what is long and has digits among its letters is no name of a column.
_KEY_VARIABLE = re.compile(
    r"\b(?P<name>[A-Z][A-Z0-9_]*_KEY(?:_?[A-Z0-9]{1,20}){0,2}=[\"']?)(?=\w*\d)(?=\w*[A-Za-z])\w{20,}"
)
# As a browser writes an address with user and password into another one.
_ENCODED_USER = re.compile(r"(?P<scheme>%3A%2F%2F)[^\s/@&=]{1,200}%3A[^\s/@&=]{1,200}%40", re.IGNORECASE)
PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
# What stands in place of what each pattern finds, before names are looked at and after it; and of what, in
# lower case, one must stand in a line for the pattern to find anything.
_Rule = tuple[re.Pattern[str], str, tuple[str, ...]]
_BEFORE_NAMES: tuple[_Rule, ...] = (
    (ISSUED_TOKEN, MARK, ("",)),
    (USER_IN_URL, rf"\g<scheme>{MARK}@", ("@",)),
    (_ENCODED_USER, rf"\g<scheme>{MARK}%40", ("%3a%2f%2f",)),
    (_KEY_VARIABLE, rf"\g<name>{MARK}", ("_key",)),
    (_CALL, rf"\g<name>{MARK}", ("login(", "password", "pwd=", "auth", "identified")),
    (_HEADER, rf"\g<name>\g<sign>{MARK}", ("authorization", "cookie", "x-")),
    (_SCHEME, rf"\g<kind> {MARK}", ("bearer", "basic", "apikey")),
)
_AFTER_NAMES: tuple[_Rule, ...] = (
    (_SIGNED_QUERY, rf"\g<name>{MARK}", ("sig=", "signature=", "key=")),
    (_WEBHOOK, rf"\g<name>{MARK}", ("hooks.", "webhook", "api.telegram.org/bot")),
    (_OF_A_PROGRAM, rf"\g<name>{MARK}", ("-u", "user", "login", "mysql", "mariadb", "sshpass")),
    (_USER_AT_HOST, f"{MARK}@", ("@",)),
)
# Every name of a secret holds one of these.
NAME_HINTS = (
    *("secret", "pass", "pat", "otp", "pwd", "pw", "token", "key", "cred", "auth", "bearer", "jwt"),
    *("cookie", "connection", "signature"),
)
# Where none of this stands there is nothing to look for: in most lines. In lower case.
HINTS = (
    *("secret", "pass", "pat", "otp", "pwd", "pw", "token", "key", "cred", "auth", "bearer", "basic", "jwt"),
    *(
        "cookie",
        "connection",
        "signature",
        "identified",
        "sig=",
        "://",
        "@",
        "hooks.",
        "-u",
        "user",
        "login",
        "discord",
        "mysql",
        "mariadb",
    ),
    *("webhook", "telegram", "%3a%2f%2f"),
    *ISSUED_TOKEN_HINTS,
)
_LONGEST_WORD = 40


class Hidden(NamedTuple):
    """What is taken out of a line: the name before it ("" where its shape or place told), and its value."""

    name: str
    value: str
    quoted: bool


def redact_line(text: str, found: list[Hidden]) -> str:
    """A line without its secrets, which are added to ``found``."""
    # Of letters that are not ASCII some are others in lower case than a pattern takes them for.
    lowered = text.lower() if text.isascii() else None
    if not holds_one_of(HINTS, lowered):
        return text
    for pattern, template, hints in _BEFORE_NAMES:
        if holds_one_of(hints, lowered):
            text = _put(pattern, template, text, found)
    if holds_one_of(NAME_HINTS, lowered):
        for pattern in (_ASSIGNMENT, _OPTION, _PAIR, _SET, _LOOSE):
            text = _without_named(pattern, text, found)
        text = _ELEMENT.sub(lambda match: _without_content(match, found), text)
    for pattern, template, hints in _AFTER_NAMES:
        if holds_one_of(hints, lowered):
            text = _put(pattern, template, text, found)
    return text


def holds_one_of(hints: tuple[str, ...], lowered: str | None) -> bool:
    """Whether one of some words stands in a text in lower case; None is a text in which each may stand."""
    if lowered is None:
        return True
    return any(hint in lowered for hint in hints)


def hidden_in(line: str) -> tuple[Hidden, ...]:
    """What ``redact_text`` takes out of a line, without the quotes around it."""
    found: list[Hidden] = []
    redact_line(line, found)
    return tuple(one for one in found if one.value and MARK not in one.value)


def looks_random(word: str) -> bool:
    """Whether letters and digits change so often in a part of it that no one can have meant a name."""
    return any(map(_looks_random, re.findall(r"[^\W_]{8,}", word)))


def _looks_random(part: str) -> bool:
    kinds = [_kind(one) for one in re.sub(r"[A-Z]?[a-z]{3,}", "a", part)]
    changes = sum(first != second for first, second in pairwise(kinds))
    digits, letters = sum(map(str.isdigit, part)), sum(map(str.isalpha, part))
    return digits >= 2 and letters >= 2 and changes >= 4 and changes * 6 >= len(part)


def _kind(sign: str) -> int:
    return 1 if sign.isdigit() else 2 if sign.isupper() else 3 if sign.islower() else 0


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
        if not name or (pattern is _LOOSE and not looks_random(match["value"])):
            continue
        value = _VALUE.match(text, match.end())
        if value and (hidden := _hidden(name, match["sign"], value)):
            begin = value.start("value") + len(value["quote"] or "")
            parts += [text[at:begin], MARK]
            at = begin + len(hidden)
            found.append(Hidden(name, hidden, quoted=bool(value["quote"])))
    return "".join([*parts, text[at:]]) if parts else text


def _secret_name(match: re.Match[str], text: str) -> str:
    """The name where it is a secret's: also "API key", and one behind the two signs of a line's end."""
    name, begin = match["name"], match.start("name")
    before = text[max(0, begin - _LONGEST_WORD) : begin]
    if is_secret_name(name):
        of_a_path = before.endswith("/") and match["sign"] == ": "  # what an error says of a file
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


def _without_content(match: re.Match[str], found: list[Hidden]) -> str:
    if not is_secret_name(match["name"]):
        return match[0]
    found.append(Hidden(match["name"], match[0][len(match["start"]) :], quoted=True))
    return f"{match['start']}{MARK}"


def taken_out(word: str, redacted: str) -> str:
    """What the mark stands for; "" where there is none, or more than one."""
    before, _, after = redacted.partition(MARK)
    return word[len(before) : len(word) - len(after)] if redacted.count(MARK) == 1 else ""


def is_setting(name: str, value: str) -> bool:
    """Whether a name that may be prose, such as --max-token, has a number: a setting, and no secret."""
    return bool(may_be_prose(name) and _NUMBER.fullmatch(value))


def _hidden(name: str, sign: str, match: re.Match[str]) -> str:
    """What of a value behind a secret's name must not be shown, without its quotes; "" for nothing."""
    value, quote = match["value"], match["quote"] or ""
    bare = value.strip("\\\"'")
    if NO_VALUE.fullmatch(bare) or value == MARK:
        return ""
    prose = sign == ": " and name.lower().rstrip("_0123456789") in {"pass", "pat"}
    if is_setting(name, bare) or prose:
        return ""
    closed = quote and value.endswith(quote) and len(value) > len(quote)
    return value[len(quote) : len(value) - (len(quote) if closed else 0)]
