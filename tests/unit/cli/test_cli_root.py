"""`reprokit` itself: the map of verbs, help, start-up, exit codes, streams, completion."""

from __future__ import annotations

import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from reprokit import cli
from reprokit.errors import CannotJudgeError, EngineError, MetricsError, RecipeError
from reprokit.recipes.mistakes import combined

ROOT = Path(__file__).resolve().parents[3]
HEAVY = (
    "torch",
    "numpy",
    "docker",
    "ray",
    "matplotlib",
    "pydantic",
    "rich",
    "scipy",
    "jinja2",
    "git",
    "psutil",
    "deepdiff",
)
TERMINAL = 80
WAITING = """
import os, pathlib, sys, time
pathlib.Path(sys.argv[1], "pid").write_text(str(os.getpid()))
time.sleep(99)
"""


def verbs(
    group: click.Group = cli.root, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every verb and sub-verb with the words that reach it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from verbs(command, (*path, name))


ALL = [pytest.param(words, command, id=" ".join(words)) for words, command in verbs()]
#: Verbs that print what another program takes: a manifest for kubectl, nothing for an engine.
FOR_PROGRAMS = {"export k8s", "runs carry-out"}
ANSWERING = [one for one in ALL if not isinstance(one.values[1], click.Group) and one.id not in FOR_PROGRAMS]


def reprokit(*arguments: str, env: dict[str, str] | None = None, cwd: Path | None = None, **streams):
    """The tool in a process of its own, as a shell starts it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": str(TERMINAL), **(env or {})}
    defaults = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "timeout": 120}
    return subprocess.run(
        [sys.executable, "-m", "reprokit", *arguments],
        check=False,
        env=environment,
        cwd=cwd,
        **{**defaults, **streams},
    )


@pytest.fixture
def end(monkeypatch):
    """Run the tool in this process, with a verb ``diff`` that does as told; the exit code comes back."""

    def call(what, *arguments: str) -> int:
        def callback() -> int:
            if isinstance(what, BaseException):
                raise what
            return what

        command = click.Command("diff", callback=callback)
        module = importlib.import_module("reprokit.cli.diff")
        monkeypatch.setattr(module, "command", command)
        before = {number: signal.getsignal(number) for number in cli._ENDING}
        try:
            with pytest.raises(SystemExit) as ended:
                cli.main(["diff", *arguments])
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        return ended.value.code

    return call


# The map and the help pages


@pytest.mark.parametrize("verb", list(cli.VERBS))
def test_the_map_says_of_a_verb_what_the_verb_says_of_itself(verb):
    module, text = cli.VERBS[verb]
    command = importlib.import_module(f"reprokit.cli.{module}").command
    assert (command.name, command.short_help) == (verb, text)


def test_every_module_with_a_command_is_in_the_map():
    modules = {
        path.stem
        for path in Path(cli.__file__).parent.glob("*.py")
        if re.search(r"^def command\(|^command = ", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert modules == {module for module, _ in cli.VERBS.values()}


def help_page(words, command) -> str:
    context = click.Context(command, info_name=" ".join(("reprokit", *words)), terminal_width=TERMINAL)
    return command.get_help(context)


@pytest.mark.parametrize(("words", "command"), ALL)
def test_a_help_page_ends_with_an_example_of_that_very_verb(words, command):
    example = help_page(words, command).rpartition("Example")[2]
    assert f"reprokit {' '.join(words)}" in example


@pytest.mark.parametrize(("words", "command"), ALL)
def test_a_help_page_fits_a_terminal_of_80_columns(words, command):
    assert [line for line in help_page(words, command).splitlines() if len(line) > TERMINAL] == []


@pytest.mark.parametrize(("words", "command"), ANSWERING)
def test_a_verb_that_answers_has_json(words, command):
    assert "--json" in {name for option in command.params for name in option.opts}


@pytest.mark.parametrize(("words", "command"), ALL)
def test_every_option_says_what_it_does(words, command):
    told = [option for option in command.params if isinstance(option, click.Option) and not option.help]
    assert told == []


def test_the_map_of_verbs_is_one_line_a_verb():
    page = help_page((), cli.root)
    for verb, (_, text) in cli.VERBS.items():
        assert re.search(rf"^  {verb} +{re.escape(text)}$", page, re.MULTILINE), verb


# Start-up


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["reproduce", "--help"], ["diff", "--nonsense"]]
)
def test_start_up_imports_nothing_heavy(arguments):
    code = (
        "import json, sys\n"
        "from reprokit.cli import main\n"
        "arguments, heavy = map(json.loads, sys.argv[1:])\n"
        "try: main(arguments)\n"
        "finally: print(json.dumps([name for name in heavy if name in sys.modules]), file=sys.stderr)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, json.dumps(arguments), json.dumps(HEAVY)],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert json.loads(ended.stderr.splitlines()[-1]) == []


def test_start_up_as_python_itself_tells_it_imports_nothing_heavy():
    ended = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "reprokit", "--help"],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in ended.stderr.splitlines()}
    assert "click" in imported
    assert imported.isdisjoint(HEAVY)


#: What judges, reads logs and recipes, or fetches data: nothing of it is needed to run a program.
NOT_FOR_A_RUN = (
    *(name for name in HEAVY if name != "psutil"),
    *("requests", "urllib3", "orjson", "safetensors"),
    *(f"reprokit.{name}" for name in ("recipes", "checks", "adapters", "golden", "images", "data")),
    *("reprokit.harness.judging", "reprokit.harness.reproduce", "reprokit.execution.docker"),
)


def test_a_run_of_a_command_loads_nothing_that_it_does_not_need(tmp_path):
    code = (
        "import json, sys\n"
        "from reprokit.cli import main\n"
        "arguments, unneeded = map(json.loads, sys.argv[1:])\n"
        "try: main(arguments)\n"
        "finally: print(json.dumps([name for name in unneeded if name in sys.modules]), file=sys.stderr)\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DOCKER_")}
    command = ["run", "--", sys.executable, "-c", "pass"]
    ended = subprocess.run(
        [sys.executable, "-c", code, json.dumps(command), json.dumps(NOT_FOR_A_RUN)],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": str(ROOT), "DOCKER_CONFIG": str(tmp_path)},
    )
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stderr.splitlines()[-1]) == []


# Exit codes


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["reprodce"], "Did you mean 'reproduce'?"),
        (["xyzzy"], "There is no verb 'xyzzy'."),
        (["golden", "lst"], "No such command 'lst'"),
        (["diff", "--rtl", "1", "a", "b"], "--rtol"),
        (["diff", "only-one"], "Missing argument 'ACTUAL'"),
        (["reproduce"], "name a recipe, or a command after --"),
        (["reproduce", "--"], "nothing follows --: give a command"),
        (["reproduce", "--seed", "-1", "x"], "-1"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_wrong_usage_is_2_with_a_hint_on_standard_error(arguments, hint, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    told = capsys.readouterr()
    assert (ended.value.code, told.out) == (2, "")
    assert hint in told.err


def test_the_code_that_a_verb_returns_is_the_exit_code(end):
    assert [end(code) for code in (0, 1, 2, 3, 4, 130, 143)] == [0, 1, 2, 3, 4, 130, 143]


@pytest.mark.parametrize(
    "fault", [ValueError("boom"), KeyError("x"), AssertionError(), RecursionError(), OSError(5, "x")]
)
def test_a_fault_of_the_tool_is_3_and_says_whose_fault_it_is(end, fault, capsys):
    assert end(fault) == 3
    told = capsys.readouterr()
    assert told.out == ""
    assert "Traceback" in told.err
    assert "a bug in reprokit, not in your program" in told.err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RecipeError("unknown key 'x'", where="recipe.yaml:3", fix="remove it"), 2),
        (MetricsError("torn", where="metrics.jsonl:7"), 2),
        (EngineError("no engine answers"), 3),
        (CannotJudgeError("there is nothing to judge"), 4),
    ],
)
def test_an_error_and_its_hint_are_a_line_each_on_standard_error_with_an_exit_code(end, error, code, capsys):
    assert end(error) == code
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == f"Error: {error.told()}\n" + (f"Hint: {error.fix}\n" if error.fix else "")


def test_several_mistakes_are_a_line_each_and_a_hostile_one_begins_no_line_of_its_own(end, capsys):
    hostile = RecipeError("key \x1b[2J\n::error::x", where="recipe.yaml:4")
    assert (
        end(combined([RecipeError("title is missing", where="recipe.yaml:3"), hostile], where="recipe.yaml"))
        == 2
    )
    first, *mistakes = capsys.readouterr().err.splitlines()
    assert first == "Error: recipe.yaml: 2 mistakes"
    assert [one[:16] for one in mistakes] == ["  recipe.yaml:3:", "  recipe.yaml:4:"]
    assert all(one.isprintable() for one in mistakes)


def test_what_a_hostile_file_puts_into_an_error_cannot_act(end, capsys):
    assert end(RecipeError("key \x1b[2J\n::error::x\u202e", where="a\nb")) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert told.rstrip("\n").isprintable()


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), click.exceptions.Abort()])
def test_an_interrupted_verb_is_130(end, stop, capsys):
    assert end(stop) == 130
    assert capsys.readouterr().err == "Interrupted; everything that was running has been stopped.\n"


def test_a_terminated_verb_is_143(end, capsys):
    assert end(cli._Terminated()) == 143
    assert "stopped" in capsys.readouterr().err


def start_and_wait(folder: Path, *before: str) -> tuple[subprocess.Popen[bytes], int]:
    """The tool with a program that waits, once that program runs; and the program's number."""
    tool = subprocess.Popen(
        [
            *before,
            sys.executable,
            "-m",
            "reprokit",
            "reproduce",
            "--",
            sys.executable,
            "-c",
            WAITING,
            "{run_dir}",
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 100
    while not (found := [path for path in folder.rglob("pid") if path.read_text()]):
        assert time.monotonic() < deadline
        assert tool.poll() is None
        time.sleep(0.1)
    return tool, int(found[0].read_text())


def is_running(program: int) -> bool:
    state = Path(f"/proc/{program}/stat")
    return state.exists() and "Z" not in state.read_text().split()[2]


@pytest.mark.parametrize(
    ("signals", "code"),
    [
        ([signal.SIGTERM], 143),
        ([signal.SIGHUP], 143),
        ([signal.SIGQUIT], 143),
        ([signal.SIGINT] * 3, 130),
        ([signal.SIGTERM, signal.SIGHUP, signal.SIGINT], 143),
    ],
)
def test_a_signal_that_ends_the_tool_stops_the_program_too(tmp_path, signals, code):
    tool, program = start_and_wait(tmp_path)
    for number in signals:
        tool.send_signal(number)
        time.sleep(0.02)
    assert tool.wait(timeout=30) == code
    assert not is_running(program)


def test_a_terminal_that_is_closed_does_not_stop_what_nohup_started(tmp_path):
    tool, program = start_and_wait(tmp_path, "nohup")
    tool.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    assert (tool.poll(), is_running(program)) == (None, True)
    tool.send_signal(signal.SIGTERM)
    assert tool.wait(timeout=30) == 143


# Streams


@pytest.fixture
def pair(tmp_path) -> list[str]:
    """Two metrics files that differ in many metrics."""
    for name, value in (("a", 1.0), ("b", 2.0)):
        record = {"step": 1, **{f"group/metric_{number}": value for number in range(300)}}
        (tmp_path / name).with_suffix(".jsonl").write_text(json.dumps(record) + "\n")
    return [str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]


def into_a_closed_pipe(*arguments: str):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return reprokit(*arguments, stdout=writer)
    finally:
        os.close(writer)


@pytest.mark.parametrize("json_too", [[], ["--json"]])
def test_a_reader_that_goes_away_is_no_fault_and_no_answer(pair, json_too):
    ended = into_a_closed_pipe("diff", *pair, *json_too)
    assert (ended.returncode, ended.stderr) == (141, "")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["diff", "--help"]])
def test_help_for_nobody_is_no_fault(arguments):
    ended = into_a_closed_pipe(*arguments)
    assert (ended.returncode, ended.stderr) == (141, "")


def test_an_error_that_nobody_reads_does_not_look_like_an_answer():
    reader, writer = os.pipe()
    os.close(reader)
    ended = reprokit("diff", "nowhere", "nowhere", stderr=writer)
    os.close(writer)
    assert (ended.returncode, ended.stdout) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_answer_that_finds_no_space_is_3_and_says_so(pair):
    with Path("/dev/full").open("w") as full:
        ended = reprokit("diff", *pair, stdout=full)
    assert ended.returncode == 3
    assert ended.stderr == "Error: cannot write to standard output: No space left on device\n"


def by_a_shell(line: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The tool as a shell line starts it, ``"$@"`` being its command."""
    return subprocess.run(
        ["sh", "-c", line, "sh", sys.executable, "-m", "reprokit", *arguments],
        check=False,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


LOGGING = (
    "import pathlib, sys; pathlib.Path(sys.argv[1], 'metrics.csv').write_text('step,loss\\n1,2\\n2,1\\n')"
)
ANSWERS = [["reproduce"], ["run"], ["diagnose"]]


@pytest.mark.parametrize("verb", ANSWERS)
def test_with_standard_output_closed_nothing_is_begun_and_no_answer_given(tmp_path, verb):
    ended = by_a_shell('"$@" >&-', *verb, "--", sys.executable, "-c", LOGGING, "{run_dir}", cwd=tmp_path)
    assert ended.returncode == 3
    assert ended.stderr.startswith("Error: standard output is closed")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("streams", ["2>&-", "<&-", "<&- 2>&-", "2>/dev/full"])
def test_without_messages_or_input_the_answer_is_given_as_ever(tmp_path, streams):
    line = f'"$@" {streams}'
    ended = by_a_shell(line, "reproduce", "--", sys.executable, "-c", LOGGING, "{run_dir}", cwd=tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "REPEATABLE" in ended.stdout


@pytest.mark.parametrize(
    ("streams", "code"),
    [(">/dev/full", 3), (">/dev/full 2>/dev/full", 3), (">&- 2>&-", 3), ("1</dev/null", 3)],
)
@pytest.mark.parametrize("verb", ["diff", "report"])
def test_an_answer_that_is_not_written_is_neither_0_nor_1(pair, tmp_path, sample_runs, streams, code, verb):
    arguments = ["diff", pair[0], pair[0]] if verb == "diff" else ["report", "show", *sample_runs]
    ended = by_a_shell(f'"$@" {streams}', *arguments, cwd=tmp_path)
    assert ended.returncode == code, ended.stderr
    assert "bug in reprokit" not in ended.stderr


@pytest.fixture
def sample_runs(tmp_path) -> list[str]:
    """Two runs of a command, made by the tool."""
    command = ["--runs-dir", "made", "--", sys.executable, "-c", LOGGING, "{run_dir}"]
    return [reprokit("run", *command, cwd=tmp_path).stdout.strip() for _ in range(2)]


@pytest.mark.parametrize("kibibytes", [40_000, 120_000, 160_000])
def test_too_little_memory_is_3_and_said_in_a_sentence(pair, tmp_path, kibibytes):
    ended = by_a_shell(f'ulimit -v {kibibytes}; exec "$@"', "diff", *pair, cwd=tmp_path)
    assert (ended.returncode, ended.stdout) == (3, "")
    assert ended.stderr.startswith("Error: there is not enough memory for reprokit.\nHint: ")


@pytest.mark.parametrize(
    "fault", [MemoryError(), OSError(12, "no"), RuntimeError("can't start new thread"), ImportError("x")]
)
def test_a_lack_of_memory_is_known_in_whatever_form_it_comes(end, fault, capsys):
    assert end(fault) == 3
    lacks = not isinstance(fault, ImportError)
    assert ("not enough memory" in capsys.readouterr().err) == lacks


def test_a_full_disk_is_no_fault_of_the_tool_and_names_the_file(end, capsys):
    assert end(OSError(28, "No space left on device", "runs/x/run.json")) == 3
    told = capsys.readouterr().err
    assert told == "Error: runs/x/run.json: No space left on device\nHint: make room on the disk\n"


def test_standard_output_is_data_and_nothing_else(pair):
    differs = reprokit("diff", *pair, "--json")
    assert (differs.returncode, differs.stderr) == (1, "")
    assert json.loads(differs.stdout)["identical"] is False


def test_progress_goes_to_standard_error(tmp_path):
    ended = reprokit("reproduce", "--json", "--", sys.executable, "-c", "pass", cwd=tmp_path)
    assert json.loads(ended.stdout)["exit_code"] == ended.returncode == 4
    assert "phase: train" in ended.stderr


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {}], ids=["NO_COLOR", "pipe"])
def test_what_is_no_terminal_or_wants_no_colour_gets_none(pair, environ):
    ended = reprokit("diff", *pair, env={"TERM": "xterm-256color", **environ})
    assert ended.returncode == 1
    assert "\x1b" not in ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("environ", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_a_terminal_gets_colour_unless_it_wants_none(pair, environ, coloured):
    pty = pytest.importorskip("pty")
    main_end, terminal = pty.openpty()
    try:
        clean = {"NO_COLOR": "", "GITHUB_ACTIONS": "", "TERM": "xterm-256color"}
        ended = reprokit("diff", *pair, env={**clean, **environ}, stdout=terminal)
        shown = os.read(main_end, 65536).decode()
    finally:
        os.close(terminal)
        os.close(main_end)
    assert ended.returncode == 1
    assert "DIFFERS" in shown
    assert ("\x1b[" in shown) is coloured


# Completion


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_completion_and_the_page_tells_how(shell):
    if shell == "bash" and not any(Path(folder, "bash").exists() for folder in os.get_exec_path()):
        pytest.skip("there is no bash")
    ended = reprokit(env={"_REPROKIT_COMPLETE": f"{shell}_source"})
    assert ended.returncode == 0
    assert f"_REPROKIT_COMPLETE={shell}_complete" in ended.stdout
    page = (ROOT / "docs" / "how-to" / "shell-completion.md").read_text(encoding="utf-8")
    assert f"_REPROKIT_COMPLETE={shell}_source reprokit" in page


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("re", {"reproduce", "report", "recipe"}),
        ("golden pro", {"promote"}),
        ("diff --at", {"--atol"}),
        ("xyz", set()),
    ],
)
def test_words_are_completed(line, expected):
    words = f"reprokit {line}"
    environ = {
        "_REPROKIT_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    ended = reprokit(env=environ)
    assert ended.returncode == 0
    assert {one.partition(",")[2] for one in ended.stdout.split()} == expected
