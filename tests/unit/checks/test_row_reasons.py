"""What the rows say to a person: status and reason, row by row."""

import math
from dataclasses import replace

import pytest

from reprokit import checks
from reprokit.core.rows import Status
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


PASSED = {
    "repeatable": "2 runs agree in 49 records of 3 metrics, bit for bit; 2 runs are weak evidence: the "
    "chance that one more differs may still be as high as 95.0% (95 % bound); --repeats 10 lowers that to "
    "28.3%",
    "equals_golden": f"equal to {GOLDEN} in 49 records of 3 metrics, bit for bit",
    "trace_equal": "49 updates have equal parameters and random states in all runs and in the golden",
    "headline_results": "1 expected result reached by every run",
    "unmodified": "no setting was overridden",
    "versions_locked": f"3 packages recorded, all from the lock {planted.LOCK}",
    "seeded": (
        "seed 42 went to python, numpy, torch and 8 environments, each of which used its own; "
        "PYTHONHASHSEED was 0 before the start"
    ),
    "distinct": "8 environments side by side, each with a stream of its own, in every run",
    "numerics_in_force": "profile portable (version 1) is in force: 12 settings, 6 reports of the libraries",
    "hardware_recorded": "trained on cpu: AMD EPYC, 2 cores, 8.0 GiB",
    "environment_recorded": "every required field is recorded; missing with a reason: host.gpus",
    "environment_compatible": "the numerics fingerprint equals that of the golden",
    "config_saved": "config.yaml holds all 4 sections of the recipe in every run",
    "data_recorded": "every run used the declared data: train",
    "checkpoints_complete": "10 checkpoints and the final model, all unchanged and loadable, in every run",
    "resume_equal": "killed by SIGKILL at step 43008, resumed from checkpoint_40960.pt: 49 records, 49 "
    "traced updates and 3 later checkpoints as if never stopped; the resumed run did steps 40961 to 100352 "
    "in 6.0 s of 10.0 s",
    "unchanged_when_varied": "unchanged under umask, clock, all at once: 49 records in 1 more run; network: "
    "there is none",
    "logs_complete": "49 records of 3 metrics up to step 100352, complete in every run",
    "expected_declared": "the recipe expects 1 result, with its tolerance",
    "verification_available": "anyone can check it: make reproduce RECIPE=cartpole SEED=42",
    "nondeterminism_declared": "1 known source of nondeterminism declared",
    "pinned_image": f"ran in image {planted.IMAGE}, made on python:3.11-slim@sha256:aa",
    "hardened": "the container was hardened in every run",
    "source_clean": "the source is commit 1f2e3d4c, with nothing changed",
    "several_seeds": "3 seeds finished, all that the recipe names",
    "statistics": "1 result estimated over 3 seeds; with so many, a 95 % interval holds the true mean in 95% "
    "(normal returns) and 48% (bimodal returns)",
}


@pytest.mark.parametrize("name", PASSED)
def test_a_row_that_passes_says_what_it_found(name):
    assert said(name) == (Status.PASSED, PASSED[name])


