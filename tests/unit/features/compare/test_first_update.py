"""The first update of parameters: what differs by 1e-4 is never equal or rounding, and a slope names it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from reprokit.errors import CannotJudgeError
from reprokit.features.compare.answer import Answer, Word
from reprokit.features.compare.judge import Selected
from reprokit.features.compare.rounding import decide, first_evidence
from reprokit.features.compare.rounding.decide import with_rounding
from reprokit.features.compare.rounding.first_evidence import first_finding, moved_in, must_be_firsts
from reprokit.features.compare.rounding.first_update import FirstFinding, Moved, is_far, judged_first
from reprokit.features.compare.rounding.made_twins import MadeTwins, RoundingAsked
from reprokit.features.compare.rounding.rule import Finding
from reprokit.features.compare.rounding.sentences import first_told
from reprokit.features.compare.rounding.twin_runs import FirstLook, TwinRuns, first_updates, make_twins

SIZE = 4_000


def moved(off=0.0, *, seed=0, noise=0.0, step=1) -> Moved:
    """A's update, times 1 + off, with noise as a twin has it."""
    one = np.random.default_rng(1).normal(size=SIZE)
    other = np.random.default_rng(2 + seed).uniform(-1, 1, SIZE)
    values = one * (1 + off) * (1 + noise * other)
    return Moved(step=step, shapes=((40, 50), (2_000,)), every=1, values=tuple(np.split(values, 2)))


A = moved()
TWINS = [moved(seed=seed, noise=1e-6) for seed in range(1, 9)]


def test_a_higher_learning_rate_is_named_by_the_slope():
    found = judged_first(A, moved(1e-5, seed=50, noise=1e-6), TWINS)
    assert found.finding is Finding.ROUNDING  # below 1e-4: metrics decide
    assert found.slope == pytest.approx(1e-5, rel=0.01)
    assert first_told(found).endswith("as if the learning rate were 1.00001 times as large")


def test_a_difference_of_1e_4_is_different_whatever_metrics_say():
    assert judged_first(A, moved(1.1e-4, noise=1e-6), TWINS).finding is Finding.DIFFERENT
    assert judged_first(A, moved(0.9e-4, noise=1e-6), TWINS).finding is Finding.ROUNDING


def test_what_is_no_multiple_of_the_update_has_no_slope():
    found = judged_first(A, moved(seed=60, noise=1e-2), TWINS)
    assert (found.finding, found.slope) == (Finding.DIFFERENT, None)
    assert "as if" not in first_told(found)


def test_parameters_that_rounding_moves_too_far_are_left_out_and_counted():
    def jumping(one: Moved, by: float) -> Moved:
        values = [value.copy() for value in one.values]
        values[1][:3] += by
        return replace(one, values=tuple(values))

    twins = [jumping(one, 0.1 * (-1) ** at) for at, one in enumerate(TWINS)]
    found = judged_first(A, jumping(moved(noise=1e-6, seed=70), 0.1), twins)
    assert (found.finding, found.left_out, found.parameters) == (Finding.ROUNDING, 3, SIZE - 3)
    assert "3,997 of 4,000 parameters were compared" in first_told(found)


def test_where_rounding_moves_most_of_it_too_far_it_says_nothing():
    found = judged_first(A, A, [moved(seed=seed, noise=0.2) for seed in range(4)])
    assert (found.finding, found.is_seen) == (Finding.UNJUDGED, False)


def test_a_difference_of_1e_4_is_never_rounding_where_twins_are_as_far_or_too_few_or_move_nothing():
    off = moved(noise=1e-3, seed=80)
    coarse = [moved(seed=seed, noise=1e-3) for seed in range(1, 9)]
    for twins in (coarse, TWINS[:3], [A] * 8):
        found = judged_first(A, off, twins)
        assert (found.finding, found.is_seen) == (Finding.UNJUDGED, True)
        assert found.why


def test_an_update_that_comes_first_later_is_different():
    found = judged_first(A, moved(step=2), TWINS)
    assert found.finding is Finding.DIFFERENT
    assert "update 1 of side a, and in update 2 of side b" in first_told(found)
    assert is_far(A, moved(step=2))


def test_parameters_of_other_shapes_are_not_seen():
    other = replace(A, shapes=((50, 40), (2_000,)))
    assert judged_first(A, other, TWINS).is_seen is False
    assert not is_far(A, other)


def test_a_twin_of_other_parameters_is_no_twin():
    found = judged_first(A, A, [*TWINS, moved(step=2)])
    assert (found.finding, found.is_seen) == (Finding.UNJUDGED, True)


