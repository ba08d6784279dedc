"""Everything that a machine with an NVIDIA GPU can show, by one command: ``make test-cuda``.

The tests of this folder; then a golden of this GPU for every recipe that has none; then the table of which
operations repeat on it; then what the watch costs. Nothing is recorded where a test fails, and a golden that
is there is never replaced.

Exit codes: 0 all of it was done; 1 a test failed, a result differs from its golden, or the watch costs more
than its bound; 3 there is no GPU, or something could not be run.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

from support.gpu_host import RECIPES, ROOT, Gpu, find_gpu  # noqa: E402 - found by the line above

#: A recipe whose updates keep a GPU at work.
COST = ("benchmarks/diagnose_cost.py", "char_gpt", "--repeats", "3")
TABLE = "docs/evidence/numerics-claims.md"
_REPROKIT = (sys.executable, "-m", "reprokit")
_DONE, _DIFFERS, _CANNOT_RUN = 0, 1, 3
#: `numerics claims` ends with 1 where a claim is false: a finding, and the table has it.
_MEASURED = (0, 1)

Run = Callable[[Sequence[str]], int]


def main(arguments: Sequence[str], *, find: Callable[[], Gpu | str] = find_gpu, root: Path = ROOT) -> int:
    """Do all of it; ``arguments`` are pytest's."""
    found = find()
    if isinstance(found, str):
        _say(f"make test-cuda: nothing was run, because this host has no NVIDIA GPU: {found}")
        _say("docs/how-to/run-on-a-gpu-host.md says what such a host needs")
        return _CANNOT_RUN
    how = f"in a virtual environment ({found.why_local})" if found.why_local else "in containers"
    _say(f"{found.platform}: runs are made {how}")
    return carry_out(found, arguments, run=_run_in(root), root=root)


def carry_out(gpu: Gpu, arguments: Sequence[str], *, run: Run, root: Path) -> int:
    """Tests, goldens, table, cost of the watch, in this order; what fails ends it."""
    began_s = time.time()
    if run((*_REPROKIT, "data", "fetch", *RECIPES)):
        _say("the data of the recipes could not be fetched: nothing was run")
        return _CANNOT_RUN
    if code := run((sys.executable, "-m", "pytest", "-m", "cuda", "-v", "tests/cuda", *arguments)):
        _say(f"a test failed (pytest ended with {code}): no golden was recorded, and no table written")
        return _DIFFERS
    for name in RECIPES:
        if code := _golden(name, gpu, run=run, root=root, since_s=began_s):
            return code
    claims = ("numerics", "claims", "--device", "cuda", "--backend", gpu.backend, "--table", TABLE)
    if (code := run((*_REPROKIT, *claims))) not in _MEASURED:
        _say(f"the operations were not measured, or {TABLE} was not drawn (above; exit code {code})")
        return _CANNOT_RUN
    _say(f"look at `git status` for goldens of {gpu.platform} and {TABLE}, and commit them")
    if code := run((sys.executable, *COST, "--platform", gpu.platform)):
        said = "costs more than its bound (above)" if code == _DIFFERS else f"was not measured (code {code})"
        _say(f"the watch at level light {said}")
        return _DIFFERS if code == _DIFFERS else _CANNOT_RUN
    _say("done")
    return _DONE


def _golden(name: str, gpu: Gpu, *, run: Run, root: Path, since_s: float) -> int:
    """Make the golden of a recipe from the report that was just made, where that found none; an exit code."""
    folder = newest_report(root / "reports" / name, platform=gpu.platform, since_s=since_s)
    verdict = json.loads((folder / "report.json").read_text(encoding="utf-8"))["verdict"] if folder else None
    if verdict == "REPRODUCED":
        _say(f"{name}: equal to its golden of {gpu.platform}")
        return _DONE
    if folder is None or verdict != "NO_GOLDEN":
        _say(f"{name}: no golden is made; the newest report of these tests says {verdict or 'nothing'}")
        return _DIFFERS
    reason = f"first golden on {gpu.platform}: two equal runs and a resumed one, by make test-cuda"
    if code := run((*_REPROKIT, "golden", "promote", "--report", str(folder), "--reason", reason)):
        _say(f"{name}: the golden was refused (exit code {code}): nothing more is recorded")
        return _DIFFERS
    return _DONE


def newest_report(folder: Path, *, platform: str, since_s: float) -> Path | None:
    """The last report of a recipe on a platform; None where none was written since then (Unix time)."""
    for report in sorted(folder.glob("*/report.json"), reverse=True):
        of_platform = json.loads(report.read_text(encoding="utf-8")).get("platform") == platform
        if of_platform and report.stat().st_mtime >= since_s:
            return report.parent
    return None


def _run_in(root: Path) -> Run:
    return lambda command: subprocess.run(command, cwd=root, check=False).returncode


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
