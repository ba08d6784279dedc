"""``--sign``, ``report sign`` and ``report verify --signer``, as a person types them."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from reprokit.cli import main
from reprokit.cli.signing_options import without_key

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


def test_the_one_who_signed_is_told(place, report):
    answer = report("verify", report_of(place), "--signer", "ada.pub")
    assert answer == (0, "The verdict follows from the evidence.\nSigned by ada.\n")


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


def test_a_report_is_signed_afterwards(place, report, tmp_path):
    copy = tmp_path / "report"
    shutil.copytree(report_of(place), copy)
    (copy / "report.json.sig").unlink()
    assert report("sign", copy, "--key", "eve")[0] == 0
    assert report("verify", copy, "--signer", "eve.pub")[0] == 0


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
    assert without_key(typed) == told
