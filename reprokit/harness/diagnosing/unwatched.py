"""A program that does not finish with the watch in it: it is run without, and what is lost is said."""

from __future__ import annotations

from reprokit import adapters, file_tree
from reprokit.errors import CannotRunError
from reprokit.file_tree import Kind
from reprokit.harness.diagnosing.conditions import Conditions, InstrumentedRun
from reprokit.harness.diagnosing.first_divergence import MEASURE
from reprokit.harness.diagnosing.instrumented_runs import InstrumentedProgram, need
from reprokit.harness.running.programs import program_output
from reprokit.layout import OUTPUT

#: The hook records the conditions of a process and changes nothing.
LOOK = "look"


def first_run(lab: InstrumentedProgram) -> InstrumentedRun:
    """The first run; without the watch, where the program does not finish with it.

    Raises:
        CannotRunError: It does not finish without it either.
    """
    try:
        return first_of(lab, "first", Conditions(progress=MEASURE))
    except CannotRunError as error:
        watched = error
    lab.progress.phase("does it finish without the watch?")
    first = first_of(lab, "unwatched", Conditions(level=LOOK))
    lab.level = LOOK
    why = watched.what.partition("did not finish: ")[2] or watched.what
    lab.lost = (
        f"with the watch in it, the program does not finish ({why}), so it was run without it. Lines "
        "that draw, read a clock or take an order are not known, and no condition was varied"
    )
    return first


def first_of(lab: InstrumentedProgram, label: str, given: Conditions) -> InstrumentedRun:
    """The first run, refused where a pattern matches none of its metrics or files.

    Raises:
        CannotRunError: It did not finish.
        UsageError: A pattern of metrics to leave out, or of output files that count, fits none.
    """
    ran = need(lab.run(label, given))
    if lab.program is None:
        names = [entry.name for entry in file_tree.walk(ran.folder / OUTPUT) if entry.kind is Kind.FILE]
        program_output.must_leave(names, lab.outputs)
        adapters.must_fit(adapters.find_all(ran.folder / OUTPUT), lab.ignore, option="--ignore-metric")
    return ran
