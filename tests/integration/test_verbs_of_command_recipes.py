"""Every verb on a recipe of an unmodified program: it works, or says clearly why it does not.

The program lies in a repository of its own and knows nothing of reprokit; its recipe's variant is `none`. The
verbs are read from the command line itself, so one without an entry here fails.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from reprokit.cli import main, root

GOLDEN = "golden/train/cpu-x86_64/seed-3"
PROGRAM = """\
import argparse, json, random
from settings import RATE

options = argparse.ArgumentParser()
options.add_argument("--seed", type=int)
options.add_argument("--out")
options.add_argument("--stop-after", type=int, default=99)
options.add_argument("--resume")
chosen = options.parse_args()
random.seed(chosen.seed)
first, value = 0, 1.0
if chosen.resume:
    with open(chosen.resume) as file:
        first, value, state = json.load(file)
    random.setstate((state[0], tuple(state[1]), state[2]))
with open(f"{chosen.out}/log.jsonl", "w") as log:
    for step in range(first, min(8, chosen.stop_after)):
        value -= RATE * random.random()
        log.write(json.dumps({"step": step, "loss": value, "kept": 1 - value}) + "\\n")
        with open(f"{chosen.out}/at_{step}.json", "w") as file:
            json.dump([step + 1, value, random.getstate()], file)
"""
RECIPE = """\
schema: 1
name: train
title: A program as it is
variant: none
command: [python, train.py, --seed, "{seed}", --out, "{run_dir}"]
seeds: [3]
platforms: [cpu-x86_64]
immune_to: [hash_seed, umask, clock]
resume:
  stop_args: [--stop-after, "4"]
  resume_args: [--resume, "{stopped_run_dir}/at_3.json"]
"""


@dataclass(frozen=True)
class Answer:
    code: int
    said: str


@dataclass(frozen=True)
class Theirs:
    """Someone's repository with a golden, and what reprokit left in it."""

    root: Path
    ask: Callable[..., Answer]

    @property
    def places(self) -> dict[str, str]:
        runs = sorted(self.root.glob("runs/train/*-seed3-[12]"))
        reports = sorted(self.root.glob("reports/train/*/report.json"))
        return {
            "RUN": str(runs[0]),
            "OTHER": str(runs[1]),
            "REPORT": str(reports[0].parent),
            "GOLDEN": GOLDEN,
            "LOG": str(runs[0] / "output" / "log.jsonl"),
            "URL": f"file://{self.root}/reports/pushed",
        }

    def reprokit(self, line: str) -> Answer:
        return self.ask(*(self.places.get(word, word) for word in line.split()))

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def commit(self, message: str) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)

    def git(self, *arguments: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *identity, *arguments], cwd=self.root, check=True)


