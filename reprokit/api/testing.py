r"""What the author of an extension runs on each kind of thing that it brings.

Each function raises ``AssertionError`` with what is wrong, so that a test is one line:

    >>> def test_the_log_format(tmp_path):
    ...     check_log_format(FORMAT, name="x.pbslog", content=b"step=1|loss=0.5\n", folder=tmp_path)
"""

from __future__ import annotations

import copy
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from reprokit import adapters, extensions, variations
from reprokit.adapters.of_extensions import LogFormat, as_adapter
from reprokit.core import problems
from reprokit.core.checklist import Verdict
from reprokit.core.records import canonical_json
from reprokit.core.verdicts.rows import Finding, Status
from reprokit.diagnosis import CATEGORIES
from reprokit.errors import MetricsError
from reprokit.extensions import causes, sections
from reprokit.extensions.causes import NamedCause
from reprokit.extensions.declaration import KINDS, Extension
from reprokit.extensions.rows import JudgedRuns, Row
from reprokit.extensions.sections import Section
from reprokit.feature import load
from reprokit.features.machines import place as machines
from reprokit.variations.of_extensions import SO_ANYWAY, NamedVariation, as_row
from reprokit.variations.variation import RunPlace, Variation

__all__ = [
    "check_cause",
    "check_extension",
    "check_log_format",
    "check_place",
    "check_row",
    "check_section",
    "check_variation",
    "check_verb",
]

_WAIT_S = 60.0


def check_extension(extension: Extension) -> None:
    """See that each thing is where the declaration says, and that none has a built-in's name.

    Raises:
        AssertionError: One is not.

    >>> check_extension(Extension())
    Traceback (most recent call last):
    AssertionError: the extension brings nothing...
    """
    from reprokit.cli.verb_map import verbs  # noqa: PLC0415 - it takes click

    core: Mapping[str, Any] = {
        "verbs": verbs(),
        "log_formats": {adapter.NAME for adapter in adapters.adapters()},
        "variations": variations.names(),
        "places": (*machines.ELSEWHERE, "local"),
        "causes": {name.replace("_", joint) for name in CATEGORIES for joint in "_-"},
    }
    own = {kind: getattr(extension, kind) for kind in KINDS}
    loaded = {(kind, name) for one in extensions.loaded() for kind in KINDS for name in one.names(kind)}
    for kind, brought in own.items():
        for name, value in brought.items():
            is_own = (
                kind,
                name,
            ) in loaded  # where the extension itself is loaded in the process of the tests
            assert is_own or name not in core.get(kind, ()), f"{KINDS[kind]} {name}: that one is built in"
            load(value.command if kind == "verbs" else value)
    assert any(own.values()), "the extension brings nothing"


def check_log_format(form: LogFormat, *, name: str, content: bytes, folder: Path) -> None:
    """See that a format reads a whole log twice alike, and names what is wrong with a damaged one.

    Args:
        form: The format.
        name: What such a file is called.
        content: A good log of three records or more, as a program writes it.
        folder: An empty folder for files of this test.

    Raises:
        AssertionError: It does not.

    >>> from pathlib import Path
    >>> form = LogFormat(patterns=("*.x",), read=lambda path: iter(()))
    >>> check_log_format(form, name="a.x", content=b"1", folder=Path("."))
    Traceback (most recent call last):
    AssertionError: a good log has three records or more; 0 were read...
    """
    adapter = as_adapter("format", form, label="under test")
    file = folder / name
    file.write_bytes(content)
    assert form.reads(file), f"reads({name}) is not true of a good log"
    first, again = list(adapter.read(file)), list(adapter.read(file))
    assert first == again, "two readings of one file differ"
    records = [reading.record for reading in first if reading.record is not None]
    assert len(records) >= 3, f"a good log has three records or more; {len(records)} were read"
    assert all(not _errors(reading.notes) for reading in first), "a good log is said to be damaged"
    numbers = [value for record in records for value in record.values() if type(value) in {int, float}]
    assert numbers, "no number was read"
    for kept in range(len(content) - 1, 0, -1):
        file.write_bytes(content[:kept])
        told = _records_in(adapter, file)
        whole = told is None or told == records[: len(told)]
        assert whole, f"of the first {kept} bytes of a log a record was read that the log does not have"
    file.write_bytes(b"")
    assert not _records_in(adapter, file), "an empty file has no record"
    file.unlink()
    assert _records_in(adapter, file) is None, "a file that is not there must be a MetricsError"


