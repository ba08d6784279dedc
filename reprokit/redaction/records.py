"""Command lines and records without the values of what is named like a secret."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from reprokit.redaction.credentials import MARK, NO_VALUE, is_setting, looks_random
from reprokit.redaction.lines import redact_line
from reprokit.redaction.secret_names import is_secret_name, may_be_prose
from reprokit.redaction.texts import redact_text

_PROGRAM = re.compile(r"(?:^|/)(?:curl|wandb|mysql|mysqldump|mysqladmin|mariadb)$")
_DIGITS = re.compile(r"[0-9a-f]{32,64}")


def redact_command(arguments: Sequence[str]) -> tuple[str, ...]:
    """A command line without the values of options and variables whose names say that they are secret.

    >>> redact_command(["python", "train.py", "--wandb-api-key", "abc", "--seed", "7"])
    ('python', 'train.py', '--wandb-api-key', '<redacted>', '--seed', '7')
    """
    redacted: list[str] = []
    before = plural = program = ""
    for argument in arguments:
        name, sign, value = argument.partition("=")
        plural = _plural(argument, plural)
        program = argument.rpartition("/")[2] if _PROGRAM.search(argument) else program
        secret_follows = before.startswith("-") and is_secret_name(before)
        if secret_follows and not argument.startswith("--"):
            redacted.append(argument if is_setting(before, argument) else MARK)
        elif sign and is_secret_name(name) and not (NO_VALUE.fullmatch(value) or is_setting(name, value)):
            redacted.append(f"{name}={MARK}")
        elif plural and not argument.startswith("-"):
            redacted.append(MARK)
        else:
            redacted.append(_redact_of(program, argument) or _redact_after(before, argument))
        before = argument
    return _redact_together(arguments, redacted)


def _redact_together(arguments: Sequence[str], redacted: Sequence[str]) -> tuple[str, ...]:
    """Arguments redacted one by one, now without what the words before them tell, as in ``sshpass -p``."""
    words = [word if word and not re.search(r"\s", word) else "_" for word in arguments]
    together = redact_line(" ".join(words), []).split(" ")
    if len(together) != len(words):
        return tuple(redacted)
    return tuple(
        alone if alone != word or both == plain else (both if plain == word else MARK)
        for word, alone, plain, both in zip(arguments, redacted, words, together, strict=True)
    )


def _plural(argument: str, before: str) -> str:
    """The option that takes more than one secret, such as --api-keys, whose values are read."""
    if not argument.startswith("-"):
        return before
    plural = argument.endswith("s") and not argument.endswith("pass")
    return argument if plural and is_secret_name(argument) else ""


def _redact_of(program: str, argument: str) -> str:
    """An argument of a program that takes a password right behind a letter, without it; "" for others."""
    if program == "curl" and (match := re.match(r"-u[^\s:/-][^\s:/]*:", argument)):
        return f"{match[0]}{MARK}"
    if program == "wandb" and re.fullmatch(r"[0-9a-f]{32,}", argument):
        return MARK
    return f"-p{MARK}" if program not in {"", "curl", "wandb"} and re.match(r"-p\w", argument) else ""


def redact(value: Any) -> Any:
    """A record with every text in it redacted; the values of keys that say they are secret go whole."""
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, Mapping):
        of_user = "username" in value
        value = _without_value(value)
        return {redact_text(str(name)): _of(str(name), one, of_user=of_user) for name, one in value.items()}
    if isinstance(value, list | tuple):
        if all(isinstance(item, str) for item in value):  # may be a command: an option, then its value
            return list(redact_command(value))
        return [redact(item) for item in value]
    return value


def _without_value(record: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """A record of a name and a value, without the value where the name is a secret's."""
    name = next((record[one] for one in ("name", "key", "variable") if one in record), "")
    value = record.get("value")
    if not (isinstance(name, str) and isinstance(value, str) and is_secret_name(name)):
        return record
    no_secret = NO_VALUE.fullmatch(value) or is_setting(name, value)
    prose = may_be_prose(name) and not name.isupper() and not looks_random(value)
    return record if no_secret or prose else {**record, "value": MARK}


def _of(name: str, value: Any, *, of_user: bool) -> Any:
    """What a record has under a name; a key next to a user's name, or in a service's record, is a secret."""
    if is_secret_name(name.rpartition("/")[2]):  # of a nested record's own name: config/api_key
        return _marked(value)
    if name == "key" and of_user and _DIGITS.fullmatch(str(value)):
        return MARK
    if isinstance(value, Mapping) and is_secret_name(f"{name}_key"):
        key = value.get("key")
        value = {**value, "key": MARK} if isinstance(key, str) and looks_random(key) else value
    return redact(value)


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
