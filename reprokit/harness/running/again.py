"""Options that ask for the same runs again: what a line to be typed again must not leave out.

>>> backend_words("local"), backend_words("auto")
(['--backend', 'local'], [])
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from reprokit.core.run_record import RunRecord
from reprokit.project import Project
from reprokit.recipes import PLATFORM
from reprokit.request import Request


def words_of(request: Request, *, project: Project) -> list[str]:
    """The options asked for that change what is run, compared or written, but for the seed."""
    sets = [str(one) for one in request.overrides]
    platforms = [one.partition("=")[2] for one in sets if one.startswith(f"{PLATFORM}=")]
    return [
        *backend_words(request.backend),
        *_each("--set", [one for one in sets if not one.startswith(f"{PLATFORM}=")]),
        *_each("--platform", platforms[-1:]),
        *_each("--ignore-metric", request.ignore),
        *_each("--output", request.outputs),
        *(["--stress"] if request.stress else []),
        *project.options,
    ]


def backend_words(asked: object) -> list[str]:
    """The option that names a backend; none where the tool chose it."""
    return ["--backend", str(asked)] if asked in {"docker", "local"} else []


def repeats_words(num_runs: int) -> list[str]:
    """The option that asks for more runs than a pair."""
    return ["--repeats", str(num_runs)] if num_runs > Request().repeats else []


def places_of(record: RunRecord) -> tuple[str, ...]:
    """The options that name the platform, or other folders, of a run, as its ``run.json`` says."""
    platform, folders = record.platform_asked, record.folders_asked
    return ("--platform", platform, *folders) if platform else folders


def with_recipe(line: str) -> str:
    """The line that makes a recipe of a plain command, from the line that runs it."""
    return f"reprokit init -- {line.partition(' -- ')[2]}"


def with_printed(line: str) -> str:
    """The line that runs a plain command again with its numbers read from what it prints."""
    options, _, command = line.partition(" -- ")
    return f"{options} -- {keeping_printed(command)}"


def keeping_printed(command: str) -> str:
    """The command that leaves what a program prints in a file of its run, where its numbers are found.

    >>> keeping_printed("python train.py")
    "sh -c 'python train.py > {run_dir}/printed.log'"
    """
    words = shlex.split(command)
    inner = f"({words[2]})" if words[:2] == ["sh", "-c"] and len(words) == 3 else command
    return f"sh -c {shlex.quote(f'{inner} > {{run_dir}}/printed.log')}"


def _each(option: str, values: Sequence[str]) -> list[str]:
    return [word for value in values for word in (option, value)]
