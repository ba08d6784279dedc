"""The command line: parse, call, print, exit. No logic.

A verb is one module with a click object named ``command``. It is imported only when it is typed, so that
``reprokit --help`` stays fast.
"""

from __future__ import annotations

import atexit
import copy
import errno
import inspect
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

from reprokit import __version__, extras
from reprokit.cli import streams
from reprokit.cli.extensions import must_differ
from reprokit.cli.help_pages import Group, write_sections
from reprokit.cli.named_extensions import load_extensions
from reprokit.cli.options import examples
from reprokit.cli.verb_map import ORDER, verbs
from reprokit.errors import ReprokitError
from reprokit.feature import Heading, Verb, load
from reprokit.redaction import redact_text

__all__ = ["main", "root", "verbs"]

#: 16 MiB less than the limit, so that a process that has loaded a little more gets through, too.
_LOADED_FIRST = """
import resource, reprokit.cli
soft, hard = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (max(soft - (16 << 20), 0), hard))
import numpy
try:
    import scipy.linalg
except ModuleNotFoundError:
    pass
"""

_LOADED_WITHIN_S = 20.0

_COMPLETE = "_REPROKIT_COMPLETE"  # set by a shell that asks for completions

#: Each stops what is running; a terminal that is closed sends HUP, and Ctrl-\\ sends QUIT. The others end a
#: process that does not handle them: a scheduler sends them before its time limit, `ulimit -t` XCPU.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGXCPU")
_ENDING = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))  # Windows has two of them
_HELD_BACK_S = 10.0  # as long as a container may take to stop

#: What this machine has too little of, or where it fails → what is to be done.
_NO_ROOM = {
    errno.ENOSPC: "make room on the disk",
    errno.EDQUOT: "make room: the quota of this user is used up",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f)",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.ENFILE: "end programs that hold many files open",
    errno.EIO: "look at the disk, or the network file system, that the files lie on",
    errno.ESTALE: "mount the network file system again, or run the same command again",
    errno.EROFS: "choose a folder that can be written, with --runs-dir and --reports-dir",
}

#: How libraries say that no memory is left, where it is not a MemoryError.
_NO_MEMORY = re.compile(r"can't start new thread|failed to map segment|[Cc]annot allocate memory")


class LazyGroup(Group):
    """A group that imports a verb's module when the verb is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every verb, without old names."""
        return [name for name, verb in verbs().items() if not verb.now]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb's module and return its command."""
        verb = verbs().get(cmd_name)
        if verb is None:
            return None
        command: click.Command = load(verb.command)
        must_differ(command)
        return _under_old_name(command, verb) if verb.now else command

    def nearby(self, ctx: click.Context) -> dict[str, str]:
        """Every verb; an old name stands for the new one."""
        return {name: verb.now or name for name, verb in verbs().items()}

    def further_hint(self) -> str:
        """That an extension may bring it."""
        from reprokit.extensions import hint_of_unnamed

        told = hint_of_unnamed()
        return f" {told[:1].upper()}{told[1:]}" if told else ""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs under their headings, without importing them."""
        known = verbs()
        names = [*(name for name in ORDER if name in known), *(name for name in known if name not in ORDER)]
        write_sections(
            formatter,
            {
                heading: [(name, known[name].help) for name in names if known[name].heading is heading]
                for heading in Heading
            },
        )


def _under_old_name(command: click.Command, verb: Verb) -> click.Command:
    """The same verb, whose page says what it is called now."""
    found = copy.copy(command)
    found.help = f"Old name of `reprokit {verb.now}`.\n\n{inspect.cleandoc(command.help or '')}"
    return found


@click.group(
    cls=LazyGroup,
    epilog=examples(
        "reprokit reproduce cartpole_baseline",
        "reprokit reproduce -- python train.py --seed {seed} --logdir {run_dir}",
        'eval "$(_REPROKIT_COMPLETE=bash_source reprokit)"  # completes with Tab',
    ),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="reprokit")
def root() -> None:
    """Train twice, compare bit for bit, and say what differs.

    Exit codes: 0 reproduced; 1 not reproduced; 2 wrong usage or bad file; 3 could not run;
    4 cannot be judged; 130 and 143 interrupted. `reprokit VERB --help` shows a verb's options, `reprokit
    help` the pages of the documentation.
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
        click.echo(streams.fitted(redact_text(said.getvalue())), err=True, nl=False)
        code = 2
    except (KeyboardInterrupt, click.exceptions.Abort) as error:
        streams.say("Interrupted; everything that was running has been stopped.")
        exec("")  # noqa: S102 - else one within an exec, as of a dataclass, has Python end by the signal at exit
        terminated = isinstance(error, _Terminated) or isinstance(error.__cause__, _Terminated)
        code = 143 if terminated else 130
    except Exception as error:  # "differs" is exit code 1: a fault of the tool must never look like an answer
        if missing := extras.explained(error):
            click.echo(f"Error: {_error_text(missing)}", err=True)
            return missing.exit_code
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
    try:
        import resource
    except ModuleNotFoundError:  # Windows has no such limit
        return 0
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return 0
    import subprocess

    try:
        words = [sys.executable, "-P", "-c", _LOADED_FIRST]
        tried = subprocess.run(words, capture_output=True, check=False, timeout=_LOADED_WITHIN_S)
        ended = tried.returncode
        if ended == 0:
            _load_libraries_for_numbers()
    except (OSError, MemoryError, ImportError, subprocess.TimeoutExpired):
        ended = 1
    return _too_little_memory() if ended else 0


def _load_libraries_for_numbers() -> None:
    import numpy as np  # noqa: F401

    if extras.is_installed("scipy"):
        import scipy.linalg  # noqa: F401


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

        load_extensions(())
        return shell_complete(root, {}, "reprokit", _COMPLETE, instruction)
    load_extensions(arguments)
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
