"""The watch in a real interpreter: the program runs as ever, and what it drew on is recorded by line."""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reprokit import instrumentation
from support.hooked_program import run_hooked

HOOK = Path(instrumentation.__file__).parent


def run(tmp_path, source, *, label="out", **orders):
    """Run a program under watch: what it printed, its exit code, and the call sites by kind."""
    out = tmp_path / label
    done = run_hooked(tmp_path, source, out=out, **orders)
    traces = [json.loads(path.read_text()) for path in sorted(out.glob("trace-*.json"))]
    sites = {(one["kind"], one["line"]) for trace in traces for one in trace["sites"].values()}
    return done, sites, out


@pytest.mark.parametrize(
    "line",
    [
        "sorted(names, key=len)",
        "max(names, key=len)",
        "list(names)",
        "[*names]",
        "','.join(names)",
        "[one for one in names]",
        "list(zip(names, range(2)))",
        "list(enumerate(names))",
        "dict.fromkeys(names)",
        "names.pop()",
        "a, b = names",
    ],
)
def test_wherever_the_order_of_a_set_is_taken_it_is_seen(tmp_path, line):
    _, sites, _ = run(tmp_path, f"names = {{'a', 'b'}}\n{line}\n")
    assert ("set_order", 2) in sites


@pytest.mark.parametrize("line", ["sorted(names)", "len(names)", "'a' in names", "set(names)", "range(3)"])
def test_where_a_set_has_no_order_nothing_is_seen(tmp_path, line):
    done, sites, _ = run(tmp_path, f"names = {{'a', 'b'}}\n{line}\n")
    assert (done.returncode, sites) == (0, set())


@pytest.mark.parametrize(("before", "draws"), [("", {("unseeded", 4)}), ("random.seed(4); ", set())])
def test_draws_of_a_forked_process_from_pythons_generator_are_unseeded_though_its_parent_seeded_it(
    tmp_path, before, draws
):
    done, sites, _ = run(
        tmp_path,
        "import os, random\nrandom.seed(3)\npid = os.fork()\n"
        f"{before}random.random() if pid == 0 else random.random()\n"
        "os._exit(0) if pid == 0 else os.waitpid(pid, 0)\n",
    )
    assert (done.returncode, sites) == (0, draws)


def test_asking_a_queue_whether_it_is_empty_is_seen_though_empty_is_also_a_name_of_unwritten_memory(tmp_path):
    _, sites, _ = run(tmp_path, "import queue\nq = queue.Queue()\nq.empty()\n")
    assert sites == {("thread_state", 3)}


def test_local_time_that_stands_in_a_class_is_no_method_as_logging_has_it(tmp_path):
    source = "import logging\nlogging.basicConfig(format='%(asctime)s')\nlogging.warning('it')\n"
    done, _, _ = run(tmp_path, source)
    assert "error" not in done.stderr.lower(), done.stderr


@pytest.mark.parametrize("call", ["time.time", "queue.Queue().empty", "random.random"])
def test_what_compiled_code_calls_in_a_thread_of_its_own_works_as_ever(tmp_path, call):
    """Below such a call there is no frame at all: Ray's callbacks are so."""
    source = f"import _thread, queue, random, time\n_thread.start_new_thread({call}, ())\ntime.sleep(0.5)\n"
    done, sites, _ = run(tmp_path, source)
    assert (done.returncode, done.stderr, sites) == (0, "", set())


def test_lines_keep_their_numbers_and_the_exit_code_is_the_program_s(tmp_path):
    source = "import os, sys, time\nfor name in {'a', 'b'}:\n    pass\nhash('x')\ntime.time()\nsys.exit(5)\n"
    done, sites, _ = run(tmp_path, source)
    assert (done.returncode, done.stderr) == (5, "")
    assert {("set_order", 2), ("hash", 4), ("clock", 5)} <= sites


def test_a_traceback_names_the_program_s_line(tmp_path):
    done, _, _ = run(tmp_path, "import os\nvalue = 1 / 0\n")
    assert done.returncode == 1
    assert 'program.py", line 2' in done.stderr
    assert done.stderr.rstrip().endswith("ZeroDivisionError: division by zero")


