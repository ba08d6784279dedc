"""From evidence to a report: checks, verdict, one sentence for a person, the next command.

Pure but for reading metric series for the curves and the end of a failed run's log.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reprokit import adapters, checks, runs, workspace
from reprokit.compressed import stored
from reprokit.core.checklist import Evidence, Report, Status, Verdict, exit_code, judgement
from reprokit.core.comparison import Divergence
from reprokit.core.extension_record import ReportedExtension
from reprokit.core.report_parts import DrawnCurve, ReportComparisons
from reprokit.core.run_record import RunRecord
from reprokit.core.verdicts import same_under
from reprokit.core.verdicts.rows import CheckResult
from reprokit.extensions.sections import foreign_sections, named_beside
from reprokit.harness.judging.records_nearby import differing_sides, records_nearby
from reprokit.harness.judging.trace_map import trace_map
from reprokit.harness.judging.wording import VerdictCase, next_command, sentence
from reprokit.harness.running.failure import failure_of
from reprokit.harness.which_tool import this_tool
from reprokit.layout import MARKER, METRICS, PROVENANCE, RECORD, STDOUT

_CURVE_POINTS = 400
_MAX_CURVES = 24
#: Rows of runs that are made next to the pair.
_BESIDE = {"resume_equal", "unchanged_when_varied"}


def report_of(
    evidence: Evidence,
    *,
    folders: Sequence[Path],
    command: str,
    now: str,
    phases: Mapping[str, float] | None = None,
    recipe_file: str | None = None,
    recipe_lines: Mapping[str, int] | None = None,
) -> Report:
    """Judge the evidence and say it; ``now`` is ISO 8601 in UTC, ``phases`` are seconds."""
    rows = checks.run_all(evidence)
    judged = judgement(evidence, rows, registry=checks.registry())
    verdict = judged.verdict
    whole = all(run.complete for run in evidence.runs)  # every byte was read for this; not once more
    failure = None if whole else failure_of(folders, [runs.read(folder) for folder in folders])
    ensemble = evidence.ensemble
    if ensemble and ensemble.failed_run and verdict is Verdict.NOT_RUN and failure is None:
        failed = Path(ensemble.failed_run)
        failure = failure_of([failed], [runs.read(failed)])
    divergence = _divergence(evidence, verdict)
    case = VerdictCase(
        judged=judged,
        evidence=evidence,
        divergence=divergence,
        failure=failure,
        folders=tuple(folders),
        lines=dict(recipe_lines or {}),
        not_judged=sum(row.status is Status.SKIPPED and "/" not in row.id for row in rows),
        prints_numbers=_prints_numbers(evidence, folders),
        failed=tuple(row.id for row in rows if row.required and row.status in {Status.FAILED, Status.ERROR}),
        advice=next((row.remedy for row in rows if _fails_beside(row)), ""),
    )
    sections = foreign_sections(evidence, verdict)
    others = named_beside(evidence.extensions, sections)
    first = evidence.runs[0] if evidence.runs else None
    name = str(evidence.recipe["name"] if evidence.recipe else first.run.recipe if first else "")
    bundle = _bundle(evidence)
    recorded = first.run.seed if first else None
    seed = recorded if isinstance(recorded, int) else 0
    return Report(
        verdict=verdict,
        exit_code=exit_code(verdict),
        sentence=" ".join(filter(None, (sentence(case), _of_others(others), _origin(bundle)))),
        next_command=next_command(case),
        recipe=name,
        platform=evidence.platform,
        seed=seed,
        runs=tuple(str(folder) for folder in folders),
        golden=evidence.golden.path if evidence.golden else None,
        environment_diff=list(evidence.golden.environment_diff) if evidence.golden else [],
        divergence=divergence,
        nearby=records_nearby(evidence, verdict, divergence, folders=folders),
        trace=trace_map(differing_sides(evidence, verdict, folders)) if divergence else None,
        checks=rows,
        timing={"phases": dict(phases or {}), "runs": [_timing(run.run) for run in evidence.runs]},
        curves=_curves(evidence, folders),
        environment=first.environment if first else {},
        comparisons=ReportComparisons(
            repeats=evidence.repeats, golden=evidence.golden.comparison if evidence.golden else None
        ),
        created_at=now,
        command=command,
        rerun=evidence.rerun,
        not_run=failure if verdict is Verdict.NOT_RUN else None,
        recipe_file=recipe_file,
        recipe_lines=dict(recipe_lines or {}),
        evidence_digests=evidence_digests(folders, evidence.golden.path if evidence.golden else None),
        bundle=bundle,
        stress=evidence.stress.as_data() if evidence.stress else None,
        statistical=ensemble.gate if ensemble else None,
        tool=this_tool(),
        extensions=others,
        sections=sections,
    )


def _fails_beside(row: CheckResult) -> bool:
    """Whether a required row fails for runs that were made next to the pair."""
    is_beside = row.id in _BESIDE or row.id.startswith(same_under.PREFIX)
    return is_beside and row.required and row.status is Status.FAILED


def _bundle(evidence: Evidence) -> dict[str, str] | None:
    """File, digests and commit of the bundle that the runs were made from; None where there is none."""
    told = evidence.runs[0].run.bundle if evidence.runs else None
    if not told:
        return None
    known = {name: str(told[name]) for name in ("sha256_asked", "commit") if told.get(name)}
    return {"file": str(told.get("file")), "sha256": str(told.get("sha256")), **known}


def _origin(bundle: Mapping[str, str] | None) -> str:
    if not bundle:
        return ""
    unasked = "" if "sha256_asked" in bundle else "; no --sha256 said which digest its author published"
    return f"Code and golden are those of the bundle {bundle['file']} ({bundle['sha256']}){unasked}."


def _of_others(extensions: Sequence[ReportedExtension]) -> str:
    """Every extension that was loaded: its code ran in the process that judges, whatever it brings."""
    told = []
    for one in extensions:
        did = "; ".join((*one.had_say, *one.beside))
        told.append(f"{one.label} ({did})" if did else one.label)
    return f"Loaded from outside reprokit: {', '.join(told)}." if told else ""


def _prints_numbers(evidence: Evidence, folders: Sequence[Path]) -> bool:
    """Whether a plain command without metrics prints what could be read as such."""
    is_silent = evidence.recipe is None and all(run.num_records == 0 for run in evidence.runs)
    printed = (stored(folder / STDOUT) for folder in folders) if is_silent else ()
    return any(path.is_file() and adapters.holds_numbers(path) for path in printed)


def _divergence(evidence: Evidence, verdict: Verdict) -> Divergence | None:
    if verdict is Verdict.NONDETERMINISTIC:
        return next((repeat.divergence for repeat in evidence.repeats if not repeat.identical), None)
    if evidence.golden is not None:
        return evidence.golden.comparison.divergence
    return None


def _timing(record: RunRecord) -> dict[str, Any]:
    names = ("run_id", "duration_s", "started_at", "ended_at", "backend")
    return {name: getattr(record, name) for name in names}


def _curves(evidence: Evidence, folders: Sequence[Path]) -> dict[str, list[DrawnCurve]]:
    sources = [(f"run {index + 1}", folder) for index, folder in enumerate(folders)]
    if evidence.golden is not None:
        sources.append(("golden", Path(evidence.golden.path)))
    curves: dict[str, list[DrawnCurve]] = {}
    for label, folder in sources:
        path = folder / METRICS
        if not stored(path).is_file():
            continue
        found = adapters.read_series(
            path, max_points=_CURVE_POINTS, max_series=_MAX_CURVES, known=curves.keys()
        )
        for name, series in found.items():
            curves.setdefault(name, []).append(
                DrawnCurve(label=label, steps=list(series.steps), values=[_finite(v) for v in series.values])
            )
    return curves


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def evidence_digests(folders: Sequence[Path], golden: str | None) -> dict[str, str]:
    """SHA-256 of every file that seals the evidence: path → digest, as far as they exist.

    A run that was stopped at the golden has no COMPLETE: there it is what was judged.
    """
    sealing = [folder / MARKER for folder in folders]
    for folder in folders:
        if (folder / RECORD).is_file() and runs.stopped_at_golden(runs.read(folder, verify=False)):
            sealing += [folder / RECORD, folder / METRICS]
    if golden is not None:
        sealing += [Path(golden) / PROVENANCE, Path(golden) / MARKER]  # the reference may be a run
    return {str(path): workspace.sha256_of(path) for path in sealing if path.is_file()}
