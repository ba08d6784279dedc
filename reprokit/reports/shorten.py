"""Shorten texts for readers: paths relative to the project, digests cut. ``report.json`` keeps them whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from reprokit.core.checklist import Report

_DIGEST = re.compile(r"(?<!--sha256 )(?<!--sha256=)\b(sha256:[0-9a-f]{12})[0-9a-f]{52}\b")
_IN_WORDS = ("run", "message", "remedy", "log")

#: The name of the temporary folder that a bundle is unpacked into begins with it.
UNPACKED = "reprokit-bundle-"


def short_digests(text: str) -> str:
    """The text with every SHA-256 digest cut to its first 12 hex digits, but for what is to be typed."""
    return _DIGEST.sub(r"\1", text)


def from_root(report: Report) -> Report:
    """The report with paths relative to the project's root, the folder above ``runs/``."""
    folder = PurePosixPath(report.runs[0]) if report.runs else PurePosixPath()
    inside_project = len(folder.parents) > 2 and folder.is_absolute()
    shown = with_texts(report, without(folder.parents[2] if inside_project else PurePosixPath("/")))
    return with_texts(shown, without(_unpacked(report)))


def _unpacked(report: Report) -> PurePosixPath:
    """The temporary folder of the report's bundle, which is gone by now; "/" where there is none."""
    above = PurePosixPath(report.golden or "/").parents if report.bundle else ()
    return next((one for one in above if one.name.startswith(UNPACKED)), PurePosixPath("/"))


def with_texts(report: Report, short: Callable[[str], str]) -> Report:
    """The report with ``short`` applied to every text that may hold a path, except ``rerun``."""
    failure = {
        key: short(value) if key in _IN_WORDS and isinstance(value, str) else value
        for key, value in (report.not_run or {}).items()
    }
    rows = (replace(row, reason=short(row.reason), remedy=short(row.remedy)) for row in report.checks)
    return replace(
        report,
        sentence=short(report.sentence),
        next_command=short(report.next_command),
        runs=tuple(map(short, report.runs)),
        golden=report.golden and short(report.golden),
        checks=tuple(rows),
        not_run=failure if report.not_run is not None else None,
        cause=None if report.cause is None else _everywhere(report.cause, short),
    )


def below(found: Mapping[str, Any], root: str) -> dict[str, Any]:
    """JSON in which every path below a folder is relative to it."""
    shortened: dict[str, Any] = _everywhere(found, without(PurePosixPath(root)))
    return shortened


def _everywhere(value: Any, short: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return short(value)
    if isinstance(value, Mapping):
        return {key: _everywhere(one, short) for key, one in value.items()}
    return [_everywhere(one, short) for one in value] if isinstance(value, list | tuple) else value


def without(root: PurePosixPath) -> Callable[[str], str]:
    """A function that makes paths below a folder relative to it, wherever they stand in a text."""
    if root == PurePosixPath("/"):
        return str
    inside = re.compile(rf"(?<![\w./-]){re.escape(str(root))}/(?=\w)")

    def short(text: Any) -> str:
        return inside.sub("", str(text))

    return short
