"""What explains a mismatch with the golden, and whether the run learned, as labels and values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from reprokit.core.checklist import Report
from reprokit.learning import Health, diagnose
from reprokit.reports.escaping import Visible, one_line
from reprokit.reports.format_values import Facts
from reprokit.reports.formats.statistical_gate import statistical_facts

GATE_TITLE = Visible("Statistical gate")
_SHOWN = 20


def explanations(report: Report) -> tuple[tuple[Visible, Facts], ...]:
    """Title and facts of everything that explains a verdict or a training; what is empty is left out."""
    found = (
        (GATE_TITLE, statistical_facts(report.statistical)),
        (Visible("Code or environment"), _attribution(report.attribution or {})),
        (Visible("Code since the golden"), _code_changes(report.code_changes or {})),
        (Visible("Learning"), _learning(report)),
    )
    return tuple((title, facts) for title, facts in found if facts)


def _learning(report: Report) -> Facts:
    """What the first run's curves show of its learning: all that is not fine, and the result.

    The curves are thinned and without infinities; `reprokit learning RUN` reads the run itself.
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
        facts.append(_fact("more", f"reprokit learning {report.runs[0]}"))
    return tuple(facts)


def _of_first_run(series: Sequence[Mapping[str, Any]]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    first = series[0] if series[0].get("label") == "run 1" else {"steps": (), "values": ()}
    values = tuple(math.nan if value is None else float(value) for value in first["values"])
    return tuple(map(float, first["steps"])), values


def _code_changes(found: Mapping[str, Any]) -> Facts:
    """Files that the recipe depends on, changed since the golden's commit; or why that is not known."""
    if not found.get("commit"):
        return (_fact("not known", found["why"]),) if found.get("why") else ()
    files = found.get("files") or []
    rows = [_fact(file.get("path"), _lines(file)) for file in files[:_SHOWN]]
    if len(files) > len(rows):
        rows.append(_fact("more", f"{len(files) - len(rows):,} files in report.json"))
    return (_fact("golden's commit", found["commit"]), *(rows or [_fact("files", "none changed")]))


def _lines(file: Mapping[str, Any]) -> str:
    if file.get("added") is None:
        return "new, not in git" if file.get("removed") == 0 else "not text"
    count = f"+{file['added']} -{file.get('removed')} lines"
    lines = [str(line).removeprefix(f"{file.get('path')}:") for line in file.get("lines") or ()]
    return f"{count}; line {', '.join(lines)}" if lines else count


def _attribution(found: Mapping[str, Any]) -> Facts:
    """Which code in which environment gives the golden, and what follows."""
    if not found:
        return ()
    cells = [
        _fact(
            f"{cell.get('code')} code, {cell.get('environment')} environment",
            str(cell.get("result")) + (f": {cell['detail']}" if cell.get("detail") else ""),
        )
        for cell in found.get("cells") or ()
    ]
    return (_fact("answer", f"{found.get('answer')}: {found.get('sentence')}"), *cells)


def _fact(label: object, value: object) -> tuple[Visible, Visible]:
    return one_line(label), one_line(value)
