"""A folder of goldens that was named and is not there is a usage error of every verb that reads goldens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from reprokit import cli

#: Verbs that say what is in the folder, or make it.
MAY_LACK = {("golden", "list"), ("golden", "lint"), ("golden", "promote"), ("golden", "record")}

REFUSE_THE_ARGUMENT_FIRST = {
    "report verify",
    "runs checkpoint convert",
    "runs convert",
    "golden import",
    "bisect",
}


def _verbs(
    group: click.Group, above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _verbs(command, (*above, name))
        elif command is not None:
            yield (*above, name), command


VERBS = {
    " ".join(words): (words, command)
    for words, command in _verbs(cli.root)
    if any(one.name == "golden_dir" for one in command.params) and words not in MAY_LACK
}


def _words(command: click.Command, tmp_path: Path) -> list[str]:
    """One word for each argument that must be there, and what the verbs must have besides."""
    named = tmp_path / "some"
    named.mkdir(exist_ok=True)
    words = [str(named) for one in command.params if isinstance(one, click.Argument)]
    for one in command.params:
        if isinstance(one, click.Option) and one.required:
            words += [one.opts[0], "1"]
    return words


def _ended(arguments: list[str], capsys) -> tuple[object, str]:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    printed = capsys.readouterr()
    return ended.value.code, printed.out + printed.err


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_it_ends_with_2_before_anything_is_run(verb, tmp_path, monkeypatch, capsys):
    words, command = VERBS[verb]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipes").mkdir()
    code, said = _ended([*words, "--golden", "nope", *_words(command, tmp_path)], capsys)
    assert code == 2, said
    assert "there is no such folder of goldens" in said or verb in REFUSE_THE_ARGUMENT_FIRST, said
    assert not (tmp_path / "runs").exists()


def test_the_default_folder_may_be_missing_when_it_is_named(tmp_path, monkeypatch, capsys):
    """A project without goldens is NO_GOLDEN or judges nothing, as without the option."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipes").mkdir()
    code, said = _ended(["verify", "--golden", "golden/"], capsys)
    assert "no such folder" not in said
    assert code == 4
