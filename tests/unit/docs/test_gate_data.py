"""The returns that are shipped, and the tables that are made of them."""

import hashlib
import importlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from reprokit.core.statistics.gate import ManyOutcomes

ROOT = Path(__file__).resolve().parents[3]
SEEDS = {"cartpole_baseline": 200, "cartpole_dqn": 60, "pinpad": 60}
RECIPES = tuple(SEEDS)
STEPS = (10, 20, 30, 40, 50)


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if str(ROOT / "benchmarks") in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def returns_of(module, finals, *, label="null", first_seed=0, more=()):
    """Runs whose evaluations are as high as their final return."""
    gate_data = module("gate_data")
    runs = [
        gate_data.Run(label=label, seed=first_seed + at, sha256="", evaluations=(one,) * 5, final=one)
        for at, one in enumerate(finals)
    ]
    return gate_data.Returns(recipe="cartpole_baseline", steps=STEPS, runs=(*runs, *more))


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_shipped_data_are_whole(module, recipe):
    path = ROOT / f"benchmarks/data/{recipe}.jsonl"
    data = module("gate_data").read(path)
    head = json.loads(path.read_text().partition("\n")[0])
    assert data.recipe == recipe
    assert set(head) == {"recipe", "recipe_digest", "tool", "machine", "steps"}
    assert all(re.fullmatch("[0-9a-f]{64}", run.sha256) for run in data.runs)
    assert len({run.sha256 for run in data.runs}) == len(data.runs)
    assert len(data.of("null")) == SEEDS[recipe]
    for plant in module("learning_regressions").PLANTS:
        assert plant.recipe != recipe or len(data.of(plant.name)) == 10
    assert np.isfinite([[*run.evaluations, run.final] for run in data.runs]).all()


def test_all_data_are_below_300_kilobytes():
    assert sum(path.stat().st_size for path in (ROOT / "benchmarks/data").iterdir()) < 300_000


def test_the_page_counts_the_seeds_that_are_shipped(module):
    data = [module("gate_data").read(ROOT / f"benchmarks/data/{recipe}.jsonl") for recipe in RECIPES]
    counts = ", ".join(f"{len(one.of('null'))} of {one.recipe}" for one in data)
    page = (ROOT / "docs/explanation/statistical-gate.md").read_text()
    assert f"Seeds: {counts}." in page
    for returns in data:
        for plant in module("learning_regressions").PLANTS:
            count = len(returns.of(plant.name))
            row, too_few = f"| {plant.what} | {count} |", f"{plant.what} ({count})"
            assert plant.recipe != returns.recipe or row in page or too_few in page


def test_a_run_is_collected_with_its_digest_and_read_again(module, tmp_path):
    gate_data = module("gate_data")
    lines = [{"step": 10, "eval/return_mean": 0.1}, {"step": 15}, {"step": 20, "eval/return_mean": 2.0}]
    lines[-1]["final/return_mean"] = 1 / 3
    metrics = tmp_path / "null/1000.jsonl"
    metrics.parent.mkdir()
    metrics.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "no_plant_of_ours").mkdir()
    assert gate_data.collect("pinpad", tmp_path, tmp_path / "data.jsonl") == 1
    data = gate_data.read(tmp_path / "data.jsonl")
    assert data.steps == (10, 20)
    assert data.runs == (
        gate_data.Run(
            label="null",
            seed=1000,
            sha256=hashlib.sha256(metrics.read_bytes()).hexdigest(),
            evaluations=(0.1, 2.0),
            final=1 / 3,
        ),
    )


def collected(module, folder, *, returned):
    (folder / "null").mkdir(parents=True, exist_ok=True)
    for seed, value in returned.items():
        record = {"step": 10, "eval/return_mean": value, "final/return_mean": value}
        (folder / f"null/{seed}.jsonl").write_text(json.dumps(record) + "\n")
    return module("gate_data").collect("pinpad", folder, folder.parent / "data.jsonl")


