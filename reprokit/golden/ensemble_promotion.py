"""Promoting the runs of a sweep to an ensemble: what they must meet, and writing it down."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from reprokit import __version__
from reprokit.core.provenance import BlessedMetric, ComparedHalves, LogsOfSeeds
from reprokit.errors import GoldenError
from reprokit.golden.candidate import GoldenCandidate, check_alike, check_run
from reprokit.golden.ensemble import (
    Ensemble,
    EnsembleMember,
    load_ensemble,
    locate_ensemble,
)
from reprokit.golden.promotion import Promotion, provenance_of, write_lines, write_provenance
from reprokit.golden.replace_folders import replace_folders
from reprokit.layout import ENSEMBLE_LINES
from reprokit.records.provenance_json import judged_digest
from reprokit.workspace import cannot_write, sha256_of

#: Fewer leave a drop of any useful margin unseen; what the gate's error rates were measured with.
FEWEST_SEEDS, USUAL_SEEDS = 10, 20
#: A sweep runs members with uncommitted changes again once these are committed; of others it cannot know.
_AGAIN_OF_CHANGES = "type the `reprokit sweep` again, which runs such members again"
_AGAIN_WITHOUT_GIT = "remove these run folders and type the `reprokit sweep` again"


@dataclass(frozen=True, slots=True, kw_only=True)
class SweptRun:
    """A run that may become a member of an ensemble, and its number for each declared metric."""

    candidate: GoldenCandidate
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlessedSet:
    """What is blessed with an ensemble.

    Attributes:
        statistical: The recipe's metrics, windows, margins and directions, as they are now.
        halves: How the halves of the set compare.
        left_out: The finished seeds that are no members.
        logs: The shape of the seeds' logs.
    """

    statistical: tuple[BlessedMetric, ...]
    halves: tuple[ComparedHalves, ...]
    left_out: tuple[int, ...]
    logs: LogsOfSeeds


def check_swept(runs: Sequence[GoldenCandidate], *, least: int, allow_dirty: bool) -> None:
    """Refuse runs that are no ensemble.

    Args:
        runs: One a seed.
        least: How many there must be.
        allow_dirty: Take runs of changes that neither commit nor index has.

    Raises:
        GoldenError: There are too few, one cannot be a golden, or they have more apart than their seeds.
    """
    if len(runs) < least:
        raise GoldenError(
            "too few seeds for an ensemble",
            expected=f"{least} or more",
            actual=str(len(runs)),
            fix=f"`reprokit sweep RECIPE --seeds {least}`, or say --min-seeds (at least {FEWEST_SEEDS})",
        )
    for run in runs:
        again = _AGAIN_OF_CHANGES if run.dirty else _AGAIN_WITHOUT_GIT
        check_run(run, allow_dirty=allow_dirty, again=again)
        check_alike(runs[0], run, shared=("recipe", "platform", "digests", "fingerprint"))
    for what, named in (
        ("run folder", [str(run.path.resolve()) for run in runs]),
        ("seed", [str(run.seed) for run in runs]),
        ("set of metrics, byte for byte", [sha256_of(run.metrics) for run in runs]),
    ):
        ordered = sorted(zip(named, map(str, (run.path for run in runs)), strict=True))
        twice = next((pair for pair in pairwise(ordered) if pair[0][0] == pair[1][0]), None)
        if twice is not None:
            fix = "seed every generator of the program with {seed}, and name each seed once"
            where = " and ".join(path for _, path in twice)
            raise GoldenError(f"two members have one {what}", where=where, fix=fix)


def promote_ensemble(
    golden_dir: Path,
    *,
    runs: Sequence[SweptRun],
    told: BlessedSet,
    promotion: Promotion,
) -> Ensemble:
    """Write an ensemble of runs that ``check_swept`` has taken, in place of the one before it.

    Args:
        golden_dir: The folder of goldens.
        runs: One a seed.
        told: What its provenance says of the set.
        promotion: Why, and when.

    Raises:
        GoldenError: There is no reason; nothing is written.
        WorkspaceError: It cannot be written; an earlier one stays.
    """
    promotion.must_have_reason()
    first = runs[0].candidate
    folder = locate_ensemble(golden_dir, recipe=first.recipe, platform=first.platform)
    before = folder / ENSEMBLE_LINES
    ordered = sorted(runs, key=lambda run: run.candidate.seed)
    about = {key: value for key, value in provenance_of(first).items() if key != "seed"}
    provenance = {
        **about,
        **promotion.as_data(),
        "seeds": [run.candidate.seed for run in ordered],
        "statistical": [one._asdict() for one in told.statistical],
        "halves": [one._asdict() for one in told.halves],
        **({"left_out": list(told.left_out)} if told.left_out else {}),
        "logs": told.logs._asdict(),
        "previous": sha256_of(before) if before.is_file() else None,
        "tool": {"name": "reprokit", "version": __version__},
    }
    try:
        _write(folder, ordered, provenance, judged_digest(told.statistical, told.left_out, told.logs))
    except OSError as error:
        raise cannot_write(folder, error) from error
    except (TypeError, ValueError) as error:
        raise GoldenError(f"the ensemble is not JSON: {error}", where=str(first.path)) from error
    return load_ensemble(folder)


def _write(folder: Path, runs: Sequence[SweptRun], provenance: Mapping[str, Any], judged: str) -> None:
    """Write all files next to the ensemble's place, then put that folder there."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        members = (
            EnsembleMember(
                seed=run.candidate.seed, values=run.values, metrics=sha256_of(run.candidate.metrics)
            )
            for run in runs
        )
        write_lines(fresh / ENSEMBLE_LINES, (member.as_line() for member in members))
        digests = {
            **provenance["digests"],
            "ensemble": sha256_of(fresh / ENSEMBLE_LINES),
            "statistical": judged,
        }
        write_provenance(fresh, {**provenance, "digests": digests})
        fresh.chmod(0o755)
        replace_folders([(fresh, folder)])
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