def check_row(row: Row, *, good: Sequence[Path], bad: Sequence[Path]) -> None:
    """See that a row passes good runs, passes no bad ones, and says why.

    Args:
        row: The row.
        good: Run folders with which it is PASSED.
        bad: Run folders in which its promise is broken.

    Raises:
        AssertionError: It does not.

    >>> row = Row(title="All is well", check=lambda judged: passed("all is well"))
    >>> check_row(row, good=[], bad=[])
    Traceback (most recent call last):
    AssertionError: PASSED of []: all is well...
    """
    assert row.title.strip(), "a row has a title"
    for folders, wanted in ((good, True), (bad, False)):
        recipe: dict[str, Any] = {"name": "tested"}
        judged = JudgedRuns(
            recipe=recipe, platform="cpu-x86_64", runs=tuple(folders), golden=None, strict=False
        )
        before = copy.deepcopy(recipe)
        with extensions.at_work():
            found, again = row.check(judged), row.check(judged)
        assert found == again, "two answers about the same runs differ"
        assert recipe == before, "a row changes nothing"
        assert isinstance(found, Finding), "a row returns a Finding: passed(…), failed(…), …"
        assert (found.status is Status.PASSED) is wanted, f"{found.status} of {folders}: {found.reason}"
        assert found.reason, "a finding has a reason"
        assert bool(found.remedy) is not wanted, "a remedy belongs to what is not PASSED, and only there"
        canonical_json(found.evidence)


def check_section(section: Section, *, runs: Sequence[Path], verdict: Verdict = Verdict.REPRODUCED) -> None:
    """See that a section writes what a report can show, and the same the second time.

    Args:
        section: The section.
        runs: Run folders of which it has something to say.
        verdict: Theirs.

    Raises:
        AssertionError: It does not.

    >>> section = Section(title="Nodes", write=lambda judged, verdict: SectionContent())
    >>> check_section(section, runs=[])
    Traceback (most recent call last):
    AssertionError: it gave nothing to show...
    """
    assert section.title.strip(), "a section has a title"
    recipe: dict[str, Any] = {"name": "tested"}
    judged = JudgedRuns(recipe=recipe, platform="cpu-x86_64", runs=tuple(runs), golden=None, strict=False)
    with extensions.at_work():
        first, again = section.write(judged, verdict), section.write(judged, verdict)
    assert first == again, "two answers about the same runs differ, which `report verify` would find"
    assert recipe == {"name": "tested"}, "a section changes nothing"
    problem = sections.problem_of(first)
    assert not problem, problem


def check_cause(name: str, cause: NamedCause, *, is_it: Mapping[str, Any], is_not: Mapping[str, Any]) -> None:
    """See that a cause is proposed where it is one, with a fix, and not where it is none.

    Args:
        name: What the extension calls it.
        cause: The cause.
        is_it: A diagnosis, as ``reprokit diagnose --json`` prints it, of a program that has this cause.
        is_not: One of a program that has another.

    Raises:
        AssertionError: It is not.

    >>> cause = NamedCause(propose=lambda found: None)
    >>> check_cause("job_id", cause, is_it={}, is_not={})
    Traceback (most recent call last):
    AssertionError: nothing is proposed where it is the cause...
    """
    assert name.replace("-", "_") not in CATEGORIES, f"{name}: that category is built in"
    found, before = copy.deepcopy(dict(is_it)), copy.deepcopy(dict(is_it))
    with extensions.at_work():
        proposal, again = cause.propose(found), cause.propose(found)
    assert proposal is not None, "nothing is proposed where it is the cause"
    assert proposal == again, "two answers about the same diagnosis differ"
    assert found == before, "a cause changes nothing"
    problem = causes.problem_of(proposal)
    assert not problem, problem
    assert cause.propose(copy.deepcopy(dict(is_not))) is None, "it is proposed where it is not the cause"


def check_variation(name: str, variation: NamedVariation) -> None:
    """See that a variation changes something at every kind of place, or says why it cannot.

    Raises:
        AssertionError: It does neither.

    >>> made = Variation(category="environment", fix="do not read it", environment={"PBS_JOBID": "7"})
    >>> check_variation("job_id", NamedVariation(says="the job id", makes=made))
    """
    assert variation.says.strip(), "a variation says what it changes"
    row = as_row("under test", name, variation)
    for container in (False, True):
        there = RunPlace(container=container, folder="/elsewhere", cores=(0, 1))
        made = row.vary(there)
        assert made == row.vary(there), "it makes another change the second time"
        if not isinstance(made, Variation):
            assert made.why, "one that is not made says why"
            assert "is faulty" not in made.why, made.why
            assert not made.why.endswith(SO_ANYWAY), "it changes nothing"
            continue
        assert made.fix, "a variation says what would fix a program that depends on it"
        assert made.category in CATEGORIES, f"{made.category} is none of {', '.join(sorted(CATEGORIES))}"


