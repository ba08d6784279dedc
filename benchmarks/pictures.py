"""Draws the pictures of the documentation: what a person sees who follows the tutorial of their own program.

    .venv/bin/python benchmarks/pictures.py        # needs Chromium for the picture of the report

The program is the tutorial's. `diagnose.svg` is what the commands printed on a terminal of 80 columns;
`report.png` is a photograph of the page of a report.
"""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import markdown_it
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs/pictures"
TUTORIAL = ROOT / "docs/tutorial/your-program.md"
COLUMNS = 80
_SEED, _RATE = "random.seed(arguments.seed)\n", "learning_rate = 0.1\n"
_THEME = TerminalTheme(
    (27, 32, 39),
    (228, 232, 238),
    [
        *((27, 32, 39), (255, 123, 114), (111, 206, 148), (229, 187, 92)),
        *((127, 176, 255), (215, 155, 232), (95, 201, 181), (228, 232, 238)),
    ],
)
#: rich's own form names a font of a host on the network; this one takes the reader's.
_FORM = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>A terminal: reprokit diagnose finds the line</title>
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>{lines}</defs>
<rect fill="#1b2027" x="1" y="1" width="{terminal_width}" height="{height}" rx="8"/>
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""


def main() -> None:
    """Draw both pictures."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        program = _begin(project)
        program.write_text(text := program.read_text().replace(_SEED, ""))
        session = _typed("reprokit diagnose train", project)
        (PICTURES / "diagnose.svg").write_text(_drawn(session))
        program.write_text(text.replace(_RATE, f"{_SEED}learning_rate = 0.2\n"))
        _typed("reprokit verify", project)
        report = max(project.glob("reports/train/*/report.html"), key=lambda path: path.stat().st_mtime)
        _photograph(report, PICTURES / "report.png")


def _begin(project: Path) -> Path:
    """The tutorial's program with its recipe and golden, all committed."""
    project.mkdir()
    blocks = markdown_it.MarkdownIt().parse(TUTORIAL.read_text(encoding="utf-8"))
    program = next(block.content for block in blocks if block.info == "python train.py")
    (project / "train.py").write_text(program)
    for command in (
        "git init --quiet",
        "git config user.name reader && git config user.email reader@example.org",
        "git add --all && git commit --quiet --message 'A program'",
        "reprokit init --yes -- python train.py",
        "git add --all && git commit --quiet --message 'A recipe'",
        "reprokit reproduce train; reprokit golden promote train --reason 'first golden'",
        "git add --all && git commit --quiet --message 'A golden'",
    ):
        _typed(command, project)
    return project / "train.py"


def _typed(command: str, project: Path) -> str:
    """A command as it is typed, and what it prints on its terminal, with colours."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    reader, writer = pty.openpty()
    pieces: list[bytes] = []
    thread = threading.Thread(target=_collect, args=(reader, pieces))
    thread.start()
    subprocess.run(
        ["bash", "-c", command],
        cwd=project,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=writer,
        stderr=subprocess.DEVNULL,  # the bars of progress, which are drawn over each other
        check=False,
    )
    os.close(writer)
    thread.join()
    os.close(reader)
    return f"\x1b[1m$ {command}\x1b[0m\n" + b"".join(pieces).decode().replace("\r\n", "\n")


def _collect(reader: int, pieces: list[bytes]) -> None:
    while True:
        try:
            piece = os.read(reader, 65536)
        except OSError:  # the other end was closed
            return
        pieces.append(piece)


def _drawn(session: str) -> str:
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=COLUMNS + 2, file=nowhere, force_terminal=True)
        console.print(Text.from_ansi(session), soft_wrap=True)
        return console.export_svg(theme=_THEME, code_format=_FORM, unique_id="terminal")


def _photograph(page: Path, picture: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome") or sys.exit("there is no Chromium")
    size = ["--window-size=1000,1380", "--hide-scrollbars", "--force-device-scale-factor=1"]
    words = [browser, "--headless", "--no-sandbox", "--disable-gpu", *size, f"--screenshot={picture}"]
    subprocess.run([*words, page.as_uri()], check=True, capture_output=True)


if __name__ == "__main__":
    main()
