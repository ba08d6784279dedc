"""Why the files of a folder are no logs, for a person who expected one among them.

>>> why_not(Path("runs/x"))
["'notes.txt' (neither records, nor a table, nor lines that repeat the same names)"]
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path, PurePath

from reprokit.adapters import from_json, sources
from reprokit.adapters.folders import content, run_files

_MOST_NAMED = 6
_NO_LINES = "neither records, nor a table, nor lines that repeat the same names"


def why_not(folder: Path, *, skipped: Collection[str] | None = None) -> list[str]:
    """The first files of a folder that are not read as metrics, each with the reason, and how many more."""
    skipped = run_files.skipped_in(folder) if skipped is None else skipped
    read = {source.path for source in sources.find_all(folder, skipped=skipped)}
    every = run_files.files_of_program(folder, skipped=skipped)
    places = [place for place in every if not {folder / place, (folder / place).parent} & read]
    loose = sum(place.suffix.lower() in content.ENDINGS for place in every)
    # What may be meant for a log comes before models and pictures.
    places.sort(key=lambda place: (place.suffix.lower() not in content.ENDINGS, place))
    said = [f"'{place}' ({_why(folder / place, place, loose=loose)})" for place in places[:_MOST_NAMED]]
    more = len(places) - len(said)
    return [*said, f"{more:,} more"] if more else said


def _why(path: Path, place: PurePath, *, loose: int) -> str:
    suffix = place.suffix.lower()
    if suffix not in content.ENDINGS:
        return "no known name"
    if not path.stat().st_size:
        return "empty"
    if loose > content.MOST_FILES:
        return f"one of {loose:,} such files, which are taken to be samples"
    if suffix == ".json":
        return (
            "holds no number" if from_json.is_of_results(place.name) else "not named like a file of results"
        )
    return _NO_LINES
