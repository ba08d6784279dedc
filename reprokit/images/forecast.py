"""What a run in an environment on this host would have in common with an earlier run, before it is made."""

from __future__ import annotations

from pathlib import Path

from reprokit import capture
from reprokit.capture.forecast import Forecast, forecast
from reprokit.core.environment_record import EnvironmentRecord
from reprokit.errors import ImageError, UsageError
from reprokit.images import locks, packages


def forecast_here(
    expected: EnvironmentRecord, *, start: Path, variant: str | None = None, python: str | None = None
) -> tuple[Forecast, str]:
    """Compare this host, and a locked environment or an installed ``python``, with an earlier record.

    ``variant`` None is the record's own, or ``cpu``. Returns the forecast, and the environment it was made
    from.

    Raises:
        UsageError: The Python cannot be asked, or a variant was named and there is no lock.
        RecipeError: There is no such variant.
        ImageError: The lock cannot be read.
    """
    host = capture.capture_host(start)
    if python is not None:
        inside = capture.capture_interpreter([python], with_torch=True)
        if "packages" not in inside:
            why = (inside.get("missing") or {})["python"].removeprefix(
                "which Python the program ran is not known: "
            )
            raise UsageError(
                f"no Python can be asked here: {why}", where=python, fix="name a Python that has the packages"
            )
        return forecast(expected, host=host, inside=inside), python
    try:
        project = locks.project_around(start)
    except ImageError as error:
        if variant is not None:
            raise UsageError(
                "no images/lock.toml here or above", where=str(start), fix="go to the project's folder"
            ) from error
        return forecast(expected, host=host), "none: no images/lock.toml here or above"
    locked = locks.read_lock(project).variant(
        variant or str((expected.get("image") or {}).get("variant") or "cpu")
    )
    target = packages.Target(machine=str((host.get("cpu") or {}).get("architecture")), python=locked.python)
    wanted = packages.packages_for(packages.read_packages(locked.packages_path), target)
    versions = {package.name: package.version for package in wanted}
    held = locked.packages_path.relative_to(project)
    return forecast(expected, host=host, packages=versions, python=locked.python), str(held)
