"""Asking the Python that a command starts."""

import sys

import pytest

from reprokit.capture.interpreter import capture_interpreter, find_python


@pytest.fixture
def script(tmp_path):
    def make(text, name="tool"):
        path = tmp_path / name
        path.write_text(text)
        path.chmod(0o755)
        return str(path)

    return make


@pytest.fixture
def on_path(monkeypatch, tmp_path):
    (tmp_path / "bin").mkdir()
    for name in ("python3", "python3.11"):
        (tmp_path / "bin" / name).symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path / "bin"


def test_a_python_by_its_path_is_found():
    assert find_python([sys.executable, "train.py"]) == sys.executable


def test_a_python_by_its_name_is_looked_up(on_path):
    assert find_python(["python3.11", "train.py"]) == str(on_path / "python3.11")


@pytest.mark.parametrize("line", [f"#!{sys.executable}", f"#!{sys.executable} -I", "#!/usr/bin/env python3"])
def test_a_script_names_its_python_in_its_first_line(script, on_path, line):
    assert find_python([script(f"{line}\nprint(1)\n")]) is not None


def test_env_with_options_names_a_python_too(script, on_path):
    assert find_python([script("#!/usr/bin/env -S python3 -u\n")]) == str(on_path / "python3")


@pytest.mark.parametrize("text", ["#!/bin/sh\n", "no first line", "", "#!\n", "\x7fELF"])
def test_what_is_no_python_is_not_guessed_at(script, text):
    assert find_python([script(text)]) is None


@pytest.mark.parametrize("command", [[], ["no-such-program"]])
def test_a_command_that_is_not_there_has_no_python(command):
    assert find_python(command) is None


def test_the_python_says_what_is_installed_without_importing_torch():
    facts = capture_interpreter([sys.executable, "train.py"])
    assert facts["python"]["implementation"] == "CPython"
    assert "pytest" in facts["packages"]
    assert facts["missing"]["torch"].startswith("not asked")


def test_a_command_without_a_python_leaves_a_reason(script):
    facts = capture_interpreter([script("#!/bin/sh\n", name="train.sh")])
    unknown = "which Python the program ran is not known"
    assert facts["missing"]["python"] == f"{unknown}: train.sh holds no command"
    assert capture_interpreter([])["missing"]["packages"].startswith(f"{unknown}: an empty command")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("echo oops >&2; exit 3", "the probe failed in the program's Python: oops"),
        ("exit 3", "the probe failed in the program's Python: no message"),
        ("echo hello", "the probe's answer was not JSON"),
        ("exit 0", "the probe's answer was not JSON"),
        ("echo '[1]'", "the probe's answer was not a record"),
        ("exec sleep 30", "the probe took longer than 0 s"),
    ],
)
def test_a_python_that_does_not_answer_leaves_a_reason(script, body, reason):
    fake = script(f"#!/bin/sh\n{body}\n", name="python3")
    facts = capture_interpreter([fake, "train.py"], timeout_s=0.4 if "sleep" in body else 60)
    assert facts == {"missing": {"python": reason, "packages": reason}}


def test_a_file_that_cannot_be_started_leaves_a_reason(script):
    fake = script("#!/no/such/interpreter\n", name="python3")
    assert "did not start" in capture_interpreter([fake])["missing"]["python"]
