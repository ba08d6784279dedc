r"""Escape text of the program under test, so that no terminal, renderer, parser or CI runner acts on it.

Everything passes ``one_line`` or ``log_lines`` first, which return ``Visible`` text: no control
characters, no invisible or direction-changing ones, no lone surrogates (so it is legal XML 1.0 and
encodes as UTF-8), and nothing that a CI runner reads as a command. HTML and XML are then escaped by
the library that writes them, Markdown and GitHub's annotations by the functions here.

    >>> print(one_line("loss\x1b[2J\u202etxt.exe"))
    loss\x1b[2J\u202etxt.exe
"""

from __future__ import annotations

import re
from typing import NewType

from reprokit.redaction import redact_text

Visible = NewType("Visible", str)

_MAX_CHARACTERS = 2000
_MAX_COMBINING = 4
_LONGEST_SECRET = 4096

# Printable by Unicode's categories, yet drawn as nothing (property Default_Ignorable_Code_Point).
_DRAWN_AS_NOTHING = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_COMBINING_FLOOD = re.compile(
    f"([\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{{{_MAX_COMBINING}}})"
    "([\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+)"
)
# "::set-output name=x::y" at the start of a line commands GitHub's runner, and "##[error]x" does
# anywhere in it; "##vso[…]" commands Azure's and "##teamcity[…]" TeamCity's.
_RUNNER_COMMAND = re.compile(r"(?<!\S)::|##(?=[A-Za-z]*\[)")
_COLOUR_SEQUENCE = re.compile(r"\x1b\[[0-9;:]*m")

# An underscore between letters or digits is never emphasis; "#" within a line means something before a digit
# only, "!" before a bracket, "{" before another or a sign of attributes.
_MARKDOWN_SPECIAL = re.compile(
    r"[\\`*\[\]<&|~$^]|#(?=\d)|!(?=\[|$)|\{(?=[{%:.#]|$)|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"
)
_MARKDOWN_AT_START = re.compile(r"^(?:[-+](?!\d)|[=:>#]|\d+[.)](?=\s|$))")
_MENTION = re.compile(r"(?<![A-Za-z0-9_])@(?=[A-Za-z0-9])|(?<=&#35;)(?=\d)")
_AUTOLINK = re.compile(r"(?i):(?=//)|(?<=www)\.|(?<=mailto):|(?<=xmpp):")
_PLAIN_CODE = re.compile(r"^(?!\s)[^`|\\\r\n]+(?<!\s)$")
# What this tool itself writes so: commands, options, names of several parts, keys with values; other back
# quotes stay, as those of a text that someone else wrote.
_COMMAND = re.compile(
    r"`((?:(?:reprokit|make|git) |--[a-z])[^`]*"
    r"|[A-Za-z]\w*[_./][\w./*-]*(?:: [^`]+)?|[a-z_]+: [^`]+|\{[a-z_]+\}"
    r"|expected|checks|repeatable|nondeterminism|resume|seeds|volatile)`"
)


def one_line(text: object, *, limit: int = _MAX_CHARACTERS) -> Visible:
    r"""One line without secrets that shows every character of a text that would not show itself.

    Controls, line ends, format characters, blanks other than the space, lone surrogates, private and
    unassigned code points, and floods of combining marks become ``\x1b``, ``\u202e``, ``\n``; commands to a
    CI runner are broken. Text beyond ``limit`` characters is cut, and counted.
    """
    shown = _clipped_without_secrets(str(text), limit=limit)
    if not (shown.isascii() and shown.isprintable()):
        shown = _COMBINING_FLOOD.sub(lambda match: match[1] + "".join(map(_escape, match[2])), shown)
        shown = "".join(map(_show, shown))
    return Visible(_RUNNER_COMMAND.sub(lambda match: f"{match[0][0]}\\x{ord(match[0][1]):02x}", shown))


