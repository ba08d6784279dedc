"""The command line: parse, call, print, exit. No logic.

A verb is one module with a click object named ``command``. It is imported only when it is typed, so that
``reprokit --help`` stays fast.
"""

from __future__ import annotations

import errno
import importlib
import io
import os
import re
import signal
import sys
import traceback
from types import FrameType
from typing import NoReturn

import click

from reprokit import __version__
from reprokit.cli.options import examples
from reprokit.errors import ReprokitError
from reprokit.redaction import redact_text

__all__ = ["main", "root"]

#: verb → (module, one line of help). The line is repeated here so that `reprokit --help` imports no verb.
VERBS = {
    "init": ("init", "Write a recipe for a program, from what it does."),
    "reproduce": ("reproduce", "Train twice, compare the runs and the golden, give a verdict."),
    "bundle": ("bundle", "Write one archive that a reviewer can reproduce a result from."),
    "run": ("run", "Run a recipe, or any command, once."),
    "sweep": ("sweep", "Run recipes over seeds and settings, each run once."),
    "tune": ("tune", "Search settings; the same trials however they are run."),
    "verify": ("verify", "Reproduce every recipe of this platform: the gate for CI."),
    "diff": ("diff", "Compare metrics files or run folders, bit for bit by default."),
    "diagnose": ("diagnose", "Find the line that makes two runs differ."),
    "trace": ("trace", "Compare the recorded traces of two runs."),
    "bisect": ("bisect", "Find the commit that changed a recipe's numbers."),
    "report": ("report", "Show a report, check it against its evidence, sign or export it."),
    "runs": ("runs", "List, show, compare, repeat, prune and copy run folders."),
    "learning": ("learning", "Say whether a run learned, and if not, where to look."),
    "stats": ("stats", "Estimate results over seeds, with intervals."),
    "recipe": ("recipe", "Check recipes without running them; print their schema."),
    "data": ("data", "Fetch, list and verify the data that recipes declare."),
    "export": ("export", "Write a recipe or a sweep as jobs for Kubernetes."),
    "golden": ("golden", "List, show, compare, check, promote, record, import goldens."),
    "checkpoint": ("checkpoint", "Verify, show, compare, convert checkpoints; none is executed."),
    "capture": ("capture", "Record what can change numbers in this environment."),
    "env": ("env", "Compare environment records; check this host against a golden's."),
    "numerics": ("numerics", "Show how operations round here; find non-portable ones."),
    "image": ("image", "Build, list, verify and lock the pinned environments."),
    "selftest": ("selftest", "Plant faults in copies of runs; check that each is caught."),
    "doctor": ("doctor", "Check this host; print the command that fixes each problem."),
    "help": ("help", "Show a page of the documentation, or list them."),
}

_COMPLETE = "_REPROKIT_COMPLETE"  # set by a shell that asks for completions

#: Writing to stdout fails with these: its reader is gone, or the disk is full.
_OUTPUT_ERRORS = {errno.EPIPE, errno.ENOSPC}


class LazyGroup(click.Group):
    """A group that imports a verb's module when the verb is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Verbs in the order of the help page."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb's module and return its command."""
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"reprokit.cli.{VERBS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest the nearest verb if there is none of this name."""
        name = args[0]
        if name not in VERBS and not name.startswith("-") and not ctx.resilient_parsing:
            import difflib

            near = difflib.get_close_matches(name, VERBS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"There is no verb {name!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing them."""
        with formatter.section("Verbs"):
            formatter.write_dl([(name, text) for name, (_, text) in VERBS.items()])


@click.group(
    cls=LazyGroup,
    subcommand_metavar="VERB …",
    epilog=examples(
        "reprokit reproduce cartpole_baseline",
        "reprokit reproduce -- python train.py --seed {seed} --logdir {run_dir}",
        'eval "$(_REPROKIT_COMPLETE=bash_source reprokit)"   # complete words with Tab',
    ),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="reprokit")
def root() -> None:
    """Train twice, compare bit for bit, and say what differs.

    Exit codes: 0 reproduced; 1 not reproduced; 2 wrong usage or bad file; 3 could not run;
    4 cannot be judged; 130 and 143 interrupted. See also `reprokit VERB --help`, `reprokit help`.
    """


class _Terminated(KeyboardInterrupt):
    """SIGTERM, raised like Ctrl-C so that the same cleanup happens."""


def _on_terminate(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise _Terminated


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit with its exit code."""
    signal.signal(signal.SIGTERM, _on_terminate)
    try:
        code = _run(arguments)
    except OSError as error:
        code = _output_error_code(error)
    sys.exit(code)


def _run(arguments: list[str] | None) -> int:
    try:
        code = _answer(sys.argv[1:] if arguments is None else arguments)
    except ReprokitError as error:
        click.echo(f"Error: {_error_text(error)}", err=True)
        code = error.exit_code
    except click.exceptions.Exit as error:
        code = error.exit_code
    except click.ClickException as error:
        said = io.StringIO()
        error.show(said)
        click.echo(redact_text(said.getvalue()), err=True, nl=False)
        code = 2
    except (KeyboardInterrupt, click.exceptions.Abort) as error:
        click.echo("Interrupted; everything that was running has been stopped.", err=True)
        terminated = isinstance(error, _Terminated) or isinstance(error.__cause__, _Terminated)
        code = 143 if terminated else 130
    except Exception as error:  # "differs" is exit code 1: a fault of the tool must never look like an answer
        if isinstance(error, OSError) and error.errno in _OUTPUT_ERRORS:
            raise
        click.echo(redact_text(traceback.format_exc()), err=True, nl=False)
        click.echo("Error: this is a bug in reprokit, not in your program.", err=True)
        code = 3
    return code if isinstance(code, int) else 0


def _answer(arguments: list[str]) -> object:
    """What ``click.Command.main`` does, but for its own exit codes: it ends a broken pipe with 1."""
    if instruction := os.environ.get(_COMPLETE):
        from click.shell_completion import shell_complete

        return shell_complete(root, {}, "reprokit", _COMPLETE, instruction)
    with root.make_context("reprokit", list(arguments)) as context:
        return root.invoke(context)


def _output_error_code(error: OSError) -> int:
    """The exit code if stdout cannot be written: 141 if its reader is gone, as shells say it, else 3."""
    gone = isinstance(error, BrokenPipeError)
    if not gone:
        click.echo(f"Error: cannot write to standard output: {error.strerror}", err=True)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.__stdout__, sys.__stderr__) if gone else (sys.__stdout__,):
        if stream is not None:  # or Python fails once more when it flushes at its end
            os.dup2(nowhere, stream.fileno())
    return 141 if gone else 3


def _error_text(error: ReprokitError) -> str:
    """The error, with its hint on a line of its own; no text of a hostile file can act or begin a line."""
    from reprokit.cli.program_name import as_called
    from reprokit.reports import one_line

    mistakes: tuple[str, ...] = getattr(error, "mistakes", ())
    lines = [str(error).partition("\n")[0], *(f"  {one.strip()}" for one in mistakes)]
    if error.fix and not mistakes:
        without_hint = re.sub(r"\.?\s+\w+:\s*$", "", str(error).removesuffix(error.fix))
        lines = [without_hint, f"Hint: {error.fix}"]
    return as_called("\n".join(one_line(line, limit=4000) for line in lines))
