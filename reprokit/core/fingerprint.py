"""The numerics fingerprint: the part of an environment record that can change numbers.

Which fact counts, and why, is in ``fingerprint_rules``.

    >>> facts({"inside": {"packages": {"numpy": "2.4.0", "pip": "26.0"}}, "host": {"kernel": "6.1"}})
    {'inside.packages.numpy': '2.4.0'}
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from reprokit.core import rounding
from reprokit.core.environment_record import CpuFacts, DifferingFact, EnvironmentRecord, MachineFacts
from reprokit.core.environments.fingerprint_rules import ALWAYS, CUDA, NATIVE, RULES, TPU, Rule, rule_for
from reprokit.core.records import canonical_json, digest, leaves

#: What the profile is called under which no bit depends on the model of the CPU.
PORTABLE = "portable"

_RANK = {"yes": 0, "maybe": 1, "no": 2}

# The kernel's list of CPU features grows with kernels and microcode; these are the ones that compute.
_VECTOR_FEATURES = re.compile(r"^(sse|ssse|avx|fma|f16c|amx|xop|asimd|sve|sme|neon|fp$|fphp|bf16|i8mm)")


def facts(environment: EnvironmentRecord) -> dict[str, Any]:
    """The facts of a record that can change numbers: dotted path → value, sorted.

    Which facts those are depends on the device (GPU facts count only where the run trained on one)
    and on the numerics profile (the CPU's model counts under every profile but ``portable``).
    """
    conditions = _conditions(environment)
    chosen = {
        field: _reduced(field, _spelled(value))
        for field, value in _fields(environment)
        if value is not None and _counts(rule_for(field), conditions)
    }
    return dict(sorted(chosen.items()))


def fingerprint(environment: EnvironmentRecord) -> str:
    """SHA-256 of the facts, as ``sha256:<hex>``."""
    return digest(facts(environment))


def same(expected: EnvironmentRecord, actual: EnvironmentRecord) -> bool:
    """Whether two records agree in all that can change numbers, by today's rules, not by stored digests."""
    return fingerprint(expected) == fingerprint(actual)


def why_unknown(*environments: EnvironmentRecord) -> str:
    """Why one of the records does not say in which Python its program ran; "" where all do.

    Two such records can be equal and still be of different environments.
    """
    for environment in environments:
        reason = (environment.get("missing") or {}).get("inside.python")
        if reason and not (environment.get("inside") or {}).get("python"):
            return reason
    return ""


def explain(
    fields: Iterable[str], *, expected: EnvironmentRecord, actual: EnvironmentRecord
) -> list[DifferingFact]:
    """What of the fields in which two records differ can change numbers, and why; those first.

    Args:
        fields: Dotted, as ``reprokit.nested_diff`` has them. One that is equal as JSON (1 and 1.0, null
            and nothing) is left out, as it is from the fingerprint.
        expected: The record of the golden, or of the first run.
        actual: The record that is compared with it.

    Returns:
        One entry a field: ``field``, ``expected``, ``actual`` (None where it was not recorded; lists
        hold only what the other side lacks), ``can_change_numbers`` (``yes``, ``maybe``, ``no``) and
        ``why``. ``yes`` or ``maybe`` stands somewhere exactly when the fingerprints differ.
    """
    left, right = dict(_flat(expected)), dict(_flat(actual))
    conditions = _conditions(expected) | _conditions(actual)
    found = [
        _entry(field, left.get(field), right.get(field), conditions, (expected, actual))
        for field in sorted(set(fields))
        if not _equal(left.get(field), right.get(field)) and not _unprobed(field, left, right)
    ]
    order = {rule.field: position for position, rule in enumerate(RULES)}
    return sorted(
        found,
        key=lambda entry: (
            _RANK[entry["can_change_numbers"]],
            order.get(rule_for(entry["field"]).field, len(order)),
            entry["field"],
        ),
    )


def platform_of(environment: EnvironmentRecord) -> str:
    """The platform that a record's goldens are filed under.

    Args:
        environment: An environment record.

    Returns:
        ``cpu-x86_64``, ``cpu-x86_64-noavx2`` (another platform: other kernels), ``cpu-aarch64``,
        ``cuda-<gpu>``, ``tpu-<generation>``, ``xla-cpu``; ``unknown`` where the record does not say.
        Outside Linux the system's name is appended.
    """
    inside, host = environment.get("inside") or {}, environment.get("host") or {}
    device = inside.get("device") or {}
    kind = str(device.get("kind") or "cpu")
    if kind in {CUDA, TPU}:
        return f"{kind}-{_slug(device.get('name'))}"
    if kind != "cpu":
        return kind
    cpu: CpuFacts = {**_cpu_of_host(host), **(inside.get("cpu") or {})}
    if not cpu.get("architecture"):
        return "unknown"
    name = f"cpu-{cpu['architecture']}"
    if cpu["architecture"] == "x86_64" and not cpu.get("avx2"):
        name += "-noavx2" if cpu.get("avx2") is False else "-unknown"
    system = (inside.get("os") or {}).get("system") or (host.get("os") or {}).get("system") or "Linux"
    return name if system == "Linux" else f"{name}-{_slug(system)}"


def platform_of_host(host: MachineFacts) -> str:
    """The platform of a host's CPU."""
    return platform_of({"host": host})


def kind_of_cpu(host: MachineFacts) -> str:
    """What tells CPUs apart, as part of a file name: the model, and a digest of all of it that computes.

    Args:
        host: The ``host`` section of an environment record.

    Returns:
        Such as ``amd-epyc-7b13-1f2e3d4c``; "" where the record does not name a model.
    """
    cpu = host.get("cpu") or {}
    if not cpu.get("model"):
        return ""
    what = [cpu.get("vendor"), cpu["model"], _reduced("host.cpu.features", cpu.get("features"))]
    return f"{_slug(cpu['model'])[:64].strip('-')}-{digest(what)[7:15]}"


def cpu_that_counts(environment: EnvironmentRecord) -> str:
    """The kind of CPU where it can change numbers: on a CPU, under any profile but ``portable``; else ""."""
    counts = {NATIVE, "cpu"} <= _conditions(environment)
    return kind_of_cpu(environment.get("host") or {}) if counts else ""


def platforms_of_host(host: MachineFacts) -> tuple[str, ...]:
    """Every platform that a host can train on: its CPU first, then its accelerators."""
    gpus = [f"cuda-{_slug(gpu.get('name'))}" for gpu in host.get("gpus") or ()]
    tpu = host.get("tpu")
    tpus = [f"tpu-{_slug(tpu.get('name'))}"] if tpu is not None else []
    return tuple(dict.fromkeys([platform_of_host(host), *gpus, *tpus]))


def _cpu_of_host(host: MachineFacts) -> CpuFacts:
    cpu = host.get("cpu") or {}
    features = cpu.get("features")
    if not isinstance(features, list) or not features:  # a record of any form can be asked about
        return {"architecture": cpu.get("architecture"), "avx2": None}
    return {"architecture": cpu.get("architecture"), "avx2": "avx2" in features}


def _slug(name: Any) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", str(name or "unknown").lower()).strip("-")
    return words.removeprefix("nvidia-") or "unknown"


def _conditions(environment: EnvironmentRecord) -> frozenset[str]:
    inside = environment.get("inside") or {}
    kind = str((inside.get("device") or {}).get("kind") or "cpu")
    conditions = {ALWAYS, TPU if kind.startswith("xla") else kind}
    if (inside.get("numerics") or {}).get("profile") != PORTABLE:
        conditions.add(NATIVE)
    return frozenset(conditions)


def _counts(rule: Rule, conditions: frozenset[str]) -> bool:
    return rule.level != "no" and rule.when in conditions


def _flat(record: EnvironmentRecord) -> Iterator[tuple[str, Any]]:
    """Dotted field → value, equal values spelled alike; an empty section is no fact."""
    for field, value in _fields(record):
        yield field, _spelled(value)


def _fields(record: EnvironmentRecord) -> Iterator[tuple[str, Any]]:
    """The same with the values as they are."""
    for path, value in leaves(record):
        if not isinstance(value, Mapping):
            yield ".".join(map(str, path)), value


def _spelled(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_spelled_alike(item) for item in value]
    return _spelled_alike(value)


def _spelled_alike(value: Any) -> Any:
    """One spelling for one number, so that equal values have equal digests: 1.0 is 1, NaN is a word."""
    if isinstance(value, float):
        return (int(value) if value.is_integer() else value) if math.isfinite(value) else str(value)
    return value


def _reduced(field: str, value: Any) -> Any:
    if field == "host.cpu.features" and isinstance(value, list):
        return sorted(str(feature) for feature in value if _VECTOR_FEATURES.match(str(feature)))
    return value


def _equal(expected: Any, actual: Any) -> bool:
    """Equal as JSON: ``true`` is not 1."""
    return canonical_json(expected) == canonical_json(actual)


def _entry(
    field: str,
    expected: Any,
    actual: Any,
    conditions: frozenset[str],
    records: tuple[EnvironmentRecord, EnvironmentRecord],
) -> DifferingFact:
    rule = rule_for(field)
    level, why = rule.level, rule.why
    if level != "no" and rule.when not in conditions:
        level, why = "no", _OUT_OF_PLACE[rule.when]
    elif _equal(_reduced(field, expected), _reduced(field, actual)):
        level, why = "no", "none of the instruction sets that differ computes"
    for side, value, record in zip(("expected", "actual"), (expected, actual), records, strict=True):
        reasons = record.get("missing") or {}
        reason = reasons.get(field) or reasons.get(field.rpartition(".")[0])
        if value is None and reason:
            why += f" (missing from the {side} record: {reason})"
    if isinstance(expected, list) and isinstance(actual, list) and set(expected) != set(actual):
        lost, new = [x for x in expected if x not in actual], [x for x in actual if x not in expected]
        expected, actual = lost, new
    return {"field": field, "expected": expected, "actual": actual, "can_change_numbers": level, "why": why}


_OUT_OF_PLACE = {
    NATIVE: "under the portable profile no bit depends on it",
    CUDA: "nothing was computed on a GPU",
    TPU: "nothing was computed through XLA",
}


def _unprobed(field: str, left: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
    """Whether a field is a probe's digest that one record lacks: older ones, and other probes, do."""
    return field.startswith(f"{rounding.FIELD}.digests.") and (field not in left or field not in right)
