"""What a recipe says must not matter, tried with real programs: claims that hold, and planted wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprokit import recipes
from reprokit.core.checklist import Status, Verdict
from reprokit.errors import RecipeError
from reprokit.harness import Request, reproduce
from reprokit.harness.audit import audit
from reprokit.harness.judging import same_under_evidence
from reprokit.harness.running.environments import shared_places
from reprokit.harness.running.varying.apply_variations import usable_cores
from reprokit.project import Project
from reprokit.session import Session
from support.command_recipe import RECIPE, Repository
from support.recorded_progress import RecordedProgress

PROGRAM = """\
import argparse, json, os, random
parser = argparse.ArgumentParser()
parser.add_argument("seed", type=int)
parser.add_argument("out")
parser.add_argument("--batch", type=int, default=4)
parser.add_argument("--accumulate", type=int, default=1)
parser.add_argument("--break", dest="broken", action="store_true")
asked = parser.parse_args()
random.seed(asked.seed)
value = 1.0
if asked.broken:
    raise SystemExit("broken")
with open(f"{asked.out}/log.jsonl", "w") as log:
    for step in range(4):
        value -= 0.1 * random.random() * asked.batch * asked.accumulate
        value += float(os.environ.get("SHIFT", "0"))
        log.write(json.dumps({"step": step, "loss": value}) + "\\n")
"""
HOLDS = '{args: "--batch 2 --accumulate 2"}'
WRONG = '{args: "--batch 8"}'


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shared_places, "_memory_since", lambda _since: ())
    found = Repository(tmp_path)
    found.git("init", "--quiet", "--initial-branch", "main")
    (tmp_path / ".gitignore").write_text("runs/\nreports/\n")
    return found


def judged(repository, *claims, asked=True, further="", program=PROGRAM, side_by_side=False):
    said = further + (f"same_under: [{', '.join(claims)}]\n" if claims else "")
    repository.write(train_py=program, recipes__train__recipe_yaml=RECIPE + said)
    request = Request(backend="local", side_by_side=side_by_side, same_under=asked)
    session = Session(project=Project.around(repository.root), progress=RecordedProgress())
    return reproduce("train", request, session=session)


def rows(report) -> dict[str, tuple[Status, bool]]:
    return {
        row.id.removeprefix("same_under/"): (row.status, row.required)
        for row in report.checks
        if row.id.startswith("same_under/")
    }


def test_a_claim_that_holds_passes_and_a_planted_wrong_one_fails_with_its_place(repository):
    report, folder = judged(repository, HOLDS, WRONG, '{set: "env.SHIFT=0.5"}')
    found = rows(report)
    assert found["args --batch 2 --accumulate 2"] == (Status.PASSED, True)
    assert found["args --batch 8"] == (Status.FAILED, True)
    assert found["set env.SHIFT=0.5"] == (Status.FAILED, True)
    (wrong,) = [row for row in report.checks if row.id == "same_under/args --batch 8"]
    assert "differs" in wrong.reason
    assert "loss" in wrong.reason
    assert report.verdict is not Verdict.REPRODUCED
    assert f"reprokit diff {report.runs[0]}" in wrong.remedy
    checked = audit(folder / "report.json", project=Project.around(repository.root))
    assert checked.findings == ()


@pytest.mark.skipif(len(usable_cores()) < 2, reason="runs side by side have a core each, which takes two")
@pytest.mark.slow
def test_runs_with_a_claim_have_as_many_cores_as_those_that_they_are_compared_with(repository):
    program = PROGRAM.replace("value = 1.0", "value = 1.0 * len(os.sched_getaffinity(0))")
    report, _ = judged(
        repository, HOLDS, '{set: "env.NONE=1"}', "{threads: 3}", program=program, side_by_side=True
    )
    assert {status for status, _ in rows(report).values()} == {Status.PASSED}


CACHED = """\
import json, random, shutil, sys, time
from pathlib import Path
kept, log = Path.home() / "PLACE", Path(sys.argv[2]) / "log.jsonl"
kept.parent.mkdir(parents=True, exist_ok=True)
if kept.exists():
    shutil.copyfile(kept, log)
else:
    random.seed(int(sys.argv[1]))
    value = random.random() * len(sys.argv)
    lines = [json.dumps({"step": step, "loss": value / (step + 1)}) + "\\n" for step in range(4)]
    log.write_text("".join(lines))
    time.sleep(3)
    kept.write_bytes(log.read_bytes())
