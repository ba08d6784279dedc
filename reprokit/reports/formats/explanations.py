"""What explains a mismatch with the golden, and whether the run learned, as labels and values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from reprokit.core.checklist import Report
from reprokit.core.report_parts import Attribution, CodeChanges, DrawnCurve, FileChange
from reprokit.learning import Health, diagnose
from reprokit.reports.escaping import Visible, one_line
from reprokit.reports.format_values import Facts
from reprokit.reports.formats.statistical_gate import statistical_facts

GATE_TITLE = Visible("Statistical gate")
ATTRIBUTION_TITLE = Visible("Code or environment")
ROUNDING_TITLE = Visible("Is it only rounding?")
CODE_TITLE = Visible("Code since the golden")
_SHOWN = 20


def explanations(report: Report) -> tuple[tuple[Visible, Facts], ...]:
    """Title and facts of everything that explains a verdict or a training; what is empty is left out."""
    found = (
        (GATE_TITLE, statistical_facts(report.statistical)),
        (ATTRIBUTION_TITLE, _attribution(report.attribution)),
        (ROUNDING_TITLE, _rounding(report.rounding)),
        (CODE_TITLE, _code_changes(report.code_changes)),
        (Visible("Learning"), _learning(report)),
    )
    return tuple((title, facts) for title, facts in found if facts)


def _learning(report: Report) -> Facts:
    """What the first run's curves show of its learning: all that is not fine, and the result.

    The curves are thinned and without infinities; `reprokit runs learning RUN` reads the run itself.
    """
    curves = {name: _of_first_run(series) for name, series in report.curves.items() if series}
    answers = {one.id: one for one in diagnose({name: one for name, one in curves.items() if one[0]})}
    asked = [answers[name] for name in ("result", "reward") if name in answers]  # no reward: labelled data
    if any(one.health is Health.UNKNOWN for one in asked):
        return ()
    odd = [answer for answer in answers.values() if answer.health in {Health.LOOK, Health.WRONG}]
    facts = [_fact(f"{one.question} ({one.health.value})", f"{one.told}. {one.remedy}") for one in odd]
    result = answers["result"]
    facts += [] if result in odd else [_fact(result.question, result.told)]
    if odd and report.runs:
        facts.append(_fact("more", f"reprokit runs learning {report.runs[0]}"))
    return tuple(facts)


def _of_first_run(series: Sequence[DrawnCurve]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    first = series[0]
    if first.label != "run 1":
        return (), ()
    values = tuple(math.nan if value is None else float(value) for value in first.values)
    return tuple(map(float, first.steps)), values


def _code_changes(found: CodeChanges | None) -> Facts:
    """Files that the recipe depends on, changed since the golden's commit; or why that is not known."""
    if found is None:
        return ()
    if not found.commit:
        return (_fact("not known", found.why),) if found.why else ()
    rows = [_fact(file.path, _lines(file)) for file in found.files[:_SHOWN]]
    if len(found.files) > len(rows):
        rows.append(_fact("more", f"{len(found.files) - len(rows):,} files in report.json"))
    return (_fact("golden's commit", found.commit), *(rows or [_fact("files", "none changed")]))


def _lines(file: FileChange) -> str:
    if file.added is None:
        return "new, not in git" if file.removed == 0 else "not text"
    count = f"+{file.added} -{file.removed} lines"
    lines = [line.removeprefix(f"{file.path}:") for line in file.lines]
    return f"{count}; line {', '.join(lines)}" if lines else count


def _attribution(found: Attribution | None) -> Facts:
    """Which code in which environment gives the golden, and what follows."""
    if found is None:
        return ()
    cells = [
        _fact(
            f"{cell.code} code, {cell.environment} environment",
            cell.result + (f": {cell.detail}" if cell.detail else ""),
        )
        for cell in found.cells
    ]
    return (_fact("answer", f"{found.answer}: {found.sentence}"), *cells)


def _rounding(found: Mapping[str, Any] | None) -> Facts:
    """Whether the environment moved the numbers as rounding does, and what is said of each metric."""
    if found is None:
        return ()
    rows = [_fact(name, _of_metric(one)) for name, one in found.get("metrics", {}).items()]
    if len(rows) > _SHOWN:
        rows = [*rows[:_SHOWN], _fact("more", f"{len(rows) - _SHOWN:,} metrics in report.json")]
    return (_fact("rounding", found.get("sentence", "")), *rows)


def _of_metric(one: Mapping[str, Any]) -> str:
    judged = f"{one['until']:,} of {one['records']:,} records judged"
    why = f"; {one['why']}" if one["why"] else ""
    return f"{one['finding']}, at most {float(one['ratio']):.3g} times the twins; {judged}{why}"


def _fact(label: object, value: object) -> tuple[Visible, Visible]:
    return one_line(label), one_line(value)
