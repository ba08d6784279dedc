"""On a Debian without a C compiler and without network the tool works, and says what it cannot see."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.minimal_system import minimal_system, output

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000)]

PROJECT = Path(__file__).resolve().parents[2]
COMPILERS = ("cc", "gcc", "c++", "clang", "tcc", "zig", "ziglang")
#: A draw of Python, and one of the C library, in which no line of Python draws.
DRAWS = {
    "python": "import random\nvalue = random.Random().random()",
    "compiled": "import ctypes\nvalue = ctypes.CDLL(None).arc4random() / 2**32",
}
WRITE = """
import json, sys
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    out.write(json.dumps({"step": 0, "loss": value}) + "\\n")
"""
INSIDE = 'mount -t proc proc "$1/proc" && exec chroot "$@"'


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a command in the root, in which the tool is installed from a folder of packages."""
    if os.getuid() != 0 or shutil.which("mmdebstrap") is None:
        pytest.skip("a Debian from nothing needs root and mmdebstrap")
    root = minimal_system(tmp_path_factory.mktemp("system") / "root", include=("python3-venv",))
    packages = root / "packages"
    pip = (sys.executable, "-m", "pip")
    lock = str(PROJECT / "requirements.lock")
    output(*pip, "download", "--quiet", "--only-binary", ":all:", "--dest", str(packages), "-r", lock)
    output(
        *pip,
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(packages),
        str(PROJECT),
    )

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        apart = ("unshare", "--mount", "--net", "--pid", "--fork", "sh", "-c", INSIDE, "sh", str(root))
        variables = {"PATH": "/tool/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root", "LANG": "C.UTF-8"}
        return subprocess.run(
            [*apart, *command], capture_output=True, text=True, check=False, timeout=1500, env=variables
        )

    assert run("python3", "-m", "venv", "/tool").returncode == 0
    install = ("pip", "install", "--quiet", "--no-index", "--find-links", "/packages")
    done = run("/tool/bin/python", "-m", *install, "reprokit-verify")
    assert done.returncode == 0, done.stderr
    (root / "program").mkdir()
    for name, draw in DRAWS.items():
        (root / "program" / f"{name}.py").write_text(draw + WRITE)
    return run


def test_there_is_no_compiler_and_no_network(inside) -> None:
    for name in COMPILERS:
        assert inside("sh", "-c", f"command -v {name}").returncode != 0, name
    assert inside("ls", "/sys/class/net").stdout.split() in ([], ["lo"])


def _asked(inside, program: str, verb: str, *options: str) -> tuple[int, dict]:
    command = f"cd /program && reprokit {verb} {' '.join(options)} --json -- python3 {program}.py {{run_dir}}"
    done = inside("sh", "-c", command)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_a_draw_of_python_is_named_with_its_line(inside) -> None:
    code, found = _asked(inside, "python", "diagnose")
    assert (code, found["cause"]["category"], found["cause"]["line"]) == (1, "unseeded_rng", 2)


def test_of_compiled_code_the_line_is_named_and_what_is_not_seen_is_said(inside) -> None:
    code, found = _asked(inside, "compiled", "diagnose")
    assert (code, found["cause"]["category"], found["cause"]["line"]) == (1, "unknown", 2)
    assert any("no C compiler" in one and "is not seen" in one for one in found["known"])


def test_runs_under_stress_say_which_disturbance_could_not_be_made(inside) -> None:
    code, report = _asked(inside, "python", "reproduce", "--stress", "--repeats", "2")
    assert (code, report["verdict"]) == (1, "NONDETERMINISTIC")
    assert "delays at locks and starts" in json.dumps(report["stress"]["not_made"])
