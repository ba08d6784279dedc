"""`instrument: light`, from an unmodified program to a verdict: in this Python, so that it is quick."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from reprokit.capture import capture_interpreter
from reprokit.errors import CannotRunError, GoldenError, RecipeError
from reprokit.harness import Request, judge_again
from reprokit.harness.running import start_runs
from reprokit.harness.running.programs import hooked_run, other_seed
from reprokit.layout import MARKER, METRICS, OTHER_SEED, RECORD, TRACE
from reprokit.project import Project
from reprokit.recipes import load
from reprokit.workspace import sha256_of
from support.command_recipe import RECIPE, Repository

WATCHED = RECIPE + "instrument: light\n"
FOLLOWS = """\
import json, random, sys
random.seed(int(sys.argv[1]))
shuffled = random.Random(int(sys.argv[1]) + 1)
value = 1.0
with open(f"{sys.argv[2]}/log.jsonl", "w") as log:
    for step in range(4):
        value -= 0.1 * random.random() * shuffled.random()
        log.write(json.dumps({"step": step, "loss": value}) + "\\n")
"""
TORCH = """\
import json, os, sys
import torch
torch.manual_seed(int(sys.argv[1]))
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 1))
adam = torch.optim.Adam(model.parameters(), lr=RATE)
with open(f"{sys.argv[2]}/log.jsonl", "w") as log:
    for step in range(1, 7):
        loss = model(torch.randn(8, 3)).pow(2).mean()
        adam.zero_grad()
        loss.backward()
        ODD
        adam.step()
        log.write(json.dumps({"step": step, "loss": LOGGED}) + "\\n")
torch.save(model.state_dict(), f"{sys.argv[2]}/model.pt")
"""


@pytest.fixture(scope="module")
def inside():
    """What this Python says of itself, asked once: importing torch takes seconds."""
    return {**capture_interpreter([sys.executable]), "device": {"kind": "cpu"}}


@pytest.fixture
def repository(tmp_path, monkeypatch, inside):
    monkeypatch.setattr(start_runs, "inside_of", lambda spec, *, backend: inside)
    # `python` in a recipe is the one on the caller's path: this one, which has torch
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    made = Repository(tmp_path / "theirs")
    made.root.mkdir()
    made.git("init", "--quiet")
    (made.root / ".gitignore").write_text("runs/\nreports/\n__pycache__/\n")
    made.write(train_py=FOLLOWS, recipes__train__recipe_yaml=WATCHED)
    return made


def seeded(report):
    found = rows(report)["seeded"]
    return found.status, found.reason


def rows(report):
    return {row.id: row for row in report.checks}


def runs(repository):
    return sorted((repository.root / "runs/train").glob("*-seed*"))


def test_it_is_off_unless_the_recipe_asks_for_it(repository):
    repository.write(recipes__train__recipe_yaml=RECIPE)
    report = repository.reproduce()
    assert rows(report)["seeded"].status == "SKIPPED"
    assert not any((run / "instrument.json").exists() for run in runs(repository))
    assert sum("seed3" in run.name for run in runs(repository)) == 2


def test_only_light_is_known_and_only_for_commands(repository):
    repository.write(recipes__train__recipe_yaml=RECIPE + "instrument: heavy\n")
    with pytest.raises(RecipeError, match="instrument must be 'light'"):
        load("train", recipes_dir=repository.root / "recipes")


def test_a_recipe_without_the_key_keeps_its_digest(repository):
    recipes = repository.root / "recipes"
    repository.write(recipes__train__recipe_yaml=RECIPE)
    plain = load("train", recipes_dir=recipes).digest
    repository.write(recipes__train__recipe_yaml=WATCHED)
    assert load("train", recipes_dir=recipes).digest != plain
    assert plain == "sha256:e1d88568607767f86a9b2ff0bc949c4d9b623ba0c115d59d5a48a39825af8bdc"


def test_seeds_that_follow_pass_and_the_golden_is_the_plain_programs(repository):
    first = repository.reproduce()
    assert seeded(first)[0] == "PASSED", seeded(first)
    assert "the same in every run with the seed 3, all others with the seed 1000006" in seeded(first)[1]
    repository.promote(first)
    told = json.loads((repository.root / "golden/train/cpu-x86_64/seed-3/provenance.json").read_text())
    assert told["plain_run"]["metrics"] == told["digests"]["metrics"]
    assert told["digests"]["instrumentation"].startswith("sha256:")
    again = repository.reproduce()
    assert again.verdict == "REPRODUCED", again.sentence
    assert [run.name.split("-")[2] for run in runs(repository)].count("seed1000006") == 1, "it is made once"


def test_an_earlier_run_with_another_seed_and_other_kernels_is_not_taken(repository):
    """What it answers with another seed would be the kernels' doing."""
    repository.reproduce()
    (earlier,) = (run for run in runs(repository) if "seed1000006" in run.name)
    record = json.loads((earlier / RECORD).read_text())
    record["environment"]["NPY_DISABLE_CPU_FEATURES"] = "X86_V4"
    (earlier / RECORD).write_text(json.dumps(record))
    marker = json.loads((earlier / MARKER).read_text())
    size = (earlier / RECORD).stat().st_size
    marker["files"][RECORD] = {"sha256": sha256_of(earlier / RECORD), "bytes": size}
    (earlier / MARKER).write_text(json.dumps(marker))
    repository.reproduce()
    assert [run.name.split("-")[2] for run in runs(repository)].count("seed1000006") == 2


