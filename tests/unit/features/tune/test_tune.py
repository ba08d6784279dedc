"""``tune`` on a program of a moment: the same study however it is run, and every trial a row."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reprokit import recipes
from reprokit.errors import CannotRunError, DiskFullError, RecipeError, UsageError
from reprokit.features.tune.asked import AfterSearch
from reprokit.features.tune.study import Study
from reprokit.harness.running.engine import Engine
from reprokit.runs import sweeps
from support.command_recipe import Repository
from support.sweep_program import RecordedSweep, run_folders
from support.tuned_program import PROGRAM, RECIPE, bare_python, prepare, study_bytes, tuned


@pytest.fixture(autouse=True)
def a_bare_python(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", bare_python(tmp_path / "bin"))


@pytest.fixture
def theirs(tmp_path) -> Path:
    return prepare(tmp_path / "theirs").root


@pytest.mark.slow
def test_one_and_three_workers_give_the_same_bytes_and_more_trials_add_to_them(theirs):
    one = tuned(theirs, runs="r1", workers=1, trials=8)
    three = tuned(theirs, runs="r2", workers=3, trials=6)
    assert json.loads(study_bytes(one))["trials"][:6] == json.loads(study_bytes(three))["trials"]
    made = len(run_folders_in(theirs / "r2"))
    again = tuned(theirs, runs="r2", workers=2, trials=8)
    assert study_bytes(again) == study_bytes(one)
    assert again.reused == frozenset(range(6))
    assert len(run_folders_in(theirs / "r2")) == made + 2
    assert (again.exit_code, again.best) == (0, one.best)
    rows = json.loads(study_bytes(one))["trials"]
    assert all({"number", "params", "value", "state"} <= set(row) for row in rows)


def run_folders_in(runs_dir: Path) -> list[Path]:
    return list(runs_dir.glob("train/*/run.json"))


def sizes(*numbers: int) -> str:
    return f"env.SIZE: {{type: categorical, choices: [{', '.join(map(str, numbers))}]}}\n"


@pytest.mark.slow
def test_a_trial_that_fails_is_a_row_and_is_run_again_only_when_asked(theirs):
    (theirs / "space.yaml").write_text(sizes(3, 7))
    study = tuned(theirs, sampler="grid", trials=None)
    assert [(one.state, one.value is None) for one in study.trials] == [("COMPLETE", False), ("FAIL", True)]
    assert study.trials[1].message == "crashed: exit code 1"
    assert "seven is too many" in study.messages[1]
    assert study.exit_code == 0
    first = study_bytes(study)
    assert study_bytes(tuned(theirs, sampler="grid", trials=None)) == first
    assert len(run_folders(theirs)) == 2
    repaired = tuned(theirs, sampler="grid", trials=None, retry_failed=True)
    assert [str(one.state) for one in repaired.trials] == ["COMPLETE", "FAIL"]
    assert len(run_folders(theirs)) == 3


@pytest.mark.slow
def test_a_run_that_was_changed_is_made_again_and_named_and_what_waited_for_it_was_not_run(theirs):
    before = tuned(theirs, trials=8)
    changed = folder_of(theirs, before, trial=1)
    with (changed / "metrics.jsonl").open("a") as stream:
        stream.write('{"step": 99, "return": 1000.0}\n')
    told = RecordedSweep()
    again = tuned(theirs, trials=8, progress=told)
    assert study_bytes(again) == study_bytes(before)
    assert again.reused == frozenset(range(8)) - {1}
    assert [text for text in told.notes if changed.name in text] == [
        f"{changed.name} was changed after the run; it does not count and is run again"
    ]


def folder_of(root: Path, study: Study, *, trial: int) -> Path:
    identity = study.trials[trial].identities[0]
    (member,) = (one for one in sweeps.read(study.path.parent) if one.identity == identity)
    return root / "runs" / member.run


def test_trials_of_the_same_settings_share_one_run(theirs):
    (theirs / "space.yaml").write_text(sizes(2, 3))
    study = tuned(theirs, sampler="random", trials=6, workers=3)
    assert len(run_folders(theirs)) == len({one.params["env.SIZE"] for one in study.trials})
    record = sweeps.read(study.path.parent)
    assert {member.identity for member in record} == {one.identities[0] for one in study.trials}
    assert all(str(member.state) == "complete" for member in record)


def test_trials_of_an_earlier_call_beside_new_ones_are_named_since_files_elsewhere_may_have_changed(theirs):
    (theirs / "space.yaml").write_text(sizes(2, 3, 4))
    assert tuned(theirs, sampler="grid", trials=2).warnings == ()
    (told,) = tuned(theirs, sampler="grid", trials=3).warnings
    assert told.startswith("2 of 3 runs are of an earlier call: whether files outside the project")
    assert tuned(theirs, sampler="grid", trials=3).warnings == (), "nothing was run beside them"


def test_a_trial_over_seeds_has_their_mean(theirs):
    (theirs / "space.yaml").write_text(sizes(3))
    (one,) = tuned(theirs, sampler="grid", trials=None, seeds="1,2").trials
    assert len(one.values) == len(one.identities) == 2
    assert one.value == sum(one.values) / 2


def test_a_dry_run_says_what_would_be_run_and_runs_nothing(theirs):
    study = tuned(theirs, trials=8, dry_run=True)
    assert [bool(one.params) for one in study.trials] == [True] * 5 + [False] * 3
    assert {str(one.state) for one in study.trials} == {"WAITING"}
    assert run_folders(theirs) == []
    assert not (theirs / "runs" / "sweeps").exists()


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_search_that_a_newer_version_went_on_with_is_left_as_it_is(theirs, dry_run):
    study = tuned(theirs, trials=1)
    newer = study.path.read_text().replace('"schema": 1', '"schema": 2')
    study.path.write_text(newer)
    with pytest.raises(UsageError, match="written by a newer version of reprokit"):
        tuned(theirs, trials=2, dry_run=dry_run)
    assert study.path.read_text() == newer


@pytest.mark.slow
def test_a_pruned_trial_is_one_however_far_its_run_came(theirs):
    """Programs of a moment end before anyone can stop them: the rule is applied to what they reported."""
    study = tuned(theirs, runs="r1", trials=13, workers=2, pruner="median", seed=1)
    states = [str(one.state) for one in study.trials]
    assert "PRUNED" in states
    assert all((one.pruned_at is not None) == (one.state == "PRUNED") for one in study.trials)
    assert study_bytes(tuned(theirs, runs="r2", trials=13, workers=1, pruner="median", seed=1)) == (
        study_bytes(study)
    )


@pytest.mark.slow
def test_a_run_that_was_stopped_by_the_pruner_is_not_run_again(theirs):
    (theirs / "space.yaml").write_text(sizes(4, 3, 5, 2, 6, 1, 8))
    asked = {
        "sampler": "grid",
        "trials": None,
        "pruner": "median",
        "lag": 0,
        "workers": 1,
        "settings": ('env.PAUSE="0.3"',),
    }
    study = tuned(theirs, **asked)
    outcomes = {folder: outcome_of(folder) for folder in run_folders(theirs)}
    stopped = [folder for folder, outcome in outcomes.items() if outcome == "pruned"]
    assert stopped
    assert not any((folder / "COMPLETE").exists() for folder in stopped)
    before = study_bytes(study)
    assert study_bytes(tuned(theirs, **asked)) == before
    assert run_folders(theirs) == list(outcomes)


def outcome_of(folder: Path) -> str:
    return json.loads((folder / "run.json").read_text())["outcome"]


@pytest.mark.parametrize(
    ("space", "told"),
    [
        ("\nenvv.RATE: {type: int, low: 1, high: 2}\n", "space.yaml:2"),
        ("limits.memory_gib: {type: float, low: -1, high: 2}\n", "space.yaml:1"),
        ("seeds: {type: categorical, choices: [[1]]}\n", "choose it by --seeds"),
        ("env.RATES: {type: int, low: 1, high: 2}\n", "no such variable. Hint: did you mean 'RATE'"),
        ("env.SIZE: {type: categorical, choices: ['1', 1]}\n", "'1' and 1 are one and the same value"),
        ("env.SIZE: {type: categorical, choices: [1, null]}\n", "a variable has no null"),
        ("env.NO: {type: int, low: 1, high: 2}\nseeds: {type: int, low: 1, high: 2}\n", "2 mistakes"),
    ],
)
def test_a_setting_that_the_recipe_does_not_take_is_told_with_its_line(theirs, space, told):
    (theirs / "space.yaml").write_text(space)
    with pytest.raises(RecipeError, match=told):
        tuned(theirs)
    assert run_folders(theirs) == []


def test_a_setting_is_searched_or_set(theirs):
    with pytest.raises(UsageError, match=r"env\.SIZE is searched and set"):
        tuned(theirs, settings=('env.SIZE="3"',))


def test_a_platform_that_the_trials_would_not_get_is_refused(theirs):
    with pytest.raises(UsageError, match="not with those of one of its platforms"):
        tuned(theirs, settings=("platform=cpu-x86_64",))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.sample(1)
def test_a_metric_that_is_never_logged_stops_the_search_after_the_first_trial(theirs, workers):
    with pytest.raises(UsageError) as refused:
        tuned(theirs, trials=6, metric="retrun", direction="maximize", workers=workers)
    assert (refused.value.where, refused.value.what) == ("--metric", "the program never logs 'retrun'")
    assert "expected one of return" in str(refused.value)
    made = run_folders(theirs)
    assert 1 <= len(made) <= workers
    assert all((folder / "COMPLETE").exists() for folder in made), "those under way have ended"
    with pytest.raises(UsageError, match="never logs"):
        tuned(theirs, trials=6, metric="retrun", direction="maximize", workers=workers)
    assert run_folders(theirs) == made, "the same command knows that before it runs anything"
    assert 0 in tuned(theirs, trials=1, metric="return").reused, "nothing is lost"


@pytest.mark.slow
def test_a_program_without_any_result_stops_it_too(tmp_path):
    program = PROGRAM.replace('"return"', '"cost"')
    root = prepare(tmp_path / "theirs", program=program).root
    with pytest.raises(UsageError, match=r"no metric is called a return.* expected one of cost"):
        tuned(root, trials=4, direction="minimize")
    assert tuned(root, trials=2, metric="cost", direction="minimize").exit_code == 0


def test_a_metric_for_the_pruner_that_is_never_logged_stops_it_too(theirs):
    with pytest.raises(UsageError, match=r"--pruner-metric: the program never logs 'loss'"):
        tuned(theirs, trials=4, metric="return", pruner="median", pruner_metric="loss", workers=1)
    assert len(run_folders(theirs)) == 1


def test_a_metric_of_text_is_named_as_that(tmp_path):
    program = PROGRAM.replace('"return": value', '"return": value, "note": "fine"')
    root = prepare(tmp_path / "theirs", program=program).root
    with pytest.raises(UsageError, match="never logs 'note' as a number"):
        tuned(root, trials=4, metric="note", direction="maximize")


@pytest.mark.slow
def test_a_first_trial_without_the_metric_fails_alone_where_another_run_has_it(tmp_path):
    program = PROGRAM.replace('"return": value', '("other" if size == 1 else "return"): value')
    root = prepare(tmp_path / "theirs", program=program).root
    (root / "space.yaml").write_text(sizes(1, 2))
    grid = {"sampler": "grid", "trials": None, "metric": "return", "workers": 1}
    with pytest.raises(UsageError, match="never logs 'return'"):
        tuned(root, **grid)
    Repository(root).reproduced()
    study = tuned(root, **grid)
    assert [str(one.state) for one in study.trials] == ["FAIL", "COMPLETE"]
    assert study.trials[0].message == "no metric is called return"


@pytest.mark.slow
def test_a_setting_that_the_program_never_reads_is_named(tmp_path):
    root = prepare(tmp_path / "theirs", recipe=RECIPE.replace("SIZE:", "NOPE: '0', SIZE:")).root
    (root / "space.yaml").write_text("env.NOPE: {type: int, low: 1, high: 3}\n")
    (told,) = tuned(root, sampler="grid", trials=None).warnings
    assert told.startswith(
        "NOPE changes nothing: with seed 3, the results of NOPE=1, NOPE=2 and NOPE=3 are equal"
    )
    (root / "space.yaml").write_text(sizes(1, 2))
    assert tuned(root, sampler="grid", trials=None).warnings == ()


def test_a_metric_of_unknown_direction_asks_for_it(theirs):
    with pytest.raises(UsageError, match="--direction maximize"):
        tuned(theirs, metric="q_mean")


def test_fewer_steps_to_a_threshold_are_better_whatever_the_metric_is(theirs):
    (theirs / "space.yaml").write_text(sizes(1, 4))
    study = tuned(theirs, sampler="grid", trials=None, window="first_step_at_least_0")
    assert study.definition.objective.direction == "minimize"


def test_smaller_is_better_where_it_is_asked_for(theirs):
    (theirs / "space.yaml").write_text(sizes(1, 4))
    high = tuned(theirs, sampler="grid", trials=None)
    low = tuned(theirs, sampler="grid", trials=None, direction="minimize")
    assert [study.best.params["env.SIZE"] for study in (high, low)] == [4, 1]
    assert low.reused == frozenset({0, 1}), "the runs are the same"


def test_the_best_is_run_with_seeds_that_did_not_choose_it(theirs):
    (theirs / "space.yaml").write_text(sizes(2, 4))
    study = tuned(theirs, sampler="grid", trials=None, after=AfterSearch(seeds="10,11"))
    fresh = study.fresh
    assert fresh is not None
    assert fresh.seeds == (10, 11)
    assert fresh.mean == sum(fresh.values) / 2
    assert fresh.optimism(study.definition) == study.best.value - fresh.mean
    assert fresh.interval[0] < fresh.mean < fresh.interval[1]
    assert json.loads(json.dumps(study.answer(), default=str))["fresh_seeds"]["mean"] == fresh.mean
    assert "fresh_seeds" not in json.loads(study_bytes(study)), "the study is the same without them"


def test_seeds_that_change_nothing_are_named_where_they_were_to_say_how_good_the_best_is(tmp_path):
    root = prepare(tmp_path / "theirs", program=PROGRAM.replace("int(sys.argv[1])", "5")).root
    (root / "space.yaml").write_text(sizes(2, 4))
    study = tuned(root, sampler="grid", trials=None, after=AfterSearch(seeds="10,11"))
    (told,) = study.warnings
    assert "no metric responds to the seed, so its 3 seeds are one result" in told
    assert told in study.answer()["warnings"]


@pytest.mark.parametrize("name", ["../x", "x/y", "", "A B"])
def test_what_no_recipe_can_be_called_is_refused_before_anything_runs(theirs, name):
    with pytest.raises(UsageError, match="no recipe can be called so"):
        tuned(theirs, trials=1, after=AfterSearch(save_as=name))
    assert run_folders(theirs) == []
    assert [one.name for one in (theirs / "recipes").iterdir()] == ["train"]


def test_seeds_that_chose_the_best_are_refused(theirs):
    with pytest.raises(UsageError, match="chosen by seed 3"):
        tuned(theirs, trials=1, after=AfterSearch(seeds="3,4"))
    assert run_folders(theirs) == []


def test_the_best_becomes_a_recipe_that_computes_the_same(theirs):
    (theirs / "space.yaml").write_text(sizes(2, 4))
    recipe = theirs / "recipes" / "train" / "recipe.yaml"
    recipe.write_text(recipe.read_text() + "# the end\n")
    study = tuned(
        theirs, sampler="grid", trials=None, after=AfterSearch(save_as="better"), settings=('env.RATE="0.4"',)
    )
    text = study.saved.read_text()
    assert study.saved == theirs / "recipes" / "better" / "recipe.yaml"
    assert "trial 1 of train-tune-" in text
    assert "# the end" in text
    saved = recipes.load("better", recipes_dir=theirs / "recipes")
    assert saved.program.variables == {"RATE": "0.4", "SIZE": "4"}
    before = study.saved.read_bytes()
    with pytest.raises(UsageError, match="there is a recipe of this name already"):
        tuned(theirs, trials=1, after=AfterSearch(save_as="better"))
    assert study.saved.read_bytes() == before


ENDS = """\
import json, os, signal, sys
how = os.environ["HOW"]
if how == "memory":
    raise MemoryError("no memory")
