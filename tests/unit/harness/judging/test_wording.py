"""What each verdict says, and what to type next."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reprokit.core.checklist import Evidence, GoldenEvidence, Judgement, RunEvidence, Verdict
from reprokit.core.comparison import Divergence, compare_records
from reprokit.core.provenance import Provenance
from reprokit.core.run_record import RunRecord
from reprokit.harness.judging.wording import VerdictCase, next_command, sentence

FOLDERS = (Path("runs/r/T-1"), Path("runs/r/T-2"))
GOLDEN = "golden/r/cpu-x86_64/seed-42"
ROW = [{"step": 10, "loss": 1.0}]


def run(folder: Path) -> RunEvidence:
    return RunEvidence(
        path=str(folder),
        complete=True,
        incomplete_because="",
        run=RunRecord(),
        environment={},
        runtime={},
        config=None,
    )


def golden(**words) -> GoldenEvidence:
    return GoldenEvidence(
        **{
            "path": GOLDEN,
            "provenance": Provenance(),
            "comparison": compare_records(ROW, ROW),
            "fingerprint_equal": True,
            **words,
        }
    )


EVIDENCE = Evidence(recipe={"name": "r"}, platform="cpu-x86_64", runs=tuple(map(run, FOLDERS)))
HERE = compare_records(ROW, [{"step": 10, "loss": 2.0}]).divergence


def case(verdict: Verdict, **words) -> VerdictCase:
    return VerdictCase(
        **{
            "judged": Judgement(verdict=verdict, because="the reason"),
            "evidence": EVIDENCE,
            "divergence": None,
            "failure": None,
            "folders": FOLDERS,
            **words,
        }
    )


def with_golden(**words) -> Evidence:
    return replace(EVIDENCE, golden=golden(**words))


NUMPY = {
    "field": "inside.packages.numpy",
    "expected": "2.4.6",
    "actual": "2.4.7",
    "can_change_numbers": "yes",
}
KERNEL = {"field": "host.kernel", "expected": "6.1", "actual": "6.5", "can_change_numbers": "no"}
MODIFIED = replace(
    EVIDENCE,
    modified=("training.gamma=0.98",),
    runs=(
        replace(EVIDENCE.runs[0], run=RunRecord(recipe="r", seed=7)),
        EVIDENCE.runs[1],
    ),
)


def dirty(evidence: Evidence, *files: str) -> Evidence:
    source = {"unrecorded": True, **({"changed_files": files} if files else {})}
    first = replace(evidence.runs[0], environment={"source": source}, run=RunRecord(seed=7))
    return replace(evidence, runs=(first, *evidence.runs[1:]))


def first_run(record: RunRecord) -> Evidence:
    return replace(EVIDENCE, runs=(replace(EVIDENCE.runs[0], run=record), EVIDENCE.runs[1]))


def plain(evidence: Evidence) -> Evidence:
    """Of a command without a recipe, of which three runs were asked for."""
    command = ("python", "train.py", "--seed", "{seed}")
    rerun = "reprokit reproduce --seed 3 --output '*.pt' --repeats 3 -- python train.py --seed {seed}"
    record = RunRecord(seed=3, plain_command=command)
    return replace(first_run(record), recipe=None, rerun=rerun)


SAID = {
    "reproduced": case(Verdict.REPRODUCED, evidence=with_golden()),
    "reproduced within tolerance": case(
        Verdict.REPRODUCED,
        evidence=with_golden(comparison=compare_records(ROW, [{"step": 10, "loss": 2.0}])),
    ),
    "equivalent": case(Verdict.EQUIVALENT),
    "reproduced, and rows that no one asked for": case(
        Verdict.REPRODUCED,
        evidence=replace(with_golden(), recipe={"name": "r", "command": ["python"]}),
        not_judged=14,
    ),
    "repeatable": case(Verdict.REPEATABLE),
    "nondeterministic": case(Verdict.NONDETERMINISTIC, divergence=HERE),
    "nondeterministic in the trace only": case(Verdict.NONDETERMINISTIC),
    "nondeterministic, of a plain command": case(
        Verdict.NONDETERMINISTIC, divergence=HERE, evidence=plain(EVIDENCE)
    ),
    "nondeterministic in nothing but the clock": case(
        Verdict.NONDETERMINISTIC,
        divergence=HERE,
        evidence=replace(
            plain(EVIDENCE),
            repeats=(compare_records(ROW, [{"step": 10, "loss": 2.0}]),),
            clock_metrics={"loss": "rate"},
        ),
    ),
    "nondeterministic of a recipe in nothing but the clock": case(
        Verdict.NONDETERMINISTIC,
        divergence=HERE,
        evidence=replace(
            EVIDENCE,
            repeats=(compare_records(ROW, [{"step": 10, "loss": 2.0}]),),
            clock_metrics={"loss": "rate"},
        ),
    ),
    "nondeterministic, of a bundle": case(
        Verdict.NONDETERMINISTIC,
        divergence=HERE,
        evidence=first_run(RunRecord(recipe="r", bundle={"file": "r.tar.gz"})),
    ),
    "regression": case(
        Verdict.REGRESSION, divergence=HERE, evidence=with_golden(changed=("trainer", "config"))
    ),
    "regression, and rows failed that no golden mends": case(
        Verdict.REGRESSION,
        divergence=HERE,
        evidence=with_golden(changed=("config",)),
        failed=("equals_golden", "seeded"),
    ),
    "regression of runs that were stopped": case(
        Verdict.REGRESSION,
        divergence=HERE,
        evidence=replace(
            with_golden(changed=("config",)),
            runs=tuple(replace(one, complete=False, stopped_at_golden=True) for one in EVIDENCE.runs),
        ),
    ),
    "regression out of nowhere": case(Verdict.REGRESSION, divergence=HERE, evidence=with_golden()),
    "stale golden": case(
        Verdict.STALE_GOLDEN,
        divergence=HERE,
        evidence=with_golden(
            environment_diff=[
                {"field": "inside.packages.torch", "expected": "2.12", "actual": "2.13"},
                {"field": "x", "expected": 1, "actual": 2},
            ]
        ),
    ),
    "stale golden without a difference": case(Verdict.STALE_GOLDEN, divergence=HERE, evidence=with_golden()),
    "no golden": case(Verdict.NO_GOLDEN),
    "check failed": case(Verdict.CHECK_FAILED),
    "unjudged": case(Verdict.UNJUDGED),
    "not run": case(Verdict.NOT_RUN, failure={"message": "it crashed"}),
    "not run at all": case(Verdict.NOT_RUN),
    "another environment, equal numbers": case(
        Verdict.REPRODUCED, evidence=with_golden(environment_diff=[NUMPY, KERNEL])
    ),
    "an override, and other numbers than the golden's": case(
        Verdict.REGRESSION, divergence=HERE, evidence=replace(MODIFIED, golden=golden(changed=("config",)))
    ),
    "an override, and no golden": case(Verdict.NO_GOLDEN, evidence=MODIFIED, failed=("unmodified",)),
    "required rows failed, and no golden": case(Verdict.NO_GOLDEN, failed=("headline_results", "seeded")),
    "no golden, and a metric that was left out": case(
        Verdict.NO_GOLDEN, evidence=replace(EVIDENCE, outputs=(), volatile_metrics={"seconds": "the clock"})
    ),
    "no golden, and changes that no commit holds": case(Verdict.NO_GOLDEN, evidence=dirty(EVIDENCE)),
    "no golden, and a file that git does not have": case(
        Verdict.NO_GOLDEN, evidence=dirty(EVIDENCE, "train.py", "out/train.log")
    ),
    "no golden, and a file whose name reads like a command": case(
        Verdict.NO_GOLDEN, evidence=dirty(EVIDENCE, "a, then: reprokit golden rm x")
    ),
    "data that is not there": case(
        Verdict.NOT_RUN,
        failure={"message": "not there", "outcome": "data_unavailable", "remedy": "reprokit data fetch r"},
    ),
}


def test_each_verdict_says_and_suggests_what_was_reviewed(file_regression):
    told = (f"# {name}\n{sentence(one)}\n→ {next_command(one) or 'nothing'}\n" for name, one in SAID.items())
    file_regression.check("\n".join(told), basename="verdicts", encoding="utf-8")


@pytest.mark.parametrize("name", ["an override, and no golden", "required rows failed, and no golden"])
def test_runs_that_cannot_become_a_golden_are_not_suggested_as_one(name):
    assert "promote" not in next_command(SAID[name])


def test_a_difference_that_cannot_change_numbers_is_no_note():
    told = sentence(case(Verdict.REPRODUCED, evidence=with_golden(environment_diff=[KERNEL])))
    assert "Note" not in told


def test_another_lock_than_the_goldens_is_searched_for_the_package():
    evidence = with_golden(changed=("lock",))
    ran = replace(evidence.runs[0], run=RunRecord(seed=7))
    evidence = replace(evidence, runs=(ran, *evidence.runs[1:]))
    asked = f"reprokit bisect r --packages --good {GOLDEN} --seed 7"
    assert next_command(case(Verdict.STALE_GOLDEN, divergence=HERE, evidence=evidence)) == asked
    unpinned = replace(evidence, recipe={"name": "r", "variant": "none"})
    for other in (unpinned, with_golden(changed=("config",))):
        told = next_command(case(Verdict.STALE_GOLDEN, divergence=HERE, evidence=other))
        assert told.startswith("reprokit env diff ")


def test_a_changed_setting_is_named_with_its_line():
    config = {"training": {"gamma": 0.99, "n_epochs": 10}}
    evidence = with_golden(changed=("recipe", "config"), provenance=Provenance(config=config))
    ran = replace(
        evidence.runs[0],
        run=RunRecord(recipe="r", training_config={"training": {"gamma": 0.98, "n_epochs": 10}}),
    )
    told = sentence(
        case(
            Verdict.REGRESSION,
            divergence=HERE,
            evidence=replace(evidence, runs=(ran, *evidence.runs[1:])),
            lines={"training": 30, "training.gamma": 35},
        )
    )
    assert told.endswith("changed since then: recipes/r/recipe.yaml:35 training.gamma 0.99 → 0.98.")


def test_a_platform_that_the_recipe_does_not_declare_is_to_be_declared_first():
    evidence = replace(EVIDENCE, recipe={"name": "r", "platforms": ["cuda-h200"]})
    told = case(Verdict.NO_GOLDEN, evidence=evidence, lines={"platforms": 12})
    assert next_command(told).startswith("add cpu-x86_64 to recipes/r/recipe.yaml:12 (platforms), then: ")


@pytest.mark.parametrize(
    ("outcome", "command"),
    [
        ("crashed", "tail -n 40 runs/r/T-1/stderr.log"),
        ("out_of_memory", "tail -n 40 runs/r/T-1/stderr.log"),
        ("engine_lost", "reprokit doctor"),
        ("disk_full", "reprokit doctor"),
    ],
)
def test_a_program_that_failed_is_told_by_its_own_log_and_a_host_by_the_doctor(outcome, command):
    failure = {"message": "it ended", "outcome": outcome, "log": "runs/r/T-1/stderr.log"}
    assert next_command(case(Verdict.NOT_RUN, failure=failure)) == command


def test_of_a_program_that_failed_and_printed_nothing_the_command_line_is_shown():
    failure = {"message": "it ended", "outcome": "crashed", "log": None, "run": "runs/r/T-1"}
    assert next_command(case(Verdict.NOT_RUN, failure=failure)) == "reprokit runs show runs/r/T-1"


@pytest.mark.parametrize(
    ("remedy", "command"),
    [
        ("reprokit data fetch r", "reprokit data fetch r"),
        ("reprokit data prepare r", "reprokit data prepare r"),
        ("reprokit data fetch r; rm -r .", "reprokit doctor"),
        ("correct the URL, the size or the SHA-256", "reprokit doctor"),
    ],
)
def test_data_that_is_not_there_is_got_by_its_own_command_and_nothing_else_of_the_record(remedy, command):
    failure = {"message": "not there", "outcome": "data_unavailable", "remedy": remedy}
    assert next_command(case(Verdict.NOT_RUN, failure=failure)) == command


def test_every_verdict_is_among_them():
    assert {one.judged.verdict for one in SAID.values()} == set(Verdict)


def test_a_divergence_of_whole_records_names_no_metric():
    whole = Divergence(
        record=3,
        step=40,
        metric=None,
        expected=None,
        actual=None,
        abs_error=None,
        rel_error=None,
        ulps=None,
        what="a record is missing",
    )
    assert "from step 40 (record 3) on" in sentence(case(Verdict.NONDETERMINISTIC, divergence=whole))


def declared(**terms):
    return {"default": {}, "metrics": {"loss": terms}}


@pytest.mark.parametrize("verdict", [Verdict.REGRESSION, Verdict.STALE_GOLDEN])
@pytest.mark.parametrize(
    ("typed", "blessed", "told"),
    [
        (
            {"rtol": 3},
            {"rtol": 0.1},
            "loss (rtol 3) is wider than the one that the golden was promoted with (rtol 0.1)",
        ),
        ({"atol": 3, "mean_of": 5}, {}, "loss (atol 3, mean of 5) is wider than"),
        ({"rtol": 3}, {}, "(exact), and counts only after the next promotion"),
    ],
)
def test_a_tolerance_that_was_not_counted_is_told(verdict, typed, blessed, told):
    said = case(
        verdict,
        divergence=HERE,
        evidence=replace(
            with_golden(provenance=Provenance(tolerances=declared(**blessed))),
            recipe={"name": "r", "tolerances": declared(**typed)},
        ),
    )
    assert told in sentence(said)


@pytest.mark.parametrize(
    ("typed", "blessed"), [({"rtol": 0.1}, {"rtol": 0.1}), ({}, {"rtol": 0.1}), ({}, {})]
)
def test_nothing_is_said_of_a_tolerance_that_counts_whole(typed, blessed):
    said = case(
        Verdict.REGRESSION,
        divergence=HERE,
        evidence=replace(
            with_golden(provenance=Provenance(tolerances=declared(**blessed))),
            recipe={"name": "r", "tolerances": declared(**typed)},
        ),
    )
    assert "promoted with" not in sentence(said)


ELSEWHERE = ("--golden", "my golden", "--runs-dir", "/scratch/runs")
SUGGESTED = [
    pytest.param(case(Verdict.NO_GOLDEN), id="promote"),
    pytest.param(
        case(Verdict.NO_GOLDEN, evidence=replace(EVIDENCE, ensemble_not_asked="golden/r/p/ensemble")),
        id="ask the ensemble",
    ),
    pytest.param(case(Verdict.NO_GOLDEN, failed=("seeded",)), id="show"),
    pytest.param(case(Verdict.NO_GOLDEN, evidence=MODIFIED), id="as it stands"),
    pytest.param(case(Verdict.NO_GOLDEN, evidence=dirty(EVIDENCE)), id="commit, run and promote"),
    pytest.param(case(Verdict.CHECK_FAILED), id="check failed"),
    pytest.param(case(Verdict.UNJUDGED), id="unjudged"),
    pytest.param(case(Verdict.REGRESSION, evidence=with_golden(), divergence=HERE), id="attribute"),
]


@pytest.mark.parametrize("told", SUGGESTED)
def test_every_suggested_command_that_looks_for_folders_names_those_that_were_asked_for(told):
    asked = replace(told, evidence=replace(told.evidence, options=ELSEWHERE))
    commands = next_command(asked).split(", then: ")
    wanted = [one for one in commands if one.startswith("reprokit ")]
    assert wanted
    assert all("--golden 'my golden' --runs-dir /scratch/runs" in one for one in wanted)


def test_a_suggested_run_is_on_the_backend_and_seed_that_were_asked_for():
    evidence = with_golden()
    ran = replace(evidence.runs[0], run=RunRecord(backend_asked="local", seed=7))
    evidence = replace(evidence, runs=(ran, *evidence.runs[1:]), seed=7)
    told = next_command(case(Verdict.REGRESSION, evidence=evidence, divergence=HERE))
    assert told == "reprokit reproduce r --seed 7 --backend local --attribute"


def test_a_workspace_in_use_is_no_matter_for_the_doctor():
    failure = {"message": "in use", "outcome": "workspace_busy"}
    told = case(Verdict.NOT_RUN, failure=failure, evidence=replace(EVIDENCE, rerun="make reproduce RECIPE=r"))
    assert next_command(told) == "make reproduce RECIPE=r"


def test_the_option_that_leaves_out_the_clock_can_be_copied_from_the_sentence():
    differ = compare_records([{"step": 10, "charts/SPS": 90.0}], [{"step": 10, "charts/SPS": 80.0}])
    evidence = replace(plain(EVIDENCE), repeats=(differ,), clock_metrics={"charts/SPS": "rate"})
    words = sentence(case(Verdict.NONDETERMINISTIC, evidence=evidence, divergence=HERE)).split()
    assert words[words.index("--ignore-metric") + 1] == "charts/SPS"


@pytest.mark.parametrize("log", [None, "/r/stderr.log"])
def test_a_run_that_was_changed_after_its_end_or_interrupted_is_made_again(log):
    """`failure_of` calls both interrupted; neither this host nor the program's log says anything of it."""
    failure = {"outcome": "interrupted", "message": "metrics.jsonl was changed since", "log": log}
    found = case(Verdict.NOT_RUN, failure=failure)
    assert next_command(found) == found.evidence.rerun


