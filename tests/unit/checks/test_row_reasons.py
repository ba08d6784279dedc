"""What the rows say to a person: status and reason, row by row."""

import math
from dataclasses import replace

import pytest

from reprokit import checks
from reprokit.core.verdicts.rows import Status
from support import planted

CHECKS = {check.ID: check for check in checks.discover()}
FIRST, SECOND = (run.path for run in planted.clean().runs)
GOLDEN = planted.golden().path
UNKNOWN = "the environment differs in something that is not recorded"
ALL_ENVIRONMENTS = ", ".join(f"environment[{index}]" for index in range(8))


def said(name, fault=None, evidence=None):
    """Status and reason of a row, with ``fault`` (its name in FAULTS, or a fault) planted."""
    evidence = planted.clean() if evidence is None else evidence
    evidence = planted.CLEAN.get(name, lambda clean: clean)(evidence)
    if isinstance(fault, str):
        fault = planted.FAULTS[name][fault]
    finding = CHECKS[name].check(evidence if fault is None else fault(evidence))
    return finding.status, finding.reason


SKIPPED = {
    "equals_golden": {
        "no golden of this seed": planted.with_(golden=None, golden_missing_because="seed 7 has none"),
        "no golden": planted.with_(golden=None),
        "no golden, and an override": planted.with_(golden=None, modified=("a=1",)),
    },
    "environment_compatible": {"no golden": planted.with_(golden=None)},
    "pinned_image": {"a virtual environment": planted.LOCAL},
    "hardened": {"a virtual environment": planted.LOCAL},
    "resume_equal": {"not requested": planted.with_(resume=None)},
    "unchanged_when_varied": {
        "not requested": planted.with_(varied=None),
        "immune to nothing": planted.in_recipe("immune_to", []),
    },
    "several_seeds": {
        "not requested": planted.with_(sweep=None),
        "not requested, and the recipe has one seed": planted.both(
            planted.with_(sweep=None), planted.in_recipe("seeds", [42])
        ),
    },
    "statistics": {"not requested": planted.with_(sweep=None)},
    "data_recorded": {"no data": planted.in_recipe("data", "none")},
    "source_clean": {
        "no repository": planted.both(
            planted.in_runs("environment", "source", {}),
            planted.on_run(0, environment=lambda old: {**old, "missing": {"source.commit": "no repository"}}),
            planted.on_run(1, environment=lambda old: {**old, "missing": {"source.commit": "no repository"}}),
        ),
    },
}

_BOTH_RESULTS = dict.fromkeys(("eval/return", "eval/length"), 490.0)
#: Cases of which the wording is of interest, and neither red nor green alone.
OTHERS = {
    "equals_golden": {"within the tolerance": planted.on_golden(comparison=planted.CLOSE)},
    "trace_equal": {
        "a digest differs without a place": planted.with_(
            trace_repeats=(replace(planted.OTHER_TRACE, first=None),)
        ),
        "no golden": planted.with_(golden=None),
        "the metrics differ from the golden": planted.on_golden(comparison=planted.CLOSE),
    },
    "headline_results": {
        "a metric with a misspelled name": planted.in_recipe(
            "expected", {"eval/retrun": {"value": 490.0, "rtol": 0.0, "atol": 10.0}}
        ),
    },
    "expected_declared": {
        "two": planted.with_key("expected", "losses/value", {"value": 1.5, "rtol": 0.0, "atol": 0.0})
    },
    "nondeterminism_declared": {
        "two": planted.in_recipe("nondeterminism", ["a", "b"]),
        "none": planted.in_recipe("nondeterminism", []),
    },
    "unmodified": {
        "several, named in one order and once": planted.both(
            planted.with_(modified=("b=1", "a=2")), planted.in_runs("run", "modified", ["b=1", "c=3", "a=2"])
        )
    },
    "numerics_in_force": {
        "several, named in one order": planted.both(
            planted.in_run("runtime", "numerics.requested.B", "1"),
            planted.in_run("runtime", "numerics.requested.A", "1"),
            planted.in_run("run", "environment.A", "1"),
            planted.in_run("run", "environment.B", "1"),
        )
    },
    "seeded": {
        "one environment": planted.in_runs("config", "environment.num_envs", ...),
        "no environment": planted.in_runs("config", "environment", ...),
        "a run from before seeds in use were recorded": planted.in_runs("runtime", "seeding.in_use", ...),
    },
    "environment_recorded": {"nothing missing": planted.in_runs("environment", "missing", {})},
    "environment_compatible": {
        "five differences": planted.on_golden(
            fingerprint_equal=False,
            environment_diff=[{"field": f"f{at}", "can_change_numbers": "maybe"} for at in range(5)],
        )
    },
    "statistics": {
        "two results": planted.both(
            planted.with_key("expected", "eval/length", {"value": 490.0}),
            planted.on_sweep(
                final_values=dict.fromkeys((42, 43, 44), _BOTH_RESULTS),
                intervals=dict.fromkeys(_BOTH_RESULTS, planted.sweep().intervals["eval/return"]),
            ),
        )
    },
    "versions_locked": {"a lock that is not at hand": planted.with_(locked=None)},
    "checkpoints_complete": {
        "a training shorter than the interval": planted.both(
            planted.in_runs("config", "training.total_timesteps", 4096),
            planted.in_runs("config", "logging.save_interval", 10_000),
        )
    },
    "source_clean": {
        "one file differs": planted.both(
            planted.in_runs("environment", "source.dirty", True),
            planted.in_runs("environment", "source.changed", 1),
        ),
        "more files differ than are named": planted.both(
            planted.in_runs("environment", "source.dirty", True),
            planted.in_runs("environment", "source.changed", 6),
            planted.in_runs("environment", "source.changed_files", ["a.py", "b.py"]),
        ),
    },
}


