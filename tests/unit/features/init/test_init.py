"""``init``: from someone's program to a recipe that reproduces it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from reprokit import extensions
from reprokit.errors import CannotRunError, ImageError, MetricsError, RecipeError, UsageError
from reprokit.features.init import write_recipe as init
from reprokit.harness import Request, reproduce
from reprokit.harness.running import start_runs
from reprokit.project import Project
from reprokit.session import Session
from support.installed_extension import install
from tests.support.recorded_progress import RecordedProgress

PROGRAM = """\
import argparse, json, random, time
parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--out", default="results")
options = parser.parse_args()
random.seed(options.seed)
begin = time.time()
with open(f"{options.out}/log.jsonl", "w") as log:
    for step in range(4):
        time.sleep(0.01)
        record = {"step": step, "loss": random.random(), "elapsed_seconds": time.time() - begin}
        log.write(json.dumps(record) + "\\n")
"""


@pytest.fixture
def theirs(tmp_path, monkeypatch, inside):
    monkeypatch.setattr(
        start_runs, "inside_of", lambda spec, *, backend: {**inside, "device": {"kind": "cpu"}}
    )
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    (tmp_path / "train.py").write_text(PROGRAM)
    track(tmp_path)
    return tmp_path


def track(root: Path) -> None:
    subprocess.run(["git", "add", "--all"], cwd=root, check=True)


def propose(root, *words, name=None, python=None):
    session = Session(project=Project.around(root), progress=RecordedProgress())
    return init.propose(words, name=name, python=python, session=session)


def recipe_of(proposal) -> str:
    return proposal.files[f"recipes/{proposal.name}/recipe.yaml"].decode()


def test_a_recipe_is_proposed_that_reproduces_the_program(theirs):
    proposal = propose(theirs)
    assert 'command: [python, train.py, --seed, "{seed}", --out, "{run_dir}"]' in recipe_of(proposal)
    assert "metric: elapsed_seconds" in recipe_of(proposal)
    assert "metric: loss" not in recipe_of(proposal)
    assert not proposal.problem
    init.write(proposal, project=Project.around(theirs))
    track(theirs)
    request = Request(backend="local", side_by_side=False)
    report, _ = reproduce(
        "train", request, session=Session(project=Project.around(theirs), progress=RecordedProgress())
    )
    assert report.verdict == "NO_GOLDEN"


FORMAT = """\
from reprokit.api.extensions import Extension, LogFormat, Reading

EXTENSION = Extension(log_formats={"lab": "planted_one:FORMAT"})


def read(path):
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        step, loss = line.split()
        yield Reading(line=number, record={"step": int(step), "loss": float(loss)})


