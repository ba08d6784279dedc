"""The command line: parse, call, print, exit. No logic.

A verb is one module with a click object named ``command``. It is imported only when it is typed, so that
``reprokit --help`` stays fast.
"""

from __future__ import annotations

import atexit
import errno
import io
import os
import re
import signal
import sys
import time
import traceback
from types import FrameType
from typing import NoReturn

import click

from reprokit import __version__
from reprokit.cli import streams
from reprokit.cli.extensions import must_differ
from reprokit.cli.options import examples
from reprokit.errors import ReprokitError
from reprokit.feature import Heading, Verb, features, load
from reprokit.redaction import redact_text

__all__ = ["main", "root"]

#: The verbs of the core; features bring theirs. Listing them imports no verb.
_CORE = {
    "reproduce": Verb(
        command="reprokit.cli.commands.reproduce:command",
        help="Train twice, compare the runs and the golden, give a verdict.",
        heading=Heading.TRAIN,
    ),
    "run": Verb(
        command="reprokit.cli.commands.run:command",
        help="Run a recipe, or any command, once.",
        heading=Heading.TRAIN,
    ),
    "verify": Verb(
        command="reprokit.cli.commands.verify:command",
        help="Reproduce every recipe of this platform: the gate for CI.",
        heading=Heading.TRAIN,
    ),
    "diff": Verb(
        command="reprokit.cli.commands.diff:command",
        help="Compare metrics files or run folders, bit for bit by default.",
        heading=Heading.TRAIN,
    ),
    "diagnose": Verb(
        command="reprokit.cli.commands.diagnose:command",
        help="Find the line that makes two runs differ.",
        heading=Heading.EXPLAIN,
    ),
    "trace": Verb(
        command="reprokit.cli.commands.trace:command",
        help="Compare the recorded traces of two runs.",
        heading=Heading.TRAIN,
    ),
    "report": Verb(
        command="reprokit.cli.commands.report:command",
        help="Show a report, check it against its evidence, sign or export it.",
        heading=Heading.KEEP,
    ),
    "runs": Verb(
        command="reprokit.cli.commands.runs:command",
        help="List, show, compare, repeat, prune and copy run folders.",
        heading=Heading.KEEP,
    ),
    "recipe": Verb(
        command="reprokit.cli.commands.recipe:command",
        help="Check recipes without running them; print their schema.",
        heading=Heading.INPUTS,
    ),
    "data": Verb(
        command="reprokit.cli.commands.data:command",
        help="Fetch, list and verify the data that recipes declare.",
        heading=Heading.INPUTS,
    ),
    "golden": Verb(
        command="reprokit.cli.commands.golden:command",
        help="List, show, compare, check, promote, record, import goldens.",
        heading=Heading.KEEP,
    ),
    "capture": Verb(
        command="reprokit.cli.commands.capture:command",
        help="Record what can change numbers in this environment.",
        heading=Heading.INPUTS,
    ),
    "env": Verb(
        command="reprokit.cli.commands.env:command",
        help="Compare environment records; check this host against a golden's.",
        heading=Heading.INPUTS,
    ),
    "image": Verb(
        command="reprokit.cli.commands.image:command",
        help="Build, list, verify and lock the pinned environments.",
        heading=Heading.INPUTS,
    ),
    "help": Verb(
        command="reprokit.cli.commands.help:command",
        help="Show a page of the documentation, or list them.",
        heading=Heading.TOOL,
    ),
}


def verbs() -> dict[str, Verb]:
    """Every verb of the core and of the features that are installed.

    Raises:
        ValueError: Two of them have one name.
    """
    found = dict(_CORE)
    for feature in features():
        if twice := found.keys() & feature.verbs.keys():
            raise ValueError(
                f"two verbs are called {min(twice)}; one of them is of the feature {feature.name}"
            )
        found.update(feature.verbs)
    return found


#: 16 MiB less than the limit, so that a process that has loaded a little more gets through, too.
_LOADED_FIRST = """
import resource, reprokit.cli
soft, hard = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (max(soft - (16 << 20), 0), hard))
import numpy, scipy.linalg
"""

_LOADED_WITHIN_S = 20.0

_COMPLETE = "_REPROKIT_COMPLETE"  # set by a shell that asks for completions

#: Each stops what is running; a terminal that is closed sends HUP, and Ctrl-\\ sends QUIT.
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_HELD_BACK_S = 10.0  # as long as a container may take to stop

#: What this machine has too little of → what is to be done.
_NO_ROOM = {
    errno.ENOSPC: "make room on the disk",
    errno.EDQUOT: "make room: the quota of this user is used up",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f)",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.ENFILE: "end programs that hold many files open",
    errno.EROFS: "choose a folder that can be written, with --runs-dir and --reports-dir",
}

#: How libraries say that no memory is left, where it is not a MemoryError.
_NO_MEMORY = re.compile(r"can't start new thread|failed to map segment|[Cc]annot allocate memory")


class LazyGroup(click.Group):
    """A group that imports a verb's module when the verb is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every verb."""
        return list(verbs())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb's module and return its command."""
        verb = verbs().get(cmd_name)
        if verb is None:
            return None
        command: click.Command = load(verb.command)
        must_differ(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest the nearest verb if there is none of this name."""
        name = args[0]
        known = verbs()
        if name not in known and not name.startswith("-") and not ctx.resilient_parsing:
            import difflib

            near = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"There is no verb {name!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs under their headings, without importing them."""
        known = verbs()
        width = max(map(len, known))
        for heading in Heading:
            rows = [(name.ljust(width), verb.help) for name, verb in known.items() if verb.heading is heading]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)


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
    """A signal that is not SIGINT, raised like Ctrl-C so that the same cleanup happens."""


