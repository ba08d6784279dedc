"""`reprokit` itself: the map of verbs, help, start-up, exit codes, completion."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from reprokit import cli
from reprokit.cli import streams
from reprokit.errors import CannotJudgeError, EngineError, MetricsError, RecipeError
from reprokit.feature import Heading, load
from reprokit.recipes.mistakes import combined
from support.terminal import Terminal
from support.tool_process import ROOT, TERMINAL, reprokit

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
FOR_PROGRAMS = {"runs export k8s", "runs carry-out"}
ANSWERING = [one for one in ALL if not isinstance(one.values[1], click.Group) and one.id not in FOR_PROGRAMS]


# The map and the help pages


@pytest.mark.parametrize(("verb", "listed"), cli.verbs().items())
def test_the_map_says_of_a_verb_what_the_verb_says_of_itself(verb, listed):
    command = load(listed.command)
    assert (command.name, command.short_help) == (verb, listed.help)


def help_page(words, command) -> str:
    named = cli.root.context_settings["help_option_names"]  # kept from the first call on
    context = click.Context(
        command, info_name=" ".join(("reprokit", *words)), terminal_width=TERMINAL, help_option_names=named
    )
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
    for verb, listed in cli.verbs().items():
        is_there = re.search(rf"^  {verb} +{re.escape(listed.help)}$", page, re.MULTILINE)
        assert (is_there is not None) == (listed.heading is not None), verb


def test_what_is_not_in_the_map_is_an_old_name_or_help():
    unlisted = {verb for verb, listed in cli.verbs().items() if listed.heading is None and not listed.now}
    assert unlisted == {"help"}


def test_the_verbs_stand_under_their_headings():
    page = help_page((), cli.root)
    for heading in Heading:
        listed = {verb for verb, one in cli.verbs().items() if one.heading is heading}
        section = page.partition(f"\n{heading}:\n")[2].partition("\n\n")[0]
        assert {line.split()[0] for line in section.splitlines()} == listed


@pytest.mark.parametrize("words", [words for words, command in verbs() if isinstance(command, click.Group)])
def test_no_line_on_a_verb_is_cut(words):
    command: click.Command = cli.root
    for word in words:
        command = command.get_command(click.Context(command), word)  # type: ignore[attr-defined]
    assert "..." not in help_page(words, command)


@pytest.mark.parametrize(("words", "command"), ALL)
def test_the_common_options_of_a_verb_are_its_own(words, command):
    named = getattr(command, "common", ())
    assert set(named) <= {name for param in command.params for name in param.opts}


@pytest.mark.parametrize(("words", "command"), ANSWERING)
def test_a_mistyped_option_of_any_verb_gets_the_nearest(words, command, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([*words, "-json"])
    assert ended.value.code == 2
    assert "Did you mean" in capsys.readouterr().err


def test_a_page_has_the_common_options_first_and_then_groups(capsys):
    with pytest.raises(SystemExit):
        cli.main(["reproduce", "--help"])
    page = capsys.readouterr().out
    first = page.partition("\nOptions:\n")[2].partition("\n\n")[0]
    assert re.findall(r"^  (?:-\w, )?(--[\w-]+)", first, re.MULTILINE) == [
        *("--seed", "--golden", "--backend", "--verbose", "--json"),
        "--help",
    ]
    titles = re.findall(r"^(\S.*):$", page.partition("\nOptions:\n")[2], re.MULTILINE)
    assert titles[:3] == ["How runs are made", "How they are judged", "Further questions"]
    assert (
        page.index("How runs are made") < page.index("--set PATH=VALUE") < page.index("How they are judged")
    )


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
        (["golden", "lst"], "There is no verb 'golden lst'. Did you mean 'golden list'?"),
        (["runs", "atach"], "There is no verb 'runs atach'. Did you mean 'runs attach'?"),
        (["lerning"], "Did you mean 'runs learning'?"),
        (["diff", "--rtl", "1", "a", "b"], "--rtol"),
        (["run", "x", "-seed", "3"], "No such option '-seed'. (Did you mean one of: '--seed'"),
        (["run", "x", "-backend=local"], "No such option '-backend'. Did you mean '--backend'?"),
        (["runs", "list", "--verdct", "x"], "Did you mean '--verdict'?"),
        (["diff", "only-one"], "Missing argument 'ACTUAL'"),
        (["reproduce"], "name a recipe, or a command after --"),
        (["reproduce", "--"], "nothing follows --: give a command"),
        (["reproduce", "--seed", "-1", "x"], "-1"),
        (["--nonsense"], "--nonsense"),
        (["diff", "--trace", "--rtol", "1", "a", "b"], "--trace compares all that was recorded"),
        (["diff", "--trace", "no_such", "b"], "no_such: there is no such folder"),
        (["verify", "--faults", "3"], "--faults goes with --selftest-only"),
        (["verify", "--selftest-only", "--strict"], "--strict is for runs that are judged"),
        (["verify", "--selftest-only", "a", "b"], "--selftest-only takes one recipe"),
        (["verify", "--selftest-only", "--cpu", "Haswell"], "--selftest-only is for whole trainings"),
    ],
)
def test_wrong_usage_is_2_with_a_hint_on_standard_error(arguments, hint, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    told = capsys.readouterr()
    assert (ended.value.code, told.out) == (2, "")
    assert hint in told.err


@pytest.mark.parametrize("arguments", [["verify"], ["reproduce", "x"]])
def test_without_recipes_the_hint_is_the_command_that_makes_one(arguments, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    assert "Hint: make a recipe: reprokit init -- python train.py" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("verb", "default"),
    [
        ("verify", "every seed that the recipe declares or that has a golden"),
        ("bisect", "the recipe's first"),
        ("reproduce", "the recipe's first; 0 for a command"),
    ],
)
def test_a_help_page_says_which_seed_is_run_where_none_is_named(verb, default, capsys):
    with pytest.raises(SystemExit):
        cli.main([verb, "--help"])
    assert f"--seed N Seed [default: {default}]." in " ".join(capsys.readouterr().out.split())


def test_the_code_that_a_verb_returns_is_the_exit_code(end):
    assert [end(code) for code in (0, 1, 2, 3, 4, 130, 143)] == [0, 1, 2, 3, 4, 130, 143]


@pytest.mark.parametrize(
    "fault",
    [ValueError("boom"), KeyError("x"), AssertionError(), RecursionError(), OSError(errno.EINVAL, "x")],
)
def test_a_fault_of_the_tool_is_3_and_says_whose_fault_it_is(end, fault, capsys):
    assert end(fault) == 3
    told = capsys.readouterr()
    assert told.out == ""
    assert "Traceback" in told.err
    assert "a bug in reprokit, not in your program" in told.err


@pytest.mark.parametrize("of_a_disk", [errno.EIO, errno.ESTALE, errno.EROFS])
def test_a_disk_that_fails_is_3_too_and_no_bug_is_named(end, of_a_disk, capsys):
    assert end(OSError(of_a_disk, os.strerror(of_a_disk))) == 3
    told = capsys.readouterr().err
    assert told.startswith(f"Error: {os.strerror(of_a_disk)}\nHint: ")
    assert "Traceback" not in told
    assert "bug" not in told


def test_where_no_temporary_file_can_be_made_it_says_so_and_no_bug_is_named(
    end, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(tmp_path / "gone")])
    with pytest.raises(FileNotFoundError) as raised:
        tempfile.gettempdir()
    assert end(raised.value) == 3
    told = capsys.readouterr().err
    assert "no folder for temporary files can be written" in told
    assert "TMPDIR" in told
    assert "Traceback" not in told


def test_a_folder_that_was_removed_is_no_bug(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    words = f'cd {gone} && rmdir {gone} && exec "$@"'
    ended = subprocess.run(
        ["bash", "-c", words, "bash", sys.executable, "-P", "-m", "reprokit", "runs", "list"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert ended.returncode == 3
    assert "the current folder was removed" in ended.stderr
    assert "Traceback" not in ended.stderr


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


def test_an_interrupt_within_an_exec_as_of_a_dataclass_is_130_and_no_signal(tmp_path):
    program = """
