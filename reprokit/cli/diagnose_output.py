"""What follows an answer of ``reprokit diagnose``: the page beside it, annotations in CI, what was not seen.

This module knows where they go; it refuses to know how they are drawn.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from reprokit.harness.diagnosing import Diagnosis

_MOST, _FEW = 30, 4


def keep_page(found: Diagnosis, *, subject: str, sentence: str) -> Path:
    """Write ``diagnosis.html`` beside ``diagnosis.json``.

    Raises:
        WorkspaceError: The folder cannot be written.
    """
    from reprokit import workspace
    from reprokit.reports.shorten import below
    from reprokit.reports.to_html import diagnosis_to_html

    path = found.folder / "diagnosis.html"
    text = diagnosis_to_html(below(found.as_data(), str(Path.cwd())), subject=subject, sentence=sentence)
    try:
        workspace.write_atomic(path, text.encode("utf-8"))
    except OSError as error:
        raise workspace.cannot_write(path, error) from error
    return path


def annotate(found: dict[str, Any]) -> None:
    """On GitHub: an error on the line of every cause (its runner reads stderr too)."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return
    from reprokit.reports.shorten import below
    from reprokit.reports.to_github import cause_commands

    root = os.environ.get("GITHUB_WORKSPACE") or str(Path.cwd())
    for line in cause_commands(below(found, root)):
        click.echo(line, err=True)


def ruled_out(found: Diagnosis) -> Iterator[str]:
    """What is no cause: one line each, and one line together where many were ruled out by one experiment."""
    from reprokit.cli.tables import shown
    from reprokit.reports.escaping import one_line

    by_how: dict[str, list[str]] = {}
    for one in found.ruled_out:
        by_how.setdefault(one.how, []).append(one.what)
    if by_how:
        yield "Ruled out:"
    for how, whats in by_how.items():
        if len(whats) > _FEW and not any(":" in what for what in whats):  # surroundings, no lines
            yield f"  {shown(how)}: {one_line(', '.join(whats))}"
        else:
            yield from (f"  {shown(what)}: {shown(how)}" for what in whats[:_MOST])


def not_seen(found: Diagnosis) -> Iterator[str]:
    """What nothing is known of: surroundings that were not varied, and what the watch cannot see."""
    from reprokit.cli.tables import shown

    if found.not_varied:
        yield "Not varied, so nothing is known of it:"
        yield from (f"  {shown(one.what)}: {shown(one.how)}" for one in found.not_varied[:_MOST])
    if found.limits:
        yield "Not seen by the watch:"
        yield from (f"  {shown(one)}" for one in found.limits[:_MOST])
