"""At which line a varied condition acts: the first call that differs, or the first draw in compiled code."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from reprokit.harness.diagnosing.inquiry import VARIATION
from reprokit.harness.diagnosing.lines_of_varied import with_line
from reprokit.variations import RunPlace, survey
from support.known_program_lab import Lab, asked

THREADS, COMPILER = survey(RunPlace(container=False, folder="/tmp/x"), only=("threads", "compiler")).made


def call(line, made, *, draws=False):
    site = f"/me/train.py:{line}:0-9"
    words = ["C", 0, site, 1, f"f{line}", "", "same", made, "=", line, "0"]
    told = {"site": site, "generators": {"PyTorch's generator": "a"} if draws else {}}
    return "\t".join(map(str, words)) + "\n", json.dumps(told) + "\n"


@pytest.fixture
def named(tmp_path):
    """The line that is named of a program with these calls as it is, and these when it is varied."""

    def make(variation, plain, varied, *, differs=True):
        class Traced(Lab):
            def run(self, label, given):
                folder = tmp_path / f"{self.made}"
                folder.mkdir()
                calls = varied if given.environment else plain
                (folder / "calls-0.tsv").write_text("".join(line for line, _ in calls))
                (folder / "calls-0.jsonl").write_text("".join(told for _, told in calls))
                return replace(super().run(label, given), traced=folder)

        lab = Traced(lambda drawn, run, given: 5 if given.environment and differs else 0)
        inquiry = asked(lab, variations=(variation,))
        (cause,) = with_line(inquiry, (VARIATION + variation.name,))
        return cause.line

    return make


def test_the_first_call_that_gives_something_else_under_the_condition_is_named(named):
    plain = [call(1, "a"), call(2, "b"), call(3, "c")]
    assert named(THREADS, plain, [call(1, "a"), call(2, "x"), call(3, "y")]) == 2


def test_of_compiled_code_the_first_line_that_draws_is_named(named):
    plain = [call(1, "a"), call(9, "b")]
    varied = [call(1, "a"), call(5, "v"), call(6, "w", draws=True), call(9, "x")]
    assert named(COMPILER, plain, varied) == 6


def test_of_compiled_code_that_draws_nothing_the_first_line_is_named(named):
    assert named(COMPILER, [call(9, "b")], [call(5, "v"), call(6, "w"), call(9, "x")]) == 5


def test_no_line_is_named_where_the_runs_with_calls_watched_are_equal(named):
    assert named(THREADS, [call(1, "a")], [call(1, "x")], differs=False) is None