def asker(root_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    """The command line in this process, as if it were typed in a folder."""

    def ask(*words: str) -> Answer:
        monkeypatch.chdir(root_dir)
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        said = capsys.readouterr()
        return Answer(code=int(ended.value.code or 0), said=said.out + said.err)

    return ask


@pytest.fixture(scope="module", autouse=True)
def own_python() -> Iterator[None]:
    """`python` is the one that runs these tests, as in an activated environment."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository with its golden and a report of two runs that reproduced it."""
    place = tmp_path_factory.mktemp("theirs") / "project"
    place.mkdir()
    line = [sys.executable, "-m", "reprokit"]

    def ask(*words: str) -> Answer:
        done = subprocess.run([*line, *words], cwd=place, capture_output=True, text=True, check=False)
        return Answer(code=done.returncode, said=done.stdout + done.stderr)

    theirs = Theirs(root=place, ask=ask)
    theirs.git("init", "--quiet")
    theirs.write(".gitignore", "runs/\nreports/\nenvironment/\n__pycache__/\n")
    theirs.write("train.py", PROGRAM)
    theirs.write("settings.py", "RATE = 0.1\n")
    theirs.write("recipes/train/recipe.yaml", RECIPE)
    theirs.commit("the program")
    assert ask("reproduce", "train").code == 4
    promoted = ask("golden", "promote", "train", "--reason", "first golden")
    assert promoted.code == 0, promoted.said
    theirs.commit("golden")
    theirs.git("tag", "good")
    for folder in ("runs", "reports"):
        shutil.rmtree(place / folder)
    reproduced = ask("reproduce", "train")
    assert reproduced.code == 0, reproduced.said
    return place


@pytest.fixture
def theirs(made, tmp_path, capsys, monkeypatch) -> Theirs:
    """A copy that a test may change."""
    place = tmp_path / "project"
    shutil.copytree(made, place, symlinks=True)
    return Theirs(root=place, ask=asker(place, capsys, monkeypatch))


@pytest.fixture
def as_made(made, capsys, monkeypatch) -> Theirs:
    """The one that is shared: nothing that others rely on may be changed in it."""
    return Theirs(root=made, ask=asker(made, capsys, monkeypatch))


#: Verb → lines to type, each with its exit code and words of its answer.
VERBS = {
    "reproduce": [
        ("reproduce train --seed 4", 4, "no golden"),
        ("reproduce train --vary -v", 0, "PASSED unchanged_when_varied"),
        ("reproduce train --resume -v", 0, "4 records from step 4 to 7 as if never stopped"),
        ("reproduce train --resume --stop-at soon", 2, "is none of: a number"),
        ("reproduce train --strict -v", 4, "versions_locked"),
        ("reproduce train --backend docker", 3, "the recipe's variant is none"),
    ],
    "run": [
        ("run train --json", 0, '"outcome": "completed"'),
        ("run train --resume-from RUN", 2, "the run is finished"),
        ("run train --profile-step 3", 2, "it cannot be profiled"),
    ],
    "sweep": [
        ("sweep train --seeds 3,4 --dry-run", 0, "nothing was run"),
        ("sweep train --seeds 3,4 --runs-dir reports/swept", 0, "2 of 2 members are finished"),
        ("sweep train --seeds 3,3", 2, "a seed is named twice"),
        ("sweep train --on moon", 2, "nothing is run on 'moon'"),
        ("sweep train --backend docker --runs-dir reports/docker", 3, "the recipe's variant is none"),
    ],
    "tune": [("tune train", 2, "name a search space with --space")],
    "data list": [("data list train", 0, "No recipe declares data by name")],
    "data fetch": [("data fetch train", 2, "there is nothing to fetch")],
    "data check-splits": [("data check-splits train:a.csv train:b.csv", 2, "declares no data by name")],
    "data prepare": [("data prepare train", 2, "declares no step under `prepare`")],
    "data verify": [("data verify train", 4, "No recipe declares data by name")],
    "data show": [("data show train", 2, "declares no data by name")],
    "data export": [("data export train --output reports/data", 2, "declares no data by name")],
    "verify": [
        ("verify train", 0, "REPRODUCED"),
        ("verify --vary --resume", 0, "REPRODUCED"),
        ("verify train --selftest", 0, "The gate can be trusted"),
        ("verify --selftest-only train --faults 100 --clean 3", 0, "The gate can be trusted"),
    ],
    "diff": [("diff GOLDEN RUN", 0, "IDENTICAL"), ("diff --trace RUN OTHER", 2, "there is no trace")],
    "diagnose": [("diagnose train", 0, "Ruled out")],
    "compare": [
        ("compare train", 2, "the two sides are the same commit with the same settings"),
        ("compare train --b-with numpy==2.0", 2, "no lock to change: its variant is none"),
        ("compare train --b-args --stop-after=99", 0, "EQUAL"),
    ],
    "bisect": [("bisect train --good good --bad HEAD", 4, "there is nothing to find")],
    "report show": [("report show REPORT", 0, "REPRODUCED"), ("report show RUN OTHER", 0, "REPRODUCED")],
    "report verify": [("report verify REPORT", 0, "The verdict")],
    "report export": [("report export REPORT --format latex", 0, "begin{")],
    "bundle": [("bundle GOLDEN --output reports/result.tar.gz", 0, "sha256")],
    "runs export k8s": [
        ("runs export k8s train --image a/b@sha256:" + "0" * 64, 0, '"completionMode": "Indexed"'),
        ("runs export k8s train --image a/b:latest", 2, "the image is not named by its digest"),
    ],
    "runs watch": [("runs watch --once", 0, "No run is under way")],
    "runs list": [("runs list", 0, "train")],
    "runs show": [("runs show RUN", 0, "source/program/train.py")],
    "runs compare": [("runs compare RUN OTHER", 0, "IDENTICAL")],
    "runs reproduce": [("runs reproduce RUN", 0, "REPRODUCED")],
    "runs prune": [("runs prune --keep 0", 0, "report.json depends on it")],
    "runs push": [("runs push RUN URL", 0, "pushed/train")],
    "runs verify": [("runs verify RUN", 0, "whole")],
    "runs attach": [("runs attach runs", 2, "this is not a sweep on other machines")],
    "runs carry-out": [("runs carry-out recipes/train/recipe.yaml", 2, "not a file that says what to run")],
    "runs learning": [
        ("runs learning RUN", 0, "Does it learn?"),
        ("runs learning RUN --probe", 2, "an unmodified program cannot be probed"),
    ],
    "stats": [
        ("stats train", 0, "metric  window"),
        ("stats train --window final", 2, "there is no window 'final'"),
    ],
    "recipe check": [("recipe check train", 0, "no mistakes")],
    "recipe schema": [("recipe schema", 0, "json-schema.org")],
    "golden list": [("golden list", 0, "first golden")],
    "golden show": [("golden show GOLDEN", 0, "program")],
    "golden diff": [("golden diff GOLDEN GOLDEN", 0, "no number changed")],
    "golden lint": [("golden lint", 0, "0 findings")],
    "golden import": [
        ("golden import LOG --recipe train --rtol 0.1 --reason x --golden reports/f", 0, "a foreign log"),
        ("golden import LOG --recipe train --rtol 0.1 --reason x", 2, "there is a golden"),
        ("golden import LOG --recipe train --reason x", 2, "--rtol"),
        ("golden import LOG --recipe train --rtol -1 --reason x", 2, "not a tolerance"),
        ("golden import LOG --recipe train --atol 1 --rename loss --reason x", 2, "THEIRS=OURS"),
    ],
    "golden tolerance": [("golden tolerance train", 4, "no twin can be made")],
    "golden record": [("golden record train --reason x", 2, "say which cluster")],
    "golden promote": [("golden promote RUN OTHER --reason again --golden reports/g", 0, "2 runs agreed")],
    "runs convert": [
        ("runs convert RUN --to tensorboard --output converted", 0, "converted"),
        ("runs convert RUN --to csv --output converted", 2, "'csv' is not one of"),
    ],
    "runs checkpoint show": [("runs checkpoint show RUN", 2, "this run has no checkpoints")],
    "runs checkpoint verify": [("runs checkpoint verify RUN", 2, "this run has no checkpoints")],
    "runs checkpoint diff": [("runs checkpoint diff RUN OTHER", 2, "this run has no checkpoints")],
    "runs checkpoint convert": [
        ("runs checkpoint convert RUN x.safetensors", 2, "this run has no checkpoints")
    ],
    "env check": [("env check --against GOLDEN", 0, "No known difference")],
    "env diff": [("env diff RUN OTHER", 0, "Same numerics fingerprint")],
    "env export": [("env export RUN --format requirements", 0, "requirements.txt")],
}
TAKE_LONG = {
    "reproduce train --vary -v",
    "reproduce train --resume -v",
    "reproduce train --strict -v",
    "verify --vary --resume",
    "verify train --selftest",
    "compare train --b-args --stop-after=99",
}
#: Verbs that take no recipe, run or golden, and why.
OF_NO_RECIPE = {
    "report comment": "reads the answers of a gate",
    "report sign": "signs the bytes of a report, whatever they say",
    "env capture": "looks at this host",
    "data diff": "compares two tables",
    "data split": "takes a table",
    "env numerics check": "looks at this CPU",
    "env numerics claims": "looks at PyTorch's operations",
    "image build": "takes a variant",
    "image list": "takes nothing",
    "image lock": "takes a variant",
    "image prune": "removes what no variant needs",
    "image rebuild": "takes nothing",
    "image show": "takes a variant",
    "image vendor": "takes a variant",
    "image verify": "takes a variant",
    "demo": "shows runs that are shipped with the tool",
    "doctor": "looks at this host",
    "init": "makes recipes",
    "help": "shows a page",
}


def verbs(command: click.Command = root, name: str = "") -> Iterator[str]:
    """Every verb of the command line, with its noun."""
    if not isinstance(command, click.Group):
        yield name
        return
    context = click.Context(command)
    for one in command.list_commands(context):
        found = command.get_command(context, one)
        assert found is not None
        yield from verbs(found, f"{name} {one}".strip())


def test_every_verb_stands_in_a_table():
    assert set(verbs()) - set(OF_NO_RECIPE) == set(VERBS)


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        pytest.param(*case, id=case[0], marks=pytest.mark.slow if case[0] in TAKE_LONG else ())
        for cases in VERBS.values()
        for case in cases
    ],
)
def test_a_verb_answers(as_made, line, code, words):
    answer = as_made.reprokit(line)
    assert (answer.code, words in answer.said) == (code, True), answer.said


