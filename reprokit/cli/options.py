"""Options that several verbs share, and what verbs make of them."""

from __future__ import annotations

import contextlib
import math
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from reprokit.cli.extensions import UnshownOption
from reprokit.cli.help_pages import Command, Option, Title, titled
from reprokit.request import BACKENDS, BASES, Request, names_places

if TYPE_CHECKING:
    from reprokit.project import Project

_Function = TypeVar("_Function", bound=Callable[..., Any])

#: How many points of a curve are drawn at most.
PLOT_POINTS = 600
DEFAULTS = Request()
#: Further back no run was made: a century.
MOST_DAYS = 36_500
_PLAIN = "reprokit.plain_command"


class _Folder(click.Path):
    """A folder; an empty word, as of a variable that is not set, is none: it would be the working folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("the name of the folder is empty; is a variable not set?", param, ctx)
        return super().convert(value, param, ctx)


_FOLDER = _Folder(file_okay=False, path_type=Path)


class FiniteRange(click.FloatRange):
    """A number in a range; NaN, which no comparison refuses, and infinities are none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number; what is no number at all is refused as ever."""
        with contextlib.suppress(ValueError):
            if not math.isfinite(float(value)):
                self.fail(f"{value} is not a finite number", param, ctx)
        return float(super().convert(value, param, ctx))


class Share(click.ParamType[float]):
    """A share of runs: ``1/100``, ``1%`` or ``0.01``."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The share as a number between 0 and 1."""
        text = str(value).replace(" ", "")
        share = math.nan
        with contextlib.suppress(ValueError, ZeroDivisionError):
            over, _, under = text.removesuffix("%").partition("/")
            share = float(over) / float(under or 1) / (100 if text.endswith("%") else 1)
        if not 0 < share < 1:
            self.fail(f"{value!r} is no share between 0 and 1, such as 1/100, 1% or 0.01", param, ctx)
        return share


class StopAt(click.ParamType[Any]):
    """Where runs are killed: a step, several, ``every`` or ``middle``."""

    name = "step"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """One step as a number, all else as it is typed."""
        text = str(value).replace(" ", "")
        if not names_places(text):
            self.fail(f"{value!r} is none of: a number, several with commas, every, middle", param, ctx)
        return int(text) if text.isdecimal() else text


def examples(*commands: str) -> str:
    """The end of a help page: one command a line, never wrapped."""
    title = "Example:" if len(commands) == 1 else "Examples:"
    return "\b\n" + "\n".join([title, *(f"  {command}" for command in commands)])


def _use_engine(_context: click.Context, _option: click.Parameter, host: str | None) -> None:
    if host is None:
        return
    if not host.startswith(("unix://", "tcp://", "ssh://", "http://", "https://", "npipe://")):
        raise click.BadParameter(f"{host!r} is not an engine address such as unix:///PATH or tcp://HOST:PORT")
    os.environ["DOCKER_HOST"] = host


def backend_option(*, help: str, metavar: str | None = None) -> Callable[[_Function], _Function]:  # noqa: A002
    """``--backend``: how a run is isolated."""
    return titled(
        Title.RUNS,
        click.option(
            "--backend",
            type=click.Choice(BACKENDS),
            default=DEFAULTS.backend,
            show_default=True,
            metavar=metavar,
            help=help,
        ),
    )


def base_option(
    *,
    help: str = "What the image is built on: a registry's image by digest, or distribution packages.",  # noqa: A002
    metavar: str | None = None,
) -> Callable[[_Function], _Function]:
    """``--image-from``, once ``--base``: what an image is built on."""
    return titled(
        Title.RUNS,
        click.option(
            "--image-from",
            "base",
            cls=Option,
            formerly="--base",
            type=click.Choice(BASES),
            default=DEFAULTS.base,
            show_default=True,
            metavar=metavar,
            help=help,
        ),
    )


def timeout_option(what: str = "a run") -> Callable[[_Function], _Function]:
    """``--timeout``: when something is stopped."""
    return titled(
        Title.RUNS,
        click.option(
            "--timeout",
            "timeout_s",
            cls=Option,
            type=FiniteRange(min=0, min_open=True),
            metavar="SECONDS",
            help=f"Stop {what} after this many seconds.",
        ),
    )


