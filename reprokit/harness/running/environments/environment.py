"""From a recipe to the environment of its runs: what runs them, in what, on which cores and GPUs.

>>> environment = ready(recipe, request, WholeRun(repeats=2), session=session)
>>> environment.backend, environment.cores
('docker', (0, 1))
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from reprokit import extras, images
from reprokit.core.numerics import CUDA
from reprokit.core.records import Realisation
from reprokit.errors import EngineError, RecipeError
from reprokit.execution import Backend
from reprokit.execution import engine_status as engine
from reprokit.execution import local as local_backend
from reprokit.harness.running.environments.gpus import gpus_for
from reprokit.harness.running.environments.making import making
from reprokit.harness.running.numbers import PACKAGE
from reprokit.harness.running.run_kinds import RunKind, WholeRun
from reprokit.harness.running.varying.apply_variations import usable_cores
from reprokit.images import locks
from reprokit.recipes import NO_VARIANT, Recipe
from reprokit.request import Request
from reprokit.session import Progress, Session

_OLDEST_OF_TRAINERS = (3, 11)  # the tool's own


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Where runs of a recipe are made.

    Attributes:
        realisation: What they run in; None for a command in this Python.
        backend: ``docker`` or ``local``; recorded.
        runs_dir: Where the run folders will be.
        root: The folder that holds ``images/``; the recipe's project where None.
        package: The ``reprokit`` that a trainer imports its runtime from.
        cores: Core numbers to pin the runs to, one each in turn; empty for no pinning.
        gpus: Numbers of the GPUs that they see, one each in turn; empty for all.
        switched_off: What the profile ``portable`` switches off, by the names that the numpy in there has for
            it; "" for those of the profile.
    """

    realisation: Realisation | None
    backend: str
    runs_dir: Path
    root: Path | None = None
    package: Path = PACKAGE
    cores: tuple[int, ...] = ()
    gpus: tuple[int, ...] = ()
    switched_off: str = ""

    @property
    def side_by_side(self) -> int:
        """How many runs at one time."""
        return max(1, min(len(self.cores), len(self.gpus) or len(self.cores)))


def ready(recipe: Recipe, request: Request, kind: RunKind, *, session: Session) -> Environment:
    """The environment of a recipe, found or made.

    Raises:
        DeviceError: The recipe asks for a GPU that is not on this host, or not free.
        CannotRunError: The environment cannot be made here.
    """
    project, note = session.project, session.progress.note
    gpus = gpus_for(recipe, request, project=project, note=note) if recipe.device == CUDA else ()
    backend = backend_of(recipe, request, progress=session.progress)
    realisation = None
    if recipe.variant != NO_VARIANT:
        _check_python_of_trainer(recipe, root=project.root)
        realisation = realised(recipe.variant, backend=backend, base=request.base, session=session)
    return Environment(
        realisation=realisation,
        backend=backend,
        runs_dir=project.runs_dir,
        root=project.root,
        package=project.package or PACKAGE,
        cores=_cores_beside(kind, request) if recipe.ranks is None else (),  # the ranks share them
        gpus=gpus,
    )


def _check_python_of_trainer(recipe: Recipe, *, root: Path) -> None:
    if recipe.trainer is None:
        return
    version = locks.read_lock(root).variant(recipe.variant).python
    if tuple(map(int, version.rstrip("t").split("."))) < _OLDEST_OF_TRAINERS:
        raise RecipeError(
            "a trainer runs with the tool's own code, and not in this Python",
            where=str(recipe.file),
            expected=f"a variant with Python {'.'.join(map(str, _OLDEST_OF_TRAINERS))} or later",
            actual=f"{recipe.variant}: Python {version}",
            fix="another `variant`, or the program as a `command`: that runs in Python 3.8 to 3.15",
        )


def realised(variant: str, *, backend: str, base: str, session: Session) -> Realisation:
    """A variant in the form that a backend runs: an image or a virtual environment.

    Raises:
        CannotRunError: It cannot be made here.
    """
    kind: Literal["image", "venv"] = "image" if backend == "docker" else "venv"
    with making(variant, kind=kind, progress=session.progress) as on_progress:
        return images.resolve(
            variant,
            project=session.project.root,
            kind=kind,
            build=images.BuildOptions(base=base),
            on_progress=on_progress,
        )


def choose_backend(wanted: str, *, progress: Progress | None = None) -> str:
    """``docker`` or ``local``: what is asked for, or what this host can do.

    Raises:
        EngineError: Docker was asked for and no engine answers.
    """
    if wanted == "local":
        return "local"
    status = engine.engine_status()
    if status.reachable:
        return "docker"
    if wanted == "docker":
        raise EngineError(status.error, fix=status.remedy)
    if progress is not None:
        why = "no container engine answers"
        if not extras.is_installed("docker"):
            why = f"the package docker is not installed ({extras.install_line('containers')})"
        progress.note(f"{why}: training runs in a virtual environment of the same lock")
    return "local"


def backend_of(recipe: Recipe, request: Request, *, progress: Progress | None = None) -> str:
    """``docker`` or ``local``: where runs of a recipe are made.

    Raises:
        EngineError: Docker was asked for, and no engine answers or nothing says what image to run.
    """
    if recipe.variant != NO_VARIANT:
        chosen = choose_backend(request.backend, progress=progress)
        if chosen == "local" or (request.backend, request.base) != ("auto", "auto"):
            return chosen
        if why := images.why_no_image(recipe.variant, project=recipe.project_dir):
            if progress is not None:
                progress.note(f"in a virtual environment of the same lock, because for an image {why}")
            return "local"
        return chosen
    if request.backend == "docker":
        raise EngineError(
            "the recipe's variant is none: it runs in this Python",
            fix="`reprokit image lock NAME --dependencies FILE`, and `variant: NAME` in the recipe",
        )
    return "local"


def open_backend(name: str, *, workspace: Path) -> Backend:
    """What runs programs, by its name.

    Args:
        name: ``docker`` or ``local``.
        workspace: The folder of all the folders that they write to; it labels containers.
    """
    if name == "docker":
        extras.must_have("docker")
        from reprokit.execution.docker import DockerBackend  # noqa: PLC0415  (the docker SDK)

        return DockerBackend(workspace=str(workspace))
    return local_backend.LocalBackend(workspace=str(workspace))


def _cores_beside(kind: RunKind, request: Request) -> tuple[int, ...]:
    """A core for each of several whole runs side by side; none where runs are made one after the other."""
    if not isinstance(kind, WholeRun):
        return kind.cores
    sharing = max(kind.repeats, kind.beside)
    if sharing == 1 or not request.side_by_side:
        return ()
    cores = usable_cores()[:sharing]
    return cores if len(cores) > 1 else ()
