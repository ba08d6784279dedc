"""What PyTorch's documentation claims about determinism, and what repeated runs can say about a claim.

    >>> claim_of(statements(torch.use_deterministic_algorithms.__doc__),
    ...          name="torch.cumsum", phase="forward", device="cuda")
    'raises'
    >>> round(chance_bound(30), 3)
    0.098

The claims are read out of the documentation that the measured PyTorch itself brings, so that each version is
held to its own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: Version of the findings' format.
SCHEMA = 1

FORWARD, BACKWARD = "forward", "backward"

#: What is set while an operation is repeated.
DEFAULT, DETERMINISTIC, WARN_ONLY = MODES = ("default", "deterministic", "warn_only")

#: What the documentation claims under ``use_deterministic_algorithms(True)``; unlisted operations fall under
#: its general sentence: deterministic, or a RuntimeError.
ACTS, RAISES, UNLISTED, UNKNOWN = "deterministic", "raises", "unlisted", "unknown"

#: What repeats showed in one mode.
SAME, DIFFERS, RAISED, UNAVAILABLE = "same", "differs", "raises", "unavailable"

#: What is said of a claim. No number of repeats proves that an operation is deterministic.
HOLDS, NOT_REFUTED, FALSE, NOT_RUN = "holds", "not refuted", "false", "not run"

_ENVIRONMENT = ("platform", "device", "torch", "build", "cuda", "cudnn", "driver", "threads")

_NAME = re.compile(r"\*\s+:(?:class|func|meth|attr):`~?([\w.]+)`\s*(.*)")
_SECTIONS = (
    ("will act", ACTS),
    ("will throw", RAISES),
    ("In addition", None),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimStatement:
    """One entry of the documentation's two lists.

    Attributes:
        kind: ``deterministic`` or ``raises``.
        name: As the documentation writes it: ``torch.nn.AvgPool3d``.
        condition: When it applies, without markup: ``when attempting to differentiate a CUDA tensor``.
    """

    kind: str
    name: str
    condition: str

    @property
    def of_gradient(self) -> bool:
        """Whether it speaks only of differentiating."""
        return "differentiate" in self.condition or "requires grad" in self.condition

    def covers(self, device: str) -> bool:
        """Whether it speaks of tensors on ``cpu`` or ``cuda``; without a device it speaks of both."""
        named = [word for word in ("CPU", "CUDA") if word in self.condition]
        return not named or device.upper() in named


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimJudgement:
    """What the repeats say of one claim: ``verdict`` as above, and ``why`` in a few words where needed."""

    verdict: str
    why: str = ""


def chance_bound(repeats: int, *, confidence: float = 0.95) -> float:
    """The largest chance per repeat of another result that seeing none is still compatible with.

    Each repeat after the first is compared with the first: ``(1 - p) ** (repeats - 1) = 1 - confidence``.

    Args:
        repeats: How often the operation was run.
        confidence: In (0, 1).

    Returns:
        0.098 for 30 repeats; 1.0 where nothing was compared.
    """
    return 1.0 if repeats < 2 else float(1.0 - (1.0 - confidence) ** (1.0 / (repeats - 1)))


def statements(documentation: str | None) -> tuple[ClaimStatement, ...]:
    """The entries of both lists in the docstring of ``torch.use_deterministic_algorithms``."""
    return tuple(
        ClaimStatement(kind=kind, name=name, condition=" ".join(condition.replace("`", "").split()))
        for kind, name, condition in _entries(documentation or "")
    )


def claim_of(
    listed: Sequence[ClaimStatement], *, name: str, phase: str, device: str, words: Sequence[str] = ()
) -> str:
    """What is claimed about an operation while deterministic algorithms are on.

    Args:
        listed: From ``statements``; without any, nothing is known.
        name: As the documentation writes it, or "" for an operation that is in no list.
        phase: ``forward`` or ``backward``.
        device: ``cpu`` or ``cuda``.
        words: Parts of the condition that tell entries of one name apart: ``accumulate=True``.

    Returns:
        ``deterministic``, ``raises``, ``unlisted`` or ``unknown``.
    """
    if not listed:
        return UNKNOWN
    for entry in listed:
        fits = entry.name == name and entry.covers(device) and all(word in entry.condition for word in words)
        if fits and (phase == BACKWARD or not entry.of_gradient):
            return entry.kind
    return UNLISTED


def judge(claim: str, findings: Mapping[str, Mapping[str, Any]]) -> ClaimJudgement:
    """Hold a claim to what was found with deterministic algorithms on, raising and warning only.

    Args:
        claim: From ``claim_of``.
        findings: Mode → finding, which has ``outcome``, and ``warned`` under ``warn_only``.
    """
    strict, lenient = (findings.get(mode, {}) for mode in (DETERMINISTIC, WARN_ONLY))
    outcome = strict.get("outcome", UNAVAILABLE)
    if outcome == DIFFERS:
        return ClaimJudgement(verdict=FALSE, why="the result differs and nothing is raised")
    if lenient.get("outcome") == DIFFERS and not lenient.get("warned"):
        return ClaimJudgement(verdict=FALSE, why="with warn_only the result differs and nothing warns")
    if outcome == UNAVAILABLE:
        return ClaimJudgement(verdict=NOT_RUN, why=str(strict.get("message") or ""))
    return _judge_raising(claim) if outcome == RAISED else _judge_repeating(claim)


def is_any_false(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the repeats refute a claim of one of these rows."""
    return any(judge(row["claim"], row).verdict == FALSE for row in rows)