@pytest.mark.slow
def test_bisect_finds_the_commit_that_changed_a_hyperparameter(theirs):
    theirs.write("notes.txt", "one\n")
    theirs.commit("notes")
    theirs.write("settings.py", "RATE = 0.2\n")
    theirs.commit("double the rate")
    theirs.write("docs/notes.md", "two\n")
    theirs.commit("more notes")
    answer = theirs.reprokit("bisect train --good good --bad HEAD")
    assert answer.code == 0, answer.said
    found = next(line for line in answer.said.splitlines() if line.startswith("The numbers changed in"))
    assert found.endswith("double the rate")
    assert "settings.py  +1 -1 lines" in answer.said
    assert not list((theirs.root / "runs").glob(".bisect/*")), "nothing pins what another search would reuse"


@pytest.mark.slow
def test_attribution_blames_the_code_and_names_the_line(theirs):
    theirs.write("settings.py", "RATE = 0.2\n")
    theirs.commit("double the rate")
    answer = theirs.reprokit("reproduce train --attribute")
    assert answer.code == 1
    assert "what changed: answer code" in answer.said
    assert "settings.py:1 'RATE = 0.1' → 'RATE = 0.2'" in answer.said


def test_diagnose_names_the_line_of_the_projects_own_file(theirs):
    theirs.write("train.py", PROGRAM.replace("random.seed(chosen.seed)\n", ""))
    answer = theirs.reprokit("diagnose train")
    assert answer.code == 1
    line = next(line for line in answer.said.splitlines() if "cause: unseeded_rng" in line)
    assert "train.py:17" in line
    assert "source/program" not in answer.said