FAILED = [
    (
        "repeatable",
        "the runs differ",
        f"{SECOND} differs from the first run from step 8192 on: losses/policy is 0.25, expected 0.5",
    ),
    (
        "equals_golden",
        "other numbers",
        f"differs from {GOLDEN} from step 8192 on: losses/policy is 0.25, expected 0.5",
    ),
    ("trace_equal", "other parameters", "parameters or random states differ, first parameters at step 8192"),
    ("trace_equal", "one run without a trace", "only 1 of 2 runs wrote a trace"),
    (
        "trace_equal",
        "the golden has a trace, the runs have none",
        f"the runs wrote no trace, but {GOLDEN} has one",
    ),
    ("trace_equal", "an empty trace", "only 1 of 2 runs wrote a trace"),
    (
        "headline_results",
        "a truth value",
        f"{SECOND}: eval/return ended at True, which is not a finite number",
    ),
    (
        "headline_results",
        "a negative tolerance",
        f"{FIRST}: eval/return is expected without a finite value and tolerance",
    ),
    ("headline_results", "too low", f"{SECOND}: eval/return ended at 479.99, expected 490.0 within 10"),
    (
        "headline_results",
        "within the tolerance at the last value, not over the window",
        f"{SECOND}: eval/return over mean_last_5 is 479.99, expected 490.0 within 10",
    ),
    (
        "headline_results",
        "a window that the run is too short for",
        f"{SECOND}: eval/return has no mean_last_5: 3 values were recorded, fewer than 5",
    ),
    ("headline_results", "a window that no one read", f"{FIRST}: eval/return was not read over mean_last_5"),
    (
        "statistics",
        "a seed without a number over the window",
        (
            "without an estimate and interval over all seeds: eval/return (eval/return of seed 43 has no "
            "mean_last_5: it is None, which is not a finite number)"
        ),
    ),
    (
        "statistics",
        "the expected value within the last values only",
        "eval/return over mean_last_5 is expected to be 490 within 10, but 3 seeds support [448, 454]",
    ),
    ("headline_results", "not a number", f"{SECOND}: eval/return ended at nan, which is not a finite number"),
    ("headline_results", "text", f"{SECOND}: eval/return ended at '492.5', which is not a finite number"),
    ("unmodified", "an override", "run with other settings than the recipe's: training.gamma=0.9"),
    ("versions_locked", "no lock", f"{SECOND}: run.json has None instead of the digest of a lock"),
    (
        "versions_locked",
        "half a digest",
        f"{SECOND}: run.json has '{planted.LOCK[:40]}' instead of the digest of a lock",
    ),
    ("versions_locked", "a version that is a number", f"{SECOND}: packages without a version: numpy"),
    (
        "versions_locked",
        "origins unknown",
        f"{SECOND}: the environment record does not say where packages came from",
    ),
    ("versions_locked", "no packages", f"{SECOND}: no package is recorded"),
    ("versions_locked", "a package without a version", f"{SECOND}: packages without a version: numpy"),
    (
        "versions_locked",
        "another lock in run.json's digests",
        f"{SECOND}: the lock is '{planted.IMAGE}' in its own digests, but {planted.LOCK} in run.json",
    ),
    (
        "versions_locked",
        "another version than the lock's",
        f"{SECOND}: numpy 2.4.1 is installed, but the lock has 2.4.0",
    ),
    (
        "versions_locked",
        "a package of the lock that is not there",
        f"{SECOND}: the lock lists packages that are not installed: torch",
    ),
    (
        "versions_locked",
        "a package that the lock does not have",
        f"{SECOND}: scipy 1.14.0 is installed, but the lock has no such package",
    ),
    (
        "versions_locked",
        "a package from a source tree",
        f"{SECOND}: not from the lock, but from a source tree: torch (folder, editable)",
    ),
    (
        "versions_locked",
        "a file that was not installed",
        f"{SECOND}: the environment is not as installed from the lock: evil.pth is foreign and 2 more",
    ),
    (
        "versions_locked",
        "a command with another Python",
        f"{SECOND}: the command names a Python that is not the environment's: /usr/bin/python3",
    ),
    (
        "versions_locked",
        "installed files as text",
        f"{SECOND}: run.json has None instead of the digest of a lock",
    ),
    (
        "versions_locked",
        "installed files as a list",
        f"{SECOND}: run.json has None instead of the digest of a lock",
    ),
    (
        "distinct",
        "two environments that are always equal",
        (
            f"{SECOND}: environment[1] and environment[5] were equal after every update: "
            "one is a clone of the other"
        ),
    ),
    (
        "distinct",
        "ranks of a trainer with the same samples",
        f"{SECOND}: ranks 0 and 1 train on the same samples in update 17",
    ),
    (
        "distinct",
        "workers with one NumPy seed",
        (
            f"{FIRST}: workers 0 and 2 draw the same numbers from NumPy's global generator: "
            "train.py:12 gives it the seed 0 in each"
        ),
    ),
    (
        "distinct",
        "workers with a copy of one generator",
        (
            f"{FIRST}: workers 0 and 1 draw the same numbers from NumPy's global generator: "
            "train.py:30 starts each with the same copy"
        ),
    ),
    ("seeded", "another seed inside", f"{SECOND}: runtime.json has the seed 43, run.json 42"),
    ("seeded", "a seed that is true inside", f"{FIRST}: runtime.json has the seed True, run.json 1"),
    ("seeded", "a seed that is true outside", f"{FIRST}: runtime.json has the seed 1, run.json None"),
    ("seeded", "no record", f"{SECOND}: runtime.json has the seed None, run.json 42"),
    ("seeded", "no seed anywhere", f"{FIRST}: runtime.json has the seed None, run.json None"),
    ("seeded", "numpy never seeded", f"{SECOND}: never seeded: numpy"),
    ("seeded", "no generators", f"{SECOND}: never seeded: python, numpy, torch, {ALL_ENVIRONMENTS}"),
    ("seeded", "generators as a list", f"{SECOND}: runtime.json does not say which generators were seeded"),
    ("seeded", "one environment never seeded", f"{SECOND}: never seeded: environment[7]"),
    (
        "seeded",
        "an environment that was reset without its seed",
        f"{SECOND}: environment[7] trained with the seed 31415926, not with the seed derived for it",
    ),
    (
        "seeded",
        "an environment that was never seeded",
        f"{SECOND}: environment[7] trained unseeded, not with the seed derived for it",
    ),
    (
        "seeded",
        "an environment with the seed of another",
        f"{SECOND}: environment[7] used the seed of environment[0]",
    ),
    ("seeded", "two environments with one seed", f"{SECOND}: two environments have the same seed"),
    (
        "seeded",
        "other seeds than the first run's",
        f"{SECOND}: its generators had other seeds than those of {FIRST}",
    ),
    ("seeded", "no environments promised", f"{SECOND}: config.yaml has 0 for environment.num_envs"),
    ("seeded", "no hash seed", f"{SECOND}: PYTHONHASHSEED was None before the start, not a number"),
    ("seeded", "a random hash seed", f"{SECOND}: PYTHONHASHSEED was 'random' before the start, not a number"),
    (
        "seeded",
        "a hash seed that the program did not see",
        f"{SECOND}: PYTHONHASHSEED was set to 0, and the program saw None",
    ),
    (
        "seeded",
        "a hash seed that the interpreter did not read",
        f"{SECOND}: PYTHONHASHSEED was not in force: it was not set so before the start",
    ),
    (
        "seeded",
        "no one looked at the hash seed",
        f"{SECOND}: runtime.json does not say whether PYTHONHASHSEED was in force",
    ),
    ("numerics_in_force", "a variable that was not there", f"{SECOND}: not in force: MKL_CBWR"),
    (
        "numerics_in_force",
        "another profile inside",
        f"{SECOND}: runtime.json has the profile 'native', the recipe portable",
    ),
    (
        "numerics_in_force",
        "another profile in run.json",
        f"{SECOND}: run.json has the profile 'native', the recipe portable",
    ),
    (
        "numerics_in_force",
        "another profile in the record",
        f"{SECOND}: the environment record has the profile 'native', the recipe portable",
    ),
    *(
        (
            "numerics_in_force",
            fault,
            f"{SECOND}: runtime.json does not say what was compared with the profile",
        )
        for fault in (
            "no list of what is missing",
            "nothing requested",
            "requested as a list",
            "nothing reported",
            "a report that is null",
            "no version",
        )
    ),
    (
        "numerics_in_force",
        "a setting that the host did not set",
        f"{SECOND}: run.json does not set: ATEN_CPU_CAPABILITY",
    ),
    (
        "numerics_in_force",
        "another value requested",
        f"{SECOND}: the profile sets other values: MKL_CBWR",
    ),
    (
        "numerics_in_force",
        "a setting that the profile does not have",
        f"{SECOND}: the profile sets other values: FAST",
    ),
    (
        "numerics_in_force",
        "a library that reports more threads",
        f"{SECOND}: the libraries report other values: OMP_NUM_THREADS, MKL_NUM_THREADS",
    ),
    (
        "numerics_in_force",
        "a feature that should be off",
        f"{SECOND}: the libraries report other values: NPY_DISABLE_CPU_FEATURES",
    ),
    ("hardware_recorded", "no device", f"{SECOND}: inside.device.kind is not recorded"),
    ("hardware_recorded", "no device asked for", f"{SECOND}: inside.device.kind is not recorded"),
    (
        "hardware_recorded",
        "no model, and no list of what is missing",
        f"{SECOND}: host.cpu.model is not recorded, and no reason is given",
    ),
    ("data_recorded", "a word", "the recipe does not say which data it uses"),
    ("source_clean", "no commit in any run", f"{FIRST}: the environment record names no commit"),
    ("source_clean", "a commit that is a number", f"{FIRST}: the environment record names no commit"),
    ("several_seeds", "no seeds named", "the recipe names no seeds"),
    ("hardware_recorded", "fell back to the CPU", f"{SECOND}: asked to train on cuda, trained on cpu"),
    (
        "hardware_recorded",
        "another platform than asked for",
        f"{SECOND}: asked to be judged on xla-cpu, trained on cpu-x86_64-unknown",
    ),
    ("hardware_recorded", "no memory", f"{SECOND}: host.memory.total_bytes is not recorded"),
    ("environment_recorded", "no kernel", f"{SECOND}: not recorded: host.kernel"),
    ("environment_recorded", "no kernel, with a reason", f"{SECOND}: not recorded: host.kernel (not Linux)"),
    ("environment_recorded", "missing without a reason", f"{SECOND}: missing without a reason: host"),
    (
        "environment_compatible",
        "another environment and other numbers",
        "the environment differs in something that is not recorded, and so do the metrics",
    ),
    (
        "config_saved",
        "another one than the recipe's",
        f"{SECOND}: config.yaml differs from the recipe: training.gamma",
    ),
    (
        "checkpoints_complete",
        "one is missing",
        f"{SECOND}: checkpoint_40960.pt is missing (due at step 40000)",
    ),
    ("checkpoints_complete", "the final model is missing", f"{SECOND}: final_model.pt is missing"),
    (
        "checkpoints_complete",
        "does not load",
        f"{SECOND}: checkpoint_10240.pt: it was not shown to load: not a zip file",
    ),
    (
        "checkpoints_complete",
        "never loaded",
        f"{SECOND}: final_model.pt: it was not shown to load: never tried",
    ),
    (
        "checkpoints_complete",
        "updates end too early",
        f"{SECOND}: no update ended at or after step 100000, so no checkpoint can be due there",
    ),
    (
        "checkpoints_complete",
        "no interval promised",
        f"{SECOND}: config.yaml promises no checkpoints: one every None of 100000 steps",
    ),
    ("logs_complete", "a torn line", f"{SECOND}: line 49 is torn"),
    ("logs_complete", "a problem behind a warning", f"{SECOND}: torn"),
    ("logs_complete", "no records", f"{SECOND}: no metric was logged"),
    ("logs_complete", "no metrics", f"{SECOND}: no metric was logged"),
    ("logs_complete", "missing_step, of which the reader only warns", f"{SECOND}: not whole"),
    (
        "logs_complete",
        "no promised end",
        f"{SECOND}: config.yaml promises no end: training.total_timesteps is None",
    ),
    (
        "logs_complete",
        "ends early",
        f"{SECOND}: metrics.jsonl ends at step 98304, before the promised 100000",
    ),
    ("logs_complete", "no timing", f"{SECOND}: timing.jsonl missing or empty"),
    ("logs_complete", "no standard error", f"{SECOND}: stderr.log missing"),
    ("expected_declared", "no tolerance", "expected without a finite value and tolerance: eval/return"),
    ("pinned_image", "no reference", f"{SECOND}: the image is not pinned by content, but None"),
    (
        "pinned_image",
        "another image ran",
        f"{SECOND}: ran in image '{planted.DATA}', but {planted.IMAGE} is the pinned one",
    ),
    ("hardened", "a network", f"{SECOND}: not in force: no network"),
    (
        "hardened",
        "capabilities unknown",
        f"{SECOND}: not in force: all capabilities dropped, no capability added",
    ),
    ("source_clean", "dirty", f"{SECOND}: some files differ from commit 1f2e3d4c"),
    ("source_clean", "two commits", "the runs are from different commits: 1f2e3d4c, 99999999"),
    (
        "resume_equal",
        "another number",
        (
            "resumed from checkpoint_40960.pt, metrics.jsonl differs from the uninterrupted run: loss at "
            "step 43008 is 0.25, expected 0.5"
        ),
    ),
    ("resume_equal", "the resumed run crashed", "the resumed run did not finish: exit code 1"),
    (
        "unchanged_when_varied",
        "one of them is guilty",
        "with umask varied the run differs from step 2048 on: losses/policy is 0.25, expected 0.5",
    ),
    (
        "unchanged_when_varied",
        "two of them together are",
        "with umask and clock varied the run differs from step 2048 on: losses/policy is 0.25, expected 0.5",
    ),
    (
        "unchanged_when_varied",
        "under one the run does not finish",
        "with umask varied the run does not finish: exit code 1",
    ),
    (
        "unchanged_when_varied",
        "only now and then",
        (
            "with umask and clock varied the run differs now and then from step 2048 on: losses/policy is "
            "0.25, expected 0.5"
        ),
    ),
    (
        "unchanged_when_varied",
        "with nothing varied as well",
        "with nothing varied the run differs from step 2048 on: losses/policy is 0.25, expected 0.5",
    ),
    ("several_seeds", "a seed is absent", "seeds without a finished run: [44]"),
    ("several_seeds", "two seeds", "only 2 seeds finished"),
    ("several_seeds", "a seed crashed", "seed 44 did not finish: exit code 1"),
    ("several_seeds", "two further seeds crashed", "seeds [45, 46] did not finish; 45: exit code 1"),
    (
        "several_seeds",
        "all seeds gave the same metrics",
        "3 seeds gave the same metrics, but for what repeats the seed: they are one result",
    ),
    (
        "several_seeds",
        "two of three gave the same metrics",
        "only 2 of 3 seeds gave metrics of their own",
    ),
    ("statistics", "no interval", "without an estimate and interval over all seeds: eval/return"),
    (
        "statistics",
        "one seed ended at no number",
        (
            "without an estimate and interval over all seeds: eval/return "
            "(eval/return of seed 43 ended at nan, which is not a finite number)"
        ),
    ),
    (
        "statistics",
        "one seed never logged it",
        "without an estimate and interval over all seeds: eval/return (seed 43 never logged eval/return)",
    ),
    ("statistics", "over two seeds", "only 2 seeds finished; an interval takes at least 3"),
    (
        "statistics",
        "a seed crashed",
        "seeds [45] did not finish, so an estimate would be one over the others only",
    ),
    (
        "statistics",
        "all seeds gave the same metrics",
        "only 1 of 3 seeds are known to have metrics of their own",
    ),
    (
        "statistics",
        "the expected value above what the seeds support",
        "eval/return is expected to be 500 within 2, but 3 seeds support [485, 497]",
    ),
    (
        "statistics",
        "all ended alike, elsewhere",
        "eval/return is expected to be 490 within 10, but all 3 seeds ended at 300",
    ),
]


