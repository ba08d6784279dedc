"""What features add to verbs of the core: options, answers of their own, and what belongs to an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from reprokit.feature import features, load

if TYPE_CHECKING:
    from reprokit.core.checklist import Report
    from reprokit.request import Request
    from reprokit.session import Session

_Function = TypeVar("_Function", bound=Callable[..., Any])
Options = Mapping[str, Any]
Reproduce = Callable[["Request", "Session"], "tuple[Report, Path]"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """What a feature adds to the answer of a gate.

    Attributes:
        exit_code: In place of the gate's own; None where that stands.
        data: For ``--json``, below keys of its own; empty where nothing was asked for.
        lines: For a terminal.
    """

    exit_code: int | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """What a feature adds to one verb.

    Attributes:
        options: Decorators, each of which adds an option.
        answers: Answers in place of the verb and returns the exit code; None where it was not asked to.
        reproduces: Of ``reproduce``: how what was named is reproduced; None where it is not its kind.
        adds: Of ``verify``: what it adds to the answer on these reports.
    """

    options: tuple[Callable[[Any], Any], ...]
    answers: Callable[[Options], int | None] | None = None
    reproduces: Callable[[str | None, Options], Reproduce | None] | None = None
    adds: Callable[[Sequence[Report], Options, Session], Added] | None = None


def extensions(verb: str) -> list[Extension]:
    """Those of the features that are installed."""
    return [load(feature.extends[verb]) for feature in features() if verb in feature.extends]


def feature_options(verb: str) -> Callable[[_Function], _Function]:
    """The options that features add to a verb, as one decorator."""

    def add(function: _Function) -> _Function:
        for extension in reversed(extensions(verb)):
            for option in reversed(extension.options):
                function = option(function)
        return function

    return add


class ExtensibleGroup(click.Group):
    """A verb of verbs to which features add theirs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Its own and those of features."""
        return sorted([*super().list_commands(ctx), *self._added()])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One of its own, or of a feature."""
        own, place = super().get_command(ctx, cmd_name), self._added().get(cmd_name)
        if own is not None and place is not None:
            raise ValueError(f"two verbs are called {self.name} {cmd_name}")
        command: click.Command | None = load(place) if place is not None else own
        return command

    def _added(self) -> dict[str, str]:
        name = self.name or ""
        return {
            verb: place for feature in features() for verb, place in feature.subverbs.get(name, {}).items()
        }


def must_differ(command: click.Command) -> None:
    """Refuse a verb with two options of one name.

    Raises:
        ValueError: It has; a feature brought one that was there.
    """
    names = [name for option in command.params for name in (*option.opts, *option.secondary_opts)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two options of `reprokit {command.name}` are called {twice[0]}")
