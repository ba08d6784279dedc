"""`reprokit diagnose` of causes in compiled code: entropy, clocks, threads that it starts."""

import json
import os
import shutil
import subprocess
import sys
import textwrap

import pytest

COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
RUSTC = shutil.which("rustc")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(COMPILER is None, reason="no C++ compiler (c++, g++, clang++) to build the libraries"),
]

HEAD = """
#include <chrono>
#include <cstdint>
#include <fcntl.h>
#include <mutex>
#include <pthread.h>
#include <random>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>
static double of(uint64_t seed) { return (seed * 6364136223846793005u >> 20) % 1000003 / 7.0; }
"""
#: What the library does where it is to differ; its twin does the same and gives something else.
ENTROPY = {
    "std::random_device": "std::random_device device; uint64_t seed = device();",
    "getrandom": "uint64_t seed; if (getrandom(&seed, 8, 0) != 8) return -1;",
    "the system call": "uint64_t seed; if (syscall(SYS_getrandom, &seed, 8, 0) != 8) return -1;",
    "/dev/urandom": (
        'uint64_t seed; int file = open("/dev/urandom", O_RDONLY); if (read(file, &seed, 8) != 8) return -1;'
        " close(file);"
    ),
}
CLOCK = {
    "clock_gettime": "timespec now; clock_gettime(CLOCK_REALTIME, &now); uint64_t seed = now.tv_nsec;",
    "std::chrono": "uint64_t seed = std::chrono::system_clock::now().time_since_epoch().count();",
}
IN_ANY_ORDER = """
    double found = 0;
    std::mutex lock;
    std::vector<std::thread> threads;
    for (int one = 0; one < 12; one++)
        threads.emplace_back([&, one] {
            for (int round = 0; round < 20; round++) {
                std::this_thread::sleep_for(std::chrono::microseconds(50));
                std::lock_guard<std::mutex> held(lock);
                found = 0.9 * found + one;
            }
        });
    for (auto& one : threads) one.join();
    return found;
"""
IN_ORDER = """
    double found = 0;
    std::vector<double> parts(12);
    std::vector<std::thread> threads;
    for (int one = 0; one < 12; one++) threads.emplace_back([&, one] { parts[one] = one / 7.0; });
    for (auto& one : threads) one.join();
    for (double one : parts) found = 0.9 * found + one;
    return found;
"""
AT_ONE_TIME = """
    double found = 0;
    std::mutex lock;
    pthread_barrier_t all;
    pthread_barrier_init(&all, nullptr, 12);
    std::vector<std::thread> threads;
    for (int one = 0; one < 12; one++)
        threads.emplace_back([&, one] {
            pthread_barrier_wait(&all);
            for (int round = 0; round < 20; round++) {
                std::this_thread::sleep_for(std::chrono::microseconds(50));
                std::lock_guard<std::mutex> held(lock);
                found = 0.9 * found + one;
            }
        });
    for (auto& one : threads) one.join();
    return found;
"""
FREED = (
    "char* used = (char*)malloc(5000); char* guard = (char*)malloc(64); used[0] = guard[0] = 1; free(used);"
)
PROGRAM = """
import ctypes, json, sys
native = ctypes.CDLL("./libnative.so")
native.value.restype = ctypes.c_double
used = [native.value(), 3.0]
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step, one in enumerate(used):
        out.write(json.dumps({"step": step, "loss": one}) + "\\n")
"""
LINE = 5


#: A map of Rust's standard library is keyed by entropy, which gives its items an order of their own.
RUST = """
use std::collections::HashMap;
#[no_mangle]
pub extern "C" fn value() -> f64 {
    let parts: HashMap<u64, f64> = (0..40u64).map(|one| (one, one as f64)).collect();
    let mut found: Vec<f64> = parts.values().copied().collect();
    SORTED
    found.iter().fold(0.0, |sum, one| 0.9 * sum + one)
}
"""


@pytest.fixture
def diagnose(tmp_path, ask):
    def run(body, *, code, variables=(), program=PROGRAM):
        source = tmp_path / "native.cpp"
        source.write_text(f'{HEAD}extern "C" double value() {{ {body} }}\n')
        command = [COMPILER, "-shared", "-fPIC", "-O1", "-pthread", "-o", "libnative.so", source]
        subprocess.run(command, cwd=tmp_path, check=True)
        return ask(code=code, variables=variables, program=program)

    return run


@pytest.fixture
def rust(tmp_path, ask):
    if RUSTC is None:
        pytest.skip("no rustc to build the library")

    def run(source, *, code):
        (tmp_path / "native.rs").write_text(source)
        command = [RUSTC, "--crate-type", "cdylib", "-O", "-o", "libnative.so", "native.rs"]
        subprocess.run(command, cwd=tmp_path, check=True)
        return ask(code=code)

    return run


