"""Runs that are stopped where both differ from the golden: when, what they prove, and who refuses them."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from reprokit import adapters, reports, runs
from reprokit.compressed import compress
from reprokit.core.checklist import Status, Verdict
from reprokit.core.tolerance import Tolerance, Tolerances
from reprokit.errors import MetricsError, UsageError
from reprokit.golden import Promotion
from reprokit.harness import Request, audit, beside, judge_again
from reprokit.harness.curation import newest_pair, promote, runs_of_report
from reprokit.harness.judging.compared_with import watched_golden
from reprokit.harness.judging.compared_with.reference_run import read_reference_run
from reprokit.harness.judging.compared_with.watched_golden import golden_to_watch
from reprokit.harness.running.resuming.resume_point import choose
from support.fake_backend import training

NOW = "2026-11-20T10:15:00+00:00"
UPDATES = 10
WATCHED = Request(watch_golden=True)


def loss(step: int) -> float:
    return 1 / step


def off_from(update: int, *, by: float = 0.5):
    """The training's loss, another one from an update on (counted from 0)."""
    return lambda step: loss(step) + (by if step >= 4096 * (update + 1) else 0.0)


@pytest.fixture
def blessed(make, here):
    pair = make.of_recipe(training(records=UPDATES), training(records=UPDATES))
    return promote(
        pair,
        project=here,
        promotion=Promotion(reason="first", created_at=NOW, allow_dirty=True, allow_failed=True),
    )


def growing(of, meet: threading.Barrier, *, records: int = UPDATES, seen: list[int] | None = None):
    """A training whose metrics grow by a record a tick, in step with the other run."""

    def program(spec, output: Path, on_tick) -> None:
        training(loss=of, records=records)(spec, output, lambda: None)
        lines = (output / "metrics.jsonl").read_text().splitlines(keepends=True)
        (output / "metrics.jsonl").write_text("")
        written = 0
        try:
            for line in lines:
                with (output / "metrics.jsonl").open("a") as stream:
                    stream.write(line)
                written += 1
                meet.wait(timeout=20)
                on_tick()
        finally:
            meet.abort()  # the other one need not wait for a run that has ended
            if seen is not None:
                seen.append(written)

    def tolerant(spec, output, on_tick):
        try:
            program(spec, output, on_tick)
        except threading.BrokenBarrierError:
            on_tick()

    return tolerant


@pytest.fixture
def watched(make, here, recipe, blessed):
    """Both runs side by side, followed; the metrics as either run left them."""

    def made(one, other, *, request=WATCHED, of=recipe, records=UPDATES):
        meet = threading.Barrier(2)
        return make.of_recipe(
            growing(one, meet, records=records),
            growing(other, meet, records=records),
            side_by_side=2,
            find_golden=golden_to_watch(of, request, golden_dir=here.golden_dir),
        )

    return made


def outcomes(folders) -> list[str]:
    return [json.loads((folder / "run.json").read_text())["outcome"] for folder in folders]


def lengths(folders) -> list[int]:
    return [len((folder / "metrics.jsonl").read_text().splitlines()) for folder in folders]


def judged(folders, here, **asked):
    return judge_again(folders, Request(**asked), project=here)


def test_two_runs_that_differ_from_the_golden_are_stopped_there_and_are_a_regression(watched, here):
    folders = watched(off_from(2), off_from(2))
    assert outcomes(folders) == ["stopped_at_golden"] * 2
    assert all(3 <= length < UPDATES for length in lengths(folders))
    assert not any((folder / "COMPLETE").exists() for folder in folders)
    report = judged(folders, here)
    assert (report.verdict, report.exit_code) == (Verdict.REGRESSION, 1)
    assert (report.divergence.record, report.divergence.step) == (2, 12288)
    assert "agree with each other until they were stopped" in report.sentence
    assert [one.record for one in report.nearby if one.is_divergence] == [2]
    assert [one.record for one in report.nearby if one.expected == one.actual] == [0, 1]
    first = next(one for one in report.nearby if one.is_divergence)
    assert (first.expected, first.actual) == (report.divergence.expected, report.divergence.actual)


def test_the_verdict_is_that_of_whole_runs(watched, make, here):
    stopped = judged(watched(off_from(2), off_from(2)), here)
    whole = judged(make.of_recipe(*[training(loss=off_from(2), records=UPDATES)] * 2), here)
    assert (stopped.verdict, stopped.divergence) == (whole.verdict, whole.divergence)