def shortened(text: object, *, width: int) -> Visible:
    """A name in at most so many characters: of a longer one the middle is left out, and an ellipsis says so.

    >>> shortened("train lr=0.001 seed 42", width=14)
    'train …seed 42'
    """
    name = one_line(text)
    end = width // 2
    return name if len(name) <= width else Visible(f"{name[: width - end - 1]}…{name[len(name) - end :]}")


def log_lines(text: str, *, max_lines: int = 100, limit: int = 500) -> tuple[Visible, ...]:
    """The last ``max_lines`` lines of a program's output, each made visible and cut at ``limit`` characters.

    Colour sequences are dropped; a carriage return ends a line, as progress bars use it; tabs become spaces.
    """
    text = _COLOUR_SEQUENCE.sub("", text[-max_lines * limit * 4 :]).replace("\r\n", "\n").replace("\r", "\n")
    kept = text.expandtabs(4).rstrip("\n").split("\n")[-max_lines:]
    return tuple(one_line(line, limit=limit) for line in kept) if text.strip() else ()


def _clipped_without_secrets(text: str, *, limit: int) -> str:
    """What is cut is not looked at, but for enough to know a secret that the cut would go through."""
    if len(text) <= limit:
        return redact_text(text)
    head = redact_text(text[: limit + _LONGEST_SECRET])
    return f"{head[:limit]}… ({len(text) - limit:,} more characters)"


def markdown(text: Visible) -> str:
    """Prose inside a Markdown paragraph, list item or table cell, escaped.

    What has a meaning in Markdown, GitHub's mathematics or HTML becomes a character reference, which is never
    read as structure (https://spec.commonmark.org/0.31.2/#entity-and-numeric-character-references). A mention
    does not notify anyone, a bare address does not become a link.
    """
    shown = text.strip()
    start = _MARKDOWN_AT_START.match(shown)
    length = start.end() if start else 0
    head = shown[: length - 1] + _reference(shown[length - 1]) if length else ""
    return _MENTION.sub(lambda match: f"{match[0]}<!-- -->", head + _within_a_line(shown[length:]))


def _within_a_line(text: str) -> str:
    body = _MARKDOWN_SPECIAL.sub(lambda match: _reference(match[0]), text)
    return _AUTOLINK.sub(lambda match: _reference(match[0]), body)


def pieces(text: Visible) -> list[tuple[Visible, bool]]:
    """A text at the code that stands in it between back quotes: each piece, and whether it is code.

    >>> pieces(Visible("see `reprokit doctor`"))
    [('see ', False), ('reprokit doctor', True)]
    """
    parts = _COMMAND.split(text)
    return [(Visible(part), number % 2 == 1) for number, part in enumerate(parts) if part]


def markdown_prose(text: Visible) -> str:
    """As ``markdown``, with what stands between back quotes in code type."""
    return "".join(
        markdown_code(piece) if is_code else _blanks_kept(piece) for piece, is_code in pieces(text)
    )


def _blanks_kept(text: Visible) -> str:
    inner = text.strip(" ")
    if not inner:
        return text
    start = text.index(inner)
    return f"{text[:start]}{markdown(Visible(inner))}{text[start + len(inner) :]}"


def markdown_code(text: Visible) -> str:
    """A name or value in code type, also inside a table cell."""
    if not text:
        return ""
    if _PLAIN_CODE.match(text):
        return f"`{text}`"
    return f"<code>{_within_a_line(text).replace('@', _reference('@'))}</code>"


def markdown_block(lines: tuple[Visible, ...]) -> str:
    """Lines in a fenced block, with a fence longer than any that the lines hold."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join((f"{fence}text", *lines, fence))


def github_message(text: Visible) -> str:
    """The message of a workflow command, in GitHub's own percent-encoding."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def github_property(text: Visible) -> str:
    """A property (``file``, ``title``) of a workflow command."""
    return github_message(text).replace(":", "%3A").replace(",", "%2C")


def _show(character: str) -> str:
    shows = character.isprintable() and not _DRAWN_AS_NOTHING.match(character)
    return character if shows else _escape(character)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _reference(sign: str) -> str:
    return f"&#{ord(sign)};"