def spoken(name):
    """Title, then all that a row says: clean, with each planted fault, in odd but sound cases, not asked."""
    clean = planted.CLEAN.get(name, lambda evidence: evidence)(planted.clean())
    cases = {"clean": clean}
    kinds = {"fault": planted.FAULTS, "sound": planted.GREEN, "skipped": SKIPPED, "also": OTHERS}
    for kind, faults in kinds.items():
        cases |= {f"{kind}: {case}": made(clean) for case, made in faults.get(name, {}).items()}
    for case, evidence in cases.items():
        found = CHECKS[name].check(evidence)
        yield f"# {case}\n{found.status}: {found.reason}\n" + (f"  {found.remedy}\n" if found.remedy else "")


@pytest.mark.parametrize("name", CHECKS)
def test_a_row_says_what_was_reviewed(file_regression, name):
    file_regression.check("\n".join(spoken(name)), basename=name, encoding="utf-8")


@pytest.mark.parametrize(("name", "case"), [(name, case) for name in SKIPPED for case in SKIPPED[name]])
def test_what_nobody_could_or_was_asked_to_judge_is_skipped(name, case):
    assert said(name, SKIPPED[name][case])[0] is Status.SKIPPED


def test_a_program_without_a_trace_has_no_row_to_fail():
    untraced = {"trace_records": 0, "trace_digest": None}
    silent = planted.both(
        planted.on_run(0, **untraced), planted.on_run(1, **untraced), planted.with_(golden=None)
    )
    assert said("trace_equal", silent) == (Status.SKIPPED, "the program writes no trace.jsonl")
    golden_without = planted.both(
        planted.on_run(0, **untraced), planted.on_run(1, **untraced), planted.on_golden(has_trace=False)
    )
    assert said("trace_equal", golden_without)[0] is Status.SKIPPED


@pytest.mark.parametrize("name", ["hardware_recorded", "environment_recorded"])
def test_a_plain_command_around_which_nothing_was_captured_has_no_record_to_judge(name):
    finding = CHECKS[name].check(planted.plain())
    assert (finding.status, finding.applies) == (Status.SKIPPED, False)
    assert finding.reason == "nothing was captured around the plain command"


@pytest.mark.parametrize("name", ["hardware_recorded", "environment_recorded"])
def test_a_plain_command_with_a_record_is_judged_by_what_the_host_saw(name):
    captured = {**planted.ENVIRONMENT, "inside": {}, "image": None, "limits": None}
    runs = tuple(replace(run, environment=captured) for run in planted.plain().runs)
    assert CHECKS[name].check(planted.plain(runs=runs)).status is Status.PASSED
    if name == "hardware_recorded":
        reason = CHECKS[name].check(planted.plain(runs=runs)).reason
        assert reason == "trained on the host: AMD EPYC, 2 cores, 8.0 GiB"
    half = (runs[0], replace(runs[1], environment={}))
    assert CHECKS[name].check(planted.plain(runs=half)).status is Status.FAILED