import sys
from reprokit import cli

def interrupted(_arguments):
    exec("raise KeyboardInterrupt")

cli._answer = interrupted
cli.main([])
"""
    (tmp_path / "interrupted.py").write_text(program)
    done = subprocess.run(  # as a module: a script is an exec of its own
        [sys.executable, "-m", "interrupted"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 130, done.stderr
    assert done.stderr == "Interrupted; everything that was running has been stopped.\n"


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), click.exceptions.Abort()])
def test_an_interrupted_verb_is_130(end, stop, capsys):
    assert end(stop) == 130
    assert capsys.readouterr().err == "Interrupted; everything that was running has been stopped.\n"


def test_a_terminated_verb_is_143(end, capsys):
    assert end(cli._Terminated()) == 143
    assert "stopped" in capsys.readouterr().err


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


def test_what_a_completed_verb_does_is_said_whole():
    environ = {
        "_REPROKIT_COMPLETE": "fish_complete",
        "COMP_WORDS": "reprokit runs ",
        "COMP_CWORD": "",
    }
    told = reprokit(env=environ).stdout
    assert "Remove run folders that match all options, except those that a golden or a report" in told
    assert "..." not in told


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("re", {"reproduce", "report", "recipe"}),
        ("golden pro", {"promote"}),
        ("diff --at", {"--atol"}),
        ("ru", {"run", "runs"}),
        ("tune --ig", {"--ignore-last"}),
        ("lear", set()),
        ("tune --la", set()),
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


def test_an_error_is_broken_between_words_on_a_terminal_only(monkeypatch):
    text = "Error: there is no folder of recipes in /a/long/path/to/a/project\nHint: make a recipe"
    assert streams.fitted(text) == text
    monkeypatch.setattr("shutil.get_terminal_size", lambda *_, **__: os.terminal_size((40, 24)))
    monkeypatch.setattr("sys.stderr", Terminal())
    assert streams.fitted(text).split("\n") == [
        "Error: there is no folder of recipes in",
        "  /a/long/path/to/a/project",
        "Hint: make a recipe",
    ]


def test_a_path_in_an_error_begins_at_the_folder_where_one_is_on_a_terminal_only(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    text = f"Error: {tmp_path}/reports/one: the folder holds no metrics file"
    assert streams.fitted(text) == text
    monkeypatch.setattr("shutil.get_terminal_size", lambda *_, **__: os.terminal_size((80, 24)))
    monkeypatch.setattr("sys.stderr", Terminal())
    assert streams.fitted(text) == "Error: reports/one: the folder holds no metrics file"
