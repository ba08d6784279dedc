"""Which runs are counted together, what is left out, and what they come to."""

import json
import math
import shutil

import numpy as np
import pytest
import scipy.stats

from reprokit import layout
from reprokit.errors import CannotJudgeError, UsageError
from reprokit.features.sweeps import stats
from reprokit.harness.running.run_inputs import whole_run
from reprokit.workspace import sha256_of

SEEDS = (42, 7, 123)


def logging_numbers(value, *, name="eval/return", more=""):
    """A fake program that logs twelve records, the last ones around a value."""

    def program(spec, output, tick):
        lines = [json.dumps({"step": at, name: value + at / 100}) for at in range(1, 13)]
        (output / "metrics.jsonl").write_text("\n".join(lines) + "\n" + more)

    return program


@pytest.fixture
def seeds(make):
    """Three finished runs of one recipe, a seed each."""
    return [make.of_recipe(logging_numbers(10.0 * seed), seed=seed)[0] for seed in SEEDS]


@pytest.fixture
def ask(here, recipe):
    def ask(*targets, **options):
        return stats.statistics(targets or [recipe.name], project=here, **options)

    return ask


def names(entries):
    return {one.folder.name: one.reason for one in entries}


def plant(folder, key, value):
    record = json.loads((folder / layout.RECORD).read_text())
    record[key] = value
    rewrite(folder, layout.RECORD, json.dumps(record))


def rewrite(folder, name, text):
    """Another content, under a COMPLETE that lists it."""
    (folder / name).write_text(text)
    marker = json.loads((folder / layout.MARKER).read_text())
    marker["files"][name] = {"sha256": sha256_of(folder / name), "bytes": (folder / name).stat().st_size}
    (folder / layout.MARKER).write_text(json.dumps(marker))


# Which runs count


def test_runs_of_several_seeds_are_one_group(seeds, ask):
    (one,) = ask().groups
    assert [member.seed for member in one.group.members] == sorted(SEEDS)
    assert (one.group.left_out, one.group.again, one.notes) == ((), (), ())
    (metric,) = one.metrics
    values = [10.0 * seed + 0.12 for seed in sorted(SEEDS)]
    last = metric.of("last")
    assert list(last.values.values()) == pytest.approx(values)
    expected = scipy.stats.t.interval(0.95, 2, loc=np.mean(values), scale=scipy.stats.sem(values))
    assert (last.intervals[0].low, last.intervals[0].high) == pytest.approx(expected)
    assert one.group.digests


def test_runs_on_other_inputs_are_left_out_and_named(seeds, make, ask):
    old = make.of_recipe(logging_numbers(0.0), seed=1)[0]
    plant(old, "digests", {"trainer": "sha256:another"})
    other_config = make.of_recipe(logging_numbers(0.0), seed=2)[0]
    rewrite(other_config, layout.CONFIG, "training: {gamma: 0.5}\n")
    newest = make.of_recipe(logging_numbers(30.0), seed=3)[0]
    (one,) = ask().groups
    assert [member.seed for member in one.group.members] == [3, *sorted(SEEDS)]
    assert newest.name not in names(one.group.left_out)
    assert names(one.group.left_out)[old.name] == "it differs in the recipe"
    assert "configurations differ in environment" in names(one.group.left_out)[other_config.name]


def test_the_newest_run_decides_unless_it_has_overrides(seeds, make, ask):
    tried = make.of_recipe(logging_numbers(0.0), seed=1)[0]
    plant(tried, "modified", ["training.gamma=0.5"])
    assert tried.name in names(ask().groups[0].group.left_out)
    assert [one.seed for one in ask(like=tried.name).groups[0].group.members] == [1]
    changed = make.of_recipe(logging_numbers(0.0), seed=1)[0]
    plant(changed, "digests", {"trainer": "sha256:another"})
    assert [one.folder.name for one in ask().groups[0].group.members] == [changed.name]


def test_a_run_that_is_not_finished_is_left_out(seeds, make, ask, programs):
    (seeds[0] / layout.MARKER).unlink()
    (seeds[1] / layout.METRICS).write_text("{}\n")
    (one,) = ask().groups
    assert [member.seed for member in one.group.members] == [123]
    assert names(one.group.left_out)[seeds[1].name] == "metrics.jsonl was changed after the run"
    assert seeds[0].name in names(one.group.left_out)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("resumed_from", {"step": 3, "run": "x"}, "resumed"),
        ("stopped_by", "SIGKILL", "stopped"),
        ("varied", {"names": ["umask"]}, "varied"),
    ],
)
def test_a_run_that_is_no_whole_run_is_left_out(seeds, ask, key, value, words):
    plant(seeds[0], key, value)
    (one,) = ask().groups
    assert words in names(one.group.left_out)[seeds[0].name]
    assert [member.seed for member in one.group.members] == [7, 123]


