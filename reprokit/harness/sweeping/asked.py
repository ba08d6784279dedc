"""The seeds and the grid of settings that a person asked for, as text becomes data."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence

from reprokit.core.setting_names import split_values
from reprokit.errors import UsageError

Seeds = Callable[[Sequence[int]], tuple[int, ...]]

_RANGE = re.compile(r"(\d+)\.\.(\d+)")
_MOST_SEED = 2**32
_MOST = 10_000
_FORMS = "seeds (42,123,456), a range with both ends (0..9), or how many (5)"


def parse_seeds(text: str | None) -> Seeds:
    """What ``--seeds`` stands for, as a function of the seeds that a recipe declares.

    A number N stands for the first N declared seeds; where fewer are declared, it counts on from the largest
    one. One seed is a list of one (``42,``).

    >>> parse_seeds("4")([42, 7])
    (42, 7, 43, 44)

    Raises:
        UsageError: It is none of the forms, or names a seed twice.
    """
    if text is None:
        return tuple
    words = text.replace(" ", "")
    if "," not in words and words.isdecimal():
        return _counted(_within(int(words), text))
    found = _RANGE.fullmatch(words)
    if found:
        first, last = int(found[1]), int(found[2])
        if first > last:
            raise UsageError("the range of seeds is empty", where="--seeds", actual=text)
        _within(last - first + 1, text)
        seeds = tuple(range(first, last + 1))
    else:
        listed = words.removesuffix(",").split(",")
        if not all(word.isdecimal() for word in listed):
            raise UsageError("cannot read the seeds", where="--seeds", expected=_FORMS, actual=text)
        seeds = tuple(map(int, listed))
    if max(seeds) >= _MOST_SEED:
        raise UsageError("a seed is too large", where="--seeds", expected=f"at most {_MOST_SEED - 1}")
    twice = sorted({seed for seed in seeds if seeds.count(seed) > 1}) if not found else []
    if twice:
        raise UsageError(f"a seed is named twice: {twice[0]}", where="--seeds", fix="name each seed once")
    return lambda _declared: seeds


def _within(count: int, text: str) -> int:
    if not 0 < count <= _MOST:
        raise UsageError(f"{count:,} seeds", where="--seeds", expected=f"1 to {_MOST:,}", actual=text)
    return count


def _counted(count: int) -> Seeds:
    def seeds(declared: Sequence[int]) -> tuple[int, ...]:
        further = itertools.count(max(declared, default=-1) + 1)
        return tuple(itertools.islice(itertools.chain(declared, further), count))

    return seeds


def settings_grid(texts: Sequence[str]) -> list[tuple[str, ...]]:
    """Every combination of the values of ``--set PATH=VALUE,VALUE``, as overrides.

    A comma inside brackets or quotes is part of a value.

    >>> settings_grid(["gamma=0.9,0.99", "sizes=[64,64]"])
    [('gamma=0.9', 'sizes=[64,64]'), ('gamma=0.99', 'sizes=[64,64]')]

    Raises:
        UsageError: There is a comma too many, or more combinations than anyone runs.
    """
    choices = [_choices(text) for text in texts]
    combinations = list(itertools.islice(itertools.product(*choices), _MOST + 1))
    if len(combinations) > _MOST:
        raise UsageError(f"more than {_MOST:,} combinations of settings", where="--set")
    return combinations


def _choices(text: str) -> list[str]:
    path, equals, values = text.partition("=")
    if not equals:
        return [text]  # what is wrong with it, the recipe says
    found = [value.strip() for value in split_values(values)]
    if not all(found):
        raise UsageError(
            "a value is missing next to a comma",
            where=f"--set {path.strip()}",
            expected="path=value,value",
        )
    return [f"{path.strip()}={value}" for value in found]
