"""What would keep a verdict from coming about, said before minutes of training and not after them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from reprokit import capture, data, golden
from reprokit.core import fingerprint
from reprokit.core.environment_record import EnvironmentRecord, MachineFacts
from reprokit.errors import ReprokitError
from reprokit.feature import offered
from reprokit.harness.running.environments.recipe_data import sources_of
from reprokit.harness.running.programs.program_files import program_files
from reprokit.probes.known_claims import calls_of_false_claims, is_any_known
from reprokit.project import Project
from reprokit.recipes import NO_VARIANT, Recipe
from reprokit.session import Session

_MOST_CALLS = 20


def check_before_running(recipe: Recipe, *, seed: int, session: Session) -> None:
    """Refuse what can only fail; tell what can only be NO_GOLDEN, or was found not to repeat here.

    Args:
        recipe: What is about to run.
        seed: With this seed.
        session: The project, and the progress that is shown.

    Raises:
        GoldenError: The golden that the runs would be compared with is damaged.
        ImageError: The lock of its environment contradicts the files that it was made from.
    """
    lock_must_not_contradict(recipe, project=session.project)
    host = capture.capture_host(session.project.root)
    platforms = platforms_here(recipe, host)
    for platform in platforms:
        environment: EnvironmentRecord = {"host": host, "inside": {"numerics": {"profile": recipe.numerics}}}
        where, name = session.project.golden_dir, recipe.name
        if platform.startswith("cpu-"):  # the host's own, of which the golden may be that of another CPU
            folder = golden.locate_for(where, recipe=name, environment=environment, seed=seed)
        else:
            folder = golden.locate(where, recipe=name, platform=platform, seed=seed)
        if platform in recipe.platforms and folder.is_dir():
            golden.load(folder)
    tell_false_claims(recipe, session=session)
    for source in sources_of(recipe) if isinstance(recipe.data, Mapping) else ():
        if other := data.other_at_its_place(source):
            session.progress.note(
                f"{source.where}: the runs use the copy of {source.name} in the cache: {other}"
            )
    if platforms and not set(platforms) & set(recipe.platforms):
        declared = ", ".join(recipe.platforms)
        session.progress.note(
            f"{recipe.where('platforms')}: the recipe does not declare {' or '.join(platforms)}, only "
            f"{declared}: these runs can be compared with each other, not with a golden"
        )


def lock_must_not_contradict(recipe: Recipe, *, project: Project) -> None:
    """Refuse a recipe whose lock contradicts the files that it was made from.

    Raises:
        ImageError: A version in the lock is not one that such a file asks for.
    """
    if recipe.variant == NO_VARIANT:  # what reads locks needs an extra, which such a recipe does without
        return
    must_not_contradict = offered("lock_must_not_contradict")
    if must_not_contradict is not None:
        must_not_contradict(recipe.variant, project=project.root)


def tell_false_claims(recipe: Recipe, *, session: Session) -> None:
    """Tell which lines of a recipe's trainer or program call what does not repeat here as PyTorch claims.

    Args:
        recipe: What is about to run.
        session: The project, and the progress that is shown.
    """
    if not is_any_known():
        return
    files = _python_of(recipe)
    platforms = platforms_here(recipe, capture.capture_host(session.project.root))
    told = [call for name in platforms for call in calls_of_false_claims(files, name)]
    for call in told[:_MOST_CALLS]:
        session.progress.note(call)
    if len(told) > _MOST_CALLS:
        session.progress.note(
            f"and {len(told) - _MOST_CALLS:,} more calls of operations whose claim is false here"
        )


def _python_of(recipe: Recipe) -> list[tuple[str, bytes]]:
    """Name for people and content of the Python files that a recipe runs."""
    if recipe.trainer is None:
        with suppress(ReprokitError):  # what cannot be read is refused where the run is planned
            seen = program_files(recipe, recipe.project_dir)
            return [(one.name, one.content) for one in seen if one.name.endswith(".py")]
        return []
    parts = [(str(part.path), part.content) for part in recipe.parts]
    return [(str(recipe.trainer), recipe.trainer.read_bytes()), *parts]


def platforms_here(recipe: Recipe, host: MachineFacts) -> list[str]:
    """Where a recipe's device would train on this host; empty where that shows only in a run."""
    if recipe.platform:
        return [recipe.platform]
    return [name for name in fingerprint.platforms_of_host(host) if name.startswith(f"{recipe.device}-")]
