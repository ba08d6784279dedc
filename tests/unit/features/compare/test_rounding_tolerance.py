"""``golden tolerance``: what rounding needs of each metric, with how often it would be a false alarm."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from reprokit.errors import CannotJudgeError, GoldenError
from reprokit.features.compare.rounding import evidence, of_search, tolerance
from reprokit.features.compare.rounding.of_search import rounding_from_commit, rounding_from_here
from reprokit.features.compare.rounding.tolerance import at_most, bound_of, propose, proposed_of
from reprokit.features.compare.tolerance_page import page_lines
from reprokit.layout import METRICS
from reprokit.project import Project
from reprokit.recipes import load
from reprokit.request import Request
from reprokit.session import Session
from support.harness_fixtures import inside, repository
from support.recorded_progress import RecordedProgress

__all__ = ["inside", "repository"]

PROGRAM = """\
import json, os, random, sys
random.seed(int(sys.argv[1]))
kind, *parts = os.environ.get("REPROKIT_TWIN", "none").split(":")
told = dict(part.split("=") for part in parts)
noise = random.Random(int(told.get("seed", 0)))
value = 1.0 + random.random()
with open(f"{sys.argv[2]}/log.jsonl", "w") as log:
    for step in range(20):
        value *= 1 - float(told.get("rate", 1)) * 0.05
        off = noise.uniform(-1, 1) * 1e-7 if kind in ("updates", "modules") else 0.0
        log.write(json.dumps({"step": step, "loss": value * (1 + off)}) + "\\n")
"""


def curve(records=200):
    return [2.0 * 0.99**step + 0.3 for step in range(records)]


def twins(values, *, by, count=8):
    found = []
    for seed in range(count):
        draw = random.Random(seed)
        found.append([value * (1 + by * draw.uniform(-1, 1)) for value in values])
    return found


def faster(values, by):
    return [value * (1 + by) for value in values]


def test_a_bound_is_four_times_the_farthest_twin_and_no_twin_is_outside_it():
    values = curve()
    found = bound_of("loss", values, [*twins(values, by=1e-6), faster(values, 1e-3)], mean_of=1)
    assert 3.9e-6 < found.rtol <= 4.1e-6
    assert (found.false_alarms, found.sees_control, found.why) == (0, True, "")
    assert found.at_most == pytest.approx(0.3123, abs=1e-3)


def test_means_need_less_than_single_values_and_see_what_these_hide():
    values = curve()
    others = [*twins(values, by=1e-3), faster(values, 2e-3)]
    one, ten = (bound_of("loss", values, others, mean_of=mean_of) for mean_of in (1, 10))
    assert ten.rtol < one.rtol
    assert (one.sees_control, ten.sees_control) == (False, False)
    hundred = bound_of("loss", values, others, mean_of=100)
    assert hundred.sees_control
    assert proposed_of([one, ten, hundred]) == {"loss": {"rtol": hundred.rtol, "mean_of": 100}}
    assert proposed_of([one, ten]) == {}, "a tolerance that hides the control is not proposed"


def test_a_twin_far_from_the_others_counts_as_a_false_alarm():
    values = curve()
    others = twins(values, by=1e-7)
    others[3] = faster(values, 1e-5)
    found = bound_of("loss", values, [*others, faster(values, 1e-3)], mean_of=1)
    assert found.false_alarms == 1
    assert found.at_most == pytest.approx(0.471, abs=1e-3)


@pytest.mark.parametrize(
    ("values", "why"),
    [([1.0, float("nan")], "no finite numbers"), ([0.0, 1.0], "zero somewhere"), ([1.0], "another number")],
)
def test_where_no_relative_tolerance_is_of_use_the_reason_is_said(values, why):
    others = [[1e-9, 1.0]] * 9
    assert why in bound_of("loss", values, others, mean_of=1).why


def test_of_many_twins_the_share_that_is_possible_is_small():
    assert at_most(0, 300) == pytest.approx(0.00994, abs=1e-4)
    assert at_most(8, 8) == pytest.approx(1.0)


@pytest.fixture
def golden(repository, monkeypatch):
    monkeypatch.setattr(evidence, "_must_be_of_kind", lambda *_, **__: None)
    monkeypatch.setattr(tolerance, "updates_of", lambda folder: 20)
    repository.write(train_py=PROGRAM)
    repository.promote(repository.reproduce())
    return repository


def proposal(repository, **asked):
    session = Session(project=Project.around(repository.root), progress=RecordedProgress())
    return propose("train", Request(backend="local", **asked), num_twins=4, session=session)


def test_the_golden_is_made_again_and_nothing_is_written(golden):
    before = {file: file.read_bytes() for file in golden.root.glob("recipes/*/*")}
    found = proposal(golden)
    assert list(found.proposed) == ["loss"]
    assert 1e-8 < found.proposed["loss"]["rtol"] < 1e-6
    assert (found.num_twins, len(found.runs)) == (4, 6)
    assert all(Path(run).is_dir() for run in found.runs)
    assert {file: file.read_bytes() for file in golden.root.glob("recipes/*/*")} == before
    lines = list(page_lines(found))
    assert any("0 of 4, at most 53%" in line and line.endswith("seen") for line in lines)
    assert f'    "loss": {{rtol: {found.proposed["loss"]["rtol"]:g}}}' in lines


def test_numbers_that_are_not_the_goldens_give_no_proposal(golden):
    golden.write(train_py=PROGRAM.replace("0.05", "0.06"))
    with pytest.raises(CannotJudgeError, match="does not give its golden's numbers"):
        proposal(golden)
    with pytest.raises(GoldenError, match="no golden to propose"):
        proposal(golden, seed=4)


def searched(golden, judge_from, *what):
    """A judge by twins of the golden's run, its metrics, and what makes others."""
    blessed = next(golden.root.glob("golden/*/*/*")) / METRICS
    session = Session(project=Project.around(golden.root), progress=RecordedProgress())
    return judge_from(*what, blessed, Request(backend="local"), session=session), blessed


@pytest.mark.slow
@pytest.mark.parametrize("of", ["commit", "here"])
def test_a_search_is_told_what_is_rounding_and_what_is_more(golden, monkeypatch, tmp_path, of):
    monkeypatch.setattr(of_search, "updates_of", lambda folder: 20)
    monkeypatch.setattr(evidence, "rounded_of", lambda folder: (1, 2.0**-23))
    recipe = load("train", recipes_dir=golden.root / "recipes")
    what = ("train", "HEAD") if of == "commit" else (recipe,)
    why_not, blessed = searched(golden, rounding_from_commit if of == "commit" else rounding_from_here, *what)
    for off, more in ((6e-8, False), (1e-4, True)):
        lines = [json.loads(line) for line in blessed.read_text().splitlines()]
        for at, line in enumerate(lines):
            line["loss"] *= 1 + off * (at % 3 - 1)
        other = tmp_path / "other.jsonl"
        other.write_text("".join(json.dumps(line) + "\n" for line in lines))
        assert ("times what rounding does" in why_not(other)) == more
    lines[3]["other"] = 1.0
    other.write_text("".join(json.dumps(line) + "\n" for line in lines[:4]))
    assert why_not(other) != ""


def test_a_good_end_that_does_not_give_its_numbers_again_has_no_twins(golden):
    golden.write(train_py=PROGRAM.replace("0.05", "0.06"))
    recipe = load("train", recipes_dir=golden.root / "recipes")
    with pytest.raises(CannotJudgeError, match="does not give its numbers again"):
        searched(golden, rounding_from_here, recipe)
