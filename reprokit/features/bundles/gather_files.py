"""The files of a bundle: code, environment, golden and records, all compared with what was recorded."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import reprokit
from reprokit import golden, images, recipes
from reprokit.capture.git_history import changes_since
from reprokit.core.inputs import INPUTS
from reprokit.errors import BundleError, ImageError, ReprokitError
from reprokit.execution import source_files
from reprokit.features.bundles import bundled_data
from reprokit.features.bundles.documents import read_me, ro_crate
from reprokit.features.bundles.manifest import FORMAT, BundleManifest
from reprokit.features.bundles.secret_files import why_secret
from reprokit.features.bundles.subject import BundleSubject
from reprokit.features.bundles.writing import Packed
from reprokit.harness.running.inputs_of_today import changed_inputs
from reprokit.harness.running.numbers import PACKAGE
from reprokit.harness.running.programs.program import sources_of
from reprokit.images import vendor
from reprokit.layout import (
    CONFIG,
    ENVIRONMENT,
    MARKER,
    METRICS,
    PROGRAM,
    RECORD,
    REPORT,
    SOURCE,
    TIMING,
    TRACE,
)
from reprokit.project import Project
from reprokit.recipes import NO_VARIANT, Recipe
from reprokit.workspace import sha256_of

#: What is taken of a run: its records. What it printed, its checkpoints and its outputs stay behind.
_RECORDS = (RECORD, ENVIRONMENT, CONFIG, METRICS, TRACE, TIMING, MARKER)
_NUMBERS = {METRICS, TRACE, TIMING}  # may be as large as a disk: looked through part by part
_PART_BYTES = 16 << 20
_REPORTS = (REPORT, f"{REPORT}.sig", "report.md", "report.html", "junit.xml")
_SHOWN = 5
_MOST_SECRETS = 20
_FORBIDDEN = "must not be passed on (`redistribute: false`)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundled:
    """What goes into an archive."""

    files: Mapping[str, Packed]
    manifest: BundleManifest
    data: tuple[bundled_data.BundledData, ...] = ()


def gather_files(
    subject: BundleSubject,
    *,
    project: Project,
    vendored: Path | None,
    most_data_bytes: int,
    on_progress: Callable[[str], None],
) -> Bundled:
    """Everything that a reviewer needs, from the project as it lies there now.

    Args:
        subject: What is bundled.
        project: Whose tree it stands on.
        vendored: An empty folder to collect the environment's packages in; None to name them only.
        most_data_bytes: Of the data that goes along, together; 0 to name all of it only.
        on_progress: Told what is fetched.

    Raises:
        BundleError: The tree is not the one that was recorded, or a file looks like a secret.
        ReprokitError: Something of it cannot be read or fetched.
    """
    recipe = recipes.load(subject.recipe, recipes_dir=project.recipes_dir, overrides=subject.overrides)
    then = f"`git worktree add ../then {subject.commit}`, and bundle it there"
    fix = then if subject.commit else "restore those files"
    try:
        must_stand_on(subject.digests, recipe, project.root, what=subject.of, fix=fix)
        if subject.golden is not None:
            blessed = golden.load(subject.golden).provenance.digests
            of_it = fix if subject.of == "golden" else _fix_of_older_golden(subject)
            must_stand_on(blessed, recipe, project.root, what="golden", fix=of_it)
    except BundleError as error:
        if not (names := _changed_since(subject.commit, recipe, project.root)):
            if not subject.commit or subject.of != "golden":
                raise
            raise BundleError(
                error.what,
                where=error.where,
                expected=error.expected,
                actual=error.actual,
                fix=_fix_of_golden_apart(recipe.name),
            ) from error
        listed = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if names[_SHOWN:] else "")
        raise BundleError(
            f"{error.what} (changed since its commit: {listed})",
            where=error.where,
            expected=error.expected,
            actual=error.actual,
            fix=error.fix,
        ) from error
    left_out = _Omissions()
    code = {**bundled_data.steps_of(recipe), **_code(recipe)}
    data = bundled_data.chosen_data(recipe, most_bytes=most_data_bytes)
    environment = _environment(recipe, project, vendored=vendored, on_progress=on_progress)
    forbidden = bundled_data.not_to_be_passed_on(recipe, project.recipes_dir)
    records = dict(_records(subject, left_out, forbidden))
    blessed_records = {name: one for name, one in records.items() if name.startswith("golden/")}
    needed = {**code, **environment, **blessed_records}
    _must_hold_no_secret(needed, recipe)
    _must_hold_no_forbidden_data({**needed, **bundled_data.packed(data)}, recipe, forbidden)
    if isinstance(recipe.data, str) and recipe.data not in {"", "none"}:
        left_out.sentences.append(f"data: {recipe.data}")
    data = bundled_data.named_where_code_holds_it(data, code)
    left_out.sentences.extend(bundled_data.told(data))
    if recipe.variant == NO_VARIANT:
        left_out.sentences.append(
            "the environment: the recipe pins none, so environment.json is all that is known"
        )
    elif vendored is None:
        left_out.sentences.append("the packages of the environment: the lock names them by their hashes")
    manifest = BundleManifest(
        format=FORMAT,
        of=subject.of,
        recipe=subject.recipe,
        platform=subject.platform,
        seed=subject.seed,
        variant=recipe.variant,
        modified=subject.overrides,
        digests=dict(subject.digests),
        commit=subject.commit,
        tool=reprokit.__version__,
        vendored=vendored is not None,
        left_out=tuple(left_out.sentences),
        files={},
    )
    files = {
        **code,
        **environment,
        **records,
        **_own_package(subject.digests),
        **bundled_data.packed(data),
    }
    files["README.md"] = Packed(content=read_me(manifest, recipe, sorted(files), data).encode())
    files["ro-crate-metadata.json"] = Packed(content=ro_crate(manifest, subject, recipe, files, data))
    return Bundled(files=files, manifest=manifest, data=data)


def must_stand_on(
    digests: Mapping[str, str],
    recipe: Recipe,
    root: Path,
    *,
    what: str,
    fix: str,
    package: Path = PACKAGE,
) -> None:
    """Refuse a tree whose code or lock is not what was recorded, whatever its commit is called.

    Args:
        digests: Input → digest, as recorded.
        recipe: As the tree has it, overrides applied.
        root: The folder that holds ``images/``.
        what: What recorded them, for the message.
        fix: What to do about it, for the message.
        package: The ``reprokit`` that a trainer imports its runtime from.

    Raises:
        BundleError: Some input differs; the message names it.
    """
    if different := changed_inputs(digests, recipe, root, package=package):
        first, (then, now) = next(iter(different.items()))
        named = ", ".join(INPUTS[name] for name in different)
        raise BundleError(
            f"the {what} was made from other files than those here: {named}",
            where=str(root),
            expected=f"{first} {then}",
            actual=now,
            fix=fix,
        )


def _fix_of_golden_apart(name: str) -> str:
    """What to do where even the golden's commit has other files than the golden was made from."""
    return (
        f"the golden was committed without the files that it was made from: `reprokit reproduce {name}`, "
        f"`reprokit golden promote {name} --reason …`, and commit it before anything else changes"
    )