def test_a_generator_that_is_seeded_draws_what_it_draws_without_the_watch(tmp_path):
    source = "import random\nrandom.seed(3)\nprint(random.random(), random.sample(range(9), 3))\n"
    done, sites, _ = run(tmp_path, source)
    plain = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == plain.stdout
    assert sites == set()


def test_one_line_can_be_given_what_it_drew_in_another_run_and_the_next_draws_its_own(tmp_path):
    source = "import random\nprint(random.random())\nprint(random.random())\n"
    first, _, out = run(tmp_path, source)
    pin = f"unseeded|{os.path.realpath(tmp_path / 'program.py')}|2"
    second, _, _ = run(tmp_path, source, label="pinned", key="b", pins=[pin], replay=str(out), replay_key="a")
    (pinned, free) = zip(first.stdout.split(), second.stdout.split(), strict=True)
    assert pinned[0] == pinned[1]
    assert free[0] != free[1]


def test_another_sitecustomize_is_run_too(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "sitecustomize.py").write_text("print('mine')\n")
    (tmp_path / "orders.json").write_text(json.dumps({"out": str(tmp_path), "key": "a"}))
    paths = os.pathsep.join([str(HOOK), str(tmp_path / "mine")])
    done = subprocess.run(
        [sys.executable, "-c", "print('program')"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": paths, "REPROKIT_HOOK": str(tmp_path / "orders.json")},
    )
    assert done.stdout.split() == ["mine", "program"]


POOLS = """
import random, shutil, sys
from multiprocessing import Pool, get_context
from multiprocessing.pool import ThreadPool

def task(number):
    random.random()
    return number

if __name__ == "__main__":
    {body}
"""


def test_a_worker_that_its_pool_ends_without_asking_leaves_the_trace_of_its_last_task(tmp_path):
    body = "with Pool(2) as pool:\n        pool.map(task, range(40), chunksize=1)"
    done, _, out = run(tmp_path, POOLS.format(body=body))
    traces = [json.loads(path.read_text()) for path in out.glob("trace-*.json")]
    sites = [one for trace in traces for one in trace["sites"].values() if one["line"] == 7]
    assert (done.returncode, sum(sum(one["counts"].values()) for one in sites)) == (0, 40), done.stderr


@pytest.mark.parametrize("kind", ["Pool", "get_context('spawn').Pool", "ThreadPool"])
def test_a_trace_that_cannot_be_written_is_no_matter_of_the_program(tmp_path, kind):
    body = (
        f"shutil.rmtree({str(tmp_path / 'out')!r})\n"
        f"    with {kind}(4) as pool:\n"
        "        print(sum(pool.imap_unordered(task, range(200))))"
    )
    done, _, _ = run(tmp_path, POOLS.format(body=body))
    assert (done.returncode, done.stdout, done.stderr) == (0, "19900\n", "")


def test_unordered_results_can_be_asked_for_one_by_one_and_begin_before_they_are(tmp_path):
    body = (
        "with ThreadPool(2) as pool:\n"
        "        results = pool.imap_unordered(task, range(6), chunksize=2)\n"
        "        whole = pool.imap_unordered(task, range(3))\n"
        "        print(sorted(results), sorted(whole.next(timeout=9) for _ in range(3)))"
    )
    done, sites, _ = run(tmp_path, POOLS.format(body=body), vary=["completion_order"])
    assert done.stdout == "[0, 1, 2, 3, 4, 5] [0, 1, 2]\n", done.stderr
    assert "completion_order" in {kind for kind, _ in sites}


RANKS = """
import os, random, subprocess, sys
if "RANK" not in os.environ:
    ranks = {order}
    command = [sys.executable, __file__]
    started = [subprocess.Popen(command, env={{**os.environ, "RANK": str(rank)}}) for rank in ranks]
    sys.exit(max(one.wait() for one in started))
subprocess.run([sys.executable, "-c", ""], check=True)
open(f"rank-{{os.environ['RANK']}}.txt", "w").write(os.environ["REPROKIT_HOOK_PROCESS"])
"""

SPAWNED = """
import subprocess, sys
shown = "import os; print(os.environ['REPROKIT_HOOK_PROCESS'])"
words = 'sleep {}; exec "$0" -c "$1"'
both = [
    subprocess.Popen(["sh", "-c", words.format(wait), sys.executable, shown], stdout=subprocess.PIPE)
    for wait in (0.5, 0)
]
print(*[one.communicate()[0].decode().strip() for one in both])
"""


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_ranks_are_named_by_their_rank_and_what_they_start_by_them(tmp_path, order):
    done, _, out = run(tmp_path, RANKS.format(order=order))
    assert done.returncode == 0, done.stderr
    names = [(tmp_path / f"rank-{rank}.txt").read_text() for rank in (0, 1)]
    assert names == ["0.r0", "0.r1"]
    told = {json.loads(path.read_text())["process"] for path in out.glob("trace-*.json")}
    assert told == {"0", "0.r0", "0.r0.s0", "0.r1", "0.r1.s0"}


def test_what_is_spawned_first_has_the_first_name_whichever_begins_first(tmp_path):
    done, _, _ = run(tmp_path, SPAWNED)
    assert done.stdout == "0.s0 0.s1\n", done.stderr


@pytest.mark.slow
def test_what_torch_writes_itself_is_seen_with_the_programs_line(tmp_path):
    pytest.importorskip("torch")
    done, _, out = run(tmp_path, "import torch\ntorch.save({}, 'cache.pt')\ntorch.load('cache.pt')\n")
    (trace,) = [json.loads(path.read_text()) for path in out.glob("trace-*.json")]
    (file,) = [one for path, one in trace["files"].items() if path.endswith("cache.pt")]
    assert (done.returncode, file["written"][1], file["read"][1]) == (0, 2, 3), done.stderr


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("open(__file__).read()", "encoding"),
        ("Path(__file__).read_text()", "encoding"),
        ("ThreadPoolExecutor()", "cpu_count"),
        ("Pool().terminate()", "cpu_count"),
        ("tempfile.gettempdir()", "temporary_folder"),
        ("NamedTemporaryFile()", "temporary_folder"),
        ("locale.getpreferredencoding()", "locale"),
        ("sorted(['b', 'a'], key=locale.strxfrm)", "locale"),
        ("tempfile._candidate_tempdir_list()", "environment"),
    ],
)
def test_what_comes_in_through_a_default_is_recorded_at_the_programs_line(tmp_path, line, kind):
    head = (
        "import locale, tempfile; from concurrent.futures import ThreadPoolExecutor; from tempfile import "
        "NamedTemporaryFile; from multiprocessing.pool import ThreadPool as Pool; from pathlib import Path\n"
    )
    done, sites, _ = run(tmp_path, head + line + "\n")
    assert done.returncode == 0, done.stderr
    assert (kind, 2) in sites


