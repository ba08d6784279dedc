"""What the watch could not see is said where it was met, and nowhere else."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from reprokit import instrumentation
from reprokit.diagnosis import limits_of, read_trace

HOOK = Path(instrumentation.__file__).parent


@pytest.fixture
def watched(tmp_path):
    """Runs a program under watch; the limits that were met."""

    def run(source, *packages):
        for name in packages:
            (tmp_path / f"{name}.py").write_text("")
        (tmp_path / "program.py").write_text(source)
        out = tmp_path / "trace"
        out.mkdir()
        orders = {"out": str(out), "output": str(tmp_path / "run"), "key": "aa" * 16}
        (tmp_path / "orders.json").write_text(json.dumps(orders))
        watch = {"PYTHONPATH": str(HOOK), "REPROKIT_HOOK": str(tmp_path / "orders.json")}
        done = subprocess.run(
            [sys.executable, "program.py"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, **watch},
        )
        assert done.returncode == 0, done.stderr
        return limits_of(read_trace(out))

    return run


def test_a_program_of_the_standard_library_meets_none(watched):
    assert watched("import json, random, threading\n") == ()


def test_another_framework_is_named(watched):
    (told,) = watched("import jax\n", "jax")
    assert told == "jax is imported: its operations and draws are seen only by their effect"


def test_compiled_code_of_others_is_named_and_numpys_is_not(watched):
    pytest.importorskip("orjson", reason="no wheel for this Python")
    (told,) = watched("import numpy, orjson\n")[:1]
    assert told == "compiled code of orjson: where it draws numbers from is seen only by its effect"


def test_threads_that_are_not_pythons_are_counted(watched):
    source = (
        "import ctypes, time\n"
        "libc = ctypes.CDLL(None)\n"
        "thread = ctypes.c_ulong()\n"
        "libc.pthread_create(ctypes.byref(thread), None, ctypes.cast(libc.sleep, ctypes.c_void_p), 3)\n"
        "time.sleep(0.1)\n"
    )
    assert watched(source)[-1].startswith("1 thread of C or C++ libraries worked beside 1 of Python")


def test_a_process_that_left_no_trace_is_counted(watched):
    source = (
        "import os, signal, sys, subprocess\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; print(1, flush=True); time.sleep(9)'],"
        " stdout=subprocess.PIPE)\n"
        "child.stdout.read(1)\n"
        "child.kill()\n"
        "child.wait()\n"
        "child.stdout.close()\n"
    )
    assert "1 of 2 Python processes ended without a trace: killed, or by _exit" in watched(source)
