"""Where two runs begin to differ: which runs are made for it, and what is said where they do not agree."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from reprokit.diagnosis import HookTrace, Operation, first_operation
from reprokit.harness.diagnosing.conditions import Conditions, InstrumentedRun
from reprokit.harness.diagnosing.first_divergence import Pair, by_operation, simulator, where_it_began
from reprokit.harness.diagnosing.inquiry import Investigation

FOUND = Operation(name="environment 0", file="train.py", line=9, function="main", number=3)


def update(number, digest):
    return {"event": "update", "updates": number, "steps": 0, "streams": {"batch": digest}}


def trace(*events, mode="measure", **more):
    told = {"mode": mode, "updates": 9, "steps": 0, "events": list(events), "schedule": {}}
    return HookTrace(sites={}, files={}, processes=1, started=1, progress={"0": told}, **more)


def ran(label, found, *, folder=Path("none"), trouble=""):
    return InstrumentedRun(
        label=label,
        folder=folder,
        trace=found,
        traced=folder,
        key="k",
        hash_seed="1",
        trouble=trouble,
        duration_s=1,
    )


class Lab:
    """A laboratory whose runs leave what they are told to."""

    def __init__(self, *runs):
        self.progress = SimpleNamespace(phase=lambda _: None, note=lambda _: None)
        self.spent, self._left, self.given = False, list(runs), []
        self.can_make = lambda runs: not self.spent
        self.expect = lambda more: None

    def run(self, label, given):
        self.given.append((label, given))
        return self._left.pop(0)


def inquiry(lab):
    first = ran("first", trace(update(1, "a"), update(4, "b")))
    other = ran("other", trace(update(1, "a"), update(4, "c")))
    return Investigation(lab=lab, first=first, other=other)


def test_the_pair_is_made_again_each_with_its_own_values_and_all_of_the_stretch_is_looked_at():
    fine = [ran("narrow", trace(update(2, "a"), update(3, one), mode="narrow")) for one in "bc"]
    asked = inquiry(Lab(*fine))
    began = where_it_began(asked)

    assert (began.update, began.single, began.equal_before) == (3, True, "update 2: batch")
    (_, one), (_, other) = asked.lab.given
    assert (one.like.label, other.like.label) == ("first", "other")
    assert one.pins == other.pins == ("*",)
    assert one.hash_seed
    assert other.hash_seed
    assert one.progress == other.progress == {"mode": "narrow", "from": (1, 0), "to": (4, 0)}


@pytest.mark.parametrize("later", [(), (update(9, "b"),)], ids=["nowhere", "elsewhere"])
def test_a_pair_that_does_not_part_there_again_leaves_the_answer_coarse_and_says_so(later):
    other = [replace_digest(one) for one in later]
    runs = [ran(name, trace(*found, mode="narrow")) for name, found in (("x", later), ("y", other))]
    asked = inquiry(Lab(*runs))
    began = where_it_began(asked)
    assert (began.update, began.single) == (4, False)
    assert asked.known == [
        "when they were made again, the two runs did not begin to differ at the same place"
    ]


def replace_digest(event):
    return {**event, "streams": {"batch": "another"}}


def test_without_a_budget_nothing_is_run():
    lab = Lab()
    lab.spent = True
    assert where_it_began(inquiry(lab)).update == 4
    assert lab.given == []


def test_runs_that_tell_nothing_of_their_training_began_nowhere():
    nothing = ran("first", HookTrace(sites={}, files={}, processes=1, started=1))
    assert where_it_began(Investigation(lab=Lab(), first=nothing, other=nothing)) is None


def checked(tmp_path, answers, *, spec="{}"):
    """The causes for an environment that gives such answers when it is alone."""
    told = {"facts": {"executable": "python", "path": []}, "scripts": {"0": {"spec": spec, "calls": []}}}
    runs = [ran("actions", replace(trace(), **told))]
    for number, answer in enumerate(answers):
        folder = tmp_path / str(number)
        folder.mkdir()
        if answer is not None:
            (folder / "alone.json").write_text(json.dumps(answer))
        runs.append(ran("alone", trace(), folder=folder))
    asked = inquiry(Lab(*runs))
    return simulator(asked, Pair(one=Conditions(), other=Conditions()), FOUND), asked


def test_an_environment_that_answers_otherwise_alone_is_the_cause(tmp_path):
    (cause,), asked = checked(tmp_path, [["a", "b"], ["a", "c"]])
    assert (cause.category, cause.line, cause.confidence) == ("simulator", 9, "high")
    assert asked.lab.given[1][1].command == ("python", "-m", "reprokit_hook.simulator_replay")


def test_an_environment_that_answers_alike_alone_is_not_accused(tmp_path):
    causes, asked = checked(tmp_path, [["a", "b"], ["a", "b"]])
    assert causes == ()
    assert "equally when it runs alone" in asked.known[0]


@pytest.mark.parametrize(
    ("answers", "spec"), [([None, None], "{}"), ([], "")], ids=["broken", "not registered"]
)
def test_an_environment_that_could_not_be_made_alone_is_named_with_less_confidence(tmp_path, answers, spec):
    (cause,), asked = checked(tmp_path, answers, spec=spec)
    assert cause.confidence == "medium"
    assert "could not be created alone" in asked.known[0]


def test_a_process_that_left_no_trace_has_no_operations(tmp_path):
    """It was killed, or ended by _exit: the answer's limits say so."""
    assert first_operation(tmp_path / "one", tmp_path / "other") is None


