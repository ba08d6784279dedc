"""Run folders compared: every source of metrics in one with its like in the other."""

from __future__ import annotations

import filecmp
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from reprokit.adapters import sources
from reprokit.adapters.comparing import compare_first, compare_sources
from reprokit.adapters.folders import not_logs, redaction_marks, run_files
from reprokit.adapters.reading import MetricsSource
from reprokit.adapters.summaries import names_in
from reprokit.compressed import stored
from reprokit.core import problems
from reprokit.core.comparing.comparer import Comparer
from reprokit.core.comparing.difference import Comparison, Divergence, MetricSummary, Problem
from reprokit.core.comparing.metric_names import nearest, quoted, within
from reprokit.core.problems import ProblemLog
from reprokit.core.records import Outcome
from reprokit.core.texts import Placeholders, Places
from reprokit.core.tolerance import Tolerances
from reprokit.errors import MetricsError
from reprokit.layout import METRICS, PROVENANCE, RECORD
from reprokit.records import run_json

#: An id of at least so many characters is no word that a text holds by itself.
_UNIQUE = 16
_MOST_NAMED = 6

_HARMLESS = frozenset({"empty_file", "no_records", "no_values", "unknown_metric"})

Pair = tuple[MetricsSource, MetricsSource]


def compare_paths(
    expected: Path,
    actual: Path,
    *,
    tolerances: Tolerances | None = None,
    metrics: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
) -> tuple[Comparison, list[Pair]]:
    """Compare two files, or folders by what they hold (``metrics.jsonl``, else everything); the pairs too.

    Of a run that was stopped at the golden the records that both sides have are compared.

    Raises:
        MetricsError: A path cannot be opened, or it is such a run and no difference is found.
    """
    sides = expected, actual
    if any(map(_was_stopped, sides)):
        left, right = pair = _source_in(expected), _source_in(actual)
        comparison = compare_first(
            left.path, right.path, tolerances=tolerances, metrics=metrics, ignore=ignore
        )
        return _must_differ(comparison, sides), [pair]
    folders = expected.is_dir() and actual.is_dir()
    plain = all(map(run_files.is_of_plain_command, sides))  # every file was compared when they were judged
    if folders and (plain or not all(stored(folder / METRICS).exists() for folder in sides)):
        comparison = compare_runs(expected, actual, tolerances=tolerances, metrics=metrics, ignore=ignore)
        unread = () if plain else _not_compared(expected, actual)
        pairs = pair_runs(expected, actual)[0]
        told = (*comparison.problems, *unread, *redaction_marks.warnings(pairs))
        return replace(comparison, problems=told), pairs
    pair = _source_like(expected, actual), _source_like(actual, expected)
    comparison = compare_sources(*pair, tolerances=tolerances, metrics=metrics, ignore=ignore)
    beside = _beside(expected, actual) if folders else ()
    told = (*comparison.problems, *_others_not_read(pair), *beside, *redaction_marks.warnings([pair]))
    return replace(comparison, problems=told), [pair]


def _beside(expected: Path, actual: Path) -> tuple[Problem, ...]:
    """Logs next to metrics.jsonl that differ, in folders of others: that of a run or a golden holds all."""
    if any((folder / own).exists() for folder in (expected, actual) for own in (RECORD, PROVENANCE)):
        return ()
    pairs, unpaired = pair_runs(expected, actual)
    log = ProblemLog()
    for left, right in pairs:
        if METRICS not in {left.path.name, right.path.name} and not compare_sources(left, right).identical:
            log.add("not_compared", problems.BOTH, detail=f"'{left.name}'")
    for problem in unpaired.problems():
        log.add("not_compared", problem.side, detail=problem.message.rpartition(": ")[2])
    return log.problems()


def _not_compared(expected: Path, actual: Path) -> tuple[Problem, ...]:
    """Files like logs that both folders have, that differ, and that were not read next to known ones."""
    log = ProblemLog()
    right = sources.unread_logs(actual)
    for name, path in sources.unread_logs(expected).items():
        if name in right and not filecmp.cmp(path, right[name], shallow=False):
            log.add("not_compared", problems.BOTH, detail=f"'{name}'")
    return log.problems()


def _source_like(path: Path, other: Path) -> MetricsSource:
    """The source of one side: of a folder's several files the one that is called like the file next to it.

    Raises:
        MetricsError: No file of the folder, or none of several, is called so.
    """
    found = _source_in(path)
    if not found.others or not path.is_dir() or other.is_dir():
        return found
    every = sources.find_all(path)
    named = [one for one in every if other.name in {one.path.name, one.name}]
    if len(named) != 1:
        raise MetricsError(
            "the folder holds several metrics files, and not exactly one has the name of the other side",
            where=str(path),
            expected=f"one called {quoted(other.name)}",
            actual=_some_of([one.name for one in every]),
            fix="name the file that is meant, or compare two folders",
        )
    return replace(named[0], others=tuple(one.name for one in every if one is not named[0]))


