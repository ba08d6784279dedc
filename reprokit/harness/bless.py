"""From run folders to a golden: what of a run is worth blessing.

This module gathers; ``reprokit.golden`` decides whether the runs are worthy and writes.

    >>> bless(folders, project=project, reason="first golden", now=now).provenance["runs_agreed"]
    2
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import reprokit
from reprokit import golden, runs
from reprokit.core import fingerprint
from reprokit.errors import GoldenError
from reprokit.harness.evidence import METRICS, TRACE, read_json
from reprokit.harness.project import Project


def bless(
    folders: Sequence[Path],
    *,
    project: Project,
    reason: str,
    now: str,
    allow_dirty: bool = False,
    allow_nonfinite: bool = False,
) -> golden.Golden:
    """Promote agreeing runs to the golden of their recipe, platform and seed.

    Args:
        folders: Run folders of one recipe and seed, at least two.
        project: Where goldens live.
        reason: Why these numbers are expected from now on.
        now: ISO 8601, UTC.
        allow_dirty: Take runs of a source tree with changes that neither commit nor index has.
        allow_nonfinite: Take metrics with NaN or infinities.

    Raises:
        GoldenError: The runs are not worthy.
        ReportError: One of the folders is not a run folder.
    """
    if not folders:
        raise GoldenError("a golden needs two runs that agree", actual="none")
    recipe_data = runs.read(folders[0], verify=False).record.get("recipe_data") or {}
    return golden.promote(
        project.golden_dir,
        runs=[_candidate(folder) for folder in folders],
        reason=reason,
        created_at=now,
        tool_version=reprokit.__version__,
        tolerances=recipe_data.get("tolerances") or {},
        allow_dirty=allow_dirty,
        allow_nonfinite=allow_nonfinite,
    )


def newest_pair(runs_dir: Path, recipe: str, *, seed: int | None) -> tuple[Path, ...]:
    """The run folders of the newest ``reproduce`` of a recipe that finished, all with one stamp.

    Raises:
        GoldenError: There are not two.
    """
    complete = [
        folder
        for folder in runs.list_all(runs_dir, recipe=recipe)
        if (stored := runs.read(folder, verify=False)).complete
        and (seed is None or stored.record.get("seed") == seed)
    ]
    stamp = complete[-1].name.rpartition("-")[0] if complete else ""
    pair = tuple(folder for folder in complete if folder.name.rpartition("-")[0] == stamp)
    if len(pair) < 2:
        raise GoldenError(
            f"{recipe} has no two finished runs of one reproduce",
            where=str(runs_dir),
            fix=f"run `reprokit reproduce {recipe}` first",
        )
    return pair


def _candidate(folder: Path) -> golden.Candidate:
    stored = runs.read(folder)
    record = stored.record
    if record.get("plain_command"):
        raise GoldenError("a plain command has no golden", where=str(folder), fix="write a recipe for it")
    environment = read_json(folder / "environment.json")
    image = environment.get("image") or {}
    source = environment.get("source") or {}
    return golden.Candidate(
        path=folder,
        complete=stored.complete,
        recipe=str(record.get("recipe")),
        seed=int(record.get("seed") or 0),
        platform=fingerprint.platform_of(environment),
        modified=tuple(record.get("modified") or ()),
        dirty=source.get("unrecorded"),
        metrics=folder / METRICS,
        trace=folder / TRACE,
        digests=record.get("digests") or {},
        image={name: image.get(name) for name in ("kind", "digest", "base")},
        fingerprint=fingerprint.fingerprint(environment),
        fingerprint_facts=fingerprint.facts(environment),
        environment={name: environment.get(name) for name in ("schema", "inside", "host", "image")},
        config=record.get("training_config") or {},
    )