def recorded(folder: Path, one: Moved | None, *, kind="first", rounded=0, epsilon=0.0, steps=1) -> Path:
    """A run folder with what the hook leaves."""
    place = folder / ".reprokit"
    place.mkdir(parents=True)
    facts = {
        "kind": kind,
        "rounded": rounded,
        "epsilon": epsilon,
        "steps": steps,
        "updates": steps,
        "fits": 0,
    }
    if one is not None:
        data = np.concatenate(one.values).astype("<f4").tobytes()
        (place / "first.f32").write_bytes(data)
        sha = __import__("hashlib").sha256(data).hexdigest()
        shapes = [list(shape) for shape in one.shapes]
        told_of = {"step": one.step, "shapes": shapes, "every": 1, "file": "first.f32", "sha256": sha}
        facts["first_update"] = told_of
    trace = {"process": "0", "python": "3.11", "sites": {}, "files": {}, "streams": {}}
    (place / "trace-0.json").write_text(json.dumps({**trace, "facts": {"rounding 0": facts}}))
    return folder


def runs_of(tmp_path: Path, a=A, b=A, twins=(), **of_twins) -> TwinRuns:
    made = [
        recorded(tmp_path / f"twin{at}", one, kind="updates", rounded=9, **{"epsilon": 2.0**-23, **of_twins})
        for at, one in enumerate(twins)
    ]
    firsts = {"a": recorded(tmp_path / "a1", a), "b": recorded(tmp_path / "b1", b)}
    return TwinRuns(twins=(), control=None, start=0, firsts=firsts, first_twins=tuple(made), made=2)


def of_equal(tmp_path: Path, monkeypatch, runs: TwinRuns) -> Answer:
    monkeypatch.setattr(decide, "must_be_firsts", lambda *_, **__: None)
    equal = Answer(answer=Word.EQUAL, sentence="every number is equal", sides={})
    made = MadeTwins(Selected(), RoundingAsked(), runs=runs)
    return with_rounding(equal, {"a": (tmp_path / "a",), "b": (tmp_path / "b",)}, made)


def test_equal_metrics_and_equal_updates_are_equal(tmp_path, monkeypatch):
    found = of_equal(tmp_path, monkeypatch, runs_of(tmp_path))
    assert (found.answer, found.sentence) == (Word.EQUAL, "every number is equal")
    assert found.rounding["first_update"]["finding"] == "equal"


def test_equal_metrics_and_another_update_are_different(tmp_path, monkeypatch):
    found = of_equal(tmp_path, monkeypatch, runs_of(tmp_path, b=moved(1e-3), twins=TWINS[:4]))
    assert (found.answer, found.exit_code) == (Word.DIFFERENT, 1)
    assert found.sentence.startswith("no metric differs, and yet the sides differ by more than rounding: ")
    assert found.sentence.endswith("as if the learning rate were 1.001 times as large")


@pytest.mark.parametrize("side", ["a", "b"])
def test_a_recorder_that_records_nothing_is_unjudged_not_equal(tmp_path, monkeypatch, side):
    found = of_equal(tmp_path, monkeypatch, runs_of(tmp_path, **{side: None}))
    assert (found.answer, found.exit_code) == (Word.UNJUDGED, 4)
    assert f"the first update of side {side} was not recorded" in found.sentence


def test_a_recorder_that_records_nothing_of_a_twin_is_unjudged(tmp_path):
    runs = runs_of(tmp_path, b=moved(1e-3), twins=[*TWINS[:3], None])
    assert first_finding(runs).why == "the first update of a twin was not recorded"


def test_a_file_that_was_changed_later_is_refused(tmp_path):
    folder = recorded(tmp_path / "a", A)
    (folder / ".reprokit" / "first.f32").write_bytes(b"\0" * 16_000)
    with pytest.raises(CannotJudgeError, match="not what the run left"):
        moved_in(folder)


def test_a_program_that_takes_no_step_of_pytorch_is_judged_by_its_metrics_alone(tmp_path, monkeypatch):
    folder = recorded(tmp_path / "a1", None, steps=0)
    runs = TwinRuns(twins=(), control=None, start=0, firsts={"a": folder}, made=1)
    found = of_equal(tmp_path, monkeypatch, runs)
    assert found.answer is Word.EQUAL
    assert found.rounding["first_update"]["is_seen"] is False


def test_what_is_computed_in_few_digits_is_not_judged_by_twins(tmp_path):
    runs = runs_of(tmp_path, b=moved(1e-3), twins=TWINS[:4], epsilon=2.0**-7)
    found = first_finding(runs)
    assert (found.is_seen, "fewer digits" in found.why) == (False, True)