value = float("nan") if how == "nan" else 1.0
name = "other" if how == "other" else "return"
with open(f"{sys.argv[2]}/log.jsonl", "w") as log:
    log.write(json.dumps({"step": 0, name: value}) + "\\n")
if how == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_however_a_program_ends_its_trial_is_a_row_that_says_so(tmp_path):
    root = prepare(tmp_path / "theirs", recipe=RECIPE.replace('SIZE: "3"', "HOW: fine"), program=ENDS).root
    (root / "space.yaml").write_text(
        "env.HOW: {type: categorical, choices: [fine, kill, memory, nan, other]}\n"
    )
    study = tuned(root, sampler="grid", trials=None, metric="return", workers=2)
    assert [(one.state, one.value, one.message) for one in study.trials] == [
        ("COMPLETE", 1.0, ""),
        ("FAIL", None, "signalled: signal SIGKILL"),
        ("FAIL", None, "out of memory: exit code 1"),
        ("FAIL", None, "return, last: it is nan"),
        ("FAIL", None, "no metric is called return"),
    ]
    assert study_bytes(tuned(root, sampler="grid", trials=None, metric="return", workers=1)) == (
        study_bytes(study)
    )
    assert len(run_folders(root)) == 5


def test_a_full_disk_is_no_result_and_ends_the_call(theirs, monkeypatch):
    def full(*_words, **_named):
        raise DiskFullError("no space left on the disk", where="runs/")

    monkeypatch.setattr(Engine, "make", full)
    with pytest.raises(CannotRunError, match="no space left"):
        tuned(theirs, workers=2)
    monkeypatch.undo()
    assert all(row["state"] != "FAIL" for row in recorded_trials(theirs))


def recorded_trials(root: Path) -> list[dict]:
    return [
        row
        for path in root.glob("runs/sweeps/*/study.json")
        for row in json.loads(path.read_text())["trials"]
    ]
