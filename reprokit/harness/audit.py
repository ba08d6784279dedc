"""Whether a report's verdict follows from its evidence, and whether anything was changed since.

Judged again from the run folders that the report names; nothing that the report itself says is believed.
Sentences and pages differ from version to version: of a report that another version of the tool made, the
verdict, rows and evidence are checked, and what only that version could say again is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reprokit import checks, extensions, extras, reports, runs
from reprokit.core.checklist import Report, Verdict
from reprokit.core.verdicts.rows import listed
from reprokit.core.verdicts.same_under import PREFIX
from reprokit.errors import CannotJudgeError, ReportError, ReprokitError
from reprokit.harness.judging.build_report import evidence_digests
from reprokit.harness.judging.compared_with.reference_run import judge_against, read_reference_run, recipe_of
from reprokit.harness.judging.rounding_of_golden import rounding_again, runs_of_rounding
from reprokit.harness.judging.runs_beside_pair import RunsBesidePair
from reprokit.harness.reproduce import judge_again
from reprokit.harness.running.plan import shell_line
from reprokit.harness.which_tool import AuditDifference, this_tool, version_of
from reprokit.layout import BUNDLE, RECORD
from reprokit.project import Project
from reprokit.reports import one_line
from reprokit.reports.formats import to_json, to_pdf
from reprokit.request import Request

#: What a second judgement cannot know or says otherwise: when, by which command, from which copy.
_OF_THE_MOMENT = {
    "created_at",
    "command",
    "timing",
    "recipe_file",
    "recipe_lines",
    "schema",
    "golden",
    "code_changes",
    "attribution",
    "cause",
    "tool",
}
#: What a report says differently from version to version.
_WORDS = {"sentence", "next_command"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What came of checking a report.

    Attributes:
        follows: The verdict follows from the evidence, and no file was touched.
        findings: One sentence for each thing that is not as the report says.
        exit_code: 0 it stands; 1 it does not; 4 evidence, or an extension of then, is gone, or the golden is
            in a folder that was not named.
        report: What was checked.
        not_checked: What another version of the tool said or drew differently: one sentence for each.
        made_by: That version, in words; "" where this one made the report.
    """

    follows: bool
    findings: tuple[str, ...]
    exit_code: int
    report: Report
    not_checked: tuple[str, ...] = ()
    made_by: str = ""


def audit(path: Path, *, project: Project, found_already: tuple[str, ...] = ()) -> Audit:
    """Check a report against the run folders and the golden that it names.

    Args:
        path: A ``report.json``, or a PDF with one in it.
        project: Where goldens live.
        found_already: What is wrong with it already, such as a signature that does not count.

    Raises:
        ReportError: It is no report.
        CannotJudgeError: The pages of a PDF are those of another typst.
        MissingExtraError: What draws its pages is not installed.
    """
    report = to_pdf.load(path) if to_pdf.is_pdf(path) else to_json.load(path)
    if not report.runs:
        raise ReportError("the report names no run", where=str(path), fix="make it again")
    gone = tuple(_gone(report, path))
    if gone:
        return Audit(
            follows=False,
            findings=(*found_already, *gone),
            exit_code=1 if found_already else 4,
            report=report,
        )
    if others := _of_others(report):
        return Audit(
            follows=False,
            findings=(*found_already, others),
            exit_code=1 if found_already else 4,
            report=report,
        )
    touched, elsewhere = [*_exchanged(report), *_touched(report)], tuple(_elsewhere(report, project))
    again = () if touched or elsewhere else _judged_again(report, project)
    redrawn = _pdf_redrawn if to_pdf.is_pdf(path) else _redrawn
    different = [*redrawn(report, path), *again]
    is_ours = report.tool == this_tool()
    findings = [*found_already, *touched, *(one.says for one in different if is_ours or not one.by_version)]
    return Audit(
        follows=not (findings or elsewhere),
        findings=(*findings, *elsewhere),
        exit_code=1 if findings else 4 if elsewhere else 0,
        report=report,
        not_checked=tuple(one.says for one in different if one.by_version and not is_ours),
        made_by="" if is_ours else version_of(report.tool),
    )


def _gone(report: Report, path: Path) -> Iterator[str]:
    missing = [place for place in _places(report) if not Path(place).exists()]
    if missing and any((folder / BUNDLE).is_file() for folder in path.resolve().parents):
        yield (
            "this report is part of a bundle, which leaves out files of the runs that its verdict is judged "
            "from: only where it was made can it be judged again. `reprokit reproduce FILE.tar.gz` compares "
            "the records in the archive and makes runs of your own, with a report that can be checked"
        )
        return
    if report.bundle and report.golden in missing:
        missing.remove(report.golden)
        again = shell_line(["reprokit", "reproduce", str(report.bundle["file"]), "--keep", "FOLDER"])
        yield (
            f"the golden was in the unpacked bundle, which was not kept. `{again}` makes a report that can "
            "be checked, with `reprokit report verify REPORT --golden FOLDER/golden`"
        )
    yield from (f"{place} is gone" for place in missing)