"""


@pytest.mark.skipif(len(usable_cores()) < 2, reason="runs side by side have a core each, which takes two")
@pytest.mark.parametrize("looks", [True, False], ids=["looked at", "as before"])
@pytest.mark.parametrize("place", ["result.jsonl", ".cache/study/result.jsonl"])
@pytest.mark.sample(1)
def test_a_run_with_a_claim_that_read_what_the_pair_left_is_not_judged(
    repository, monkeypatch, tmp_path_factory, looks, place
):
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if not looks:
        monkeypatch.setattr(same_under_evidence, "why_not_alone", lambda _record: None)
    report, _ = judged(
        repository, WRONG, '{args: "--batch 16"}', program=CACHED.replace("PLACE", place), side_by_side=True
    )
    expected = Status.ERROR if looks else Status.PASSED
    assert rows(report) == {"args --batch 8": (expected, True), "args --batch 16": (expected, True)}


def test_what_was_not_asked_for_does_not_apply(repository):
    report, _ = judged(repository, WRONG, asked=False)
    assert rows(report) == {"args --batch 8": (Status.SKIPPED, False)}


@pytest.mark.slow
def test_a_program_that_does_not_finish_with_it_fails(repository):
    report, _ = judged(repository, '{args: "--break"}')
    assert rows(report) == {"args --break": (Status.FAILED, True)}


def test_a_setting_that_the_recipe_has_already_proves_nothing(repository):
    report, _ = judged(repository, '{set: "env.SHIFT=0.5"}', further='env: {SHIFT: "0.5"}\n')
    assert rows(report)["set env.SHIFT=0.5"] == (Status.ERROR, True)


def test_threads_are_in_force_or_the_row_is_no_pass(repository):
    report, _ = judged(repository, "{threads: 2}")
    status, required = rows(report)["threads 2"]
    assert (status in {Status.PASSED, Status.ERROR}, required) == (True, True)
    (row,) = [row for row in report.checks if row.id == "same_under/threads 2"]
    run = Path(row.evidence["runs"][0])
    assert "threads_2" in (run / "run.json").read_text()


@pytest.mark.slow
def test_as_many_threads_as_the_runs_have_already_prove_nothing(repository):
    report, _ = judged(repository, "{threads: 2}", further='env: {OMP_NUM_THREADS: "2"}\n')
    assert rows(report)["threads 2"] == (Status.ERROR, True)


def test_a_recipe_without_claims_is_refused_before_anything_runs(repository):
    with pytest.raises(RecipeError, match="nothing that must not matter"):
        judged(repository)
    with pytest.raises(RecipeError):
        judged(repository, '{set: "no.such=1"}')
    assert not (repository.root / "runs").exists()


@pytest.mark.parametrize(
    "claims",
    [
        (HOLDS, '{args: "--batch 2  --accumulate 2"}'),
        ('{set: ["env.A=1", "env.B=2"]}', '{set: ["env.B=2", "env.A=1"]}'),
        ("{threads: 2}", "{threads: 2}"),
        ("{threads: 2}", "{set: env.OMP_NUM_THREADS=2}"),
        ('{args: "--batch 2"}', """{args: "--batch '2'"}"""),
        ("{set: env.A=1}", "{set: ' env.A = 1'}"),
        ('{set: ["env.A=1", "env.A=2"]}',),
        ('{set: "env.A"}',),
        ('{threads: 2, args: "--batch 2"}',),
        ("{}",),
    ],
)
def test_a_thing_that_is_named_twice_or_is_none_is_refused(repository, claims):
    with pytest.raises(RecipeError):
        judged(repository, *claims, asked=False)


@pytest.mark.parametrize(
    ("claim", "variation"),
    [
        ("{threads: 2}", "threads"),
        ("{set: [env.OMP_NUM_THREADS=2, env.MKL_NUM_THREADS=2]}", "threads"),
        ("{set: env.PYTHONHASHSEED=3}", "hash_seed"),
        ("{set: env.TZ=Asia/Tokyo}", "time_zone"),
    ],
)
def test_what_immune_to_names_already_is_refused(repository, claim, variation):
    with pytest.raises(RecipeError, match=f"immune_to: {variation}"):
        judged(repository, claim, asked=False, further=f"immune_to: [{variation}]\n")
    repository.write(recipes__train__recipe_yaml=f"{RECIPE}immune_to: [umask]\nsame_under: [{claim}]\n")
    assert recipes.load("train", recipes_dir=repository.root / "recipes").same_under


def test_claims_are_no_part_of_the_digest(repository):
    repository.write(train_py=PROGRAM, recipes__train__recipe_yaml=RECIPE)
    before = recipes.load("train", recipes_dir=repository.root / "recipes")
    repository.write(recipes__train__recipe_yaml=f"{RECIPE}same_under: [{WRONG}]\n")
    after = recipes.load("train", recipes_dir=repository.root / "recipes")
    assert before.digest == after.digest
    assert "same_under" not in before.as_data()
