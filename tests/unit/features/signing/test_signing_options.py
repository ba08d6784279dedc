"""``--sign``, ``report sign`` and ``report verify --signer``, as a person types them."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import subprocess
import sys
import time

import click
import pytest

from reprokit.cli import main, root
from reprokit.cli.options import shown_words

pytestmark = pytest.mark.skipif(
    shutil.which("ssh-keygen") is None, reason="needs ssh-keygen (openssh-client)"
)

TRAIN = """
import json, pathlib, sys
folder = pathlib.Path(sys.argv[2])
lines = [json.dumps({"step": n, "loss": 1 / n}) + "\\n" for n in range(1, 4)]
(folder / "metrics.jsonl").write_text("".join(lines))
"""


def reprokit(folder, *words):
    """As a person types it, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "reprokit", *map(str, words)],
        cwd=folder,
        capture_output=True,
        text=True,
        input="",
        check=False,
        timeout=120,
    )


@pytest.fixture
def report(place, monkeypatch, capsys):
    """``report`` typed in the place, in this process: exit code and stdout."""
    monkeypatch.chdir(place)

    def typed(*words):
        with pytest.raises(SystemExit) as ended:
            main(["report", *map(str, words)])
        return ended.value.code, capsys.readouterr().out

    return typed


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a program, two keys, and a report that one of them signed."""
    folder = tmp_path_factory.mktemp("signed")
    (folder / "train.py").write_text(TRAIN)
    for name, word in (("ada", ""), ("eve", ""), ("locked", "hunter2")):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", word, "-C", name, "-f", folder / name], check=True
        )
    done = reprokit(
        folder,
        "reproduce",
        "--seed",
        "7",
        "--sign",
        folder / "ada",
        "--",
        sys.executable,
        "train.py",
        "{seed}",
        "{run_dir}",
    )
    assert done.returncode == 0, done.stderr
    assert "Signed: " in done.stderr
    return folder


def report_of(place):
    [report] = place.glob("reports/*/*/report.json")
    return report.parent


def test_the_one_who_signed_is_told_with_verdict_commit_and_date(place, report):
    told = json.loads((report_of(place) / "report.json").read_text())
    answer = report("verify", report_of(place), "--signer", "ada.pub")
    assert answer[0] == 0
    assert answer[1].splitlines() == [
        "The verdict follows from the evidence.",
        "Verdict: REPEATABLE",
        "Commit: not recorded",
        f"Date: {told['created_at']}",
        "Signed by ada.",
    ]


def test_somebody_else_is_not_taken_for_them(place, report):
    code, out = report("verify", report_of(place), "--signer", "eve.pub")
    assert code == 1
    assert "not among those who may sign" in out


def test_a_file_that_names_nobody_is_wrong_usage(place, report):
    assert report("verify", report_of(place), "--signer", "train.py")[0] == 2


def test_where_the_key_lies_is_not_in_the_report(place):
    for path in report_of(place).iterdir():
        assert str(place / "ada") not in path.read_text(), path.name


def test_an_encrypted_key_needs_a_terminal_and_costs_no_training(place):
    before = sorted(place.glob("runs/*/*"))
    done = reprokit(
        place, "reproduce", "--sign", "locked", "--", sys.executable, "train.py", "1", "{run_dir}"
    )
    assert done.returncode == 2
    assert "no terminal" in done.stderr
    assert sorted(place.glob("runs/*/*")) == before


#: Take the terminal on stdin for one's own, as a login shell does, and become the tool.
ON_A_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, "-m", "reprokit", *sys.argv[1:]])
"""


