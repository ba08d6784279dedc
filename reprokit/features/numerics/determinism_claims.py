"""PyTorch's determinism claims, measured in a pinned environment, kept as files and drawn as a page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit import capture
from reprokit.core.determinism_claims import (
    SCHEMA,
    environment,
    is_any_measured,
    keep_differences,
    row_name,
)
from reprokit.errors import CannotRunError, ReportError, UsageError
from reprokit.features.numerics import determinism_claims_page, environment_probe
from reprokit.probes import known_claims
from reprokit.probes.claims_schema import MAX_BYTES, mistake_in, parse
from reprokit.records.newer import refuse_newer_schema
from reprokit.request import Request
from reprokit.session import Session
from reprokit.workspace import write_atomic

_TIMEOUT_S = 3600.0
_FIX = "`reprokit env numerics claims --json > FILE` makes one"
_LONG = ("rows", "batches")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimsCheck:
    """What is to be measured.

    Attributes:
        device: ``cpu`` or ``cuda``.
        variant: Of ``images/lock.toml``; None: the one called like the device.
        num_repeats: How often each operation runs, at least 2.
        only: Shell pattern of operation names.
        compiled: Whether some operations are repeated under ``torch.compile`` as well.
    """

    device: str = "cpu"
    variant: str | None = None
    num_repeats: int = 30
    only: str = "*"
    compiled: bool = True
    backend: str = Request().backend
    base: str = Request().base


def measure_claims(wanted: ClaimsCheck, *, session: Session) -> dict[str, Any]:
    """Repeat every operation in every mode; what is found, as ``read_findings`` returns it, and kept.

    Raises:
        CannotRunError: No environment, no such device, or the probe did not come to its end.
    """
    if wanted.device == "cuda" and not capture.capture_host(session.project.root).get("gpus"):
        raise CannotRunError("this host has no NVIDIA GPU that answers", fix="`nvidia-smi`, or --device cpu")
    backend, realisation = environment_probe.resolve(
        wanted.variant or wanted.device, backend=wanted.backend, base=wanted.base, session=session
    )
    # No numerics profile: with one thread, and other settings than PyTorch's own, a CPU has no races to find.
    spec = environment_probe.probe_spec(
        "numerics-claims",
        module="reprokit.features.numerics.inside.determinism_claims",
        arguments=(
            *("--repeats", str(wanted.num_repeats), "--only", wanted.only),
            "--compiled" if wanted.compiled else "--no-compiled",
        ),
        device=wanted.device,
        realisation=realisation,
        variables={"PYTHONHASHSEED": "0"},
        timeout_s=_TIMEOUT_S,
    )
    session.progress.phase(f"{wanted.num_repeats} repeats on {wanted.device}")
    found = environment_probe.run(spec, backend=backend, session=session)
    if not found["rows"] and not any(found["batches"].values()):
        raise UsageError(f"no operation has a name like {wanted.only!r}", where="--only")
    try:
        known_claims.keep(found)
    except ReportError as error:  # what took minutes to measure is shown nevertheless
        session.progress.note(str(error))
    return found


def read_findings(path: Path) -> dict[str, Any]:
    """What was found on one platform, from a file, which may have been made elsewhere.

    Raises:
        ReportError: It cannot be read, or holds something else.
    """
    try:
        with path.open("rb") as stream:
            found = parse(stream.read(MAX_BYTES + 1))
    except (OSError, ValueError) as error:
        raise ReportError(f"cannot be read: {error}", where=str(path)) from error
    if not isinstance(found, dict) or "rows" not in found:
        raise ReportError("this file holds no findings about determinism claims", where=str(path), fix=_FIX)
    schema = found.get("schema")
    refuse_newer_schema(schema, name=path.name, where=str(path), error=ReportError)
    if repr(schema) != repr(SCHEMA):  # True and 1.0 equal 1
        raise ReportError(
            "these findings have another format",
            where=str(path),
            expected=f"schema {SCHEMA}",
            actual=f"schema {schema!r:.80}",
            fix="measure again with this version",
        )
    if mistake := mistake_in(found):
        raise ReportError(
            f"these findings are not as they were measured: {mistake}", where=str(path), fix=_FIX
        )
    return found


def take_findings(path: Path) -> dict[str, Any]:
    """What was found on another machine, from a file; kept as if it had been measured here.

    Raises:
        ReportError: As ``read_findings``; or it cannot be kept together with what was found earlier.
    """
    found = read_findings(path)
    determinism_claims_page.page([found])  # what cannot be judged and drawn is not kept
    known_claims.keep(found)
    return found


def draw_page(page: Path, *, found: Mapping[str, Any]) -> Path:
    """Keep findings in the folder that is called like the page, and draw the page of all that are there.

    Returns:
        The file that the findings are kept in. Differences that an earlier measurement saw, and operations
        that were not measured again, stay in it.

    Raises:
        ReportError: A file in the folder is not as it was measured.
        UsageError: What an earlier measurement found would be lost. In neither case is anything written.
    """
    folder = page.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / known_claims.file_name(found)
    earlier = read_findings(kept) if kept.exists() else None
    whole = keep_differences(found, earlier) if earlier else found
    if earlier:
        _check_nothing_is_lost(whole, earlier, kept=kept)
    content = known_claims.to_keep(text_of(whole), place=kept, earlier=earlier)
    paths = sorted({*folder.glob("*.json"), kept})
    drawn = determinism_claims_page.page([whole if path == kept else read_findings(path) for path in paths])
    write_atomic(kept, content)
    write_atomic(page, drawn.encode())
    return kept


def _check_nothing_is_lost(whole: Mapping[str, Any], earlier: Mapping[str, Any], *, kept: Path) -> None:
    """Refuse findings of another environment, of fewer repeats or of fewer operations than those kept."""
    now, before = environment(whole), environment(earlier)
    if differing := [name for name in before if before[name] != now[name]]:
        raise UsageError(
            "these findings would replace those of another environment",
            where=str(kept),
            expected=", ".join(f"{name} {before[name]}" for name in differing),
            actual=", ".join(f"{name} {now[name]}" for name in differing),
            fix="give another --table, or move that file away",
        )
    if whole["repeats"] < earlier["repeats"]:
        raise UsageError(
            "these findings would replace those of more repeats",
            where=str(kept),
            expected=f"at least {earlier['repeats']} repeats",
            actual=f"{whole['repeats']} repeats",
            fix=f"measure with --repeats {earlier['repeats']}, or give another --table",
        )
    measured = {row_name(row) for row in whole["rows"] if is_any_measured([row])}
    known = {row_name(row) for row in earlier["rows"] if is_any_measured([row])}
    if lost := sorted(known - measured):
        raise UsageError(
            "these findings would replace those of more operations",
            where=str(kept),
            expected=f"each of the {len(known)} results that were measured",
            actual=f"{len(known) - len(lost)} of them, without {lost[0]}",
            fix=f"leave out --only and --no-compiled, measure with --repeats {earlier['repeats']} again, "
            "or give another --table",
        )


def text_of(found: Mapping[str, Any]) -> str:
    """Findings as JSON with one line for each row, so that a change is a small one."""
    lines = [f' "{name}": {json.dumps(value)}' for name, value in found.items() if name not in _LONG]
    rows = ",\n".join(f"  {json.dumps(row)}" for row in found["rows"])
    batches = ",\n".join(
        f'  "{mode}": [\n' + ",\n".join(f"   {json.dumps(one)}" for one in every) + "\n  ]"
        for mode, every in found["batches"].items()
    )
    return (
        "{\n" + ",\n".join([*lines, f' "rows": [\n{rows}\n ]', f' "batches": {{\n{batches}\n }}']) + "\n}\n"
    )
