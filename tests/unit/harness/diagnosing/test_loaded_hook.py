"""The hook stays on the path of a Python that a command starts with a PYTHONPATH of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reprokit.core.records import RunSpec
from reprokit.harness.diagnosing.loaded_hook import in_words_of_env, keep_hook, why_not_loaded

GIVEN = {"REPROKIT_HOOK": "/orders", "PYTHONPATH": "/hook:lib", "PYTHONHASHSEED": "7"}


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["env", "A=b", "PYTHONPATH=src", "python"], ("env", "A=b", "PYTHONPATH=/hook:src", "python")),
        (["env", "-u", "A", "PYTHONPATH=", "python"], ("env", "-u", "A", "PYTHONPATH=/hook", "python")),
        (["/usr/bin/env", "python", "PYTHONPATH=x"], ("/usr/bin/env", "python", "PYTHONPATH=x")),
        (["python", "PYTHONPATH=x"], ("python", "PYTHONPATH=x")),
        (
            ["env", "-i", "A=b", "python"],
            ("env", "-i", *(f"{name}={value}" for name, value in GIVEN.items()), "A=b", "python"),
        ),
    ],
)
def test_what_env_sets_keeps_the_hook(command, words):
    assert in_words_of_env(command, hook="/hook", variables=GIVEN) == words


def spec_of(command, path):
    return RunSpec(
        run_id="x",
        recipe="plain",
        command=command,
        seed=0,
        device="cpu",
        environment={"REPROKIT_HOOK": "/orders", "PYTHONPATH": "/hook", "PATH": path},
        inherit_environment=True,
    )


def test_a_script_that_sets_the_path_anew_starts_a_python_with_the_hook(tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "python").symlink_to(sys.executable)
    told = "import os, sys; print(os.environ['PYTHONPATH'], sys.argv[1:])"
    shell = f'PYTHONPATH=src python -c "{told}" "a b"'
    spec = keep_hook(
        spec_of(("sh", "-c", shell), f"{tools}{os.pathsep}{os.defpath}"), hook="/hook", folder=tmp_path / "p"
    )
    done = subprocess.run(
        spec.command, env=dict(spec.environment), capture_output=True, text=True, check=True
    )
    assert done.stdout == "/hook:src ['a b']\n"


def test_a_stand_in_is_the_python_that_is_found_by_name(tmp_path):
    spec = keep_hook(spec_of(("python3",), os.environ["PATH"]), hook="/hook", folder=tmp_path / "p")
    asked = [shutil.which("python3", path=path) for path in (spec.environment["PATH"], os.environ["PATH"])]
    told = [
        subprocess.run(
            [one, "-c", "import sys; print(sys.executable, sys.prefix)"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for one in asked
    ]
    assert Path(asked[0]).parent == tmp_path / "p"
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("command", "why"), [(("python", "-I", "x.py"), "-I"), (("make",), "started no Python")]
)
def test_why_it_is_not_loaded_is_said(command, why):
    assert why in why_not_loaded(command)
