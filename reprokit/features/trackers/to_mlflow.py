"""A run in MLflow's file store (``mlruns/``), without its library: metrics, parameters, tags.

Source: https://mlflow.org/docs/latest/self-hosting/architecture/backend-store/ (file store).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path

from reprokit.errors import UsageError
from reprokit.features.trackers.tracked_run import TrackedRun, must_be_new
from reprokit.workspace import write_atomic

#: What MLflow takes as a name, which is that of a file too.
_NAME = re.compile(r"[\w. -]+(?:/[\w. -]+)*", re.ASCII)
_FINISHED, _LOCAL = 3, 4


def to_mlflow(run: TrackedRun, folder: Path) -> Path:
    """Write ``<folder>/<experiment>/<run>/``, the experiment being the recipe, and return that folder.

    Raises:
        UsageError: The run is there already, or a metric has a name that MLflow does not take.
        WorkspaceError: It cannot be written.
    """
    experiment = str(int(_digest(run.recipe)[:14], 16))
    run_id = _digest(f"{run.recipe}/{run.name}")[:32]
    _must_be_names(run)
    place = must_be_new(folder / experiment / run_id)
    files = {f"tags/{name}": text for name, text in run.tags.items()}
    files["tags/mlflow.runName"] = run.name
    files |= {f"params/{name}": text for name, text in run.settings.items() if _is_name(name)}
    at = int(run.began * 1000)
    for name, (steps, values) in run.curves.items():
        lines = [f"{at} {_spelt(value)} {int(step)}\n" for step, value in zip(steps, values, strict=True)]
        files[f"metrics/{name}"] = "".join(lines)
    files["meta.yaml"] = _yaml(_of_run(run, run_id=run_id, experiment=experiment, at=at))
    for name in ("artifacts", "metrics", "params", "tags"):  # a folder without them is no run to MLflow
        (place / name).mkdir(parents=True)
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        write_atomic(place / name, text.encode())
    about: dict[str, object] = {"experiment_id": experiment, "name": run.recipe, "lifecycle_stage": "active"}
    about |= {"artifact_location": str(place.parent), "creation_time": at, "last_update_time": at}
    if not (place.parent / "meta.yaml").exists():
        write_atomic(place.parent / "meta.yaml", _yaml(about).encode())
    return place


def _of_run(run: TrackedRun, *, run_id: str, experiment: str, at: int) -> Mapping[str, object]:
    return {
        "artifact_uri": "artifacts",
        "end_time": at,
        "entry_point_name": "",
        "experiment_id": experiment,
        "lifecycle_stage": "active",
        "run_id": run_id,
        "run_name": run.name,
        "run_uuid": run_id,
        "source_name": "",
        "source_type": _LOCAL,
        "source_version": "",
        "start_time": at,
        "status": _FINISHED,
        "tags": [],
        "user_id": "",
    }


def _must_be_names(run: TrackedRun) -> None:
    for name in run.curves:
        if not _is_name(name) or any(other.startswith(f"{name}/") for other in run.curves):
            raise UsageError(
                f"MLflow's files cannot have a metric of this name: {name!r}",
                expected="letters, digits, blanks, _ - . with / between; none that is the folder of another",
                fix="--to tensorboard takes any name",
            )


def _is_name(name: str) -> bool:
    return bool(_NAME.fullmatch(name)) and not any(part.strip(". ") == "" for part in name.split("/"))


def _spelt(value: float) -> str:
    """As MLflow spells numbers: ``nan``, ``inf``, or the shortest digits that are the number."""
    return repr(float(value))


def _yaml(values: Mapping[str, object]) -> str:
    """JSON is YAML; a key a line, as MLflow writes it."""
    return "".join(f"{name}: {json.dumps(value)}\n" for name, value in values.items())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
