"""Secrets planted in everything that a run is given: no byte of what the tool writes or prints holds one."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from reprokit import cli

SECRET = "Zq7hunterXw9Lk2Vt8Bn4"  # noqa: S105
HEXADECIMAL = SECRET.encode().hex()[:40]
TESTS = Path(__file__).resolve().parents[1]
PROGRAM = """
import json, os, pathlib, sys
print(sys.argv, json.dumps(sys.argv))
print("\\n".join(sys.argv), file=sys.stderr)
print(dict(os.environ))
print(os.environ["MYTOKEN"], "stands alone", file=sys.stderr)
folder = pathlib.Path(sys.argv[sys.argv.index("--logdir") + 1])
with open(folder / "metrics.jsonl", "w") as log:
    for step in range(50):
        log.write(json.dumps({"step": step, "loss": 1 / (step + 1), NAME: step}) + "\\n")
END
"""


def planted_words() -> list[str]:
    """Every planted command line, one behind the other; placeholders and secrets filled in."""
    lines = (TESTS / "planted_secrets.txt").read_text().splitlines()
    found = [line for line in lines if not line.startswith("#")]
    assert len(found) >= 60
    filled = " ".join(found).replace("{S}", SECRET).replace("{U}", SECRET.upper()).replace("{H}", HEXADECIMAL)
    return shlex.split(filled)


def leaks(folder: Path, *, but: tuple[str, ...] = ()) -> list[str]:
    """The files below a folder, and names of them, that hold a secret."""
    found = []
    for path in sorted(folder.rglob("*")):
        content = path.read_bytes().lower() if path.is_file() and path.name not in but else b""
        texts = (content, str(path).lower().encode())
        if any(one in text for one in (SECRET.lower().encode(), HEXADECIMAL.encode()) for text in texts):
            found.append(str(path))
    return found


def code_of(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    return int(ended.value.code or 0)


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A repository, configuration of pip and of a cloud, and variables, all with a secret."""
    home, here = tmp_path / "home", tmp_path / "project"
    (home / ".config/pip").mkdir(parents=True)
    (home / ".aws").mkdir()
    (home / ".config/pip/pip.conf").write_text(f"[global]\nindex-url = https://ada:{SECRET}@example.org/x\n")
    (home / ".aws/credentials").write_text(f"[default]\naws_secret_access_key = {SECRET}\n")
    (home / ".netrc").write_text(f"machine example.org login ada password {SECRET}\n")
    here.mkdir()
    remote = f"https://ada:x/{SECRET}@example.org/lab/code.git"
    for words in (("init", "-q", "-b", f"ghp_{SECRET}"), ("remote", "add", "origin", remote)):
        subprocess.run(["git", *words], cwd=here, check=True)
    variables = {
        "HOME": home,
        "MYTOKEN": SECRET,
        "WANDB_API_KEY": SECRET,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "PIP_INDEX_URL": f"https://ada:{SECRET}@example.org/x",
        "HTTPS_PROXY": f"http://ada:{SECRET}@proxy:3128",
        "OMP_NUM_THREADS": f"token={SECRET}",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.chdir(here)
    return here


@pytest.mark.parametrize(
    ("name", "end", "code"),
    [
        ("'accuracy'", "", 0),
        (f"'eval/https://ada:{SECRET}@example.org/x'", "", 0),
        (f"'eval/token={SECRET}'", "", 0),
        ("os.urandom(4).hex() + os.environ['MYTOKEN'][:0]", "", 1),
        ("'accuracy'", f"raise SystemExit('no access: token={SECRET}')", 3),
        ("'accuracy'", "raise KeyError(os.environ['MYTOKEN'])", 3),
    ],
)
def test_no_secret_of_a_plain_command_is_recorded(workspace, capfd, monkeypatch, name, end, code):
    program = PROGRAM.replace("NAME", name).replace("END", end)
    (workspace / "train.py").write_text(program.replace(SECRET, "' + os.environ['MYTOKEN'] + '"))
    words = [sys.executable, "train.py", "--seed", "{seed}", "--logdir", "{run_dir}", *planted_words()]
    arguments = ["reproduce", "--seed", "7", "--", *words]
    monkeypatch.setattr(sys, "argv", ["reprokit", *arguments])
    assert code_of(arguments) == code
    heard = capfd.readouterr()
    assert SECRET.lower() not in (heard.out + heard.err).lower()
    assert HEXADECIMAL not in heard.out + heard.err
    own = ("metrics.jsonl",) if SECRET in name else ()  # the program's own file is evidence, byte for byte
    assert leaks(workspace / "runs", but=own) == []
    assert leaks(workspace / "reports") == []
    assert list((workspace / "reports").rglob("report.json"))
    run = json.loads(next((workspace / "runs").rglob("run.json")).read_text())
    assert run["command"][:6] == words[:6]
    assert len(run["command"]) == len(words)


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--api-key", SECRET],
        ["run", f"--token={SECRET}"],
        ["run", "cartpole_baseline", "--set", f"training.api_key={SECRET}"],
        ["runs", "push", "x", f"s3://KEY:{SECRET}@bucket/set"],
        ["runs", "push", "x", f"nobody://KEY:{SECRET}/+@bucket/set"],
        ["runs", "verify", f"nobody://KEY:{SECRET}@bucket/set"],
        ["diff", f"https://ada:{SECRET}@example.org/a", "b"],
        ["run", "--copy-to", f"nobody://KEY:{SECRET}@bucket", "--", "true"],
    ],
)
def test_no_secret_of_a_wrong_command_line_is_repeated(workspace, capfd, monkeypatch, arguments):
    (workspace / "runs" / "r" / "x").mkdir(parents=True)
    (workspace / "runs" / "r" / "x" / "run.json").write_text("{}")
    monkeypatch.setattr(sys, "argv", ["reprokit", *arguments])
    assert code_of(arguments) in {2, 3}
    heard = capfd.readouterr()
    assert "Error" in heard.err
    assert SECRET.lower() not in (heard.out + heard.err).lower()
    assert leaks(workspace / "runs") == []


def test_variables_hold_what_was_planted(workspace):
    """The program under test sees the secrets: only the records lose them."""
    assert os.environ["MYTOKEN"] == SECRET
    assert leaks(workspace) == [str(workspace / ".git" / name) for name in ("HEAD", "config")]