def number_option(
    *names: str,
    least: int,
    help: str,  # noqa: A002
    most: int | None = None,
    default: int | None = None,
    metavar: str = "N",
    formerly: str = "",
) -> Callable[[_Function], _Function]:
    """An option for a whole number from ``least`` to ``most``; its default, if any, is shown."""
    return click.option(
        *names,
        cls=Option,
        formerly=formerly,
        type=click.IntRange(least, most),
        default=default,
        show_default=default is not None,
        metavar=metavar,
        help=help,
    )


def json_option(help: str = "Print a JSON object.") -> Callable[[_Function], _Function]:  # noqa: A002
    """``--json``: an answer for machines, on stdout."""
    return click.option("--json", "as_json", is_flag=True, help=help)


def plot_option(what: str) -> Callable[[_Function], _Function]:
    """``--plot``: curves as a picture."""
    file = click.Path(dir_okay=False, path_type=Path)
    about = f"Draw the curves of {what}."
    return titled(Title.WRITTEN, click.option("--plot", type=file, metavar="FILE.svg", help=about))


def ignore_option(
    help: str = "Leave metrics out of the comparison, such as 'time/*' (plain commands only).",  # noqa: A002
) -> Callable[[_Function], _Function]:
    """``--ignore-metric``: metrics that are not compared."""
    option = click.option("--ignore-metric", "ignore", multiple=True, metavar="PATTERN", help=help)
    return titled(Title.JUDGING, option)


def output_option() -> Callable[[_Function], _Function]:
    """``--output``: files that are compared next to the metrics."""
    about = "Compare these files of {run_dir} too, such as '*.pt' (plain commands only)."
    option = click.option("--output", "outputs", multiple=True, metavar="PATTERN", help=about)
    return titled(Title.JUDGING, option)


class _Seed(click.ParamType[int]):
    name = "seed"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            seed = int(value)
        except ValueError:
            seed = -1
        if not 0 <= seed < 2**32:
            self.fail(f"{value!r} is not a whole number from 0 to {2**32 - 1}", param, ctx)
        return seed


#: ``--runs-dir``, of verbs that need no other folder.
runs_dir_option = titled(
    Title.FOLDERS, click.option("--runs-dir", type=_FOLDER, help="Folder of runs  [default: runs/].")
)

#: ``--golden``, ``--runs-dir``, ``--reports-dir``: where things are.
folder_options = titled(
    Title.FOLDERS,
    click.option("--golden", "golden_dir", type=_FOLDER, help="Folder of goldens  [default: golden/]."),
    runs_dir_option,
    click.option("--reports-dir", type=_FOLDER, help="Folder of reports  [default: reports/]."),
)

#: ``--engine-host``: which container engine, as the variable DOCKER_HOST names one.
engine_option = titled(
    Title.RUNS,
    click.option(
        "--engine-host",
        metavar="URL",
        expose_value=False,
        callback=_use_engine,
        help="Container engine, such as unix:///run/podman/podman.sock  [default: $DOCKER_HOST].",
    ),
)

#: ``--platform``: what a recipe sets otherwise on one of its platforms.
platform_option = titled(
    Title.RUNS,
    click.option(
        "--platform", metavar="NAME", help="Use the recipe's settings for this platform, such as xla-cpu."
    ),
)


def run_options_with(*, default_seed: str) -> Callable[[_Function], _Function]:
    """How a run is made: seed, backend, overrides, limits; ``default_seed`` is run without --seed."""
    return titled(
        Title.RUNS,
        click.option("--seed", type=_Seed(), metavar="N", help=f"Seed  [default: {default_seed}]."),
        backend_option(
            metavar="BACKEND", help="docker, local (virtual environment from the same lock) or auto."
        ),
        base_option(metavar="BASE", help="What the image is built on: registry, bootstrap or auto."),
        click.option("--set", "overrides", multiple=True, metavar="PATH=VALUE", help="Override a setting."),
        platform_option,
        timeout_option(),
        engine_option,
    )


#: The same, for verbs that take a recipe or a plain command.
run_options = run_options_with(default_seed="the recipe's first; 0 for a command")

#: ``--exclusive``: GPUs that no one else computes on.
exclusive_option = titled(
    Title.RUNS,
    click.option("--exclusive", is_flag=True, help="Refuse a GPU that another program is using."),
)

