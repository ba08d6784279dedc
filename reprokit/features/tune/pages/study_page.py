"""A search as an HTML page: history, importance, all trials across their settings, and the table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from reprokit.features.tune.pages.study_charts import across_settings, history
from reprokit.features.tune.studies import StudyData
from reprokit.reports.charts.plots import WIDTH
from reprokit.reports.escaping import Visible, one_line
from reprokit.reports.formats.html_tables import HtmlTable
from reprokit.reports.formats.to_html import WITH_CHARTS, WITH_TABLES, page


def study_to_html(study: StudyData, *, importance: Mapping[str, float], fresh: str = "") -> str:
    """The page.

    Args:
        study: What ``study.json`` holds.
        importance: Setting → share, the largest first.
        fresh: What the best trial came to with other seeds; "" where it was not run with any.
    """
    names = list(study["space"])
    return page(
        "study.html.jinja",
        name=one_line(study["name"]),
        sentence=one_line(_sentence(study), limit=1000),
        best=study["best"] is not None,
        fresh=one_line(fresh, limit=1000) if fresh else "",
        history=history(study),
        importance=[(one_line(name), share) for name, share in importance.items()],
        parallel=across_settings(study, importance),
        trials=_table(study, names),
        scripts=(*WITH_CHARTS, *WITH_TABLES),
        plot_width=f"{WIDTH:g}",
    )


def _sentence(study: StudyData) -> str:
    trials = study["trials"]
    metric = study["metric"] or "the return"
    if study["window"] != "last":
        metric = f"{metric} ({study['window']})"
    what = f"{len(trials)} trials of {study['recipe']}, {study['sampler']}, search seed {study['seed']}"
    if study["best"] is None:
        return f"{what}. No trial is complete."
    best = trials[study["best"]]
    settings = ", ".join(f"{name} = {json.dumps(value)}" for name, value in best["params"].items())
    return f"{what}. Trial {best['number']} is the best: {metric} {best['value']:.6g} with {settings}."


def _table(study: StudyData, names: list[str]) -> HtmlTable:
    """A row a trial; the column of messages only where a trial has one."""
    head, rows = ["trial", "state", "value", *names, "why"], list(_rows(study, names))
    if not any(row[-1] for row in rows):
        head, rows = head[:-1], [row[:-1] for row in rows]
    return HtmlTable(head=tuple(map(one_line, head)), rows=tuple(map(tuple, rows)))


def _rows(study: StudyData, names: list[str]) -> Iterator[list[Visible]]:
    for row in study["trials"]:
        settings = (json.dumps(row["params"][name]) if name in row["params"] else "-" for name in names)
        value = "-" if row["value"] is None else f"{row['value']:.6g}"
        at = "" if row["pruned_at"] is None else f" at {row['pruned_at']}"
        cells = (
            str(row["number"]),
            f"{str(row['state']).lower()}{at}",
            value,
            *settings,
            row["message"] or "",
        )
        yield [one_line(cell) for cell in cells]
