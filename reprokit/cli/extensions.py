"""What features add to verbs of the core: options, answers of their own, and what belongs to an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from reprokit.cli.help_pages import Group
from reprokit.feature import features, load

if TYPE_CHECKING:
    from reprokit.core.checklist import Report
    from reprokit.request import Request
    from reprokit.session import Session

_Function = TypeVar("_Function", bound=Callable[..., Any])
Options = Mapping[str, Any]
Reproduce = Callable[["Request", "Session"], "tuple[Report, Path]"]
Finish = Callable[[Path], None]


class UnshownOption(click.Option):
    """An option whose value a report replaces by its kind."""


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
class Audited:
    """What a feature adds to the answer of ``report verify``.

    Attributes:
        findings: Why the report does not stand.
        data: For ``--json``, below keys of its own.
        lines: For a terminal.
    """

    findings: tuple[str, ...] = ()
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
        asks: Of ``sweep``: fields of what is asked for.
        prepares: Of ``reproduce`` and ``verify``: refuses before anything is run what it could not carry out,
            and returns what it does with the folder of each report; None where nothing was asked for.
        audits: Of ``report verify``: what it adds to the answer on this report.
    """

    options: tuple[Callable[[Any], Any], ...]
    answers: Callable[[Options], int | None] | None = None
    reproduces: Callable[[str | None, Options], Reproduce | None] | None = None
    adds: Callable[[Sequence[Report], Options, Session], Added] | None = None
    asks: Callable[[Options], Mapping[str, Any]] | None = None
    prepares: Callable[[Options], Finish | None] | None = None
    audits: Callable[[Path, Options], Audited] | None = None


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


def additions(reports: Sequence[Report], options: Options, session: Session) -> list[Added]:
    """What features add to the answer of ``verify``."""
    return [each.adds(reports, options, session) for each in extensions("verify") if each.adds]


def answer_of(verb: str, options: Options) -> int | None:
    """The exit code of the feature that answers in place of a verb; None where none was asked to."""
    answers = (extension.answers(options) for extension in extensions(verb) if extension.answers)
    return next((code for code in answers if code is not None), None)


def asked_of_features(verb: str, options: Options) -> dict[str, Any]:
    """What features add to what a verb asks for."""
    asked = (extension.asks(options) for extension in extensions(verb) if extension.asks)
    return {name: value for fields in asked for name, value in fields.items()}


def typed_of_others(verb: str, options: Options, *, but: Extension) -> list[str]:
    """The options that other features add to a verb and that were given, as they are typed."""

    def takes() -> None: ...

    for option in (option for each in extensions(verb) if each is not but for option in each.options):
        option(takes)
    added: list[click.Option] = getattr(takes, "__click_params__", [])
    typed = (
        each for each in added if options.get(each.name or "") not in (None, False, (), [], each.default)
    )
    return [each.opts[0] for each in typed]


def finishing(verb: str, options: Options) -> Callable[[Path | None], None]:
    """What features do with the folder of each report that a verb writes."""
    prepared = [extension.prepares(options) for extension in extensions(verb) if extension.prepares]

    def finish(folder: Path | None) -> None:
        for each in filter(None, prepared):
            if folder is not None:
                each(folder)

    return finish


class ExtensibleGroup(Group):
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
        if command is not None:
            must_differ(command)
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
