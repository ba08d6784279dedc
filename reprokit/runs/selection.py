"""Which runs of a list fit what someone asks for."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, time, timedelta

from reprokit.runs.listing import RunSummary

_FORMAT = "%Y-%m-%dT%H:%M:%SZ"  # of the start in a summary


def select(
    runs: Iterable[RunSummary],
    *,
    recipe: str | None = None,
    verdict: str | None = None,
    outcome: str | None = None,
    environment: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[RunSummary]:
    """Those runs that fit everything that is asked; None asks nothing.

    ``verdict`` is in any case, ``-`` for those without; ``environment`` a word of the environment, or the
    beginning of the digest of its image or lock; ``since`` and ``until`` are UTC, where midnight is the whole
    day.
    """
    if until is not None and until.time() == time.min:
        until += timedelta(days=1, seconds=-1)
    first = "" if since is None else f"{since:{_FORMAT}}"
    last = "" if until is None else f"{until:{_FORMAT}}"
    return [
        run
        for run in runs
        if recipe in {None, run.recipe}
        and (verdict or run.verdict).upper() == run.verdict.upper()
        and outcome in {None, run.outcome}
        and run.started_at >= first
        and (not last or "" < run.started_at <= last)
        and (environment is None or _is_in(run, environment))
    ]


def _is_in(run: RunSummary, environment: str) -> bool:
    names = (
        *run.environment.split(),
        *run.digests,
        *(digest.removeprefix("sha256:") for digest in run.digests),
    )
    return run.environment == environment or any(name.startswith(environment) for name in names)