def test_diagnose_leaves_out_what_is_volatile_and_reads_what_is_printed(theirs):
    noisy = PROGRAM.replace('"kept": 1 - value', '"kept": __import__("time").time()')
    theirs.write("train.py", noisy.replace("log.write", "print"))
    theirs.write(
        "recipes/train/recipe.yaml",
        RECIPE + "printed: ['\"loss\": (?P<loss>[^,]+)']\nvolatile: [{metric: kept, because: the clock}]\n",
    )
    answer = theirs.reprokit("diagnose train --vary hash_seed")
    assert answer.code == 0, answer.said


@pytest.mark.slow
def test_what_a_program_depends_on_is_found_by_varying_it(theirs):
    theirs.write(
        "train.py", "import os; mask = os.umask(0o022)\n" + PROGRAM.replace("RATE *", "(RATE + mask) *")
    )
    theirs.commit("a fault")
    answer = theirs.reprokit("reproduce train --vary")
    assert answer.code == 1
    row = next(line for line in answer.said.splitlines() if "FAILED unchanged_when_varied" in line)
    assert "with umask varied the run differs" in row


@pytest.mark.slow
def test_a_state_that_is_not_restored_is_found(theirs):
    theirs.write("train.py", PROGRAM.replace("    random.setstate(", "    print("))
    answer = theirs.reprokit("reproduce train --resume")
    assert answer.code == 1
    assert "FAILED resume_equal" in answer.said
    assert "loss at step 4" in answer.said


