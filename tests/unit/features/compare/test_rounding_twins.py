"""Twins: how many are made, what the hook does for them, and what they must show."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from reprokit.errors import CannotJudgeError
from reprokit.features.compare.rounding.rule import Finding
from reprokit.features.compare.rounding.twin_runs import MOST_RUNS, TwinRuns, make_twins
from reprokit.harness.running.programs.hooked_run import HOOK

pytest.importorskip("torch")
TRAINS = """\
import json, sys, torch
torch.set_num_threads(1)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
adam = torch.optim.Adam(model.parameters(), lr=0.01)
losses = []
for step in range(4):
    loss = model(torch.randn(16, 4)).pow(2).mean()
    adam.zero_grad()
    loss.backward()
    adam.step()
    losses.append(loss.item())
print(json.dumps({"losses": losses, "rate": adam.param_groups[0]["lr"], "next": torch.rand(1).item()}))
"""


def trained(folder: Path, order: str, *, program: str = TRAINS):
    """What a program prints as a twin, and what the hook says that it did."""
    folder.mkdir()
    orders = {"out": str(folder), "key": "00", "level": "look", "variables": ["REPROKIT_TWIN"]}
    (folder / "orders.json").write_text(json.dumps(orders))
    environment = {
        **os.environ,
        "PYTHONPATH": str(HOOK),
        "REPROKIT_HOOK": str(folder / "orders.json"),
        "REPROKIT_TWIN": order,
    }
    ran = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    facts = json.loads(next(folder.glob("trace-*.json")).read_text())["facts"]
    return json.loads(ran.stdout), facts.get("rounding 0")


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    told, facts = trained(tmp_path_factory.mktemp("plain") / "out", "")
    assert facts is None
    return told


KERNEL = TRAINS.replace(
    "adam = torch.optim.Adam(model.parameters(), lr=0.01)",
    """parameters = list(model.parameters())
first, second = [torch.zeros_like(p) for p in parameters], [torch.zeros_like(p) for p in parameters]
counts = [torch.tensor(0.0) for _ in parameters]
class adam:
    param_groups = [{"lr": 0.01}]
    @staticmethod
    def zero_grad():
        model.zero_grad()
    @staticmethod
    @torch.no_grad()
    def step():
        for count in counts:
            count += 1
        torch._fused_adam_(parameters, [p.grad for p in parameters], first, second, [], counts, lr=0.01,
            beta1=0.9, beta2=0.999, weight_decay=0.0, eps=1e-8, amsgrad=False, maximize=False)
