"""The answer of ``reprokit diagnose``, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from reprokit.core.comparing.difference import Divergence
from reprokit.core.extension_record import ReportedProposal
from reprokit.core.records import to_json
from reprokit.diagnosis import Began, Cause
from reprokit.harness.diagnosing.odds import Odds

DIFFERS, EQUAL, UNJUDGED = "NONDETERMINISTIC", "REPEATABLE", "UNJUDGED"


_NOT_SHOWN = Cause(category="unknown", what="no experiment shows a cause", fix="", confidence="low")


@dataclass(frozen=True, slots=True, kw_only=True)
class RuledOut:
    """A candidate that is no cause, and how that is known."""

    what: str
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What was tried, in how many runs, and how these ended next to the first run."""

    what: str
    runs: int
    outcome: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tap:
    """A line that used something no seed governs, and whether its values differ between the two runs."""

    category: str
    kind: str
    file: str
    line: int
    function: str
    what: str
    count: int
    differs: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The answer of ``reprokit diagnose``.

    Attributes:
        verdict: ``NONDETERMINISTIC`` or ``REPEATABLE``; ``UNJUDGED`` where nothing differs, but a variation
            that was asked for by name was not made.
        began: The first event of the training that differs, or None where none was recorded.
        causes: What makes them differ; empty where the evidence shows none.
        variation: The variation needed for them to differ, or None where equal conditions are enough.
        not_varied: Conditions that were not varied, and why: nothing is known of them.
        provisional: Why the answer is not confirmed: interrupted, or the budget used up; "" where it is.
        odds: What was seen of pairs of runs, which the confidence follows from; None where nothing differs.
        not_seen: What the watch of calls could not read: type → how often.
        next: What to type where the cause is unknown.
        equality: What is known where nothing differs; empty where conditions were varied too.
        proposals: Causes that extensions propose; none of them changes anything of the answer.
        extensions: Those that were loaded: ``name``, ``version`` and ``digest``.
        state: Paths of what a resumed run did not restore; None where nothing was resumed.
    """

    verdict: str
    divergence: Divergence | None = None
    began: Began | None = None
    causes: tuple[Cause, ...] = ()
    variation: str | None = None
    known: tuple[str, ...] = ()
    ruled_out: tuple[RuledOut, ...] = ()
    not_varied: tuple[RuledOut, ...] = ()
    limits: tuple[str, ...] = ()
    taps: tuple[Tap, ...] = ()
    replay: tuple[str, ...] = ()
    folder: Path
    runs: int
    provisional: str = ""
    equality: str = ""
    odds: Odds | None = None
    tried: tuple[Tried, ...] = ()
    not_seen: Mapping[str, int] = field(default_factory=dict)
    next: tuple[str, ...] = ()
    proposals: tuple[ReportedProposal, ...] = ()
    extensions: tuple[Mapping[str, str], ...] = ()
    state: tuple[str, ...] | None = None

    @property
    def cause(self) -> Cause | None:
        return self.causes[0] if self.causes else None

    def as_data(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "divergence": self._divergence(),
            "cause": self._cause(),
            "causes": [asdict(cause) for cause in self.causes],
            "variation": self.variation,
            "known": list(self.known),
            "ruled_out": [asdict(one) for one in self.ruled_out],
            "not_varied": [asdict(one) for one in self.not_varied],
            "limits": list(self.limits),
            "taps": [asdict(tap) for tap in self.taps],
            "replay": list(self.replay),
            "folder": str(self.folder),
            "runs": self.runs,
            "provisional": self.provisional,
            "odds": self.odds.as_data() if self.odds else None,
            "tried": [asdict(one) for one in self.tried],
            "not_seen": dict(self.not_seen),
            "next": list(self.next),
            **({} if self.state is None else {"state": list(self.state)}),
            **self._of_extensions(),
        }

    def _of_extensions(self) -> dict[str, Any]:
        if not self.extensions:
            return {}
        return {
            "extensions": [dict(one) for one in self.extensions],
            "proposals": [asdict(one) for one in self.proposals],
        }

    def _cause(self) -> dict[str, Any] | None:
        """The first cause, or where the runs differ and none was shown, that it is unknown."""
        if self.cause is None and self.verdict != DIFFERS:
            return None
        return asdict(self.cause or _NOT_SHOWN)

    def _divergence(self) -> dict[str, Any] | None:
        if self.divergence is None:
            return None
        found, began = to_json(self.divergence), self.began
        if began is None:
            return {**found, "update": None, "stream": None, "event": None}
        return {
            **found,
            "update": began.update,
            "rank": began.rank,
            "environment_steps": began.steps or None,
            "stream": began.stream or None,
            "event": began.event,
            "streams": list(began.streams),
            "generators": dict(began.generators),
            "equal_before": began.equal_before or None,
            "single_event": began.single,
        }


class InterruptedDiagnosisError(KeyboardInterrupt):
    """The diagnosis was interrupted, and something is known already.

    Args:
        found: The provisional answer.
    """

    def __init__(self, found: Diagnosis) -> None:
        super().__init__()
        self.found = found
