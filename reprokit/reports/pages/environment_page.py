"""An environment record as a page: its main facts, and what could not be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reprokit.core import fingerprint
from reprokit.core.environment_record import EnvironmentRecord
from reprokit.core.evidence import fact
from reprokit.reports.tables import folded

_FACTS = (
    ("system", "host.os.name"),
    ("kernel", "host.kernel"),
    ("C library", "inside.libc.version"),
    ("CPU", "host.cpu.model"),
    ("cores", "host.cpu.usable"),
    ("Python", "inside.python.version"),
    ("PyTorch", "inside.packages.torch"),
    ("numpy", "inside.packages.numpy"),
    ("threads", "inside.torch.threads"),
    ("CPU kernels", "inside.torch.cpu_capability"),
    ("MKL branch", "inside.torch.mkl_cbwr"),
    ("commit", "source.commit"),
)


def environment_lines(record: EnvironmentRecord) -> Iterator[str]:
    """One line for each fact, then one for each that is missing, with the reason."""
    rows: list[tuple[str, Any]] = [
        ("platform", fingerprint.platform_of(record)),
        ("fingerprint", fingerprint.fingerprint(record)),
    ]
    rows += [(title, fact(record, path)) for title, path in _FACTS]
    rows.append(("packages", len((record.get("inside") or {}).get("packages") or {})))
    rows += [
        ("GPU", f"{gpu.get('name')}, driver {gpu.get('driver')}")
        for gpu in (record.get("host") or {}).get("gpus") or ()
    ]
    if fact(record, "source.dirty"):
        rows.append(("changed", f"{fact(record, 'source.changed')} files differ from the commit"))
    yield from (f"{title:<12} {value}" for title, value in rows if value is not None)
    missing = record.get("missing") or {}
    if missing:
        yield "missing"
    yield from (folded(f"  {field}: {reason}", indent=4) for field, reason in missing.items())
