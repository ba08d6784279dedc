"""A varied run is of the environment that its program has, not of the tool's own."""

import subprocess
import sys

from reprokit.core.records import RunSpec
from reprokit.execution.local import LocalBackend
from reprokit.harness.running.programs.environment_inside import inside_of
from reprokit.harness.running.varying.apply_variations import changed


def test_what_is_installed_is_asked_of_the_python_that_the_command_names(tmp_path, monkeypatch):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "other"], check=True)
    monkeypatch.setenv("PATH", str(tmp_path / "other" / "bin"), prepend=":")
    spec = RunSpec(
        recipe="r",
        run_id="1",
        seed=0,
        device="cpu",
        command=("python", "train.py"),
        inherit_environment=True,
    )
    varied = changed(spec, start=("--umask", "077,027"))
    natural, found = (inside_of(one, backend=LocalBackend()) for one in (spec, varied))
    assert natural["packages"] == found["packages"]
    assert "numpy" not in found["packages"], "the tool's own Python has it"