def _of_others(report: Report) -> str:
    """That the report was made with other extensions than are loaded here, one sentence; "" where not."""
    then = sorted(f"{one.label} ({one.digest})" for one in report.extensions)
    now = sorted(f"{one.label} ({one.digest})" for one in extensions.recorded())
    if then == now:
        return ""
    told = f"it was made with the extensions {listed(then)}" if then else "it was made without extensions"
    here = f"here {listed(now)} are loaded" if now else "here none is loaded"
    return f"{told}, and {here}: name the same in [tool.reprokit] extensions"


def _places(report: Report) -> tuple[str, ...]:
    return (
        *report.runs,
        *((report.golden,) if report.golden else ()),
        *filter(None, (_ensemble_not_asked(report),)),
        *(str(folder) for folder in _beside(report).folders),
        *map(str, runs_of_rounding(report)),
    )


def _beside(report: Report) -> RunsBesidePair:
    """The runs alongside the pair, as the rows name them that looked at them."""
    told = {row.id: row.evidence for row in report.checks}
    halves = told.get("resume_equal", {})
    varied = told.get("unchanged_when_varied", {}).get("runs")
    claims = [row.evidence for row in report.checks if row.id.startswith(PREFIX)]
    claimed = [one for claim in claims for one in claim.get("runs", ())]
    twins = {run: judged for claim in claims for run, judged in claim.get("rounding", {}).items()}
    other_seeds = (told.get("equals_golden", {}).get(name) for name in ("other_seed", "third_seed"))
    seeds = told.get("several_seeds", {}).get("runs")
    new_seeds = told.get("equals_golden", {}).get("new_seeds")
    return RunsBesidePair(
        stopped=Path(str(halves["stopped"])) if halves.get("stopped") else None,
        resumed=Path(str(halves["resumed"])) if halves.get("resumed") else None,
        places=_places_of(halves.get("places")),
        varied=tuple(Path(str(one)) for one in varied) if isinstance(varied, list | tuple) else (),
        same_under=tuple(Path(str(one)) for one in claimed),
        twins=twins,
        other_seeds=tuple(Path(str(seed)) for seed in other_seeds if seed),
        seeds=tuple(Path(str(seed)) for seed in seeds) if isinstance(seeds, list | tuple) else (),
        new_seeds=tuple(Path(str(seed)) for seed in new_seeds)
        if isinstance(new_seeds, list | tuple)
        else None,
    )


def _places_of(told: object) -> tuple[tuple[Path, ...], ...]:
    """The runs that were killed and resumed at several places, as the row names them."""
    places = [one for one in told if isinstance(one, dict)] if isinstance(told, list | tuple) else []
    pairs = ([one.get(name) for name in ("stopped", "resumed")] for one in places)
    return tuple(tuple(Path(str(path)) for path in pair if path) for pair in pairs)


def _exchanged(report: Report) -> Iterator[str]:
    folders = [Path(folder) for folder in report.runs]
    today = evidence_digests([*folders, *runs_of_rounding(report)], report.golden)
    for path in sorted(set(today) | set(report.evidence_digests)):
        if path not in today:
            yield f"{path} is gone"
        elif path not in report.evidence_digests:
            yield f"{path} was made after the report"
        elif today[path] != report.evidence_digests[path]:
            yield f"{path} was changed after the report"


def _touched(report: Report) -> Iterator[str]:
    """Runs that were finished when the report was made and are not now: someone touched them."""
    if report.verdict is Verdict.NOT_RUN:
        return
    for folder in report.runs:
        try:
            stored = runs.read(Path(folder))
        except ReportError as error:
            yield f"{folder}: {error.what}"
            continue
        if not stored.complete and not runs.stopped_at_golden(stored):
            yield f"{folder}: {stored.incomplete_because}"


def _elsewhere(report: Report, project: Project) -> Iterator[str]:
    if not report.golden or (Path(report.golden) / RECORD).is_file():
        return
    if not Path(report.golden).resolve().is_relative_to(project.golden_dir):
        yield f"the golden {report.golden} is not one of {project.golden_dir}; name its folder with --golden"


def _redrawn(report: Report, path: Path) -> Iterator[AuditDifference]:
    for name, text in reports.documents(report).items():
        stored = path.parent / name
        if name == reports.PAGE and stored.is_file():
            if stored.read_bytes() == reports.NO_PAGE.encode("utf-8"):
                continue  # it was made where no page could be drawn, and says nothing of the report
            extras.must_have("jinja2")
        if not stored.is_file():
            yield AuditDifference(f"{stored} is gone")
        elif stored.read_bytes() != text.encode("utf-8"):
            yield AuditDifference(
                f"{stored} does not say what report.json next to it says: one of them was edited",
                by_version=True,
            )