def check_place(open_place: Callable[..., Any], *, settings: Mapping[str, str], folder: Path) -> None:
    """See that a place runs commands, says how far they are, ends them, and is found again.

    Args:
        open_place: The function that the extension declares.
        settings: What ``--place`` would give it.
        folder: An empty folder that all machines share.

    Raises:
        AssertionError: It does not.

    >>> check_place(open_place, settings={}, folder=tmp_path)  # doctest: +SKIP
    """
    place = open_place(dict(settings), folder=folder / "own")
    assert dict(place.settings) == dict(settings), "a place keeps the settings that it was given"
    names = place.machines()
    assert names, "it has no machine that can run anything"
    done, waits = folder / "done", "import sys, time; time.sleep(300)"
    writes = f"import os, sys; open({str(done)!r}, 'w').write(os.environ['MARK'] + ' '.join(sys.argv[1:]))"
    tasks = [_task("ends", writes, folder), _task("waits", waits, folder)]
    handles = place.submit(tasks)
    assert len(set(handles)) == len(tasks), "each task has a handle of its own"
    try:
        going = _until(lambda: place.standing(handles[:1])[0], lambda one: not one.going.goes_on)
        assert going.going is machines.TaskState.ENDED, f"a command that ended by itself is {going.going}"
        assert done.exists(), "the command did not run, or not to its end"
        mark, _, words = done.read_text(encoding="utf-8").partition("--node ")
        assert mark.strip() == "set", "the command does not have the variables of its task"
        assert words in names, f"the command ends with `--node NAME`, a name of machines(); it has {words!r}"
        place.close()
        place = open_place(dict(settings), folder=folder / "own")
        assert place.standing(handles[1:])[0].going.goes_on, "a task does not end when its place is closed"
    finally:
        place.cancel(handles)
    ended = _until(lambda: place.standing(handles[1:])[0], lambda one: not one.going.goes_on)
    assert not ended.going.goes_on, "a task that was cancelled still runs"
    place.cancel(handles)
    assert place.standing(()) == (), "of no task nothing is said"
    place.close()


def check_verb(command: Any) -> None:
    """See that a verb says what it does, and is an object of click.

    Raises:
        AssertionError: It does not.

    >>> check_verb(print)
    Traceback (most recent call last):
    AssertionError: a verb is a click command...
    """
    import click  # noqa: PLC0415 - of verbs alone
    from click.testing import CliRunner  # noqa: PLC0415

    assert isinstance(command, click.Command), "a verb is a click command"
    shown = CliRunner().invoke(command, ["--help"])
    assert shown.exit_code == 0, f"--help ends with {shown.exit_code}: {shown.output}"
    assert (command.help or "").strip(), "a verb says what it does: its function has a docstring"
    assert "reprokit" in (command.epilog or ""), "a verb has an example in its epilog"


def _errors(notes: Sequence[tuple[str, str]]) -> list[str]:
    return [kind for kind, _ in notes if problems.KINDS[kind][0] == problems.ERROR]


def _records_in(adapter: Any, file: Path) -> list[Mapping[str, Any]] | None:
    """The records of a file up to the first that is said to be damaged; None where it is refused whole."""
    records: list[Mapping[str, Any]] = []
    try:
        for reading in adapter.read(file):
            if reading.record is None or _errors(reading.notes):
                return records or None
            records.append(reading.record)
    except MetricsError as error:
        assert "is faulty" not in error.what, error.what
        return None
    return records


def _task(name: str, code: str, folder: Path) -> machines.Task:
    return machines.Task(
        name=name,
        command=(sys.executable, "-c", code),
        environment={"MARK": "set ", "PATH": "/usr/bin:/bin"},
        working_dir=folder,
        log=folder / f"{name}.log",
        timeout_s=600.0,
    )


def _until(look: Callable[[], Any], holds: Callable[[Any], bool]) -> Any:
    """What is seen as soon as it holds, or at the end of a minute."""
    began = time.monotonic()
    while not holds(found := look()) and time.monotonic() - began < _WAIT_S:
        time.sleep(0.2)
    return found