#: ``--verbose``: on a terminal, the whole report in place of one screen.
verbose_option = click.option(
    "-v", "--verbose", is_flag=True, help="Show every row, table and difference, not one screen of them."
)

#: How runs are judged.
judge_options = titled(
    Title.JUDGING,
    click.option("--strict", is_flag=True, help="Make advisory rows required."),
    titled(
        Title.RUNS,
        number_option(
            "--repeats", least=2, most=1000, default=DEFAULTS.repeats, help="Runs with the same seed."
        ),
        click.option("--sequential", is_flag=True, help="One run after the other, even with cores to spare."),
    ),
    json_option("Print report.json."),
    verbose_option,
)

#: ``--stress``: whether a difference that is rare shows where runs are disturbed.
stress_options = titled(
    Title.QUESTIONS,
    click.option(
        "--stress",
        is_flag=True,
        help="Disturb the runs (load, delays, memory): how often do they differ? Passes nothing.",
    ),
    click.option(
        "--at-most",
        type=Share(),
        metavar="SHARE",
        help="Make enough runs to show, if none differs, that at most this share does: 1/100, 1%, 0.01.",
    ),
)

#: ``--attribute``: whether code or environment explains a mismatch with the golden.
attribute_option = titled(
    Title.QUESTIONS,
    click.option(
        "--attribute",
        is_flag=True,
        help="On a mismatch, run the golden's commit and lock too: is it the code or the environment?",
    ),
)

#: ``--vary`` and ``--diagnose``: what a result depends on, and why runs differ.
why_options = titled(
    Title.QUESTIONS,
    click.option("--vary", is_flag=True, help="Train once more under the variations listed in `immune_to`."),
    click.option(
        "--same-under",
        is_flag=True,
        help="Train once more with each thing that `same_under` says is the same.",
    ),
    click.option(
        "--diagnose", is_flag=True, help="Where two runs differ, find the cause and put it in the report."
    ),
)

#: ``--resume`` and ``--stop-at``: whether a training that is killed and resumed gives the same numbers.
resume_options = titled(
    Title.QUESTIONS,
    click.option(
        "--resume", is_flag=True, help="Kill one more run, resume it, and compare it with the first."
    ),
    click.option(
        "--stop-at",
        type=StopAt(),
        metavar="STEP[,STEP…]",
        help="Where --resume kills a run; `middle`, or `every` update  [default: drawn from the seed].",
    ),
)


#: What `--stress` does not go with, which asks for something to be passed or compared.
_NOT_STRESSED = ("resume", "stop_at", "vary", "same_under", "attribute", "strict", "copy_to", "rounding")
_STRESSED_RUNS = 20
_MOST_RUNS = 1000


def plan_stress(options: dict[str, Any], *, plain: bool, of_feature: bool) -> None:
    """Refuse what `--stress` does not go with; put the number of runs in its place and say what it shows."""
    from reprokit.core.statistics.shares import runs_for
    from reprokit.harness import shown_by

    share = options["at_most"]
    if not options["stress"]:
        if share is not None:
            raise click.UsageError("--at-most goes with --stress")
        return
    refused = [name for name in _NOT_STRESSED if options.get(name)]
    if of_feature or refused or (plain and options["golden_dir"] is not None):
        what = f"--{refused[0].replace('_', '-')}" if refused else "a bundle" if of_feature else "--golden"
        raise click.UsageError(f"--stress does not go with {what}: disturbed runs pass nothing")
    typed = click.get_current_context().get_parameter_source("repeats")
    if typed is click.core.ParameterSource.DEFAULT:
        options["repeats"] = _STRESSED_RUNS if share is None else runs_for(share)
    elif share is not None:
        raise click.UsageError("--at-most and --repeats both say how many runs there are")
    if options["repeats"] > _MOST_RUNS:
        raise click.UsageError(f"that takes {options['repeats']:,} runs; {_MOST_RUNS:,} is the most")
    click.echo(f"note: {shown_by(options['repeats'])}", err=True)


def picture_file(plot: Path | None) -> None:
    """Raise `UsageError` for a picture that could not be written, before anything is compared."""
    from reprokit.errors import UsageError

    if plot is None:
        return
    if plot.suffix != ".svg":
        raise UsageError("--plot draws SVG", expected="a name that ends in .svg", actual=str(plot))
    if not plot.parent.is_dir():
        folder = str(plot.parent)
        raise UsageError("the folder for the picture does not exist", where=folder, fix=f"mkdir -p {folder}")