@pytest.mark.parametrize(("name", "fault", "reason"), FAILED)
def test_a_broken_promise_is_failed_and_names_what_broke(name, fault, reason):
    assert said(name, fault) == (Status.FAILED, reason)


ERRORS = [
    ("unchanged_when_varied", "one cannot be made", "clock was not varied: there is no clock"),
    ("numerics_in_force", "an unknown profile asked for", "the recipe asks for the profile 'fastest'"),
    ("repeatable", "one run only", "two runs are needed, and there is only one"),
    ("repeatable", "an unfinished run", "a run is incomplete, so its metrics prove nothing"),
    ("repeatable", "a torn line", "torn_line in the actual file: cut off"),
    (
        "equals_golden",
        "the golden of another seed",
        f"{GOLDEN}: provenance.json has seed 43, but the run has 42",
    ),
    ("equals_golden", "nothing compared", f"{GOLDEN}: no metric could be compared"),
    ("equals_golden", "an unfinished run", "there is no finished run to compare with the golden"),
    ("equals_golden", "a torn line", f"{GOLDEN}: torn_line in the actual file: cut off"),
    (
        "equals_golden",
        "neither run nor golden says which seed",
        f"{GOLDEN}: provenance.json has seed None, but the run has None",
    ),
    ("trace_equal", "nothing compared", "no traced update could be compared"),
    ("trace_equal", "traces never compared", "the traces of the runs were not compared"),
    ("trace_equal", "the golden's trace never compared", f"the trace was not compared with that of {GOLDEN}"),
    ("trace_equal", "only some updates compared", "only 48 of 49 traced updates were compared"),
    ("headline_results", "nothing expected", "the recipe declares no expected results"),
    ("unmodified", "run.json does not say", f"{SECOND}: run.json does not say"),
    ("config_saved", "never compared", "config.yaml was never compared with the recipe"),
    ("logs_complete", "no one read the metrics", "the metrics were not read"),
    ("environment_compatible", "a golden without a fingerprint", f"{GOLDEN} holds no numerics fingerprint"),
    (
        "environment_compatible",
        "equal fingerprints of differing records",
        "the fingerprints agree, but the records differ in inside.torch.version",
    ),
    (
        "environment_compatible",
        "another environment and a torn line",
        f"{UNKNOWN}; torn_line in the actual file: cut off",
    ),
    (
        "environment_compatible",
        "another environment and a longer golden",
        f"{UNKNOWN}; only 49 of 200 records were compared",
    ),
    ("statistics", "nothing expected", "the recipe declares no result to estimate"),
    ("pinned_image", "no image", "run.json does not say what the runs ran in"),
    ("hardened", "isolation unknown", "run.json does not say what confined the runs"),
]


