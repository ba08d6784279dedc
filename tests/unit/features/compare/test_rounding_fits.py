"""Twins of programs that train trees: weights of the samples are rounded, nothing else is touched."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from reprokit.errors import CannotJudgeError
from reprokit.features.compare.rounding.twin_runs import make_twins
from reprokit.harness.running.programs.hooked_run import HOOK

#: What of the libraries a program calls, and the hook relies on.
ENGINE = """\
import numpy
class Dataset:
    def __init__(self, label, weight=None):
        self.label, self.weight = numpy.asarray(label, dtype=numpy.float32), weight
    def get_label(self):
        return self.label
    def get_weight(self):
        if self.weight is None:
            raise Exception("Cannot get weight before construct Dataset")
        return self.weight
    def set_weight(self, weight):
        self.weight = weight
class DMatrix(Dataset):
    def __init__(self, label, weight=None):
        self.label, self.kept = numpy.asarray(label, dtype=numpy.float32), weight
    def get_weight(self):
        return numpy.zeros(0) if self.kept is None else self.kept
    def set_weight(self, weight):
        self.kept = weight
def train(params, {data}, num_boost_round=3, callbacks=None):
    for number in range(num_boost_round):
        for one in callbacks or ():
            one.after_iteration(None, number, {{}})
    weight = {data}.weight if hasattr({data}, "weight") else {data}.kept
    return {{"params": dict(params), "weight": None if weight is None else [float(one) for one in weight]}}
"""
LIBRARIES = {
    "lightgbm": ("engine", "Dataset", "train_set", 0.1),
    "xgboost": ("training", "DMatrix", "dtrain", 0.3),
}
PROGRAM = """\
import json
import {library}
from {library} import {module}
made = [{library}.train({params}, {module}.{kind}([0, 1, 1, 0], weight={weight})) for _ in range(2)]
named = {library}.train(params={params}, {data}={module}.{kind}([0, 1], weight=None))
print(json.dumps([*made, named]))
"""


@pytest.fixture(params=LIBRARIES)
def trained(request, tmp_path):
    """What a program's trainings get under an order, and what the hook says of it."""
    module, kind, data, _ = LIBRARIES[request.param]
    package = tmp_path / "lib" / request.param
    package.mkdir(parents=True)
    (package / f"{module}.py").write_text(ENGINE.format(data=data))
    (package / "callback.py").write_text("class TrainingCallback:\n    pass\n")
    (package / "__init__.py").write_text(f"from . import callback\nfrom .{module} import train")

    def run(order, *, params="{}", weight="None"):
        folder = tmp_path / f"out{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        orders = {"out": str(folder), "key": "00", "level": "look", "variables": ["REPROKIT_TWIN"]}
        (folder / "orders.json").write_text(json.dumps(orders))
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(HOOK), str(tmp_path / "lib")]),
            "REPROKIT_HOOK": str(folder / "orders.json"),
            "REPROKIT_TWIN": order,
        }
        program = PROGRAM.format(
            library=request.param, module=module, data=data, kind=kind, params=params, weight=weight
        )
        ran = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        facts = json.loads(next(folder.glob("trace-*.json")).read_text())["facts"]
        return json.loads(ran.stdout), facts["rounding 0"]

    run.usual = LIBRARIES[request.param][3]
    return run


def test_weights_of_a_twin_are_one_but_for_rounding_and_differ_by_seed(trained):
    made, facts = trained("updates:seed=1:start=0:rate=1")
    weights = [weight for one in made for weight in one["weight"]]
    assert 0 < max(abs(weight - 1) for weight in weights) <= 2.0**-23
    assert (facts["fits"], facts["rounded"], facts["epsilon"]) == (3, 3, 2.0**-23)
    assert made[0]["weight"] != made[1]["weight"]
    other, _ = trained("modules:seed=2:start=0:rate=1")
    assert other[0]["weight"] != made[0]["weight"]
    assert all(one["params"] == {} for one in made)


def test_weights_that_are_there_are_rounded(trained):
    made, _ = trained("updates:seed=1:start=0:rate=1", weight="[3.0, 3.0, 0.0, 3.0]")
    assert made[0]["weight"][2] == 0
    assert all(abs(weight - 3) < 1e-6 for weight in made[0]["weight"][:2])


def test_trainings_before_the_start_are_left_as_they_are(trained):
    made, facts = trained("updates:seed=1:start=1:rate=1")
    assert made[0]["weight"] is None
    assert made[1]["weight"] is not None
    assert facts["rounded"] == 2


def test_the_control_has_a_higher_learning_rate_whatever_it_is_called(trained):
    made, facts = trained("control:seed=0:start=0:rate=1.001", params="{'eta': 0.5}")
    assert made[0] == {"params": {"eta": pytest.approx(0.5005)}, "weight": None}
    assert facts["rounded"] == 3
    made, _ = trained("control:seed=0:start=0:rate=1.001")
    assert list(made[0]["params"].values()) == [pytest.approx(trained.usual * 1.001)]


def test_a_program_of_which_nothing_can_be_rounded_is_not_judged_and_the_reason_is_said():
    with pytest.raises(CannotJudgeError, match="threads and instruction sets alone do not decide"):
        make_twins(lambda *_: None, place=(0, 9), updates_of=lambda _: 0, finding_with=lambda _: None)
