"""Checks that settings which must precede the interpreter were set in time and took effect.

It sets nothing itself: a variable that is set after the start looks set and changes nothing.

    >>> verify(profile="portable", facts=probe.collect(with_torch=True), at_start=variables_at_start())
    {'profile': 'portable', 'version': 1, 'requested': {...}, 'in_force': {...}, 'missing': []}
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reprokit.core import numerics
from reprokit.core.numerics import Setting

HASH_SEED = "PYTHONHASHSEED"
_CPU_FEATURES = "numpy.cpu_features.in_force"


def variables_at_start() -> dict[str, str]:
    """The variables that this process was started with, as the kernel keeps them.

    ``os.environ`` also has those that the program set since; it is the fallback off Linux.
    """
    try:
        block = Path("/proc/self/environ").read_bytes()
    except OSError:
        return dict(os.environ)
    pairs = (entry.partition(b"=") for entry in block.split(b"\0") if entry)
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}


def verify(
    *, profile: str | None, facts: Mapping[str, Any], at_start: Mapping[str, str], device: str = "cpu"
) -> dict[str, Any]:
    """Hold the profile that was asked for against what was there and what took effect.

    Args:
        profile: ``portable``, ``native``, or None when the caller named none.
        facts: ``capture.probe.collect(with_torch=True)``: what the libraries report.
        at_start: The variables before the interpreter started.
        device: What a trainer computes on: on ``cuda``, the settings of ``core.numerics`` as well.

    Returns:
        ``profile``, ``version``, ``requested`` (variable → value), ``in_force`` (what the libraries
        report, by field) and ``missing``: one entry a setting that was not there or had no effect,
        with ``name``, ``expected``, ``actual`` and ``why`` (one sentence). On ``cuda`` also ``cuda``, with
        ``requested`` and ``in_force`` of the GPU's settings.

    Raises:
        UsageError: There is no such profile.
    """
    missing = _hash_seed(facts, at_start)
    of_gpu: dict[str, Any] = {}
    if device == numerics.CUDA:
        lacking, of_gpu = _of_gpu(facts, at_start)
        missing += lacking
    if profile is None:
        why = f"{numerics.MARK} was not set before the interpreter started"
        missing.append(_lack(numerics.MARK, expected="a profile", actual=None, why=why))
        nothing: dict[str, Any] = {"profile": None, "version": None, "requested": {}, "in_force": {}}
        return {**nothing, "missing": missing, **of_gpu}
    known = numerics.profile(profile)
    in_force: dict[str, Any] = {}
    for setting in known.settings:
        before = at_start.get(setting.name)
        if before != setting.value:
            why = f"it was not set so before the interpreter started; without it, {setting.reason}"
            missing.append(_lack(setting.name, expected=setting.value, actual=before, why=why))
        if setting.reported_as:
            told = in_force[setting.reported_as] = _told(facts, setting.reported_as)
            missing += _without_effect(setting, told)
    return {
        "profile": known.name,
        "version": known.version,
        "requested": {setting.name: setting.value for setting in known.settings},
        "in_force": in_force,
        "missing": missing,
        **of_gpu,
    }


def _of_gpu(
    facts: Mapping[str, Any], at_start: Mapping[str, str]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """What of a GPU's settings was not there or had no effect; and what was asked for and found."""
    missing = []
    for setting in numerics.CUDA_SETTINGS:
        before = at_start.get(setting.name)
        if before != setting.value:
            why = f"it was not set so before the interpreter started; without it, {setting.reason}"
            missing.append(_lack(setting.name, expected=setting.value, actual=before, why=why))
    in_force = {field: _told(facts, field) for field in numerics.CUDA_IN_FORCE}
    for field, (wanted, reason) in numerics.CUDA_IN_FORCE.items():
        if in_force[field] is not wanted:
            actual = "not reported" if in_force[field] is None else str(in_force[field])
            missing.append(_lack(field, expected=str(wanted), actual=actual, why=f"so {reason}"))
    return missing, {"cuda": {"requested": numerics.cuda_variables(), "in_force": in_force}}


def _hash_seed(facts: Mapping[str, Any], at_start: Mapping[str, str]) -> list[dict[str, Any]]:
    """PYTHONHASHSEED must have been a number, and the interpreter must have read it."""
    value = at_start.get(HASH_SEED)
    if value is None or not value.isdecimal():
        why = "the order of sets of strings is another in every process"
        return [_lack(HASH_SEED, expected="a number", actual=value, why=why)]
    # Only 0 switches randomisation off; -E and -I have Python ignore the variable altogether.
    randomised = _told(facts, "python.hash_randomization")
    if randomised is not (int(value) != 0):
        why = "the interpreter did not read it: it was started with -E or -I, or not with this value"
        return [_lack(HASH_SEED, expected=value, actual=f"hash_randomization {randomised}", why=why)]
    return []


def _without_effect(setting: Setting, told: Any) -> list[dict[str, Any]]:
    if setting.reported_as == _CPU_FEATURES:
        left = None if told is None else sorted(set(setting.in_force) & set(told))
        if left == []:
            return []
        actual = "not reported" if left is None else f"still in force: {', '.join(left)}"
    elif str(told) in setting.in_force:
        return []
    else:
        actual = "not reported" if told is None else str(told)
    why = f"{setting.reported_as} says that it is not in force; without it, {setting.reason}"
    return [_lack(setting.name, expected=" or ".join(setting.in_force), actual=actual, why=why)]


def _told(facts: Mapping[str, Any], field: str) -> Any:
    value: Any = facts
    for key in field.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _lack(name: str, *, expected: str, actual: str | None, why: str) -> dict[str, Any]:
    return {"name": name, "expected": expected, "actual": actual, "why": why}
