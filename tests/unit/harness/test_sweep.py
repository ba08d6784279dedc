"""A sweep from recipe to record: real run folders of a program of a moment, in this Python."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from reprokit import runs, workspace
from reprokit.errors import GoldenError, RecipeError, ReportError, UsageError, WorkspaceBusyError
from reprokit.golden import Promotion
from reprokit.harness import Request, finished_runs, reproduce, run_once
from reprokit.harness.curation.promote_sweep import WhichSweep, promote_sweep
from reprokit.harness.running.varying.apply_variations import usable_cores
from reprokit.project import Project
from reprokit.session import Session
from support.installed_extension import install
from support.sweep_program import PROGRAM, RECIPE, RecordedSweep, prepare, run_folders, seeds_of, swept


@pytest.fixture
def here(repository):
    return prepare(repository)


def states(answer):
    return [str(member.state) for member in answer.members]


def test_every_declared_seed_has_a_run_folder_of_its_own(here):
    told = RecordedSweep()
    answer = swept(here.root, told=told)
    assert (answer.exit_code, states(answer), answer.actions) == (0, ["complete"] * 3, ("run",) * 3)
    assert seeds_of(run_folders(here.root)) == [3, 4, 6]
    assert [member.last_return[0] for member in answer.members] == ["return"] * 3
    assert {("train seed 3", "waiting"), ("train seed 3", "training"), ("train seed 3", "complete")} <= set(
        told.members
    )
    record = json.loads(answer.path.read_text())
    assert answer.path == here.root / "runs" / "sweeps" / answer.name / "sweep.json"
    assert [row["run"] for row in record["members"]] == [member.run for member in answer.members]


def test_what_is_finished_is_not_run_again(here):
    first = swept(here.root)
    again = swept(here.root)
    assert (again.name, again.actions, again.exit_code) == (first.name, ("reuse",) * 3, 0)
    assert again.members == first.members
    assert len(run_folders(here.root)) == 3


def test_a_larger_sweep_begins_with_what_is_there(here):
    first = swept(here.root)
    larger = swept(here.root, seeds="3..6")
    assert (larger.actions, len(run_folders(here.root))) == (("reuse", "reuse", "run", "reuse"), 4)
    assert larger.name != first.name


def test_runs_of_an_earlier_call_beside_new_ones_are_named_since_files_elsewhere_may_have_changed(here):
    assert swept(here.root, seeds="3,4").warnings == ()
    (told,) = swept(here.root, seeds="3,4,6").warnings
    assert told.startswith("2 of 3 runs are of an earlier call: whether files outside the project")
    assert swept(here.root, seeds="3,4,6").warnings == (), "nothing was run beside them"


def test_a_run_that_reproduce_made_counts(here):
    here.reproduce(seed=4)
    assert swept(here.root).actions == (
        ("run", "run", "run") if len(usable_cores()) > 1 else ("run", "reuse", "run")
    )


def test_a_run_that_reproduce_made_side_by_side_counts(here):
    """Those get a core each as the members of a sweep do."""
    request = Request(backend="local", seed=4)
    reproduce("train", request, session=Session(project=Project.around(here.root), progress=RecordedSweep()))
    assert swept(here.root).actions == ("reuse", "reuse", "run"), "seed 3 showed that a metric responds"


def test_a_crashed_member_is_a_row_and_is_tried_again_by_the_next_call_only(here):
    (here.root / "runs").mkdir()
    (here.root / "broken").touch()
    answer = swept(here.root, seeds="4,5,6")
    assert (answer.exit_code, states(answer)) == (3, ["complete", "crashed", "complete"])
    assert answer.members[1].message == "the program ended with exit code 1: no five"
    assert (answer.members[1].attempts, len(run_folders(here.root))) == (1, 3)

    told = RecordedSweep()
    again = swept(here.root, seeds="4,5,6", told=told)
    assert (again.exit_code, again.actions) == (3, ("reuse", "retry", "reuse"))
    assert again.members[1].attempts == 2
    assert "train seed 5: tried again; last time: the program ended with exit code 1: no five" in told.notes

    (here.root / "broken").unlink()
    healed = swept(here.root, seeds="4,5,6")
    assert (healed.exit_code, healed.actions, healed.name) == (0, ("reuse", "retry", "reuse"), answer.name)
    assert seeds_of(run_folders(here.root)) == [4, 5, 5, 5, 6]


def test_a_run_that_was_changed_afterwards_does_not_count_and_is_run_again(here):
    first = swept(here.root)
    folder = here.root / "runs" / first.members[1].run
    whole = (folder / "metrics.jsonl").read_bytes()
    (folder / "metrics.jsonl").write_bytes(whole.replace(b"0.", b"1.", 1))
    told = RecordedSweep()
    again = swept(here.root, told=told)
    assert (again.actions, again.exit_code) == (("reuse", "retry", "reuse"), 0)
    assert again.members[1].run != first.members[1].run
    assert any("metrics.jsonl was changed after the run; it does not count" in note for note in told.notes)
    assert (here.root / "runs" / again.members[1].run / "metrics.jsonl").read_bytes() == whole


@pytest.mark.parametrize(
    "change",
    [
        {"settings_py": "RATE = 0.2\n"},
        {"train_py": PROGRAM + "# a word\n"},
        {"recipes__train__recipe_yaml": RECIPE.replace('"1"', '"2"')},
    ],
    ids=["a setting", "the program", "the command"],
)
def test_a_changed_recipe_or_program_is_another_sweep(here, change):
    first = swept(here.root)
    here.write(**change)
    other = swept(here.root)
    assert (other.actions, other.exit_code) == (("run",) * 3, 0)
    assert other.name != first.name
    assert not {one.identity for one in first.members} & {one.identity for one in other.members}


def test_a_word_of_the_recipe_that_changes_no_number_keeps_the_runs(here):
    swept(here.root)
    here.write(recipes__train__recipe_yaml=RECIPE.replace("as it is", "of someone"))
    assert swept(here.root).actions == ("reuse",) * 3


def test_a_grid_has_every_combination(here):
    commands = [f"[python, train.py, '{{seed}}', '{{run_dir}}', '{word}']" for word in (1, 2)]
    settings = [f"command={','.join(commands)}", "device=cpu"]
    answer = swept(here.root, settings=settings, seeds="1,2")
    assert (states(answer), len({one.identity for one in answer.members})) == (["complete"] * 4, 4)
    assert [one.seed for one in answer.members] == [1, 2, 1, 2]
    assert len({one.settings for one in answer.members}) == 2
    assert swept(here.root, settings=settings, seeds="1,2").actions == ("reuse",) * 4


def test_words_that_are_added_to_the_command_are_settings_and_members_are_called_by_them(here):
    answer = swept(here.root, arguments=["--lr 0.05", "--lr '0,2'"], seeds="1,2", settings=["device=cpu"])
    assert states(answer) == ["complete"] * 4
    assert [member.label for member in answer.members] == [
        "lr=0.05 · s1",
        "lr=0.05 · s2",
        "lr=0,2 · s1",
        "lr=0,2 · s2",
    ]
    word = '["python", "train.py", "{seed}", "{run_dir}", "1", "--lr", "0.05"]'
    assert answer.members[0].settings == ("device=cpu", f"command={word}")


def test_words_are_added_to_each_command_of_a_grid(here):
    commands = ",".join(f"[python, train.py, '{{seed}}', '{{run_dir}}', '{word}']" for word in (1, 2))
    answer = swept(here.root, settings=[f"command={commands}"], arguments=["-v", "-q"], seeds="1,")
    assert len({member.identity for member in answer.members}) == 4


def test_words_for_a_trainer_are_refused_with_what_to_do():
    with pytest.raises(UsageError, match=r"takes settings.*--set training\.NAME=VALUE"):
        swept(Path(__file__).parents[3], "cartpole_baseline", arguments=["--lr 0.05"])


def test_two_settings_that_are_one_training_are_refused(here):
    same = "command=[python, train.py, '{seed}', '{run_dir}', '1'],[python,train.py,'{seed}','{run_dir}','1']"
    with pytest.raises(UsageError, match=r"two members are the same run: .*command"):
        swept(here.root, settings=[same])
    with pytest.raises(UsageError, match="the setting is given twice"):
        swept(here.root, settings=["device=cpu", "device=cpu"])
    with pytest.raises(UsageError, match="two members are the same run"):
        swept(here.root, "train", "train")
    assert run_folders(here.root) == []


def test_several_recipes_are_one_sweep(here):
    here.write(
        recipes__other__recipe_yaml=RECIPE.replace("name: train", "name: other").replace("[3, 4, 6]", "[9]")
    )
    answer = swept(here.root, "train", "other")
    assert [(one.recipe, one.seed) for one in answer.members] == [
        ("train", 3),
        ("train", 4),
        ("train", 6),
        ("other", 9),
    ]
    assert answer.name.startswith("train-and-1-more-")


def test_a_dry_run_says_what_would_be_done_and_writes_nothing(here):
    planned = swept(here.root, dry_run=True)
    assert (planned.actions, states(planned)) == (("run",) * 3, ["waiting"] * 3)
    assert not (here.root / "runs").exists()
    made = swept(here.root, seeds="3,")
    before = {path: path.stat().st_mtime_ns for path in (here.root / "runs").rglob("*")}
    again = swept(here.root, dry_run=True)
    assert again.actions == ("reuse", "run", "run")
    assert {path: path.stat().st_mtime_ns for path in (here.root / "runs").rglob("*")} == before
    assert made.members[0].identity == again.members[0].identity


def test_members_have_a_core_each_however_many_run_at_once(here):
    one, two = swept(here.root, jobs=1), swept(here.root, seeds="7,8", jobs=2)
    pinned = [
        json.loads((here.root / "runs" / member.run / "run.json").read_text())["limits"]["cpus"]
        for member in (*one.members, *two.members)
    ]
    assert {None if cores is None else len(cores) for cores in pinned} == {
        1 if len(usable_cores()) > 1 else None
    }


def test_what_cannot_start_is_a_row_too(here):
    answer = swept(here.root, request=Request(backend="docker"))
    assert (states(answer), answer.exit_code) == (["not_started"] * 3, 3)
    assert answer.actions == ("not_started",) * 3
    assert "the recipe's variant is none" in answer.members[0].message
    assert json.loads(answer.path.read_text())["members"][0]["state"] == "not_started"


def test_an_interruption_stops_every_member_and_the_next_call_goes_on(here):
    class Impatient(RecordedSweep):
        def member(self, label, how_far, /):
            if label == "train seed 4" and how_far.phase == "training":
                raise KeyboardInterrupt
            super().member(label, how_far)

    with pytest.raises(KeyboardInterrupt):
        swept(here.root, told=Impatient(), jobs=1)
    record = runs.sweeps.read(next((here.root / "runs" / "sweeps").iterdir()))
    assert [str(one.state) for one in record] == ["complete", "interrupted", "waiting"]
    again = swept(here.root)
    assert (states(again), again.actions[0]) == (["complete"] * 3, "reuse")
    assert all(
        runs.read(folder).complete for folder in run_folders(here.root) if (folder / "COMPLETE").is_file()
    )


def test_one_call_at_a_time_makes_a_sweep(here):
    answer = swept(here.root)
    with workspace.exclusive(answer.path.parent), pytest.raises(WorkspaceBusyError):
        swept(here.root)


def test_another_place_is_refused(here, tmp_path_factory, monkeypatch):
    with pytest.raises(UsageError, match="nothing is run on 'moon'"):
        swept(here.root, on="moon")
    site = tmp_path_factory.mktemp("site")
    install(site)
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(site))
    with pytest.raises(UsageError, match=r'an installed extension has it.*"planted-one==1\.0"'):
        swept(here.root, on="moon")


def test_finished_runs_are_found_by_what_they_are_not_by_what_the_record_says(here):
    (here.root / "broken").touch()
    answer = swept(here.root, seeds="4,5,6")
    found = finished_runs(answer.path)
    assert [member.seed for member in found.folders] == [4, 6]
    assert [(one.seed, str(one.state)) for one in found.missing] == [(5, "crashed")]
    assert finished_runs(answer.path.parent) == found

    record = json.loads(answer.path.read_text())
    record["members"][1] = {**record["members"][1], "state": "complete", "run": record["members"][0]["run"]}
    answer.path.write_text(json.dumps(record))
    assert [(one.seed, str(one.state)) for one in finished_runs(answer.path).missing] == [(5, "crashed")]

    shutil.rmtree(here.root / "runs" / answer.members[0].run)
    missing = finished_runs(answer.path).missing
    assert [(one.seed, str(one.state)) for one in missing] == [(4, "waiting"), (5, "crashed")]
    assert missing[0].message == f"its run folder is gone: {answer.members[0].run}"


def test_what_is_no_record_of_a_sweep_is_refused(here, tmp_path):
    for text in ("{}", '{"members": []}', '{"members": [{"seed": 1}]}', "nonsense"):
        (tmp_path / "sweep.json").write_text(text)
        with pytest.raises(ReportError, match="not a record of a sweep"):
            finished_runs(tmp_path / "sweep.json")


def test_a_second_attempt_that_begins_with_other_records_is_no_result(here):
    here.write(train_py=PROGRAM.replace("random.seed(seed)", "random.seed(os.urandom(8))"))
    (here.root / "runs").mkdir()
    (here.root / "broken").touch()
    assert states(swept(here.root, seeds="5,")) == ["crashed"]
    (here.root / "broken").unlink()
    again = swept(here.root, seeds="5,")
    assert (again.exit_code, states(again)) == (3, ["crashed"])
    assert again.members[0].message.startswith("nondeterminism: record 0 differs from that of the earlier")
    records = {folder: json.loads((folder / "run.json").read_text()) for folder in run_folders(here.root)}
    ((last, record),) = ((folder, one) for folder, one in records.items() if one["attempt"] == 2)
    assert (record["outcome"], record["where"]) == ("attempts_differ", "local")
    assert not (last / "COMPLETE").exists()


def test_a_second_attempt_that_begins_alike_counts(here):
    (here.root / "runs").mkdir()
    (here.root / "broken").touch()
    assert states(swept(here.root, seeds="5,")) == ["crashed"]
    (here.root / "broken").unlink()
    assert states(swept(here.root, seeds="5,")) == ["complete"]


def test_a_second_attempt_may_begin_otherwise_where_the_recipe_says_that_no_two_runs_are_equal(here):
    here.write(
        train_py=PROGRAM.replace("random.seed(seed)", "random.seed(os.urandom(8))"),
        recipes__train__recipe_yaml=RECIPE + "repeatable: {cpu-x86_64: it draws from the system}\n",
    )
    (here.root / "runs").mkdir()
    (here.root / "broken").touch()
    assert states(swept(here.root, seeds="5,")) == ["crashed"]
    (here.root / "broken").unlink()
    assert states(swept(here.root, seeds="5,")) == ["complete"]


PLATFORM = "platform=cpu-x86_64"


def test_members_with_the_settings_of_a_platform_are_other_runs_though_the_settings_are_the_same(here):
    here.write(recipes__train__recipe_yaml=RECIPE + "platform_settings: {cpu-x86_64: {}}\n")
    plain = swept(here.root)
    there = swept(here.root, settings=[PLATFORM])
    assert (there.exit_code, there.actions) == (0, ("run",) * 3)
    assert there.name != plain.name
    assert there.members[0].label == f"train {PLATFORM} seed 3"
    records = [json.loads((here.root / "runs" / one.run / "run.json").read_text()) for one in there.members]
    assert [(one["platform_asked"], one["modified"]) for one in records] == [("cpu-x86_64", [])] * 3
    assert [swept(here.root, settings=found).actions for found in ((), [PLATFORM])] == [("reuse",) * 3] * 2
    with pytest.raises(RecipeError, match="not say how it is judged on the platform xla-cpu"):
        swept(here.root, settings=["platform=xla-cpu"])


def test_an_ensemble_is_made_of_the_sweep_of_its_platform_and_of_no_other(here):
    judged = "statistical: {metric: return, window: last, margin: 1, direction: higher}\n"
    here.write(recipes__train__recipe_yaml=RECIPE + judged + "platform_settings: {cpu-x86_64: {}}\n")

    def promote(platform):
        return promote_sweep(
            "train",
            project=Project.around(here.root),
            promotion=Promotion(reason="first", created_at="2026-01-01T00:00:00+00:00"),
            min_seeds=10,
            which=WhichSweep(platform=platform),
        )

    swept(here.root, settings=[PLATFORM], seeds="1..10")
    with pytest.raises(GoldenError, match="there is no sweep of train\\."):
        promote("")
    with pytest.raises(RecipeError, match="not say how it is judged on the platform xla-cpu"):
        promote("xla-cpu")
    assert promote("cpu-x86_64").provenance.platform == "cpu-x86_64"


@pytest.mark.slow
def test_an_ensemble_is_made_of_the_sweep_that_is_named(here):
    judged = "statistical: {metric: return, window: last, margin: 1, direction: higher}\n"
    here.write(recipes__train__recipe_yaml=RECIPE + judged)
    wanted = swept(here.root, seeds="1..11")
    newer = swept(here.root, seeds="1..10")
    other = swept(here.root, seeds="1,2", settings=["env.A=1"])

    notes: list[str] = []

    def promote(name, *, allow_left_out=True):
        return promote_sweep(
            "train",
            project=Project.around(here.root),
            promotion=Promotion(
                reason="first", created_at="2026-01-01T00:00:00+00:00", allow_left_out=allow_left_out
            ),
            min_seeds=10,
            which=WhichSweep(name=name),
            note=notes.append,
        )

    for wrong in ("train-00000000", "..", "../sweeps/train"):
        with pytest.raises(
            GoldenError, match=rf"there is no sweep.* expected one of {other.name}, {newer.name}"
        ):
            promote(wrong)
    with pytest.raises(GoldenError, match=r"no member of the sweep is a run of train as it stands.*env\.A=1"):
        promote(other.name)
    every = ",".join(map(str, range(1, 12)))
    with pytest.raises(GoldenError, match=f"sweep train --seeds {every} --backend local`"):
        promote("", allow_left_out=False)  # the newer one has fewer seeds
    notes.clear()
    assert len(promote(wanted.name).members) == 11
    assert notes == []
    assert len(promote("").members) == 10
    assert notes == [f"the newest sweep of train is taken: {newer.name} (--sweep-name takes another)"]


@pytest.mark.slow
def test_a_seed_that_ran_alone_on_more_cores_than_a_member_of_a_sweep_is_among_those_left_out(here):
    judged = "statistical: {metric: return, window: last, margin: 1, direction: higher}\n"
    here.write(recipes__train__recipe_yaml=RECIPE + judged)
    swept(here.root, seeds="1..10")
    session = Session(project=Project.around(here.root), progress=RecordedSweep())
    run_once("train", Request(backend="local", seed=11), session=session)
    with pytest.raises(GoldenError, match="left out: 11"):
        promote_sweep(
            "train",
            project=Project.around(here.root),
            promotion=Promotion(reason="first", created_at="2026-01-01T00:00:00+00:00"),
            min_seeds=10,
        )


@pytest.mark.slow
def test_seeds_of_uncommitted_changes_are_run_again_once_these_are_committed(here):
    judged = "statistical: {metric: return, window: last, margin: 1, direction: higher}\n"
    (here.root / "recipes" / "train" / "recipe.yaml").write_text(RECIPE + judged)
    promotion = Promotion(reason="first", created_at="2026-01-01T00:00:00+00:00")
    asked = {"promotion": promotion, "min_seeds": 10}
    changed = swept(here.root, seeds="1..10")
    assert swept(here.root, seeds="1..10").actions == ("reuse",) * 10, "no other state of the source"
    with pytest.raises(GoldenError, match="type the `reprokit sweep` again"):
        promote_sweep("train", project=Project.around(here.root), **asked)

    here.commit()
    clean = swept(here.root, seeds="1..10")
    assert (clean.actions, clean.name) == (("run",) * 10, changed.name)
    assert swept(here.root, seeds="1..10").actions == ("reuse",) * 10
    made = promote_sweep("train", project=Project.around(here.root), **asked)
    assert len(made.members) == 10
    assert set(finished_runs(clean.path).folders.values()) == {
        here.root / "runs" / one.run for one in clean.members
    }


@pytest.mark.parametrize(
    "logged",
    ['"return": value', '"return": value, "seed": seed', '"return": value, "env_seed": seed + 1000 + step'],
)
def test_seeds_that_do_nothing_are_told_and_the_sweep_is_finished(here, logged):
    program = (here.root / "train.py").read_text().replace("random.seed(seed)", "random.seed(0)")
    here.write(train_py=program.replace('"return": value', logged))
    answer = swept(here.root, seeds="5,6,8,9")
    assert (answer.exit_code, states(answer)) == (0, ["complete"] * 4)
    (warning,) = answer.warnings
    assert warning.startswith("train: no metric responds to the seed, so its 4 seeds are one result")


def test_a_sweep_whose_seeds_differ_warns_of_nothing(here):
    assert swept(here.root).warnings == ()
