"""The tool in a process in which packages, or what Windows lacks, cannot be imported.

    python -m support.without BLOCKED[,BLOCKED…] '[["diff", "a", "b"], …]'

prints a list with exit code, stdout and stderr of each command line.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import io
import json
import multiprocessing  # noqa: F401 - with the next ones, before what they import here is blocked
import os
import signal
import subprocess
import sys

import numpy as np  # noqa: F401
import psutil  # noqa: F401

WINDOWS = "windows"
_MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "termios")
_OF_OS = ("O_CLOEXEC", "O_DIRECTORY", "O_NOCTTY", "O_NOFOLLOW", "O_NONBLOCK", "fork", "getuid", "killpg",
          "sched_getaffinity", "setsid", "statvfs")  # fmt: skip
_SIGNALS = ("SIGCHLD", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")


class Blocked(importlib.abc.MetaPathFinder):
    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self._names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def block(names: tuple[str, ...]) -> None:
    if WINDOWS in names:
        for holder, attributes in ((os, _OF_OS), (signal, _SIGNALS)):
            for attribute in attributes:
                delattr(holder, attribute)
        names = _MODULES
    for loaded in [one for one in sys.modules if one.partition(".")[0] in names]:
        del sys.modules[loaded]
    sys.meta_path.insert(0, Blocked(names))


def answers(blocked: str, commands: list[list[str]]) -> list[tuple[int, str, str]]:
    """What the tool says to command lines, in one process of its own."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path[:1] + [one for one in sys.path if one]),
    }
    words = [sys.executable, "-m", "support.without", blocked, json.dumps(commands)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment, timeout=120)
    return [tuple(one) for one in json.loads(done.stdout)]


def _answer(command: list[str]) -> tuple[int | str | None, str, str]:
    from reprokit import cli

    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            cli.main(command)
        except SystemExit as ended:
            code = ended.code
    return code, out.getvalue(), err.getvalue()


if __name__ == "__main__":
    block(tuple(sys.argv[1].split(",")))
    print(json.dumps([_answer(command) for command in json.loads(sys.argv[2])]))
