"""A probe, run once in a pinned environment: a container or a virtual environment from the same lock."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reprokit.core.records import Mount, Realisation, RunLimits, RunSpec
from reprokit.errors import CannotRunError
from reprokit.harness.running.clock import stamp
from reprokit.harness.running.environments.environment import choose_backend, open_backend, realised
from reprokit.harness.running.numbers import PACKAGE, mounted_digest
from reprokit.layout import OUTPUT, read_json
from reprokit.session import Session

_ANSWER = "probe.json"


def resolve(variant: str, *, backend: str, base: str, session: Session) -> tuple[str, Realisation]:
    """The backend that will run a probe, and the environment of a variant in its form."""
    session.progress.phase("environment")
    chosen = choose_backend(backend, progress=session.progress)
    return chosen, realised(variant, backend=chosen, base=base, session=session)


def probe_spec(
    label: str,
    *,
    module: str,
    arguments: Sequence[str] = (),
    device: str,
    realisation: Realisation,
    variables: Mapping[str, str],
    timeout_s: float,
) -> RunSpec:
    """What starts ``python -m module --device … --output … *arguments`` with reprokit next to it."""
    command = ("{python}", "-m", module, "--device", "{device}", "--output", f"{{run_dir}}/{_ANSWER}")
    return RunSpec(
        recipe=label,
        run_id=stamp(),
        seed=0,
        device=device,
        command=(*command, *arguments),
        environment={**variables, "PYTHONPATH": "{mounts}"},
        realisation=realisation,
        mounts=(Mount(name="reprokit", path=str(PACKAGE), digest=mounted_digest()),),
        limits=RunLimits(timeout_s=timeout_s),
    )


def run(spec: RunSpec, *, backend: str, session: Session) -> dict[str, Any]:
    """The probe's answer.

    Raises:
        CannotRunError: It did not come to its end, or answered nothing.
    """
    runner = open_backend(backend, workspace=session.project.runs_dir)
    with tempfile.TemporaryDirectory(prefix="reprokit-probe-") as name:
        folder = Path(name)
        (folder / OUTPUT).mkdir()
        result = runner.run(spec, folder, on_tick=lambda: session.progress.alive("probe", "at work"))
        answer = read_json(folder / OUTPUT / _ANSWER)
        if not result.completed or not answer:
            why = result.message or "it left no answer"
            raise CannotRunError(f"the probe failed: {why}", fix=result.remedy or "`reprokit doctor`")
        return answer