def _stop_on_signals() -> None:
    """Raise on each signal that ends a program; hold further ones back while what is running is stopped.

    A signal that the caller ignores, as ``nohup`` ignores HUP, stays ignored.
    """
    began: list[float] = []

    def stop(number: int, _frame: FrameType | None) -> None:
        if began and time.monotonic() - began[0] < _HELD_BACK_S:
            return
        began[:] = [time.monotonic()]
        raise KeyboardInterrupt if number == signal.SIGINT else _Terminated

    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop)
    atexit.register(_ignore_signals)


def _ignore_signals() -> None:
    """While Python ends, signals have their default action again: a late one would replace the exit code."""
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit with its exit code."""
    _stop_on_signals()
    try:
        code = streams.must_be_open() or _folder_code() or _memory_code() or _run(arguments)
    except OSError as error:
        code = streams.exit_code_of(error)
    sys.exit(code)


def _run(arguments: list[str] | None) -> int:
    try:
        code = _answer(sys.argv[1:] if arguments is None else arguments)
    except ReprokitError as error:
        click.echo(streams.fitted(f"Error: {_error_text(error)}"), err=True)
        code = error.exit_code
    except click.exceptions.Exit as error:
        code = error.exit_code
    except click.ClickException as error:
        said = io.StringIO()
        error.show(said)
        click.echo(redact_text(said.getvalue()), err=True, nl=False)
        code = 2
    except (KeyboardInterrupt, click.exceptions.Abort) as error:
        streams.say("Interrupted; everything that was running has been stopped.")
        terminated = isinstance(error, _Terminated) or isinstance(error.__cause__, _Terminated)
        code = 143 if terminated else 130
    except Exception as error:  # "differs" is exit code 1: a fault of the tool must never look like an answer
        if streams.is_of_output(error):
            raise
        code = _fault(error)
    return code if isinstance(code, int) else 0


def _folder_code() -> int:
    """0, or 3 where the current folder is gone: every relative path would be a fault of its own."""
    try:
        os.getcwd()  # noqa: PTH109 - pathlib is imported where it is used
    except OSError:
        streams.say("Error: the current folder was removed, or may not be read")
        streams.say("Hint: change to a folder that is there: cd")
        return 3
    return 0


def _memory_code() -> int:
    """0, or 3 where the limit on memory is too low for the libraries for numbers.

    OpenBLAS ends the process that loads it with 1, "differs", where it gets no memory, or tries for ever: so
    another process loads it first, under the same limit, and then this one, before it uses more.
    """
    import resource

    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return 0
    import subprocess

    try:
        words = [sys.executable, "-c", _LOADED_FIRST]
        tried = subprocess.run(words, capture_output=True, check=False, timeout=_LOADED_WITHIN_S)
        ended = tried.returncode
        if ended == 0:
            import numpy as np  # noqa: F401
            import scipy.linalg  # noqa: F401
    except (OSError, MemoryError, ImportError, subprocess.TimeoutExpired):
        ended = 1
    return _too_little_memory() if ended else 0


def _too_little_memory() -> int:
    streams.say("Error: there is not enough memory for reprokit.")
    streams.say("Hint: raise the limit (ulimit -v), or end other programs")
    return 3


def _fault(error: Exception) -> int:
    """Say what went wrong outside of our errors: no memory, or a fault of the tool."""
    if _lacks_memory(error):
        return _too_little_memory()
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        where = f"{error.filename}: " if error.filename else ""
        streams.say(redact_text(f"Error: {where}{error.strerror}\nHint: {_NO_ROOM[error.errno]}"))
    elif isinstance(error, FileNotFoundError) and "temporary directory" in str(error):  # of tempfile
        streams.say("Error: no folder for temporary files can be written: the disk may be full")
        streams.say("Hint: make room in /tmp, or name another folder in TMPDIR; see also ulimit -n and -f")
    else:
        streams.say(redact_text(traceback.format_exc()).removesuffix("\n"))
        streams.say("Error: this is a bug in reprokit, not in your program.")
    return 3


def _lacks_memory(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            return True
        if isinstance(error, OSError | RuntimeError | ImportError) and _NO_MEMORY.search(str(error)):
            return True
        error = error.__cause__ or error.__context__
    return False


def _answer(arguments: list[str]) -> object:
    """What ``click.Command.main`` does, but for its own exit codes: it ends a broken pipe with 1."""
    if instruction := os.environ.get(_COMPLETE):
        from click.shell_completion import shell_complete

        return shell_complete(root, {}, "reprokit", _COMPLETE, instruction)
    with root.make_context("reprokit", list(arguments)) as context:
        return root.invoke(context)


def _error_text(error: ReprokitError) -> str:
    """The error, with its hint on a line of its own; no text of a hostile file can act or begin a line."""
    from reprokit.cli.program_name import as_called
    from reprokit.reports import one_line

    mistakes: tuple[str, ...] = getattr(error, "mistakes", ())
    lines = [str(error).partition("\n")[0], *(f"  {mistake.strip()}" for mistake in mistakes)]
    if error.fix and not mistakes:
        without_hint = re.sub(r"\.?\s+\w+:\s*$", "", str(error).removesuffix(error.fix))
        lines = [without_hint, f"Hint: {error.fix}"]
    return as_called("\n".join(one_line(line, limit=4000) for line in lines))