@pytest.mark.parametrize(("name", "fault", "reason"), ERRORS)
def test_evidence_that_does_not_suffice_is_an_error_and_names_what_is_lacking(name, fault, reason):
    assert said(name, fault) == (Status.ERROR, reason)


SKIPPED = [
    (
        "equals_golden",
        planted.with_(golden=None, golden_missing_because="seed 7 has none"),
        "seed 7 has none",
    ),
    (
        "equals_golden",
        planted.with_(golden=None),
        "there is no golden for this recipe, platform and seed",
    ),
    ("environment_compatible", planted.with_(golden=None), "there is no golden to compare with"),
    (
        "pinned_image",
        planted.LOCAL,
        "ran in a virtual environment made from the same lock, not in a container",
    ),
    ("hardened", planted.LOCAL, "ran as a process of this user, without a container"),
    ("resume_equal", planted.with_(resume=None), "no run was stopped and resumed; it was not requested"),
    (
        "unchanged_when_varied",
        planted.with_(varied=None),
        "the recipe names 3 variations; they were not requested",
    ),
    (
        "unchanged_when_varied",
        planted.in_recipe("immune_to", []),
        "the recipe names no variation that it is immune to",
    ),
    ("several_seeds", planted.with_(sweep=None), "one seed was judged; no others were requested"),
    ("statistics", planted.with_(sweep=None), "one seed was judged; statistics were not requested"),
    (
        "data_recorded",
        planted.in_recipe("data", "none"),
        "the recipe uses no data: all of it comes from the seed",
    ),
    (
        "source_clean",
        planted.both(
            planted.in_runs("environment", "source", {}),
            planted.on_run(0, environment=lambda old: {**old, "missing": {"source.commit": "no repository"}}),
            planted.on_run(1, environment=lambda old: {**old, "missing": {"source.commit": "no repository"}}),
        ),
        "there is no commit to name: no repository",
    ),
]


