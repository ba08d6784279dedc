"""Does what a page of the documentation says: writes its files, makes its changes, types its commands.

Blocks of a page are read by their fence: ``python FILE`` is a file, ``diff FILE`` a change of one, ``sh``
commands (a comment ``exit code N`` says how one ends, 0 without it), ``text`` what the last commands print on
a terminal of 80 columns. There ``…`` stands for anything, and a line of its own for any lines. The runs and
reports that a command names (``RUN``, ``20261121T033827Z-293b-seed42-1``) are the newest that there are; of
several runs, those that were made together. ``STOPPED_RUN`` is the newest
of those that were killed, ``DIGEST`` that of the newest archive.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import pty
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import markdown_it

_EXIT_CODE = re.compile(r"#.*exit code (\d+)")
_COLUMNS = 80
_ID = r"\d{8}T\d{6}Z-[0-9a-f]{4}"
_RUN = re.compile(rf"\bRUN\b|[\w./]*{_ID}-seed\d+-\d+")
_REPORT = re.compile(rf"(reports/[\w./-]+)/{_ID}(?!-)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block: its language, the file that it names, and its text."""

    language: str
    file: str
    text: str
    line: int


def blocks_of(page: Path, *, every: bool = False) -> Iterator[Block]:
    """The fenced blocks of a page that have a language, in order; or every block."""
    for token in markdown_it.MarkdownIt().parse(page.read_text(encoding="utf-8")):
        if (token.type == "fence" and token.info) or (every and token.type in {"fence", "code_block"}):
            language, _, file = token.info.partition(" ")
            yield Block(language=language, file=file, text=token.content, line=(token.map or [0])[0] + 1)


def follow(page: Path, folder: Path, *, environment: Mapping[str, str] | None = None) -> int:
    """Do all that a page says, in a folder; the number of commands that were typed.

    Raises:
        AssertionError: A command ends or prints otherwise, or a change does not fit; it names the line.
    """
    printed, num_typed = "", 0
    for block in blocks_of(page):
        where = f"{page.name}:{block.line}"
        if block.language == "python" and block.file:
            (folder / block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "diff":
            change(folder / block.file, block.text, where=where)
        elif block.language == "sh":
            printed = ""
            for command in block.text.replace("\\\n", "").splitlines():
                typed = with_real_names(command, folder)
                printed += type_command(typed, folder, where=where, environment=environment or {})
                num_typed += 1
        elif block.language == "text":
            assert fits(block.text, printed), f"{where}: it prints\n{printed}"
    return num_typed


def with_real_names(command: str, folder: Path) -> str:
    """A command with the newest runs and reports in place of those that it names."""
    number = len(_RUN.findall(command))
    runs = sorted(file.parent for file in folder.glob("runs/*/*/COMPLETE"))
    together = [
        list(some) for _, some in itertools.groupby(runs, key=lambda run: run.name.rpartition("-")[0])
    ]
    newest = iter([some for some in together if len(some) >= number][-1][-number:] if number else ())
    typed = _RUN.sub(lambda _: str(next(newest).relative_to(folder)), command)
    if "STOPPED_RUN" in typed:
        stopped = max(file.parent.name for file in folder.glob("runs/*/*-stopped/run.json"))
        typed = typed.replace("STOPPED_RUN", stopped)
    if "DIGEST" in typed:
        written = (*folder.glob("*.tar.gz"), *folder.parent.glob("*.tar.gz"))
        archive = max(written, key=lambda file: file.stat().st_mtime_ns)
        typed = typed.replace("DIGEST", hashlib.sha256(archive.read_bytes()).hexdigest())
    return _REPORT.sub(lambda found: str(max((folder / found[1]).glob("2*")).relative_to(folder)), typed)


def change(path: Path, diff: str, *, where: str) -> None:
    """Replace the lines with ``-`` by those with ``+``; others stay."""
    lines = diff.splitlines()
    old = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("+"))
    new = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("-"))
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{where}: {path.name} has {text.count(old)} times\n{old}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def type_command(command: str, folder: Path, *, where: str, environment: Mapping[str, str]) -> str:
    """What a command prints on its terminal; messages and progress on standard error are left out."""
    expected = int(found[1]) if (found := _EXIT_CODE.search(command)) else 0
    ours = {
        **os.environ,
        **environment,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "COLUMNS": str(_COLUMNS),
        "NO_COLOR": "1",
    }
    reader, writer = pty.openpty()
    pieces: list[bytes] = []
    thread = threading.Thread(target=_collect, args=(reader, pieces))
    thread.start()
    try:
        ended = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=ours,
            stdin=subprocess.DEVNULL,
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writer)
        thread.join()
        os.close(reader)
    printed = b"".join(pieces).decode().replace("\r\n", "\n")
    told = f"{where}: {command} ended with {ended.returncode}\n{printed}{ended.stderr}"
    assert ended.returncode == expected, told
    return printed


def _collect(reader: int, pieces: list[bytes]) -> None:
    while True:
        try:
            piece = os.read(reader, 65536)
        except OSError:  # the other end was closed
            return
        if not piece:
            return
        pieces.append(piece)


def fits(expected: str, printed: str) -> bool:
    """Whether a text is what a page says, where ``…`` is anything and a line of ``…`` any lines."""
    parts = [
        "(?:.*\n)*?" if line == "…" else f"{re.escape(line.rstrip()).replace('…', '.*')} *\n"
        for line in expected.splitlines()
    ]
    return re.fullmatch("".join(parts), printed) is not None