@pytest.mark.slow
def test_a_record_that_neither_half_has_is_a_hole(theirs):
    theirs.write(
        "train.py",
        PROGRAM.replace("        log.write", "        not (chosen.resume and step == first) and log.write"),
    )
    answer = theirs.reprokit("reproduce train --resume")
    assert answer.code == 4
    assert "neither the stopped nor the resumed run has the record of step 4" in answer.said


@pytest.mark.slow
def test_declared_output_files_of_a_resumed_run_are_compared(theirs):
    theirs.write("recipes/train/recipe.yaml", RECIPE + "outputs: ['at_*.json']\n")
    theirs.commit("declare them")
    assert "4 to 7 as if never stopped" in theirs.reprokit("reproduce train --resume").said
    theirs.write(
        "train.py", PROGRAM.replace("json.dump([step + 1,", "json.dump([step + 1 + bool(chosen.resume),")
    )
    answer = theirs.reprokit("reproduce train --resume")
    assert answer.code == 1
    assert "output/at_4.json differs from the uninterrupted run" in answer.said


@pytest.mark.slow
def test_a_whole_run_that_leaves_checkpoints_is_enough(theirs):
    without = RECIPE.replace('  stop_args: [--stop-after, "4"]\n', "").replace("at_3", "at_*")
    theirs.write("recipes/train/recipe.yaml", without)
    answer = theirs.reprokit("reproduce train --resume -v")
    assert "left to its end, and resumed from at_3.json: 4 records from step 4 to 7" in answer.said


@pytest.mark.slow
def test_a_program_that_starts_again_is_not_taken_for_resumed(theirs):
    broken = RECIPE.replace('[--resume, "{stopped_run_dir}/at_3.json"]', '[--stop-after, "99"]')
    theirs.write("recipes/train/recipe.yaml", broken)
    answer = theirs.reprokit("reproduce train --resume")
    assert answer.code == 4
    assert "nothing shows whether it continued or started again" in answer.said


def test_a_recipe_that_does_not_say_how_is_not_resumed(theirs):
    theirs.write("recipes/train/recipe.yaml", RECIPE.partition("resume:")[0])
    answer = theirs.reprokit("reproduce train --resume")
    assert answer.code == 2
    assert "does not say how its program is resumed" in answer.said


def test_a_stopped_run_is_resumed_and_never_promoted(theirs):
    assert theirs.reprokit("reproduce train --resume").code == 0
    stopped = next((theirs.root / "runs" / "train").glob("*-stopped"))
    answer = theirs.ask("run", "train", "--resume-from", stopped.name)
    assert answer.code == 0, answer.said
    assert "resumes from at_3.json" in answer.said
    refused = theirs.ask("golden", "promote", str(stopped), str(stopped), "--reason", "x")
    assert refused.code == 2
    assert "stopped early" in refused.said
    theirs.write("settings.py", "RATE = 0.2\n")
    other = theirs.ask("run", "train", "--resume-from", stopped.name)
    assert other.code == 2
    assert "these inputs changed" in other.said


