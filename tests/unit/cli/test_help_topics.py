"""`reprokit help`: pages laid out on a terminal, Markdown elsewhere, and the verbs' own pages."""

from __future__ import annotations

import json
import re

import pytest
from markdown_it import MarkdownIt

from reprokit import cli, packaged
from reprokit.cli.markdown_page import drawn
from reprokit.reports.terminal.terminal_style import Style

PAGE = """\
# A page

<!-- no one reads this -->
Words with `code`, and a line that is longer than forty columns.

```
a line of code that is much longer than the terminal is wide, and is copied whole
```

| name | what it is |
|---|---|
| `short` | a cell that is much wider than what is left for it |
"""
NARROW, WIDE = Style(width=40, color=True), Style(width=100, color=True)


def seen(text: str) -> str:
    """What a person sees: without colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def answer_of(arguments: list[str], capsys) -> tuple[object, str, str]:
    with pytest.raises(SystemExit) as ended:
        cli.main(["help", *arguments])
    told = capsys.readouterr()
    return ended.value.code, told.out, told.err


def test_words_are_wrapped_and_code_is_not():
    lines = seen(drawn(PAGE, style=NARROW)).splitlines()
    assert "  a line of code that is much longer than the terminal is wide, and is copied whole" in lines
    assert max(len(line) for line in lines if "copied whole" not in line) <= 40
    assert "Words with code, and a line that is" in lines


def test_no_line_ends_within_a_command_that_a_page_names():
    for width in (60, 80):
        page = seen(drawn(packaged.topic("your-program").text(), style=Style(width=width, color=True)))
        assert "reprokit help bring-your-own-program" in page
        assert [line for line in page.splitlines() if line.endswith(("reprokit", "reprokit help"))] == []


def test_a_heading_stands_on_the_left_and_comments_are_left_out():
    page = seen(drawn(PAGE, style=NARROW))
    assert page.startswith("A page\n")
    assert "no one reads" not in page


def test_a_table_that_is_too_wide_is_a_list_of_its_rows():
    narrow, wide = (seen(drawn(PAGE, style=style)) for style in (NARROW, WIDE))
    assert "\nshort\n  what it is: a cell that is much wider\n" in narrow
    assert re.search(r"name +what it is", wide)
    assert re.search(r"short +a cell that is much wider than what is left for it", wide)


def test_no_page_loses_a_word_of_its_code_on_a_narrow_terminal():
    for name, page in packaged.topics().items():
        tokens = MarkdownIt().enable("table").parse(page.text())
        code = [token.content for token in tokens if token.type in {"fence", "code_block"}]
        shown = seen(drawn(page.text(), style=Style(width=60, color=True)))
        for line in (line for block in code for line in block.splitlines()):
            assert line.strip() in shown, (name, line)


@pytest.mark.parametrize("name", ["compare-two-sides", "find-the-cause", "stats", "your-program"])
def test_the_code_of_a_page_fits_a_terminal_of_80_columns(name):
    shown = seen(drawn(packaged.topic(name).text(), style=Style(width=80, color=True)))
    assert [line for line in shown.splitlines() if len(line) > 80] == []


def test_no_command_of_a_page_is_wider_than_a_terminal():
    command = re.compile(r"(\$ )?(\.venv/bin/)?reprokit ")
    wide = [
        (name, line)
        for name, page in packaged.topics().items()
        for token in MarkdownIt().parse(page.text())
        if token.type == "fence"
        for line in token.content.splitlines()
        if command.match(line) and len(line) > 80
    ]
    assert wide == []


def test_in_a_pipe_a_page_is_markdown(capsys):
    code, out, _ = answer_of(["keep-goldens"], capsys)
    assert (code, out) == (0, packaged.topic("keep-goldens").text())


def test_on_a_terminal_a_page_is_laid_out(on_terminal, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "60")

    def ask():
        with pytest.raises(SystemExit):
            cli.main(["help", "keep-goldens"])

    _, screen = on_terminal(ask)
    assert seen(screen).startswith("Keep goldens\n")
    assert "\x1b[" in screen
    monkeypatch.setenv("NO_COLOR", "1")
    _, screen = on_terminal(ask)
    assert screen == packaged.topic("keep-goldens").text()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["golden", "promote"], "Usage: reprokit golden promote"),
        (["verify"], "Usage: reprokit verify"),
        (["learning"], "Usage: reprokit learning"),
        (["stats"], "The options of the verb: `reprokit stats --help`"),
    ],
)
def test_a_verbs_name_shows_its_options(words, expected, capsys):
    code, out, _ = answer_of(words, capsys)
    assert (code, expected in out) == (0, True)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["keep-golden"], "reprokit help keep-goldens"),
        (["dif"], "reprokit help diff"),
        (["golden", "promot"], "Did you mean 'golden promote'?"),
        (["diff", "now"], "diff has no verb 'now'"),
    ],
)
def test_what_there_is_no_page_of_gets_the_nearest(words, expected, capsys):
    code, out, err = answer_of(words, capsys)
    assert (code, out, expected in err) == (2, "", True)


def test_without_a_topic_all_are_listed(capsys):
    _, out, _ = answer_of([], capsys)
    _, data, _ = answer_of(["--json"], capsys)
    told = json.loads(data)
    assert told.keys() == packaged.topics().keys()
    assert [name for name in told if not re.search(rf"^  {re.escape(name)}( |$)", out, re.MULTILINE)] == []
