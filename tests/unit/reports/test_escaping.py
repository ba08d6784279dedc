from __future__ import annotations

import unicodedata

import pytest

from reprokit.reports.escaping import (
    Visible,
    github_message,
    github_property,
    log_lines,
    markdown,
    markdown_block,
    markdown_code,
    markdown_prose,
    one_line,
    pieces,
)


@pytest.mark.parametrize(
    "code", ["equals_golden", "--backend docker", "variant: NAME", "reprokit doctor", "{seed}", "git status"]
)
def test_what_the_tool_writes_between_back_quotes_is_code_and_other_back_quotes_stay(code: str) -> None:
    assert pieces(Visible(f"see `{code}`")) == [("see ", False), (code, True)]
    assert markdown_prose(Visible(f"see `{code}`")) == f"see `{code}`"
    for other in ("see `A b`", "see `reboot`", "see `<b>`", "see `equals_golden", "see ``"):
        assert pieces(Visible(other)) == [(other, False)]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("losses/policy_loss", "losses/policy_loss"),
        ("Größe ± 3 µs, 価値", "Größe ± 3 µs, 価値"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x9b31m\x7f", r"\x9b31m\x7f"),
        ("\u202egpj.exe", r"\u202egpj.exe"),
        ("zero\u200bwidth", r"zero\u200bwidth"),
        ("no\u00a0break", r"no\xa0break"),
        ("\ud800", r"\ud800"),
        ("\ufffe", r"\ufffe"),
        ("\U000e0041", r"\U000e0041"),
        ("filler\u3164", r"filler\u3164"),
        ("::set-output name=a::b", r":\x3aset-output name=a::b"),
        ("and ::error::x", r"and :\x3aerror::x"),
        ("tests/test_a.py::test_b", "tests/test_a.py::test_b"),
        ("##[error]x ##vso[a]b", r"#\x23[error]x #\x23vso[a]b"),
        ("## heading", "## heading"),
        (None, "None"),
        (42, "42"),
    ],
)
def test_one_line_shows_what_would_not_show_itself(text: object, shown: str) -> None:
    assert one_line(text) == shown


def test_a_few_combining_marks_stay_and_a_flood_is_shown_as_numbers() -> None:
    assert one_line("e\u0301\u0323") == "e\u0301\u0323"
    flooded = one_line("e" + "\u0301" * 50)
    assert sum(unicodedata.combining(character) > 0 for character in flooded) == 4
    assert flooded.count(r"\u0301") == 46


def test_hostile_text_becomes_printable_legal_and_one_line(hostile_text: str) -> None:
    shown = one_line(hostile_text)

    assert shown.isprintable()
    assert shown.encode("utf-8").decode("utf-8") == shown
    assert len(shown.splitlines()) <= 1
    assert not shown.lstrip().startswith("::")
    assert "##[" not in shown
    assert len(shown) < 12_000


def test_a_clipped_text_says_how_much_is_missing() -> None:
    assert one_line("abcdef", limit=6) == "abcdef"
    assert one_line("x" * 5000, limit=3) == "xxx… (4,997 more characters)"


def test_log_lines_keep_the_end_without_colours_and_split_progress_bars() -> None:
    printed = "old\n\x1b[32mgreen\x1b[0m\r\n10%\r20%\r30%\n\tindented\x07\n\n"

    assert log_lines(printed, max_lines=5) == ("green", "10%", "20%", "30%", r"    indented\x07")


def test_an_empty_log_has_no_lines() -> None:
    assert log_lines("") == ()
    assert log_lines(" \n \r\n") == ()


def test_a_log_line_cannot_command_a_runner() -> None:
    assert log_lines("ok\r::stop-commands::x\n  ::add-mask::e") == (
        "ok",
        r":\x3astop-commands::x",
        r"  :\x3aadd-mask::e",
    )


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("49 records of 12 metrics are equal.", "49 records of 12 metrics are equal."),
        ("a | b", "a &#124; b"),
        ("<b>", "&#60;b>"),
        ("train.py > {run_dir}/x.log # why", "train.py > {run_dir}/x.log # why"),
        ("3.11.2", "3.11.2"),
        ("-2.5 to 1", "-2.5 to 1"),
        ("# title", "&#35; title"),
        ("> quote", "&#62; quote"),
        ("1. item", "1&#46; item"),
        ("- item", "&#45; item"),
        ("@octocat sees #1", "@<!-- -->octocat sees &#35;<!-- -->1"),
        ("python:3.11@sha256", "python:3.11@sha256"),
        ("https://example.invalid", "https&#58;//example.invalid"),
        ("www.example.invalid", "www&#46;example.invalid"),
    ],
)
def test_markdown_prose_is_shown_and_never_structure(text: str, escaped: str) -> None:
    assert markdown(Visible(text)) == escaped


def test_markdown_code_stays_readable_where_it_can() -> None:
    assert markdown_code(Visible("charts/episodic_return")) == "`charts/episodic_return`"
    assert markdown_code(Visible("a|b`c")) == "<code>a&#124;b&#96;c</code>"
    assert markdown_code(Visible("")) == ""
    assert markdown_code(Visible(" a")) == "<code> a</code>"


def test_a_block_cannot_be_closed_from_within() -> None:
    assert markdown_block((Visible("````"), Visible("x"))) == "`````text\n````\nx\n`````"


def test_github_encodes_what_would_end_a_property_or_a_message() -> None:
    assert github_property(Visible("a: 100%, b")) == "a%3A 100%25%2C b"
    assert github_message(Visible("a\nb\r%")) == "a%0Ab%0D%25"
