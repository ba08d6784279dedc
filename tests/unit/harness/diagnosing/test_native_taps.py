"""The preloaded library: what it counts by shared object, what it holds, and where it was not loaded."""

import json
import os
import shutil
import subprocess
import sys
import types

import pytest

from reprokit.diagnosis import read_trace
from reprokit.harness.diagnosing.taps.library import find_library
from reprokit.harness.diagnosing.taps.preloaded import TABLES
from reprokit.harness.diagnosing.taps.seen import Asked, asked_around, asked_in, gave_up, not_seen, sentence

CC = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
CXX = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
pytestmark = pytest.mark.skipif(CC is None, reason="no C compiler (cc, gcc, clang) to build the taps")

SOURCE = """
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static uint64_t of_file(const char *path) {
    uint64_t value = 0; int file = open(path, O_RDONLY);
    if (read(file, &value, 8) != 8) value = 0;
    close(file); return value;
}
uint64_t by_getrandom(void) { uint64_t value; return getrandom(&value, 8, 0) == 8 ? value : 0; }
uint64_t by_getentropy(void) { uint64_t value; return getentropy(&value, 8) == 0 ? value : 0; }
uint64_t by_system_call(void) {
    uint64_t value; return syscall(SYS_getrandom, &value, 8, 0) == 8 ? value : 0;
}
uint64_t by_urandom(void) { return of_file("/dev/urandom"); }
uint64_t by_random(void) { return of_file("/dev/random"); }
uint64_t by_stream(void) {
    uint64_t value; FILE *file = fopen("/dev/urandom", "rb"); size_t got = fread(&value, 8, 1, file);
    fclose(file); return got ? value : 0;
}
uint64_t clock_of_day(void) { struct timespec at; clock_gettime(CLOCK_REALTIME, &at); return at.tv_nsec; }
uint64_t seconds(void) { return time(NULL); }
uint64_t of_day(void) { struct timeval at; gettimeofday(&at, NULL); return at.tv_usec; }
static void *work(void *to) { *(uint64_t *)to = by_getrandom(); return NULL; }
uint64_t by_threads(void) {
    uint64_t value[2]; pthread_t one, other;
    pthread_create(&one, NULL, work, &value[0]); pthread_create(&other, NULL, work, &value[1]);
    pthread_join(one, NULL); pthread_join(other, NULL);
    return value[0] == value[1] ? 0 : value[0];
}
uint64_t is_refused_a_thread(void) {
    uint64_t value; pthread_t one;
    if (pthread_create(&one, NULL, work, &value)) return 1;
    pthread_join(one, NULL);
    return 0;
}
"""
DRAWS = ("by_getrandom", "by_getentropy", "by_system_call", "by_urandom", "by_random", "by_stream")
CLOCKS = ("clock_of_day", "seconds", "of_day")
PROGRAM = """
import ctypes, json, sys
native = ctypes.CDLL(sys.argv[1])
for name in sys.argv[2].split(","):
    getattr(native, name).restype = ctypes.c_uint64
print(json.dumps([getattr(native, name)() for name in sys.argv[2].split(",")]))
"""


@pytest.fixture(scope="session")
def taps(tmp_path_factory):
    found = find_library(tmp_path_factory.mktemp("cache"))
    assert found.path, found.problem
    return found.path


@pytest.fixture(scope="session")
def native(tmp_path_factory):
    folder = tmp_path_factory.mktemp("native")
    (folder / "native.c").write_text(SOURCE)
    subprocess.run(
        [CC, "-shared", "-fPIC", "-pthread", "-o", "libnative.so", "native.c"], cwd=folder, check=True
    )
    return folder / "libnative.so"


@pytest.fixture
def run(tmp_path, taps):
    """A run of a command with the taps in it: what it printed, and what the host reads of it."""

    def made(*command, hold="", key="0f" * 16, **variables):
        ran = types.SimpleNamespace(folder=tmp_path / f"run-{len(list(tmp_path.iterdir()))}", traced=tmp_path)
        (ran.folder / TABLES).mkdir(parents=True)
        own = {"LD_PRELOAD": str(taps), "REPROKIT_TAPS": str(ran.folder / TABLES), "REPROKIT_TAPS_HOLD": hold}
        own |= {"REPROKIT_TAPS_KEY": key, "REPROKIT_TAPS_NOW": "1700000000"}
        environment = {**os.environ, **own, **variables}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout, ran

    return made