@pytest.mark.parametrize(
    ("packages", "reasons", "status"),
    [
        ({}, {"inside.packages": "its Python has no package"}, Status.PASSED),
        ({}, {}, Status.FAILED),
        (None, {"inside.packages": "its Python has no package"}, Status.FAILED),
        (..., {"inside.packages": "its Python has no package"}, Status.FAILED),
    ],
)
def test_without_a_pin_a_list_that_says_why_it_is_empty_is_a_record_and_no_list_is_none(
    packages, reasons, status
):
    def explained(evidence):
        for run in evidence.runs:
            run.environment["missing"].update(reasons)
        return evidence

    unpinned = planted.both(
        planted.in_recipe("variant", "none"),
        planted.in_runs("environment", "inside.packages", packages),
        explained,
    )
    assert said("environment_recorded", unpinned)[0] is status


def test_statistics_of_a_command_that_expects_nothing_do_not_apply():
    command = planted.both(planted.in_recipe("expected", ...), planted.in_recipe("command", ["train"]))
    found = CHECKS["statistics"].check(command(planted.clean()))
    assert (found.status, found.applies) == (Status.SKIPPED, False)
    assert found.reason == "the recipe declares no result to estimate"


def test_statistics_show_the_value_of_every_seed_and_what_the_interval_covers():
    (result,) = CHECKS["statistics"].check(planted.clean()).evidence["results"].values()
    assert result["values"] == {"42": 494.2, "43": 494.3, "44": 494.4}
    assert (result["low"], result["high"]) == (485.0, 497.0)
    assert result["coverage"] == {"normal": 0.95, "bimodal": 0.48}


def test_a_plain_command_needs_a_command_to_check_it_too():
    assert said("verification_available", planted.with_(rerun=" "), evidence=planted.plain()) == (
        Status.FAILED,
        "no command that checks this result is recorded",
    )
    assert said("verification_available", evidence=planted.plain()) == (
        Status.PASSED,
        "anyone can check it: reprokit reproduce --seed 42 -- python train.py",
    )


def with_updates(updates, saved, *, end):
    made = {
        name: {"step": step, "sha256_ok": True, "loadable": True}
        for name, step in {
            **{f"checkpoint_{step}.pt": step for step in saved},
            "final_model.pt": None,
        }.items()
    }
    return planted.both(
        *(planted.on_run(index, update_steps=updates, checkpoints=made) for index in (0, 1)),
        planted.in_runs("config", "training.total_timesteps", end),
    )


def test_every_checkpoint_is_due_at_the_first_end_of_an_update_at_or_after_its_step():
    exact = with_updates((9_999, 10_000, 10_001, 20_000), (10_000, 20_000), end=20_000)
    assert said("checkpoints_complete", exact) == (
        Status.PASSED,
        "2 checkpoints and the final model, all unchanged and loadable, in every run",
    )
    late = with_updates((9_999, 10_000, 10_001, 20_000), (10_001, 20_000), end=20_000)
    assert said("checkpoints_complete", late) == (
        Status.FAILED,
        f"{FIRST}: checkpoint_10000.pt is missing (due at step 10000)",
    )


def test_two_intervals_within_one_update_share_a_checkpoint():
    long = with_updates((50_000, 100_000), (50_000, 100_000), end=100_000)
    assert said("checkpoints_complete", long)[0] is Status.PASSED


def test_a_checkpoint_at_every_step_is_a_promise_like_any_other():
    every = planted.in_runs("config", "logging.save_interval", 1)
    saved = planted.both(with_updates((1, 2), (1, 2), end=2), every)
    assert said("checkpoints_complete", saved)[0] is Status.PASSED
    missed = planted.both(with_updates((1, 2), (2,), end=2), every)
    assert said("checkpoints_complete", missed)[1] == f"{FIRST}: checkpoint_1.pt is missing (due at step 1)"