def on_a_terminal(folder, *words, typing):
    """As a person types it on a terminal, who answers when a passphrase is asked for."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", ON_A_TERMINAL, *map(str, words)],
        cwd=folder,
        start_new_session=True,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={name: value for name, value in os.environ.items() if not name.startswith("SSH_")},
    ) as tool:
        os.close(theirs)
        shown, until = "", time.monotonic() + 120
        while time.monotonic() < until and select.select([ours], [], [], until - time.monotonic())[0]:
            try:
                shown += os.read(ours, 4096).decode()
            except OSError:  # Linux says so when the other end is closed
                break
            if shown.rstrip().endswith(":") and "passphrase" in shown.splitlines()[-1]:
                shown += "\n"
                os.write(ours, f"{typing}\n".encode())
        os.close(ours)
        return tool.wait(timeout=60), shown


def test_on_a_terminal_the_passphrase_is_asked_for_once_before_the_training(place, tmp_path):
    shutil.copy(place / "train.py", tmp_path)
    code, shown = on_a_terminal(
        tmp_path,
        "reproduce",
        "--sign",
        place / "locked",
        "--",
        sys.executable,
        "train.py",
        "1",
        "{run_dir}",
        typing="hunter2",
    )
    assert code == 0, shown
    assert shown.count("Enter passphrase") == 1
    assert "hunter2" not in shown
    done = reprokit(tmp_path, "report", "verify", report_of(tmp_path), "--signer", place / "locked.pub")
    assert (done.returncode, "Signed by locked." in done.stdout) == (0, True), done.stdout


def test_on_a_terminal_an_empty_passphrase_gives_up_before_the_training(place, tmp_path):
    shutil.copy(place / "train.py", tmp_path)
    code, shown = on_a_terminal(
        tmp_path,
        "reproduce",
        "--sign",
        place / "locked",
        "--",
        sys.executable,
        "train.py",
        "1",
        "{run_dir}",
        typing="",
    )
    assert code == 2, shown
    assert "does not open the key" in " ".join(shown.split())
    assert not (tmp_path / "runs").exists()


def test_a_report_is_signed_afterwards(place, report, tmp_path):
    copy = tmp_path / "report"
    shutil.copytree(report_of(place), copy)
    (copy / "report.json.sig").unlink()
    assert report("sign", copy, "--key", "eve")[0] == 0
    assert report("verify", copy, "--signer", "eve.pub")[0] == 0


@pytest.fixture(scope="module")
def history(place, tmp_path_factory):
    """A repository with signed reports: of its first commit, and of changed code; and a second commit."""
    folder = tmp_path_factory.mktemp("history")
    (folder / "train.py").write_text(TRAIN)
    (folder / ".gitignore").write_text("runs/\nreports/\n")

    def commit(word):
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run([*git, "init", "-q"], cwd=folder, check=True)
        subprocess.run([*git, "add", "."], cwd=folder, check=True)
        subprocess.run([*git, "commit", "-q", "-m", word], cwd=folder, check=True)

    def reported(where):
        done = reprokit(
            folder,
            "reproduce",
            "--seed",
            "7",
            "--sign",
            place / "ada",
            "--reports-dir",
            where,
            "--runs-dir",
            f"runs/{where}",
            "--",
            sys.executable,
            "train.py",
            "{seed}",
            "{run_dir}",
        )
        assert "Signed: " in done.stderr, done.stderr

    commit("first")
    reported("reports/good")
    (folder / "train.py").write_text(TRAIN.replace("1 / n", "id(object()) + __import__('time').time()"))
    reported("reports/bad")
    commit("second")
    return folder


@pytest.fixture
def verify(history, place, report, monkeypatch):
    """``report verify --signer`` of one of the history's reports: exit code and stdout."""
    monkeypatch.chdir(history)

    def typed(which, *words):
        [path] = history.glob(f"reports/{which}/*/*/report.json")
        return report("verify", path, "--signer", place / "ada.pub", *words)

    return typed


def test_a_signed_report_of_a_bad_verdict_is_no_success_unless_it_is_expected(verify):
    code, out = verify("bad")
    assert (code, "Verdict: NONDETERMINISTIC" in out, "Signed by ada." in out) == (1, True, True)
    assert verify("bad", "--expect", "NONDETERMINISTIC")[0] == 0
    code, out = verify("bad", "--expect", "REPEATABLE")
    assert (code, "the verdict is NONDETERMINISTIC, not REPEATABLE" in out) == (1, True)