def is_any_measured(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a claim of one of these rows was compared with repeats."""
    return any(judge(row["claim"], row).verdict != NOT_RUN for row in rows)


def environment(found: Mapping[str, Any]) -> dict[str, Any]:
    """What must be the same for an earlier finding to speak of this measurement too."""
    return {name: found.get(name) for name in _ENVIRONMENT}


def keep_differences(found: Mapping[str, Any], earlier: Mapping[str, Any]) -> dict[str, Any]:
    """Findings in which differences stay that an earlier measurement saw in the same environment.

    Whether threads meet depends on what else a machine does, for all repeats of a process alike: an
    operation that differed once is not said to be the same because it did not differ, or could not be run,
    today. What was not measured today stays as well.

    Args:
        found: Of today, perhaps of a few operations.
        earlier: Kept; empty where there is nothing.

    Returns:
        ``found``; where it has ``same`` and ``earlier`` has ``differs``, that, marked ``earlier``, with how
        many repeats were ``compared`` then. Of rows with another number of repeats only differences and
        claims that are false stay.
    """
    if environment(found) != environment(earlier):
        return dict(found)
    compared = earlier["repeats"] - 1
    known = {row_name(row): row for row in earlier["rows"]}
    order = {name: at for at, name in enumerate(known)}
    rows = [_with_differences(row, known.pop(row_name(row), {}), compared=compared) for row in found["rows"]]
    if found["repeats"] == earlier["repeats"]:
        rows += known.values()
    else:
        left = (row for row in known.values() if _differs(row) or is_any_false([row]))
        rows += [_differences(row, compared=compared) for row in left]
    rows.sort(key=lambda row: order.get(row_name(row), len(order)))
    return {**found, "rows": rows, "batches": _with_batches(found["batches"], earlier["batches"])}


def same_bits(rows: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Hold the digests of one platform against those of another, operation by operation.

    Only results that repeated on both platforms are compared, without deterministic algorithms and with.

    Returns:
        ``equal``, ``differ`` and ``unstable`` (did not repeat on one of them): names as in ``row_name``.
    """
    answer: dict[str, list[str]] = {"equal": [], "differ": [], "unstable": []}
    theirs = {row_name(row): row for row in others}
    for row in rows:
        name = row_name(row)
        for mode in (DEFAULT, DETERMINISTIC):
            pair = [one.get(mode, {}) for one in (row, theirs.get(name, {}))]
            outcomes = {one.get("outcome") for one in pair}
            if outcomes == {SAME}:
                kind = "equal" if pair[0]["digest"] == pair[1]["digest"] else "differ"
            elif outcomes <= {SAME, DIFFERS}:
                kind = "unstable"
            else:
                continue
            answer[kind].append(f"{name} {mode}")
    return answer


def row_name(row: Mapping[str, Any]) -> str:
    """``torch.cumsum float32 forward``, or ``… compiled``: the same for no other row of a platform."""
    compiled = " compiled" if row["compiled"] else ""
    return f"{row['operation']} {row['dtype']} {row['phase']}{compiled}"


def _judge_raising(claim: str) -> ClaimJudgement:
    if claim == ACTS:
        return ClaimJudgement(verdict=FALSE, why="it raises")
    return ClaimJudgement(verdict=HOLDS, why="" if claim == RAISES else "raises, without being listed")


def _judge_repeating(claim: str) -> ClaimJudgement:
    if claim == RAISES:
        return ClaimJudgement(verdict=FALSE, why="nothing is raised; no difference found")
    return ClaimJudgement(verdict=NOT_REFUTED)


def _with_differences(row: Mapping[str, Any], known: Mapping[str, Any], *, compared: int) -> dict[str, Any]:
    if row[DEFAULT]["outcome"] == UNAVAILABLE and _differs(known):
        return _differences(known, compared=compared)
    merged = dict(row)
    for mode in MODES:
        now, before = row.get(mode, {}), known.get(mode, {})
        if now.get("outcome") == SAME and before.get("outcome") == DIFFERS:
            seen = {name: before[name] for name in ("outcome", "differing", "warned") if name in before}
            seen["compared"] = before.get("compared", compared)
            merged[mode] = {"digest": now["digest"], "ms": now["ms"], **seen, "earlier": True}
    return merged


def _differs(row: Mapping[str, Any]) -> bool:
    return any(row.get(mode, {}).get("outcome") == DIFFERS for mode in MODES)


def _differences(row: Mapping[str, Any], *, compared: int) -> dict[str, Any]:
    """A row that was not measured again: what was the same in another number of repeats is left open.

    But for a claim that is false because nothing is raised: it takes no repeats to see that.
    """
    if not _differs(row):
        return dict(row)
    kept = {name: value for name, value in row.items() if name not in MODES}
    for mode in MODES:
        before = row.get(mode, {"outcome": UNAVAILABLE})
        if before["outcome"] == DIFFERS:
            kept[mode] = {**before, "compared": before.get("compared", compared), "earlier": True}
        elif before["outcome"] == SAME:
            kept[mode] = {"outcome": UNAVAILABLE, "message": "not measured again"}
        else:
            kept[mode] = before
    return kept


def _with_batches(found: Mapping[str, Any], earlier: Mapping[str, Any]) -> dict[str, Any]:
    """Batches of each mode, with those that were not measured today."""
    merged = {}
    for mode in dict.fromkeys((*found, *earlier)):
        batches = found.get(mode, ())
        measured = {(batch["operation"], batch["dtype"]) for batch in batches}
        rest = [one for one in earlier.get(mode, ()) if (one["operation"], one["dtype"]) not in measured]
        merged[mode] = [*batches, *rest]
    return merged


def _entries(documentation: str) -> Iterator[tuple[str, str, str]]:
    kind: str | None = None
    entry: list[str] = []
    for line in map(str.strip, documentation.splitlines()):
        section = next((found for start, found in _SECTIONS if start in line), kind)
        bullet = _NAME.match(line)
        if entry and kind and (bullet or section != kind):
            yield kind, entry[0], " ".join(entry[1:])
            entry = []
        kind = section
        if bullet:
            entry = [bullet.group(1), bullet.group(2)]
        elif entry:
            entry.append(line)