def python(native, *names):
    return sys.executable, "-I", "-S", "-c", PROGRAM, str(native), ",".join(names)


def numbers(run, *words, **options):
    return json.loads(run(*words, **options)[0])


@pytest.mark.parametrize("name", DRAWS)
def test_each_way_to_entropy_is_counted_for_the_library_that_takes_it(run, native, name):
    _, ran = run(*python(native, name, name))
    assert asked_in(ran) == (Asked(name="libnative.so", draws=2, bytes=16),)


@pytest.mark.parametrize("name", CLOCKS)
def test_each_clock_is_counted_for_the_library_that_reads_it(run, native, name):
    _, ran = run(*python(native, name))
    assert asked_in(ran) == (Asked(name="libnative.so", clocks=1),)


def test_threads_are_counted_for_the_library_that_starts_them(run, native):
    _, ran = run(*python(native, "by_threads"))
    (asked,) = asked_in(ran)
    assert (asked.threads, asked.draws) == (2, 2)


@pytest.mark.parametrize("name", [*DRAWS, "by_threads"])
def test_held_entropy_comes_again_and_is_never_constant(run, native, name):
    one, other = (numbers(run, *python(native, name, name, name), hold="entropy") for _ in range(2))
    assert one == other
    assert len(set(one)) == 3
    assert 0 not in one
    assert numbers(run, *python(native, name), hold="entropy", key="1e" * 16)[0] not in one


def test_what_is_not_held_is_another_one_each_time(run, native):
    one, other = (numbers(run, *python(native, "by_getrandom"), hold="clock,threads") for _ in range(2))
    assert one != other


def test_held_clocks_come_again_and_go_on(run, native):
    words = python(native, *["clock_of_day"] * 3, "seconds")
    one, other = (numbers(run, *words, hold="clock") for _ in range(2))
    assert one == other
    assert one[0] < one[1] < one[2]
    assert one[3] == 1_700_000_000


def test_pythons_own_entropy_and_clock_are_not_held(run):
    words = (sys.executable, "-I", "-S", "-c", "import time, os; print(os.urandom(8), time.time_ns())")
    assert run(*words, hold="entropy,clock")[0] != run(*words, hold="entropy,clock")[0]


def test_the_clock_is_counted_for_libffi_where_a_program_calls_it_by_ctypes_and_not_where_libffi_does(
    run, tmp_path
):
    (tmp_path / "ffi.c").write_text(
        "#include <stdint.h>\n#include <time.h>\n"
        "uint64_t itself(void) { return time(NULL); }\n"
        "uint64_t by_ctypes(void) { time_t (*volatile called)(time_t *) = time; return called(NULL); }\n"
    )
    library = tmp_path / "libffi.so.99"
    subprocess.run([CC, "-shared", "-fPIC", "-o", library, "ffi.c"], cwd=tmp_path, check=True)
    _, ran = run(*python(library, "itself", "by_ctypes", "itself"))
    assert asked_in(ran) == (Asked(name="libffi.so.99", clocks=1),)


def test_forked_processes_have_streams_of_their_own_that_come_again(run, native):
    program = (
        "import ctypes, os, sys\nnative = ctypes.CDLL(sys.argv[1])\n"
        "for _ in range(2):\n    pid = os.fork()\n    if not pid:\n"
        "        print(native.by_getrandom(), flush=True); os._exit(0)\n    os.waitpid(pid, 0)\n"
        "print(native.by_getrandom())"
    )
    words = (sys.executable, "-I", "-S", "-c", program, str(native))
    one, other = (run(*words, hold="entropy")[0].split() for _ in range(2))
    assert one == other
    assert len(set(one)) == 3