def test_a_good_verdict_that_is_not_the_expected_one_is_told(verify):
    assert verify("good", "--expect", "repeatable")[0] == 0
    code, out = verify("good", "--expect", "REPRODUCED")
    assert (code, "the verdict is REPEATABLE, not REPRODUCED" in out) == (1, True)


def test_an_old_report_of_another_commit_is_told(verify, history):
    first = subprocess.run(
        ["git", "rev-parse", "HEAD~1"], cwd=history, capture_output=True, text=True, check=True
    ).stdout.strip()
    code, out = verify("good", "--commit", "HEAD")
    assert (code, f"the commit is {first}, not " in out) == (1, True)
    assert (verify("good", "--commit", "HEAD~1")[0], verify("good", "--commit", first)[0]) == (0, 0)
    assert f"Commit: {first}\n" in verify("good")[1]


def test_a_report_of_changed_code_is_of_no_commit(verify):
    code, out = verify("bad", "--expect", "NONDETERMINISTIC", "--commit", "HEAD~1")
    assert code == 1
    assert "the runs are not shown to be of commit" in out
    assert " and files changed since\n" in out


def test_a_report_without_a_commit_is_not_of_the_one_that_is_asked_for(place, report):
    code, out = report("verify", report_of(place), "--signer", "ada.pub", "--commit", "0" * 40)
    assert (code, "the runs are not shown to be of commit" in out) == (1, True)


def test_an_old_report_is_told(verify):
    assert verify("good", "--max-age", "2w")[0] == 0
    time.sleep(1.1)
    code, out = verify("good", "--max-age", "1s")
    assert (code, "more than 1 s ago" in out) == (1, True)


@pytest.mark.parametrize(
    "words",
    [
        ("--expect", "FINE"),
        ("--commit", "no-such-branch"),
        ("--commit", "--help"),
        ("--max-age", "7"),
        ("--max-age", "0d"),
        ("--max-age", "-1d"),
        ("--max-age", "9999999w"),
        ("--max-age", "1e3s"),
    ],
)
def test_what_cannot_be_expected_is_wrong_usage(verify, words):
    assert verify("good", *words)[0] == 2


def test_the_json_answer_has_all_of_it(verify):
    code, out = verify("bad", "--expect", "REPEATABLE", "--json")
    told = json.loads(out)
    assert code == told["exit_code"] == 1
    assert (told["follows"], told["signed_by"], told["findings"]) == (True, "ada", [])
    assert (told["verdict"], told["source_changed"]) == ("NONDETERMINISTIC", True)
    assert told["unmet"] == ["the verdict is NONDETERMINISTIC, not REPEATABLE"]
    assert len(told["commit"]) == 40
    assert told["created_at"].startswith("20")


def test_a_false_signature_is_no_success_whatever_is_expected(verify, place, report):
    path = place / "eve.pub"
    assert verify("good", "--signer", path, "--expect", "REPEATABLE")[0] == 1


def test_an_unsigned_report_of_a_bad_verdict_is_no_success_either(history, report, monkeypatch):
    monkeypatch.chdir(history)
    [path] = history.glob("reports/bad/*/*/report.json")
    assert report("verify", path)[0] == 1
    assert report("verify", path, "--expect", "NONDETERMINISTIC")[0] == 0


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (["verify", "--sign", "/home/ada/key"], ["verify", "--sign", "KEY"]),
        (["verify", "--sign=/home/ada/key", "x"], ["verify", "--sign=KEY", "x"]),
        (["reproduce", "--", "train", "--sign", "up"], ["reproduce", "--", "train", "--sign", "up"]),
        (["reproduce", "x"], ["reproduce", "x"]),
    ],
)
def test_a_key_s_place_is_left_out_of_the_command_line_but_not_a_program_s_own_words(typed, told):
    with click.Context(root.get_command(click.Context(root), typed[0])):
        assert shown_words(typed) == told