def test_nothing_is_due_after_the_end():
    assert said("checkpoints_complete", with_updates((10_000, 19_999), (10_000,), end=19_999)) == (
        Status.PASSED,
        "1 checkpoint and the final model, all unchanged and loadable, in every run",
    )


def test_an_interval_as_long_as_the_training_promises_one_checkpoint():
    assert said("checkpoints_complete", with_updates((10_000,), (10_000,), end=10_000))[0] is Status.PASSED
    assert said("checkpoints_complete", with_updates((10_000,), (10_000,), end=9_999))[0] is Status.FAILED


@pytest.mark.parametrize("interval", [True, math.nan, None, [10_000]])
def test_an_interval_that_is_no_whole_number_promises_nothing(interval):
    assert said("checkpoints_complete", planted.in_run("config", "logging.save_interval", interval))[0] is (
        Status.FAILED
    )


def test_a_plain_command_needs_no_timing_and_promises_no_end():
    evidence = planted.on_run(1, last_step=None)(planted.plain())
    assert said("logs_complete", evidence=evidence)[0] is Status.PASSED


@pytest.mark.parametrize("kind", ["empty_file", "no_records"])
def test_a_plain_command_may_leave_an_empty_file_beside_its_metrics(kind):
    evidence = planted.on_run(1, metrics_problems=(planted.odd(kind, "empty"),))(planted.plain())
    assert said("logs_complete", evidence=evidence)[0] is Status.PASSED


@pytest.mark.parametrize("kind", ["missing_step", "no_final_newline"])
def test_a_plain_command_may_log_without_steps(kind):
    evidence = planted.on_run(1, metrics_problems=(planted.odd(kind, "x", severity="warning"),))(
        planted.plain()
    )
    assert said("logs_complete", evidence=evidence)[0] is Status.PASSED


def test_a_plain_command_that_tore_a_line_has_no_complete_log():
    evidence = planted.on_run(1, metrics_problems=(planted.odd("torn_line", "torn"),))(planted.plain())
    assert said("logs_complete", evidence=evidence) == (Status.FAILED, f"{SECOND}: torn")


def test_all_problems_of_all_runs_are_in_the_evidence_of_a_row():
    evidence = planted.both(
        planted.in_runs("environment", "source.dirty", True),
        planted.in_runs("environment", "source.changed", 3),
    )(planted.clean())
    finding = CHECKS["source_clean"].check(evidence)
    assert finding.evidence["all"] == [
        f"{path}: 3 files differ from commit 1f2e3d4c" for path in (FIRST, SECOND)
    ]


def test_environments_that_do_not_tell_their_seeds_are_counted():
    told = planted.both(
        *(planted.in_run("runtime", "seeding.in_use", {"environment[0]": [100]}, index=at) for at in (0, 1))
    )
    assert said("seeded", told)[0] is Status.PASSED
    assert "(7 of them do not show which seed they used)" in said("seeded", told)[1]


def remedy_without_golden(*faults):
    evidence = replace(planted.clean(), golden=None, golden_missing_because="there is none")
    return CHECKS["equals_golden"].check(planted.both(*faults)(evidence) if faults else evidence).remedy


def test_runs_that_differ_or_are_modified_are_never_to_be_blessed():
    differ = planted.FAULTS["repeatable"]
    for name in differ:
        told = CHECKS["equals_golden"].check(
            replace(differ[name](planted.clean()), golden=None, golden_missing_because="there is none")
        )
        assert "golden promote" not in told.remedy, name
    assert remedy_without_golden(planted.with_(modified=("a=1",))) == (
        "run the recipe as it stands, without --set"
    )


@pytest.mark.parametrize(
    ("name", "remedy"),
    [("repeatable", "into the folder that {run_dir} names"), ("logs_complete", "see the row repeatable")],
)
def test_a_program_that_logs_nothing_is_told_once_where_to_log(name, remedy):
    silent = planted.plain()
    runs = tuple(replace(run, num_records=0, metric_names=()) for run in silent.runs)
    found = CHECKS[name].check(
        replace(
            silent,
            runs=runs,
            repeats=tuple(replace(one, records_compared=0, metrics_compared=0) for one in silent.repeats),
        )
    )
    assert found.status is not Status.PASSED
    assert remedy in found.remedy


