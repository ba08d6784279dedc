"""The words for everything that can be odd about metrics, and the log that keeps them few.

``docs/reference/metrics-problems.md`` explains the same words to people; a test compares the two. A file of a
million bad lines gives one problem with a count, not a million problems.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from reprokit.core.comparing.difference import Problem

ERROR, DIFFERENCE, WARNING = "error", "difference", "warning"
BOTH = "both"

#: kind → (severity unless the finder says otherwise, meaning)
KINDS = MappingProxyType(
    {
        # The file cannot be read at all.
        "missing_file": (ERROR, "there is no such file"),
        "directory": (ERROR, "a folder, not a file"),
        "not_a_file": (ERROR, "not a regular file"),
        "unreadable_file": (ERROR, "the file cannot be read"),
        "no_metrics_file": (ERROR, "the folder holds no metrics file"),
        "missing_reader": (ERROR, "the library that reads this kind of file is not installed"),
        "file_changed": (ERROR, "the file was written to while it was read"),
        # What was read cannot be compared.
        "empty_file": (ERROR, "the file is empty"),
        "no_records": (ERROR, "there is no record to compare"),
        "no_values": (ERROR, "there is no value to compare"),
        "unknown_metric": (ERROR, "neither side has the metric that was asked for"),
        "torn_line": (ERROR, "a line is cut off"),
        "blank_line": (ERROR, "a line holds nothing"),
        "byte_order_mark": (ERROR, "a line begins with a byte order mark"),
        "invalid_utf8": (ERROR, "a line is not UTF-8"),
        "nul_byte": (ERROR, "a line holds a NUL byte"),
        "invalid_json": (ERROR, "a line is not JSON"),
        "two_values_on_a_line": (ERROR, "a line holds more than one JSON value"),
        "not_an_object": (ERROR, "a line is JSON, but not an object"),
        "duplicate_key": (ERROR, "an object has one key twice"),
        "number_overflow": (ERROR, "a number is too large for a float64"),
        "integer_too_long": (ERROR, "an integer has more than 20,000 digits"),
        "too_deep": (ERROR, "arrays or objects are nested more than 64 deep"),
        "line_too_long": (ERROR, "a line is longer than 4 MiB; nothing after it was read"),
        "too_many_errors": (ERROR, "more than 1,000 lines cannot be read; nothing after them was"),
        "too_many_metrics": (ERROR, "more than 100,000 names of metrics; later ones were not compared"),
        "ragged_row": (ERROR, "a row does not have as many cells as the header"),
        "not_a_table": (ERROR, "the lines are sentences with numbers in them, not a table with a header"),
        "corrupt_event": (ERROR, "an event's checksum or content is wrong"),
        "corrupt_database": (ERROR, "the database is damaged, or not laid out as its library lays it out"),
        "not_closed": (ERROR, "the program did not close its log"),
        "too_large": (ERROR, "the log is too large to be read"),
        # Both sides are readable, and they differ.
        "missing_record": (DIFFERENCE, "actual ends before expected does"),
        "extra_record": (DIFFERENCE, "actual continues after expected ends"),
        "missing_metric": (DIFFERENCE, "a metric of expected is not in actual"),
        "extra_metric": (DIFFERENCE, "a metric of actual is not in expected"),
        "renamed_metric": (DIFFERENCE, "a metric has another name in actual"),
        "name_normalisation": (DIFFERENCE, "two names look alike and differ in Unicode normalisation"),
        "changed_type": (DIFFERENCE, "a value has another type in actual"),
        "changed_structure": (DIFFERENCE, "an array or object has other elements or keys in actual"),
        "nan_placement": (DIFFERENCE, "a value is NaN on one side only"),
        "infinity_placement": (DIFFERENCE, "a value is infinite on one side only, or in the other direction"),
        "step_changed": (DIFFERENCE, "a record has another step in actual"),
        "skipped_step": (DIFFERENCE, "a step that the other side has is skipped"),
        "missing_source": (DIFFERENCE, "a metrics file of expected is not in actual"),
        "extra_source": (DIFFERENCE, "a metrics file of actual is not in expected"),
        # Odd, but no difference. The three of steps are differences where one side has them alone.
        "duplicate_step": (WARNING, "a step comes twice in a row"),
        "reordered_step": (WARNING, "a step is smaller than the one before"),
        "uneven_steps": (WARNING, "the distance between steps changes"),
        "missing_step": (WARNING, "a record has no step, though others have one"),
        "odd_step": (WARNING, "a step is not a finite number"),
        "only_nan": (WARNING, "every number is NaN: the sides are equal, which says little about them"),
        "carriage_return": (WARNING, "lines end with a carriage return and a line feed"),
        "printed_lines": (WARNING, "numbers were read from printed lines"),
        "redacted_values": (WARNING, "secrets were taken out: their marks were compared, not their values"),
        "blank_end": (WARNING, "the file ends with empty lines"),
        "repeated_header": (WARNING, "the header is repeated in the middle, as in a log that was continued"),
        "comment_line": (WARNING, "a line that begins with # is among the rows, and was skipped"),
        "no_final_newline": (WARNING, "the last line has no line feed, though its record is whole"),
        "long_line": (WARNING, "a line is longer than a megabyte"),
        "not_compared": (
            WARNING,
            "a file that may be a log differs, and was not read, because files with known names were",
        ),
        "not_a_log": (WARNING, "a file was looked at, and not read"),
        "others_not_read": (WARNING, "the folder holds other metrics files, which were not compared"),
        "other_order": (WARNING, "both sides hold the same records, in another order"),
        "ignored_metric": (WARNING, "a metric was left out on request"),
        "renamed_source": (WARNING, "a metrics file has another name in actual"),
        "not_parsed": (WARNING, "not every line was parsed, because the files are large"),
    }
)

_ORDER = {ERROR: 0, DIFFERENCE: 1, WARNING: 2}
_MAX_DETAILS = 20


@dataclass(slots=True)
class _Entry:
    line: int | None
    severity: str
    count: int = 1
    last_line: int | None = None


class ProblemLog:
    """Problems of one comparison: one entry for each kind, side and detail, with a count.

    ``add`` is called as often as a problem is met; ``problems`` gives what a person reads.
    """

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str, str], _Entry] = {}
        self._details: dict[tuple[str, str], int] = {}

    def add(
        self, kind: str, side: str, *, line: int | None = None, detail: str = "", severity: str | None = None
    ) -> None:
        """Note a problem of a kind of ``KINDS``, at a line counted from 1.

        Problems with another ``detail`` stay apart, up to 20 of a kind.

        Raises:
            KeyError: The kind is not a word of ``KINDS``.
        """
        severity = severity or KINDS[kind][0]
        key = (kind, side, detail)
        if key not in self._entries:
            known = self._details.get((kind, side), 0)
            if known == _MAX_DETAILS:
                key = (kind, side, "and others")
            self._details[kind, side] = known + (known < _MAX_DETAILS)
        entry = self._entries.get(key)
        if entry is None:
            self._entries[key] = _Entry(line, severity, last_line=line)
            return
        entry.count += 1
        entry.last_line = line
        if _ORDER[severity] < _ORDER[entry.severity]:
            entry.severity = severity

    def has(self, severity: str) -> bool:
        return any(entry.severity == severity for entry in self._entries.values())

    def problems(self) -> tuple[Problem, ...]:
        """The problems, gravest first, then by line; what both sides have alike is said once."""
        found = []
        for (kind, side, detail), entry in self._entries.items():
            twin = self._entries.get((kind, "actual" if side == "expected" else "expected", detail))
            if side != BOTH and entry == twin:
                if side == "actual":
                    continue
                side = BOTH  # noqa: PLW2901
            found.append(
                Problem(
                    kind=kind,
                    side=side,
                    line=entry.line,
                    message=_message(kind, detail, entry.count),
                    severity=entry.severity,
                )
            )
        return tuple(sorted(found, key=lambda one: (_ORDER[one.severity], one.line or 0)))


def _message(kind: str, detail: str, count: int) -> str:
    meaning = KINDS[kind][1]
    more = f" ({count - 1:,} more like this)" if count > 1 else ""
    return f"{meaning}: {detail}{more}" if detail else f"{meaning}{more}"
