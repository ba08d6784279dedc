"""Whatever a help page, a message, a remedy or a page tells people to type can be typed, by no old name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from reprokit import cli
from reprokit.cli.help_pages import shown_names

ROOT = Path(__file__).resolve().parents[3]

# The tool's name at the beginning of a line, of a string or of code in a sentence, and a word after it.
_TYPED = re.compile(r"(?:`|^[\s>$]*|\$ |[\"'(])(reprokit [a-z](?:(?![),;])[^`\n\"])*)")
# Words that follow the name in sentences about the tool.
_PROSE = re.compile(
    r"reprokit (?:a|and|ended|gives|is|itself|needs|of|or|puts|reads|runs (?:a|the|it)|that|wrote|writes)\b"
)


def resolve(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that words reach, and the words that are left for it."""
    command: click.Command = cli.root
    while isinstance(command, click.Group) and words:
        known = command.list_commands(click.Context(command))
        found = command.get_command(click.Context(command), words[0]) if words[0] in known else None
        if found is None:
            break
        command, words = found, words[1:]
    return command, words


def mistake_in(line: str) -> str:
    """Why a line cannot be typed; "" when its verb and its options are there."""
    command, rest = resolve(line.split()[1:])
    if isinstance(command, click.Group) and rest and re.fullmatch(r"[a-z]+", rest[0]):
        return f"{line!r}: there is no verb {rest[0]!r}"
    known = {*shown_names(command, click.Context(command)), "--help", "-h"}
    unknown = [word for word in re.findall(r"(?<!\S)--?[a-z][a-z0-9-]*", " ".join(rest)) if word not in known]
    return f"{line!r}: there is no option {unknown[0]}" if unknown else ""


def lines_of(path: Path) -> Iterator[str]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if not re.match(r"\s*(?:from|import) ", line):
            for found in _TYPED.findall(line):
                if not _PROSE.match(found):
                    yield re.sub(r"\{[^{}]*\}", "X", re.split(" -- |  # ", found)[0])


def files() -> list[Path]:
    return sorted([*(ROOT / "reprokit").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"])


@pytest.mark.parametrize(
    ("line", "mistake"),
    [
        ("reprokit diff A B --rtol 0.1", ""),
        ("reprokit golden promote RECIPE --reason X", ""),
        ("reprokit nonsense", "no verb 'nonsense'"),
        ("reprokit golden bless RECIPE", "no verb 'bless'"),
        ("reprokit diff A B --tolerance 0.1", "no option --tolerance"),
        ("reprokit learning RUN", "no verb 'learning'"),
        ("reprokit data fetch --if-any", "no option --if-any"),
    ],
)
def test_a_line_that_cannot_be_typed_is_found(line, mistake):
    assert (mistake_in(line) == "") if not mistake else (mistake in mistake_in(line))


def test_the_places_where_lines_stand_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "    $ reprokit one x\nDo: `reprokit two`, then\n> reprokit three\nreprokit runs a program\n"
    )
    assert list(lines_of(page)) == ["reprokit one x", "reprokit two", "reprokit three"]


def test_no_message_and_no_page_names_a_verb_or_option_that_is_not_there():
    typed = [(path, line) for path in files() for line in lines_of(path)]
    assert len(typed) > 40, "the search finds nothing any more"
    wrong = [f"{path.relative_to(ROOT)}: {told}" for path, line in typed if (told := mistake_in(line))]
    assert wrong == []
