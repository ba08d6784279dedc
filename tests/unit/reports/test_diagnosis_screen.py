"""What a person sees of a diagnosis on a terminal: one screen, with the line of code."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from reprokit.core.comparing.difference import Divergence
from reprokit.diagnosis import Cause
from reprokit.harness.diagnosing.diagnosis import DIFFERS, EQUAL, Diagnosis, RuledOut
from reprokit.reports.pages.diagnosis_page import first_lines
from reprokit.reports.terminal.diagnosis_screen import draw, screen
from reprokit.reports.terminal.terminal_lines import MOST_LINES
from reprokit.reports.terminal.terminal_style import Style

ROOT = Path("/home/someone/lab")
CAUSE = Cause(
    category="unseeded_rng",
    file=f"{ROOT}/train.py",
    line=88,
    function="main",
    what="np.random.permutation: draws from a generator that was never seeded",
    fix="seed it from a setting, or pass a seeded generator",
    confidence="high",
    source="order = np.random.permutation(len(batch))",
)
DIVERGENCE = Divergence(
    record=37, step=37_888, metric="loss", expected=0.5, actual=0.25, abs_error=0.25, rel_error=0.5, ulps=9
)
FOUND = Diagnosis(
    verdict=DIFFERS, divergence=DIVERGENCE, causes=(CAUSE,), folder=ROOT / "reports/plain-train/T", runs=9
)
AGAIN = "reprokit diagnose --seed 7 -- python train.py --seed {seed} --logdir {run_dir} " + "--option x " * 20


def texts(found, *, width=80):
    lines = screen(found, subject="python train.py", root=ROOT, again=[AGAIN], width=width)
    return [line.text for line in lines]


def test_it_reads_from_the_verdict_over_the_line_of_code_to_the_fix():
    assert texts(FOUND)[:8] == [
        "NONDETERMINISTIC  python train.py · 9 runs",
        "First differs at step 37888, in loss.",
        "",
        "Cause",
        "  unseeded_rng at train.py:88, in main",
        "  │ order = np.random.permutation(len(batch))",
        "  np.random.permutation: draws from a generator that was never seeded",
        "  → seed it from a setting, or pass a seeded generator",
    ]


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("count", [0, 1, 3, 40])
def test_it_has_about_thirty_lines_of_whole_sentences_and_commands_that_can_be_copied(width, count):
    long = "a sentence of several words that goes on " * 9
    found = replace(
        FOUND,
        causes=(replace(CAUSE, confidence="medium", what=long, fix=long),) * count,
        known=(long,) * count,
        ruled_out=(RuledOut(what="x", how=long),) * count,
        limits=(long,) * count,
        provisional="the budget is used up: what is named is not confirmed",
    )
    lines = texts(found, width=width)
    assert len(lines) <= MOST_LINES or width == 40
    if count:
        assert "".join(lines).replace(" ", "").count(long.replace(" ", "")) >= 2, "what it is, and the fix"
    typed = re.sub(r" \\\n *", " ", "\n".join(lines))
    assert f"Run again: {AGAIN.strip()}" in typed
    assert all(cell_len(line) <= width for line in lines if len(line.removesuffix(" \\").split()) > 1)
    known = {*long.split()}
    wrapped = [line for line in lines if line.lstrip("→ ").startswith("a sentence")]
    assert all(set(line.lstrip("→ ").split()) <= known for line in wrapped)


def test_several_causes_are_named_in_the_title_and_in_the_first_line_of_a_pipe():
    found = replace(FOUND, causes=(CAUSE, replace(CAUSE, line=909)))
    assert "Causes (2, all to be fixed)" in texts(found)
    first, *others = first_lines(found, again=[], root=ROOT)
    assert f"2 causes (train.py:{CAUSE.line}, train.py:909), all to be fixed" in first
    assert [line for line in others if ":909" in line]


def test_a_cause_that_is_not_sure_says_so_in_its_title():
    assert "Cause, probably" in texts(replace(FOUND, causes=(replace(CAUSE, confidence="medium"),)))
    assert "Suspected cause" in texts(replace(FOUND, causes=(replace(CAUSE, confidence="low"),)))
    assert "  unknown: no experiment shows one" in texts(replace(FOUND, causes=()))


def test_where_nothing_differs_there_is_no_cause():
    lines = texts(replace(FOUND, verdict=EQUAL, divergence=None, causes=()))
    assert lines[0].startswith("REPEATABLE  python train.py")
    assert lines[1] == "No metric differs in 9 runs, under equal conditions or varied ones."
    assert "Cause" not in lines


def test_text_of_the_program_cannot_act_on_the_terminal():
    hostile = "x\x1b[2J\n::error::y"
    cause = replace(CAUSE, source=hostile, what=hostile, function=hostile)
    text = draw(
        replace(FOUND, causes=(cause,), known=(hostile,)),
        subject=hostile,
        root=ROOT,
        again=[hostile],
        style=Style(width=80, color=False),
    )
    assert "\x1b" not in text
    assert not [line for line in text.splitlines() if line.startswith("::")]


def test_colour_is_used_only_where_there_is_one():
    coloured = draw(FOUND, subject="x", root=ROOT, again=[], style=Style(width=80, color=True))
    assert coloured.startswith("\x1b[1;31mNONDETERMINISTIC\x1b[0m")
    assert "\x1b" not in draw(FOUND, subject="x", root=ROOT, again=[], style=Style(width=80))