def test_a_file_that_takes_the_number_of_urandom_is_read_as_it_is(run, native, tmp_path):
    (tmp_path / "plain").write_bytes(b"8 bytes!")
    program = (
        "import ctypes, sys\nnative = ctypes.CDLL(sys.argv[1])\nnative.by_urandom()\n"
        "libc = ctypes.CDLL(None)\nfile = libc.open(sys.argv[2].encode(), 0)\n"
        "buffer = ctypes.create_string_buffer(8)\nlibc.read(file, buffer, 8)\nprint(buffer.raw.decode())"
    )
    words = (sys.executable, "-I", "-S", "-c", program, str(native), str(tmp_path / "plain"))
    assert run(*words, hold="entropy")[0].strip() == "8 bytes!"


def test_programs_without_the_taps_are_named_and_others_are_not(run, tmp_path):
    program = (
        "import subprocess, sys\n"
        "subprocess.run([sys.argv[1]], env={})\nsubprocess.run([sys.argv[2]])\nsubprocess.run([sys.argv[3]])"
    )
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    for name, options in {"emptied": [], "static": ["-static"], "dynamic": []}.items():
        subprocess.run([CC, *options, "-o", name, "main.c"], cwd=tmp_path, check=True)
    words = [str(tmp_path / name) for name in ("emptied", "static", "dynamic")]
    _, ran = run(sys.executable, "-I", "-S", "-c", program, *words)
    assert not_seen(ran) == (str(tmp_path / "emptied"), str(tmp_path / "static"))
    assert read_trace(ran.folder / TABLES).started == 0  # in a container the hook leaves its own there


def test_a_run_that_left_no_table_was_not_seen(tmp_path):
    assert not_seen(types.SimpleNamespace(folder=tmp_path, traced=tmp_path)) == ("Python",)


def test_tables_that_are_torn_or_of_someone_else_are_left_out(tmp_path, run, native):
    _, ran = run(*python(native, "by_getrandom"))
    (ran.folder / TABLES / "taps-7.bin").write_bytes(b"RPKTAPS1")
    (ran.folder / TABLES / "taps-8.bin").write_bytes(b"another")
    assert [one.name for one in asked_in(ran)] == ["libnative.so"]


@pytest.mark.skipif(CXX is None, reason="no C++ compiler (c++, g++, clang++)")
def test_the_random_device_and_clocks_and_threads_of_cpp_are_their_callers(run, tmp_path):
    (tmp_path / "native.cpp").write_text(
        "#include <chrono>\n#include <random>\n#include <thread>\n"
        'extern "C" uint64_t device() { std::random_device one; return one(); }\n'
        'extern "C" uint64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }\n'
        'extern "C" uint64_t started() { std::thread one([] {}); one.join(); return 1; }\n'
    )
    words = [CXX, "-shared", "-fPIC", "-pthread", "-o", "libnative.so", "native.cpp"]
    subprocess.run(words, cwd=tmp_path, check=True)
    library = tmp_path / "libnative.so"
    _, ran = run(*python(library, "device", "now", "started"))
    assert asked_in(ran) == (Asked(name="libnative.so", draws=1, bytes=4, clocks=1, threads=1),)
    one, other = (
        numbers(run, *python(library, "device", "device", "now"), hold="entropy,clock") for _ in "ab"
    )
    assert one == other
    assert one[0] != one[1]


def test_held_threads_end_in_the_order_in_which_they_were_started(run, tmp_path):
    (tmp_path / "order.c").write_text(
        "#include <pthread.h>\n#include <stdint.h>\n#include <unistd.h>\n"
        "static uint64_t found; static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n"
        "static void *work(void *one) { usleep(20000 - 5000 * (uintptr_t)one);\n"
        "    pthread_mutex_lock(&lock); found = 10 * found + (uintptr_t)one; pthread_mutex_unlock(&lock);\n"
        "    return 0; }\n"
        "uint64_t order(void) { pthread_t all[3]; for (uintptr_t n = 0; n < 3; n++)\n"
        "    pthread_create(&all[n], 0, work, (void *)(n + 1));\n"
        "    for (int n = 0; n < 3; n++) pthread_join(all[n], 0); return found; }\n"
    )
    subprocess.run(
        [CC, "-shared", "-fPIC", "-pthread", "-o", "order.so", "order.c"], cwd=tmp_path, check=True
    )
    assert numbers(run, *python(tmp_path / "order.so", "order"), hold="threads") == [123]