def test_a_golden_that_is_kept_compressed_stops_runs_too(watched, here, blessed):
    compress(blessed.path / "metrics.jsonl")
    folders = watched(off_from(2), off_from(2))
    assert outcomes(folders) == ["stopped_at_golden"] * 2
    report = judged(folders, here)
    assert report.verdict is Verdict.REGRESSION
    assert [one.record for one in report.nearby if one.is_divergence] == [2]
    assert adapters.compare_paths(blessed.path, folders[0])[0].divergence.record == 2


def test_two_runs_that_equal_the_golden_go_to_their_end(watched, here):
    folders = watched(loss, loss)
    assert outcomes(folders) == ["completed"] * 2
    assert lengths(folders) == [UPDATES] * 2


def test_where_one_run_alone_differs_the_two_are_nondeterministic(watched, here):
    folders = watched(loss, off_from(2))
    assert outcomes(folders) == ["stopped_at_golden"] * 2
    assert judged(folders, here).verdict is Verdict.NONDETERMINISTIC


def test_nothing_is_stopped_while_one_run_has_not_come_to_the_difference(make, here, recipe, blessed):
    """One run writes two records and ends late; the other has long differed by then."""
    ends = threading.Event()
    find = golden_to_watch(recipe, WATCHED, golden_dir=here.golden_dir)

    def slow(spec, output, on_tick):
        training(loss=off_from(2), records=2)(spec, output, on_tick)
        on_tick()
        assert ends.wait(20)

    def quick(spec, output, on_tick):
        training(loss=off_from(2), records=UPDATES)(spec, output, on_tick)
        for _ in range(3):
            on_tick()
        ends.set()

    folders = make.of_recipe(slow, quick, side_by_side=2, find_golden=find)
    assert outcomes(folders) == ["completed"] * 2


def test_a_line_that_is_not_whole_is_no_record(make, here, recipe, blessed):
    def torn(spec, output, on_tick):
        training(loss=off_from(2), records=3)(spec, output, on_tick)
        path = output / "metrics.jsonl"
        path.write_text(path.read_text().rstrip("\n"))
        on_tick()
        with path.open("a") as stream:
            stream.write("\n")

    find = golden_to_watch(recipe, WATCHED, golden_dir=here.golden_dir)
    assert outcomes(make.of_recipe(torn, torn, find_golden=find)) == ["completed"] * 2


def test_one_after_the_other_only_the_last_run_is_stopped(make, here, recipe, blessed):
    find = golden_to_watch(recipe, WATCHED, golden_dir=here.golden_dir)
    alone = [growing(off_from(2), threading.Barrier(1)) for _ in range(2)]
    folders = make.of_recipe(*alone, find_golden=find)
    assert outcomes(folders) == ["completed", "stopped_at_golden"]
    assert lengths(folders) == [UPDATES, 3]
    assert judged(folders, here).verdict is Verdict.REGRESSION


def test_what_is_within_the_tolerance_stops_nothing(make, here, recipe, blessed, watched, monkeypatch):
    real = watched_golden.golden_reference

    def wide(golden, of):
        return replace(real(golden, of), tolerances=Tolerances(default=Tolerance(atol=0.6)))

    monkeypatch.setattr(watched_golden, "golden_reference", wide)
    assert outcomes(watched(off_from(2), off_from(2))) == ["completed"] * 2
    assert outcomes(watched(off_from(2, by=0.7), off_from(2, by=0.7))) == ["stopped_at_golden"] * 2


def test_means_of_several_values_need_them_all(recipe, here, blessed, watched, monkeypatch):
    real = watched_golden.golden_reference
    means = Tolerances(default=Tolerance(atol=1e-9, mean_of=2))
    monkeypatch.setattr(watched_golden, "golden_reference", lambda *of: replace(real(*of), tolerances=means))
    assert outcomes(watched(off_from(2), off_from(2))) == ["completed"] * 2


@pytest.mark.parametrize("why", ["resume", "vary", "statistical", "foreign", "no golden"])
def test_where_it_must_not_stop_it_does_not(why, watched, here, blessed, monkeypatch):
    request = {
        "resume": Request(watch_golden=True, resume=True),
        "vary": Request(watch_golden=True, vary=True),
        "statistical": Request(watch_golden=True, statistical=True),
    }.get(why, WATCHED)
    if why == "foreign":
        real = watched_golden.golden_reference
        monkeypatch.setattr(
            watched_golden, "golden_reference", lambda *of: replace(real(*of), is_foreign=True)
        )
    if why == "no golden":
        for file in blessed.path.iterdir():
            file.unlink()
        blessed.path.rmdir()
    assert outcomes(watched(off_from(2), off_from(2), request=request)) == ["completed"] * 2


