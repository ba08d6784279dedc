"""A process that has imported the tool and forks for each command: a run on a machine of Ray is one.

Importing the tool takes longer than all else that it does for a run of a moment. The process itself carries
nothing out, so what one command leaves in memory is gone with it.
"""

from __future__ import annotations

import json
import os
import signal
import sys


def serve() -> None:
    """Carry out what stdin says, one command after the other; end with it.

    A line is ``{"words": […], "log": PATH}``: the words after ``reprokit``, and the file that gets what it
    prints. A line on stdout says that a command has ended. SIGTERM is passed to the command.
    """
    from reprokit import harness  # noqa: F401
    from reprokit.cli import main
    from reprokit.cli.commands import runs  # noqa: F401

    child = 0

    def forward(*_signal: object) -> None:
        if not child:
            sys.exit(128 + signal.SIGTERM)
        os.kill(child, signal.SIGTERM)

    signal.signal(signal.SIGTERM, forward)
    answers = os.dup(1)
    while line := sys.stdin.buffer.readline():
        asked = json.loads(line)
        child = os.fork()
        if not child:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            log = os.open(asked["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            os.dup2(log, 1)
            os.dup2(log, 2)
            sys.argv[1:] = asked["words"]
            main()
        os.waitpid(child, 0)
        child = 0
        os.write(answers, b"ended\n")