def test_the_programs_own_files_are_the_same_bytes_and_nothing_of_the_watch_lies_among_them(repository):
    repository.promote(repository.reproduce())
    logs = {(run / "output/log.jsonl").read_bytes() for run in runs(repository) if "seed3" in run.name}
    assert len(logs) == 1
    assert all(
        [path.name for path in (run / "output").iterdir()] == ["log.jsonl"] for run in runs(repository)
    )
    assert len({(run / METRICS).read_bytes() for run in runs(repository) if "seed3" in run.name}) == 1


def test_an_unseeded_generator_of_numpy_fails_with_its_line(repository):
    unseeded = FOLLOWS.replace(
        "value = 1.0\n", "import numpy\nnumpy.random.default_rng().random()\nvalue = 1.0\n"
    )
    repository.write(train_py=unseeded)
    status, reason = seeded(repository.reproduce())
    assert status == "FAILED"
    assert reason.endswith("train.py:5 makes a NumPy generator without a seed")


@pytest.mark.parametrize(
    ("made", "status"),
    [("_random.Random()", "FAILED"), ("_random.Random(7)", "FAILED"), ("_random.Random(seed)", "PASSED")],
)
def test_the_generator_below_pythons_is_watched(repository, made, status):
    text = FOLLOWS.replace(
        "random.seed(int(sys.argv[1]))", f"import _random; seed = int(sys.argv[1]); {made}.random()"
    )
    text = text.replace("shuffled = random.Random(int(sys.argv[1]) + 1)", "")
    text = text.replace("random.random() * shuffled.random()", "0.5")
    repository.write(train_py=text)
    assert seeded(repository.reproduce())[0] == status


def test_of_a_program_without_a_generator_only_what_was_watched_is_said(repository):
    state = "import sys; state = int(sys.argv[1])"
    text = FOLLOWS.replace("random.seed(int(sys.argv[1]))", state)
    text = text.replace("shuffled = random.Random(int(sys.argv[1]) + 1)", "")
    text = text.replace("random.random() * shuffled.random()", "((state * 75 + 74) % 65537)")
    repository.write(train_py=text)
    status, reason = seeded(repository.reproduce())
    assert status == "SKIPPED"
    assert "that are watched (Python's random and _random, NumPy's" in reason
    assert "others were not looked at" in reason


def test_a_constant_seed_fails_with_its_line(repository):
    repository.write(train_py=FOLLOWS.replace("random.Random(int(sys.argv[1]) + 1)", "random.Random(3)"))
    status, reason = seeded(repository.reproduce())
    assert (status, reason) == ("FAILED", "train.py:3 seeds random.Random with 3, whatever the run's seed is")


def test_a_seed_that_the_program_never_passes_on_fails(repository):
    repository.write(train_py=FOLLOWS.replace("random.seed(int(sys.argv[1]))", ""))
    status, reason = seeded(repository.reproduce())
    assert status == "FAILED"
    assert reason.endswith("train.py:7 draws from Python's random before it is given a seed")


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "child", ['["true"]', '[sys.executable, "-I", "-c", ""]', '[sys.executable, "-c", ""], env={}']
)
def test_a_child_without_the_watch_is_not_taken_for_seeded(repository, child):
    repository.write(train_py=FOLLOWS + f"import subprocess\nsubprocess.run({child})\n")
    report = repository.reproduce()
    status, reason = seeded(report)
    assert status == "SKIPPED"
    assert "train.py:10 starts" in reason
    assert rows(report)["seeded"].required