def test_nobody_was_inside_a_plain_command_and_that_is_no_lack():
    lacking = planted.in_runs("environment", "missing", {"inside.numpy": "not asked", "host.gpus": "none"})
    evidence = planted.plain(runs=planted.clean().runs)
    reason = said("environment_recorded", evidence=lacking(evidence))[1]
    assert reason == "every required field is recorded; missing with a reason: host.gpus"


@pytest.mark.parametrize("installer", ["pip", "setuptools", "wheel", "uv"])
def test_what_makes_an_environment_may_be_in_it_without_the_lock(installer):
    there = planted.in_runs(
        "environment", "inside.packages", {"numpy": "2.4.0", "torch": "2.13.0+cpu", installer: "1"}
    )
    assert said("versions_locked", there)[0] is Status.PASSED


def test_a_torn_log_is_to_be_looked_at_and_not_to_be_moved():
    evidence = planted.on_run(1, metrics_problems=(planted.odd("torn_line", "torn"),))(planted.plain())
    assert CHECKS["logs_complete"].check(evidence).remedy == "read stderr.log of that run, then run it again"


def test_a_resumed_run_is_named_with_what_it_was_resumed_from():
    clean = planted.clean()
    found = CHECKS["resume_equal"].check(planted.CLEAN.get("resume_equal", lambda one: one)(clean))
    assert {"stopped", "resumed", "checkpoint"} <= set(found.evidence)


def _a_problem(name, *, of_ranks=False):
    torch = {name: "the samples of a batch could not be recorded: X()"}
    fault = planted.ranks("a", "b") if of_ranks else planted.watched({"0": {}}, {"0": {}})

    def planting(evidence):
        found = fault(evidence)
        runs = tuple(
            replace(run, instrument={"processes": {**run.instrument["processes"], "0": {"torch": torch}}})
            for run in found.runs
        )
        return replace(found, runs=runs)

    return planting


def test_equal_parameters_do_not_hide_samples_that_nobody_could_look_at():
    status, reason = said("trace_equal", _a_problem("ledger_problem"))
    assert status == Status.PASSED
    told = "the samples of a batch could not be recorded: X()"
    assert reason.endswith(f"; not all samples were compared: {FIRST}: {told}")


@pytest.mark.parametrize(("name", "of_ranks"), [("worker_problem", False), ("ledger_problem", True)])
def test_workers_and_ranks_that_could_not_be_looked_at_are_not_called_distinct(name, of_ranks):
    status, reason = said("distinct", _a_problem(name, of_ranks=of_ranks))
    assert (status, reason) == (
        Status.ERROR,
        f"{FIRST}: the samples of a batch could not be recorded: X()",
    )


def test_ranks_of_a_trainer_with_samples_of_their_own_are_distinct():
    status, reason = said("distinct", planted.trainer_ranks(planted.TWO_RANKS))
    assert status == Status.PASSED
    assert reason.startswith("2 ranks and 8 environments side by side")


@pytest.mark.parametrize(
    ("stopped", "ended"), [(False, "did not finish"), (True, "was stopped at the golden")]
)
def test_ranks_of_a_run_without_an_end_are_not_told_as_ranks_that_the_launcher_lost(stopped, ended):
    lost = planted.FAULTS["distinct"]["ranks that the launcher did not record"]
    unfinished = planted.on_run(1, complete=False, stopped_at_golden=stopped)
    finding = CHECKS["distinct"].check(planted.both(lost, unfinished)(planted.plain()))
    told = f"{SECOND}: the run {ended}, so not everything that runs in parallel was looked at"
    assert (finding.status, finding.reason) == (Status.ERROR, told)
    assert finding.remedy == "run it again, to the end: `reprokit reproduce`"


@pytest.mark.parametrize(("updates", "told"), [(None, True), (5, False)])
def test_a_resumed_program_that_was_not_traced_passes_with_a_word_on_its_samples(updates, told):
    resumed = planted.on_resume(stop_args=("--stop",), updates=updates)
    status, reason = said("resume_equal", resumed)
    assert status is Status.PASSED
    assert ("which samples it trained on was not compared" in reason) is told
