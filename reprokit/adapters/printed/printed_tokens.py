"""Numbers in a printed line, and the text that names each.

>>> [(token.value, token.unit) for token in tokens_in("loss: 0.5 | 124M params | 0:01:02")]
[(0.5, ''), (124, 'M'), ('0:01:02', '')]
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from reprokit.adapters.reading import integer

_DIGITS = r"(?:[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_ZONE = r"(?:Z|[ ]?[-+]\d\d:?\d\d)?"
_DAY = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),?[ ])?"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_TIME_UNIT = r"(?:ns|us|[µμ]s|ms|s|secs?|seconds?|mins?|minutes?|hrs?|hours?)"
_TOKEN = re.compile(
    rf"""
    (?<![\w.])(?<![A-Za-z_]-)
    (?:
      (?P<stamp>
          (?:19|20)\d\d[-/.]\d\d[-/.]\d\d(?:[T _]\d\d:\d\d(?::\d\d)?(?:[.,]\d{{1,9}})?{_ZONE})?
        | \d\d/\d\d(?:/\d\d(?:\d\d)?)?[ ]\d\d:\d\d:\d\d(?:[.,]\d{{1,9}})?
        | {_DAY}{_MONTH}[ ]{{1,2}}\d{{1,2}}[ ]\d\d:\d\d:\d\d(?:[ ]\d{{4}})?
        | [IWEF]\d{{4}}[ ]\d\d:\d\d:\d\d\.\d{{6}}
      )(?![\w:])
    | (?P<span>(?:\d{{1,5}}[ ]days?,?[ ])?\d{{1,5}}:\d\d(?::\d\d)?(?:[.,]\d{{1,9}})?)(?=[\s,;|\])<>}}'"]|$)
    | (?P<rate>{_DIGITS}[ ]?(?:[A-Za-z]{{1,12}}/(?:s|sec|second)|{_TIME_UNIT}/[A-Za-z]{{1,12}}))(?![\w/])
    | (?P<time>{_DIGITS}(?:[mh](?![\w/]|[ ]?=)|[ ]?{_TIME_UNIT})(?![\w/]))
    | (?P<part>\d{{1,15}})[ ]*/[ ]*(?P<of>\d{{1,15}})(?![\w/.]\w)
    | (?P<number>[-+]?{_DIGITS})(?P<unit>%|[A-Za-z]{{1,12}}(?:/[A-Za-z]{{1,12}})?)?(?!\w|-[A-Za-z_]|\.\w)
    )
  | (?<=[A-Za-z_])-?(?P<glued>\d+\.\d+)(?!\w|\.\d)
  | (?:(?<=[:=])\s*|(?<=[\s|,]))(?P<odd>[-+]?(?:nan|inf(?:inity)?))(?=\s*(?:$|[|,;)\]}}'"])|\s{{2,}}|\s+-\s)
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_NUMBER = re.compile(rf"[-+]?{_DIGITS}|[-+]?(?:nan|inf(?:inity)?)", re.ASCII | re.IGNORECASE)
#: A minus that stands apart from its number.
_NEGATED = re.compile(r"[:=]\s*-\s+$")
_SEGMENT_ENDS = re.compile(r"[|,;\t]|\s-\s|\s{3,}")
_AROUND = " \t:=|,;<>#*.─━╸╺█▏▎▍▌▋▊▉'\"-"
_BRACKETS = {")": "(", "]": "[", "}": "{"}
_MAX_INTEGER_DIGITS = 640
_MAX_LABEL, _MOST_LOOKED_AT = 120, 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A number, or a text that is a date, a duration or a speed.

    Attributes:
        value: The number, or the text.
        of: The second number of ``3/10``, or None.
        unit: What is written at a number's end, such as ``%``.
        kind: What a text is called that has no name: ``date``, ``time`` or ``speed``.
        begin: Where it stands.
        end: Where it ends.
    """

    value: int | float | str
    of: int | None = None
    unit: str = ""
    kind: str = ""
    begin: int
    end: int


def tokens_in(line: str, begin: int = 0) -> list[Token]:
    """The numbers in a line from a position on, in order."""
    return [_token(match) for match in _TOKEN.finditer(line, begin)]


def label_of(text: str) -> str:
    """The name in the text before a number: its last part, without marks around it."""
    text = text[-_MOST_LOOKED_AT:]
    negated = " -" if _NEGATED.search(text) else ""
    text = text.rstrip(_AROUND)
    parts = [part for part in _SEGMENT_ENDS.split(text) if part.strip(_AROUND + "()[]{}")]
    label = parts[-1] if parts else ""
    opened = [
        at
        for at, mark in enumerate(label)
        if mark in "([{" and label.count(mark) > label.count(_closing(mark))
    ]
    label = label[opened[-1] + 1 :] if opened and label[opened[-1] + 1 :].strip(_AROUND) else label
    label = label.strip(_AROUND)
    while label and label[0] in ")]}":
        label = label[1:].strip(_AROUND)
    while label and label[-1] in "([{":
        label = label[:-1].strip(_AROUND)
    return " ".join(label.split())[-_MAX_LABEL:] + negated


def cell_value(cell: str) -> int | float | str:
    """A table's cell: a number if it is written like one."""
    return _value(cell) if _NUMBER.fullmatch(cell) else cell


def _closing(mark: str) -> str:
    return next(closing for closing, opening in _BRACKETS.items() if opening == mark)


def _token(match: re.Match[str]) -> Token:
    begin, end = match.span()
    texts = {"stamp": "date", "span": "time", "rate": "speed", "time": "time"}
    for name, kind in texts.items():
        if match[name]:
            return Token(value=match[name], kind=kind, begin=begin, end=end)
    if match["part"]:
        return Token(value=int(match["part"]), of=int(match["of"]), begin=begin, end=end)
    return Token(
        value=_value(match["number"] or match["odd"] or match["glued"]),
        unit=match["unit"] or "",
        begin=begin,
        end=end,
    )


def _value(text: str) -> int | float | str:
    """A number with the digits that were printed; a text where it is none that Python holds."""
    plain = text.replace(",", "")
    if plain.lower() == "-nan":  # no float keeps its sign in a comparison
        return text
    if plain.lstrip("+-").isdigit():
        return integer(plain) if len(plain) <= _MAX_INTEGER_DIGITS else text
    value = float(plain)
    return text if value in (float("inf"), float("-inf")) and "inf" not in text.lower() else value