def _fix_of_older_golden(subject: BundleSubject) -> str:
    """What to do where a run or a report is of today's files, and its golden is not."""
    again = f"`reprokit reproduce {subject.recipe}` once more, and bundle its report"
    return (
        f"the {subject.of} is of the files here, its golden is older: `reprokit golden promote "
        f"{subject.recipe} --reason …`, then {again if subject.of == 'report' else 'bundle the golden'}"
    )


def _changed_since(commit: str, recipe: Recipe, root: Path) -> list[str]:
    """Files of the result that differ from a commit, or are gone; none where git does not know."""
    code = {name.removeprefix(f"{PROGRAM}/").removeprefix(f"{SOURCE}/") for name in _code(recipe)}
    try:
        changes = changes_since(root, commit, ["."]) if commit else []
    except ReprokitError:
        return []
    return sorted(
        one.path
        for one in changes
        if one.path.removeprefix("recipes/") in code
        or one.path.startswith(f"images/{recipe.variant}/")
        or not (root / one.path).exists()
    )


class _Omissions:
    """What does not come with a bundle, one sentence each."""

    def __init__(self) -> None:
        self.sentences: list[str] = []


def _code(recipe: Recipe) -> dict[str, Packed]:
    files, executables = sources_of(recipe)
    return {name: Packed(content=data, executable=name in executables) for name, data in files.items()}


def _own_package(digests: Mapping[str, str]) -> dict[str, Packed]:
    """This ``reprokit``, where it is part of what the numbers stand on."""
    if not {"runtime", "instrumentation"} & digests.keys():
        return {}
    found = source_files.source_files(PACKAGE)
    return {
        f"package/reprokit/{path.relative_to(PACKAGE).as_posix()}": Packed(content=path) for path in found
    }


def _environment(
    recipe: Recipe, project: Project, *, vendored: Path | None, on_progress: Callable[[str], None]
) -> dict[str, Packed]:
    if recipe.variant == NO_VARIANT:
        if vendored is not None:
            fix = "`reprokit image lock NAME --dependencies FILE`, and `variant: NAME` in the recipe"
            raise ImageError("there are no packages to vendor: the recipe's variant is none", fix=fix)
        return {}
    lock = images.locks.read_lock(project.root)
    variant = lock.variant(recipe.variant)
    declared = {
        f"images/{name}": Packed(content=path)
        for name, path in vendor.environment_files(lock, variant).items()
    }
    if vendored is None:
        return declared
    cache = images.cache.cache_folder(None)
    machine = platform.machine()
    vendor.fill(lock, variant, vendored, machine=machine, cache=cache, on_progress=on_progress)
    packed = (path for path in sorted(vendored.rglob("*")) if path.is_file())
    return {
        **declared,
        **{f"vendored/{path.relative_to(vendored).as_posix()}": Packed(content=path) for path in packed},
    }