def test_a_run_is_repeated_from_its_own_files(theirs):
    theirs.write("settings.py", "RATE = 0.2\n")
    answer = theirs.reprokit("runs reproduce RUN")
    assert answer.code == 0, answer.said
    assert "REPRODUCED" in answer.said


def test_a_report_whose_evidence_was_touched_does_not_stand(theirs):
    assert theirs.reprokit("reproduce train").code == 0
    report = max((theirs.root / "reports" / "train").glob("*/report.json"))
    assert theirs.ask("report", "verify", str(report.parent)).code == 0
    metrics = Path(json.loads(report.read_text())["runs"][0]) / "metrics.jsonl"
    metrics.chmod(0o644)
    metrics.write_text(metrics.read_text().replace("0.9", "0.8", 1))
    answer = theirs.ask("report", "verify", str(report.parent))
    assert answer.code == 1
    assert "metrics.jsonl" in answer.said


needs_emulator = pytest.mark.skipif(not shutil.which("qemu-x86_64"), reason="there is no qemu-x86_64 here")


@needs_emulator
def test_an_emulated_cpu_computes_the_golden(as_made):
    answer = as_made.reprokit("verify train --cpu Haswell,Nehalem")
    assert "Haswell: REPRODUCED\n  all 8 records are the golden's, bit for bit" in answer.said
    assert "Nehalem: ANOTHER_PLATFORM" in answer.said
    assert answer.code == 4


@pytest.mark.sample(1)
@needs_emulator
@pytest.mark.parametrize(
    ("before", "words"),
    [
        ('import subprocess; subprocess.run(["true"])\n', "it starts other programs"),
        ("import time; time.sleep(3)\n", "did not end within 2 s under the emulator"),
        ("import random; random.seed = lambda seed: None\n", "differ"),
    ],
    ids=["another-program", "too-long", "nondeterministic"],
)
def test_an_emulated_cpu_is_never_passed_on_too_little(theirs, before, words):
    theirs.write("train.py", before + PROGRAM)
    if "sleep" in before:
        slow = f'import os\nif "qemu" in open("/proc/self/comm").read(): {before}'
        theirs.write("train.py", slow + PROGRAM)
    answer = theirs.reprokit("verify train --cpu Haswell --timeout 2")
    assert answer.code != 0
    assert words in answer.said, answer.said


@pytest.mark.slow
@needs_emulator
def test_a_program_that_ignores_its_seed_is_equal_on_every_cpu_and_proves_nothing(theirs):
    """Nor does what the golden of seed 3 has recorded of other numbers."""
    theirs.write("train.py", PROGRAM.replace("random.seed(chosen.seed)", "random.seed(1)"))
    for seed, code in ((3, 1), (9, 4)):
        answer = theirs.reprokit(f"verify train --cpu Haswell --seed {seed}")
        assert "Haswell: UNJUDGED" in answer.said
        assert "which proves nothing: no metric responds to the seed" in answer.said
        assert answer.code == code, answer.said


@needs_emulator
def test_a_program_that_depends_on_the_cpu_is_not_portable(theirs):
    here = "from numpy._core._multiarray_umath import __cpu_features__ as has\n"
    asked = subprocess.run(
        [sys.executable, "-c", f"{here}print(has['AVX512F'])"], capture_output=True, text=True, check=True
    )
    if "True" not in asked.stdout:
        pytest.skip("this CPU has nothing that the emulated one lacks")
    theirs.write("train.py", here + PROGRAM.replace("value -= RATE", "value -= has['AVX512F'] + RATE"))
    answer = theirs.reprokit("verify train --cpu Haswell --seed 9")
    assert answer.code == 1, answer.said
    assert "Haswell: NOT_PORTABLE" in answer.said
