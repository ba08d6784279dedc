"""`reprokit diagnose` on real programs: the answer is an experiment's, so it moves with the fault."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

HEAD = """
import json, os, random, sys, time
from pathlib import Path
folder = Path(sys.argv[1])
"""
TAIL = """
(folder / "metrics.jsonl").write_text(json.dumps({"step": 0, "loss": float(used)}) + "\\n")
"""


def diagnose(tmp_path, body, *options, code=None):
    (tmp_path / "train.py").write_text(HEAD + textwrap.dedent(body) + TAIL)
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
    )
    if code is not None:
        assert done.returncode == code, done.stderr
    return json.loads(done.stdout) if done.stdout.startswith("{") else done.stderr


def line_of(tmp_path, text):
    lines = Path(tmp_path / "train.py").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


@pytest.mark.parametrize("guilty", ["random", pytest.param("time", marks=pytest.mark.slow)])
def test_of_two_suspicious_lines_the_one_whose_value_reaches_a_number_is_named(tmp_path, guilty):
    names = {"random": ("used", "unused"), "time": ("unused", "used")}[guilty]
    answer = diagnose(
        tmp_path,
        f"""
        {names[0]} = random.random()
        {names[1]} = time.time() % 1.0
        """,
        code=1,
    )
    category = {"random": "unseeded_rng", "time": "clock"}[guilty]
    assert answer["verdict"] == "NONDETERMINISTIC"
    assert answer["cause"]["category"] == category
    assert answer["cause"]["line"] == line_of(tmp_path, "used = " + guilty)
    assert answer["cause"]["source"].startswith("used = " + guilty)
    assert answer["cause"]["confidence"] == "high"


@pytest.mark.slow
def test_two_causes_are_both_named(tmp_path):
    answer = diagnose(tmp_path, "used = random.random()\nused += os.getpid() * 1e-3\n", code=1)
    assert {one["category"] for one in answer["causes"]} == {"unseeded_rng", "process_identity"}


def test_what_draws_on_surroundings_and_reaches_no_number_is_no_cause(tmp_path):
    answer = diagnose(
        tmp_path,
        """
        random.seed(3)
        used = random.random() + len({"a", "b", "c"}) + len(sorted(os.listdir()))
        print(time.time(), os.getpid(), os.urandom(3), [one for one in {"a", "b", "c"}])
        """,
        code=0,
    )
    assert (answer["verdict"], answer["cause"]) == ("REPEATABLE", None)


@pytest.mark.slow
def test_an_order_of_files_that_two_runs_share_shows_once_it_is_varied(tmp_path):
    (tmp_path / "data").mkdir()
    for number in range(9):
        (tmp_path / "data" / f"{number}.txt").write_text(str(number))
    answer = diagnose(tmp_path, "used = int(''.join(name[0] for name in os.listdir('data')))\n", code=1)
    assert answer["cause"]["category"] == "file_order"
    assert answer["variation"] == "directory_order"


@pytest.mark.slow
def test_what_a_run_leaves_to_the_next_is_named_by_the_line_that_reads_it(tmp_path):
    answer = diagnose(
        tmp_path,
        """
        store = Path("count.txt")
        used = int(open(store).read()) if os.path.exists(store) else 0
        store.write_text(str(used + 1))
        """,
        code=1,
    )
    assert answer["cause"]["category"] == "leftover_state"
    assert answer["cause"]["line"] == line_of(tmp_path, "open(store)")


@pytest.mark.slow
def test_threads_that_race_are_named(tmp_path):
    answer = diagnose(
        tmp_path,
        """
        import threading
        order = []
        def work(number):
            time.sleep(0.002 * (os.getpid() * (number + 7) % 11))
            order.append(number)
        threads = [threading.Thread(target=work, args=(one,)) for one in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        used = int("".join(map(str, order)))
        """,
        code=1,
    )
    assert answer["cause"]["category"] in {"concurrency", "process_identity"}


@pytest.mark.slow
def test_a_python_that_does_not_load_the_watch_cannot_be_judged(tmp_path):
    (tmp_path / "train.py").write_text(HEAD + "used = 1\n" + TAIL)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "reprokit",
            "diagnose",
            "--reports-dir",
            str(tmp_path / "reports"),
            "--",
            sys.executable,
            "-I",
            "train.py",
            "{run_dir}",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 4
    assert "not loaded" in done.stderr


@pytest.mark.slow
def test_the_page_names_line_cause_and_fix(tmp_path):
    (tmp_path / "train.py").write_text(HEAD + "used = random.random()\n" + TAIL)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "reprokit",
            "diagnose",
            "--reports-dir",
            str(tmp_path / "reports"),
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
    )
    sentence = "NONDETERMINISTIC: first differs at step 0, in loss; cause: random.random at train.py:"
    assert done.stdout.startswith(sentence)
    assert f"train.py:{line_of(tmp_path, 'random.random')}: random.random" in done.stdout
    assert "fix: seed it" in done.stdout


@pytest.mark.slow
def test_a_state_that_is_not_in_the_checkpoint_is_named(tmp_path):
    (tmp_path / "train.py").write_text(
        textwrap.dedent("""
        import json, sys
        from pathlib import Path
        folder, stop = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 9
        point, first, lines = 1.0, 0, []
        if len(sys.argv) > 3:
            point, first, lines = json.loads((Path(sys.argv[3]) / "saved.json").read_text())
        speed = 0.0
        for step in range(first, 9 if len(sys.argv) > 3 else stop):
            speed = 0.5 * speed - point
            point += 0.1 * speed
            lines.append(json.dumps({"step": step, "loss": point}))
        (folder / "saved.json").write_text(json.dumps([point, stop, lines]))
        (folder / "metrics.jsonl").write_text("\\n".join(lines) + "\\n")
        """)
    )
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "reprokit",
            "diagnose",
            "--json",
            "--reports-dir",
            str(tmp_path / "reports"),
            "--resume",
            "--stop-args",
            "4",
            "--resume-args",
            "4 {stopped_run_dir}",
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
    )
    assert done.returncode == 1, done.stderr
    cause = json.loads(done.stdout)["cause"]
    assert (cause["category"], cause["line"]) == ("resume_state", line_of(tmp_path, "speed = 0.0"))
