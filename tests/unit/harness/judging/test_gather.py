"""From run folders to evidence: what lies there is seen, and so is what was touched, torn or taken away."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from reprokit.errors import GoldenError, ReportError
from reprokit.golden import Promotion
from reprokit.harness.curation import promote
from reprokit.harness.judging.gather import gather
from reprokit.layout import read_json
from reprokit.workspace import sha256_of


@pytest.fixture
def evidence_of(here, recipe):
    def gathered(folders, *, of=recipe, **words):
        return gather(of, folders, golden_dir=here.golden_dir, **words)

    return gathered


@pytest.fixture
def pair(make, programs) -> tuple[Path, ...]:
    return make.of_recipe(programs["training"](), programs["training"]())


@pytest.fixture
def blessed(pair, here):
    return promote(
        pair,
        project=here,
        promotion=Promotion(
            reason="first golden", created_at="2026-11-20T10:15:00+00:00", allow_dirty=True, allow_failed=True
        ),
    )


def test_two_good_runs_are_seen_whole(evidence_of, pair):
    evidence = evidence_of(pair)
    assert evidence.platform == "cpu-x86_64"
    for run in evidence.runs:
        assert (run.complete, run.incomplete_because) == (True, "")
        assert (run.num_records, run.last_step, run.metric_names) == (5, 20480, ("losses/policy",))
        assert run.final_values["losses/policy"] == 1 / 20480
        assert run.update_steps == (4096, 8192, 12288, 16384, 20480)
        assert run.trace_records == 5
        assert run.config_differs == ()
        assert not run.metrics_problems
        final = run.checkpoints["final_model.pt"]
        assert (final["step"], final["sha256_ok"], final["loadable"]) == (20480, True, True)
    assert [one.identical for one in evidence.repeats] == [True]
    assert [(one.equal, one.records_compared) for one in evidence.trace_repeats] == [(True, 5)]


def test_every_later_run_is_compared_with_the_first(evidence_of, make, programs):
    good, bad = programs["training"](), programs["training"](loss=lambda step: 2 / step)
    evidence = evidence_of(make.of_recipe(good, good, bad))
    assert [one.identical for one in evidence.repeats] == [True, False]
    assert [one.equal for one in evidence.trace_repeats] == [True, False]
    assert evidence.repeats[1].divergence.step == 4096


def test_while_a_run_is_unfinished_nothing_is_compared(evidence_of, make, programs):
    folders = make.of_recipe(*[programs["training"]()] * 3)
    (folders[2] / "COMPLETE").unlink()
    evidence = evidence_of(folders)
    assert [run.complete for run in evidence.runs] == [True, True, False]
    assert (evidence.repeats, evidence.trace_repeats) == ((), ())


def test_a_run_that_left_a_name_of_the_hosts_is_not_whole(evidence_of, make, programs):
    def program(spec, output, on_tick):
        programs["training"]()(spec, output, on_tick)
        (output / "run.json").write_text("{}")

    [run] = evidence_of(make.of_recipe(program)).runs
    [problem] = run.metrics_problems
    assert (problem.kind, problem.severity) == ("left_in_output", "error")
    assert "run.json" in problem.message


@pytest.mark.parametrize(
    ("touch", "because"),
    [
        (
            lambda at: (at / "metrics.jsonl").write_text('{"step": 4096, "losses/policy": 9}\n'),
            "metrics.jsonl",
        ),
        (lambda at: (at / "checkpoints" / "final_model.pt").write_bytes(b"Weights"), "final_model.pt"),
        (lambda at: (at / "runtime.json").unlink(), "runtime.json is missing"),
        (lambda at: (at / "environment.json").write_text("{}"), "environment.json"),
        (lambda at: (at / "config.yaml").write_text("training: {}\n"), "config.yaml"),
        (lambda at: (at / "trace.jsonl").unlink(), "trace.jsonl is missing"),
        (lambda at: (at / "extra.txt").write_text(""), "extra.txt was added"),
        (lambda at: (at / "source" / "trainers" / "ppo.py").write_text(""), "ppo.py"),
    ],
)
def test_a_run_folder_that_was_touched_is_not_complete_and_says_what(evidence_of, pair, touch, because):
    touch(pair[0])
    evidence = evidence_of(pair)
    assert not evidence.runs[0].complete
    assert because in evidence.runs[0].incomplete_because
    assert evidence.repeats == ()


def test_a_checkpoint_with_other_bytes_is_neither_as_listed_nor_proven(evidence_of, pair):
    (pair[0] / "checkpoints" / "final_model.pt").write_bytes(b"Weights")
    final = evidence_of(pair).runs[0].checkpoints["final_model.pt"]
    assert (final["sha256_ok"], final["loadable"]) == (False, None)


def test_a_checkpoint_that_no_manifest_lists_says_so(evidence_of, make, programs):
    def program(spec, output, on_tick):
        programs["training"]()(spec, output, on_tick)
        (output / "checkpoints" / "checkpoint_7.pt").write_bytes(b"stray")

    [run] = evidence_of(make.of_recipe(program)).runs
    stray = run.checkpoints["checkpoint_7.pt"]
    assert (stray["sha256_ok"], stray["loadable"], stray["step"]) == (False, None, None)
    assert stray["reason"] == "not in MANIFEST.json"


def without(name: str, programs):
    def program(spec, output, on_tick):
        programs["training"]()(spec, output, on_tick)
        path = output / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    return program


def test_a_run_without_the_runtimes_proof_proves_no_checkpoint(evidence_of, make, programs):
    [run] = evidence_of(make.of_recipe(without("runtime.json", programs))).runs
    assert run.complete
    assert run.runtime == {}
    assert run.checkpoints["final_model.pt"]["loadable"] is None


def test_a_run_without_checkpoints_has_none(evidence_of, make, programs):
    [run] = evidence_of(make.of_recipe(without("checkpoints", programs))).runs
    assert run.checkpoints == {}


def test_runs_without_metrics_say_so_and_compare_to_nothing(evidence_of, make, programs):
    program = without("metrics.jsonl", programs)
    evidence = evidence_of(make.of_recipe(program, program))
    assert evidence.runs[0].num_records == 0
    assert evidence.runs[0].metrics_problems
    [comparison] = evidence.repeats
    assert (comparison.identical, comparison.comparable, comparison.records_compared) == (False, False, 0)


def test_runs_without_a_trace_have_no_trace_to_compare(evidence_of, make, programs):
    program = without("trace.jsonl", programs)
    evidence = evidence_of(make.of_recipe(program, program))
    assert evidence.trace_repeats == ()
    assert (evidence.runs[0].trace_records, evidence.runs[0].trace_digest) == (0, None)


def test_a_trace_that_only_one_run_has_is_a_difference(evidence_of, make, programs):
    folders = make.of_recipe(programs["training"](), without("trace.jsonl", programs))
    assert [one.equal for one in evidence_of(folders).trace_repeats] == [False]


def test_a_configuration_that_is_not_the_recipes_names_the_settings(evidence_of, make, programs, recipe):
    folders = make.of_recipe(programs["training"]())
    text = (folders[0] / "config.yaml").read_text()
    assert "gamma: 0.99" in text
    (folders[0] / "config.yaml").write_text(text.replace("gamma: 0.99", "gamma: 1") + "more: 1\n")
    assert evidence_of(folders).runs[0].config_differs == ("more", "training.gamma")


# The golden


def test_without_a_golden_the_reason_names_recipe_platform_and_seed(evidence_of, pair):
    evidence = evidence_of(pair)
    assert evidence.golden is None
    assert evidence.golden_missing_because == (
        "there is no golden for cartpole_baseline on cpu-x86_64 with seed 42"
    )


def test_runs_are_held_against_the_golden_of_their_recipe_platform_and_seed(evidence_of, pair, blessed):
    golden = evidence_of(pair).golden
    assert golden.path == str(blessed.path)
    assert golden.comparison.identical
    assert (golden.fingerprint_equal, golden.changed) == (True, ())
    assert golden.trace.equal
    assert golden.num_records == 5


def test_another_seed_has_another_golden(evidence_of, make, programs, blessed):
    evidence = evidence_of(make.of_recipe(programs["training"](), seed=7))
    assert evidence.golden is None
    assert "seed 7" in evidence.golden_missing_because


def test_other_numbers_differ_from_the_golden_in_metrics_and_trace(evidence_of, make, programs, blessed):
    golden = evidence_of(make.of_recipe(programs["training"](loss=lambda step: 2 / step))).golden
    assert not golden.comparison.identical
    assert not golden.trace.equal
    assert golden.fingerprint_equal


def test_what_of_the_recipe_changed_since_the_golden_is_named(evidence_of, pair, blessed):
    record = json.loads((pair[0] / "run.json").read_text())
    record["digests"]["trainer"] = "sha256:other"
    (pair[0] / "run.json").write_text(json.dumps(record))
    marker = json.loads((pair[0] / "COMPLETE").read_text())
    marker["files"]["run.json"]["sha256"] = sha256_of(pair[0] / "run.json")
    (pair[0] / "COMPLETE").write_text(json.dumps(marker))
    golden = evidence_of(pair).golden
    assert golden.changed == ("trainer",)


def test_an_edited_golden_is_refused(evidence_of, pair, blessed):
    blessed.metrics.write_text(blessed.metrics.read_text().replace("4096", "4097", 1))
    with pytest.raises(GoldenError):
        evidence_of(pair)


def test_an_unfinished_run_is_held_against_no_golden(evidence_of, pair, blessed):
    (pair[0] / "COMPLETE").unlink()
    evidence = evidence_of(pair)
    assert (evidence.golden, evidence.golden_missing_because) == (None, "no finished run to compare")


# Plain commands


def test_a_plain_commands_logs_are_found_wherever_they_are_named(evidence_of, make, programs):
    folders = make.of_command(*[programs["logging"](name="progress.jsonl")] * 2)
    evidence = evidence_of(folders, of=None)
    assert evidence.recipe is None
    assert evidence.golden_missing_because == "a plain command has no golden"
    assert evidence.runs[0].metric_names == ("loss",)
    assert evidence.repeats[0].identical
    assert evidence.runs[0].environment["inside"] == {"python": {"version": "3.11.7"}}


def test_a_metric_that_is_left_out_is_recorded_with_its_pattern(evidence_of, make, programs):
    folders = make.of_command(programs["logging"](), programs["logging"](loss=lambda step: 2 / step))
    assert not evidence_of(folders, of=None).repeats[0].identical
    evidence = evidence_of(folders, of=None, ignore=("lo*",))
    assert evidence.ignored_metrics == {"loss": "lo*"}
    assert not evidence.repeats[0].comparable


def test_a_folder_that_is_no_run_is_refused(evidence_of, tmp_path):
    with pytest.raises(ReportError):
        evidence_of((tmp_path,))


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", "\xff", "[" * 100_000])
def test_a_json_file_that_cannot_be_read_is_empty(tmp_path, text):
    (tmp_path / "x.json").write_bytes(text.encode("latin-1"))
    assert read_json(tmp_path / "x.json") == {}
    assert read_json(tmp_path / "nowhere.json") == {}