FORMAT = LogFormat(patterns=("*.lab",), read=read)
"""


@pytest.mark.parametrize("is_needed", [True, False])
def test_an_extension_that_reads_the_metrics_is_named_by_the_recipe(theirs, tmp_path_factory, is_needed):
    site = tmp_path_factory.mktemp("site")
    install(site, {"__init__.py": FORMAT})
    if is_needed:
        text = PROGRAM.replace("log.jsonl", "log.lab")
        text = text.replace("json.dumps(record) + ", "f'{step} {random.random()}' + ")
        (theirs / "train.py").write_text(text)
        track(theirs)
    try:
        extensions.load(["planted-one==1.0"], site_packages=site)
        proposal = propose(theirs)
    finally:
        extensions.unload()
    assert ("extensions: [planted-one==1.0]" in recipe_of(proposal)) == is_needed
    said = proposal.found.get("extensions", "")
    assert said == ("planted-one==1.0: without it the metrics cannot be read" if is_needed else "")


def test_nothing_is_written_and_nothing_left_before_it_is_agreed_to(theirs):
    before = sorted(path.name for path in theirs.rglob("*") if ".git" not in path.parts)
    propose(theirs)
    assert sorted(path.name for path in theirs.rglob("*") if ".git" not in path.parts) == before


def test_doing_it_again_changes_nothing(theirs):
    init.write(propose(theirs), project=Project.around(theirs))
    again = propose(theirs)
    assert not again.changed
    assert again.next_commands == ("reprokit reproduce train",)
    (theirs / "golden" / "train" / "cpu-x86_64").mkdir(parents=True)
    assert propose(theirs).next_commands == ("reprokit verify train",)


def test_another_command_under_the_same_name_is_refused(theirs):
    init.write(propose(theirs), project=Project.around(theirs))
    with pytest.raises(RecipeError, match="with another command"):
        propose(theirs, "python", "train.py", "--lr", "3")


def test_a_program_without_a_seed_call_is_told_and_nothing_that_it_draws_is_volatile(theirs):
    (theirs / "train.py").write_text(PROGRAM.replace("random.seed(options.seed)\n", ""))
    track(theirs)
    proposal = propose(theirs)
    assert proposal.problem.startswith("two runs with seed 1 differ from step 0 on, loss")
    assert proposal.found["repeats"].startswith("no: two runs with seed 1 differ from step 0 on, loss")
    assert proposal.found["seed"].startswith("not tested")
    assert "volatile" not in recipe_of(proposal)


def test_results_at_a_fixed_place_are_collected(theirs):
    (theirs / "train.py").write_text(PROGRAM.replace('f"{options.out}/log.jsonl"', '"log.jsonl"'))
    track(theirs)
    proposal = propose(theirs)
    assert "collect: [log.jsonl]" in recipe_of(proposal)
    assert "/log.jsonl" in proposal.files[".gitignore"].decode().splitlines()


def test_of_a_folder_with_tracked_files_only_what_the_program_wrote_is_ignored(theirs):
    (theirs / "src").mkdir()
    (theirs / "src" / "settings.json").write_text("{}\n")
    (theirs / "train.py").write_text(PROGRAM.replace('f"{options.out}/log.jsonl"', '"src/log.jsonl"'))
    track(theirs)
    proposal = propose(theirs)
    assert "collect: [src/]" in recipe_of(proposal)
    lines = proposal.files[".gitignore"].decode().splitlines()
    assert "/src/log.jsonl" in lines
    assert "/src/" not in lines


def test_a_module_that_git_does_not_track_is_named(theirs):
    (theirs / "train.py").write_text("import helper\n" + PROGRAM)
    track(theirs)
    (theirs / "helper.py").write_text("RATE = 1\n")
    with pytest.raises(CannotRunError) as error:
        propose(theirs)
    assert error.value.fix == "git add helper.py"


def test_a_seed_that_changes_nothing_is_told(theirs):
    (theirs / "train.py").write_text(PROGRAM.replace("random.seed(options.seed)", "random.seed(0)"))
    track(theirs)
    proposal = propose(theirs)
    assert proposal.found["seed"].startswith("no metric responds to it")
    assert "unresponsive:" in recipe_of(proposal)


def test_a_metric_that_repeats_the_seed_is_not_counted_as_a_response(theirs):
    logged = PROGRAM.replace('"loss":', '"seed": options.seed, "loss":')
    assert logged != PROGRAM
    (theirs / "train.py").write_text(logged)
    track(theirs)
    assert propose(theirs).found["seed"] == "1 of 2 metrics responds to it"
    (theirs / "train.py").write_text(logged.replace("random.seed(options.seed)", "random.seed(0)"))
    track(theirs)
    proposal = propose(theirs)
    assert proposal.found["seed"].startswith("no metric responds to it, except those that repeat it")
    assert "unresponsive:" not in recipe_of(proposal)


def test_what_is_only_printed_is_proposed_as_patterns(theirs):
    (theirs / "train.py").write_text("for i in range(3):\n    print(f'step {i} loss {0.5 ** i}')\n")
    track(theirs)
    assert "printed: [" in recipe_of(propose(theirs))


def test_a_program_that_tells_no_number_has_no_recipe(theirs):
    (theirs / "train.py").write_text("print('done')\n")
    track(theirs)
    with pytest.raises(MetricsError, match="left no metrics"):
        propose(theirs)


def test_a_program_that_crashes_says_why(theirs):
    (theirs / "train.py").write_text("import nowhere_to_be_found\n")
    track(theirs)
    with pytest.raises(CannotRunError, match="did not end well") as caught:
        propose(theirs)
    assert "nowhere_to_be_found" in str(caught.value)


def test_without_git_nothing_says_what_the_program_is(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    with pytest.raises(UsageError, match="in no git repository"):
        propose(tmp_path)


def test_the_proposal_as_data_names_its_files(theirs):
    data = propose(theirs).as_data()
    assert data["files"] == [".gitignore", "recipes/train/recipe.yaml"]
    assert json.dumps(data)


def test_a_seed_in_a_configuration_file_is_named_where_no_option_takes_it(theirs):
    fixed = PROGRAM.replace('parser.add_argument("--seed", type=int, default=0)\n', "")
    (theirs / "train.py").write_text(fixed.replace("options.seed", 'json.load(open("train.json"))["seed"]'))
    (theirs / "train.json").write_text('{"lr": 0.1,\n "seed": 3}\n')
    track(theirs)
    proposal = propose(theirs)
    assert "set in train.json, line 2" in proposal.found["seed"]
    assert "its seed is set in train.json, line 2, and no option for it was found" in recipe_of(proposal)


def test_a_program_that_needs_what_only_conda_has_is_recorded_in_an_environment_that_nothing_pins(
    theirs, monkeypatch
):
    (theirs / "environment.yml").write_text("dependencies:\n- python\n- cudatoolkit=11.8\n")
    track(theirs)
    conda = theirs / "conda"
    (conda / "conda-meta").mkdir(parents=True)
    (conda / "conda-meta" / "cudatoolkit.json").write_text(
        json.dumps({"url": "https://example.org/cudatoolkit-11.8.conda", "md5": "0f"})
    )
    monkeypatch.setattr(init, "prefix_of", lambda command, *, folder: conda)
    found = propose(theirs, "python", "train.py")
    assert "variant: none" in recipe_of(found)
    assert (
        "what only conda has (cudatoolkit=11.8): this Python, which nothing pins"
        in found.found["environment"]
    )
    assert "recorded in conda-explicit.txt" in found.found["environment"]
    recorded = found.files["recipes/train/conda-explicit.txt"].decode()
    assert recorded == "@EXPLICIT\nhttps://example.org/cudatoolkit-11.8.conda#0f\n"


def test_outside_of_conda_nothing_is_recorded_and_that_is_said(theirs, monkeypatch, tmp_path):
    (theirs / "environment.yml").write_text("dependencies:\n- cudatoolkit=11.8\n")
    track(theirs)
    monkeypatch.setattr(init, "prefix_of", lambda command, *, folder: tmp_path / "none")
    found = propose(theirs, "python", "train.py")
    assert "belongs to no conda environment" in found.found["environment"]
    assert "recipes/train/conda-explicit.txt" not in found.files


@pytest.mark.parametrize("opened", ["log.csv", "log.jsonl"])
def test_a_log_that_stays_empty_gives_way_to_what_is_printed(theirs, opened):
    (theirs / "train.py").write_text(
        f"import sys\nopen(sys.argv[2] + '/{opened}', 'w').close()\n# add_argument('--out')\n"
        "for i in range(3):\n    print(f'step {i} loss {0.5 ** i}')\n"
    )
    track(theirs)
    proposal = propose(theirs, "python", "train.py", "--out", "{run_dir}")
    assert "printed: [" in recipe_of(proposal)
    assert proposal.problem == ""


def typed_in(folder, *words) -> str:
    with pytest.raises(CannotRunError) as error:
        propose(folder, *words)
    assert error.value.fix is not None
    return error.value.fix


@pytest.mark.parametrize("place", ["", "src"])
def test_a_program_in_a_subfolder_that_imports_from_the_project_is_told_how_to_find_it(theirs, place):
    package = theirs / place / "mine" / "__init__.py"
    package.parent.mkdir(parents=True)
    package.write_text("")
    (theirs / "projects").mkdir()
    (theirs / "projects" / "train.py").write_text("import mine\n" + PROGRAM)
    track(theirs)
    fix = typed_in(theirs, "python", "projects/train.py")
    assert fix == f"reprokit init -- env PYTHONPATH={place or '.'} python projects/train.py"
    assert propose(theirs, *fix.split(" -- ")[1].split()).problem == ""


@pytest.mark.parametrize("read", ["Path(__file__).resolve().parents[1] / 'data/a.csv'", "'../data/a.csv'"])
def test_a_program_that_reads_above_its_folder_is_started_at_the_top(theirs, read):
    demo = theirs / "demo"
    demo.mkdir()
    (theirs / "data").mkdir()
    (theirs / "data" / "a.csv").write_text("1\n")
    (demo / "train.py").write_text(f"from pathlib import Path\nPath({read}).read_text()\n" + PROGRAM)
    track(theirs)
    assert typed_in(demo, "python", "train.py") == "cd .. && reprokit init -- python demo/train.py"


def test_a_module_above_the_folder_is_found_from_the_top(theirs):
    (theirs / "mine.py").write_text("")
    (theirs / "demo").mkdir()
    (theirs / "demo" / "train.py").write_text("import mine\n" + PROGRAM)
    track(theirs)
    fix = typed_in(theirs / "demo", "python", "train.py")
    assert fix == "cd .. && reprokit init -- env PYTHONPATH=. python demo/train.py"


@pytest.mark.sample(1)
@pytest.mark.parametrize("place", ["data/a.bin", "a.bin"])
def test_data_that_git_ignores_is_named(theirs, place):
    (theirs / ".gitignore").write_text("*.bin\n")
    (theirs / "train.py").write_text(f"open('{place}').close()\n" + PROGRAM)
    track(theirs)
    (theirs / place).parent.mkdir(exist_ok=True)
    (theirs / place).write_text("1\n")
    fix = typed_in(theirs, "python", "train.py")
    assert fix == f"git add --force {place.partition('/')[0]}"
    subprocess.run(fix.split(), cwd=theirs, check=True)
    assert propose(theirs, "python", "train.py").problem == ""


NESTED = """\
import json, random, sys, time
random.seed(int(sys.argv[1]))
begin = time.time()
with open(f"{sys.argv[2]}/log.jsonl", "w") as log:
    for step in range(5):
        last = time.time()
        time.sleep(0.005 + 0.02 * random.SystemRandom().random())
        now = time.time()
        speeds = {"sps": int(64 * (step + 1) / (now - begin)), "rows_per_second": round(64 / (now - last))}
        perf = {"inner": speeds, "tick_seconds": round(now - last, 3)}
        record = {"step": step, "loss": random.random(), "perf": perf}
        log.write(json.dumps(record) + "\\n")