""",
)


@pytest.mark.slow
def test_updates_by_a_kernel_without_an_optimizer_are_rounded_too(tmp_path):
    assert KERNEL != TRAINS
    plain, _ = trained(tmp_path / "plain", "", program=KERNEL)
    told, facts = trained(tmp_path / "twin", "updates:seed=3:start=1:rate=1", program=KERNEL)
    control, _ = trained(tmp_path / "control", "control:seed=0:start=0:rate=1.001", program=KERNEL)
    assert facts["updates"] == 4
    assert told["losses"][:2] == plain["losses"][:2]
    assert told["losses"][2:] != plain["losses"][2:]
    assert control["losses"][0] == plain["losses"][0]
    assert control["losses"][1:] != plain["losses"][1:]


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", ["updates", "modules"])
def test_a_twin_differs_by_rounding_alone_and_draws_nothing_of_the_programs(plain, kind, tmp_path):
    told, facts = trained(tmp_path / "out", f"{kind}:seed=3:start=0:rate=1")
    off = [abs(one - two) / two for one, two in zip(told["losses"], plain["losses"], strict=True)]
    assert 0 < max(off) < 1e-5
    assert told["next"] == plain["next"]
    assert facts["updates"] == 4
    assert facts["rounded"] > 10
    assert facts["epsilon"] == pytest.approx(2**-23)


@pytest.mark.slow
def test_a_twin_that_begins_later_is_equal_until_then(plain, tmp_path):
    told, _ = trained(tmp_path / "out", "updates:seed=3:start=2:rate=1")
    assert told["losses"][:3] == plain["losses"][:3]
    assert told["losses"][3] != plain["losses"][3]


@pytest.mark.slow
def test_the_control_changes_the_learning_rate_of_a_step_and_gives_it_back(plain, tmp_path):
    told, facts = trained(tmp_path / "out", "control:seed=0:start=0:rate=1.001")
    assert told["losses"][0] == plain["losses"][0]
    off = [abs(one - two) / two for one, two in zip(told["losses"][1:], plain["losses"][1:], strict=True)]
    assert min(off) > 1e-6
    assert told["rate"] == plain["rate"] == 0.01
    assert facts["rounded"] == 4


class Maker:
    """Makes runs that are names, and keeps the orders."""

    def __init__(self):
        self.orders = []

    def __call__(self, variation, number):
        self.orders.append(variation.environment["REPROKIT_TWIN"])
        return Path(f"run-{number}")


def made(make, *, findings, place=(0, 60), updates=120):
    given = iter(findings)
    return make_twins(make, place=place, updates_of=lambda _: updates, finding_with=lambda _: next(given))


def test_a_difference_that_is_far_outside_ends_the_work_after_one_whole_and_three_short_twins():
    make = Maker()
    runs = made(make, findings=[(Finding.DIFFERENT, 5_000.0)])
    assert (len(runs.twins), len(runs.short), runs.control, runs.made) == (1, 3, None, 4)
    assert [order.split(":")[4:] for order in make.orders] == [[], *[["stop=21"]] * 3]


def test_a_difference_that_is_near_is_looked_at_with_eight_twins():
    make = Maker()
    runs = made(make, findings=[(Finding.DIFFERENT, 5.0)] * 2)
    assert (len(runs.twins), len(runs.short), runs.made) == (1, 7, 8)


def test_eight_whole_twins_and_a_control_are_made_for_rounding_of_both_kinds():
    make = Maker()
    runs = made(make, findings=[(Finding.ROUNDING, 1.0)] * 3)
    assert (len(runs.twins), len(runs.short), runs.made) == (8, 3, 12)
    assert runs.control == Path("run-12")
    assert [order.partition(":")[0] for order in make.orders] == [
        *["updates", "modules"] * 5,
        "updates",
        "control",
    ]
    assert len(set(make.orders)) == 12


def test_no_search_makes_more_than_fourteen_runs():
    near, inside = (Finding.DIFFERENT, 5.0), (Finding.ROUNDING, 1.0)
    for place in ((0, 60), (20, 60), (55, 60), (2, 5)):
        for findings in (
            [near, inside, inside, inside],
            [inside] * 3,
            [near] * 4,
            [near, near, near, inside],
        ):
            make = Maker()
            runs = made(make, findings=findings, place=place)
            assert runs.made == len(make.orders) <= MOST_RUNS
            assert len(runs.twins) >= 4 or len(runs.every_twin) >= 4


def test_a_program_that_cannot_be_ended_early_gets_whole_twins():
    make, updates = Maker(), iter([120, 0])
    given = iter([(Finding.ROUNDING, 1.0)] * 2)
    runs = make_twins(
        make, place=(0, 60), updates_of=lambda _: next(updates), finding_with=lambda _: next(given)
    )
    assert (len(runs.twins), runs.short, runs.made) == (8, (), 10)


def test_few_records_are_looked_at_whole():
    make = Maker()
    runs = made(make, findings=[(Finding.ROUNDING, 1.0)] * 2, place=(0, 12))
    assert (len(runs.twins), runs.short, runs.made) == (8, (), 9)


def test_twins_begin_where_the_other_side_first_differs():
    make = Maker()
    runs = made(make, findings=[(Finding.DIFFERENT, 1e4)], place=(20, 60))
    assert runs.start == 38
    parts = [order.split(":")[2:] for order in make.orders]
    assert parts[0] == ["start=0", "rate=1"]
    assert parts[1:] == [["start=38", "rate=1", "stop=61"]] * 4
    assert Path("run-1") not in runs.every_twin


def test_a_twin_that_is_ended_early_closes_its_log_and_says_so(plain, tmp_path):
    closing = 'losses = []\nimport atexit\natexit.register(lambda: print(json.dumps({"losses": losses})))'
    program = TRAINS.rpartition("print(")[0].replace("losses = []", closing)
    told, facts = trained(tmp_path / "out", "updates:seed=3:start=0:rate=1:stop=3", program=program)
    assert len(told["losses"]) == 2
    assert (facts["updates"], facts["ended"]) == (3, True)


@pytest.mark.parametrize("rates", [(0.0, 0.01), pytest.param((0.01, 0.01), marks=pytest.mark.slow)])
def test_a_run_is_ended_after_the_first_update_that_moves_parameters_which_is_recorded(tmp_path, rates):
    before, after = TRAINS.split("    adam.step()\n")
    seen = """\
    adam.param_groups[0]["lr"] = RATES[step]
    old = [one.detach().clone() for one in model.parameters()]
    sys.excepthook = lambda *_: None
    try:
        adam.step()
    finally:
        moved = [(one - two).tolist() for one, two in zip(model.parameters(), old)]
        if step + 1 == 1 + RATES.count(0.0):
            print(json.dumps(moved))
"""
    program = (before + seen + after).replace("losses = []", f"losses = []\nRATES = {list(rates)}")
    told, facts = trained(tmp_path / "out", "first:seed=0:start=1000000000:rate=1", program=program)
    first = facts["first_update"]
    assert (first["step"], facts["updates"], facts["rounded"]) == (1 + rates.count(0.0),) * 2 + (0,)
    assert first["shapes"] == [[8, 4], [8], [1, 8], [1]]
    left = np.fromfile(tmp_path / "out" / first["file"], dtype="<f4")
    assert left == pytest.approx(np.concatenate([np.ravel(one) for one in told]), rel=1e-5)


def test_a_program_without_an_optimizer_has_no_twins():
    with pytest.raises(CannotJudgeError, match="no step of an optimizer"):
        made(Maker(), findings=[], updates=0)


def test_twins_come_back_from_a_report_as_they_were():
    runs = TwinRuns(twins=(Path("a"), Path("b")), short=(Path("d"),), control=Path("c"), start=3, made=4)
    assert TwinRuns.from_data(json.loads(json.dumps(runs.as_data()))) == runs
    assert runs.folders == (Path("a"), Path("b"), Path("d"), Path("c"))
