"""Recipes against the kinds of CPU of a cluster: the verdicts as lines, as data and as a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from reprokit.core.verdicts.rows import counted
from reprokit.reports.escaping import one_line
from reprokit.reports.formats.html_tables import html_table
from reprokit.reports.formats.to_html import WITH_TABLES, page
from reprokit.reports.tables import aligned, shown

_GOOD = {"RECORDED", "REPRODUCED", "EQUIVALENT"}
_HEAD = ("recipe", "seed")


def lines(rows: Sequence[Any]) -> Iterator[str]:
    """A line for each recipe and seed, a column for each kind of CPU; then why not all is well.

    Args:
        rows: Of ``harness.FarmRow``.
    """
    yield from aligned([[shown(cell, limit=100) for cell in line] for line in _table(rows)])
    yield from map(one_line, _remarks(rows))


def data(rows: Sequence[Any]) -> list[dict[str, Any]]:
    """The rows as JSON types: one for each recipe, seed and kind of CPU."""
    return [
        {
            "recipe": row.recipe,
            "seed": row.seed,
            "cpu": row.cpu,
            "machines": list(row.machines),
            "verdict": row.verdict,
            "sentence": row.sentence,
            "exit_code": row.exit_code,
            "runs": [str(folder) for folder in row.runs],
            "folder": str(row.folder) if row.folder else None,
        }
        for row in rows
    ]


def to_html(rows: Sequence[Any], *, exit_code: int) -> str:
    """The page of `reprokit verify --on`."""
    judged = [row for row in rows if row.recipe]
    good = sum(row.verdict in _GOOD for row in judged)
    cpus = len({row.cpu for row in judged})
    head, *others = _table(rows)
    return page(
        "matrix.html.jinja",
        scripts=WITH_TABLES,
        title=one_line("Recipes on machines"),
        tone="good" if exit_code == 0 else "bad" if exit_code == 1 else "unknown",
        sentence=one_line(
            f"{good} of {counted(len(judged), 'cell')} reproduced, on {counted(cpus, 'kind')} of CPU; "
            f"exit code {exit_code}"
        ),
        matrix=html_table([head, *others]),
        remarks=tuple(map(one_line, _remarks(rows))),
        cells=html_table(
            [
                ("recipe", "seed", "CPU", "machines", "verdict", "why", "report"),
                *(
                    (
                        row.recipe,
                        row.seed,
                        row.cpu,
                        ", ".join(row.machines),
                        row.verdict,
                        row.sentence,
                        row.folder,
                    )
                    for row in rows
                ),
            ]
        ),
    )


def _table(rows: Sequence[Any]) -> list[list[str]]:
    cpus = list(dict.fromkeys(row.cpu for row in rows if row.recipe))
    found = {(row.recipe, row.seed, row.cpu): row.verdict for row in rows if row.recipe}
    named = list(dict.fromkeys((row.recipe, row.seed) for row in rows if row.recipe))
    return [
        [*_HEAD, *cpus],
        *(
            [recipe, str(seed), *(found.get((recipe, seed, cpu), "-") for cpu in cpus)]
            for recipe, seed in named
        ),
    ]


def _remarks(rows: Sequence[Any]) -> Iterator[str]:
    """Why a cell is not good, each reason once; and the machines that nothing is known of."""
    said: dict[str, list[str]] = {}
    for row in rows:
        if row.verdict not in _GOOD:
            place = f"{row.recipe} seed {row.seed} on {row.cpu}" if row.recipe else row.cpu
            said.setdefault(f"{row.verdict}: {row.sentence}", []).append(place)
    for why, named in said.items():
        yield f"{', '.join(named)}: {why}"