def test_a_watch_that_fails_costs_no_run_and_says_so(watched, here, blessed, told):
    (blessed.path / "metrics.jsonl").write_text("{torn")
    folders = watched(off_from(2), off_from(2))
    assert outcomes(folders) == ["completed"] * 2
    assert any("no longer watched" in note for note in told.notes)


def test_a_program_that_takes_records_back_is_not_stopped(make, here, recipe, blessed, told):
    def fickle(spec, output, on_tick):
        training(loss=off_from(2), records=2)(spec, output, on_tick)
        on_tick()
        (output / "metrics.jsonl").write_text("")
        on_tick()
        for name in ("trace.jsonl", "metrics.jsonl"):
            (output / name).unlink()
        (output / "checkpoints" / "final_model.pt").unlink()
        (output / "checkpoints" / "MANIFEST.json").unlink()
        (output / "checkpoints").rmdir()
        training(loss=loss, records=UPDATES)(spec, output, on_tick)
        on_tick()

    find = golden_to_watch(recipe, WATCHED, golden_dir=here.golden_dir)
    folders = make.of_recipe(fickle, fickle, find_golden=find)
    assert outcomes(folders) == ["completed"] * 2
    assert any("no longer watched" in note for note in told.notes)


@pytest.fixture
def stopped(watched):
    return watched(off_from(2), off_from(2))


def rewrite(folder: Path, **changes) -> None:
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**record, **changes}))


def test_in_another_environment_the_golden_is_stale(stopped, here):
    for folder in stopped:
        edit_inside(folder, packages={"torch": "2.14.0+cpu", "numpy": "2.4.6"})
    report = judged(stopped, here)
    assert (report.verdict, report.exit_code) == (Verdict.STALE_GOLDEN, 4)


def edit_inside(folder: Path, **changes) -> None:
    record = json.loads((folder / "environment.json").read_text())
    record["inside"].update(changes)
    (folder / "environment.json").write_text(json.dumps(record))


def test_switches_that_a_training_sets_are_not_yet_in_the_record_of_a_stopped_run(stopped, here, blessed):
    """The golden's record is from the end of its training: such a switch makes it no other environment."""
    file = blessed.path / "provenance.json"
    told = json.loads(file.read_text())
    told["environment"]["inside"]["torch"] = {"flags": {"deterministic_algorithms": True}}
    file.write_text(json.dumps(told))
    for folder in stopped:
        edit_inside(folder, torch={"flags": {"deterministic_algorithms": False}})
    assert judged(stopped, here).verdict is Verdict.REGRESSION
    for folder in stopped:
        edit_inside(folder, torch={"version": "2.14", "flags": {"deterministic_algorithms": False}})
    assert judged(stopped, here).verdict is Verdict.STALE_GOLDEN


def test_where_a_training_sets_its_threads_nothing_is_stopped(watched, blessed):
    file = blessed.path / "provenance.json"
    told = json.loads(file.read_text())
    told["environment"]["inside"]["torch"] = {"threads": 4}
    file.write_text(json.dumps(told))
    assert outcomes(watched(off_from(2), off_from(2))) == ["completed"] * 2


def test_a_forged_stop_of_runs_that_equal_the_golden_never_passes(make, here, blessed):
    pair = make.of_recipe(training(records=UPDATES), training(records=UPDATES))
    for folder in pair:
        (folder / "COMPLETE").unlink()
        rewrite(folder, outcome="stopped_at_golden", exit_code=None)
    report = judged(pair, here)
    assert (report.verdict, report.exit_code) == (Verdict.UNJUDGED, 4)
    rows = {row.id: row.status for row in report.checks}
    assert Status.PASSED not in {rows["repeatable"], rows["equals_golden"], rows["logs_complete"]}


def test_a_forged_stop_beside_a_whole_run_never_passes(make, here, blessed):
    pair = make.of_recipe(training(records=UPDATES), training(records=UPDATES))
    rewrite(pair[1], outcome="stopped_at_golden", exit_code=None)
    assert judged(pair, here).verdict is Verdict.NOT_RUN  # its COMPLETE is of another run.json
    (pair[1] / "COMPLETE").unlink()
    assert judged(pair, here).verdict is Verdict.UNJUDGED


