"""One run of the recipe in an environment that is made for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reprokit import adapters, runs
from reprokit.core.environment_record import MachineFacts
from reprokit.errors import CannotRunError, MetricsError
from reprokit.features.bisect_packages.room import Room
from reprokit.harness.running.environments.environment import realised
from reprokit.harness.running.run_kinds import WholeRun
from reprokit.harness.running.start_runs import ready_to_run, run_recipe
from reprokit.images.locks import read_lock
from reprokit.images.packages import Target
from reprokit.layout import METRICS
from reprokit.recipes import Recipe
from reprokit.request import Request
from reprokit.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """Makes environments and runs.

    Attributes:
        recipe: With everything set.
        request: How it runs.
        target: For which machine and Python packages are taken.
        room: Holds the environments within a limit.
        host: What this machine is.
    """

    recipe: Recipe
    request: Request
    target: Target
    room: Room
    host: MachineFacts

    def run(self, session: Session, *, is_end: bool) -> tuple[Path | None, str]:
        """The metrics of one run, or why there are none.

        Args:
            session: The project with the lock that is to be tried.
            is_end: Whether its environment stays until the search is over.

        Raises:
            CannotRunError: The environments that stay leave no room for one more.
        """
        variant = self.recipe.variant
        if not is_end:
            self.room.make_room()
        try:
            how = {"backend": self.request.backend, "base": self.request.base}
            made = realised(variant, **how, session=session)
        except CannotRunError as error:
            return None, error.told()
        self.room.add(made, read_lock(session.project.root).variant(variant), self.target, is_end=is_end)
        kind = WholeRun(repeats=1)
        try:
            ready = ready_to_run(self.recipe, self.request, kind, session=session, host=self.host)
        except CannotRunError as error:
            return None, error.told()
        (folder,) = run_recipe(self.recipe, self.request, kind, session=session, ready=ready)
        stored = runs.read(folder)
        if not stored.complete:
            return None, str(stored.record.message or stored.incomplete_because)
        try:
            adapters.compare(folder / METRICS, folder / METRICS)
        except MetricsError as error:
            return None, error.told()
        return folder / METRICS, ""
