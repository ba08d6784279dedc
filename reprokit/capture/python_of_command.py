"""Which Python a command line starts, where its words say so for certain.

>>> start_of(["env", "OMP_NUM_THREADS=1", "nice", "python", "train.py"], folder=Path("/home/me/theirs")).words
('env', 'OMP_NUM_THREADS=1', 'python')
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reprokit.regular_file import read_regular

_PYTHON = re.compile(r"(?:python|pypy)\d*(?:\.\d+)*t?")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=[^$`~]*", re.DOTALL)
_OPTIONS_OF_SHELL = re.compile(r"-[efux]+")
_TRAMPOLINE = re.compile(r"""'''exec' (?:"(?P<quoted>/[^"$`]+)"|(?P<plain>/[^\s"'$`]+)) "\$0" "\$@"\s*""")
_BESIDE = re.compile(
    r"""'''exec' "\$\(dirname -- "\$\(realpath -- "\$0"\)"\)"/'(?P<name>[^'/]+)' "\$0" "\$@"\s*"""
)
_MOST_TEXT = 64 << 10
_DEEPEST = 8

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash"})
#: What starts the command behind it, and its options with a value in a word of its own.
_WRAPPERS: Mapping[str, tuple[Collection[str], int]] = {
    "env": ({"-u", "--unset"}, 0),
    "taskset": ((), 1),
    "numactl": ({"-N", "-C", "-m", "-i", "--cpunodebind", "--physcpubind", "--membind", "--interleave"}, 0),
    "nice": ({"-n", "--adjustment"}, 0),
    "ionice": ({"-c", "--class", "-n", "--classdata"}, 0),
    "chrt": ((), 1),
    "time": ({"-f", "--format", "-o", "--output"}, 0),
    "timeout": ({"-k", "--kill-after", "-s", "--signal"}, 1),
    "stdbuf": ({"-i", "--input", "-o", "--output", "-e", "--error"}, 0),
    "nohup": ((), 0),
    "setsid": ((), 0),
    "xvfb-run": ({"-e", "-f", "-n", "-p", "-s", "-w"}, 0),
}
#: Those that can change how a Python computes: it is asked behind them. The others write files, or end it.
_ASKED_BEHIND = frozenset({"env", "taskset", "numactl"})
#: Options of those that start no command, or that lead to another one than the name alone says.
_NOT_FOLLOWED: Mapping[str, tuple[str, ...]] = {
    "env": (
        "-S",
        "--split-string",
        "-i",
        "--ignore-environment",
        "-uPATH",
        "--unset=PATH",
        "PATH",
        "-C",
        "--chdir",
    ),
    "taskset": ("-p", "--pid"),
    "ionice": ("-p",),
    "chrt": ("-p",),
}
#: What runs a command in an environment that it finds, and its options with a value.
_OF_PREFIX = frozenset({"-n", "--name", "-p", "--prefix"})
_MANAGERS: Mapping[str, Collection[str]] = {
    "conda": _OF_PREFIX,
    "mamba": _OF_PREFIX,
    "micromamba": _OF_PREFIX,
    "uv": {"-p", "--python", "--with", "--extra", "--group", "--project", "--directory", "--env-file"},
    "poetry": (),
    "pipenv": (),
    "hatch": (),
    "pdm": (),
    "rye": (),
}
_WHERE_EVER_IT_RUNS = frozenset({"conda", "mamba", "micromamba"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonStart:
    """How the Python of a command is started, to ask it what it computes with.

    Attributes:
        words: What precedes its arguments, the Python last; empty where it is not known.
        unknown: Why it is not known; "" where it is.
        is_managed: Whether a manager of environments finds it, so that no path of it is known.
    """

    words: tuple[str, ...] = ()
    unknown: str = ""
    is_managed: bool = False


def start_of(
    command: Sequence[str], *, folder: Path, path: str | None = None, in_copy: bool = False
) -> PythonStart:
    """The Python that a command starts: its own first word, or behind wrappers, in a script, of a manager.

    Args:
        command: The words, placeholders left as they are.
        folder: Where it is started.
        path: What programs are searched on; None for this process's own ``PATH``.
        in_copy: Whether it runs in a copy of that folder, where managers find other environments.
    """
    found = _Search(folder=folder, path=path, in_copy=in_copy).behind(tuple(command), depth=0)
    return (
        found
        if found.words
        else replace(found, unknown=f"which Python the program ran is not known: {found.unknown}")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    folder: Path
    path: str | None
    in_copy: bool

    def behind(self, words: tuple[str, ...], *, depth: int) -> PythonStart:
        name = Path(words[0]).name if words else "an empty command"
        program = self._find(words[0]) if words else None
        if program is None or depth > _DEEPEST:
            return _unknown(f"{name} is no Python, nor a script whose first line names one")
        if _PYTHON.fullmatch(name):
            return PythonStart(words=(program,))
        if name in _WRAPPERS:
            return self._wrapped(name, words, depth)
        if name in _MANAGERS and words[1:2] == ("run",):
            return self._managed(name, words)
        if name in _SHELLS:
            return self._of_shell(name, words[1:], depth)
        return self._of_script(program, name, depth)

    def _find(self, word: str) -> str | None:
        if "/" not in word:
            return shutil.which(word, path=self.path)
        # A link is not followed: a virtual environment is known by where its own link lies.
        return shutil.which(os.path.normpath(self.folder / word))

    def _wrapped(self, name: str, words: tuple[str, ...], depth: int) -> PythonStart:
        with_value, num_operands = _WRAPPERS[name]
        at = _behind_options(words, 1, with_value)
        if any(word.startswith(_NOT_FOLLOWED.get(name, ("\0",))) for word in words[1:at]):
            return _unknown(f"{' '.join(words[:at])} is not followed")
        at += num_operands
        while name == "env" and at < len(words) and "=" in words[at]:
            at += 1
        own = words[:at] if name in _ASKED_BEHIND else ()
        search = self
        if name == "env" and any(word.startswith("PATH=") for word in own):
            last = next(word for word in reversed(own) if word.startswith("PATH="))
            search = replace(self, path=last.removeprefix("PATH="))
        found = search.behind(words[at:], depth=depth + 1)
        return replace(found, words=(*own, *found.words)) if found.words else found

    def _managed(self, name: str, words: tuple[str, ...]) -> PythonStart:
        if self.in_copy and name not in _WHERE_EVER_IT_RUNS:
            return _unknown(f"{name} looks for an environment where the program runs, which is a copy")
        at = _behind_options(words, 2, _MANAGERS[name])
        program = words[at] if at < len(words) else ""
        if _PYTHON.fullmatch(Path(program).name):
            return PythonStart(words=words[: at + 1], is_managed=True)
        if (
            name == "uv"
            and program.endswith(".py")
            and "# /// script" not in self._text(self.folder / program)
        ):
            return PythonStart(words=(*words[:at], "python"), is_managed=True)
        return _unknown(f"{name} run starts {program or 'nothing'}, whose name is not that of a Python")

    def _of_shell(self, name: str, words: tuple[str, ...], depth: int) -> PythonStart:
        at = 0
        while at < len(words) and _OPTIONS_OF_SHELL.fullmatch(words[at]):
            at += 1
        if at + 1 < len(words) and words[at] == "-c":
            return self._of_line(words[at + 1], f"{name} -c", depth)
        if at == len(words) or words[at].startswith("-"):
            return _unknown(f"{name} {' '.join(words[:1])} is not followed".replace("  ", " "))
        return self._of_line(self._text(self.folder / words[at]), Path(words[at]).name, depth)

    def _of_script(self, program: str, name: str, depth: int) -> PythonStart:
        """A script by its first line, or by the second that installers write where the first is too long."""
        text = self._text(Path(program))
        lines = [*text.splitlines()[:2], "", ""]
        words = lines[0][2:].split() if lines[0].startswith("#!") else []
        if words and Path(words[0]).name == "env":
            words = [word for word in words[1:] if not word.startswith("-")]
        if not words:
            return _unknown(f"{name} is no Python, nor a script whose first line names one")
        if _PYTHON.fullmatch(Path(words[0]).name):
            python = self._find(words[0])
            return PythonStart(words=(python,)) if python else _unknown(f"{words[0]} of {name} is not there")
        if found := _TRAMPOLINE.fullmatch(lines[1]):
            return PythonStart(words=(found["quoted"] or found["plain"],))
        if found := _BESIDE.fullmatch(lines[1]):
            return PythonStart(words=(str(Path(program).resolve().with_name(found["name"])),))
        if Path(words[0]).name in _SHELLS and all(map(_OPTIONS_OF_SHELL.fullmatch, words[1:])):
            return self._of_line(text, name, depth)
        return _unknown(f"{name} is no Python, nor a script whose first line names one")

    def _of_line(self, text: str, name: str, depth: int) -> PythonStart:
        """The one plain command of a shell's text; what a shell has to work out first is not followed."""
        lines = [line.strip() for line in text.replace("\\\n", " ").splitlines()]
        lines = [
            line for line in lines if line and not line.startswith("#") and not re.match(r"set [-+]", line)
        ]
        if len(lines) != 1:
            return _unknown(f"{name} holds {'more than one command' if lines else 'no command'}")
        lexer = shlex.shlex(lines[0], posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        try:
            words = list(lexer)
        except ValueError:
            return _unknown(f"{name} holds a quote that does not end")
        signs = {word for word in words if word and not word.strip("();<>|&")}
        if signs - {">", ">>", "<", ">&", "&>", ">|"} or "`" in lines[0] or "$(" in lines[0]:
            return _unknown(f"{name} holds more than one command")
        at = next((at for at, word in enumerate(words) if not _ASSIGNMENT.fullmatch(word)), len(words))
        behind = words[at + 1 :] if words[at : at + 1] in (["exec"], ["command"]) else words[at:]
        return self.behind((*(["env"] if at else []), *words[:at], *behind), depth=depth + 1)

    def _text(self, file: Path) -> str:
        try:
            return read_regular(file, most_bytes=_MOST_TEXT).decode("utf-8", "replace")
        except OSError:
            return ""


def _behind_options(words: Sequence[str], at: int, with_value: Collection[str]) -> int:
    while at < len(words) and words[at].startswith("-"):
        if words[at] == "--":
            return at + 1
        at += 2 if words[at] in with_value else 1
    return at


def _unknown(why: str) -> PythonStart:
    return PythonStart(unknown=why)
