"""The numerics fingerprint: the part of an environment record that can change numbers.

Which fact counts, and why, is in ``fingerprint_rules``.

    >>> facts({"inside": {"packages": {"numpy": "2.4.0", "pip": "26.0"}}, "host": {"kernel": "6.1"}})
    {'inside.packages.numpy': '2.4.0'}
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from reprokit.core import rounding
from reprokit.core.environments.fingerprint_rules import ALWAYS, CUDA, NATIVE, RULES, TPU, Rule, rule_for
from reprokit.core.records import canonical_json, digest, leaves

#: What the profile is called under which no bit depends on the model of the CPU.
PORTABLE = "portable"

_RANK = {"yes": 0, "maybe": 1, "no": 2}

# The kernel's list of CPU features grows with kernels and microcode; these are the ones that compute.
_VECTOR_FEATURES = re.compile(r"^(sse|ssse|avx|fma|f16c|amx|xop|asimd|sve|sme|neon|fp$|fphp|bf16|i8mm)")


def facts(environment: Mapping[str, Any]) -> dict[str, Any]:
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


def fingerprint(environment: Mapping[str, Any]) -> str:
    """SHA-256 of the facts, as ``sha256:<hex>``."""
    return digest(facts(environment))


def same(expected: Mapping[str, Any], actual: Mapping[str, Any]) -> bool:
    """Whether two records agree in all that can change numbers, by today's rules, not by stored digests."""
    return fingerprint(expected) == fingerprint(actual)


def why_unknown(*environments: Mapping[str, Any]) -> str:
    """Why one of the records does not say in which Python its program ran; "" where all do.

    Two such records can be equal and still be of different environments.
    """
    for environment in environments:
        reason = _section(environment, "missing").get("inside.python")
        if reason and not _section(environment, "inside").get("python"):
            return str(reason)
    return ""


def explain(
    fields: Iterable[str], *, expected: Mapping[str, Any], actual: Mapping[str, Any]
) -> list[dict[str, Any]]:
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


def platform_of(environment: Mapping[str, Any]) -> str:
    """The platform that a record's goldens are filed under.

    Args:
        environment: An environment record, or only its ``host`` section (then: the host's CPU).

    Returns:
        ``cpu-x86_64``, ``cpu-x86_64-noavx2`` (another platform: other kernels), ``cpu-aarch64``,
        ``cuda-<gpu>``, ``tpu-<generation>``, ``xla-cpu``; ``unknown`` where the record does not say.
        Outside Linux the system's name is appended.
    """
    inside, host = _section(environment, "inside"), _section(environment, "host")
    if not inside and not host:
        host = environment
    device = _section(inside, "device")
    kind = str(device.get("kind") or "cpu")
    if kind in {CUDA, TPU}:
        return f"{kind}-{_slug(device.get('name'))}"
    if kind != "cpu":
        return kind
    cpu = {**_cpu_of_host(host), **_section(inside, "cpu")}
    if not cpu.get("architecture"):
        return "unknown"
    name = f"cpu-{cpu['architecture']}"
    if cpu["architecture"] == "x86_64" and not cpu.get("avx2"):
        name += "-noavx2" if cpu.get("avx2") is False else "-unknown"
    system = _section(inside, "os").get("system") or _section(host, "os").get("system") or "Linux"
    return name if system == "Linux" else f"{name}-{_slug(system)}"


def kind_of_cpu(host: Mapping[str, Any]) -> str:
    """What tells CPUs apart, as part of a file name: the model, and a digest of all of it that computes.

    Args:
        host: The ``host`` section of an environment record.

    Returns:
        Such as ``amd-epyc-7b13-1f2e3d4c``; "" where the record does not name a model.
    """
    cpu = _section(host, "cpu")
    if not cpu.get("model"):
        return ""
    what = [cpu.get("vendor"), cpu["model"], _reduced("host.cpu.features", cpu.get("features"))]
    return f"{_slug(cpu['model'])[:64].strip('-')}-{digest(what)[7:15]}"


def cpu_that_counts(environment: Mapping[str, Any]) -> str:
    """The kind of CPU where it can change numbers: on a CPU, under any profile but ``portable``; else ""."""
    counts = {NATIVE, "cpu"} <= _conditions(environment)
    return kind_of_cpu(_section(environment, "host")) if counts else ""


def platforms_of_host(host: Mapping[str, Any]) -> tuple[str, ...]:
    """Every platform that a host can train on: its CPU first, then its accelerators."""
    gpus = [f"cuda-{_slug(gpu.get('name'))}" for gpu in host.get("gpus") or () if isinstance(gpu, Mapping)]
    tpus = [f"tpu-{_slug(host['tpu'].get('name'))}"] if isinstance(host.get("tpu"), Mapping) else []
    return tuple(dict.fromkeys([platform_of({"host": host}), *gpus, *tpus]))


def _cpu_of_host(host: Mapping[str, Any]) -> dict[str, Any]:
    cpu = _section(host, "cpu")
    features = cpu.get("features")
    known = isinstance(features, Sequence) and not isinstance(features, str) and bool(features)
    return {"architecture": cpu.get("architecture"), "avx2": "avx2" in (features or ()) if known else None}


def _slug(name: Any) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", str(name or "unknown").lower()).strip("-")
    return words.removeprefix("nvidia-") or "unknown"


def _section(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = record.get(name)
    return value if isinstance(value, Mapping) else {}


def _conditions(environment: Mapping[str, Any]) -> frozenset[str]:
    inside = _section(environment, "inside")
    kind = str(_section(inside, "device").get("kind") or "cpu")
    conditions = {ALWAYS, TPU if kind.startswith("xla") else kind}
    if _section(inside, "numerics").get("profile") != PORTABLE:
        conditions.add(NATIVE)
    return frozenset(conditions)


def _counts(rule: Rule, conditions: frozenset[str]) -> bool:
    return rule.level != "no" and rule.when in conditions


def _flat(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Dotted field → value, equal values spelled alike; an empty section is no fact."""
    for field, value in _fields(record):
        yield field, _spelled(value)


def _fields(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
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
    records: tuple[Mapping[str, Any], Mapping[str, Any]],
) -> dict[str, Any]:
    rule = rule_for(field)
    level, why = rule.level, rule.why
    if level != "no" and rule.when not in conditions:
        level, why = "no", _OUT_OF_PLACE[rule.when]
    elif _equal(_reduced(field, expected), _reduced(field, actual)):
        level, why = "no", "none of the instruction sets that differ computes"
    for side, value, record in zip(("expected", "actual"), (expected, actual), records, strict=True):
        reason = _section(record, "missing").get(field) or _section(record, "missing").get(
            field.rpartition(".")[0]
        )
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
