"""What is wrong with a golden that loads: metrics that are not finite, a tolerance that nothing supports.

It finds what a person should correct, and judges no run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from reprokit.compressed import open_stored
from reprokit.core.verdicts.agreement import chance_of_another
from reprokit.core.verdicts.rows import counted
from reprokit.golden.folder import Golden
from reprokit.layout import PROVENANCE
from reprokit.records.provenance_json import RESTORE, was_edited

PROMOTE = "run the recipe again and promote it: `reprokit golden promote`"
EDITED = "it was edited after the promotion: it is not what its own digest says"
_SHOWN = 3
_NOTHING = {"mean_of": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenFinding:
    """Something wrong with a golden."""

    # `unreadable`, `nonfinite`, `numerics`, `provenance`, `agreement`, `tolerance`, `stale`, `orphan`,
    # `statistical`
    rule: str
    where: str  # `file` or `file:line`
    what: str  # one sentence without a full stop
    remedy: str  # what to do


def lint(golden: Golden, *, min_runs: int) -> list[GoldenFinding]:
    """Everything wrong with one golden that its own files show; ``min_runs`` must have agreed on it."""
    if golden.is_foreign:
        return list(_not_finite(golden))
    return [
        *_edited(golden),
        *_not_finite(golden),
        *_numerics(golden),
        *_provenance(golden),
        *_agreement(golden, min_runs),
        *_tolerances(golden),
    ]


def _edited(golden: Golden) -> Iterator[GoldenFinding]:
    if was_edited(golden.document):
        yield _finding(golden, "provenance", EDITED, RESTORE)


def _finding(golden: Golden, rule: str, what: str, remedy: str) -> GoldenFinding:
    return GoldenFinding(rule=rule, where=str(golden.path / PROVENANCE), what=what, remedy=remedy)


def _not_finite(golden: Golden) -> Iterator[GoldenFinding]:
    """The first record in which a metric is NaN or infinite, one finding a metric."""
    found: set[str] = set()
    with open_stored(golden.metrics) as lines:
        for number, line in enumerate(lines, start=1):
            for name, value in json.loads(line).items():
                if isinstance(value, float) and not math.isfinite(value) and name not in found:
                    found.add(name)
                    yield GoldenFinding(
                        rule="nonfinite",
                        where=f"{golden.metrics}:{number}",
                        what=f"{name} is {value}, which agrees with any run that fails in the same way",
                        remedy="correct the training and promote it again",
                    )


def _numerics(golden: Golden) -> Iterator[GoldenFinding]:
    if golden.provenance.cpu:
        return  # it says so itself, and is used on no other
    if "program" in golden.provenance.digests:
        return  # whether an unmodified program is portable, `verify --cpu` must show first
    profile = golden.provenance.fingerprint_facts.get("inside.numerics.profile")
    if golden.provenance.platform.startswith("cpu-") and profile != "portable":
        said = "no numerics profile is recorded" if profile is None else f"made under the profile {profile!r}"
        what = f"{said}, so it holds only on the model of CPU that it was made on"
        yield _finding(golden, "numerics", what, f"set `numerics: portable` in the recipe; {PROMOTE}")


def _provenance(golden: Golden) -> Iterator[GoldenFinding]:
    recorded = golden.provenance
    environment = recorded.environment
    unpinned = "program" in recorded.digests and not recorded.image.get("kind")  # variant: none
    lacking = [
        name
        for name, value in (
            ("reason", recorded.reason.strip()),
            ("created_at", recorded.created_at.strip()),
            ("fingerprint_facts", recorded.fingerprint_facts),
            ("environment.inside", environment.get("inside")),
            ("environment.host", environment.get("host")),
            ("image.digest", unpinned or recorded.image.get("digest")),
            ("config", recorded.config),
        )
        if not value
    ]
    if lacking:
        yield _finding(golden, "provenance", f"not recorded: {', '.join(lacking)}", PROMOTE)


def _agreement(golden: Golden, min_runs: int) -> Iterator[GoldenFinding]:
    agreed = golden.provenance.runs_agreed
    if agreed < min_runs:
        chance = f"the chance that one more differs is at most {chance_of_another(agreed):.0%}"
        what = f"{counted(agreed, 'run')} agreed when it was promoted, fewer than {min_runs}: {chance}"
        remedy = f"`reprokit reproduce {golden.provenance.recipe} --repeats {min_runs}`, then promote it"
        yield _finding(golden, "agreement", what, remedy)


def _tolerances(golden: Golden) -> Iterator[GoldenFinding]:
    """The promoted runs agree byte for byte: their spread is 0, and supports no tolerance above it."""
    granted = _granted(golden.provenance.tolerances or {}, golden.provenance.platform)
    wide = [f"{name} ({terms})" for name, terms in granted.items()]
    if wide:
        shown = ", ".join(wide[:_SHOWN]) + (f" and {len(wide) - _SHOWN} more" if wide[_SHOWN:] else "")
        agreed = golden.provenance.runs_agreed
        what = f"a tolerance is granted for {shown}, but the {agreed} promoted runs agree bit for bit"
        remedy = "grant none on this platform; where another one needs it, name it: tolerances.platforms"
        yield _finding(golden, "tolerance", what, remedy)


def _granted(tolerances: Mapping[str, Any], platform: str) -> dict[str, str]:
    """Metric or pattern → its tolerance, of those above 0/0 that count on a platform."""
    own = (tolerances.get("platforms") or {}).get(platform, tolerances)
    entries = {"every metric": own.get("default") or {}, **(own.get("metrics") or {})}
    return {
        name: ", ".join(f"{key} {value}" for key, value in terms.items() if value > _NOTHING.get(key, 0))
        for name, terms in entries.items()
        if any(terms.get(key) for key in ("rtol", "atol"))
    }