"""


def nested(theirs, program=NESTED):
    (theirs / "train.py").write_text(program)
    track(theirs)
    return propose(theirs, "python", "train.py", "{seed}", "{run_dir}")


def test_clock_columns_in_nested_objects_and_rounded_rates_are_volatile(theirs):
    proposal = nested(theirs)
    assert proposal.problem == ""
    assert "loss" not in proposal.found["volatile"]
    for name in ("perf/inner/sps", "perf/inner/rows_per_second", "perf/tick_seconds"):
        assert f"metric: {name}\n" in recipe_of(proposal)
    # rounded rates fit no clock by their numbers: only what was shown of them is said
    assert "repeats where the clock is held" in recipe_of(proposal)
    assert "measures the wall clock" not in recipe_of(proposal)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("of", "by"),
    [
        ("random.seed(int(sys.argv[1]))", "random.seed(time.time_ns())"),  # equal, too, with the clock held
        ('"loss": random.random()', '"loss": random.SystemRandom().random()'),
        ("random.random()", "0.5, 'error_rate': random.Random(time.time_ns()).random()"),
        (
            "round(64 / (now - last))",
            "random.SystemRandom().random()",
        ),  # called a speed, and none of the clock
    ],
)
def test_what_else_differs_is_no_clock_column(theirs, of, by):
    assert of in NESTED
    proposal = nested(theirs, NESTED.replace(of, by))
    assert proposal.problem.startswith("two runs with seed 1 differ")
    assert "volatile" not in recipe_of(proposal)


def test_where_nothing_can_be_locked_the_program_runs_in_its_own_python_if_that_is_asked_for(
    theirs, monkeypatch
):
    def refuse(*_args, **_given):
        raise ImageError("gym 0.21 has no wheel", fix="build one")

    monkeypatch.setattr(init, "lock_environment", refuse)
    (theirs / "requirements.txt").write_text("gym==0.21\n")
    track(theirs)
    with pytest.raises(ImageError) as error:
        propose(theirs)
    assert error.value.fix == "build one; to lock nothing: reprokit init --variant none"
    proposal = propose(theirs, python=init.PythonAsked(is_locked=False))
    assert "variant: none\n" in recipe_of(proposal)
    assert "nothing pins" in proposal.found["environment"]
