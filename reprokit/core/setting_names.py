"""Names for several sets of settings (``path=value``), each by what differs between them.

>>> told_apart([("training.lr=0.1", "env.A=1"), ("training.lr=0.01", "env.A=1")])
['lr=0.1', 'lr=0.01']
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_OPENING, _CLOSING, _QUOTES = "[{(", "]})", "'\""
_COMMAND = "command"


def told_apart(sets: Sequence[Sequence[str]]) -> list[str]:
    """A name for each set: the settings that not all have, each by the last part of its path.

    Of a command these are its options. A name is empty where a set has nothing that others lack, and all are
    where the sets are equal. Two sets that would have one name get all of their settings.
    """
    names = [" ".join(filter(None, difference.values())) for difference in differences(sets)]
    different = {tuple(one) for one in sets}
    return names if len(set(names)) >= len(different) else [" ".join(one) for one in sets]


def differences(sets: Sequence[Sequence[str]]) -> list[dict[str, str]]:
    """Of each set what differs, by the name of the setting: ``{"lr": "lr=0.1"}``; "" where it lacks one.

    Every set has the same names. A word of a command that is no option is named by its place.
    """
    found = [_entries(one) for one in sets]
    keys = dict.fromkeys(key for one in found for key in one)
    differing = [key for key in keys if len({(key in one, one.get(key)) for one in found}) > 1]
    names = {key: _last(key, differing) for key in differing}
    flags = {key for key in differing if any(key in one and one[key] is None for one in found)}
    return [
        {names[key]: _told(one, key, names[key], is_flag=key in flags) for key in differing} for one in found
    ]


def split_values(text: str) -> Iterator[str]:
    """A text cut at the commas that are outside brackets and quotes.

    >>> list(split_values("[64,64],[256]"))
    ['[64,64]', '[256]']
    """
    depth, quote, start = 0, "", 0
    for at, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in _QUOTES:
            quote = letter
        elif letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            depth -= 1
        elif letter == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    yield text[start:]


def _entries(settings: Sequence[str]) -> dict[tuple[str, ...], str | None]:
    """Path, as parts → value; of a command each option, whose value is None where it has none."""
    found: dict[tuple[str, ...], str | None] = {}
    for text in settings:
        path, _, value = text.partition("=")
        if path == _COMMAND and value.startswith("[") and value.endswith("]"):
            found.update(_options([_unquoted(word) for word in split_values(value[1:-1])]))
        else:
            found[tuple(path.split("."))] = _unquoted(value)
    return found


def _options(words: Sequence[str]) -> Iterator[tuple[tuple[str, ...], str | None]]:
    """``--lr=0.1``, ``--lr 0.1`` and ``lr=0.1`` by their names; other words by their places."""
    at, place = 0, 0
    while at < len(words):
        name, equals, value = words[at].partition("=")
        follows = words[at + 1] if at + 1 < len(words) else "-"
        if equals and name.lstrip("-").replace("-", "_").replace(".", "_").isidentifier():
            yield (_COMMAND, name.lstrip("-")), value
        elif name.startswith("-") and not _is_option(follows):
            yield (_COMMAND, name.lstrip("-")), follows
            at += 1
        elif name.startswith("-"):
            yield (_COMMAND, name.lstrip("-")), None
        else:
            place += 1
            yield (_COMMAND, "", str(place)), words[at]
        at += 1


def _is_option(word: str) -> bool:
    return word.startswith("-") and not word[1:].replace(".", "", 1).replace("e-", "", 1).isdecimal()


def _unquoted(word: str) -> str:
    word = word.strip()
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in _QUOTES else word


def _last(key: tuple[str, ...], keys: Sequence[tuple[str, ...]]) -> str:
    """The last part of a path where no other ends so, else all of it."""
    if key[1:2] == ("",):
        return f"word {key[-1]}"
    alone = [other[-1] for other in keys].count(key[-1]) == 1
    return key[-1] if alone else ".".join(key)


def _told(one: dict[tuple[str, ...], str | None], key: tuple[str, ...], name: str, *, is_flag: bool) -> str:
    if key not in one:
        return f"without {name}" if is_flag else ""
    value = one[key]
    if value is None:
        return name
    return value if key[1:2] == ("",) else f"{name}={value}"
