"""Names of metrics: which are compared, and what happened where two records have other names.

Names are exact sequences of code points.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase, translate
from glob import escape
from itertools import islice
from typing import Any

from reprokit.core import json_values, problems
from reprokit.core.comparing.steps import Lines
from reprokit.core.problems import ProblemLog

MAX_NAMES = 100_000
#: What a metric that says how well a training does is called, most telling first; lower case.
RESULT_WORDS = ("return", "reward", "score", "accuracy")
_NEAREST = 5
_LOOKED_THROUGH = 2_000  # names: more take seconds
_SMALLER_IS_BETTER = ("loss", "error", "regret", "perplexity", "cost")
_LARGER_IS_BETTER = (*RESULT_WORDS, "success", "auc", "f1")
#: What a metric of data that was not trained on is called.
_HELD_OUT = ("eval", "val", "test")
HIGHER, LOWER = "higher", "lower"


class Selection:
    """Which metrics are compared: ``metrics`` (None: all), without the ``fnmatch`` patterns ``ignore``."""

    def __init__(
        self, log: ProblemLog, *, metrics: Sequence[str] | None = None, ignore: Sequence[str] = ()
    ) -> None:
        self._log = log
        self._asked_for = None if metrics is None else frozenset(metrics)
        self._ignore = tuple((pattern, re.compile(translate(pattern))) for pattern in ignore)
        self._known: dict[str, bool] = {}

    def wants(self, name: str) -> bool:
        known = self._known.get(name)
        return self._decide(name) if known is None else known

    def ignores(self, name: str) -> bool:
        """Whether a pattern leaves a metric or the step out; noted once for each name."""
        pattern = next((text for text, matches in self._ignore if matches.match(name)), None)
        if pattern is None:
            return False
        detail = f"{quoted(name)} by the pattern {quoted(pattern)}"
        if name not in self._known:
            self._log.add("ignored_metric", problems.BOTH, detail=detail)
        return True

    def name_unknown(self, seen: Collection[str]) -> None:
        """Note each metric that was asked for and that neither side has."""
        for name in sorted(self._asked_for or ()):
            if name not in seen and not self.ignores(name):
                near = ", ".join(map(quoted, nearest(name, self._known.keys() - {name})))
                hint = f"; the nearest: {near}" if near else ""
                self._log.add("unknown_metric", problems.BOTH, detail=f"{quoted(name)}{hint}")

    def all_seen(self, seen: Collection[str]) -> bool:
        return all(name in seen for name in self._asked_for or ())

    def _decide(self, name: str) -> bool:
        wanted = (self._asked_for is None or name in self._asked_for) and not self.ignores(name)
        if len(self._known) >= MAX_NAMES:
            self._log.add("too_many_metrics", problems.BOTH)
            return False
        self._known[name] = wanted
        return wanted


def better(name: str) -> str:
    """``higher`` or ``lower``: which values are better, by the words in a name; "" where it does not say.

    >>> better("eval/return"), better("train/loss"), better("lr")
    ('higher', 'lower', '')
    """
    words = ((HIGHER, _LARGER_IS_BETTER), (LOWER, _SMALLER_IS_BETTER))
    found = [way for way, said in words if any(word in name.lower() for word in said)]
    return found[0] if len(found) == 1 else ""


def results_first(
    names: Iterable[str], *, expected: Sequence[str] = (), idle: Collection[str] = ()
) -> list[str]:
    """Names with the headline result first: what is expected, what is called a result, then a loss.

    Args:
        names: In any order, which they keep where nothing here says another one.
        expected: Those that a recipe promises a result of.
        idle: Those whose value never changes; they come last.
    """

    def place(name: str) -> tuple[object, ...]:
        lower = name.lower()
        promised = expected.index(name) if name in expected else len(expected)
        word = next((at for at, one in enumerate(RESULT_WORDS) if one in lower), len(RESULT_WORDS))
        says = {HIGHER: 0, LOWER: 1}.get(better(name), 2)
        held_out = any(one in lower for one in _HELD_OUT)
        return promised, name in idle, word, says, not held_out

    return sorted(dict.fromkeys(names), key=place)


def name_difference(
    log: ProblemLog,
    expected: Mapping[str, Any],
    actual: Mapping[str, Any],
    *,
    lacking: Sequence[str],
    extra: Sequence[str],
    lines: Lines,
) -> None:
    """Log what happened to the names that ``actual`` lacks, and to those that it has besides (``extra``)."""
    unpaired = list(extra)
    for name in lacking:
        twin = _twin(name, expected[name], actual, unpaired)
        if twin is None:
            log.add("missing_metric", "actual", line=lines[1], detail=quoted(name))
            continue
        unpaired.remove(twin)
        if _normal(name) == _normal(twin):
            both = f"{ascii(name)[:80]} and {ascii(twin)[:80]}"
            log.add("name_normalisation", "actual", line=lines[1], detail=both)
        else:
            log.add("renamed_metric", "actual", line=lines[1], detail=f"{quoted(name)} is {quoted(twin)}")
    for name in unpaired:
        log.add("extra_metric", "actual", line=lines[1], detail=quoted(name))


def within(pattern: str, source: str) -> tuple[str, ...]:
    """The patterns of metrics that a pattern is within one source: as it is, and without ``source:``.

    >>> within("logs/*.csv:time*", "logs/a.csv")
    ('logs/*.csv:time*', 'time*')
    """
    parts = pattern.split(":")
    cuts = ((":".join(parts[:at]), ":".join(parts[at:])) for at in range(1, len(parts)))
    return (pattern, *(rest for file, rest in cuts if file == source or fnmatchcase(source, file)))


def nearest(pattern: str, names: Iterable[str]) -> tuple[str, ...]:
    """The names that are likest to a pattern which fits none of them, likest first."""
    word = re.sub(r"[][*?!]", "", pattern).lower()

    def likeness(name: str) -> float:
        parts = {name, name[: len(word)], name.rpartition("/")[2], name.rpartition(":")[2]}
        return max(difflib.SequenceMatcher(None, word, part.lower()).ratio() for part in parts)

    return tuple(sorted(islice(dict.fromkeys(names), _LOOKED_THROUGH), key=likeness, reverse=True)[:_NEAREST])


def nearest_patterns(pattern: str, names: Iterable[str]) -> str:
    """The same, as patterns that fit them alone: brackets in a name would be a choice of letters.

    >>> nearest_patterns("time [s]", ["time [s]"])
    "'time [[]s]'"
    """
    return ", ".join(quoted(escape(name)) for name in nearest(pattern, names))


def quoted(name: str) -> str:
    """A name in quotation marks, cut where it is longer than 80 characters."""
    return f"'{name}'" if len(name) <= 80 else f"'{name[:80]}…'"


def _twin(name: str, value: Any, actual: Mapping[str, Any], candidates: Sequence[str]) -> str | None:
    """The candidate that ``name`` became: the same to the eye, or the only one with its value."""
    normal = _normal(name)
    for candidate in candidates:
        if _normal(candidate) == normal:
            return candidate
    equal = [candidate for candidate in candidates if json_values.equal(value, actual[candidate])]
    return equal[0] if len(equal) == 1 else None


def _normal(name: str) -> str:
    return unicodedata.normalize("NFC", name)
