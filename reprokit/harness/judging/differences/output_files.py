"""Which files of two runs differ that nothing compared: what a program left next to its metrics."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reprokit import adapters, runs
from reprokit.adapters import from_csv
from reprokit.adapters.folders import source_names
from reprokit.errors import MetricsError
from reprokit.harness.running.programs import program_output
from reprokit.harness.running.run_kinds import WATCH
from reprokit.layout import MARKER, OUTPUT, read_json

_DIFFERS, _ONE_ONLY = "differs", "left by one run only"


def patterns_recorded(stored: Sequence[runs.StoredRun]) -> tuple[str, ...] | None:
    """Which output files count, as the runs record it; None for runs of versions that did not look at any."""
    asked = [run.record.outputs for run in stored]
    first = asked[0] if asked else None
    return tuple(first) if first is not None and all(one == first for one in asked) else None


def differing_outputs(stored: Sequence[runs.StoredRun], patterns: Sequence[str]) -> dict[str, str]:
    """Files that differ between finished runs and were not compared: name → what became of it.

    Names without times and ids belong together. Paths of the runs' own folders are no difference, and files
    of tensors are equal where these are.
    """
    left = [_files(run, patterns) for run in stored]
    listed = [_sha256_of(run) for run in stored]
    found: dict[str, str] = {}
    for other, theirs, recorded in zip(stored[1:], left[1:], listed[1:], strict=True):
        for name in sorted({*left[0], *theirs}):
            one, two = left[0].get(name), theirs.get(name)
            if one is None or two is None:
                found.setdefault(name, _ONE_ONLY)
            elif _has_one_digest(listed[0].get(one), recorded.get(two)):
                continue
            elif not _equal((stored[0], one), (other, two)):
                found.setdefault(name, _DIFFERS)
        for name in _other_comments(stored[0], other):
            found.setdefault(f"{name} (its comments)", _DIFFERS)
    return found


def _other_comments(first: runs.StoredRun, other: runs.StoredRun) -> list[str]:
    """The tables that were read for their records, and whose comments differ, which are no records."""
    one, two = _comments(first), _comments(other)
    return sorted(name for name in one.keys() & two.keys() if one[name] != two[name])


def _comments(run: runs.StoredRun) -> dict[str, str]:
    place = run.path / OUTPUT if run.record.keeps_output else run.path
    try:
        tables = [source for source in adapters.find_all(place) if source.adapter == from_csv.NAME]
    except MetricsError:
        return {}
    own = (str(run.path.resolve()), str(run.path), str(run.record.run_id))
    found = {source.path.relative_to(place).as_posix(): source.path for source in tables}
    return {
        source_names.lasting(name): functools.reduce(
            lambda text, word: text.replace(word, ""), own, from_csv.unread_comments(path)
        )
        for name, path in found.items()
    }


def _files(run: runs.StoredRun, patterns: Sequence[str]) -> dict[str, str]:
    """The files that a program left and that nothing compares: lasting name → name in the run's folder."""
    place = run.path / OUTPUT if run.record.keeps_output else run.path
    try:
        read = {source.path for source in adapters.find_all(place)}
    except MetricsError:
        return {}  # not all of it can be searched, which the comparison of the metrics says
    alike: dict[str, list[str]] = {}
    for name in program_output.left_by(run):
        is_ours = Path(name).parts[:1] == (WATCH,)  # what the hook of a varied run records
        if not is_ours and not program_output.fits(name, patterns) and not _is_read(place / name, read):
            alike.setdefault(source_names.lasting(name), []).append(str((place / name).relative_to(run.path)))
    return {
        f"{lasting} ({number})" if number > 1 else lasting: name
        for lasting, names in alike.items()
        for number, name in enumerate(names, start=1)
    }


def _is_read(path: Path, read: set[Path]) -> bool:
    return path in read or any(parent in read for parent in path.parents)


def _has_one_digest(one: object, two: object) -> bool:
    return one is not None and one == two


def _equal(first: tuple[runs.StoredRun, str], other: tuple[runs.StoredRun, str]) -> bool:
    contents = (
        program_output.digests_of(run.path / name, "", run_id=run.record.run_id or "")
        for run, name in (first, other)
    )
    return next(contents) == next(contents)


def _sha256_of(run: runs.StoredRun) -> Mapping[str, Any]:
    listed = read_json(run.path / MARKER).get("files")
    found = listed.items() if isinstance(listed, Mapping) else ()
    return {name: one.get("sha256") for name, one in found if isinstance(one, Mapping)}
