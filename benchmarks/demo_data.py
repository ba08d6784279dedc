"""Makes the recorded runs and diagnosis of `reprokit demo` again, for when a format of theirs changes.

    .venv/bin/python benchmarks/demo_data.py

What would name the machine is replaced before a run is closed again; the numbers are as they were written.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from reprokit.layout import ENVIRONMENT, MARKER, RECORD
from reprokit.runs import writing
from reprokit.workspace import write_json

ROOT = Path(__file__).resolve().parents[1]
FEATURE = ROOT / "reprokit/features/demo"
COMMAND = ("python", "fit.py", "--seed", "{seed}", "--logdir", "{run_dir}")
#: In place of what is of the machine.
MACHINE, OWNER = {"id": "0" * 12}, {"pid": 1, "started": 0.0, "boot": 0.0}


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve() / "project"
        folder.mkdir()
        shutil.copyfile(FEATURE / "programs/fit.py", folder / "fit.py")
        venv.create(folder.parent / "python", with_pip=False)
        for verb in ("reproduce", "diagnose"):
            run(verb, folder)
        target = FEATURE / "recorded"
        shutil.rmtree(target, ignore_errors=True)
        for path in sorted(folder.glob(f"runs/*/*/{RECORD}")):
            anonymous(path.parent)
            shutil.copytree(path.parent, target / path.parent.relative_to(folder))
        (found,) = folder.glob("reports/*/*/diagnosis.json")
        answer = json.loads(found.read_text().replace(f"{folder}/", ""))
        write_json(target / "diagnosis.json", answer)
        text = "".join(path.read_text() for path in target.rglob("*") if path.is_file())
        assert not [name for name in (temporary, str(ROOT), f'"{platform.node()}"') if name in text]


def run(verb: str, folder: Path) -> None:
    """A verb in a Python that has no packages."""
    path = f"{folder.parent / 'python/bin'}{os.pathsep}/usr/bin{os.pathsep}/bin"
    variables = {"PATH": path, "HOME": str(folder)}
    done = subprocess.run(
        [sys.executable, "-m", "reprokit", verb, "--", *COMMAND], cwd=folder, env=variables, check=False
    )
    assert done.returncode == 1, "the runs must differ"


def anonymous(run_dir: Path) -> None:
    """Replace what names the machine, and write COMPLETE again."""
    record = json.loads((run_dir / RECORD).read_text())
    write_json(run_dir / RECORD, {**record, "machine": MACHINE, "owner": OWNER})
    environment = json.loads((run_dir / ENVIRONMENT).read_text())
    environment["host"]["kernel"] = "6.12"
    environment["host"]["cpu"]["model"] = "x86-64"
    write_json(run_dir / ENVIRONMENT, environment)
    (run_dir / MARKER).unlink()
    writing._write_marker(run_dir)


if __name__ == "__main__":
    main()