@pytest.mark.parametrize("mode", ["0", "1"])
@pytest.mark.parametrize(
    "opened",
    [
        "open(__file__)",
        "open(__file__, encoding='locale')",
        "Path(__file__).open()",
        "Path(__file__).open(encoding='locale')",
    ],
)
def test_in_utf8_mode_or_not_a_file_has_the_encoding_that_it_has_unwatched(tmp_path, opened, mode):
    variables = {"PYTHONUTF8": mode, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    source = f"from pathlib import Path\nprint({opened}.encoding)\n"
    done, sites, _ = run(tmp_path, source, variables=variables)
    alone = subprocess.run(
        [sys.executable, "-c", source.replace("__file__", "'program.py'")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **variables},
    )
    assert (done.stdout, done.stderr) == (alone.stdout, "")
    assert sites == {("encoding", 2)}


@pytest.mark.parametrize("line", ["open(__file__, 'rb')", "open(__file__, encoding='utf-8')", "print(1)"])
def test_what_is_said_is_no_default(tmp_path, line):
    _, sites, _ = run(tmp_path, f"{line}\n")
    assert sites == set()


CALLBACKS = """
import time
from multiprocessing.pool import ThreadPool

def task(number):
    time.sleep(0.1 * {pause})
    if number in {broken}:
        raise ValueError(number)
    return number

heard = []
with ThreadPool(4) as pool:
    for number in range({count}):
        options = {{"callback": lambda value, to=number: heard.append((to, value))}}
        options["error_callback"] = lambda error, to=number: heard.append((to, error.args[0]))
        job = pool.apply_async(task, (number,), **options)
    pool.close()
    pool.join()
print(heard)
"""


def held_callbacks(tmp_path, *, count, broken):
    """What was heard by callbacks in a run whose tasks end backwards, and in another that holds its order."""
    first, _, out = run(tmp_path, CALLBACKS.format(pause="(4 - number)", count=4, broken=()))
    source = CALLBACKS.format(pause="number", count=count, broken=broken)
    second, _, _ = run(tmp_path, source, label="held", pins=["*"], replay=str(out), replay_key="a")
    assert (first.returncode, second.returncode, second.stderr) == (0, 0, "")
    return ast.literal_eval(first.stdout), ast.literal_eval(second.stdout)


def test_each_callback_of_a_held_pool_is_called_with_its_own_result(tmp_path):
    first, second = held_callbacks(tmp_path, count=4, broken=())
    assert sorted(first) == [(number, number) for number in range(4)]
    assert second == first


def test_a_task_that_fails_or_is_missing_holds_no_callback_of_a_held_pool_for_ever(tmp_path):
    before, failed = held_callbacks(tmp_path, count=4, broken=(3,))
    assert failed == before
    (tmp_path / "out").rename(tmp_path / "before")
    (tmp_path / "held").rename(tmp_path / "held before")
    before, fewer = held_callbacks(tmp_path, count=3, broken=())
    assert fewer == [one for one in before if one != (3, 3)]


def test_the_lines_of_a_file_that_runpy_runs_are_seen(tmp_path):
    (tmp_path / "other.py").write_text("print(sorted(list({'a', 'b'})), __name__)\n")
    source = "import runpy\nrunpy.run_path('other.py', run_name='__main__')\n"
    done, sites, _ = run(tmp_path, source)
    assert done.stdout == "['a', 'b'] __main__\n"
    assert sites == {("set_order", 1)}


def test_items_that_are_equal_all_come_out_of_a_queue_whose_order_is_held(tmp_path):
    source = "import queue\nq = queue.Queue()\nfor one in {items}:\n    q.put(one)\n"
    source += "print([q.get(True, 1) for _ in range(3)])\n"
    first, _, out = run(tmp_path, source.format(items="('a', None, None)"))
    second, _, _ = run(
        tmp_path,
        source.format(items="(None, None, 'a')"),
        label="held",
        pins=["*"],
        replay=str(out),
        replay_key="a",
    )
    assert second.stdout == first.stdout == "['a', None, None]\n", second.stderr


def test_an_item_that_cannot_be_shown_as_text_comes_out_of_a_queue(tmp_path):
    source = "import queue\nclass Item:\n    def __repr__(self):\n        raise ValueError\n"
    done, sites, _ = run(tmp_path, source + "q = queue.Queue()\nq.put(Item())\nq.get()\n")
    assert (done.returncode, done.stderr, sites) == (0, "", {("queue_order", 7)})


def test_a_temporary_folder_that_cannot_be_made_anew_is_made_as_ever(tmp_path):
    source = "import os, tempfile\nos.mkdir('{base}')\nprint(tempfile.mkdtemp(dir='{base}'))\n"
    _, _, out = run(tmp_path, source.format(base="one"))
    shutil.rmtree(tmp_path / "one")
    again = {"label": "held", "pins": ["*"], "replay": str(out), "replay_key": "a"}
    done, _, _ = run(tmp_path, source.format(base="two"), **again)
    assert Path(done.stdout.strip()).parent.name == "two", done.stderr


def test_a_system_file_is_given_what_was_read_of_it_and_never_what_was_read_of_another(tmp_path):
    """Another process of this name, or one more that is looked at: its line is the same, its file is not."""
    source = "path = open('which').read()\nprint(open(path).read())\n"
    (tmp_path / "which").write_text("/proc/self/stat")
    first, sites, out = run(tmp_path, source)
    pin = f"file_read|{os.path.realpath(tmp_path / 'program.py')}|2"
    pinned = {"key": "b", "pins": [pin], "replay": str(out), "replay_key": "a"}
    same, _, _ = run(tmp_path, source, label="same", **pinned)
    (tmp_path / "which").write_text("/proc/version")
    other, _, _ = run(tmp_path, source, label="other", **pinned)
    assert ("file_read", 2) in sites
    assert same.stdout == first.stdout
    assert other.stdout.strip() == Path("/proc/version").read_text().strip()
