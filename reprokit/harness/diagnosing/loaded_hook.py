"""Keeps the hook on the program's path where the command sets that path itself.

``env PYTHONPATH=src python train.py`` and a shell script with ``export PYTHONPATH=src`` take the hook out of
the path before Python reads it. In the words of ``env`` it is put back; for what a shell starts by name, each
Python of ``PATH`` has a stand-in that puts it back and then becomes that Python.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from reprokit.core.records import RunSpec
from reprokit.harness.running.varying.apply_variations import in_container

_PATHS, _HOOK = "PYTHONPATH", "REPROKIT_HOOK"
_PYTHON = re.compile(r"python(3(\.\d+)?)?")
#: Options of ``env`` that take the next word with them.
_WITH_A_WORD = frozenset({"-u", "-C", "--unset", "--chdir"})


def keep_hook(spec: RunSpec, *, hook: str, folder: Path) -> RunSpec:
    """The run, whose command cannot take the hook off the path where it starts Python by name.

    Args:
        spec: The run, with the hook in its variables.
        hook: The hook's folder as the program sees it.
        folder: For the stand-ins; the same in all runs.
    """
    command = in_words_of_env(spec.command, hook=hook, variables=spec.environment)
    if in_container(spec):
        return replace(spec, command=command)
    inherited = os.environ.get("PATH", os.defpath) if spec.inherit_environment else os.defpath
    path = spec.environment.get("PATH", inherited)
    _stand_in(path, hook=hook, orders=spec.environment[_HOOK], folder=folder)
    path = os.pathsep.join([str(folder.resolve()), path])
    return replace(spec, command=command, environment={**spec.environment, "PATH": path})


def in_words_of_env(command: Sequence[str], *, hook: str, variables: Mapping[str, str]) -> tuple[str, ...]:
    """A command that begins with ``env``, with the hook in what that sets.

    >>> in_words_of_env(["env", "PYTHONPATH=src", "python"], hook="/h", variables={})
    ('env', 'PYTHONPATH=/h:src', 'python')
    """
    words = list(command)
    if not words or Path(words[0]).name != "env":
        return tuple(words)
    at, empty = 1, False
    while at < len(words) and words[at].startswith("-"):
        empty = empty or words[at] in {"-", "-i", "--ignore-environment"}
        at += 2 if words[at] in _WITH_A_WORD else 1
    if empty:
        kept = (_HOOK, _PATHS, "PYTHONHASHSEED")
        words[at:at] = [f"{name}={variables[name]}" for name in kept if name in variables]
    for number in range(at, len(words)):
        name, sets, value = words[number].partition("=")
        if not sets:
            break
        if name == _PATHS and hook not in value.split(os.pathsep):
            words[number] = f"{name}={os.pathsep.join([hook, *filter(None, [value])])}"
    return tuple(words)


def _stand_in(path: str, *, hook: str, orders: str, folder: Path) -> None:
    """Write a stand-in for each Python that is found by name."""
    if folder.exists():
        return
    folder.mkdir(parents=True)
    names = {
        entry.name
        for place in path.split(os.pathsep)
        if Path(place or ".").is_dir()
        for entry in os.scandir(place or ".")
        if _PYTHON.fullmatch(entry.name)
    }
    for name in names:
        real = shutil.which(name, path=path)
        if real is None:
            continue
        one = folder / name
        one.write_text(
            f'#!/bin/sh\ncase ":$PYTHONPATH:" in *:{shlex.quote(hook)}:*) ;;\n'
            f"*) PYTHONPATH={shlex.quote(hook)}${{PYTHONPATH:+:$PYTHONPATH}}; export PYTHONPATH ;; esac\n"
            f': "${{{_HOOK}:={orders}}}"; export {_HOOK}\n'
            f'exec {shlex.quote(str(Path(real).absolute()))} "$@"\n'
        )
        one.chmod(0o755)


def why_not_loaded(command: Sequence[str]) -> str:
    """Why the hook was not loaded, as far as the command shows it."""
    options = [word for word in command if re.fullmatch(r"-[a-zA-Z]*[IES][a-zA-Z]*", word)]
    if options:
        return f"Python was started with {options[0]}, which ignores PYTHONPATH"
    return "the command started no Python, or one by its whole path with a PYTHONPATH of its own"
