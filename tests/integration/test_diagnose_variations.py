"""What a program hangs on without a line that could be watched: found by changing it, or not known."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reprokit import variations
from reprokit.variations.catalogue import CATALOGUE

PROGRAM = """
import json, os, sys
{body}
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    out.write(json.dumps({{"step": 0, "loss": float(used)}}) + "\\n")
"""


def diagnose(
    tmp_path, body, *options, command=(sys.executable, "train.py", "{run_dir}"), limit_s=300, **environment
):
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
            *command,
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
        env={**os.environ, **environment},
    )
    if not done.stdout.startswith("{"):
        return done.stderr
    return {**json.loads(done.stdout), "code": done.returncode}


@pytest.mark.slow
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
@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("clock", "import time; used = time.localtime().tm_yday + int(time.strftime('%d'))"),
        ("clock", "import time; used = len(set(time.ctime()[:10])) + ord(time.asctime()[9])"),
        ("clock", "import time; used = time.clock_gettime(time.CLOCK_REALTIME) // 1e4"),
        ("host_name", "used = sum(os.uname().nodename.encode())"),
        ("host_name", "import platform; used = sum(platform.uname().node.encode())"),
        ("working_folder", "import pathlib; used = sum(str(pathlib.Path.cwd()).encode())"),
    ],
    ids=["date by parts", "date as text", "clock by number", "uname", "platform", "pathlib"],
)
def test_a_varied_value_is_given_to_every_function_that_asks_for_it(tmp_path, name, body):
    answer = diagnose(tmp_path, body, "--vary", name)
    assert (answer["verdict"], answer["variation"], answer["code"]) == ("NONDETERMINISTIC", name, 1)


def test_a_program_that_cannot_bear_a_variation_is_told_and_the_others_are_still_made(tmp_path):
    answer = diagnose(tmp_path, "assert os.umask(18) == 18\nused = 1", "--vary", "umask", "--vary", "locale")
    assert answer["verdict"] == "UNJUDGED"
    (told,) = answer["not_varied"]
    assert told["what"] == "the umask"
    assert told["how"].startswith("with it changed the program does not finish: ")
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_draw_that_the_compiler_leaves_out_is_named_by_its_line(tmp_path):
    pytest.importorskip("torch")
    body = """import torch
def drawn():
    unused = torch.rand(3)
    return torch.rand(3).sum()
torch.manual_seed(0)
used = torch.compile(drawn, backend="aot_eager")().item()"""
    answer = diagnose(tmp_path, body, "--vary", "compiler", limit_s=900)
    assert (answer["verdict"], answer["variation"]) == ("NONDETERMINISTIC", "compiler")
    assert (answer["cause"]["category"], answer["cause"]["line"]) == ("environment", 5)


def asked(*names):
    return [word for name in names for word in ("--vary", name)]


def test_every_variation_that_is_asked_for_was_in_force_in_the_run_or_is_no_pass(tmp_path):
    names = [name for name in variations.names() if name != "cpu_model"]
    command = (sys.executable, "train.py", "{run_dir}", "{seed}")
    answer = diagnose(tmp_path, "used = 1", *asked(*names), command=command)
    ruled_out = {one["what"] for one in answer["ruled_out"]}
    left = {one["what"]: one["how"] for one in answer["not_varied"]}
    says = {row.says for row in CATALOGUE if row.name in names}
    assert says == ruled_out | set(left)
    assert not ruled_out & set(left)
    assert not [how for how in left.values() if "not in force" in how], left
    assert (answer["verdict"], answer["code"]) == (("UNJUDGED", 4) if left else ("REPEATABLE", 0))


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("qemu-x86_64"), reason="takes qemu-user")
def test_a_program_that_is_found_on_the_path_runs_on_the_emulated_cpu(tmp_path):
    command = ("python3", "train.py", "{run_dir}")
    answer = diagnose(tmp_path, "used = 1", "--vary", "cpu_model", command=command)
    assert (answer["verdict"], answer["code"]) == ("REPEATABLE", 0), answer["not_varied"]
    traces = sorted(Path(answer["folder"], "traces").glob("*/trace-0.json"))
    cpus = [json.loads(one.read_text())["facts"]["conditions 0"]["cpu"] for one in traces]
    assert cpus[0] == cpus[1]
    assert "Haswell" in cpus[2]


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("locale", ("env", "LC_ALL=C.UTF-8", sys.executable, "train.py", "{run_dir}")),
        ("umask", ("sh", "-c", f"umask 022; {sys.executable} train.py {{run_dir}}")),
        ("time_zone", ("sh", "-c", f"TZ=UTC {sys.executable} train.py {{run_dir}}")),
        ("threads", ("env", "OMP_NUM_THREADS=3", sys.executable, "train.py", "{run_dir}")),
        ("hash_seed", ("env", "PYTHONHASHSEED=0", sys.executable, "train.py", "{run_dir}")),
        ("cpu_model", ("sh", "-c", f"{sys.executable} train.py {{run_dir}}")),
        ("leftovers", (sys.executable, "train.py", "{run_dir}")),
    ],
)
def test_what_the_command_itself_fixes_was_not_varied_and_is_no_pass(tmp_path, name, command):
    answer = diagnose(tmp_path, "used = 1", "--vary", name, command=command)
    assert (answer["verdict"], answer["code"]) == ("UNJUDGED", 4)
    assert not answer["ruled_out"]


def test_a_program_that_asks_for_the_encoding_of_the_locale_is_found_where_there_are_no_languages(tmp_path):
    body = "import locale; locale.setlocale(locale.LC_ALL, '')\n"
    body += "used = len(locale.nl_langinfo(locale.CODESET))"
    answer = diagnose(tmp_path, body, "--vary", "locale", LC_ALL="C.UTF-8")
    assert (answer["verdict"], answer["variation"], answer["code"]) == ("NONDETERMINISTIC", "locale", 1)


def test_what_a_run_with_another_seed_left_is_found_though_no_run_was_seen_to_write_it(tmp_path):
    body = "used = os.path.exists('kept')\n"
    body += "if sys.argv[2] == '1': os.system('touch kept')"
    command = (sys.executable, "train.py", "{run_dir}", "{seed}")
    answer = diagnose(tmp_path, body, "--vary", "leftovers", command=command)
    assert answer["verdict"] == "NONDETERMINISTIC"
