"""What the base and each extra bring: packages, and megabytes of their files with byte-code, without numpy's.

    python benchmarks/install_size.py [WHEEL]

It builds the wheel (or takes that one), installs it into a new environment for each combination, and writes
the table of docs/reference/dependencies.md. tests/integration/test_extras_of_the_wheel.py compares with it.
"""

from __future__ import annotations

import datetime as dt
import platform
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.wheel_environments import built_wheel, environment_with, sizes_in  # noqa: E402

DOCUMENT = ROOT / "docs" / "reference" / "dependencies.md"
COMBINATIONS = ("", "containers", "environments", "gpu", "html", "statistics", "remote", "data", "tune",
                "slurm", "ray", "containers,environments", "html,statistics", "all")  # fmt: skip
_TABLE = re.compile(r"^\| extras \|.*?\n\n", re.MULTILINE | re.DOTALL)
_MEASURED = re.compile(r"^`python benchmarks/install_size.py` on .*?;", re.MULTILINE)


def row_of(wheel: Path, extras: str) -> str:
    """A row of the table; megabytes are millions of bytes."""
    with tempfile.TemporaryDirectory(prefix="install-size-") as name:
        sizes = sizes_in(environment_with(extras, wheel=wheel, folder=Path(name)))
    whole, beside = sum(sizes.values()) / 1e6, (sum(sizes.values()) - sizes["numpy"]) / 1e6
    if not extras:
        for one, size in sorted(sizes.items()):
            print(f"{one}: {size / 1e6:.2f} MB")
    named = ", ".join(f"`{one}`" for one in extras.split(",")) if extras else "none"
    return f"| {named} | {len(sizes)} | {whole:.1f} | {beside:.1f} |"


def main(wheel: Path | None) -> int:
    """Measure all, and write the table."""
    with tempfile.TemporaryDirectory(prefix="install-size-") as name:
        wheel = (wheel or built_wheel(ROOT, Path(name))).resolve()
        rows = ["| extras | packages | MB | MB without numpy |", "|---|---|---|---|"]
        for extras in COMBINATIONS:
            rows.append(row_of(wheel, extras))
            print(rows[-1], flush=True)
    where = f"{platform.system()} {platform.machine()}, CPython {platform.python_version()}"
    head = f"`python benchmarks/install_size.py` on {where}, {dt.datetime.now(dt.UTC):%Y-%m-%d};"
    text = _MEASURED.sub(head, DOCUMENT.read_text(encoding="utf-8"))
    table = "\n".join(rows) + "\n\n"
    DOCUMENT.write_text(_TABLE.sub(lambda _: table, text, count=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else None))
