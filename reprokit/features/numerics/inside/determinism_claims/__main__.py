"""Measures PyTorch's claims of determinism on one device, and prints what was found as JSON.

    $ python -m reprokit.features.numerics.inside.determinism_claims --device cuda --repeats 30 \
          --output findings.json

It needs PyTorch and numpy only. Each mode is measured in a process of its own, because cuBLAS reads
``CUBLAS_WORKSPACE_CONFIG`` when it starts; but with ``warn_only``, the last repeat has a second process.
Exit codes: 0 measured; 3 not, and one line says why.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch

from reprokit.capture import probe as environment
from reprokit.core import determinism_claims as claims
from reprokit.core.fingerprint import platform_of
from reprokit.errors import CannotRunError, DeviceError
from reprokit.features.numerics.inside.determinism_claims import arithmetic, batches, indexing, layers
from reprokit.features.numerics.inside.determinism_claims.inputs import Case
from reprokit.features.numerics.inside.determinism_claims.repeats import cost, observe

if TYPE_CHECKING:
    from reprokit.core.environment_record import InsideFacts

CASES: tuple[Case, ...] = (*layers.CASES, *arithmetic.CASES, *indexing.CASES)

_DTYPES = {"cpu": ("float32", "bfloat16"), "cuda": ("float32", "bfloat16", "float16", "float64")}
_PHASES = (claims.FORWARD, claims.BACKWARD)
_WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"
#: No mode of torch: the time of one of them against that of another.
_COST, _PAIRS = "cost", 31


def main(arguments: Sequence[str]) -> int:
    """Measure, and print or write the findings."""
    options = _parser().parse_args(arguments)
    try:
        text = json.dumps(_found(options, arguments)) + "\n"
    except CannotRunError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    if options.output is None:
        sys.stdout.write(text)
    else:
        options.output.write_text(text, encoding="utf-8")
    return 0


def _found(options: argparse.Namespace, arguments: Sequence[str]) -> dict[str, Any]:
    if options.device == "cuda" and not torch.cuda.is_available():
        raise DeviceError(
            f"torch {torch.__version__} finds no CUDA device on this machine",
            fix="`nvidia-smi`, a PyTorch built for CUDA, or --device cpu",
        )
    if options.mode:
        return measure_mode(options)
    if options.output is not None and not options.output.parent.is_dir():
        raise CannotRunError("the folder to write to is not there", where=str(options.output.parent))
    if not _plan(options) and not any(map(_wanted(options.only), batches.NAMES)):
        return {**_about(options), "rows": [], "batches": {}}
    by_mode = {mode: _measure_in_processes(arguments, mode, options.repeats) for mode in claims.MODES}
    found = {**_about(options), **_merged(by_mode, device=options.device)}
    costs = _measure(arguments, mode=_COST, repeats=_PAIRS, variables=_variables(_COST))
    _add_costs(found["rows"], costs)
    return found


def measure_mode(options: argparse.Namespace) -> dict[str, Any]:
    """Every operation under one mode, in this process.

    Returns:
        ``rows``: ``operation``, ``dtype``, ``compiled`` and a finding for each phase; ``batches``.
    """
    if options.mode == _COST:
        plan = [(case, dtype) for case, dtype, compiled in _plan(options) if not compiled]
        return {"rows": [_cost_of(*one, options) for one in plan]}
    if options.mode != claims.DEFAULT:
        torch.use_deterministic_algorithms(True, warn_only=options.mode == claims.WARN_ONLY)
        torch.set_warn_always(True)
    rows = [
        {"operation": case.name, "dtype": dtype, "compiled": compiled}
        | observe(case, device=options.device, dtype=dtype, repeats=options.repeats, compiled=compiled)
        for case, dtype, compiled in _plan(options)
    ]
    if options.repeats < 2 or options.mode == claims.WARN_ONLY:
        return {"rows": rows, "batches": []}
    found = [
        one
        for dtype in _DTYPES[options.device]
        for one in batches.observe(device=options.device, dtype=dtype, only=_wanted(options.only))
    ]
    return {"rows": rows, "batches": found}


def _cost_of(case: Case, dtype: str, options: argparse.Namespace) -> dict[str, Any]:
    found = cost(case, device=options.device, dtype=dtype, pairs=options.repeats)
    return {"operation": case.name, "dtype": dtype, "cost": found}


def _add_costs(rows: Sequence[dict[str, Any]], measured: Mapping[str, Any]) -> None:
    """Give each row that was not compiled its ``cost``, where there is one."""
    costs = {(one["operation"], one["dtype"]): one["cost"] for one in measured["rows"]}
    for row in rows:
        found = costs.get((row["operation"], row["dtype"]), {}).get(row["phase"])
        if found and not row["compiled"]:
            row["cost"] = found


def _plan(options: argparse.Namespace) -> list[tuple[Case, str, bool]]:
    """What is measured: everything uncompiled first, then what is compiled."""
    wanted = [case for case in CASES if _wanted(options.only)(case.name)]
    eager = [
        (case, dtype, False)
        for case in wanted
        for dtype in _DTYPES[options.device]
        if dtype in (case.dtypes or _DTYPES[options.device])
    ]
    return eager + [
        (case, dtype, True) for case, dtype, _ in eager if options.compiled and dtype in case.compiled
    ]


def _wanted(pattern: str) -> Callable[[str], bool]:
    return lambda name: fnmatch.fnmatchcase(name, pattern)


def _measure_in_processes(arguments: Sequence[str], mode: str, repeats: int) -> dict[str, Any]:
    """One mode: all repeats but the last in one process, the last in another, as one answer."""
    variables = _variables(mode)
    twice = repeats > 1 and mode != claims.WARN_ONLY
    counts = (repeats - 1, 1) if twice else (repeats,)
    parts = [_measure(arguments, mode=mode, repeats=count, variables=variables) for count in counts]
    for rows in zip(*(part["rows"] for part in parts), strict=True):
        for phase in _PHASES:
            _join([row.get(phase, {}) for row in rows])
    return parts[0]


def _variables(mode: str) -> dict[str, str]:
    variables = {name: value for name, value in os.environ.items() if name != _WORKSPACE}
    variables["OMP_WAIT_POLICY"] = "PASSIVE"  # spinning threads make a busy machine far slower
    return variables if mode == claims.DEFAULT else {**variables, _WORKSPACE: ":4096:8"}


def _measure(
    arguments: Sequence[str], *, mode: str, repeats: int, variables: Mapping[str, str]
) -> dict[str, Any]:
    command = [
        sys.executable,
        "-m",
        "reprokit.features.numerics.inside.determinism_claims",
        *_without_output(arguments),
    ]
    command += ["--mode", mode, "--repeats", str(repeats)]
    answer = subprocess.run(
        command, env=dict(variables), capture_output=True, text=True, errors="replace", check=False
    )
    try:
        answer.check_returncode()
        found: dict[str, Any] = json.loads(answer.stdout)
    except (subprocess.CalledProcessError, ValueError) as error:
        said = answer.stderr.strip().rpartition("\n")[2] or "it said nothing"
        raise CannotRunError(
            f"{mode} was not measured: its process ended with exit code {answer.returncode}: {said}",
            fix=f"`{shlex.join(command)}` shows all that it says",
        ) from error
    sys.stderr.write(f"{answer.stderr}{mode}: {repeats} repeats measured\n")
    return found


def _without_output(arguments: Sequence[str]) -> list[str]:
    known = argparse.ArgumentParser(add_help=False)
    known.add_argument("--output")
    return known.parse_known_args(arguments)[1]


def _join(findings: Sequence[dict[str, Any]]) -> None:
    """Count the result of the second process as one more repeat of the first."""
    first, *others = findings
    for other in others:
        if "digest" in first and other.get("digest", first["digest"]) != first["digest"]:
            first |= {"outcome": claims.DIFFERS, "differing": first.get("differing", 0) + 1}
            first["other_process_differs"] = True


def _merged(by_mode: Mapping[str, Mapping[str, Any]], *, device: str) -> dict[str, Any]:
    """One row for each operation, dtype and phase, with the claim and what each mode showed."""
    listed = claims.statements(torch.use_deterministic_algorithms.__doc__)
    cases = {case.name: case for case in CASES}
    rows = []
    for found in zip(*(by_mode[mode]["rows"] for mode in claims.MODES), strict=True):
        about = {name: found[0][name] for name in ("operation", "dtype", "compiled")}
        case = cases[about["operation"]]
        for phase in _PHASES:
            if not any(phase in one for one in found):
                continue
            claim = claims.claim_of(
                listed, name=case.documented, phase=phase, device=device, words=case.words
            )
            rows.append(about | {"phase": phase, "claim": claim} | _settled(found, phase=phase))
    batch = {mode: by_mode[mode]["batches"] for mode in (claims.DEFAULT, claims.DETERMINISTIC)}
    return {"rows": rows, "batches": batch}


def _settled(found: Sequence[Mapping[str, Any]], *, phase: str) -> dict[str, Any]:
    """Mode → finding. What fails with nothing set is not there at all; what fails only then, refuses."""
    by_mode = dict(zip(claims.MODES, found, strict=True))
    first = by_mode[claims.DEFAULT].get(phase, {})
    if first.get("outcome") == claims.RAISED or not first:
        return {claims.DEFAULT: {**first, "outcome": claims.UNAVAILABLE}}
    settled = {mode: dict(one.get(phase) or one[claims.FORWARD]) for mode, one in by_mode.items()}
    for mode, one in by_mode.items():
        if one[claims.FORWARD].get("warned"):  # of the operation, and so of its gradients
            settled[mode]["warned"] = True
    return settled


def _about(options: argparse.Namespace) -> dict[str, Any]:
    facts = environment.collect(with_torch=True, device=options.device)
    device, told = facts["device"], facts["torch"]
    return {
        "schema": claims.SCHEMA,
        "platform": platform_of({"inside": cast("InsideFacts", facts)}),
        "device": device.get("name") or _cpu_model(),
        "torch": told["version"],
        "build": told["git_version"][:12],
        "cuda": device.get("cuda"),
        "cudnn": device.get("cudnn"),
        "driver": device.get("driver"),
        "threads": torch.get_num_threads(),
        "capability": told.get("cpu_capability"),
        "repeats": options.repeats,
    }


def _cpu_model() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m reprokit.features.numerics.inside.determinism_claims")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--only", default="*", metavar="PATTERN")
    parser.add_argument("--compiled", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--mode", choices=(*claims.MODES, _COST), help="this mode alone, in this process")
    parser.add_argument("--output", type=Path, help="file to write  [default: standard output]")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