def asked_for_operations(tmp_path, streams, *, can_make=2):
    """What is known when two runs recorded these operations, with so many runs left to make."""
    runs = []
    for number, names in enumerate(streams):
        folder = tmp_path / str(number)
        folder.mkdir()
        records = [[name, "train.py", 3, "main", "in", "out"] for name in names]
        (folder / "trace-0.json").write_text(json.dumps({"streams": records}))
        runs.append(ran("operations", trace(), folder=folder))
    lab = Lab(*runs)
    lab.can_make = lambda runs: can_make >= runs
    first = ran("first", HookTrace(sites={}, files={}, processes=1, started=1, facts={"torch": "2"}))
    asked = Investigation(lab=lab, first=first, other=first)
    assert by_operation(asked) == ()
    return asked.known


NONE = "no operation of PyTorch gave a different output for the same inputs"


def test_that_no_operation_differs_is_said_of_what_was_compared_alone(tmp_path):
    (tmp_path / "whole").mkdir()
    (tmp_path / "in part").mkdir()
    assert asked_for_operations(tmp_path / "whole", [["a", "b"], ["a", "b"]]) == [NONE]
    assert asked_for_operations(tmp_path / "in part", [["a", "b"], ["a", "c"]]) == [
        f"{NONE}, up to where the two runs no longer call the same operations"
    ]
    assert asked_for_operations(tmp_path, [], can_make=1) == []


def deep(folder, gradients):
    """A run whose first update was recorded operation by operation."""
    folder.mkdir()
    record = ["index_put", "train.py", 3, "main", "in", gradients]
    (folder / "trace-0.json").write_text(json.dumps({"streams": [record]}))
    batch = {"event": "batch", "updates": 0, "steps": 0, "streams": {"batch": "a"}}
    found = {"event": "update", "updates": 1, "steps": 0, "streams": {"gradients": gradients}}
    return ran("operations", trace(batch, found, mode="deep"), folder=folder)


def test_where_one_update_computes_other_values_its_operations_are_compared_at_once(tmp_path):
    lab = Lab(deep(tmp_path / "one", "b"), deep(tmp_path / "other", "c"))
    first, other = (
        ran("first", trace(computed(gradients), facts={"torch": "2"})) for gradients in ("b", "c")
    )
    asked = Investigation(lab=lab, first=first, other=other)
    asked.began = where_it_began(asked, closely=False)
    (cause,) = by_operation(asked)
    assert (cause.category, cause.line) == ("nondeterministic_kernel", 3)
    assert asked.began.equal_before == "what the model is given: batch"
    assert [given.progress["to"] for _, given in lab.given] == [(1, 0), (1, 0)]


def computed(gradients):
    return {"event": "update", "updates": 1, "steps": 0, "streams": {"batch": "a", "gradients": gradients}}