@pytest.mark.parametrize("wrong", [{"kind": "updates"}, {"rounded": 3}])
def test_a_run_in_which_something_was_rounded_shows_no_side(tmp_path, monkeypatch, wrong):
    record = SimpleNamespace(record=SimpleNamespace(seed=1, digests={}))
    monkeypatch.setattr(first_evidence.runs, "read", lambda *_, **__: record)
    runs = TwinRuns(
        twins=(), control=None, start=0, firsts={"b": recorded(tmp_path / "b1", A, **wrong)}, made=1
    )
    with pytest.raises(CannotJudgeError, match="something was changed"):
        must_be_firsts(runs, of=tmp_path / "a", other=tmp_path / "b")


def with_first(answer: str, first: FirstFinding) -> str:
    return decide._with_first({"answer": answer}, first)["answer"]


def test_what_first_updates_say_outweighs_metrics_that_are_rounding():
    different = FirstFinding(finding=Finding.DIFFERENT)
    unjudged, not_seen = (FirstFinding(finding=Finding.UNJUDGED, is_seen=seen) for seen in (True, False))
    assert [with_first(word, different) for word in ("rounding", "unjudged")] == ["different"] * 2
    assert [with_first(word, unjudged) for word in ("rounding", "different")] == ["unjudged", "different"]
    assert [with_first(word, not_seen) for word in ("rounding", "different")] == ["rounding", "different"]


class Maker:
    """Makes runs that are names, and keeps the orders."""

    def __init__(self, side: str):
        self.side, self.orders = side, []

    def __call__(self, variation, number):
        self.orders.append(variation.environment["REPROKIT_TWIN"])
        return Path(f"{self.side}-{number}")


def look(other: Maker, *, far: bool, steps: bool = True, differ: bool = False) -> FirstLook:
    def far_apart(runs: TwinRuns) -> bool:
        return far and set(runs.firsts) == {"a", "b"}

    return FirstLook(
        make_other=other,
        takes_steps=lambda _: steps,
        step_of=lambda _: int(steps),
        far_apart=far_apart,
        differ=lambda _: differ,
    )


def test_sides_that_are_equal_are_run_once_more_up_to_the_first_update_and_twins_where_it_differs():
    for far, made in ((False, 2), (True, 6)):
        a, b = Maker("a"), Maker("b")
        runs = first_updates(a, look(b, far=far))
        assert (runs.made, len(b.orders), len(runs.first_twins)) == (made, 1, made - 2)
        assert (a.orders[0], b.orders[0]) == ("first:seed=0:start=1000000000:rate=1",) * 2
        assert all(order.endswith("start=0:rate=1:stop=1") for order in a.orders[1:])


def test_of_a_program_without_a_step_of_pytorch_side_b_is_not_run_again():
    runs = first_updates(Maker("a"), look(other := Maker("b"), far=False, steps=False))
    assert (runs.made, other.orders) == (1, [])


@pytest.mark.parametrize(("differ", "start"), [(True, 0), (False, 38)])
def test_twins_begin_at_the_beginning_where_few_digits_hide_that_the_first_update_differs(differ, start):
    a, b = Maker("a"), Maker("b")
    runs = make_twins(
        a,
        place=(20, 60),
        updates_of=lambda _: 120,
        finding_with=lambda _: (Finding.DIFFERENT, 1e4),
        look=look(b, far=False, differ=differ),
    )
    assert (runs.start, len(runs.every_twin)) == (start, 4)
    assert all(f":start={start}:" in order for order in a.orders[2:])
    assert (Path("a-1") in runs.twins) is differ


def test_no_search_with_first_updates_makes_more_than_fourteen_runs_and_each_has_enough_whole_twins():
    near, inside = (Finding.DIFFERENT, 5.0), (Finding.ROUNDING, 1.0)
    for place in ((0, 60), (20, 60), (55, 60), (2, 5)):
        for findings in (
            [near, inside, inside, inside],
            [inside] * 3,
            [near] * 4,
            [near, near, near, inside],
        ):
            for far, differ in ((False, False), (False, True), (True, True)):
                given, a, b = iter(findings), Maker("a"), Maker("b")
                runs = make_twins(
                    a,
                    place=place,
                    updates_of=lambda _: 120,
                    finding_with=lambda _, given=given: next(given),
                    look=look(b, far=far, differ=differ),
                )
                assert runs.made == len(a.orders) + len(b.orders) <= 14
                assert set(runs.firsts) == {"a", "b"}
                assert len(runs.twins) >= 4 or runs.control is None
                assert not far or len(runs.of_first_update) >= 4
                assert TwinRuns.from_data(json.loads(json.dumps(runs.as_data()))) == runs
