"""Whether what stands behind a secret's name is a secret, or only stands for one."""

from __future__ import annotations

import re
from itertools import pairwise

from reprokit.redaction.secret_names import is_secret_name, may_be_prose

MARK = "<redacted>"
_NUMBER = re.compile(r"[+-]?\d[\d.,_]*(?:e[+-]?\d+)?\s?(?:%|[munµ]?s|it/s)?|[+-]?(?:nan|inf)", re.IGNORECASE)
# 0.98, also in a record: how good something is, and nothing that one signs in with.
_FRACTION = re.compile(r"[+-]?(?:\d{0,6}\.\d{1,20}(?:[eE][+-]?\d{1,3})?|\d[eE]-\d{1,3})%?[)\]}.|]{0,4}")
# As a pattern of what a program prints begins: what stands there is looked for, and is no secret.
_EXPRESSION = r"\((?:\?P<\w{1,40}>|\?:|\\+[dsw]|\[\^?\\).*|\\+[dsw][*+].{0,3}|\[[^\]\s]*\\+[dsw][^\]\s]*\]"
NO_VALUE = re.compile(
    rf"(?:true|false|null|none|)|[|>][+-]?\d?|(?:[A-Za-z_.]{{2,60}}(?=\())?[\[({{]|{_EXPRESSION}|"
    r"<[\w/|-]{1,20}>|\$\{\{.*|\$\{\w+\}|(?-i:\$[A-Z_]{3,})",
    re.IGNORECASE,
)
_STANDS_FOR = re.compile(
    r"^\$|\$[{(]|\{\{|\}\}|^\{\w*\}$|^<.*>$|%\(|^%[a-z]$|\*{3}|\.{3}|…|x{4}|^\W*$|^!\w+$|^@\w+$",
    re.IGNORECASE,
)
_WORDS_FOR = frozenset(
    re.findall(
        r"[a-z]+",
        "your example changeme change placeholder dummy fake sample todo fixme redacted insert "
        "replace foo bar  secret secrets password passwd passphrase token key keys apikey string str "
        "text required optional none  null hidden env environ default basic bearer prompt ask vault "
        "keyring any bool int public private yes  no on off enabled disabled test testing here the my "
        "some this type true false include omit same origin  undefined nil file pass pw pwd user "
        "not needed unused username repo mypass mypassword mysecret mytoken custom field prose ",
    )
)
_CODE = re.compile(r"[\w.]*[(\[{].*|[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+[,;)\]:]*")
# What stands where a variable is not set: ${KEY:-value}, ${oc.env:KEY,value}.
_OR_DEFAULT = re.compile(r"\$\{[\w.:]{1,80}(?::?-|,[ ]?)(?P<value>[^{}$]+)\}")
_TEXT_OF_CALL = re.compile(r"\w+\([bru]?(?P<quote>[\"'])(?P<value>[^\"'\s]{12,500})(?P=quote)\)?")
_SHORTEST, _SHORTEST_IN_CODE, _LONG, _WORDS_OF_PROSE = 4, 6, 20, 6


def is_credential(name: str, value: str, *, quoted: bool, code: bool) -> bool:
    """Whether what stands behind a name is a credential, and no placeholder, variable or setting."""
    value, quoted = _meant(value, quoted=quoted)
    bare = value.partition("\\n")[0].strip("\\\"'`()[]{},; \t")
    quoted = quoted or (value.startswith("`") and value.endswith("`"))  # as Markdown quotes
    quoted = quoted or bool(code and re.match(r"[\[({]\s*[\"']", value))  # a list of texts
    in_list = not code and value.startswith("[")
    variable = not quoted and not in_list and bool(_CODE.fullmatch(value))
    if len(bare) < _SHORTEST or is_setting(name, bare) or stands_for_one(bare, quoted=quoted):
        return False
    if looks_random(bare):
        return not (code and variable)
    mixed = bool(re.search(r"\d", bare) and re.search(r"[A-Za-z]", bare))
    if quoted and mixed and len(bare) >= _LONG and re.fullmatch(r"[A-Za-z0-9+/_=.-]+", bare):
        return True
    if variable or _is_path(bare):
        return False
    if may_be_prose(name) or not is_secret_name(name) or _is_a_way(name):
        return (quoted or not code) and mixed and name.lower().endswith(("pass", "pwd", "pw"))
    long = len(bare) >= _LONG // 2 and not _words(bare) & _WORDS_FOR
    in_text = not quoted and mixed and bool(set(value) & {"'", '"'})  # 'host=x password=…'
    in_code = (quoted or in_text) and " " not in bare and (mixed or long) and len(bare) >= _SHORTEST_IN_CODE
    return in_code or not code


def _meant(value: str, *, quoted: bool) -> tuple[str, bool]:
    """The default of a variable, or the text of a call such as SecretStr("…"), and whether it is quoted."""
    default = _OR_DEFAULT.fullmatch(value.strip("\\\"'"))
    if default and looks_random(default["value"]):
        return default["value"], quoted
    text = None if quoted else _TEXT_OF_CALL.fullmatch(value)
    return (text["value"], True) if text and looks_random(text["value"]) else (value, quoted)


def stands_for_one(value: str, *, quoted: bool = True) -> bool:
    """Whether a value is written for another: a variable, a placeholder, a number, a sentence."""
    if _STANDS_FOR.search(value) or NO_VALUE.fullmatch(value) or value.count(" ") >= _WORDS_OF_PROSE:
        return True
    if not quoted and re.fullmatch(r"\d*\.\d+|0x[0-9A-Fa-f]+U?L*;?", value):
        return True
    if is_secret_name(value) and value.isupper():  # the name of another variable
        return True
    words = _words(value)
    return (
        not looks_random(value)
        and bool(words & _WORDS_FOR)
        and (
            words <= _WORDS_FOR
            or bool(re.search(r"your|example|changeme|placeholder|dummy|fake|sample", value.lower()))
        )
    )


def _words(value: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", value)}


def _is_a_way(name: str) -> bool:
    """Whether a name is as often of how someone signs in as of a secret."""
    return bool(
        re.search(r"(?:auth|authori[sz]ation|credentials?|creds|cookies?|bearer|jwt|otp|pat)$", name.lower())
    )


def _is_path(value: str) -> bool:
    return value.startswith(
        ("/", "./", "../", "~", "file:", "http:", "https:", "s3:", "gs:")
    ) and not looks_random(value)


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


def is_setting(name: str, value: str) -> bool:
    """Whether any name has a fraction, or one that may be prose, such as --max-token, a number: no secret."""
    return bool(_FRACTION.fullmatch(value) or (may_be_prose(name) and _NUMBER.fullmatch(value)))
