"""What verbs and options were called before is taken as ever, shown nowhere, and said to be old."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import click
import pytest

from reprokit import cli
from reprokit.cli.help_pages import Option

OLD = [(name, verb) for name, verb in cli.verbs().items() if verb.now]
#: What no other verb is, but an option of one.
OPTIONS_NOW = {"trace": "diff --trace", "selftest": "verify --selftest-only"}


def found(words: list[str]) -> click.Command:
    command: click.Command = cli.root
    for word in words:
        assert isinstance(command, click.Group)
        next_one = command.get_command(click.Context(command), word)
        assert next_one is not None, words
        command = next_one
    return command


def below(
    command: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            one = command.get_command(context, name)
            assert one is not None
            yield from below(one, (*path, name))


def page_of(arguments: list[str], capsys) -> str:
    with pytest.raises(SystemExit) as ended:
        cli.main([*arguments, "--help"])
    assert ended.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(("name", "verb"), OLD, ids=[name for name, _ in OLD])
def test_the_old_name_of_a_verb_is_that_very_verb(name, verb):
    if name in OPTIONS_NOW:
        assert verb.now == OPTIONS_NOW[name]
        return
    before, now = dict(below(found([name]))), dict(below(found(verb.now.split())))
    assert before.keys() == now.keys()
    for words, command in now.items():
        assert before[words].callback is command.callback
        assert before[words].params == command.params


@pytest.mark.parametrize(("name", "verb"), OLD, ids=[name for name, _ in OLD])
def test_the_page_of_an_old_name_says_the_new_one(name, verb, capsys):
    assert f"Old name of `reprokit {verb.now}`." in page_of([name], capsys)


def test_old_names_are_not_listed_and_not_completed(capsys):
    page = page_of([], capsys)
    listed = cli.root.list_commands(click.Context(cli.root))
    for name, _ in OLD:
        assert f"\n  {name} " not in page
        assert name not in listed


def test_the_old_names_are_these():
    before = {"trace", "capture", "learning", "numerics", "export", "checkpoint", "selftest"}
    assert before <= {name for name, _ in OLD}


def answer_of(arguments: list[str], capsys) -> tuple[Any, str, str]:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    told = capsys.readouterr()
    return ended.value.code, told.out, told.err


@pytest.mark.parametrize(
    ("before", "now", "code"),
    [
        ("trace diff A B", "diff --trace A B", 1),
        ("trace diff A A --json", "diff --trace A A --json", 0),
        ("capture --python A", "env capture --python A", 2),
        ("checkpoint verify A", "runs checkpoint verify A", 2),
        ("learning A", "runs learning A", 2),
        ("export k8s train --image i@sha256:00", "runs export k8s train --image i@sha256:00", 2),
        ("numerics check --compare A", "env numerics check --compare A", 2),
        ("selftest no_such", "verify --selftest-only no_such", 2),
        ("selftest --only x --runs A B", "verify --selftest-only --fault x --copy-of A B", 2),
    ],
)
def test_an_old_line_has_the_answer_of_the_new_one(before, now, code, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, draws in (("A", "1"), ("B", "2")):
        (tmp_path / name).mkdir()
        trace = f'{{"update": 1, "params": "{draws}"}}\n'
        (tmp_path / name / "trace.jsonl").write_text(trace)
    answer = answer_of(before.split(), capsys)
    assert answer[0] == code
    assert answer == answer_of(now.split(), capsys)


# Options


def options() -> Iterator[tuple[str, Option]]:
    for words, command in below(cli.root):
        for param in command.params:
            if isinstance(param, Option) and param.old_names:
                yield " ".join(words), param


@pytest.mark.parametrize(
    ("verb", "before", "now"),
    [
        ("tune", "--lag", "--ignore-last"),
        ("runs export k8s", "--claim", "--volume-claim"),
        ("stats", "--like", "--same-inputs-as"),
        ("reproduce", "--base", "--image-from"),
        ("run", "--base", "--image-from"),
        ("image build", "--base", "--image-from"),
        ("data fetch", "--if-any", "--allow-none"),
        ("runs carry-out", "--until-closed", "--stop-when-closed"),
        ("golden promote", "--from", "--report"),
        ("image rebuild", "--from", "--report"),
        ("image lock", "--from", "--dependencies"),
        ("env numerics claims", "--from", "--findings"),
    ],
)
def test_the_old_name_of_an_option_is_that_very_option(verb, before, now):
    (param,) = [one for words, one in options() if words == verb and before in one.opts]
    assert set(param.opts) == {before, now}


def test_whatever_says_what_an_image_is_built_on_takes_both_names():
    found = [param for _, command in below(cli.root) for param in command.params if param.name == "base"]
    assert len(found) > 5
    assert [set(param.opts) for param in found if set(param.opts) != {"--image-from", "--base"}] == []


@pytest.mark.parametrize(("verb", "param"), [pytest.param(*one, id=one[0]) for one in options()])
def test_the_old_name_of_an_option_is_shown_nowhere(verb, param, capsys):
    page = page_of(verb.split(), capsys)
    context = click.Context(found(verb.split()), info_name=verb)
    offered = {item.value for item in context.command.shell_complete(context, "--")}
    for name in param.old_names:
        assert not re.search(rf"{name}(?![\w-])", page)
        assert name not in offered
        assert name not in param.get_error_hint(context)


def test_no_old_name_of_an_option_is_suggested(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["tune", "x", "--lagg", "3"])
    assert ended.value.code == 2
    assert "--lag'" not in capsys.readouterr().err


def test_an_old_option_has_the_answer_of_the_new_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipes").mkdir()
    answers = [
        answer_of(["data", "fetch", name], capsys) for name in ("--if-any", "--allow-none", "--offline")
    ]
    assert answers[0] == answers[1] != answers[2]