def test_two_equal_runs_of_a_seed_count_once(make, ask):
    first, again = make.of_recipe(logging_numbers(5.0), logging_numbers(5.0), seed=42)
    make.of_recipe(logging_numbers(6.0), seed=7)
    (one,) = ask().groups
    assert [member.seed for member in one.group.members] == [7, 42]
    assert names(one.group.again) == {again.name: f"seed 42 again, equal to {first.name}"}


def test_two_runs_of_a_seed_that_differ_are_an_error(make, ask):
    first, other = make.of_recipe(logging_numbers(5.0), logging_numbers(5.5), seed=42)
    with pytest.raises(CannotJudgeError, match="two runs of seed 42") as error:
        ask()
    assert f"reprokit runs compare {first} {other}" in str(error.value)


def test_runs_whose_bytes_differ_and_values_do_not_count_once(make, ask):
    _, again = make.of_recipe(logging_numbers(5.0), logging_numbers(5.0), seed=42)
    lines = (again / layout.METRICS).read_text().replace(": ", ":")
    rewrite(again, layout.METRICS, lines)
    assert len(ask().groups[0].group.again) == 1


# Metrics


def test_a_metric_that_a_seed_lacks_says_which(seeds, make, ask):
    make.of_recipe(logging_numbers(1.0, name="loss"), seed=1)
    (one,) = ask().groups
    assert set(one.notes) == {
        "eval/return: seeds without a value, so not counted: 1",
        "loss: seeds without a value, so not counted: 7, 42, 123",
    }
    assert [metric.seeds for metric in one.metrics if metric.metric == "loss"] == [(1,)]


def test_texts_and_torn_records_are_said(make, ask):
    make.of_recipe(logging_numbers(1.0, more='{"step": 13, "phase": "end"}\n{"st'), seed=1)
    (one,) = ask().groups
    assert one.notes == ("no numbers, so no statistics: phase", "seed 1: 1 records cannot be read")


def test_metrics_are_chosen_by_pattern(seeds, ask):
    assert [one.metric for one in ask(metrics=["eval/*"]).groups[0].metrics] == ["eval/return"]
    with pytest.raises(UsageError, match="no metric matches"):
        ask(metrics=["train/*"])


def test_several_sources_of_metrics_are_told_apart(seeds, ask):
    for folder in seeds:
        text = (folder / layout.METRICS).read_text()
        marker = json.loads((folder / layout.MARKER).read_text())
        for name in ("a.jsonl", "b.jsonl"):
            (folder / name).write_text(text)
            marker["files"][name] = marker["files"][layout.METRICS]
        (folder / layout.METRICS).unlink()
        del marker["files"][layout.METRICS]
        (folder / layout.MARKER).write_text(json.dumps(marker))
    assert [one.metric for one in ask().groups[0].metrics] == ["a.jsonl:eval/return", "b.jsonl:eval/return"]


def test_one_bootstrap_seed_gives_one_interval(make, ask):
    for seed in range(12):
        make.of_recipe(logging_numbers(float(seed % 5)), seed=seed)
    first, again, other = (
        ask(bootstrap_seed=seed).groups[0].metrics[0].of("last").intervals[1] for seed in (1, 1, 2)
    )
    assert first == again
    assert first.low is not None
    assert (first.low, first.high) != (other.low, other.high)


def test_nan_at_the_end_of_one_seed_is_never_dropped(seeds, make, ask):
    make.of_recipe(logging_numbers(math.nan), seed=1)
    last = ask().groups[0].metrics[0].of("last")
    assert last.summary.mean is None
    assert last.notes == ("not finite: seed 1",)


# Several recipes, and sweeps


def sweep(here, rows, name="study"):
    folder = here.runs_dir / "sweeps" / name
    folder.mkdir(parents=True)
    (folder / stats.SWEEP).write_text(json.dumps({"schema": 1, "name": name, "members": rows}))
    return folder


def row(folder, seed, *, settings=(), state="complete", **more):
    """A member as ``reprokit sweep`` records it."""
    inputs = whole_run(folder).inputs if folder else None
    return {
        "recipe": "cartpole_baseline",
        "settings": list(settings),
        "seed": seed,
        "inputs": inputs.digest if inputs else "",
        "identity": inputs.of_seed(seed) if inputs else "",
        "state": state,
        "run": f"{folder.parent.name}/{folder.name}" if folder else "",
        **more,
    }


def test_a_sweep_is_its_members_and_says_who_is_missing(seeds, here, ask):
    rows = [row(folder, seed) for folder, seed in zip(seeds, SEEDS, strict=True)]
    rows.append(row(None, 9, state="crashed", message="it crashed with exit code 1"))
    rows.append({**row(None, 11, state="complete"), "run": "cartpole_baseline/gone"})
    place = sweep(here, rows[1:])
    for target in (str(place), str(place / stats.SWEEP), "study"):
        (one,) = ask(target).groups
        assert [member.seed for member in one.group.members] == [7, 123]
        assert {left.reason for left in one.group.left_out} == {
            "seed 9: waiting: it crashed with exit code 1",
            "seed 11: waiting: its run folder is gone: cartpole_baseline/gone",
        }