def write_picture(plot: Path, picture: str) -> None:
    """Write a picture, and say where."""
    from reprokit import workspace

    workspace.write_named(plot, picture.encode("utf-8"))
    click.echo(f"Written: {plot}", err=True)


def project_of(options: dict[str, Any], *, may_lack_goldens: bool = False) -> Project:
    """The folders that the options and the working directory name.

    Args:
        options: Values of ``folder_options``, or of some of them.
        may_lack_goldens: Whether a named folder of goldens may be missing; the default one always may.

    Raises:
        UsageError: The folder of goldens that was named does not exist.
    """
    from reprokit.errors import UsageError
    from reprokit.project import Project

    project = Project.around(
        Path.cwd(),
        golden_dir=options.get("golden_dir"),
        runs_dir=options.get("runs_dir"),
        reports_dir=options.get("reports_dir"),
    )
    named = "--golden" in project.options
    if named and not may_lack_goldens and not project.golden_dir.is_dir():
        raise UsageError(
            "there is no such folder of goldens",
            where=f"--golden {options['golden_dir']}",
            fix="name the folder that `reprokit golden list --golden DIRECTORY` lists, or leave --golden out",
        )
    return project


def request_of(options: dict[str, Any], *, ignore: tuple[str, ...] = ()) -> Request:
    """What the options ask for."""
    from reprokit.harness.running import shell_line

    known = {field.name for field in fields(Request)}
    given = {name: value for name, value in options.items() if name in known and value is not None}
    if platform := options.get("platform"):
        from reprokit.recipes import PLATFORM

        given["overrides"] = (f"{PLATFORM}={platform}", *given.get("overrides", ()))
    return Request(
        **{
            **given,
            "ignore": ignore,
            "side_by_side": not options.get("sequential", False),
            "command": shell_line(["reprokit", *shown_words(sys.argv[1:])]),
            "resume": options.get("resume", False) or options.get("stop_at") is not None,
            "profile_step": options.get("profile_step") or (1 if options.get("profile") else None),
        }
    )


def shown_words(words: Sequence[str]) -> list[str]:
    """A command line as a report may show it: without the values of options that it must not show."""
    context = click.get_current_context(silent=True)
    unshown = {
        name: option.metavar or ""
        for option in (context.command.params if context else ())
        if isinstance(option, UnshownOption)
        for name in option.opts
    }
    shown = list(words)
    own = shown[: shown.index("--")] if "--" in shown else shown
    for at, word in enumerate(own):
        option, equals, _ = word.partition("=")
        if equals and option in unshown:
            shown[at] = f"{option}={unshown[option]}"
        elif at and own[at - 1] in unshown:
            shown[at] = unshown[own[at - 1]]
    return shown


class RecipeOrCommand(Command):
    """A verb that takes RECIPE, or a plain command after ``--`` that click does not parse."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Cut the plain command off before click reads options."""
        if "--" in args:
            at = args.index("--")
            ctx.meta[_PLAIN] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)


def plain_command() -> tuple[str, ...] | None:
    """What stands after ``--``; None where nothing does."""
    plain: tuple[str, ...] | None = click.get_current_context().meta.get(_PLAIN)
    return plain


def recipe_or_command(recipe: str | None) -> tuple[str | None, tuple[str, ...]]:
    """RECIPE, or the plain command; never both, never neither.

    Raises:
        click.UsageError: Both, neither, nothing after ``--``, or settings of a recipe for a plain command.
    """
    plain = plain_command()
    if recipe is not None and plain is not None:
        raise click.UsageError("name a recipe, or a command after --, not both")
    if plain == ():
        raise click.UsageError("nothing follows --: give a command, such as -- python train.py --seed {seed}")
    if recipe is None and plain is None:
        raise click.UsageError("name a recipe, or a command after --")
    given = click.get_current_context().params
    of_recipes = (("overrides", "--set"), ("platform", "--platform"), ("exclusive", "--exclusive"))
    for name, typed in of_recipes:
        if plain and given.get(name):
            raise click.UsageError(f"{typed} is for recipes; a plain command is run as it is typed")
    return recipe, plain or ()
