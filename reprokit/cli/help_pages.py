"""Help pages and what is typed: options in groups, names that options had before, the nearest word."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import click

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Row = tuple[str, str]

_FIRST = "Options"
_WIDEST_NAME = 28
_ANY_NUMBER = 10**6
_NO_LIMIT = 10**4


class Title(StrEnum):
    """Groups of options that several verbs have, in the order of a page; those of one verb stand between."""

    RUNS = "How runs are made"
    JUDGING = "How they are judged"
    QUESTIONS = "Further questions"
    OWN = ""
    CLUSTER = "On a cluster"
    WRITTEN = "What is written"
    FOLDERS = "Where files are"


_TITLES: WeakKeyDictionary[click.Parameter, str] = WeakKeyDictionary()


def titled(title: str, *options: Callable[[Any], Any]) -> Callable[[_Function], _Function]:
    """Several options as one decorator, in this order; on a page with groups they stand under the title."""

    def add(function: _Function) -> _Function:
        num_others = len(getattr(function, "__click_params__", []))
        for option in reversed(options):
            function = option(function)
        added: list[click.Parameter] = getattr(function, "__click_params__", [])
        for param in added[num_others:]:
            _TITLES.setdefault(param, title)
        return function

    return add


class Option(click.Option):
    """An option that may have had other names, which are taken as before and shown nowhere."""

    def __init__(self, *args: Any, formerly: str = "", **attributes: Any) -> None:
        names = [*args[0], *formerly.split()]
        super().__init__(names, *args[1:], **attributes)
        self.old_names = tuple(formerly.split())

    def get_help_record(self, ctx: click.Context) -> _Row | None:
        """Its row on a help page."""
        return click.Option.get_help_record(self._as_shown(), ctx)

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Its name in a message."""
        return click.Option.get_error_hint(self._as_shown(), ctx)

    def get_help_extra(self, ctx: click.Context) -> Any:
        """What stands in brackets behind its help, with a range in words where no one would guess it."""
        extra: dict[str, Any] = {**super().get_help_extra(ctx)}
        if isinstance(self.type, click.IntRange | click.FloatRange) and "range" in extra:
            words = _range_in_words(self.type)
            del extra["range"]
            if words:
                extra["range"] = words
        return extra

    def _as_shown(self) -> click.Option:
        shown = copy.copy(self)
        shown.opts = [name for name in self.opts if name not in self.old_names]
        return shown


def _range_in_words(kind: click.IntRange | click.FloatRange) -> str:
    if kind.max is not None and kind.max < _ANY_NUMBER:
        return f"{kind.min} to {kind.max}"
    return f"{kind.min} or more" if kind.min is not None and kind.min > 1 else ""


class Command(click.Command):
    """A verb whose page has its common options first and the others in groups.

    Args:
        common: The names of the common ones, without dashes; "" for a page with one list of options.
    """

    def __init__(self, *args: Any, common: str = "", **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.common = tuple(f"--{name}" for name in common.split())

    def get_short_help_str(self, limit: int = _NO_LIMIT) -> str:
        """Its whole first sentence, for lists and completions."""
        return super().get_short_help_str(limit=_NO_LIMIT)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Suggest the nearest option: none that is an old name, and ``--seed`` for ``-seed``."""
        try:
            return super().parse_args(ctx, list(args))
        except click.NoSuchOption as error:
            short = error.option_name
            whole = next((word for word in args if word.startswith(short) and short[1:2] != "-"), short)
            word = whole.partition("=")[0]
            raise click.NoSuchOption(
                word if word.startswith("--") else f"-{word}",
                f"No such option {word!r}.",
                possibilities=shown_names(self, ctx),
                ctx=ctx,
            ) from None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Offer no name that an option had before."""
        old = {name for param in self.params for name in getattr(param, "old_names", ())}
        return [item for item in super().shell_complete(ctx, incomplete) if item.value not in old]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, in groups where the verb says which are common."""
        groups: dict[str, list[_Row]] = {_FIRST: []}
        for param in sorted(self.get_params(ctx), key=self._place):
            row = param.get_help_record(ctx)
            if row is not None and isinstance(param, click.Option):
                groups.setdefault(self.title_of(param), []).append(row)
        write_sections(formatter, groups)

    def title_of(self, param: click.Parameter) -> str:
        """The group that an option stands in."""
        if not self.common or not set(self.common).isdisjoint(param.opts):
            return _FIRST
        return _TITLES.get(param, _FIRST)

    def _place(self, param: click.Parameter) -> tuple[int, int]:
        title, order = self.title_of(param), list(Title)
        common = next((at for at, name in enumerate(self.common) if name in param.opts), len(self.common))
        if title == _FIRST:
            return (-1, common)
        return (order.index(Title(title) if title in set(order) else Title.OWN), 0)


class Group(click.Group):
    """A verb of verbs: they stand before its options, and a mistyped one gets the nearest as a hint."""

    command_class = Command

    def __init__(self, *args: Any, **attributes: Any) -> None:
        super().__init__(*args, **{"subcommand_metavar": "VERB …", **attributes})

    def get_short_help_str(self, limit: int = _NO_LIMIT) -> str:
        """Its whole first sentence, for lists and completions."""
        return super().get_short_help_str(limit=_NO_LIMIT)

    def nearby(self, ctx: click.Context) -> dict[str, str]:
        """What may have been meant by a mistyped word → as it is typed."""
        return {name: name for name in self.list_commands(ctx)}

    def further_hint(self) -> str:
        """What else to say of a verb that there is not, with a space before it, or ""."""
        return ""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest the nearest verb if there is none of this name."""
        name = args[0]
        if not name.startswith("-") and not ctx.resilient_parsing and self.get_command(ctx, name) is None:
            words = [] if ctx.parent is None else [ctx.info_name or ""]
            near = nearest(name, self.nearby(ctx))
            hint = f" Did you mean {' '.join([*words, near])!r}?" if near else self.further_hint()
            raise click.UsageError(f"There is no verb {' '.join([*words, name])!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs, then the options."""
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs, each with its whole first sentence."""
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, one.get_short_help_str()) for name, one in found if one and not one.hidden]
        write_sections(formatter, {"Verbs": rows})


def write_sections(formatter: click.HelpFormatter, sections: dict[str, list[_Row]]) -> None:
    """Write lists of names and what they are, with one width for all names."""
    widest = min(_WIDEST_NAME, formatter.width // 3)
    lengths = [len(name) for rows in sections.values() for name, _ in rows]
    width = max((length for length in lengths if length <= widest), default=widest)
    for title, rows in sections.items():
        if rows:
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, text in rows], col_max=width)


def nearest(word: str, meant: dict[str, str]) -> str:
    """What may have been meant by a mistyped word; "" where nothing is near."""
    near = difflib.get_close_matches(word, meant, n=1)
    return meant[near[0]] if near else ""


def shown_names(command: click.Command, ctx: click.Context) -> Iterable[str]:
    """The names of a verb's options, without those that they had before."""
    for param in command.get_params(ctx):
        if isinstance(param, click.Option) and not param.hidden:
            old = getattr(param, "old_names", ())
            yield from (name for name in (*param.opts, *param.secondary_opts) if name not in old)