def test_a_member_that_was_changed_after_the_sweep_is_left_out_and_named(seeds, here, ask):
    place = sweep(here, [row(folder, seed) for folder, seed in zip(seeds, SEEDS, strict=True)])
    (seeds[1] / layout.METRICS).write_text("{}\n")
    (one,) = ask(str(place)).groups
    assert [member.seed for member in one.group.members] == [42, 123]
    changed = {seeds[1].name: "seed 7: changed: metrics.jsonl was changed after the run"}
    assert names(one.group.left_out) == changed


def test_settings_of_which_no_member_finished_are_a_group_without_seeds(seeds, here, ask):
    rows = [row(folder, seed) for folder, seed in zip(seeds, SEEDS, strict=True)]
    rows.append(row(None, 42, settings=["training.gamma=0.9"], state="crashed", message="exit code 1"))
    first, second = ask(str(sweep(here, rows))).groups
    assert len(first.group.members) == 3
    assert (second.group.name, second.group.members) == ("cartpole_baseline training.gamma=0.9", ())
    assert [one.reason for one in second.group.left_out] == ["seed 42: waiting: exit code 1"]


def test_a_sweep_of_which_no_member_finished_cannot_be_judged(here, ask):
    place = sweep(here, [row(None, 42, state="crashed", message="exit code 1")])
    with pytest.raises(CannotJudgeError, match=r"no member of the sweep is finished.*seed 42: waiting: exit"):
        ask(str(place))


def test_settings_of_a_sweep_are_groups_and_each_is_held_against_the_first(seeds, here, make, ask):
    others = [make.of_recipe(logging_numbers(20.0 * seed), seed=seed)[0] for seed in SEEDS]
    rows = [row(folder, seed) for folder, seed in zip(seeds, SEEDS, strict=True)]
    for folder, seed in zip(others, SEEDS, strict=True):
        plant(folder, "modified", ["training.gamma=0.9"])
        plant(folder, "digests", {"config": "sha256:another"})
        rows.append(row(folder, seed, settings=["training.gamma=0.9"]))
    found = ask(str(sweep(here, rows)))
    assert [one.group.name for one in found.groups] == [
        "cartpole_baseline",
        "cartpole_baseline training.gamma=0.9",
    ]
    ((first, second, rows),) = found.between
    assert (first, second) == tuple(one.group.name for one in found.groups)
    assert {one.window for one in rows} == set(stats.ALL_WINDOWS)
    assert rows[0].improvement.probability == pytest.approx(6 / 9)


def test_recipes_are_compared_in_the_metrics_that_both_have(seeds, here, ask):
    other = here.runs_dir / "other"
    shutil.copytree(here.runs_dir / "cartpole_baseline", other)
    for folder in other.iterdir():
        plant(folder, "recipe", "other")
        rewrite(folder, layout.METRICS, (folder / layout.METRICS).read_text().replace("eval/return", "loss"))
    ((_, _, rows),) = ask("cartpole_baseline", "other").between
    assert rows == ()


@pytest.mark.parametrize("members", [None, [], ["x"]])
def test_a_damaged_record_of_a_sweep_is_refused(here, ask, members):
    with pytest.raises(UsageError, match="not a record of a sweep"):
        ask(str(sweep(here, members)))


# What is refused


def test_an_unknown_recipe_is_refused(ask):
    with pytest.raises(UsageError, match="no run has this recipe"):
        ask("nothing")


def test_a_recipe_without_a_finished_run_cannot_be_judged(seeds, ask):
    for folder in seeds:
        (folder / layout.MARKER).unlink()
    with pytest.raises(CannotJudgeError, match=r"no finished run.*3 that are not finished"):
        ask()


def test_a_window_that_is_none_is_refused(seeds, ask):
    with pytest.raises(UsageError, match="there is no window 'final'"):
        ask(windows=["final"])


def test_the_run_to_be_like_must_be_a_finished_one(seeds, ask):
    (seeds[0] / layout.MARKER).unlink()
    with pytest.raises(UsageError, match="not a finished run of the recipe"):
        ask(like=seeds[0].name)


def test_runs_of_another_platform_are_left_out_by_name(seeds, ask):
    other = json.loads((seeds[0] / layout.ENVIRONMENT).read_text())
    other["inside"]["device"] = {"kind": "xla-cpu"}
    rewrite(seeds[0], layout.ENVIRONMENT, json.dumps(other))
    (found,) = ask().groups
    assert [member.seed for member in found.group.members] == sorted(SEEDS[1:])
    assert names(found.group.left_out) == {
        seeds[0].name: "it was made on xla-cpu, and the others on cpu-x86_64"
    }