def _records(
    subject: BundleSubject, left_out: _Omissions, forbidden: Mapping[str, str]
) -> Iterator[tuple[str, Packed]]:
    """Golden, report and run records; what looks like a secret in one of a run stays behind, and is named.

    So does what is, byte for byte, data that must not be passed on (``forbidden``: digest → name).
    """
    if subject.golden is not None:
        place = f"golden/{subject.recipe}/{subject.platform}/seed-{subject.seed}"
        for path in sorted(path for path in subject.golden.iterdir() if path.is_file()):
            yield f"{place}/{path.name}", Packed(content=path)
    else:
        left_out.sentences.append("a golden: there is none for this recipe, platform and seed")
    found = [
        (f"runs/{subject.recipe}/{run.name}/{name}", run / name) for run in subject.runs for name in _RECORDS
    ]
    if subject.report is not None:
        found += [
            (f"reports/{subject.recipe}/{subject.path.name}/{name}", subject.path / name) for name in _REPORTS
        ]
    for name, path in found:
        if path.is_file() and not path.is_symlink():
            data = forbidden.get(sha256_of(path)) if forbidden else None
            why = f"it is the data {data}, which {_FORBIDDEN}" if data else _why_secret(name, path)
            if why:
                left_out.sentences.append(f"{name}: {why}")
            else:
                yield name, Packed(content=path)
    if subject.runs:
        left_out.sentences.append(
            "of the runs: what they printed, their checkpoints and the files that they wrote"
        )


def _why_secret(name: str, path: Path) -> str:
    if path.name not in _NUMBERS:
        return why_secret(name, path.read_bytes())
    with path.open("rb") as stream:
        parts = iter(lambda: b"".join(stream.readlines(_PART_BYTES)), b"")
        found = next(filter(None, (why_secret(name, part) for part in parts)), "")
    return re.sub(r"^line \d+ holds", "it holds", found)  # counted from where the part begins


def _must_hold_no_secret(files: Mapping[str, Packed], recipe: Recipe) -> None:
    """Refuse a file that the numbers stand on and that must not be given away: it cannot be left out.

    The message names each with the line.

    Raises:
        BundleError: There is one; its content is not repeated.
    """
    found = []
    for name, one in files.items():
        if name.startswith("vendored/"):
            continue  # packages of an index and of the distribution, by their hashes
        content = one.content if isinstance(one.content, bytes) else one.content.read_bytes()
        if why := why_secret(name, content):
            found.append(_place_and_reason(name, why))
    if found:
        more = f", and {len(found) - _MOST_SECRETS} more" if found[_MOST_SECRETS:] else ""
        raise BundleError(
            f"what looks like a secret is in these files: {', '.join(found[:_MOST_SECRETS])}{more}",
            fix="take the secret out of the file, or let `sees` in the recipe leave the file out; commit "
            f"that, then `reprokit reproduce {recipe.name}`, and promote the new runs",
        )


def _place_and_reason(name: str, why: str) -> str:
    """A file as it is called in the project, with the line and what it holds there.

    >>> _place_and_reason("source/program/conf/a.yaml", "line 3 holds a private key")
    'conf/a.yaml:3 (it holds a private key)'
    """
    path = name.removeprefix(f"{PROGRAM}/")
    if path.startswith(f"{SOURCE}/"):
        path = f"recipes/{path.removeprefix(f'{SOURCE}/')}"
    if line := re.match(r"line (\d+) holds ", why):
        return f"{path}:{line[1]} (it holds {why[line.end() :]})"
    return f"{path} ({why})"


def _must_hold_no_forbidden_data(
    files: Mapping[str, Packed], recipe: Recipe, forbidden: Mapping[str, str]
) -> None:
    """Refuse a file that the numbers stand on and that is data which its recipe forbids to pass on.

    Raises:
        BundleError: There is one.
    """
    found = [
        f"{name} is the data {forbidden[digest]}"
        for name, one in (files.items() if forbidden else ())
        if not name.startswith("vendored/") and (digest := one.sha256()) in forbidden
    ]
    if found:
        more = f" and {len(found) - _SHOWN} more" if found[_SHOWN:] else ""
        raise BundleError(
            f"data that {_FORBIDDEN} would go into the bundle: {', '.join(found[:_SHOWN])}{more}",
            where=recipe.where("data"),
            fix="let git ignore the file, or let `sees` leave it out, and have the program read it in the "
            f"folder {{data}}; then `reprokit reproduce {recipe.name}`, and promote the new runs",
        )
