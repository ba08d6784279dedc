"""The starter changes what a process inherits, really, or ends with 125 and a sentence."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from reprokit.execution import varied_start

STARTER = varied_start.__file__


def start(*options, program="", command=None, **more):
    words = command or [sys.executable, "-I", "-S", "-c", program]
    return subprocess.run(
        [sys.executable, "-I", "-S", STARTER, *options, "--", *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **more,
    )


def test_a_umask_is_the_programs():
    assert start("--umask", "027", program="import os; print(oct(os.umask(0)))").stdout == "0o27\n"


def test_cores_are_the_programs():
    last = str(max(os.sched_getaffinity(0)))
    assert start("--cores", last, program="import os; print(*os.sched_getaffinity(0))").stdout == f"{last}\n"


def test_addresses_are_the_same_in_every_process():
    shown = "print([one for one in open('/proc/self/maps') if 'stack' in one][0].split('-')[0])"
    assert (
        start("--fixed-addresses", program=shown).stdout == start("--fixed-addresses", program=shown).stdout
    )


def test_a_folder_is_made(tmp_path):
    assert start("--folder", str(tmp_path / "a" / "b")).returncode == 0
    assert (tmp_path / "a" / "b").is_dir()


def test_a_program_can_still_talk_to_itself_where_there_is_no_network():
    shown = (
        "import socket; s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname())"
    )
    done = start("--no-network", program=shown)
    if done.returncode == varied_start.CANNOT:
        pytest.skip(f"this system lets no one make a network: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr


def test_a_locale_is_one_that_the_system_has():
    shown = "import locale, os; print(os.environ['LC_ALL'], bool(locale.setlocale(locale.LC_ALL, '')))"
    assert start("--locale", "xx_XX.UTF-8,C", program=shown).stdout == "C True\n"
    assert start("--locale", "xx_XX.UTF-8").returncode == varied_start.CANNOT


def test_there_is_no_network_but_a_loopback():
    done = start("--no-network", program="import socket; print(*[name for _, name in socket.if_nameindex()])")
    if done.returncode == varied_start.CANNOT:
        pytest.skip(f"this system lets no one make a network: {done.stderr.strip()}")
    assert done.stdout in {"lo\n", "\n"}


def test_ids_of_processes_are_used_up_first():
    program = "import os; print(os.getpid() - os.getppid())"
    assert int(start("--processes", "9", program=program).stdout) >= 10


def test_another_process_is_busy_as_long_as_the_program_runs():
    program = (
        "import os, time; time.sleep(0.3); up = os.getppid(); "
        "print(*[one for one in open(f'/proc/{up}/task/{up}/children').read().split()])"
    )
    done = start("--load", str(min(os.sched_getaffinity(0))), program=program)
    children = done.stdout.split()
    assert len(children) == 2
    assert not [pid for pid in children if Path(f"/proc/{pid}").exists()]


@pytest.mark.parametrize("options", [(), ("--processes", "1")])
def test_the_programs_ending_is_the_starters(options):
    assert start(*options, program="raise SystemExit(7)").returncode == 7
    killed = start(*options, program="import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert killed.returncode == -signal.SIGKILL


@pytest.mark.parametrize("options", [("--cores", "4095"), ("--umask", "nine"), ("--folder", "/proc/1/x")])
def test_what_cannot_be_changed_starts_no_program(options):
    done = start(*options, program="print('ran')")
    assert (done.returncode, done.stdout) == (varied_start.CANNOT, "")
    assert "cannot be changed" in done.stderr


def test_a_program_that_is_not_there_is_told():
    done = start("--umask", "027", command=["/nowhere/at/all"])
    assert done.returncode == 127
    assert "/nowhere/at/all" in done.stderr


def test_what_is_so_already_is_not_taken_for_changed():
    program = "import os; print(oct(os.umask(0)))"
    assert start("--umask", "077,027", program=program, umask=0o077).stdout == "0o27\n"
    same = start("--umask", "077", program=program, umask=0o077)
    assert (same.returncode, same.stderr) == (
        varied_start.CANNOT,
        f"{varied_start.REFUSED}--umask: it is 077 already\n",
    )


@pytest.mark.parametrize(("own", "other"), [("C.UTF-8", "C"), ("C", "C.UTF-8")])
def test_a_locale_that_gives_what_the_programs_own_gives_is_passed_over(own, other):
    program = "import os; print(os.environ['LC_ALL'])"
    variables = {**os.environ, "LC_ALL": own}
    assert start("--locale", "C.UTF-8,C", program=program, env=variables).stdout == f"{other}\n"
    none = start("--locale", own, program=program, env=variables)
    assert none.returncode == varied_start.CANNOT
    assert "has no different one" in none.stderr


def test_a_core_that_nobody_may_use_is_not_kept_busy():
    done = start("--load", "1000", program="print(1)")
    assert (done.returncode, done.stdout) == (varied_start.CANNOT, "")
    assert "--load: no process may run on core 1000" in done.stderr


def test_options_may_stand_in_a_variable_which_the_program_does_not_see():
    words = json.dumps(["--set", "MADE=a b", "--nice", "3"])
    shown = "import os; print(os.environ['MADE'], os.nice(0), 'FURTHER' in os.environ)"
    done = start("--from", "FURTHER", program=shown, env={**os.environ, "FURTHER": words})
    assert done.stdout == f"a b {min(19, os.nice(0) + 3)} False\n"


def test_a_value_that_begins_with_a_plus_is_put_before_the_one_that_is_there():
    shown = "import os; print(os.environ['LIST'])"
    done = start("--set", "LIST=+new", program=shown, env={**os.environ, "LIST": "old"})
    assert done.stdout == "new:old\n"
    assert start("--set", "LIST_2=+new", program=shown.replace("LIST", "LIST_2")).stdout == "new\n"


def test_work_in_bursts_is_there_while_the_program_runs_and_gone_afterwards():
    core = str(min(os.sched_getaffinity(0)))
    shown = (
        "import os; own = os.getppid(); "
        "print(len(open(f'/proc/{own}/task/{own}/children').read().split()), own, flush=True)"
    )
    done = start("--bursts", core, program=shown)
    number, parent = done.stdout.split()
    assert (done.returncode, number) == (0, "2")  # the program, and who is busy
    assert not Path(f"/proc/{parent}").exists()
