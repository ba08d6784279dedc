"""What is said before anything is built, where nothing in a command takes the seed or the run folder.

>>> without_placeholders(given_command(["python", "train.py"], Path("/home/me/project")))
'no option for a seed or an output folder was found, so the command is run as it is: python train.py'
"""

from __future__ import annotations

from reprokit.execution.placeholders import is_used
from reprokit.features.init.find_command import ProgramCommand
from reprokit.harness.running.plan import shell_line

_WHAT = {"seed": "a seed", "run_dir": "an output folder"}


def without_placeholders(command: ProgramCommand) -> str:
    """That the command is run as it is, one sentence; "" where both have a place in it."""
    missing = [what for name, what in _WHAT.items() if not is_used(name, command.words)]
    if not missing:
        return ""
    told = f"no option for {' or '.join(missing)} was found"
    return f"{told}, so the command is run as it is: {shell_line(command.words)}"


def with_placeholders_typed(command: ProgramCommand) -> str:
    """How the command is typed if the program takes them after all."""
    wanted = [f"{{{name}}}" for name in _WHAT if not is_used(name, command.words)]
    return f"reprokit init -- {shell_line([*(command.typed or command.words), *wanted])}"
