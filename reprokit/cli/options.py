"""Options that several verbs share, so that they read and behave alike everywhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from reprokit.request import BACKENDS, BASES, Request

if TYPE_CHECKING:
    from reprokit.project import Project

_Function = TypeVar("_Function", bound=Callable[..., Any])

#: How many points of a curve are drawn at most.
PLOT_POINTS = 600
DEFAULTS = Request()
_PLAIN = "reprokit.plain_command"
_FOLDER = click.Path(file_okay=False, path_type=Path)


def examples(*commands: str) -> str:
    """The end of a help page: one command a line, as it is typed, wrapped nowhere."""
    title = "Example:" if len(commands) == 1 else "Examples:"
    return "\b\n" + "\n".join([title, *(f"  {command}" for command in commands)])


def folder_options(function: _Function) -> _Function:
    """``--golden``, ``--runs-dir``, ``--reports-dir``: where things live."""
    for option in reversed(
        (
            click.option(
                "--golden", "golden_dir", type=_FOLDER, help="Where goldens live  [default: golden/]."
            ),
            click.option("--runs-dir", type=_FOLDER, help="Where run folders go  [default: runs/]."),
            click.option("--reports-dir", type=_FOLDER, help="Where reports go  [default: reports/]."),
        )
    ):
        function = option(function)
    return function


def engine_option(function: _Function) -> _Function:
    """``--engine-host``: which container engine, as the variable DOCKER_HOST names one."""
    return click.option(
        "--engine-host",
        metavar="URL",
        expose_value=False,
        callback=_named_engine,
        help="Container engine, such as unix:///run/podman/podman.sock  [default: $DOCKER_HOST].",
    )(function)


def _named_engine(_context: click.Context, _option: click.Parameter, host: str | None) -> None:
    if host is None:
        return
    if not host.startswith(("unix://", "tcp://", "ssh://", "http://", "https://", "npipe://")):
        raise click.BadParameter(f"{host!r} is no address of an engine: unix:///PATH or tcp://HOST:PORT")
    os.environ["DOCKER_HOST"] = host


def backend_option(*, help: str, metavar: str | None = None) -> Callable[[_Function], _Function]:  # noqa: A002
    """``--backend``: how a run is realised."""
    return click.option(
        "--backend",
        type=click.Choice(BACKENDS),
        default=DEFAULTS.backend,
        show_default=True,
        metavar=metavar,
        help=help,
    )


def base_option(
    *,
    help: str = "What an image is built on: a registry's image by digest, or distribution packages.",  # noqa: A002
    metavar: str | None = None,
) -> Callable[[_Function], _Function]:
    """``--base``: what an image is built on."""
    return click.option(
        "--base",
        type=click.Choice(BASES),
        default=DEFAULTS.base,
        show_default=True,
        metavar=metavar,
        help=help,
    )


def run_options(function: _Function) -> _Function:
    """How a run is made: seed, backend, overrides, limits."""
    for option in reversed(
        (
            click.option(
                "--seed",
                type=_Seed(),
                metavar="N",
                help="Seed  [default: the recipe's first; a command's is 0].",
            ),
            backend_option(
                metavar="BACKEND", help="docker, local (virtual environment from the same lock) or auto."
            ),
            base_option(metavar="BASE", help="What an image is built on: registry, bootstrap or auto."),
            click.option(
                "--set", "overrides", multiple=True, metavar="PATH=VALUE", help="Override a setting."
            ),
            click.option(
                "--timeout",
                "timeout_s",
                type=click.FloatRange(min=0, min_open=True),
                metavar="SECONDS",
                help="Stop a run after this long.",
            ),
        )
    ):
        function = option(function)
    return engine_option(function)


def judge_options(function: _Function) -> _Function:
    """How runs are judged."""
    for option in reversed(
        (
            click.option(
                "--repeats",
                type=click.IntRange(2, 100),
                default=DEFAULTS.repeats,
                show_default=True,
                metavar="N",
                help="Runs with the same seed.",
            ),
            click.option("--strict", is_flag=True, help="Advisory rows are required too."),
            click.option(
                "--sequential", is_flag=True, help="One run after the other, even with cores to spare."
            ),
            click.option("--json", "as_json", is_flag=True, help="Print report.json."),
        )
    ):
        function = option(function)
    return function


def attribute_option(function: _Function) -> _Function:
    """``--attribute``: whose fault a mismatch with the golden is."""
    return click.option(
        "--attribute",
        is_flag=True,
        help="On a mismatch, run the golden's commit and lock too: is it the code or the environment?",
    )(function)


def why_options(function: _Function) -> _Function:
    """``--vary`` and ``--diagnose``: what a result hangs on, and why runs differ."""
    for option in reversed(
        (
            click.option(
                "--vary",
                is_flag=True,
                help="Train once more under the variations that the recipe is `immune_to`.",
            ),
            click.option(
                "--diagnose",
                is_flag=True,
                help="Where two runs differ, find the cause, and put it into the report.",
            ),
        )
    ):
        function = option(function)
    return function


def resume_options(function: _Function) -> _Function:
    """``--resume`` and ``--stop-at``: whether a training that is killed goes on as if nothing had been."""
    for option in reversed(
        (
            click.option(
                "--resume",
                is_flag=True,
                help="Kill one more run on its way, resume it, and hold it against the first.",
            ),
            click.option(
                "--stop-at",
                type=click.IntRange(min=1),
                metavar="STEP",
                help="Where --resume kills  [default: a step drawn from the seed].",
            ),
        )
    ):
        function = option(function)
    return function


def picture_file(plot: Path | None) -> None:
    """Refuse, before anything is compared, a picture that could not be written.

    Raises:
        UsageError: It is no SVG, or there is no such folder.
    """
    from reprokit.errors import UsageError

    if plot is None:
        return
    if plot.suffix != ".svg":
        raise UsageError("--plot draws SVG", expected="a name that ends in .svg", actual=str(plot))
    if not plot.parent.is_dir():
        raise UsageError(
            "there is no folder for the picture", where=str(plot.parent), fix=f"mkdir -p {plot.parent}"
        )


def write_picture(plot: Path, picture: str) -> None:
    """Write a picture, and say so."""
    from reprokit import workspace

    workspace.write_atomic(plot, picture.encode("utf-8"))
    click.echo(f"Wrote {plot}", err=True)


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


def project_of(options: dict[str, Any]) -> Project:
    """The folders that the options and the working directory name."""
    from reprokit.project import Project

    return Project.around(
        Path.cwd(),
        golden_dir=options.get("golden_dir"),
        runs_dir=options.get("runs_dir"),
        reports_dir=options.get("reports_dir"),
    )


def request_of(options: dict[str, Any], *, ignore: tuple[str, ...] = ()) -> Request:
    """What the options ask for."""
    from reprokit.cli.signing_options import without_key
    from reprokit.harness.running import shell_line

    known = {one.name for one in fields(Request)}
    given = {name: value for name, value in options.items() if name in known and value is not None}
    return Request(
        **{
            **given,
            "ignore": ignore,
            "side_by_side": not options.get("sequential", False),
            "command": shell_line(["reprokit", *without_key(sys.argv[1:])]),
            "resume": options.get("resume", False) or options.get("stop_at") is not None,
            "profile_step": options.get("profile_step") or (1 if options.get("profile") else None),
        }
    )


class RecipeOrCommand(click.Command):
    """A verb that takes RECIPE, or a plain command after ``--`` that is kept from click's hands."""

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
        click.UsageError: Both, neither, or nothing after ``--``.
    """
    plain = plain_command()
    if recipe is not None and plain is not None:
        raise click.UsageError("name a recipe, or a command after --, not both")
    if plain == ():
        raise click.UsageError("-- wants a command after it, such as: -- python train.py --seed {seed}")
    if recipe is None and plain is None:
        raise click.UsageError("name a recipe, or a command after --")
    return recipe, plain or ()