@pytest.mark.parametrize(("name", "case", "reason"), SKIPPED)
def test_what_nobody_could_or_was_asked_to_judge_is_skipped_with_its_reason(name, case, reason):
    assert said(name, case) == (Status.SKIPPED, reason)


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


REMEDIES = {
    "repeatable": f"see where they differ: `reprokit diff {FIRST} {SECOND}`",
    "equals_golden": (
        f"see what changed: `reprokit diff {GOLDEN} {FIRST}`; promote it if the change is intended"
    ),
    "environment_compatible": f"see all of it: `reprokit env diff {GOLDEN} {FIRST}`",
}


@pytest.mark.parametrize("name", REMEDIES)
def test_a_remedy_that_is_a_command_can_be_typed_as_it_stands(name):
    fault = next(iter(planted.FAULTS[name].values()))
    assert CHECKS[name].check(fault(planted.clean())).remedy == REMEDIES[name]


def test_the_command_that_runs_several_seeds_is_named():
    alone = planted.with_(sweep=None)(planted.clean())
    assert CHECKS["several_seeds"].check(alone).remedy == "run several: `reprokit sweep RECIPE`"
    one_seed = planted.in_recipe("seeds", [42])(alone)
    assert CHECKS["several_seeds"].check(one_seed).remedy == "run several: `reprokit sweep RECIPE --seeds 5`"