def test_what_is_collected_joins_what_is_there(module, tmp_path):
    assert collected(module, tmp_path / "first", returned={1001: 1.0, 1000: 2.0}) == 2
    assert collected(module, tmp_path / "second", returned={1002: 3.0, 1000: 2.0}) == 3
    runs = module("gate_data").read(tmp_path / "data.jsonl").runs
    assert [(run.seed, run.final) for run in runs] == [(1000, 2.0), (1001, 1.0), (1002, 3.0)]


def test_a_seed_that_gives_other_bits_than_before_is_refused(module, tmp_path):
    collected(module, tmp_path / "first", returned={1000: 1.0})
    before = (tmp_path / "data.jsonl").read_bytes()
    with pytest.raises(ValueError, match="null, seed 1000 gave other bits before"):
        collected(module, tmp_path / "second", returned={1000: 1.5})
    assert (tmp_path / "data.jsonl").read_bytes() == before


def test_runs_of_other_steps_are_refused(module, tmp_path):
    (tmp_path / "null").mkdir()
    for seed in (1, 2):
        record = {"step": seed, "eval/return_mean": 0.0, "final/return_mean": 0.0}
        (tmp_path / f"null/{seed}.jsonl").write_text(json.dumps(record) + "\n")
    with pytest.raises(ValueError, match="different steps"):
        module("gate_data").collect("pinpad", tmp_path, tmp_path / "data.jsonl")


def test_only_members_that_are_complete_are_kept(module, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "metrics.jsonl").write_text(name)
    members = [
        {"state": "complete", "run": "a", "seed": 1},
        {"state": "crashed", "run": "b", "seed": 2},
    ]
    assert module("gate_data").keep_metrics(members, tmp_path, tmp_path / "kept") == 1
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["1.jsonl"]


