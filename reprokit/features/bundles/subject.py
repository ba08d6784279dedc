"""What a person asks to bundle: a golden, a run or a report, with the digests that its numbers stand on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from reprokit import golden, recipes, runs
from reprokit.capture.git_history import last_commit
from reprokit.core.checklist import Report
from reprokit.core.inputs import INPUTS
from reprokit.errors import BundleError, GoldenError, ReprokitError
from reprokit.harness.judging.compared_with.reference_run import platform_of, read_reference_run
from reprokit.layout import PROVENANCE, RECORD, REPORT
from reprokit.project import Project
from reprokit.records import environment_json
from reprokit.reports.formats import to_json


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleSubject:
    """What is bundled.

    Attributes:
        of: Its kind.
        path: Its folder.
        recipe: The recipe's name.
        platform: Where it was made.
        seed: The seed.
        overrides: ``path=value`` settings of its runs, the platform whose settings they had among them.
        digests: Input → digest, as the golden or the first run recorded them.
        commit: The recorded commit; empty where none is known.
        created_at: When it was made, ISO 8601; no bundle holds the time of bundling.
        golden: The folder of the golden that a reviewer's runs are compared with; None where there is none.
        runs: Run folders whose records come with it.
        report: The report; None for a run or a golden.
    """

    of: Literal["run", "golden", "report"]
    path: Path
    recipe: str
    platform: str
    seed: int
    overrides: tuple[str, ...]
    digests: Mapping[str, str]
    commit: str
    created_at: str
    golden: Path | None
    runs: tuple[Path, ...] = ()
    report: Report | None = None


def subject_of(path: Path, *, project: Project) -> BundleSubject:
    """What a path names: the folder of a run, a golden or a report, or a file ``report.json``.

    Raises:
        BundleError: It is none of these, or nothing that could be reproduced.
        ReprokitError: It is damaged.
    """
    folder = path.parent if path.name == REPORT else path
    if (folder / REPORT).is_file():
        return _of_report(folder, project)
    if (folder / RECORD).is_file():
        return _of_run(folder, project)
    place = golden.find(folder)
    if (place / PROVENANCE).is_file():
        return _of_golden(place, project)
    raise BundleError(
        "this is not a run, a golden or a report",
        where=str(path),
        expected=f"a folder with {RECORD}, {PROVENANCE} or {REPORT}",
    )


def _of_golden(folder: Path, project: Project) -> BundleSubject:
    blessed = golden.load(folder)
    facts = blessed.provenance
    if blessed.is_foreign or facts.command:
        what = "a foreign log" if blessed.is_foreign else "a plain command's golden"
        fix = "reproduce it with a recipe, promote those runs, and bundle their golden"
        raise BundleError(f"{what} does not say which code made it", where=str(folder), fix=fix)
    recipe = recipes.load(facts.recipe, recipes_dir=project.recipes_dir)
    try:
        commit = last_commit(folder)
    except ReprokitError:
        commit = ""
    return BundleSubject(
        of="golden",
        path=folder,
        recipe=facts.recipe,
        platform=facts.platform,
        seed=blessed.seed,
        overrides=recipe.asked_on(facts.platform),
        digests=_inputs(facts.digests),
        commit=commit,
        created_at=facts.created_at,
        golden=folder,
    )


def _of_run(folder: Path, project: Project) -> BundleSubject:
    stored = read_reference_run(folder)
    record = stored.record
    platform, source = platform_of(stored), environment_json.recorded(folder).get("source")
    return BundleSubject(
        of="run",
        path=folder,
        recipe=str(record.recipe),
        platform=platform,
        seed=record.seed or 0,
        overrides=recipes.asked_of(record),
        digests=_inputs(record.digests),
        commit=str(source.get("commit") or "") if source else "",
        created_at=str(record.ended_at or record.started_at or ""),
        golden=_golden_of(project, recipe=str(record.recipe), platform=platform, seed=record.seed or 0),
        runs=(folder,),
    )


def _of_report(folder: Path, project: Project) -> BundleSubject:
    report = to_json.load(folder)
    folders = tuple(Path(run) for run in report.runs)
    gone = next((str(one) for one in folders if not (one / RECORD).is_file()), None)
    if gone or not folders:
        what = "a run of the report is gone" if gone else "the report names no run"
        raise BundleError(what, where=gone or str(folder), fix="make the report again")
    for one in folders[1:]:
        runs.read(one, verify=False)
    first = _of_run(folders[0], project)
    reference = Path(report.golden) if report.golden else first.golden
    if reference is not None and not (reference / PROVENANCE).is_file():
        raise BundleError(
            "the report does not compare its runs with a golden",
            where=str(folder),
            actual=str(reference),
            fix="bundle the run that it names",
        )
    return BundleSubject(
        of="report",
        path=folder,
        recipe=first.recipe,
        platform=first.platform,
        seed=first.seed,
        overrides=first.overrides,
        digests=first.digests,
        commit=first.commit,
        created_at=report.created_at,
        golden=reference,
        runs=folders,
        report=report,
    )


def _golden_of(project: Project, *, recipe: str, platform: str, seed: int) -> Path | None:
    """The project's golden for a run; None where there is none."""
    try:
        place = golden.locate(project.golden_dir, recipe=recipe, platform=platform, seed=seed)
    except GoldenError:
        return None
    return place if (place / PROVENANCE).is_file() else None


def _inputs(digests: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(digests[name]) for name in INPUTS if name in digests}