def test_the_seeds_without_a_finished_run_are_named_with_their_command():
    one = planted.FAULTS["several_seeds"]["a seed crashed"](planted.clean())
    assert CHECKS["several_seeds"].check(one).remedy == "run them: `reprokit sweep RECIPE --seeds 44,`"
    two = planted.FAULTS["several_seeds"]["two further seeds crashed"](planted.clean())
    assert CHECKS["several_seeds"].check(two).remedy == "run them: `reprokit sweep RECIPE --seeds 45,46`"


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


def test_a_digest_that_differs_without_a_place_is_told_all_the_same():
    nowhere = replace(planted.OTHER_TRACE, first=None)
    assert said("trace_equal", planted.with_(trace_repeats=(nowhere,))) == (
        Status.FAILED,
        "parameters or random states differ, first a digest at step None",
    )


def test_a_trace_says_which_of_its_comparisons_it_passed():
    agree = "49 updates have equal parameters and random states in all runs"
    assert said("trace_equal", planted.with_(golden=None)) == (Status.PASSED, agree)
    assert said("trace_equal", planted.on_golden(comparison=planted.CLOSE)) == (
        Status.PASSED,
        f"{agree}; the metrics differ from the golden, so its trace is not compared",
    )


def test_two_results_are_counted():
    assert said("headline_results", planted.GREEN["headline_results"]["two results"])[1] == (
        "2 expected results reached by every run"
    )
    second = planted.with_key("expected", "losses/value", {"value": 1.5, "rtol": 0.0, "atol": 0.0})
    assert said("expected_declared", second)[1] == "the recipe expects 2 results, each with its tolerance"
    assert said("nondeterminism_declared", planted.in_recipe("nondeterminism", ["a", "b"]))[1] == (
        "2 known sources of nondeterminism declared"
    )
    assert said("nondeterminism_declared", planted.in_recipe("nondeterminism", []))[1] == (
        "the recipe declares that no source of nondeterminism is known"
    )