def _others_not_read(pair: Pair) -> tuple[Problem, ...]:
    log = ProblemLog()
    for source, side in zip(pair, ("expected", "actual"), strict=True):
        if source.others:
            log.add("others_not_read", side, detail=_some_of(source.others))
    return log.problems()


def _some_of(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(map(quoted, names[:_MOST_NAMED])) + more


def _was_stopped(folder: Path) -> bool:
    """Whether a folder is that of a run that was stopped at the golden, and has no end to compare."""
    return run_json.recorded(folder).outcome == Outcome.STOPPED_AT_GOLDEN


def _must_differ(comparison: Comparison, sides: Sequence[Path]) -> Comparison:
    """A difference in what both sides have is one; that they agree so far says nothing of the rest."""
    if comparison.comparable and not comparison.within_tolerance:
        return comparison
    raise MetricsError(
        "no difference was found up to where the run was stopped, and its rest is not known",
        where=str(next(filter(_was_stopped, sides))),
        fix="compare whole runs: `reprokit reproduce RECIPE`, or `reprokit verify --no-watch-golden`",
    )


def compare_runs(
    expected: Path,
    actual: Path,
    *,
    tolerances: Tolerances | None = None,
    metrics: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    places: tuple[Places, Places] | None = None,
    output_digests: tuple[Mapping[str, str], Mapping[str, str]] | None = None,
) -> Comparison:
    """Compare every metrics file that two run folders have, so that nothing is left out unseen.

    Where there are several files, names of metrics begin with ``file:`` (``metrics`` and ``ignore`` match
    both spellings), the divergence is that of the first file that has one, and a file of one side only is a
    difference. ``places`` are the paths of either run as its program saw them, with what stands for them in
    texts. ``output_digests`` are those of the output files that count; without them ``run.json`` has them.

    Raises:
        MetricsError: Neither folder holds metrics, or a file cannot be opened.
    """
    if output_digests is None:
        of_outputs = _compare_outputs(expected, actual)
    else:
        of_outputs = _compare_digests(*output_digests)
    pairs, log = pair_runs(expected, actual)
    if not pairs and not log.has(problems.DIFFERENCE):
        raise no_metrics(expected)
    placeholders = Placeholders(*(places or (_places_of(expected), _places_of(actual))))
    found = []
    for left, right in pairs:
        own = f"{left.name}:"
        comparison = compare_sources(
            left,
            right,
            tolerances=tolerances,
            metrics=None if metrics is None else [name.removeprefix(own) for name in metrics],
            ignore=[one for pattern in ignore for one in within(pattern, left.name)],
            placeholders=placeholders,
        )
        is_all = len(pairs) == 1 and not log.has(problems.DIFFERENCE) and of_outputs is None
        if is_all and not _says_nothing(comparison):
            return replace(comparison, problems=(*log.problems(), *comparison.problems))
        found.append(_prefixed(comparison, left.name) if len(pairs) > 1 else comparison)
    for name in metrics or ():
        if not any(known == name or known.endswith(f":{name}") for one in found for known in one.per_metric):
            names = [known for pair in pairs for source in pair for known in names_in(source)]
            near = ", ".join(map(quoted, nearest(name, names)))
            log.add("unknown_metric", problems.BOTH, detail=f"{quoted(name)}; the nearest: {near}")
    if all(map(_says_nothing, found)):
        for why in not_logs.why_not(expected):
            log.add("not_a_log", problems.BOTH, detail=why)
    return _merged([*found, *([of_outputs] if of_outputs else ())], log.problems())


def _compare_outputs(expected: Path, actual: Path) -> Comparison | None:
    """The output files that count next to the metrics, by the digests in ``run.json``; None where none do.

    Raises:
        MetricsError: Other files were asked for in one run than in the other.
    """
    records = [run_json.recorded(folder) for folder in (expected, actual)]
    patterns = [record.outputs or () for record in records]
    if not any(patterns) or any(record.program for record in records):
        return None  # of a recipe's run, they stand in its metrics
    if patterns[0] != patterns[1]:
        raise MetricsError(
            "the runs were made with other output files to compare",
            where=str(actual),
            expected=f"--output {' --output '.join(map(str, patterns[0])) or 'left out'}",
            actual=f"--output {' --output '.join(map(str, patterns[1])) or 'left out'}",
            fix="compare runs that were made with the same --output",
        )
    return _compare_digests(*(record.output_digests or {} for record in records))


def _compare_digests(expected: Mapping[str, str], actual: Mapping[str, str]) -> Comparison:
    comparer = Comparer()
    comparer.add(expected, actual)
    return comparer.finish()


def pair_runs(expected: Path, actual: Path) -> tuple[list[Pair], ProblemLog]:
    """Pair the sources of two run folders, in a fixed order; those that only one side has are problems.

    Sources belong together by name. Where each folder has exactly one of a format left over, such as a file
    with the time in its name, those two are taken for each other, with a warning.
    """
    log = ProblemLog()
    left, right = ({one.name: one for one in sources.find_all(folder)} for folder in (expected, actual))
    if left.keys() != right.keys():
        left, right = _read_in_both(left, actual), _read_in_both(right, expected)
    pairs = [(left[name], right[name]) for name in left if name in right]
    alone = [source for name, source in left.items() if name not in right]
    new = [source for name, source in right.items() if name not in left]
    for source in alone:
        twins = [other for other in new if other.adapter == source.adapter]
        if len(twins) == 1 and sum(other.adapter == source.adapter for other in alone) == 1:
            new.remove(twins[0])
            pairs.append((source, twins[0]))
            log.add("renamed_source", "actual", detail=f"'{source.name}' is '{twins[0].name}'")
        else:
            log.add("missing_source", "actual", detail=f"'{source.name}'")
    for source in new:
        log.add("extra_source", "actual", detail=f"'{source.name}'")
    return pairs, log


def _read_in_both(found: Mapping[str, MetricsSource], other: Path) -> dict[str, MetricsSource]:
    """The sources of one side without files that the other has too, and does not read.

    It does not where a log that is known by its name holds numbers there, and none here.
    """
    unread = sources.unread_logs(other) if any(map(sources.is_by_content, found.values())) else {}
    return {name: source for name, source in found.items() if name not in unread}


def no_metrics(run_dir: Path) -> MetricsError:
    """The error for a run folder without any metrics."""
    return MetricsError(
        "the folder holds no metrics file",
        kind="no_metrics_file",
        where=str(run_dir),
        expected="metrics.jsonl, a .jsonl or .csv file, another known log, or numbers in .log or .txt files",
        actual=", ".join(not_logs.why_not(run_dir)) or None,
        fix="have the program write its metrics into the folder that {run_dir} names",
    )


def _source_in(path: Path) -> MetricsSource:
    if not path.is_dir():
        return sources.source_of(path)
    if stored(path / METRICS).exists():
        return sources.source_of(path / METRICS)
    found = sources.find(path)
    if found is None:
        raise no_metrics(path)
    return found


def _prefixed(comparison: Comparison, name: str) -> Comparison:
    """The same comparison, with names that say which file they are from."""
    divergence = comparison.divergence
    if divergence is not None:
        metric = name if divergence.metric is None else f"{name}:{divergence.metric}"
        divergence = replace(divergence, metric=metric)
    return replace(
        comparison,
        divergence=divergence,
        per_metric={f"{name}:{metric}": summary for metric, summary in comparison.per_metric.items()},
        problems=tuple(
            replace(problem, message=f"{name}: {problem.message}") for problem in comparison.problems
        ),
    )


def _merged(found: Sequence[Comparison], of_files: tuple[Problem, ...]) -> Comparison:
    """One comparison of all. Files that hold nothing on both sides do not stop that of the others."""
    telling = [comparison for comparison in found if not _says_nothing(comparison)] or found
    idle = [
        replace(problem, severity=problems.WARNING)
        for comparison in found
        if comparison not in telling
        for problem in comparison.problems
    ]
    every = (*of_files, *(problem for comparison in telling for problem in comparison.problems), *idle)
    sound = bool(telling) and not any(problem.severity != problems.WARNING for problem in every)
    per_metric: dict[str, MetricSummary] = {}
    for comparison in telling:
        per_metric.update(comparison.per_metric)
    return Comparison(
        identical=sound and all(comparison.identical for comparison in telling),
        within_tolerance=sound and all(comparison.within_tolerance for comparison in telling),
        records_compared=sum(comparison.records_compared for comparison in telling),
        metrics_compared=sum(comparison.metrics_compared for comparison in telling),
        divergence=_first([one.divergence for one in telling if one.divergence]) or _of_files(of_files),
        per_metric=per_metric,
        problems=every,
    )


def _first(divergences: Sequence[Divergence]) -> Divergence | None:
    """The first that is no matter of words alone, else the first."""
    of_numbers = (
        divergence
        for divergence in divergences
        if not (type(divergence.expected) is type(divergence.actual) is str)
    )
    return next(of_numbers, divergences[0] if divergences else None)


def _places_of(run_dir: Path) -> dict[str, str]:
    """Where a run's folder is, by every name that its program may have been given."""
    run_id = run_json.recorded(run_dir).run_id
    moved = [run_id] if isinstance(run_id, str) and len(run_id) >= _UNIQUE else []
    names = [str(run_dir.resolve()), str(run_dir.absolute()), *moved]
    return {f"{name}{below}": f"{{run_dir}}{below}" for name in names for below in ("", "/output")}


def _says_nothing(comparison: Comparison) -> bool:
    """Whether both files hold nothing that is compared, which does not stop the other files' comparison."""
    errors = [problem for problem in comparison.problems if problem.severity == problems.ERROR]
    return bool(errors) and all(error.kind in _HARMLESS and error.side == problems.BOTH for error in errors)


def _of_files(of_files: Iterable[Problem]) -> Divergence | None:
    """The divergence of two runs where only one has some file."""
    for problem in of_files:
        if problem.severity == problems.DIFFERENCE:
            return Divergence(
                record=0, step=None, metric=None, expected=None, actual=None, what=problem.message
            )
    return None
