"""What a verb's options ask for; what they leave out has the default that Request itself gives it."""

from dataclasses import replace

import click
import pytest

from reprokit import cli
from reprokit.cli.options import request_of
from reprokit.request import BACKENDS, BASES, Request

TYPED = Request(command="reprokit run cartpole_baseline")


@pytest.fixture(autouse=True)
def typed(monkeypatch):
    monkeypatch.setattr("sys.argv", ["reprokit", "run", "cartpole_baseline"])


def test_options_that_a_verb_does_not_have_or_that_were_left_out_have_the_requests_defaults():
    assert request_of({}) == TYPED
    assert request_of({"seed": None, "timeout_s": None, "as_json": True, "golden_dir": None}) == TYPED


def test_what_was_asked_for_is_in_the_request():
    given = {"seed": 0, "backend": "local", "overrides": ("a=1",), "sequential": True, "stop_at": 9}
    asked = replace(TYPED, seed=0, backend="local", overrides=("a=1",), side_by_side=False)
    assert request_of(given, ignore=("x",)) == replace(asked, resume=True, stop_at=9, ignore=("x",))
    assert request_of({"profile": True}) == replace(TYPED, profile_step=1)


def _options(command, path=()):
    """Every option of every verb, with the verb's words."""
    context = click.Context(command)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            yield from _options(command.get_command(context, name), (*path, name))
    yield from ((" ".join(path), one) for one in command.params if isinstance(one, click.Option))


def test_every_verb_gives_an_option_of_a_request_the_same_choices_and_default():
    choices = {"backend": BACKENDS, "base": BASES}
    seen = {verb: one for verb, one in _options(cli.root) if one.name in choices}
    assert {"reproduce", "runs reproduce", "env numerics check", "image build"} <= set(seen)
    for verb, option in _options(cli.root):
        if option.name in choices:
            assert (verb, tuple(option.type.choices)) == (verb, choices[option.name])
        if option.name in {"backend", "base", "repeats"}:
            assert (verb, option.default) == (verb, getattr(Request(), option.name))