def test_a_command_that_starts_python_from_a_shell_is_not_taken_for_seeded(repository):
    repository.write(train_sh='exec python train.py "$1" "$2"\n')
    (repository.root / "train_sh").rename(repository.root / "train.sh")
    repository.write(
        recipes__train__recipe_yaml=WATCHED.replace("[python, train.py,", "[sh, train.sh,"),
    )
    status, reason = seeded(repository.reproduce())
    assert status == "SKIPPED"
    assert "starts something other than Python" in reason


def test_where_the_run_with_another_seed_fails_nothing_is_taken_for_seeded(repository):
    repository.write(train_py=FOLLOWS.replace("value = 1.0", "assert int(sys.argv[1]) < 99\nvalue = 1.0"))
    report = repository.reproduce()
    status, reason = seeded(report)
    assert report.verdict == "NO_GOLDEN"
    assert (status, "the run with the seed 1000006 did not finish" in reason) == ("SKIPPED", True)


def test_the_other_seed_is_one_that_a_generator_takes():
    for seed in (0, 42, 2**32 - 1):
        assert 0 <= other_seed.other_than(seed) < 2**32
        assert other_seed.other_than(seed) != seed


def test_a_watch_that_changes_a_number_is_found_by_promoting(repository, monkeypatch, tmp_path):
    broken = tmp_path / "instrumentation"
    shutil.copytree(hooked_run.HOOK, broken)
    changed = broken / "reprokit_hook/light_random.py"
    text = changed.read_text()
    assert text.count("seed(generator, a, version)") == 1
    changed.write_text(text.replace("seed(generator, a, version)", "seed(generator, a and a + 1, version)"))
    monkeypatch.setattr(hooked_run, "HOOK", broken)
    report = repository.reproduce()
    assert rows(report)["repeatable"].status == "PASSED"
    with pytest.raises(
        GoldenError, match="with the watch the program has other metrics than without it"
    ) as told:
        repository.promote(report)
    assert "from step 0 on: loss is" in str(told.value)
    assert not (repository.root / "golden").exists()


def test_a_program_that_does_not_run_without_the_watch_is_not_promoted(repository):
    needs_it = "import os\nassert 'REPROKIT_HOOK' in os.environ\n"
    repository.write(train_py=needs_it + FOLLOWS)
    report = repository.reproduce()
    with pytest.raises(CannotRunError, match="the run without the watch did not finish"):
        repository.promote(report)
    assert not (repository.root / "golden").exists()


def torch_program(*, rate="0.01", odd="pass", logged="loss.item()"):
    return TORCH.replace("RATE", rate).replace("ODD", odd).replace("LOGGED", logged)


@pytest.fixture
def with_torch(repository):
    repository.write(train_py=torch_program(), recipes__train__recipe_yaml=WATCHED + "outputs: ['*.pt']\n")
    return repository


@pytest.mark.slow
def test_a_program_of_pytorch_from_its_first_run_to_its_golden(with_torch):
    first = with_torch.reproduce()
    found = rows(first)
    assert {found[name].status for name in ("seeded", "trace_equal", "checkpoints_complete")} == {"PASSED"}
    assert "6 updates have equal parameters" in found["trace_equal"].reason
    assert "1 checkpoint with 4 tensors" in found["checkpoints_complete"].reason
    assert "torch.threads" in found["numerics_in_force"].reason
    with_torch.promote(first)
    again = with_torch.reproduce()
    assert again.verdict == "REPRODUCED", again.sentence
    assert "in the golden" in rows(again)["trace_equal"].reason
    with_torch.write(train_py=torch_program(rate="0.02"))
    assert with_torch.reproduce().verdict == "REGRESSION"


@pytest.mark.slow
def test_parameters_that_differ_under_an_equal_log_are_named_by_step_and_tensor(with_torch):
    # the parameter itself: Adam's step would round two big gradients to one and the same step
    odd = "step == 3 and model[1].bias.data.add_(int.from_bytes(os.urandom(4), 'big') / 2**32)"
    with_torch.write(
        train_py=torch_program(odd=odd, logged="1.0 / step"), recipes__train__recipe_yaml=WATCHED
    )
    report = with_torch.reproduce()
    assert report.verdict == "NONDETERMINISTIC", report.sentence
    assert "first parameters.1.bias at step 3" in rows(report)["trace_equal"].reason


def test_what_the_watch_saw_can_be_judged_again_from_the_folders_alone(repository):
    report = repository.reproduce()
    pair = [run for run in runs(repository) if "seed3-" in run.name]
    assert all((run / OTHER_SEED).is_file() and not (run / TRACE).exists() for run in pair)
    shutil.rmtree(next(run for run in runs(repository) if run not in pair))
    again = judge_again(pair, Request(), project=Project.around(repository.root))
    assert seeded(again) == seeded(report)
