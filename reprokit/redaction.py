"""Secrets taken out of every command, address and text before it is written, shown or sent.

What is taken out leaves a mark, so that a reader sees that something stood there. Three ways lead to a
secret: the name before it (``--api-key``, ``MYTOKEN=``, ``"password":``), its place in an address, and
its own shape (a token that begins with its issuer's letters). Whatever is recorded goes through here
once more than needed rather than once less: redacting twice gives the same text.

    >>> redact_url("https://alice:hunter2@example.org/lab/code.git?token=abc")
    'https://example.org/lab/code.git'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reprokit.issued_tokens import ISSUED_TOKEN, ISSUED_TOKEN_HINTS

MARK = "<redacted>"

# How the names of options, variables, keys and parameters end whose value is a secret.
_ALWAYS = (
    r"secrets?|passw(?:or)?ds?|passphrases?|passcodes?|pgpass|credentials?|creds|authori[sz]ation|bearer|jwt|"
    r"(?:api|access|account|shared|secret|private|signing|encryption|master|auth|deploy|subscription|license)"
    r"[_-]?keys?(?:[_-]?ids?)?|connection[_-]?string|shared[_-]?access[_-]?signature"
)
# Only as a word of its own: compass, bypass and spat are none of these.
_AS_A_WORD = r"pass|pat|pwd|pw|auth|cookies?|otp"
_NAME = rf"[\w.-]*(?:{_ALWAYS}|token)|(?:[\w.-]*[_.-])?(?:{_AS_A_WORD})"
_SECRET_NAME = re.compile(rf"[-+~]{{0,2}}(?:{_NAME})", re.IGNORECASE)
# Language models have tokens too, and a shell has a working directory.
_NO_SECRET_NAME = re.compile(
    r"(?i:(?:.*[_.-])?(?:pad|eos|bos|unk|sep|cls|end|mask|stop|start|image|audio|video|special|prefix|suffix|"
    r"next|last|first|new|per|num|extra)[_-]?token)|(?i:no[_-].*)|(?:OLD)?PWD"
)
_MAYBE_PROSE = re.compile(r"(?:.*[_.-])?(?:pass|pat|token)", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?\d[\d.,_]*(?:e[+-]?\d+)?\s?(?:%|[munµ]?s|it/s)?|[+-]?(?:nan|inf)", re.IGNORECASE)
_NO_VALUE = re.compile(r"(?:true|false|null|none|)|<[\w/|-]{1,20}>", re.IGNORECASE)

_QUOTE = r"(?:'\"'\"'|\\*[\"'])"  # the first is how a shell quotes a quote
_VALUE = (
    rf"(?P<value>{MARK}|(?P<quote>{_QUOTE})"
    r"(?:(?!(?P=quote))(?:\\.|[^\r\n]))*(?:(?P=quote)|$)"
    r"|\[[^\]\r\n]*\]|\{[^{}\r\n]*\}|[^\s&;,]+(?:,(?=[^\s,=:]+(?:[\s,]|$))[^\s&;,]+)*)"
)
_ASSIGNMENT = re.compile(
    rf"(?P<name>(?<![\w.-])[-+~]{{0,2}}(?:{_NAME}))(?P<sign>{_QUOTE}?[ \t]*(?:=>|:=|[=:])[ \t]*){_VALUE}",
    re.IGNORECASE | re.MULTILINE,
)
_OPTION = re.compile(  # also in a list of words, as programs print their arguments
    rf"(?P<name>(?<![\w.-])--?(?:{_NAME}))(?P<sign>[ \t]+(?!-)|{_QUOTE},[ \t]*(?!{_QUOTE}-)){_VALUE}",
    re.IGNORECASE | re.MULTILINE,
)
_ELEMENT = re.compile(rf"(?P<name><(?:{_NAME})>)[^<]+(?=</)", re.IGNORECASE)
_HEADER = re.compile(
    r"(?P<name>\b(?:proxy-)?authorization|\b(?:set-)?cookie|\bx-(?:[a-z]+-){0,4}(?:key|token|auth|secret))"
    rf"(?P<sign>{_QUOTE}?[ \t]*[:=][ \t]*+{_QUOTE}?+)(?!{MARK})"
    r"(?:Digest [^\r\n]+|[^\r\n\"'\\]+)",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"\b(?P<kind>Bearer|Basic|ApiKey)\s+[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)

# A password may hold a slash: after "user:" everything up to the last "@" is taken for one.
_USER_IN_URL = re.compile(
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
    r"\bsshpass[ \t]+-p[ \t]*|\bwandb[ \t]+login[ \t]+(?!-)|"
    r"\blogin\\*[\"'],[ \t]*\\*[\"'](?=[0-9a-f]{32}))[^\s\"']+"
)

# A variable such as KAGGLE_KEY: what is long and has digits among its letters is no name of a column.
_KEY_VARIABLE = re.compile(r"\b(?P<name>[A-Z][A-Z0-9_]*_KEY=[\"']?)(?=\w*\d)(?=\w*[A-Za-z])\w{20,}")
# As a browser writes an address with user and password into another one.
_ENCODED_USER = re.compile(r"(?P<scheme>%3A%2F%2F)[^\s/@&=]{1,200}%3A[^\s/@&=]{1,200}%40", re.IGNORECASE)
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
# Where none of this stands there is nothing to look for: in most lines. In lower case.
_HINTS = (
    *("secret", "pass", "pat", "otp", "pwd", "pw", "token", "key", "cred", "auth", "bearer", "basic", "jwt"),
    *("cookie", "connection", "signature", "sig=", "://", "@", "hooks.", "-u", "user", "login", "discord"),
    *("webhook", "telegram", "%3a%2f%2f"),
    *ISSUED_TOKEN_HINTS,
)
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
        text = _PRIVATE_KEY.sub(MARK, text)
    lowered = text.lower()
    if not any(hint in lowered for hint in _HINTS):
        return text
    return "\n".join(map(_redact_line, text.split("\n")))


def _redact_line(text: str) -> str:
    lowered = text.lower()
    if not any(hint in lowered for hint in _HINTS):
        return text
    text = ISSUED_TOKEN.sub(MARK, text)
    text = _USER_IN_URL.sub(rf"\g<scheme>{MARK}@", text)
    text = _ENCODED_USER.sub(rf"\g<scheme>{MARK}%40", text)
    text = _KEY_VARIABLE.sub(rf"\g<name>{MARK}", text)
    text = _HEADER.sub(rf"\g<name>\g<sign>{MARK}", text)
    text = _SCHEME.sub(rf"\g<kind> {MARK}", text)
    text = _ASSIGNMENT.sub(_without_value, text)
    text = _OPTION.sub(_without_value, text)
    text = _ELEMENT.sub(rf"\g<name>{MARK}", text)
    text = _SIGNED_QUERY.sub(rf"\g<name>{MARK}", text)
    text = _WEBHOOK.sub(rf"\g<name>{MARK}", text)
    text = _OF_A_PROGRAM.sub(rf"\g<name>{MARK}", text)
    return _USER_AT_HOST.sub(f"{MARK}@", text)


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
    rest = _USER_IN_URL.sub(r"\g<scheme>", f"{scheme}://{rest}").partition("://")[2]
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
        secret_follows = before.startswith("-") and _is_secret_name(before)
        if secret_follows and not argument.startswith("--"):
            redacted.append(argument if _is_setting(before, argument) else MARK)
        elif sign and _is_secret_name(name) and not (_NO_VALUE.fullmatch(value) or _is_setting(name, value)):
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
            redact_text(str(name)): _marked(inner) if _is_secret_name(str(name)) else redact(inner)
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
        *(value for name, value in variables.items() if _is_secret_name(name)),
        *map(_taken_out, command, redact_command(command)),
        *(password for word in (*variables.values(), *command) for password in _passwords(word)),
    }
    usable = (one for one in found if len(one) >= _SHORTEST_KNOWN and not one.startswith(("/", "-", "{")))
    return tuple(sorted(usable, key=lambda one: (-len(one), one)))


def without(text: str, secrets: Iterable[str]) -> str:
    """A text with these values taken out, wherever they stand."""
    for secret in secrets:
        text = text.replace(secret, MARK)
    return redact_text(text)


def _taken_out(word: str, redacted: str) -> str:
    """What the mark stands for; "" where there is none, or more than one."""
    before, _, after = redacted.partition(MARK)
    return word[len(before) : len(word) - len(after)] if redacted.count(MARK) == 1 else ""


def _passwords(word: str) -> Iterable[str]:
    for match in _USER_IN_URL.finditer(word):
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


def _is_setting(name: str, value: str) -> bool:
    """Whether a name that may be prose, such as --max-token, has a number: a setting, and no secret."""
    return bool(_MAYBE_PROSE.fullmatch(name) and _NUMBER.fullmatch(value))


def _without_value(match: re.Match[str]) -> str:
    """The name with a mark for its value, or all of it where the value is no secret."""
    value, quote = match["value"], match["quote"] or ""
    bare = value.strip("\\\"'")
    if not _is_secret_name(match["name"]) or _NO_VALUE.fullmatch(bare):
        return match[0]
    if _MAYBE_PROSE.fullmatch(match["name"]) and (
        _NUMBER.fullmatch(bare) or (match["sign"] == ": " and match["name"].lower() in {"pass", "pat"})
    ):
        return match[0]
    closing = quote if quote and value.endswith(quote) and len(value) > len(quote) else ""
    return f"{match['name']}{match['sign']}{quote}{MARK}{closing}"


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
        return value if _NO_VALUE.fullmatch(value) else MARK
    if isinstance(value, Mapping):
        return {redact_text(str(name)): _marked(inner) for name, inner in value.items()}
    return [_marked(item) for item in value] if isinstance(value, list | tuple) else value


def _is_secret_name(name: str) -> bool:
    bare = name.lstrip("-+~").strip("\\\"'")
    return bool(_SECRET_NAME.fullmatch(bare)) and not _NO_SECRET_NAME.fullmatch(bare)
