"""What a terminal shows of an answer, on narrow ones too."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprokit.features.compare.answer import Answer, Side, Word
from reprokit.features.compare.lines import answer_lines, report_lines
from reprokit.reports.terminal.terminal_style import Style

COMMAND = "python train.py --seed {seed} --out {run_dir} --lr 0.05 --batch 16 --epochs 20 --data a/b/c.csv"
ANSWER = Answer(
    answer=Word.DIFFERENT,
    sentence="the sides differ from step 3 on: loss is 0.771813541441084 on a, 0.771813542441084 on b "
    "(1e-09 apart)",
    hint="`reprokit diagnose train` finds the line; --seeds N compares results over seeds, not bits",
    sides={name: Side(what=COMMAND, runs=("one", "two")) for name in "ab"},
    first={
        "record": 3,
        "step": 3,
        "metric": "loss",
        "what": "other value",
        "expected": 0.771813541441084,
        "actual": 0.771813542441084,
        "abs_error": 1e-09,
        "rel_error": 1.3e-09,
        "ulps": 9007199,
    },
    what_differs=({"kind": "command", "what": f"{COMMAND} → {COMMAND} --accumulate 4"},),
    metrics={
        f"rollout/a_long_name_of_a_metric_{number}": {
            "mismatches": 20,
            "first_step": 3,
            "max_abs_error": 0.0005182133819213,
            "max_rel_error": 0.0012345678901234,
        }
        for number in range(2)
    },
    notes=(
        "a later run could read what an earlier one left: data/cache/one, data/cache/two, data/cache/three",
    ),
)


@pytest.mark.parametrize("width", [60, 80])
def test_nothing_is_wider_than_the_terminal_and_the_answer_comes_first(width):
    style = Style(width=width)
    folder = Path.cwd() / "reports/compare/train/20261126T222053Z-050a"
    lines = [*answer_lines(ANSWER, style=style), *report_lines(folder, style=style)]
    assert max(map(len, lines)) <= width
    assert lines[0].startswith("DIFFERENT: the sides differ from step 3 on")
    assert "0.771813542441084" in "".join(lines)


def test_in_a_pipe_a_sentence_is_one_line():
    lines = list(answer_lines(ANSWER, style=Style(is_terminal=False)))
    assert lines[0] == f"DIFFERENT: {ANSWER.sentence}"
