"""The verbs: run, reproduce, verify, compare, diagnose and diff, each with its record as the answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Unpack

from reprokit import adapters, harness
from reprokit.api.answers import CompareAnswer, Diagnosis, Gate, GateEntry, SideOptions
from reprokit.api.comparisons import Comparison
from reprokit.api.options import RunOptions, request_from, session_of
from reprokit.api.places import AnyProject, feature, read_run
from reprokit.api.reports import Report, report_of
from reprokit.api.runs import Run
from reprokit.core import comparison
from reprokit.errors import UsageError
from reprokit.harness import GateAnswer, diagnosing
from reprokit.harness.running import check_names
from reprokit.session import Progress

#: The name of a recipe, or the words of a command, which may hold ``{seed}`` and ``{run_dir}``.
Program = str | Sequence[str]


def run(
    program: Program,
    *,
    project: AnyProject = None,
    progress: Progress | None = None,
    **options: Unpack[RunOptions],
) -> Run:
    """Run a recipe or a command once.

    Raises:
        CannotRunError: It did not run to its end.

    >>> run(["python", "train.py", "{seed}", "{run_dir}"], seed=1).complete
    True
    """
    request = request_from("run", program, options)
    with session_of(project, progress) as session:
        if isinstance(program, str):
            folder = harness.run_once(program, request, session=session)
        else:
            folder = harness.run_command_once(_words(program), request, session=session)
        return read_run(folder, project=session.project)


def reproduce(
    program: Program,
    *,
    golden: bool = False,
    project: AnyProject = None,
    progress: Progress | None = None,
    **options: Unpack[RunOptions],
) -> Report:
    """Train twice, compare the runs with each other and with the golden, give a verdict.

    Args:
        program: The name of a recipe, or the words of a command.
        golden: Compare a command with the project's goldens, as recipes always are.
        project: The project, or a folder in it; that of the working directory where none is named.
        progress: What is shown; None for a bar on a terminal.
        options: As ``RunOptions`` has them.

    Raises:
        RecipeError: The recipe is wrong, or there is none of this name.

    >>> report = reproduce(["python", "train.py", "{seed}", "{run_dir}"], seed=1)
    >>> report.verdict.value, report.exit_code
    ('REPEATABLE', 0)
    """
    is_recipe = isinstance(program, str)
    request = request_from("reproduce", program, options, against_golden=golden and not is_recipe)
    with session_of(project, progress) as session:
        if isinstance(program, str):
            report, folder = harness.reproduce(program, request, session=session)
        else:
            report, folder = harness.reproduce_command(_words(program), request, session=session)
    return report_of(report, folder)


def verify(
    *recipes: str,
    changed: str | None = None,
    project: AnyProject = None,
    progress: Progress | None = None,
    **options: Unpack[RunOptions],
) -> Gate:
    """Reproduce recipes and compare them with their goldens: what a gate does before a merge.

    Args:
        recipes: Only these; all that declare this platform where none is named.
        changed: A commit: recipes that stand on what they stood on there are left out, and said to be.
        project: The project, or a folder in it.
        progress: What is shown; None for a bar on a terminal.
        options: As ``RunOptions`` has them.

    Raises:
        UsageError: There is no such commit.

    >>> gate = verify("train")
    >>> gate.exit_code, gate.entries[0].report.verdict.value
    (4, 'NO_GOLDEN')
    """
    request = request_from("verify", recipes, options)
    with session_of(project, progress) as session:
        answers = harness.verify(request, session=session, names=recipes, changed=changed)
    return Gate(exit_code=harness.gate_code(answers), entries=tuple(map(_entry, answers)))


def diff(
    expected: Path | str,
    actual: Path | str,
    *,
    rtol: float = 0.0,
    atol: float = 0.0,
    metrics: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> Comparison:
    """Compare two metrics files or run folders, bit for bit where no tolerance is given.

    Args:
        expected: A metrics file, or a folder with one.
        actual: Likewise.
        rtol: Relative tolerance, of the expected value.
        atol: Absolute tolerance.
        metrics: Only these; all where there is none.
        ignore: Patterns of metrics that are left out.

    Raises:
        MetricsError: A path cannot be read.
        UsageError: A pattern fits no metric.

    >>> one, other = (run(["python", "train.py", "{seed}", "{run_dir}"], seed=seed) for seed in (1, 2))
    >>> diff(one.path, other.path).identical
    False
    """
    for name, value in (("metrics", metrics), ("ignore", ignore)):
        if isinstance(value, str):
            raise UsageError(f"{name} is one text", where="diff", expected=f"a list: {name}=[{value!r}]")
    found, pairs = adapters.compare_paths(
        Path(expected),
        Path(actual),
        tolerances=comparison.Tolerances(default=comparison.Tolerance(rtol=rtol, atol=atol)),
        metrics=list(metrics) or None,
        ignore=tuple(ignore),
    )
    adapters.must_fit((source for pair in pairs for source in pair), ignore, option="ignore")
    return Comparison.of(found)


def diagnose(
    program: Program,
    *,
    budget: int | None = None,
    budget_s: float | None = None,
    deep: bool = False,
    vary: Sequence[str] | None = None,
    project: AnyProject = None,
    progress: Progress | None = None,
    **options: Any,
) -> Diagnosis:
    """Find the line that makes two runs differ.

    Args:
        program: The name of a recipe, or the words of a command.
        budget: Make at most about so many runs; the command line's where neither budget is given.
        budget_s: Take at most so many seconds.
        deep: Record every operation of PyTorch, even if a line was found.
        vary: Names of variations; None for all that do not take long.
        project: The project, or a folder in it.
        progress: What is shown; None for a bar on a terminal.
        options: As ``RunOptions`` has them.

    Raises:
        MetricsError: The program leaves nothing that can be compared.

    >>> diagnose(["python", "train.py", "{seed}", "{run_dir}"], budget=4).verdict
    'REPEATABLE'
    """
    check_names(tuple(vary or ()))
    request = request_from("diagnose", program, options)
    bounds = {"budget": budget, "budget_s": budget_s}
    how: dict[str, Any] = {name: value for name, value in bounds.items() if value is not None}
    if budget is not None and budget_s is None:
        how["budget_s"] = None
    how |= {"deep": deep, "vary": tuple(vary) if vary is not None else None}
    with session_of(project, progress) as session:
        if isinstance(program, str):
            found = diagnosing.diagnose_recipe(program, request, session=session, **how)
        else:
            found = diagnosing.diagnose_command(_words(program), request, session=session, **how)
    return Diagnosis.of(found)


def compare(
    recipe: str,
    *,
    a: SideOptions | None = None,
    b: SideOptions | None = None,
    metrics: Sequence[str] = (),
    seeds: int | None = None,
    project: AnyProject = None,
    **options: Unpack[RunOptions],
) -> CompareAnswer:
    """Say whether two sides of a recipe give the same numbers, bit for bit.

    Args:
        recipe: Its name.
        a: What is asked of side a.
        b: Likewise; where nothing is asked of either, HEAD is compared with the working tree.
        metrics: Compare only these.
        seeds: Compare results over so many seeds, not bits.
        project: The project, or a folder in it.
        options: As ``RunOptions`` has them.

    Raises:
        UsageError: There is no such commit, setting or package, or both sides are the same.

    >>> compare("train", a={"revision": "no-such-branch"}, b={"threads": 1})
    Traceback (most recent call last):
    reprokit.errors.UsageError: ...
    """
    request = request_from("compare", recipe, options)
    asked = feature("compare.asked").sides_asked({**_typed("a", a), **_typed("b", b)})
    with session_of(project, None) as session:
        answer, folder = feature("compare.compare").compare_recipe(
            recipe, asked, request, only=tuple(metrics) or None, share=(), num_seeds=seeds, session=session
        )
    return CompareAnswer.of(json.loads(json.dumps(answer.as_data())), folder=folder)


def compare_commands(
    a: Sequence[str],
    b: Sequence[str],
    *,
    metrics: Sequence[str] = (),
    project: AnyProject = None,
    **options: Unpack[RunOptions],
) -> CompareAnswer:
    """Say whether two commands give the same numbers; they run in turn, in place, with nothing pinned.

    Args:
        a: The words of the first command.
        b: Those of the second.
        metrics: Compare only these.
        project: The project, or a folder in it.
        options: As ``RunOptions`` has them.

    Raises:
        CannotRunError: A command did not run to its end.

    >>> sides = (["python", "train.py", seed, "{run_dir}"] for seed in "12")
    >>> compare_commands(*sides).answer
    'different'
    """
    request = request_from("compare_commands", a, options)
    commands = {"a": _words(a), "b": _words(b)}
    with session_of(project, None) as session:
        answer, folder = feature("compare.compare").compare_commands(
            commands, request, only=tuple(metrics) or None, session=session
        )
    return CompareAnswer.of(json.loads(json.dumps(answer.as_data())), folder=folder)


def _words(command: Sequence[str]) -> tuple[str, ...]:
    if isinstance(command, str) or not command or not all(isinstance(word, str) for word in command):
        raise UsageError(
            f"{command!r} is no command", where="reprokit.api", expected="a list of words: ['python', …]"
        )
    return tuple(command)


def _typed(side: str, options: SideOptions | None) -> dict[str, Any]:
    """The options of one side as the command line names them.

    Raises:
        UsageError: One that is none.
    """
    known = {field.name for field in fields(feature("compare.asked").SideAsked)}
    given = dict(options or {})
    for name in given.keys() - known:
        raise UsageError(
            f"a side has no option {name!r}", where=f"compare: {side}", expected=", ".join(sorted(known))
        )
    revision = given.pop("revision", None)
    return {side: revision, **{f"{side}_{name}": value for name, value in given.items()}}


def _entry(answer: GateAnswer) -> GateEntry:
    report = None
    if answer.report is not None and answer.folder is not None:
        report = report_of(answer.report, answer.folder)
    return GateEntry(
        recipe=answer.recipe,
        exit_code=answer.exit_code,
        report=report,
        error=answer.error,
        left_out=answer.left_out,
    )