def test_a_watch_that_stops_before_both_have_come_to_the_difference_proves_nothing(stopped, here):
    metrics = stopped[1] / "metrics.jsonl"
    metrics.write_text("".join(metrics.read_text().splitlines(keepends=True)[:2]))
    report = judged(stopped, here)
    assert (report.verdict, report.exit_code) == (Verdict.UNJUDGED, 4)


def test_a_run_that_failed_beside_a_stopped_one_is_what_is_told(stopped, here):
    rewrite(stopped[1], outcome="crashed", message="it crashed")
    assert judged(stopped, here).verdict is Verdict.NOT_RUN


def test_without_its_golden_a_stopped_pair_proves_nothing(stopped, here, blessed):
    for file in blessed.path.iterdir():
        file.unlink()
    blessed.path.rmdir()
    assert judged(stopped, here).verdict is Verdict.UNJUDGED


def test_a_copy_of_one_stopped_run_is_no_second_one(stopped, here):
    first = json.loads((stopped[0] / "run.json").read_text())
    rewrite(stopped[1], run_id=first["run_id"])
    assert judged(stopped, here).verdict is Verdict.UNJUDGED


def test_rows_that_need_whole_runs_say_that_they_were_stopped(stopped, here):
    rows = {row.id: row for row in judged(stopped, here).checks}
    for name in ("logs_complete", "checkpoints_complete", "headline_results", "seeded", "trace_equal"):
        assert (rows[name].status, rows[name].required) == (Status.SKIPPED, False), name
        assert "stopped" in rows[name].reason
    assert rows["repeatable"].status is Status.SKIPPED
    assert rows["equals_golden"].status is Status.FAILED


def test_parameters_that_differ_before_the_stop_make_the_runs_nondeterministic(stopped, here):
    lines = (stopped[1] / "trace.jsonl").read_text().splitlines()
    (stopped[1] / "trace.jsonl").write_text(
        "\n".join([lines[0].replace('"parameters": "', '"parameters": "0')]) + "\n"
    )
    assert judged(stopped, here).verdict is Verdict.NONDETERMINISTIC


def test_a_trace_that_was_torn_by_the_stop_is_no_difference(stopped, here):
    with (stopped[1] / "trace.jsonl").open("r+") as stream:
        whole = stream.read()
        stream.seek(0)
        stream.truncate()
        stream.write(whole[: len(whole) // 2])
    assert judged(stopped, here).verdict is Verdict.REGRESSION


def test_an_audit_finds_the_report_of_stopped_runs_honest_until_they_are_touched(stopped, here):
    report = judged(stopped, here)
    folder = here.reports_dir / "cartpole_baseline" / "T"
    reports.render_all(report, folder)
    assert audit(folder / "report.json", project=here).findings == ()
    (stopped[0] / "metrics.jsonl").write_text("")
    assert audit(folder / "report.json", project=here).findings
    with pytest.raises(UsageError, match="stopped at the first difference"):
        runs_of_report(folder / "report.json")


def test_everything_that_wants_a_finished_run_refuses_a_stopped_one(stopped, here, recipe):
    told = "stopped at the first difference"
    with pytest.raises(UsageError, match=told):
        promote(
            stopped,
            project=here,
            promotion=Promotion(reason="x", created_at=NOW, allow_dirty=True, allow_failed=True),
        )
    with pytest.raises(UsageError, match=told):
        newest_pair(here.runs_dir, recipe.name, seed=42)
    with pytest.raises(UsageError, match=told):
        beside(stopped)
    with pytest.raises(UsageError, match=told):
        read_reference_run(stopped[0])
    with pytest.raises(UsageError, match=told):
        choose(str(stopped[0]), project=here)
    assert not runs.read(stopped[0]).complete


def test_a_selftest_takes_the_finished_pair_before_it(stopped, here, recipe):
    pair = newest_pair(here.runs_dir, recipe.name, seed=None, as_it_stands=True)
    assert outcomes(pair) == ["completed"] * 2


def test_diff_tells_where_a_stopped_run_differs_and_never_that_it_agrees(stopped, blessed):
    found, _ = adapters.compare_paths(blessed.path, stopped[0])
    assert (found.identical, found.divergence.record) == (False, 2)
    with pytest.raises(MetricsError, match="its rest is not known"):
        adapters.compare_paths(stopped[0], stopped[1])
