"""From which checkpoint a run continues, and what keeps it from going on: no process, real folders."""

import hashlib
import json
import pickle
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from reprokit import recipes, runs
from reprokit.core.records import Outcome
from reprokit.errors import CheckpointError, UsageError
from reprokit.harness import Project, Request, run_once
from reprokit.harness.running import start_command, start_runs
from reprokit.harness.running.engine import Engine
from reprokit.harness.running.environments.environment import Environment
from reprokit.harness.running.plan import plan_recipe
from reprokit.harness.running.resuming.resume_point import choose, fit
from reprokit.images import packages
from reprokit.session import Session

ROOT = Path(__file__).resolve().parents[4]
RECIPE = "cartpole_baseline"
LAST = 8192
RANDOM = {"python": [1], "numpy": {"pos": 1}, "torch": [1], "environments": [[]] * 8}
STATE = {"model": {"bias": 0.5}, "optimizer": {"count": 1}, "random": RANDOM, "extra": {}}


def write(path, *, step):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({**STATE, "step": step}, protocol=2))


def list_files(folder, **other):
    """MANIFEST.json as the files are now, but for steps named otherwise."""
    files = {
        path.name: {
            "step": other.get(path.stem, int(path.stem.rpartition("_")[2])),
            "sha256": f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}",
        }
        for path in folder.glob("checkpoint_*.pt")
    }
    (folder / "MANIFEST.json").write_text(json.dumps({"files": files}))


def training(steps, *, outcome=None):
    def program(_spec, output, _tick):
        (output / "checkpoints").mkdir()
        for step in steps:
            write(output / "checkpoints" / f"checkpoint_{step}.pt", step=step)
        if steps:
            list_files(output / "checkpoints")
        return outcome

    return program


