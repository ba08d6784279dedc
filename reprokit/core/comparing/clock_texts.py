"""Metrics of the clock that are text: durations, dates and speeds, such as ``0:11:57`` and ``46ms``.

>>> form_of("0:11:57"), form_of("2026-01-03 10:00:01"), form_of("1.2it/s"), seconds_in("46ms")
('duration', 'time stamp', 'rate', 0.046)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise

from reprokit.core.comparing.clock_metrics import LEFT, SLACK, UNITS_S, Span, words_of

_DATE = r"(?:19|20)\d\d[-/.]?\d\d[-/.]?\d\d|\d\d/\d\d(?:/\d\d(?:\d\d)?)?"
_HOURS = r"\d{1,2}[:-]\d\d[:-]\d\d(?:[.,]\d{1,9})?(?:Z| ?[-+]\d\d:?\d\d)?"
_NAMED_DAY = r"(?:[A-Z][a-z]{2},? )?[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d(?: \d{4})?"
_NUMBER = r"\d{1,15}(?:\.\d{0,15})?"
_TIME_UNIT = r"(?:ns|us|[µμ]s|ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)"
_SPAN = re.compile(r"(?:(?P<days>\d{1,5}) days?,? )?(?P<clock>\d{1,5}:\d\d(?::\d\d)?(?:[.,]\d{1,9})?)")
_TIME_OF_DAY = re.compile(r"[012]?\d:[0-5]\d:[0-5]\d(?:[.,]\d{1,9})?")
_WITH_UNIT = re.compile(rf"(?P<number>{_NUMBER}) ?(?P<unit>{_TIME_UNIT})", re.IGNORECASE)
_FORMS = (
    ("time stamp", re.compile(rf"(?:{_DATE})[T _-]{_HOURS}|{_NAMED_DAY}|[IWEF]\d{{4}} {_HOURS}|{_DATE}")),
    ("duration", _SPAN),
    ("duration", _WITH_UNIT),
    ("rate", re.compile(rf"{_NUMBER}(?:e[-+]?\d{{1,3}})? ?[A-Za-z]{{1,12}}/(?:s|sec|second)", re.IGNORECASE)),
    ("duration", re.compile(rf"{_NUMBER} ?{_TIME_UNIT}/[A-Za-z]{{1,12}}", re.IGNORECASE)),
)
#: Time zones differ by whole quarters of an hour, at most by so many seconds from UTC.
_ZONE_S, _MOST_ZONES_S = 900, 15 * 3600


def kind_of_texts(name: str, first: Sequence[str], other: Sequence[str], *, spans: tuple[Span, Span]) -> str:
    """As ``kind_of``, of a metric that is text: ``0:11:57``, ``46ms`` or ``2026-01-03 10:00:01``.

    A local time says no time zone, so that a time stamp fits at a whole number of quarters of an hour off.

    Returns:
        The kind, ``rate`` and ``time left`` too, or "" where the texts do not fit the runs' times.
    """
    forms = {form_of(text) for text in (*first, *other)}
    if len(forms) != 1 or len(first) != len(other) or "" in forms:
        return ""
    (form,) = forms
    both = list(zip((first, other), spans, strict=True))
    if form == "rate":
        return form
    if form == "time stamp":
        return form if all(_is_written_within(text, span) for texts, span in both for text in texts) else ""
    is_left = bool(words_of(name) & LEFT)
    fits = all(
        _fits([seconds_in(text) or 0.0 for text in texts], span, is_left=is_left) for texts, span in both
    )
    if fits:
        return "time left" if is_left else "duration"
    is_time_of_day = all(_is_within_the_day(text, span) for texts, span in both for text in texts)
    return "time stamp" if is_time_of_day else ""


def form_of(text: str) -> str:
    """What a text is of the clock: ``time stamp``, ``duration`` or ``rate``, or ""."""
    return next((kind for kind, form in _FORMS if form.fullmatch(text.strip())), "")


def seconds_in(text: str) -> float | None:
    """How long a duration is that is written as text, such as ``1 day, 0:11:57`` and ``46ms``."""
    match = _SPAN.fullmatch(text.strip())
    if match is not None:
        days, clock = match["days"], match["clock"].replace(",", ".").split(":")
        seconds: float = sum(float(part) * 60**at for at, part in enumerate(reversed(clock)))
        return seconds + 86_400 * int(days or 0)
    match = _WITH_UNIT.fullmatch(text.strip().partition("/")[0])
    if match is None:
        return None
    unit = match["unit"].lower()
    scale = next((UNITS_S[name] for name in UNITS_S if name.startswith(unit)), None)
    scale = scale or {
        "ns": 1e-9,
        "us": 1e-6,
        "µs": 1e-6,
        "μs": 1e-6,
        "m": 60.0,
        "h": 3600.0,
        "hr": 3600.0,
    }.get(unit)
    return float(match["number"]) * (scale or 1.0)


def _fits(seconds: Sequence[float], span: Span, *, is_left: bool) -> bool:
    """Whether durations that are written in whole seconds, perhaps, fit a run's time."""
    most = SLACK * (span[1] - span[0])
    if is_left:
        return seconds[-1] - 1 <= most
    rises = all(one <= two for one, two in pairwise(seconds))
    return (rises and seconds[-1] - 1 <= most) or sum(max(0.0, second - 1) for second in seconds) <= most


def _is_within_the_day(text: str, span: Span) -> bool:
    """Whether a text is a time of the day, such as ``09:41:07``, within a run, whatever the time zone."""
    if not _TIME_OF_DAY.fullmatch(text.strip()):
        return False
    after = (seconds_in(text) or 0.0) - (span[0] - 1)
    return after % _ZONE_S <= span[1] - span[0] + 2


def _is_written_within(text: str, span: Span) -> bool:
    """Whether a date and time lies within a run, whatever the time zone."""
    plain = text.strip().replace(",", ".").replace("/", "-").replace("_", " ")
    written = None
    for form in ("", "%a %b %d %H:%M:%S %Y", "%Y-%m-%d %H-%M-%S"):
        try:
            written = datetime.strptime(plain, form) if form else datetime.fromisoformat(plain)  # noqa: DTZ007
            break
        except ValueError:
            continue
    if written is None:
        return False
    after = (written if written.tzinfo else written.replace(tzinfo=UTC)).timestamp() - (span[0] - 1)
    return abs(after) <= _MOST_ZONES_S and after % _ZONE_S <= span[1] - span[0] + 2
