"""Which Python a command starts: followed where its words say so for certain, else not known."""

import sys

import pytest

from reprokit.capture.python_of_command import start_of


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    for name in ("python", "python3.11"):
        (tmp_path / "bin" / name).symlink_to(sys.executable)
    for name in ("uv", "conda", "nice", "taskset", "xvfb-run", "time"):
        tool(tmp_path / "bin" / name, "no script\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return tmp_path


def tool(path, text):
    path.write_text(text)
    path.chmod(0o755)


def asked(folder, *command, **how):
    start = start_of(command, folder=folder, **how)
    return tuple(word.replace(str(folder), "") for word in start.words) or start.unknown


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("python", "train.py"), "/bin/python"),
        (("nice", "-n", "5", "python"), "/bin/python"),
        (("timeout", "-k", "5", "60", "python3.11", "a.py"), "/bin/python3.11"),
        (("time", "-o", "python", "python3.11"), "/bin/python3.11"),
        (("xvfb-run", "-a", "python", "train.py"), "/bin/python"),
        (("env", "-u", "B", "A=1", "nohup", "python", "train.py"), "env -u B A=1 /bin/python"),
        (("taskset", "-c", "0,1", "python"), "taskset -c 0,1 /bin/python"),
        (("sh", "-c", "python train.py --seed {seed} > {run_dir}/log 2>&1"), "/bin/python"),
        (("bash", "-eu", "-c", "A=1 exec python train.py"), "env A=1 /bin/python"),
        (("conda", "run", "-n", "mine", "python", "a.py"), "conda run -n mine python"),
        (("uv", "run", "--with", "x", "python3.11", "a.py"), "uv run --with x python3.11"),
        (("uv", "run", "train.py", "--seed", "1"), "uv run python"),
    ],
)
def test_what_starts_a_python_is_followed(folder, command, words):
    assert " ".join(asked(folder, *command)) == words


def test_an_assigned_path_decides_which_python_it_is(folder):
    (folder / "other").mkdir()
    (folder / "other" / "python").symlink_to(sys.executable)
    found = start_of(["env", f"PATH={folder}/other", "python"], folder=folder)
    assert found.words[-1] == f"{folder}/other/python"


@pytest.mark.parametrize(
    "text",
    [
        "#!/bin/sh\n# trains\nset -e\n\nexec python train.py \\\n  --seed $1\n",
        "#!/usr/bin/env bash\npython train.py\n",
        "#!{folder}/bin/python -u\nprint(1)\n",
        "#!/bin/sh\n'''exec' \"{folder}/bin/python\" \"$0\" \"$@\"\n' '''\nimport sys\n",
        "#!/bin/sh\n'''exec' {folder}/bin/python \"$0\" \"$@\"\n",
        '#!/bin/sh\n\'\'\'exec\' "$(dirname -- "$(realpath -- "$0")")"/\'python\' "$0" "$@"\n',
    ],
)
def test_a_script_is_followed_to_its_python(folder, text):
    tool(folder / "bin" / "torchrun", text.replace("{folder}", str(folder)))
    assert asked(folder, "torchrun", "train.py") == ("/bin/python",)


@pytest.mark.parametrize(
    "line",
    [
        "python prepare.py; python3.11 train.py",
        "python train.py && python3.11 score.py",
        "source venv/bin/activate\npython train.py",
        "python train.py --seed $(python3.11 seed.py)",
        "python train.py | python3.11 plot.py",
        "PATH=$HOME/bin:$PATH python train.py",
        "$PYTHON train.py",
        'python "train.py',
        "",
    ],
)
def test_a_line_that_a_shell_has_to_work_out_is_not_known(folder, line):
    assert "is not known" in asked(folder, "sh", "-c", line)
    (folder / "train.sh").write_text(line)
    assert "is not known" in asked(folder, "sh", "train.sh")


@pytest.mark.parametrize(
    "command",
    [
        ("make", "train"),
        ("bash", "-l", "-c", "python train.py"),
        ("env", "-i", "python", "train.py"),
        ("env", "-S", "python", "train.py"),
        ("uv", "run", "train"),
        ("uv", "run", "inline.py"),
        ("sh", "no-such-file.sh"),
        ("nice",),
        (),
    ],
)
def test_what_cannot_be_followed_is_not_known(folder, command):
    (folder / "inline.py").write_text("# /// script\n# dependencies = []\n# ///\n")
    assert asked(folder, *command).startswith("which Python the program ran is not known: ")


def test_an_environment_that_depends_on_the_folder_is_not_known_of_a_copy(folder):
    assert "which is a copy" in asked(folder, "uv", "run", "python", "train.py", in_copy=True)
    assert asked(folder, "conda", "run", "-p", "/x", "python", in_copy=True) == (
        *["conda", "run", "-p", "/x", "python"],
    )