def test_a_library_that_is_to_work_alone_is_refused_a_thread_and_python_is_not(run, native):
    asked = python(native, "is_refused_a_thread")
    assert numbers(run, *asked) == [0]
    assert numbers(run, *asked, hold="alone") == [1]
    of_python = (
        "import threading; one = threading.Thread(target=print, args=['ran']); one.start(); one.join()"
    )
    assert run(sys.executable, "-I", "-S", "-c", of_python, hold="alone")[0] == "ran\n"


def test_a_line_that_was_cut_off_with_its_process_is_left_out(tmp_path):
    whole = json.dumps({"site": "train.py:1:0-2", "moved": {"/a.so": {"clocks": 2}}, "most_threads": 1})
    (tmp_path / "taps-0.jsonl").write_text(f'{whole}\n{whole}\n{{"site": "train.py:1')
    (tmp_path / "started-0.r1-x").touch()
    ran = types.SimpleNamespace(folder=tmp_path, traced=tmp_path)
    assert asked_around(ran, "train.py:1:0-2") == (Asked(name="a.so", clocks=4, most=1),)
    assert not_seen(ran) == ("Python",)


def test_a_sentence_says_what_was_asked_for():
    asked = [Asked(name="a.so", draws=1, bytes=1, clocks=2, threads=3, most=9), Asked(name="b.so", clocks=1)]
    said = "a.so drew 1 byte of entropy, read a clock 2 times and started 3 threads (9 alive at once)"
    assert sentence(asked) == f"{said}; b.so read a clock 1 time"


def test_the_library_is_built_once_and_again_where_it_was_changed(tmp_path, monkeypatch):
    first = find_library(tmp_path)
    monkeypatch.setenv("CC", "")
    assert find_library(tmp_path) == first
    first.path.write_bytes(b"not a library")
    again = find_library(tmp_path)
    assert again.path == first.path
    assert again.path.read_bytes().startswith(b"\x7fELF")


def test_without_a_compiler_the_reason_is_given(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    found = find_library(tmp_path)
    assert found.path is None
    assert "no C compiler" in found.problem


def test_a_compiler_that_fails_is_named_with_what_it_said(tmp_path, monkeypatch):
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\necho 'no room left' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CC", str(broken))
    assert "no room left" in find_library(tmp_path / "cache").problem


def test_an_object_that_only_took_locks_is_told_of_too():
    assert sentence([Asked(name="torch.so", locks=3)]) == "torch.so took 3 locks"


SLEEPER = """
#include <pthread.h>
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int is_over;
static void turn(void) { pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); }
static void *seldom(void *unused) {
    struct timespec pause = {0, 150000000};
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) { turn(); nanosleep(&pause, NULL); }
    return unused;
}
static void *often(void *unused) { for (int count = 0; count < 20000; count++) turn(); return unused; }
int main(void) {
    pthread_t threads[9];
    for (int one = 0; one < 9; one++) pthread_create(&threads[one], NULL, one ? often : seldom, NULL);
    for (int one = 1; one < 9; one++) pthread_join(threads[one], NULL);
    __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
    return pthread_join(threads[0], NULL);
}
"""


@pytest.mark.slow
def test_locks_are_held_no_longer_where_threads_wait_for_one_that_seldom_comes_and_that_is_told(
    run, tmp_path
):
    (tmp_path / "sleeper.c").write_text(SLEEPER)
    subprocess.run([CC, "-pthread", "-o", "sleeper", "sleeper.c"], cwd=tmp_path, check=True)
    assert gave_up(run(str(tmp_path / "sleeper"), hold="locks")[1])
    assert not gave_up(run(str(tmp_path / "sleeper"), hold="threads")[1])