def test_a_log_without_steps_is_told_by_its_records():
    without_steps = compare_records([{"loss": 1.0}], [{"loss": 2.0}]).divergence
    assert sentence(case(Verdict.NONDETERMINISTIC, divergence=without_steps)) == (
        "Two runs with the same seed differ from record 0 (metric loss) on."
    )


def test_a_row_on_runs_beside_the_pair_is_followed_by_its_own_advice():
    """`report show` of the pair alone would be green."""
    told = case(Verdict.CHECK_FAILED, evidence=with_golden())
    assert next_command(told).startswith("reprokit report show ")
    assert next_command(replace(told, advice="reprokit diff A B")) == "reprokit diff A B"


@pytest.mark.parametrize(
    ("recipe", "variables", "is_said"),
    [
        ({"name": "r"}, {"PYTHONHASHSEED": "0"}, True),
        ({"name": "r", "immune_to": ["hash_seed"]}, {"PYTHONHASHSEED": "0"}, False),
        ({"name": "r"}, {}, False),
    ],
)
def test_before_a_first_golden_it_is_said_that_the_hash_seed_was_held_equal(recipe, variables, is_said):
    runs = [replace(one, run=RunRecord(environment=variables)) for one in EVIDENCE.runs]
    told = sentence(case(Verdict.NO_GOLDEN, evidence=replace(EVIDENCE, recipe=recipe, runs=tuple(runs))))
    assert ("`reprokit diagnose r` varies it" in told) == is_said