def test_overrides_are_named_in_one_order_and_once():
    overridden = planted.both(
        planted.with_(modified=("b=1", "a=2")), planted.in_runs("run", "modified", ["b=1", "c=3", "a=2"])
    )
    assert said("unmodified", overridden)[1] == "run with other settings than the recipe's: a=2, b=1, c=3"


def test_several_settings_that_differ_are_named_in_one_order():
    other = planted.both(
        planted.in_run("runtime", "numerics.requested.B", "1"),
        planted.in_run("runtime", "numerics.requested.A", "1"),
        planted.in_run("run", "environment.A", "1"),
        planted.in_run("run", "environment.B", "1"),
    )
    assert said("numerics_in_force", other)[1] == f"{SECOND}: the profile sets other values: A, B"


def test_environments_are_counted_as_the_configuration_has_them():
    one = planted.in_runs("config", "environment.num_envs", ...)
    assert "torch and 1 environment, which used it;" in said("seeded", one)[1]
    none = planted.in_runs("config", "environment", ...)
    assert "torch and 0 environments;" in said("seeded", none)[1]


def test_a_record_with_nothing_missing_says_nothing_of_it():
    complete = planted.in_runs("environment", "missing", {})
    assert said("environment_recorded", complete) == (Status.PASSED, "every required field is recorded")


def test_a_machine_without_a_model_is_told_by_its_architecture():
    reason = said("hardware_recorded", planted.GREEN["hardware_recorded"]["no model, with a reason"])[1]
    assert reason == "trained on cpu: x86_64, 2 cores, 8.0 GiB"


def test_statistics_over_several_results_are_counted():
    interval = planted.sweep().intervals["eval/return"]
    both = dict.fromkeys(("eval/return", "eval/length"), 490.0)
    two = planted.both(
        planted.with_key("expected", "eval/length", {"value": 490.0}),
        planted.on_sweep(
            final_values=dict.fromkeys((42, 43, 44), both), intervals=dict.fromkeys(both, interval)
        ),
    )
    status, reason = said("statistics", two)
    assert status is Status.PASSED
    assert reason.startswith("2 results estimated over 3 seeds; ")


def test_seeds_that_all_ended_alike_leave_open_how_others_end():
    status, reason = said("statistics", planted.GREEN["statistics"]["all ended alike"])
    assert status is Status.PASSED
    assert reason == (
        "1 result estimated over 3 seeds; "
        "all seeds ended alike in eval/return, and up to 63% of others may not"
    )


def test_a_plain_command_needs_a_command_to_check_it_too():
    assert said("verification_available", planted.with_(rerun=" "), evidence=planted.plain()) == (
        Status.FAILED,
        "no command that checks this result is recorded",
    )
    assert said("verification_available", evidence=planted.plain()) == (
        Status.PASSED,
        "anyone can check it: reprokit reproduce --seed 42 -- python train.py",
    )


def test_a_golden_within_tolerance_is_said_not_to_be_bit_for_bit():
    status, reason = said("equals_golden", planted.on_golden(comparison=planted.CLOSE))
    assert status is Status.PASSED
    assert reason.endswith("within the recipe's tolerances, but not bit for bit")


def test_an_environment_that_differs_with_equal_numbers_passes_and_says_what_differs():
    status, reason = said(
        "environment_compatible",
        planted.GREEN["environment_compatible"]["another environment, equal numbers"],
    )
    assert status is Status.PASSED
    names = ", ".join(f"inside.packages.p{number}" for number in range(5))
    differs = f"the environment differs in {names} and 2 more"
    assert reason == f"{differs}; the metrics equal those of the golden nevertheless"


def test_five_differences_are_all_named():
    diff = [{"field": f"f{number}", "can_change_numbers": "maybe"} for number in range(5)]
    _, reason = said(
        "environment_compatible", planted.on_golden(fingerprint_equal=False, environment_diff=diff)
    )
    assert reason.startswith("the environment differs in f0, f1, f2, f3, f4; ")


def test_an_environment_that_differs_without_a_comparison_cannot_be_judged():
    status, reason = said("environment_compatible", "another environment and no comparison")
    assert status is Status.ERROR
    assert reason.endswith("; no metric could be compared")