def test_a_tree_holds_the_plant_even_where_making_one_was_stopped_before(module, tmp_path, monkeypatch):
    gate_data, plants = module("gate_data"), module("learning_regressions")
    source = tmp_path / "source"
    trainer = source / plants.PPO
    trainer.parent.mkdir(parents=True)
    trainer.write_text((ROOT / plants.PPO).read_text())
    git = ["git", "-C", str(source), "-c", "user.name=n", "-c", "user.email=e@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *words], check=True)
    monkeypatch.setattr(gate_data, "SOURCE", source)
    plant = next(one for one in plants.PLANTS if one.name == "ratio_of_one")
    tree = gate_data.tree_of(plant, tmp_path / "trees")
    shutil.move(tree, tree.with_suffix(".part"))
    (tree.with_suffix(".part") / plants.PPO).write_text("half")
    assert gate_data.tree_of(plant, tmp_path / "trees") == tree
    planted = (tree / plants.PPO).read_text()
    assert planted == plants.planted(plant, trainer.read_text()) != trainer.read_text()
    assert gate_data.tree_of(None, tmp_path / "trees") != tree
    assert trainer.read_text() == (ROOT / plants.PPO).read_text()


def test_no_seed_is_twice_in_a_gate(module):
    values = np.arange(40.0)[None]
    reference, new = module("gate_of_returns").drawn(values, 50, np.random.default_rng(0))
    assert reference.shape == (50, 1, 20)
    assert new.shape == (50, 1, 10)
    gates = np.concatenate([reference, new], axis=2)[:, 0]
    assert all(len(set(gate)) == 30 for gate in gates)
    assert len(np.unique(gates)) == 40


def test_windows_are_those_of_the_package(module):
    data = returns_of(module, [400.0, 480.0, 500.0] * 10)
    judged = {one.name: one for one in module("gate_of_returns").judged_of(data)}
    assert judged["mean height of the curve"].values[:, :3].tolist() == [[400.0, 480.0, 500.0]]
    first = judged["first step at 475"]
    assert np.isnan(first.values[0, 0])
    assert first.values[0, 1:3].tolist() == [10.0, 10.0]
    assert not first.metrics[0].higher_is_better


def test_fewer_seeds_than_a_gate_takes_are_not_judged(module):
    assert module("gate_of_returns").judged_of(returns_of(module, [400.0, 480.0, 500.0])) == []


def test_seeds_that_all_end_alike_never_raise_an_alarm(module):
    (judged,) = module("gate_of_returns").judged_of(returns_of(module, [500.0] * 40), ("final return",))
    assert module("gate_of_returns").alarms(judged, 20, seed=(1,)) == ([0, 0, 0], 0)


def test_every_metric_drops_by_its_own_margin(module, monkeypatch):
    script, judged = module("gate_of_returns"), []

    def judge_many(reference, new, *, metrics, **_):
        judged.append((new, [[one.margin] for one in metrics]))
        undecided = np.full(len(new), "UNJUDGED")
        return ManyOutcomes(conclusions=undecided, looks=np.full(len(new), 2), worse=undecided == "")

    monkeypatch.setattr(script, "judge_many", judge_many)
    spread = np.random.default_rng(0).normal(480, 10, 40)
    lines = list(script.margin_lines([returns_of(module, spread.tolist())], 3))
    assert len(judged) == 6  # three ways to judge, each without and with the drop
    for (unchanged, margins), (dropped, _) in zip(judged[::2], judged[1::2], strict=True):
        assert np.allclose(unchanged - dropped, margins)
        assert margins[0] == pytest.approx([1.5 * np.std(spread, ddof=1)])
    assert sum("100.00" in line and line.endswith("| 10.0 |") for line in lines) == 6


def test_a_block_is_of_seeds_that_no_other_block_has(module, monkeypatch):
    script, seen = module("gate_of_returns"), []
    monkeypatch.setattr(
        script, "alarms", lambda judged, gates, seed: (seen.append(judged.values), ([1, 0, 0], 0))[1]
    )
    (judged,) = script.judged_of(returns_of(module, range(70)), ("final return",))
    assert script.in_blocks(judged, 4) == [0.25, 0.25]
    assert [block[0].tolist() for block in seen] == [[*range(30)], [*range(30, 60)]]


def answers_of(module, planted, *, gates):
    spread = np.random.default_rng(2).normal(480, 10, 50).tolist()
    planted = spread[40:] if planted is None else planted
    more = returns_of(module, planted, label="one_epoch", first_seed=2000).runs
    plants = module("gate_on_plants")
    answers = plants.answers_of(returns_of(module, spread[:40], more=more), "one_epoch", gates)
    assert len(answers.cells()) == len(plants.HEAD) - 1
    return answers


def test_a_plant_that_learns_nothing_is_found_at_the_first_look(module):
    answers = answers_of(module, [20.0 + at for at in range(10)], gates=8)
    assert answers.found_by == (100.0, 100.0, 100.0)
    assert (answers.equivalent, answers.seeds_used) == (0.0, 3.0)
    assert answers.alone == (100.0, 100.0)


def test_a_plant_that_changes_nothing_is_seldom_found(module):
    answers = answers_of(module, None, gates=6)
    assert answers.found_by[-1] <= 20
    assert answers.equivalent >= 50
    assert answers.seeds_used > 3


def test_looks_without_seeds_of_their_own_are_not_reported(module):
    answers = answers_of(module, [20.0, 21.0, 22.0, 23.0, 24.0], gates=4)
    assert answers.found_by == (100.0, 100.0)
    assert answers.cells()[5:] == ["–"] * 5


def test_a_plot_has_a_dot_for_each_number(module):
    plot = module("dot_plot")
    rows = [
        plot.Row(label="a < b", dots=(0.0, 50.0, 100.0)),
        plot.Row(label="c", dots=(1.0,), interval=(0, 2)),
    ]
    text = plot.dot_plot(rows, title="title", upper=100.0, mark=5.0)
    assert text.count("<circle") == 4
    assert "a &lt; b" in text
    assert 'cx="640.0"' in text
    assert text.count('class="interval"') == text.count('class="mark"') == 1
