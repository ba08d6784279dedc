"""What is not the same on two sides: code, settings, command, packages, Python, CPU.

It follows from the run folders, which keep the files of the program. Whether a difference mattered is not
said here.
"""

from __future__ import annotations

import difflib
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reprokit import file_tree, runs
from reprokit.capture import environment_diff
from reprokit.core.environment_record import DifferingFact
from reprokit.features.compare.describe import conditions_told
from reprokit.file_tree import Kind
from reprokit.harness.running.plan import shell_line
from reprokit.layout import RECIPE, SOURCE
from reprokit.nested_diff import differences
from reprokit.records import environment_json
from reprokit.redaction import redact_text

_MOST = 60
_MOST_TEXT_BYTES = 2 << 20
#: How the fields of an environment record begin → what they are of. The first that fits decides.
_KINDS = {
    "inside.packages.": "package",
    "inside.python": "python",
    "inside.cpu": "cpu",
    "host.cpu": "cpu",
    "inside.device": "device",
}
_LONGEST = 80


def what_differs(
    first: runs.StoredRun, other: runs.StoredRun, *, recipes: Mapping[str, Mapping[str, Any]]
) -> tuple[dict[str, str], ...]:
    """Each difference as ``kind`` and ``what``, code first; at most sixty.

    Args:
        first: A run of side a.
        other: A run of side b.
        recipes: Side → its recipe as data, where that of its run says something else.
    """
    told = (recipes.get("a", first.record.recipe_data), recipes.get("b", other.record.recipe_data))
    found = [
        *_code(first.path, other.path),
        *_of_records(first, other, recipes=told),
        *_environment(first, other),
    ]
    more = len(found) - _MOST
    rest = [{"kind": "more", "what": f"and {more} more differences"}] if more > 0 else []
    return (*found[:_MOST], *rest)


def _code(first: Path, other: Path) -> Iterator[dict[str, str]]:
    """The files of the program that one side alone has, or that differ, with the lines."""
    left, right = (_files(folder / SOURCE) for folder in (first, other))
    for name in sorted({*left, *right}):
        if name in left and name in right:
            if lines := _changed_lines(left[name], right[name]):
                yield {"kind": "code", "what": f"{name}{lines}"}
            can_run = [side for side, files in (("a", left), ("b", right)) if _is_executable(files[name])]
            if len(can_run) == 1:
                yield {"kind": "code", "what": f"{name} can be executed on {can_run[0]} alone"}
        else:
            yield {"kind": "code", "what": f"{name} is there on {'a' if name in left else 'b'} alone"}


def _files(folder: Path) -> dict[str, Path]:
    """The files of a snapshot, by their names in the project; settings of a recipe are told apart."""
    found = {}
    for entry in file_tree.walk(folder):
        if entry.kind is Kind.FILE and not entry.name.endswith(f"/{RECIPE}"):
            name = entry.name.removeprefix("program/")
            found[name if name != entry.name else f"recipes/{name}"] = folder / entry.name
    return found


def _is_executable(file: Path) -> bool:
    return bool(file.stat().st_mode & stat.S_IXUSR)


def _changed_lines(left: Path, right: Path) -> str:
    """``:12 (+2 -1 lines)``, the first changed line of b; "" where the files are equal."""
    one, two = left.read_bytes(), right.read_bytes()
    if one == two:
        return ""
    try:
        if max(len(one), len(two)) > _MOST_TEXT_BYTES:
            return " (other contents)"
        before, after = (text.decode("utf-8").splitlines() for text in (one, two))
    except UnicodeDecodeError:
        return " (other contents)"
    steps = difflib.SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes()
    changed = [step for step in steps if step[0] != "equal"]
    if not changed:
        return " (other ends of lines)"
    added, removed = sum(step[4] - step[3] for step in changed), sum(step[2] - step[1] for step in changed)
    return f":{changed[0][3] + 1} (+{added} -{removed} lines)"


def _of_records(
    first: runs.StoredRun, other: runs.StoredRun, *, recipes: tuple[Mapping[str, Any], ...]
) -> Iterator[dict[str, str]]:
    """What ``run.json`` says of settings, command, variables, environment and conditions."""
    one, two = first.record, other.record
    if one.plain_command != two.plain_command:
        words = [shell_line(record.plain_command or ()) for record in (one, two)]
        yield {"kind": "command", "what": f"{words[0]} → {words[1]}"}
    settings = [{**record.training_config, "command": None} for record in (one, two)]
    yield from _changes("setting", *settings)
    commands = [record.program.command if record.program else None for record in (one, two)]
    if commands[0] != commands[1]:
        words = [shell_line(command or ()) for command in commands]
        yield {"kind": "command", "what": f"{words[0]} → {words[1]}"}
    yield from _changes("variable", *(_variables(record.environment) for record in (one, two)))
    yield from _changes("recipe", *({**one, "command": None, "training": None} for one in recipes))
    if one.seed != two.seed:
        yield {"kind": "setting", "what": f"seed {one.seed} → {two.seed}"}
    if (one.backend, one.device) != (two.backend, two.device):
        yield {
            "kind": "environment",
            "what": f"{one.backend} on {one.device} → {two.backend} on {two.device}",
        }
    conditions = [", ".join(conditions_told(record)) for record in (one, two)]
    if conditions[0] != conditions[1]:
        yield {"kind": "condition", "what": f"{conditions[0] or 'as here'} → {conditions[1] or 'as here'}"}


def _variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Without those by which conditions are recorded."""
    return {name: value for name, value in environment.items() if "{mounts}" not in value}


def _changes(kind: str, one: Mapping[str, Any], two: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for path, before, after in differences(one, two):
        yield {"kind": kind, "what": redact_text(f"{path} {_value(before)} → {_value(after)}")}


def _environment(first: runs.StoredRun, other: runs.StoredRun) -> list[dict[str, str]]:
    """What of the recorded environments can change numbers: what was chosen, then the rest."""
    order = [*_KINDS.values(), "environment"]
    return sorted(_facts(first, other), key=lambda one: order.index(one["kind"]))


def _facts(first: runs.StoredRun, other: runs.StoredRun) -> Iterator[dict[str, str]]:
    rows = environment_diff.diff(environment_json.recorded(first.path), environment_json.recorded(other.path))
    for row in rows:
        if row["can_change_numbers"] != "no":
            kind = next(
                (kind for place, kind in _KINDS.items() if row["field"].startswith(place)), "environment"
            )
            yield {"kind": kind, "what": _row(row)}


def _row(row: DifferingFact) -> str:
    name = row["field"].removeprefix("inside.packages.")
    return f"{name} {_value(row['expected'])} → {_value(row['actual'])}"


def _value(value: Any) -> str:
    text = "absent" if value is None else value if isinstance(value, str) else repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
