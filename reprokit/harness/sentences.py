"""What each verdict says to a person: one sentence, and the command to type next.

Pure. This module knows the words; it refuses to judge.

    >>> sentence(case)
    '2 runs agree with each other and with the golden, bit for bit.'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit.core.checklist import Evidence, Judgement, Verdict
from reprokit.core.comparison import Divergence


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A verdict with what it rests on."""

    judged: Judgement
    evidence: Evidence
    divergence: Divergence | None
    failure: Mapping[str, Any] | None
    folders: Sequence[Path]

    @property
    def count(self) -> int:
        return len(self.evidence.runs)

    @property
    def where(self) -> str:
        """The first divergence, in words."""
        first = self.divergence
        if first is None:
            return "the start"
        metric = f", metric {first.metric}" if first.metric else ""
        return f"step {first.step} (record {first.record}{metric})"


def sentence(case: Case) -> str:
    """The verdict in one sentence."""
    return _SENTENCES[case.judged.verdict](case)


def next_command(case: Case) -> str:
    """What to type next, or "" when there is nothing to do."""
    return _NEXT[case.judged.verdict](case)


def _not_run(case: Case) -> str:
    return f"A run did not finish: {case.failure['message'] if case.failure else case.judged.because}."


def _nondeterministic(case: Case) -> str:
    if case.divergence is None:
        return f"{case.judged.because[:1].upper()}{case.judged.because[1:]}."
    return f"Two runs with the same seed differ from {case.where} on."


def _regression(case: Case) -> str:
    changed = ", ".join(case.evidence.golden.changed) if case.evidence.golden else ""
    since = f"changed since then: {changed}" if changed else "nothing of the recipe has changed since then"
    return f"Same numerics as the golden, other numbers from {case.where} on; {since}."


def _stale(case: Case) -> str:
    rows = case.evidence.golden.environment_diff if case.evidence.golden else []
    first = rows[0] if rows else None
    told = (
        f"{first['field']} was {first['expected']}, is {first['actual']}"
        if first
        else "the recorded environments do not say how"
    )
    differ = f"{case.count} runs agree, but differ from the golden from {case.where} on"
    return f"{differ}, in another environment: {told}."


def _no_golden(case: Case) -> str:
    return f"{case.count} runs agree, but {case.judged.because}."


def _not_enough(case: Case) -> str:
    return f"The numbers are not the problem: {case.judged.because}."


def _unjudged(case: Case) -> str:
    return f"There is not enough evidence for a verdict: {case.judged.because}."


def _reproduced(case: Case) -> str:
    golden = case.evidence.golden
    if golden is not None and not golden.comparison.identical:
        return f"{case.count} runs agree bit for bit, and with the golden within the recipe's tolerance."
    return f"{case.count} runs agree with each other and with the golden, bit for bit."


def _repeatable(case: Case) -> str:
    return f"{case.count} runs agree with each other, bit for bit."


def _paths(case: Case) -> str:
    return " ".join(str(folder) for folder in case.folders)


def _nothing(_case: Case) -> str:
    return ""


def _show(case: Case) -> str:
    return f"reprokit report show {_paths(case)}"


def _golden_path(case: Case) -> str:
    return case.evidence.golden.path if case.evidence.golden else "golden/"


_SENTENCES: Mapping[Verdict, Callable[[Case], str]] = {
    Verdict.NOT_RUN: _not_run,
    Verdict.NONDETERMINISTIC: _nondeterministic,
    Verdict.REGRESSION: _regression,
    Verdict.STALE_GOLDEN: _stale,
    Verdict.NO_GOLDEN: _no_golden,
    Verdict.CHECK_FAILED: _not_enough,
    Verdict.UNJUDGED: _unjudged,
    Verdict.REPRODUCED: _reproduced,
    Verdict.REPEATABLE: _repeatable,
}

_NEXT: Mapping[Verdict, Callable[[Case], str]] = {
    Verdict.NOT_RUN: lambda _case: "reprokit doctor",
    Verdict.NONDETERMINISTIC: lambda case: f"reprokit diff {case.folders[0]} {case.folders[1]}",
    Verdict.REGRESSION: lambda case: f"reprokit diff {_golden_path(case)} {case.folders[0]}",
    Verdict.STALE_GOLDEN: lambda case: f"reprokit env diff {_golden_path(case)} {case.folders[0]}",
    Verdict.NO_GOLDEN: lambda case: f"reprokit golden promote {_paths(case)} --reason 'first golden'",
    Verdict.CHECK_FAILED: _show,
    Verdict.UNJUDGED: _show,
    Verdict.REPRODUCED: _nothing,
    Verdict.REPEATABLE: _nothing,
}
