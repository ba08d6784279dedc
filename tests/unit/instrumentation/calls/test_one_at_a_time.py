"""Threads that go on one at a time: what they do together comes in one order."""

import json

import pytest

from support.hooked_program import run_hooked

ORDERS = {"level": "calls", "calls": {"mode": "one"}}
#: Workers with a queue of jobs, as libraries write them: who is first is a matter of time.
WORKERS = """
import queue, random, threading, time
jobs, done = queue.Queue(maxsize=4), queue.Queue()
order = []
def work(name):
    while True:
        job = jobs.get()
        if job is None:
            break
        until = time.perf_counter() + random.random() * 0.002
        while time.perf_counter() < until:
            pass
        order.append((name, job))
        done.put(job)
threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
for one in threads:
    one.start()
for job in range(30):
    jobs.put(job)
for _ in threads:
    jobs.put(None)
found = [done.get() for _ in range(30)]
for one in threads:
    one.join()
print(order, found)
"""
EXECUTOR = """
import concurrent.futures, random, threading, time
order, lock = [], threading.Lock()
def work(job):
    time.sleep(random.random() * 0.002)
    with lock:
        order.append(job)
    return job
with concurrent.futures.ThreadPoolExecutor(3) as pool:
    futures = [pool.submit(work, job) for job in range(20)]
    found = [one.result() for one in concurrent.futures.as_completed(futures)]
print(order, sorted(found), threading.Event().wait(0.01))
"""
HELD_UP = """
import threading
lock = threading.Lock()
lock.acquire()
thread = threading.Thread(target=lock.release)
thread.start()
lock.acquire()
thread.join()
print("done")
"""


def told(tmp_path, source, label):
    done = run_hooked(tmp_path, source, out=tmp_path / label, **ORDERS)
    assert done.returncode == 0, done.stderr
    facts = json.loads((tmp_path / label / "trace-0.json").read_text())["facts"]
    return done.stdout, facts["turns 0"]


@pytest.mark.parametrize("source", [WORKERS, EXECUTOR], ids=["queues", "executor"])
def test_what_threads_do_comes_in_the_same_order_in_each_run(tmp_path, source):
    runs = [told(tmp_path, source, f"run{number}") for number in range(4)]
    assert len({printed for printed, _ in runs}) == 1
    assert runs[0][1]["tasks"] > 1
    assert not any(facts["late"] for _, facts in runs)


@pytest.mark.slow
def test_a_thread_that_holds_all_others_up_is_noted_and_the_program_ends(tmp_path):
    printed, facts = told(tmp_path, f"import threading\n{HELD_UP}", "run")
    assert (printed, facts["late"]) == ("done\n", 1)