@pytest.fixture
def ask(tmp_path):
    def run(*, code, variables=(), program=PROGRAM):
        (tmp_path / "train.py").write_text(program)
        command = [sys.executable, "-m", "reprokit", "diagnose", "--json", "--reports-dir", "reports", "--"]
        done = subprocess.run(
            [*command, sys.executable, "train.py", "{run_dir}"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
            env={**os.environ, **dict(variables)},
        )
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.mark.parametrize("how", ENTROPY)
def test_entropy_that_compiled_code_draws_is_named_with_its_library_and_line(diagnose, how):
    answer = diagnose(f"{ENTROPY[how]} return of(seed);", code=1)
    cause = answer["cause"]
    assert (cause["category"], cause["line"]) == ("unseeded_rng", LINE)
    assert "libnative.so draws entropy" in cause["what"]
    assert any("libnative.so drew" in one and "of entropy inside" in one for one in answer["known"])


def test_the_order_of_a_map_of_rust_is_named_by_the_entropy_that_keys_it(rust):
    answer = rust(RUST.replace("SORTED", ""), code=1)
    assert (answer["cause"]["category"], answer["cause"]["line"]) == ("unseeded_rng", LINE)
    assert "libnative.so draws entropy" in answer["cause"]["what"]


def test_a_map_of_rust_whose_values_are_sorted_is_repeatable(rust):
    answer = rust(RUST.replace("SORTED", "found.sort_by(f64::total_cmp);"), code=0)
    assert (answer["verdict"], answer["cause"]) == ("REPEATABLE", None)


@pytest.mark.parametrize("how", CLOCK)
def test_a_clock_that_compiled_code_reads_is_named(diagnose, how):
    cause = diagnose(f"{CLOCK[how]} return of(seed);", code=1)["cause"]
    assert (cause["category"], cause["line"]) == ("clock", LINE)
    assert "libnative.so reads a clock" in cause["what"]


def test_threads_that_compiled_code_starts_and_ends_are_named(diagnose):
    answer = diagnose(IN_ANY_ORDER, code=1)
    assert (answer["cause"]["category"], answer["cause"]["line"]) == ("concurrency", LINE)
    assert any("libnative.so" in one and "started 12 threads" in one for one in answer["known"])


def test_locks_that_threads_take_in_another_order_are_named_where_the_threads_need_one_another(diagnose):
    answer = diagnose(AT_ONE_TIME, code=1)
    cause = answer["cause"]
    assert (cause["category"], cause["line"]) == ("concurrency", LINE)
    assert "threads that libnative.so starts take locks in another order" in cause["what"]
    assert any("took 240 locks" in one for one in answer["known"])


def test_threads_that_need_one_another_and_take_locks_in_any_order_may_all_the_same_be_repeatable(diagnose):
    assert (
        diagnose(AT_ONE_TIME.replace("0.9 * found + one", "found + one"), code=0)["verdict"] == "REPEATABLE"
    )


def test_memory_that_a_call_reads_before_it_is_written_is_named(diagnose):
    answer = diagnose(f"{FREED} uint64_t* part = (uint64_t*)malloc(5000); return of(part[0] >> 12);", code=1)
    assert (answer["cause"]["category"], answer["cause"]["line"]) == ("uninitialised_memory", LINE)
    assert "it depends on what fresh memory holds" in answer["cause"]["what"]


def test_memory_that_is_written_first_is_repeatable(diagnose):
    body = f"{FREED} uint64_t* part = (uint64_t*)calloc(5000, 1); return of(part[0] >> 12);"
    assert diagnose(body, code=0)["verdict"] == "REPEATABLE"


@pytest.mark.parametrize("body", [*ENTROPY.values(), *CLOCK.values()])
def test_a_library_that_draws_or_reads_and_uses_nothing_of_it_is_repeatable(diagnose, body):
    answer = diagnose(f"{body} return of(seed & 0);", code=0)
    assert (answer["verdict"], answer["cause"]) == ("REPEATABLE", None)


def test_threads_whose_results_are_taken_in_order_are_repeatable(diagnose):
    assert diagnose(IN_ORDER, code=0)["verdict"] == "REPEATABLE"


def test_of_entropy_and_a_clock_that_are_read_the_one_that_decides_is_named(diagnose):
    body = f"{textwrap.dedent(ENTROPY['getrandom'])} timespec now; clock_gettime(CLOCK_REALTIME, &now);"
    cause = diagnose(f"{body} return of(seed + 0 * now.tv_nsec);", code=1)["cause"]
    assert cause["category"] == "unseeded_rng"
    assert "clock" not in cause["what"]


def test_entropy_that_was_drawn_in_an_earlier_call_is_named_at_the_one_that_shows_it(diagnose):
    body = f"static uint64_t state; if (!state) {{ {ENTROPY['getrandom']} state = seed | 1; return 1; }}"
    program = PROGRAM.replace("used = [native", "ready = native.value()\nused = [native")
    cause = diagnose(f"{body} return of(state++);", code=1, program=program)["cause"]
    assert (cause["category"], cause["line"]) == ("unseeded_rng", LINE + 1)
    assert "libnative.so draws entropy" in cause["what"]


def test_without_a_compiler_the_line_is_named_and_what_is_not_seen_is_said(diagnose, tmp_path):
    empty = tmp_path / "bin"
    empty.mkdir()
    variables = {"REPROKIT_CACHE": str(tmp_path / "cache"), "PATH": str(empty), "CC": ""}
    body = f"{ENTROPY['getrandom']} return of(seed);"
    answer = diagnose(body, code=1, variables=variables.items())
    assert (answer["cause"]["category"], answer["cause"]["line"]) == ("unknown", LINE)
    assert any("no C compiler" in one and "is not seen" in one for one in answer["known"])
