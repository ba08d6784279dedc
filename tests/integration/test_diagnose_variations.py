"""What a program hangs on without a line that could be watched: found by changing it, or not known."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import json, os, sys
{body}
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    out.write(json.dumps({{"step": 0, "loss": float(used)}}) + "\\n")
"""


def diagnose(tmp_path, body, *options, **environment):
    (tmp_path / "train.py").write_text(PROGRAM.format(body=body))
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "reprokit",
            "diagnose",
            "--json",
            "--reports-dir",
            str(tmp_path / "reports"),
            *options,
            "--",
            sys.executable,
            "train.py",
            "{run_dir}",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, **environment},
    )
    return json.loads(done.stdout) if done.stdout.startswith("{") else done.stderr


def test_a_umask_that_reaches_a_number_is_named_and_its_page_is_kept(tmp_path):
    answer = diagnose(tmp_path, "used = os.umask(18)", "--vary", "umask", "--vary", "locale")
    assert (answer["verdict"], answer["variation"]) == ("NONDETERMINISTIC", "umask")
    assert answer["cause"]["what"] == "the program depends on the umask"
    page = Path(answer["folder"], "diagnosis.html").read_text(encoding="utf-8")
    assert "the program depends on the umask" in page


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("network", "import socket; used = len(socket.if_nameindex())"),
        ("address_layout", "import ctypes; used = ctypes.CDLL(None).personality(0xFFFFFFFF) & 0x40000"),
    ],
)
def test_what_a_process_inherits_is_named(tmp_path, name, body):
    answer = diagnose(tmp_path, body, "--vary", name)
    if answer["not_varied"]:
        pytest.skip(str(answer["not_varied"]))
    assert (answer["verdict"], answer["variation"]) == ("NONDETERMINISTIC", name)


@pytest.mark.slow
def test_a_program_that_cannot_bear_a_variation_is_told_and_the_others_are_still_made(tmp_path):
    answer = diagnose(tmp_path, "assert os.umask(18) == 18\nused = 1", "--vary", "umask", "--vary", "locale")
    assert answer["verdict"] == "REPEATABLE"
    assert {"what": "the umask", "how": "with it changed the program does not finish"} in answer["not_varied"]
    assert "the locale" in {one["what"] for one in answer["ruled_out"]}


def test_a_variation_that_does_not_exist_is_refused(tmp_path):
    told = diagnose(tmp_path, "used = 1", "--vary", "umsk")
    assert "there is no variation 'umsk'\nHint: did you mean 'umask'?" in told


def test_an_encoding_that_nobody_named_is_found_at_the_line_that_opens_the_file(tmp_path):
    (tmp_path / "words.txt").write_text("caf\u00e9 na\u00efve", encoding="utf-8")
    body = "\nused = len(open('words.txt', errors='replace').read())"
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    answer = diagnose(tmp_path, body, "--vary", "locale", "--vary", "umask", **plain)
    assert (answer["verdict"], answer["variation"]) == ("NONDETERMINISTIC", "locale")
    assert (answer["cause"]["category"], answer["cause"]["line"]) == ("environment", 4)
    assert "encoding" in answer["cause"]["what"]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="takes two cores")
def test_a_number_of_threads_that_a_variable_and_the_cores_decide_together_is_named_as_such(tmp_path):
    pytest.importorskip("numpy")
    body = (
        "import numpy\nrows = numpy.random.default_rng(1).normal(size=(2, 2**20))\nused = rows[0] @ rows[1]"
    )
    own = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "2")
    names = ("--vary", "threads", "--vary", "cpu_affinity", "--vary", "umask", "--vary", "time_zone")
    answer = diagnose(tmp_path, body, *names, **own)
    if answer["verdict"] == "REPEATABLE":
        pytest.skip("OpenBLAS adds in one order here, whatever the number of its threads")
    assert answer["cause"]["category"] == "nonportable_numerics"
    assert "OpenBLAS (2, then 1)" in answer["cause"]["what"]
