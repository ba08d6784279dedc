"""A golden in which nothing responds to the seed proves nothing, unless the recipe says why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reprokit.errors import GoldenError
from reprokit.harness import Request, audit, reproduce
from reprokit.harness.curation import lint_goldens
from reprokit.project import Project
from reprokit.session import Session
from support.command_recipe import PROGRAM, RECIPE
from support.recorded_progress import RecordedProgress

DEAF = PROGRAM.replace("random.seed(int(sys.argv[1]))", "random.seed(0)")
ECHO = DEAF.replace('"loss": value', '"loss": value, "seed": int(sys.argv[1])')
GOLDEN = "golden/train/cpu-x86_64/seed-3"
MEANT = "unresponsive: {because: its data is fixed}\n"


@pytest.fixture
def deaf(repository):
    repository.write(train_py=DEAF)
    return repository


def provenance(repository) -> dict:
    return json.loads((repository.root / GOLDEN / "provenance.json").read_text())


def forget(repository) -> None:
    """As a golden was promoted before anyone looked."""
    file = repository.root / GOLDEN / "provenance.json"
    told = json.loads(file.read_text())
    del told["responds"]
    file.write_text(json.dumps(told))
    repository.commit()


def seeds_run(repository) -> list[int]:
    records = repository.root.glob("runs/train/*/run.json")
    return sorted(json.loads(file.read_text())["seed"] for file in records)


def clear_runs(repository) -> None:
    for folder in (repository.root / "runs" / "train").iterdir():
        folder.rename(repository.root / "runs" / f".{folder.name}")


def test_a_golden_says_which_metrics_responded(repository):
    progress = RecordedProgress()
    request = Request(backend="local", side_by_side=False)
    report, _ = reproduce(
        "train", request, session=Session(project=Project.around(repository.root), progress=progress)
    )
    told = "one more run, with seed 4, to see whether the metrics depend on the seed"
    assert told in progress.notes
    repository.promote(report)
    assert provenance(repository)["responds"] == {"seed": 4, "metrics": ["loss"]}
    assert seeds_run(repository) == [3, 3, 4]
    clear_runs(repository)
    report = repository.reproduce()
    assert report.verdict == "REPRODUCED"
    assert seeds_run(repository) == [3, 3]


def test_a_golden_that_does_not_say_is_held_against_one_more_run(repository):
    repository.promote(repository.reproduce())
    forget(repository)
    clear_runs(repository)
    report = repository.reproduce()
    assert report.verdict == "REPRODUCED"
    assert seeds_run(repository) == [3, 3, 4]
    row = next(row for row in report.checks if row.id == "equals_golden")
    assert "1 of 1 metric respond" in row.reason


def test_no_metric_that_responds_is_said_and_is_promoted_only_knowingly(deaf):
    report = deaf.reproduce()
    assert report.verdict == "NO_GOLDEN"
    assert "no metric responds to the seed: seed 4 gives the metrics of seed 3" in report.sentence
    assert "unresponsive" in report.next_command
    assert ", then: reprokit reproduce train --seed 3" in report.next_command
    with pytest.raises(GoldenError, match=r"responds_to_seed.*unresponsive"):
        deaf.promote(report)
    deaf.promote(report, allow_failed=True)
    again = deaf.reproduce()
    assert (again.verdict, again.exit_code) == ("UNJUDGED", 4)
    assert "no metric responds to the seed" in again.sentence


def test_an_earlier_run_that_read_another_file_elsewhere_shows_no_response(repository, tmp_path):
    elsewhere = tmp_path / "rate.txt"
    elsewhere.write_text("0.5")
    repository.write(
        train_py=DEAF.replace("from settings import RATE", f"RATE = float(open({str(elsewhere)!r}).read())")
    )
    assert "no metric responds to the seed" in repository.reproduce().sentence
    elsewhere.write_text("0.7")
    report = repository.reproduce()
    assert "no metric responds to the seed: seed 4 gives the metrics of seed 3" in report.sentence
    assert seeds_run(repository) == [3, 3, 3, 3, 4, 4]
    repository.reproduce()
    assert seeds_run(repository) == [3, 3, 3, 3, 3, 3, 4, 4], "where all is as it was, it is used again"


def test_a_recipe_that_says_why_is_reproduced_and_told(deaf):
    deaf.write(recipes__train__recipe_yaml=RECIPE + MEANT)
    deaf.promote(deaf.reproduce())
    report = deaf.reproduce()
    assert report.verdict == "REPRODUCED"
    assert "No metric responds to the seed, as the recipe says: its data is fixed." in report.sentence
    assert seeds_run(deaf) == [3, 3, 3, 3]


def test_a_metric_that_only_repeats_the_seed_does_not_respond(deaf):
    deaf.write(train_py=ECHO)
    report = deaf.reproduce()
    assert "no metric responds to the seed" in report.sentence


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "logged",
    [
        '"env_seed": int(sys.argv[1]) + 1000',
        '"at": 1000 * int(sys.argv[1]) + step',
        '"x": hash((int(sys.argv[1]), 5)) % 97',
        '"data/epoch_seed": hash((int(sys.argv[1]), step)) % 97',
        '"rngSeed": hash((int(sys.argv[1]), step)) % 97',
    ],
)
def test_a_metric_that_follows_from_the_seed_alone_does_not_respond(deaf, logged):
    deaf.write(train_py=DEAF.replace('"loss": value', f'"loss": value, {logged}'))
    report = deaf.reproduce()
    assert "no metric responds to the seed" in report.sentence
    assert ", except for what repeats the seed or is constant" in report.sentence
    with pytest.raises(GoldenError, match="responds_to_seed"):
        deaf.promote(report)


class TestOneRecordARun:
    """Over two seeds any two numbers lie on a line, so a third seed is run."""

    ONE = PROGRAM.replace("log.write(", "if step == 3: log.write(")

    def test_a_result_that_was_computed_responds(self, repository):
        repository.write(train_py=self.ONE)
        repository.promote(repository.reproduce())
        assert seeds_run(repository) == [3, 3, 4, 1013]
        responds = provenance(repository)["responds"]
        assert ({responds["seed"], responds["third_seed"]}, responds["metrics"]) == ({4, 1013}, ["loss"])
        clear_runs(repository)
        assert repository.reproduce().verdict == "REPRODUCED"
        assert seeds_run(repository) == [3, 3]

    def test_the_seed_plus_a_constant_does_not(self, deaf):
        echo = self.ONE.replace("random.seed(int(sys.argv[1]))", "random.seed(0)")
        deaf.write(train_py=echo.replace('"loss": value', '"loss": value + int(sys.argv[1])'))
        report = deaf.reproduce()
        assert seeds_run(deaf) == [3, 3, 4, 1013]
        assert (
            "seeds 4 and 1013 give the metrics of seed 3, except for what repeats the seed or is constant"
            in report.sentence
        )
        with pytest.raises(GoldenError, match="responds_to_seed"):
            deaf.promote(report)

    @pytest.mark.slow
    def test_a_report_is_judged_again_with_all_three(self, repository):
        repository.write(train_py=self.ONE)
        repository.promote(repository.reproduce())
        forget(repository)
        report, folder = repository.reproduced()
        assert report.verdict == "REPRODUCED"
        row = next(row for row in report.checks if row.id == "equals_golden")
        assert {"other_seed", "third_seed"} <= set(row.evidence)
        assert audit(folder / "report.json", project=Project.around(repository.root)).findings == ()


@pytest.mark.slow
def test_what_an_older_golden_says_is_judged_by_todays_rule(deaf):
    """It was promoted when a constant of each run counted as a response."""
    deaf.write(train_py=DEAF.replace('"loss": value', '"loss": value, "env_seed": int(sys.argv[1]) + 1000'))
    deaf.promote(deaf.reproduce(), allow_failed=True)
    file = deaf.root / GOLDEN / "provenance.json"
    file.write_text(json.dumps({**provenance(deaf), "responds": {"seed": 4, "metrics": ["env_seed"]}}))
    deaf.commit()
    clear_runs(deaf)
    report = deaf.reproduce()
    assert (report.verdict, report.exit_code) == ("UNJUDGED", 4)
    assert "no metric responds to the seed" in report.sentence
    assert "responds" in {one.rule for one in lint_goldens(Project.around(deaf.root), min_runs=2)}


def test_a_command_without_a_seed_must_say_why(deaf):
    deaf.write(recipes__train__recipe_yaml=RECIPE.replace("{seed}", "3"))
    report = deaf.reproduce()
    assert "nothing shows that a metric responds to the seed: its command has no {seed}" in report.sentence
    deaf.promote(report, allow_failed=True)
    assert deaf.reproduce().verdict == "UNJUDGED"


@pytest.mark.slow
def test_goldens_of_two_seeds_show_it_without_a_further_run(repository):
    repository.write(recipes__train__recipe_yaml=RECIPE.replace("[3]", "[3, 5]"))
    for seed in (3, 5):
        repository.promote(repository.reproduce(seed=seed))
    forget(repository)
    clear_runs(repository)
    report = repository.reproduce(seed=3)
    assert report.verdict == "REPRODUCED"
    assert "the golden of seed 5 has other metrics" in str(report.checks)
    assert seeds_run(repository) == [3, 3]


def test_a_program_that_ignores_the_seed_since_then_cannot_be_promoted_on_the_old_evidence(repository):
    repository.promote(repository.reproduce())
    repository.write(train_py=DEAF)
    report = repository.reproduce()
    assert report.verdict == "REGRESSION"
    with pytest.raises(GoldenError, match="responds_to_seed"):
        repository.promote(report)


@pytest.mark.slow
def test_a_report_is_judged_again_with_the_run_of_the_other_seed(repository):
    project = Project.around(repository.root)
    repository.promote(repository.reproduce())
    forget(repository)
    report, folder = repository.reproduced()
    assert report.verdict == "REPRODUCED"
    assert audit(folder / "report.json", project=project).findings == ()
    other = next(row.evidence["other_seed"] for row in report.checks if row.id == "equals_golden")
    Path(other, "metrics.jsonl").write_text('{"step": 0, "loss": 9.0}\n')
    assert any("UNJUDGED" in finding for finding in audit(folder / "report.json", project=project).findings)


def test_a_malformed_record_of_it_is_no_golden(repository):
    repository.promote(repository.reproduce())
    file = repository.root / GOLDEN / "provenance.json"
    file.write_text(json.dumps({**provenance(repository), "responds": {"seed": 4, "metrics": []}}))
    with pytest.raises(GoldenError, match="'responds' is malformed"):
        repository.reproduce()
