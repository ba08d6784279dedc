"""``bisect --packages`` as a function: from two locks to the packages and releases that moved the numbers."""

from __future__ import annotations

import platform
import shutil
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from reprokit import capture, recipes, workspace
from reprokit.core.records import digest_bytes
from reprokit.errors import UsageError
from reprokit.features.bisect_packages.ends import end_named
from reprokit.features.bisect_packages.lab import Lab, Tested
from reprokit.features.bisect_packages.room import Room, images_there
from reprokit.features.bisect_packages.runner import Runner
from reprokit.features.bisect_packages.search import (
    Cause,
    Finished,
    Packages,
    Tried,
    differing,
    find_causes,
    most_environments,
)
from reprokit.features.bisect_packages.solving import Solver
from reprokit.harness.attribution.compared_runs import CACHE
from reprokit.images.cache import cache_folder
from reprokit.images.locks import read_lock
from reprokit.recipes import NO_VARIANT, Recipe
from reprokit.reports.tables import bytes_text
from reprokit.request import Request
from reprokit.session import Session

_AT_ONE_TIME = 4
FOUND, NOT_FOUND = 0, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedPackage:
    """A package of a step at which the numbers change.

    Attributes:
        name: Its name.
        good: The release before; None where there is no such package.
        bad: The next one, or None.
        cause: The number of the step, from 1; packages of one number move together.
        untested: Releases in between that could be installed and did not run.
        locks: Files with the two environments of the step.
    """

    name: str
    good: str | None
    bad: str | None
    cause: int
    untested: tuple[str, ...] = ()
    locks: tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageBisection:
    """What moved the numbers, and how it was found.

    Attributes:
        recipe: Whose numbers.
        sentence: The answer in one sentence.
        packages: Those of each cause, one cause after the other.
        environments: How many were judged, the two ends among them.
        most: How many one cause takes at most.
        num_packages: How many differ between the two ends.
        num_releases: How many releases lie between.
        tested: All of them, in order.
        notes: What else a reader should know.
        kept_bytes: What the environments that were made and are still there take on disk.
        exit_code: 0 where every cause is one step; 4 where there is none, or a release did not run.
    """

    recipe: str
    sentence: str
    packages: tuple[MovedPackage, ...] = ()
    environments: int = 0
    most: int = 0
    num_packages: int = 0
    num_releases: int = 0
    tested: tuple[Tested, ...] = ()
    notes: tuple[str, ...] = ()
    kept_bytes: int = 0
    exit_code: int = NOT_FOUND


def bisect_packages(
    name: str,
    *,
    good: str,
    bad: str | None,
    most_bytes: int,
    request: Request,
    ignore_rounding: bool = False,
    session: Session,
) -> PackageBisection:
    """Find the packages, and their releases, that changed the numbers of a recipe.

    Args:
        name: The recipe.
        good: A lock, or the folder of a golden.
        bad: The same; None for today's lock.
        most_bytes: What the environments of the search may take on disk.
        request: How it runs; ``auto`` stands for virtual environments.
        ignore_rounding: Whether what twins show to be rounding alone counts as equal.
        session: The project.

    Raises:
        UsageError: An end is no lock, or the recipe has none.
        CannotRunError: An end does not run, or one environment takes more than the limit.
        CannotJudgeError: An end does not repeat its own numbers.
    """
    project, note = session.project, session.progress.note
    recipe = recipes.load(name, recipes_dir=project.recipes_dir, overrides=request.overrides)
    if recipe.variant == NO_VARIANT:
        raise UsageError("the recipe has no lock: its variant is none", where=recipe.where("variant"))
    variant = read_lock(project.root).variant(recipe.variant)
    solver = Solver(variant, machine=platform.machine(), project=project.root, on_progress=note)
    how = {"lock": variant.packages_path, "root": project.root, "solver": solver}
    named = [end_named(one, **how) for one in (good, bad)]  # type: ignore[arg-type]
    ends = [solver.packages_of(one.text) for one in named]
    note(f"good: {named[0].told}; bad: {named[1].told}")
    moved = differing(ends[0].versions, ends[1].versions)
    if not moved:
        return PackageBisection(recipe=name, sentence="The two locks hold the same packages here.")
    chosen = replace(request, repeats=1, backend="local" if request.backend == "auto" else request.backend)
    images = images_there() if chosen.backend == "docker" else ()
    room = Room(cache=cache_folder(None), most_bytes=most_bytes, progress=session.progress, images=images)
    scratch = Path(tempfile.mkdtemp(prefix="reprokit-packages-"))
    try:
        host = capture.capture_host(project.root)
        runner = Runner(recipe=recipe, request=chosen, target=solver.target, room=room, host=host)
        lab = Lab(
            solver=solver, runner=runner, session=session, scratch=scratch, ignore_rounding=ignore_rounding
        )
        num_releases = _num_releases(ends, moved, lab=lab)
        found = _searched(
            recipe,
            ends,
            lab,
            room=room,
            most=_told_beforehand(len(moved), num_releases, session=session),
            session=session,
        )
        return replace(found, num_packages=len(moved), num_releases=num_releases)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _num_releases(ends: Sequence[Packages], moved: Sequence[str], *, lab: Lab) -> int:
    one, two = (end.versions for end in ends)
    with ThreadPoolExecutor(max_workers=_AT_ONE_TIME) as pool:
        return sum(pool.map(lambda name: len(lab.releases(name, one.get(name), two.get(name))), moved))