def test_a_container_opened_for_its_gpu_is_hardened_and_says_so():
    status, reason = said("hardened", planted.GREEN["hardened"]["GPU devices for a GPU run"])
    assert (status, reason) == (
        Status.PASSED,
        "the container was hardened in every run, opened for gpu devices",
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


def test_a_lock_that_is_not_at_hand_is_said_not_to_have_been_read():
    assert said("versions_locked", planted.with_(locked=None)) == (
        Status.PASSED,
        f"3 packages recorded, in an environment made from the lock {planted.LOCK}",
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


def test_one_file_differs_and_several_differ():
    evidence = planted.both(
        planted.in_runs("environment", "source.dirty", True),
        planted.in_runs("environment", "source.changed", 1),
    )(planted.clean())
    assert ": 1 file differs from commit" in CHECKS["source_clean"].check(evidence).reason


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


def test_a_run_from_before_seeds_in_use_were_recorded_is_judged_as_it_was():
    assert said("seeded", planted.in_runs("runtime", "seeding.in_use", ...)) == (
        Status.PASSED,
        "seed 42 went to python, numpy, torch and 8 environments; PYTHONHASHSEED was 0 before the start",
    )


def remedy_without_golden(*faults):
    evidence = replace(planted.clean(), golden=None, golden_missing_because="there is none")
    return CHECKS["equals_golden"].check(planted.both(*faults)(evidence) if faults else evidence).remedy


def test_agreeing_runs_without_a_golden_are_to_be_blessed_by_name():
    assert remedy_without_golden() == (
        "promote two runs that agree: `reprokit golden promote cartpole --reason 'first golden'`"
    )


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


def test_an_expected_metric_that_was_never_logged_is_told_with_the_one_that_was_meant():
    typed = planted.in_recipe("expected", {"eval/retrun": {"value": 490.0, "rtol": 0.0, "atol": 10.0}})
    assert said("headline_results", typed) == (
        Status.FAILED,
        f"{FIRST}: eval/retrun was never logged; did the recipe mean 'eval/return'?",
    )


def test_a_training_shorter_than_the_interval_of_checkpoints_is_to_be_mended_in_the_recipe():
    short = planted.both(
        planted.in_runs("config", "training.total_timesteps", 4096),
        planted.in_runs("config", "logging.save_interval", 10_000),
    )
    found = CHECKS["checkpoints_complete"].check(short(planted.clean()))
    assert found.reason == (
        f"{FIRST}: no checkpoint is due: one every 10000 steps, and the training ends after 4096"
    )
    assert found.remedy == "set logging.save_interval in recipe.yaml to a number of steps, at most 4096"


@pytest.mark.parametrize("name", ["repeatable", "logs_complete"])
def test_a_program_that_logs_nothing_is_told_where_to_log(name):
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
    assert "into the folder that {run_dir} names" in found.remedy


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
    ("fault", "why"),
    [
        (
            "ranks of a trainer whose samples no one recorded",
            "the traces of the ranks lack the samples of some updates, or their contents",
        ),
        (
            "ranks that the launcher did not record",
            "the recipe asks for 2 ranks, and the launcher recorded 1",
        ),
    ],
)
def test_ranks_of_a_trainer_that_nobody_could_look_at_are_not_called_distinct(fault, why):
    assert said("distinct", fault) == (Status.ERROR, f"{SECOND}: {why}")


@pytest.mark.parametrize(
    ("stopped", "ended"), [(False, "did not finish"), (True, "was stopped at the golden")]
)
def test_ranks_of_a_run_without_an_end_are_not_told_as_ranks_that_the_launcher_lost(stopped, ended):
    lost = planted.FAULTS["distinct"]["ranks that the launcher did not record"]
    unfinished = planted.on_run(1, complete=False, stopped_at_golden=stopped)
    finding = CHECKS["distinct"].check(planted.both(lost, unfinished)(planted.plain()))
    told = f"{SECOND}: the run {ended}, so not all that works side by side in it was looked at"
    assert (finding.status, finding.reason) == (Status.ERROR, told)
    assert finding.remedy == "run it again, to the end: `reprokit reproduce`"


@pytest.mark.parametrize(("updates", "told"), [(None, True), (5, False)])
def test_a_resumed_program_that_was_not_traced_passes_with_a_word_on_its_samples(updates, told):
    resumed = planted.on_resume(stop_args=("--stop",), updates=updates)
    status, reason = said("resume_equal", resumed)
    assert status is Status.PASSED
    assert ("which samples it trained on was not compared" in reason) is told
