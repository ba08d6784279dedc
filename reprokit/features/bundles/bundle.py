"""One archive to give to a reviewer, and a verdict on another machine from that archive alone."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from reprokit import file_tree
from reprokit.core.checklist import Report
from reprokit.errors import BundleError, DataError, UsageError
from reprokit.features.bundles.archive_form import SUFFIXES
from reprokit.features.bundles.bundled_data import MOST_BYTES, BundledData
from reprokit.features.bundles.gather_files import gather_files
from reprokit.features.bundles.open_bundle import CheckedBundle, OpenBundle, checked, opened
from reprokit.features.bundles.subject import subject_of
from reprokit.features.bundles.writing import write
from reprokit.harness.audit import audit
from reprokit.harness.preparing import prepare
from reprokit.harness.reproduce import reproduce
from reprokit.layout import REPORT
from reprokit.project import Project
from reprokit.recipes import NO_VARIANT
from reprokit.reports.shorten import UNPACKED
from reprokit.request import Request
from reprokit.session import Progress, Session
from reprokit.workspace import cannot_write


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenBundle:
    """An archive that was written.

    Attributes:
        path: Where it is.
        sha256: Its digest, which a reviewer types.
        recipe: The recipe that it reproduces.
        is_unpinned: Whether its recipe pins no environment, so that no container can run it.
        files: Name → size in bytes.
        left_out: One sentence for each thing that does not come with it.
        data: What the recipe declares by name, and whether it goes along.
    """

    path: Path
    sha256: str
    recipe: str
    is_unpinned: bool
    files: Mapping[str, int]
    left_out: tuple[str, ...]
    data: tuple[BundledData, ...] = ()


def bundle(
    path: Path, output: Path, *, session: Session, vendor: bool, most_data_bytes: int = MOST_BYTES
) -> WrittenBundle:
    """Write all that a result is reproduced from into one archive; the same archive for the same result.

    Args:
        path: A run, a golden or a report.
        output: The archive, a name that ends in ``.tar.gz``.
        session: The project, and the progress that is shown.
        vendor: Whether the packages of the environment come with it.
        most_data_bytes: Of the data that comes with it, together; 0 for none.

    Raises:
        BundleError: The tree is not the one that the result was made from, a file looks like a secret, or the
            report's verdict does not follow from its evidence.
        ReprokitError: Something of it cannot be read, fetched or written.
    """
    if not output.name.endswith(SUFFIXES) or not output.parent.is_dir():
        expected = "the name of a .tar.gz in a folder that is there"
        raise UsageError("a bundle cannot be written there", expected=expected, actual=str(output))
    subject = subject_of(path.resolve(), project=session.project)
    if subject.report is not None:
        _must_follow(subject.path, session.project)
    with tempfile.TemporaryDirectory(prefix="reprokit-bundle-") as folder:
        place = Path(folder) / "vendored" if vendor else None
        made = gather_files(
            subject,
            project=session.project,
            vendored=place,
            most_data_bytes=most_data_bytes,
            on_progress=session.progress.note,
        )
        sha256 = write(output, made.files, manifest=made.manifest)
        sizes = {name: one.num_bytes for name, one in sorted(made.files.items())}
    return WrittenBundle(
        path=output,
        sha256=sha256,
        recipe=made.manifest.recipe,
        is_unpinned=made.manifest.variant == NO_VARIANT,
        files=sizes,
        left_out=made.manifest.left_out,
        data=made.data,
    )


def check_bundle(file: Path, *, sha256: str | None) -> CheckedBundle:
    """Compare all that an archive holds with its digests, its golden and its records; run nothing of it.

    Args:
        file: The archive.
        sha256: The digest that it must have; None for any.

    Raises:
        BundleError: It is damaged, was altered, or does not fit together.
        ReprokitError: Something in it cannot be read.
    """
    with _unpacked_into(None) as folder:
        return checked(file, folder, sha256=sha256)


def reproduce_bundle(
    file: Path,
    request: Request,
    *,
    sha256: str | None,
    keep: Path | None,
    home: Project,
    progress: Progress,
) -> tuple[Report, Path]:
    """Reproduce from a bundle alone: in a container, unless ``request.backend`` is ``local``.

    Args:
        file: The archive.
        request: Backend, repeats and limits; seed and settings are the bundle's.
        sha256: The digest that the archive must have; None for any.
        keep: A new folder to unpack it into, which stays; None for one that is removed at the end.
        home: The reviewer's project, where runs and reports go.
        progress: Told how far things are.

    Returns:
        The report, and the folder it was written to.

    Raises:
        BundleError: It is damaged, was altered, or does not fit together.
        ReprokitError: Nothing of it could be run.
    """
    with _unpacked_into(keep) as folder:
        found = opened(file, folder, request, sha256=sha256, home=home, on_progress=progress.note)
        _prepare_again(found, note=progress.note)
        return reproduce(
            found.recipe.name, found.request, session=Session(project=found.project, progress=progress)
        )


def _prepare_again(found: OpenBundle, *, note: Callable[[str], None]) -> None:
    """Run the steps that prepare the bundle's data here, twice: what its author recorded is not believed.

    What does not come out as declared, or cannot be prepared for want of what a step reads, is said; the row
    on data judges it.
    """
    if not found.recipe.plain.get("prepare") or found.recipe.variant == NO_VARIANT:
        return
    try:
        for result in prepare(
            found.recipe, found.request, project=found.project, twice=True, again=False, note=note
        ):
            if result.problem:
                note(f"{result.prepared.inputs.step}: {result.problem}")
    except DataError as error:
        note(f"the data of the bundle is not prepared here: {error.told()}")


def _must_follow(folder: Path, project: Project) -> None:
    """Refuse a report whose verdict does not follow from its evidence.

    Raises:
        BundleError: It does not; the message has the first reason.
    """
    audited = audit(folder / REPORT, project=project)
    if not audited.follows:
        raise BundleError(
            "the report does not stand",
            where=str(folder),
            actual=next(iter(audited.findings), ""),
            fix=f"`reprokit report verify {folder}` says why; bundle a report that stands",
        )


@contextlib.contextmanager
def _unpacked_into(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        folder = Path(tempfile.mkdtemp(prefix=UNPACKED)).resolve()
        try:
            yield folder
        finally:
            file_tree.remove(folder)
        return
    try:
        keep.mkdir(parents=True)
    except FileExistsError as error:
        raise UsageError("the folder is already there", where=str(keep), fix="name a new one") from error
    except OSError as error:
        raise cannot_write(keep, error) from error
    try:
        yield keep.resolve()
    except BundleError:
        file_tree.remove(keep)  # what was refused must not be taken for what was checked
        raise
