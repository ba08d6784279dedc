"""The line that takes over a log of the stopped run with records that the resumed run writes once more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from pathlib import Path

from reprokit import adapters
from reprokit.adapters import MetricsSource
from reprokit.diagnosis import Cause, OutsideFile

_FIX = "leave out what was logged after the checkpoint: cut the log, or give its writer `purge_step`"


def taken_over(
    twice: Mapping[str, tuple[float, float]], files: Iterable[OutsideFile], *, left: Path
) -> Cause | None:
    """Where such a log is read; None where none is.

    Args:
        twice: Name of a log → the first and last step that it holds twice.
        files: What the resumed run read and wrote outside its folder.
        left: The folder that the stopped run left.
    """
    read = {Path(one.path): one.read for one in files if one.read is not None}
    for source in [one for one, _ in adapters.pair_runs(left, left)[0] if one.name in twice] if twice else ():
        place = next((place for path, place in read.items() if _is_of(path, source)), None)
        if place is not None:
            first, last = twice[source.name]
            file, line, function = place
            return Cause(
                category="resume_state",
                file=file,
                line=line,
                function=function,
                what=f"this takes over the stopped run's {source.name} with steps {first:g} to {last:g}, "
                "which the resumed run logs once more; without them it is the whole run's",
                fix=_FIX,
                confidence="medium",
            )
    return None


def _is_of(path: Path, source: MetricsSource) -> bool:
    """Whether a file is a log, or one of a folder whose files are one log."""
    patterns = adapters.adapter_named(source.adapter).PATTERNS
    in_folder = path.parent == source.path and any(fnmatch(path.name, one) for one in patterns)
    return path == source.path or in_folder
