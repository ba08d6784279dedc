"""Records of runs and a report in an unpacked bundle: whether they still bear each other out.

Nothing of them decides the verdict of a reviewer's runs. They are what a person reads who opens the archive,
so one that was edited must not lie there unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from reprokit import reports, runs
from reprokit.core.checklist import Report
from reprokit.errors import BundleError, ReportError
from reprokit.features.bundles.manifest import BundleManifest
from reprokit.harness.which_tool import this_tool
from reprokit.layout import MARKER, REPORT
from reprokit.reports.formats import to_json
from reprokit.runs.reading import changed_files
from reprokit.workspace import sha256_of


def must_bear_each_other_out(manifest: BundleManifest, folder: Path) -> None:
    """Compare the runs with their seals, and the report with the digests that it names and the pages of it.

    Args:
        manifest: The bundle's.
        folder: Where it was unpacked.

    Raises:
        BundleError: They differ; the message names the file.
    """
    try:
        found = next(_problems(manifest, folder), None)
    except ReportError as error:
        raise BundleError(f"a record in the bundle is damaged: {error.what}", where=error.where) from error
    if found:
        place, what = found
        raise BundleError(
            f"the records in the bundle contradict each other: {what}",
            where=place,
            fix="get the bundle again from whoever made it",
        )


def _problems(manifest: BundleManifest, folder: Path) -> Iterator[tuple[str, str]]:
    """Name in the archive and what is wrong, of every file that another one contradicts."""
    for run in sorted((folder / "runs" / manifest.recipe).glob("*")):
        place = f"runs/{manifest.recipe}/{run.name}"
        if (run / MARKER).is_file():
            yield from (
                (f"{place}/{name}", f"COMPLETE says that {what}") for name, what in changed_files(run)
            )
        elif not _is_left_out(manifest, f"{place}/{MARKER}") and not runs.stopped_at_golden(
            runs.read(run, verify=False)
        ):
            yield f"{place}/{MARKER}", "the run has no seal"
    for file in sorted((folder / "reports" / manifest.recipe).glob(f"*/{REPORT}")):
        report = to_json.load(file)
        yield from _not_its_evidence(report, manifest, folder, file)
        if report.tool == this_tool():  # another version draws other pages
            yield from _not_its_pages(report, manifest, folder, file)


def _not_its_evidence(
    report: Report, manifest: BundleManifest, folder: Path, file: Path
) -> Iterator[tuple[str, str]]:
    """Seals in the archive with other digests than the report names."""
    golden = f"golden/{manifest.recipe}/{manifest.platform}/seed-{manifest.seed}"
    places = {one: f"runs/{manifest.recipe}/{PurePosixPath(one).name}" for one in report.runs}
    places |= {report.golden: golden} if report.golden else {}
    named = {}
    for path, digest in report.evidence_digests.items():
        if (above := str(PurePosixPath(path).parent)) in places:
            named[f"{places[above]}/{PurePosixPath(path).name}"] = digest
    for place, digest in sorted(named.items()):
        if (folder / place).is_file() and sha256_of(folder / place) != digest:
            yield place, f"{_name(file, folder)} names another digest of it"
    for place in places.values():
        seal = f"{place}/{MARKER}"
        if (folder / seal).is_file() and seal not in named:
            yield _name(file, folder), f"it names no digest of {seal}"


def _not_its_pages(
    report: Report, manifest: BundleManifest, folder: Path, file: Path
) -> Iterator[tuple[str, str]]:
    for name, text in reports.documents(report).items():
        stored = file.parent / name
        place = _name(stored, folder)
        if not stored.is_file():
            if not _is_left_out(manifest, place):
                yield place, f"it is missing next to {REPORT}"
            continue
        drawn = stored.read_bytes()
        no_page = reports.NO_PAGE.encode()
        if name == reports.PAGE and no_page in {drawn, text.encode()}:
            continue  # no page could be drawn, there or here
        if drawn != text.encode():
            yield place, f"{REPORT} next to it says something else"


def _is_left_out(manifest: BundleManifest, name: str) -> bool:
    return any(sentence.startswith(f"{name}: ") for sentence in manifest.left_out)


def _name(file: Path, folder: Path) -> str:
    return file.relative_to(folder).as_posix()