@pytest.fixture
def project(tmp_path):
    """The real recipe, trainer and lock, in a folder that a test may change."""
    for name in (f"recipes/{RECIPE}", "recipes/trainers", "recipes/parts", "images"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    return Project.around(tmp_path)


@pytest.fixture
def made(project, programs, fake, told):
    """Makes a run that ended as asked, in an environment of today's lock."""

    def make(program, *overrides):
        lock = packages.digest_of(project.root / "images" / "cpu" / "requirements.lock")
        recipe = recipes.load(RECIPE, recipes_dir=project.recipes_dir, overrides=overrides)
        plan = plan_recipe(
            recipe,
            seed=42,
            environment=Environment(
                realisation=replace(programs["realisation"], lock_digest=lock),
                backend="local",
                runs_dir=project.runs_dir,
            ),
            stamp="T",
        )
        engine = Engine(
            backend=fake(program), runs_dir=project.runs_dir, host=programs["host"], progress=told
        )
        (folder,) = engine.make(plan)
        return folder

    return make


@pytest.fixture
def killed(programs):
    return programs["ended"](Outcome.SIGNALLED, None, "ended by SIGKILL")


@pytest.fixture
def stopped(made, killed):
    return made(training((4096, LAST), outcome=killed))


@pytest.fixture
def finished(made):
    return made(training((4096, LAST)), f"training.total_timesteps={LAST}")


def go_on(run, project):
    return fit(choose(str(run), project=project), RECIPE, Request(), project=project)


def test_a_stopped_run_goes_on_from_its_last_checkpoint_where_nothing_has_changed(stopped, project):
    recipe, request = go_on(stopped, project)
    assert (recipe.name, request.seed) == (RECIPE, 42)
    assert choose(str(stopped), project=project).point.step == LAST


def abandon(folder):
    """As a tool leaves a run that is killed with SIGKILL: all files in output/, no one who owns it."""
    (folder / "output").mkdir()
    (folder / "checkpoints").rename(folder / "output" / "checkpoints")
    record = json.loads((folder / "run.json").read_text())
    owner = {**record["owner"], "pid": 2**22 + 1, "started": 1.0}
    (folder / "run.json").write_text(json.dumps({**record, "state": "running", "owner": owner}))


def test_a_run_whose_tool_was_killed_is_settled_before_its_checkpoint_is_chosen(
    stopped, project, told, monkeypatch
):
    abandon(stopped)
    seen = []

    def remove_orphans(_workspace):
        seen.append(json.loads((stopped / "run.json").read_text())["state"])

    def run_recipe(_recipe, _request, kind, **__):
        seen.append(kind.point.path)
        return (stopped,)

    monkeypatch.setattr(start_command, "remove_orphans", remove_orphans)
    monkeypatch.setattr(start_runs, "run_recipe", run_recipe)
    run_once(RECIPE, Request(resume_from=stopped.name), session=Session(project=project, progress=told))
    state_when_containers_end, path = seen
    assert state_when_containers_end == "running"  # a folder is closed once nothing writes to it any more
    assert path == stopped / "checkpoints" / f"checkpoint_{LAST}.pt"
    assert path.is_file()


def test_a_checkpoint_changed_together_with_its_manifest_is_held_against_complete(finished, project):
    path = finished / "checkpoints" / "checkpoint_4096.pt"
    with zipfile.ZipFile(path, "w") as archive:
        altered = {**STATE, "step": 4096, "model": {"bias": 0.75}}
        archive.writestr("archive/data.pkl", pickle.dumps(altered, protocol=2))
    list_files(path.parent)
    with pytest.raises(CheckpointError, match=r"MANIFEST\.json was changed after the run"):
        choose(str(path), project=project)


def test_a_checkpoint_removed_together_with_its_entry_is_told_too(finished, project):
    (finished / "checkpoints" / f"checkpoint_{LAST}.pt").unlink()
    list_files(finished / "checkpoints")
    with pytest.raises(CheckpointError, match=r"MANIFEST\.json was changed after the run"):
        choose(str(finished), project=project)


def test_a_checkpoint_that_holds_another_step_is_refused(stopped, project):
    write(stopped / "checkpoints" / f"checkpoint_{LAST}.pt", step=LAST + 1)
    list_files(stopped / "checkpoints")
    with pytest.raises(CheckpointError, match="it holds step 8193, but is listed with step 8192"):
        choose(str(stopped), project=project)


@pytest.mark.parametrize("step", [1, 999_999, None])
def test_a_checkpoint_listed_with_another_step_than_its_name_has_is_not_whole(stopped, project, step):
    list_files(stopped / "checkpoints", **{f"checkpoint_{LAST}": step})
    with pytest.raises(CheckpointError, match=f"lists it with step {step}, but its name says {LAST}"):
        choose(str(stopped / "checkpoints" / f"checkpoint_{LAST}.pt"), project=project)
    chosen = choose(str(stopped), project=project)
    assert (chosen.point.step, chosen.skipped) == (4096, (f"checkpoint_{LAST}.pt",))


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


CHANGES = {
    "numerics portable → native": lambda root: edit(
        root / "recipes" / RECIPE / "recipe.yaml", "numerics: portable", "numerics: native"
    ),
    "the trainer": lambda root: edit(root / "recipes" / "trainers" / "ppo.py", "\n", "\n\n"),
    "the lock of the environment": lambda root: edit(
        root / "images" / "cpu" / "requirements.lock", "\n", "\n\n"
    ),
    r"recipe\.yaml:\d+ data": lambda root: (root / "recipes" / RECIPE / "recipe.yaml").write_text(
        (root / "recipes" / RECIPE / "recipe.yaml").read_text().replace("data: none\n", "")
        + f"data:\n  - {{name: levels.json, sha256: 'sha256:{'0' * 64}', steps: [made]}}\n"
    ),
}


@pytest.mark.parametrize("named", list(CHANGES))
def test_what_the_numbers_follow_from_must_be_what_it_was(stopped, project, named):
    CHANGES[named](project.root)
    with pytest.raises(UsageError, match=named):
        go_on(stopped, project)


@pytest.mark.parametrize("name", ["runtime", "lock", "trainer"])
def test_a_run_that_began_with_another_runtime_or_does_not_say_with_which_is_refused(stopped, project, name):
    record = json.loads((stopped / "run.json").read_text())
    for digests in ({name: "sha256:0"}, {}):
        kept = {key: digest for key, digest in record["digests"].items() if key != name}
        (stopped / "run.json").write_text(json.dumps({**record, "digests": kept | digests}))
        with pytest.raises(UsageError, match=f"so the run cannot be resumed: the {name}"):
            go_on(stopped, project)


def test_what_changes_no_number_keeps_no_run_from_going_on(stopped, project):
    edit(project.recipes_dir / RECIPE / "recipe.yaml", "title: ", "title: Another ")
    assert go_on(stopped, project)[1].seed == 42


def test_a_run_stopped_before_its_first_checkpoint_is_told_so(made, killed, project):
    folder = made(training((), outcome=killed))
    with pytest.raises(CheckpointError, match="it was stopped before its first checkpoint"):
        choose(str(folder), project=project)


@pytest.mark.parametrize("name", ["", f"checkpoints/checkpoint_{LAST}.pt"])
def test_a_finished_run_has_nothing_left_to_do(finished, project, name):
    with pytest.raises(UsageError, match="the run is finished: nothing is left to do"):
        choose(str(finished / name), project=project)
    assert runs.read(finished).complete


def test_the_end_of_a_finished_run_can_be_trained_once_more(finished, project):
    assert go_on(finished / "checkpoints" / "checkpoint_4096.pt", project)[1].seed == 42
