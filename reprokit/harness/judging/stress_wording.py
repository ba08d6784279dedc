"""What is said of disturbed runs: how many differ, how many may, and how many runs a bound needs."""

from __future__ import annotations

import math
import re

from reprokit.core.checklist import Evidence, Judgement, Verdict
from reprokit.core.evidence import StressEvidence
from reprokit.core.statistics.shares import at_most, runs_for

_BOUND = 0.01


def sentence(evidence: Evidence, judged: Judgement, *, where: str) -> str:
    """How many differ, without a full stop; "" where other words are due.

    Args:
        evidence: What was gathered.
        judged: The verdict.
        where: Where the first two that differ begin to.
    """
    seen = evidence.stress
    if seen is None:
        return ""
    if judged.verdict is Verdict.NONDETERMINISTIC and seen.differ:
        interval = f"95 % interval {percent(seen.low)} to {percent(seen.high)} %"
        return (
            f"Under stress, runs with the same seed differ in {seen.differ} of {seen.num_runs} "
            f"({interval}), from {where} on"
        )
    if judged.verdict is Verdict.UNJUDGED and seen.at_most is not None:
        return f"None of {seen.num_runs} runs under stress differs: {bound(seen)}; {judged.because}"
    return ""


def shows_nothing(evidence: Evidence, judged: Judgement) -> bool:
    """Whether disturbed runs were all equal, so that the runs as they are have to show that they are."""
    return bool(evidence.stress and not evidence.stress.differ) and judged.verdict is Verdict.UNJUDGED


def as_they_are(line: str) -> str:
    """The line that makes disturbed runs of a command, for a pair that is not."""
    return re.sub(r" --repeats \d+(?=.* -- )| --stress(?=.* -- )", "", line)


def bound(seen: StressEvidence) -> str:
    """How many may differ all the same, and how many runs it takes to say less."""
    at_most = seen.at_most or 0.0
    more = f", and for at most 1 in {round(1 / _BOUND)} it takes {runs_for(_BOUND)} runs"
    return f"at most {math.ceil(1000 * at_most) / 10:g} % of runs do (95 %){more if at_most > _BOUND else ''}"


def shown_by(num_runs: int) -> str:
    """What so many runs show, before they are made."""
    most = math.ceil(1000 * at_most(num_runs)) / 10
    shown = f"{num_runs} runs show, where none differs, that at most {most:g} % of runs do (95 %)"
    return f"{shown}; at most 1 in {round(1 / _BOUND)}: {runs_for(_BOUND)} runs (--at-most 1/100)"


def percent(share: float) -> str:
    """A share in percent, in as many digits as are read.

    >>> percent(0.0157), percent(0.204), percent(0.0721), percent(0.0042)
    ('2', '20', '7', '0.4')
    """
    return f"{100 * share:.0f}" if share >= 0.01 or share == 0 else f"{100 * share:.1g}"