def _told_beforehand(num_packages: int, num_releases: int, *, session: Session) -> int:
    """How many environments one cause takes at most."""
    most = most_environments(num_packages, num_releases)
    session.progress.note(
        f"{num_packages} packages differ, with {num_releases} releases between: one cause takes at most "
        f"{most} environments"
    )
    return most


def _searched(
    recipe: Recipe, ends: Sequence[Packages], lab: Lab, *, room: Room, most: int, session: Session
) -> PackageBisection:
    good = lab.end(ends[0], name="good")
    _judged(good, "", lab)
    if room.one_bytes:
        session.progress.note(
            f"an environment takes about {bytes_text(room.one_bytes)}: {most} of them "
            f"{bytes_text(most * room.one_bytes)}, of which {bytes_text(room.most_bytes)} at one time"
        )
    bad = lab.end(ends[1], name="bad")
    apart = lab.difference(good.metrics, bad.metrics)
    _judged(bad, apart, lab)
    packages, exact = list[MovedPackage](), True
    for number, cause in enumerate(find_causes(good, bad, lab), start=1):
        found = _moved(cause, number, recipe=recipe, session=session)
        packages += found
        exact = exact and not cause.releases
        session.progress.note(f"cause {number}: {_listed(found)}")
    return PackageBisection(
        recipe=recipe.name,
        sentence=_sentence(packages, exact=exact),
        packages=tuple(packages),
        environments=len({one.what for one in lab.tested}),
        most=most,
        tested=tuple(lab.tested),
        kept_bytes=room.used_bytes,
        exit_code=FOUND if packages and exact else NOT_FOUND,
    )


def _judged(end: Finished, apart: str, lab: Lab) -> None:
    lab.judged(Tried(packages=end.packages, metrics=end.metrics), apart)


def _sentence(packages: Sequence[MovedPackage], *, exact: bool) -> str:
    if not packages:
        return "Both ends have the same numbers, so there is nothing to find."
    causes = len({one.cause for one in packages})
    what = "one step" if causes == 1 else f"{causes} steps"
    rest = "" if exact else "; releases in between did not run, so it may be an earlier one"
    return f"The numbers moved in {what}{rest}:"


def _listed(found: Sequence[MovedPackage]) -> str:
    return ", ".join(f"{one.name} {one.good or '(none)'} -> {one.bad or '(none)'}" for one in found)


def _moved(cause: Cause, number: int, *, recipe: Recipe, session: Session) -> list[MovedPackage]:
    """The packages of a cause; its two environments are kept as locks."""
    locks = tuple(_kept(one, recipe=recipe, session=session) for one in (cause.good, cause.bad))
    before, after = cause.good.versions, cause.bad.versions
    return [
        MovedPackage(
            name=name,
            good=before.get(name),
            bad=after.get(name),
            cause=number,
            untested=tuple(
                dict.fromkeys(
                    f"{name} {version}"
                    for one in cause.releases
                    if (version := one.versions.get(name)) not in (before.get(name), after.get(name))
                )
            ),
            locks=(locks[0], locks[1]),
        )
        for name in cause.moved
    ]


def _kept(packages: Packages, *, recipe: Recipe, session: Session) -> str:
    """A file with the lock of an environment, for `compare --a-lock`."""
    text = packages.text.encode("utf-8")
    name = f"{digest_bytes(text).removeprefix('sha256:')[:12]}.lock"
    folder = session.project.runs_dir / CACHE / "locks" / recipe.name
    folder.mkdir(parents=True, exist_ok=True)
    workspace.write_atomic(folder / name, text)
    return str(folder / name)