def _pdf_redrawn(report: Report, path: Path) -> Iterator[AuditDifference]:
    if to_pdf.is_drawn_from(report, path):
        return
    theirs, ours = to_pdf.typst_of(path), to_pdf.typst_here()
    if theirs != ours and report.tool == this_tool():
        raise CannotJudgeError(
            f"its pages are of typst {one_line(theirs or 'without a version')}, and here is typst {ours}: "
            "whether they were changed cannot be told",
            where=str(path),
            fix="install the package typst of that version, or check the report.json that is attached",
        )
    yield AuditDifference(f"the pages of {path} are not what the report.json in it gives", by_version=True)


def _judge_again(report: Report, folders: Sequence[Path], project: Project) -> Report:
    """As the report was made: against the project's golden, or the run in its place."""
    if not _is_run(report.golden):
        return judge_again(folders, _as_asked(report), project=project, beside=_beside(report))
    reference = read_reference_run(Path(str(report.golden)))
    return judge_against(folders, reference, recipe_of(reference), request=_as_asked(report))


def _is_run(golden: str | None) -> bool:
    return golden is not None and (Path(golden) / RECORD).is_file()


def _judged_again(report: Report, project: Project) -> Iterator[AuditDifference]:
    folders = [Path(folder) for folder in report.runs]
    try:
        again = _judge_again(report, folders, project)
        # Which of the files there are now are those of then is said before (``_exchanged``).
        again = replace(again, rounding=rounding_again(report), evidence_digests=report.evidence_digests)
    except ReprokitError as error:
        yield AuditDifference(f"the evidence cannot be judged: {error}")
        return
    if report.golden is None and again.golden is not None:
        yield AuditDifference(
            f"{again.golden} was promoted after the report was made, which cannot be judged as it was then"
        )
        return
    place = _ensemble_not_asked(again)
    if place and not _ensemble_not_asked(report):
        yield AuditDifference(
            f"{place} was promoted after the report was made, or is not named in it", by_version=True
        )
        return
    if again.verdict is not report.verdict:
        yield AuditDifference(f"the evidence says {again.verdict}, the report says {report.verdict}")
    expected, actual = to_json.to_dict(again), to_json.to_dict(report)
    yield from _rows(expected["checks"], actual["checks"])
    for key in sorted((set(expected) | set(actual)) - _OF_THE_MOMENT):
        if expected.get(key) != actual.get(key) and key not in {"verdict", "checks"}:
            is_new = key not in expected or key not in actual
            words = is_new or key in _WORDS or _same_but_for_words(expected.get(key), actual.get(key))
            yield AuditDifference(f"{key} differs from what the evidence gives", by_version=words)


def _ensemble_not_asked(report: Report) -> str:
    """The ensemble that a report without a golden names; "" where it names none."""
    told = next((row.evidence for row in report.checks if row.id == "equals_golden"), {})
    return str(told.get("ensemble_not_asked") or "")


def _same_but_for_words(expected: object, actual: object) -> bool:
    """Whether two answers of the statistical gate differ in its sentence alone."""
    pair = []
    for one in (expected, actual):
        outcome = one.get("outcome") if isinstance(one, dict) else None
        if not isinstance(one, dict) or not isinstance(outcome, dict):
            return False
        pair.append({**one, "outcome": {**outcome, "reason": ""}})
    return bool(pair[0] == pair[1])


def _as_asked(report: Report) -> Request:
    """The request that the report tells of: whether it was strict, what it left out, and by which verb."""
    advisory = checks.of_every_strict_report()
    ignored = {row.evidence["pattern"] for row in report.checks if row.id.startswith("ignored_metric/")}
    gate = report.rerun.startswith("reprokit verify ")  # older reports of a gate name `reproduce`
    return Request(
        strict=all(row.required for row in report.checks if row.id in advisory),
        ignore=tuple(sorted(ignored)),
        gate=gate,
        statistical=gate and "--statistical" in report.rerun.split(),
    )


def _rows(
    expected: Sequence[Mapping[str, Any]], actual: Sequence[Mapping[str, Any]]
) -> Iterator[AuditDifference]:
    theirs = {row["id"]: row for row in actual}
    for row in expected:
        told = theirs.pop(row["id"], {})
        if told.get("status") != row["status"]:
            yield AuditDifference(f"row {row['id']}: the evidence says {row['status']}", by_version=not told)
        elif told != row:
            words = _only_in_words(told, row)
            yield AuditDifference(f"row {row['id']} differs from what the evidence gives", by_version=words)
    for name in sorted(theirs):
        yield AuditDifference(f"row {name}: the evidence has no such row", by_version=True)
    names = [row["id"] for row in actual]
    if not theirs and names != [row["id"] for row in expected if row["id"] in names]:
        yield AuditDifference("the rows are in another order, or one is there twice", by_version=True)


def _only_in_words(told: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    """Whether all differences of a row are sentences, or evidence that only one of the versions keeps."""
    one, two = told["evidence"], row["evidence"]
    same_evidence = all(one[name] == two[name] for name in one.keys() & two.keys())
    return same_evidence and told["required"] == row["required"]
