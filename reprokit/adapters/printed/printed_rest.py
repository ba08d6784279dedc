"""What is left of a printed line next to its numbers and their names, where it may hold another number.

>>> rest_of("tokens 1_298_000 seen in /tmp/run7 ", "")
['1_298_000']
>>> without_places("saved to runs/17/model_3.pt, loss 0.5")
'saved to {path}, loss 0.5'
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from reprokit.adapters.folders.source_names import lasting

_MARKS = " \t:=|,;<>#*.'\"-()[]{}"
_MAY_HOLD = re.compile(
    r"\d|(?<![A-Za-z])(?:[nN][aA][nN]|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?)(?![A-Za-z])"
    r"|(?<=[a-z])(?:NaN|Inf)(?![a-z])",
    re.ASCII,
)
_URL = r"\b[A-Za-z]{2,9}://[^\s,;|'\"<>]+"
#: What is new in every run → what stands for it. A pointer has 9 to 12 digits.
_KNOWN = (
    (_URL, "{url}"),
    (
        r"(?<![\w.])(?:~|\.{1,2})?/[A-Za-z_.][^\s,;:|=()'\"<>\[\]{}]*|(?<!\w)[A-Za-z]:\\[^\s,;|'\"<>]+",
        "{path}",
    ),
    (r"(?<!\w)20\d{6}T\d{6}Z-[0-9a-f]{4}-seed\d+-[\w.-]+", "{run}"),
    (r"0x[0-9a-f]{9,12}(?![0-9a-fA-F])", "{address}"),
    (r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])", "{address}"),
    (r"(?<![\w.])(?:\d{1,5}(?:\.\d{1,9})?[dhms]){2,}(?!\w)", "{duration}"),
)
_ENDINGS = (
    r"(?:pt|pth|ckpt|safetensors|bin|h5|hdf5|keras|pkl|pickle|joblib|np[yz]|onnx|model|weights|msgpack|index|csv|"
    r"tsv|jsonl?|ya?ml|log|txt|out|err|md|html|db|sqlite|parquet|zip|tar|t?gz|png|jpe?g|svg|pdf|gif|mp4|py|ipynb)"
)
# With a fraction in it a name may say a result: best_0.93.pt.
_NO_FRACTION = r"(?![\w.+@=/-]{0,200}\d\.\d)"
_PART, _FOLDERS = r"[A-Za-z_][\w.+@-]{0,80}", r"(?:/[\w.+@=-]{1,80}){0,20}"
_BEFORE = r"(\b(?:to|in|into|from|under) [\"'`]?)"
_OF_PATH = r"[^\s,;:|=()'\"<>\[\]{}]"
_ROOT = rf"(?<![\w./~])(?:(?:~|\.{{1,2}})/|/(?=[A-Za-z_.]{_OF_PATH}*[\d/]))"
# What a number follows at once names it: "reward in env/level3 12.5".
_NO_NAME = r"(?![ ]{0,9}[:=]?[ ]{0,9}[-+]?(?:\.?\d|nan|inf))"
#: Places whose numbers are none of the training: in them stand counters, times, ports and steps.
_PLACES = (
    (_URL, "{url}"),
    (r"(?<![0-9A-Za-z])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![0-9A-Za-z])", "{id}"),
    (rf"{_ROOT}{_OF_PATH}*\.{_ENDINGS}(?![\w/])", "{path}"),
    (rf"{_ROOT}{_OF_PATH}+(?!{_OF_PATH}){_NO_NAME}", "{path}"),
    (rf"(?<![\w./~@-]){_NO_FRACTION}{_PART}{_FOLDERS}/[\w.+@=-]{{1,80}}\.{_ENDINGS}(?![\w/])", "{path}"),
    (rf"{_BEFORE}{_NO_FRACTION}{_PART}(?:/[\w.+@-]{{1,80}}){{1,20}}/?(?![\w/.+@-]){_NO_NAME}", r"\1{path}"),
)
#: May be the MD5 of results, which ``lasting`` takes for an id.
_DIGEST = re.compile(r"(?<![0-9a-z])[0-9a-f]{32}(?![0-9a-z])")


def without_places(line: str) -> str:
    """The line with a word for each path, URL and UUID: no number in them is one of the training."""
    if "/" not in line and line.count("-") < 4:
        return line
    for pattern, placeholder in _PLACES:
        line = re.sub(pattern, placeholder, line, flags=re.ASCII)
    return line


def rest_of(gap: str, label: str) -> list[str]:
    """The words of a text between numbers that may hold one themselves, but for those in the ``label``.

    Words that hold digits only in what is new in every run (paths, addresses, times, ids) are left out.
    """
    if gap.isascii() and not _MAY_HOLD.search(gap):
        return []
    in_label = [word.strip(_MARKS) for word in label.split()]
    return list(reversed([*_words(gap, in_label)]))


def _words(gap: str, in_label: list[str]) -> Iterator[str]:
    """From the last one, as the label is the end of the text."""
    for word in reversed(gap.split()):
        if not _may_hold(word):
            continue
        plain = word.strip(_MARKS)
        if plain in in_label:
            in_label.remove(plain)
            continue
        kept = _lasting(word)
        if _may_hold(kept):
            yield kept


@lru_cache(maxsize=4096)
def _lasting(word: str) -> str:
    for pattern, placeholder in _KNOWN:
        word = re.sub(pattern, placeholder, word, flags=re.ASCII)
    return word if _DIGEST.search(word) else lasting(word)


def _may_hold(word: str) -> bool:
    return _MAY_HOLD.search(word) is not None or (
        not word.isascii() and any(unicodedata.category(mark)[0] == "N" for mark in word)
    )
