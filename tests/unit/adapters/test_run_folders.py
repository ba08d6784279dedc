"""Run folders of plain commands: every metrics file counts."""

import pytest

from reprokit import adapters
from reprokit.core.comparison import Tolerance, Tolerances, exit_code
from reprokit.errors import MetricsError

ROWS = "step,loss\n0,1.5\n256,{}\n"
LINES = '{{"step": 0, "loss": 1.5}}\n{{"step": 256, "loss": {}}}\n'


@pytest.fixture
def runs(tmp_path):
    folders = tmp_path / "a", tmp_path / "b"
    for folder in folders:
        folder.mkdir()
    return folders


def write(folder, name, text):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def kinds(comparison):
    return [problem.kind for problem in comparison.problems]


def test_one_file_is_compared_without_a_prefix(runs):
    for folder in runs:
        write(folder, "progress.csv", ROWS.format(2.5))
    comparison = adapters.compare_runs(*runs)
    assert exit_code(comparison) == 0
    assert list(comparison.per_metric) == ["loss"]


def test_the_second_file_is_not_left_out(runs):
    for folder, value in zip(runs, (2.5, 2.75), strict=True):
        write(folder, "metrics.jsonl", LINES.format(9.0))
        write(folder, "logs/progress.csv", ROWS.format(value))
    comparison = adapters.compare_runs(*runs)
    assert exit_code(comparison) == 1
    assert comparison.divergence.metric == "logs/progress.csv:loss"
    assert list(comparison.per_metric) == ["metrics.jsonl:loss", "logs/progress.csv:loss"]
    assert (comparison.records_compared, comparison.metrics_compared) == (4, 2)


@pytest.mark.parametrize(("only", "kind"), [(0, "missing_source"), (1, "extra_source")])
def test_a_file_that_only_one_run_has_is_a_difference(runs, only, kind):
    for folder in runs:
        write(folder, "metrics.jsonl", LINES.format(9.0))
    write(runs[only], "extra.csv", ROWS.format(1.0))
    comparison = adapters.compare_runs(*runs)
    assert exit_code(comparison) == 1
    assert kinds(comparison) == [kind]
    assert "extra.csv" in comparison.divergence.what


def test_a_file_with_the_time_in_its_name_finds_its_twin(runs):
    write(runs[0], "run-20261120T1015.csv", ROWS.format(2.5))
    write(runs[1], "run-20261120T1016.csv", ROWS.format(2.75))
    comparison = adapters.compare_runs(*runs)
    assert exit_code(comparison) == 1
    assert kinds(comparison) == ["renamed_source"]
    assert comparison.divergence.metric == "loss"


def test_two_of_a_format_left_over_are_not_guessed_at(runs):
    write(runs[0], "a.csv", ROWS.format(2.5))
    write(runs[0], "b.csv", ROWS.format(2.5))
    write(runs[1], "c.csv", ROWS.format(2.5))
    comparison = adapters.compare_runs(*runs)
    assert exit_code(comparison) == 2
    assert kinds(comparison) == ["missing_source", "missing_source", "extra_source"]


def test_ignored_patterns_match_bare_names_and_names_with_their_file(runs):
    for folder, value in zip(runs, (2.5, 2.75), strict=True):
        write(folder, "metrics.jsonl", LINES.format(value))
        write(folder, "progress.csv", ROWS.format(value))
    assert exit_code(adapters.compare_runs(*runs, ignore=["progress.csv:loss"])) == 1
    assert (
        adapters.compare_runs(*runs, ignore=["progress.csv:loss"]).divergence.metric == "metrics.jsonl:loss"
    )
    assert adapters.ignored_metrics(runs, ["progress.csv:lo*"]) == {"loss": "progress.csv:lo*"}


def test_nothing_is_ignored_by_default(runs):
    for folder, value in zip(runs, (101.0, 102.0), strict=True):
        write(folder, "progress.csv", f"step,loss,time/fps\n0,1.0,{value}\n")
    assert adapters.compare_runs(*runs).divergence.metric == "time/fps"
    comparison = adapters.compare_runs(*runs, ignore=["time/*"])
    assert exit_code(comparison) == 0
    assert kinds(comparison) == ["ignored_metric"]
    assert adapters.ignored_metrics(runs, ["x", "time/*"]) == {"time/fps": "time/*"}


def test_an_empty_file_beside_others_is_said_but_does_not_stop_the_comparison(runs):
    for folder in runs:
        write(folder, "metrics.jsonl", LINES.format(9.0))
        write(folder, "monitor.csv", "r,l,t\n")
    comparison = adapters.compare_runs(*runs)
    assert exit_code(comparison) == 0
    assert [(problem.kind, problem.severity) for problem in comparison.problems] == [
        ("no_records", "warning")
    ]


def test_an_empty_file_on_one_side_only_stops_it(runs):
    for folder in runs:
        write(folder, "metrics.jsonl", LINES.format(9.0))
    write(runs[0], "monitor.csv", "r,l\n1,2\n")
    write(runs[1], "monitor.csv", "r,l\n")
    assert exit_code(adapters.compare_runs(*runs)) == 2


def test_runs_without_metrics_cannot_be_compared(runs):
    with pytest.raises(MetricsError, match="holds no metrics file") as error:
        adapters.compare_runs(*runs)
    assert error.value.kind == "no_metrics_file"


def test_a_metric_that_is_asked_for_may_be_in_one_file_only(runs):
    for folder, value in zip(runs, (2.5, 2.75), strict=True):
        write(folder, "metrics.jsonl", '{"step": 0, "kl": 1.0}\n')
        write(folder, "progress.csv", ROWS.format(value))
    assert exit_code(adapters.compare_runs(*runs, metrics=["kl"])) == 0
    assert exit_code(adapters.compare_runs(*runs, metrics=["loss"])) == 1
    assert exit_code(adapters.compare_runs(*runs, metrics=["progress.csv:loss"])) == 1
    assert exit_code(adapters.compare_runs(*runs, metrics=["kl", "nope"])) == 2
    loose = Tolerances(default=Tolerance(atol=1.0))
    assert exit_code(adapters.compare_runs(*runs, metrics=["loss"], tolerances=loose)) == 0


def test_folders_with_metrics_jsonl_are_compared_by_it_alone_when_paths_are_given(runs):
    for folder, value in zip(runs, (2.5, 2.75), strict=True):
        write(folder, "metrics.jsonl", LINES.format(9.0))
        write(folder, "progress.csv", ROWS.format(value))
    comparison, pairs = adapters.compare_paths(*runs)
    assert exit_code(comparison) == 0
    assert [pair[0].name for pair in pairs] == ["metrics.jsonl"]
    assert exit_code(adapters.compare_paths(runs[0], runs[1] / "metrics.jsonl")[0]) == 0


def test_what_differs_beside_metrics_jsonl_in_folders_of_others_is_named(runs):
    for folder, value in zip(runs, (2.5, 2.75), strict=True):
        write(folder, "metrics.jsonl", LINES.format(9.0))
        write(folder, "eval/progress.csv", ROWS.format(value))
        write(folder, "same.csv", ROWS.format(1.0))
        write(folder, "timing.jsonl", LINES.format(value))
    write(runs[1], "test.csv", ROWS.format(1.0))
    comparison, _ = adapters.compare_paths(*runs)
    assert kinds(comparison) == ["not_compared", "not_compared"]
    said = " ".join(one.message for one in comparison.problems)
    assert "'eval/progress.csv'" in said
    assert "'test.csv'" in said
    write(runs[0], "run.json", "{}")  # its own files are in metrics.jsonl
    assert kinds(adapters.compare_paths(*runs)[0]) == []


def test_two_formats_cannot_be_compared(runs):
    write(runs[0], "metrics.jsonl", LINES.format(9.0))
    write(runs[1], "progress.csv", ROWS.format(9.0))
    with pytest.raises(MetricsError, match="two formats"):
        adapters.compare_paths(runs[0] / "metrics.jsonl", runs[1])


def test_the_records_around_a_divergence_are_found_again(runs):
    for folder, value in zip(runs, (0.5, 0.25), strict=True):
        write(
            folder,
            "metrics.jsonl",
            "".join(f'{{"step": {at * 8}, "loss": {value if at == 10 else at}}}\n' for at in range(12)),
        )
    comparison, pairs = adapters.compare_paths(*runs)
    rows = adapters.around(pairs, comparison.divergence)
    assert [row.record for row in rows] == [7, 8, 9, 10, 11]
    assert [row.step for row in rows] == [56, 64, 72, 80, 88]
    assert [(row.expected, row.actual) for row in rows if row.is_divergence] == [(0.5, 0.25)]


def test_the_records_around_a_missing_record_are_whole_records(runs):
    write(runs[0], "progress.csv", ROWS.format(1.0) + "512,3.0\n")
    write(runs[1], "progress.csv", ROWS.format(1.0))
    comparison, pairs = adapters.compare_paths(*runs)
    rows = adapters.around(pairs, comparison.divergence)
    assert [row.is_divergence for row in rows] == [False, False, True]
    assert rows[2].expected == {"step": 512, "loss": 3.0}
    assert type(rows[2].actual).__name__ == "Missing"


def test_around_finds_the_file_among_several(runs):
    for folder, value in zip(runs, (0.5, 0.25), strict=True):
        write(folder, "a.jsonl", LINES.format(9.0))
        write(folder, "b.csv", ROWS.format(value))
    comparison, pairs = adapters.compare_paths(*runs)
    rows = adapters.around(pairs, comparison.divergence)
    assert [(row.expected, row.actual) for row in rows] == [(1.5, 1.5), (0.5, 0.25)]


def test_there_is_nothing_around_a_file_that_only_one_run_has(runs):
    for folder in runs:
        write(folder, "metrics.jsonl", LINES.format(9.0))
    write(runs[0], "extra.csv", ROWS.format(1.0))
    pairs, _ = adapters.pair_runs(*runs)
    divergence = adapters.compare_runs(*runs).divergence
    assert adapters.around([*pairs, *pairs], divergence) == ()


def test_around_a_missing_record_of_one_file_among_several(runs):
    for folder in runs:
        write(folder, "a.jsonl", LINES.format(9.0))
    write(runs[0], "b.csv", ROWS.format(1.0))
    write(runs[1], "b.csv", "step,loss\n0,1.5\n")
    comparison, pairs = adapters.compare_paths(*runs)
    assert comparison.divergence.metric == "b.csv"
    assert [row.is_divergence for row in adapters.around(pairs, comparison.divergence)] == [False, True]


@pytest.mark.parametrize("name", ["args.csv", "args.jsonl"])
def test_a_text_that_holds_the_runs_own_folder_is_no_difference(tmp_path, name):
    for run in ("a", "b"):
        (tmp_path / run).mkdir()
        where = tmp_path / run / "output" / "tb"
        content = f'{{"step": 0, "loss": 0.5, "logdir": "{where}"}}\n'
        if name.endswith(".csv"):
            content = f"step,loss,logdir\n0,0.5,{where}\n"
        (tmp_path / run / name).write_text(content)
    assert adapters.compare_runs(tmp_path / "a", tmp_path / "b").identical


def test_a_number_is_told_before_a_text_of_another_file(tmp_path):
    for run, text, loss in (("a", "x", 0.5), ("b", "y", 0.25)):
        (tmp_path / run).mkdir()
        (tmp_path / run / "a.jsonl").write_text(f'{{"step": 0, "text": "{text}", "loss": 1.0}}\n')
        (tmp_path / run / "b.jsonl").write_text(f'{{"step": 3, "loss": {loss}}}\n')
    found = adapters.compare_runs(tmp_path / "a", tmp_path / "b").divergence
    assert (found.metric, found.step) == ("b.jsonl:loss", 3)


def test_of_a_folder_the_file_of_the_same_name_is_compared_and_the_others_are_named(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "eval.jsonl").write_text('{"step": 0, "score": 1.0}\n')
    (folder / "train.jsonl").write_text('{"step": 0, "loss": 2.0}\n')
    (tmp_path / "train.jsonl").write_text('{"step": 0, "loss": 2.0}\n')
    comparison, _ = adapters.compare_paths(folder, tmp_path / "train.jsonl")
    assert (comparison.identical, *comparison.per_metric) == (True, "loss")
    (problem,) = comparison.problems
    assert (problem.kind, problem.severity) == ("others_not_read", "warning")
    assert "eval.jsonl" in problem.message


def test_which_file_of_a_folder_is_meant_is_not_guessed(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    for name in ("eval.jsonl", "train.jsonl"):
        (folder / name).write_text('{"step": 0, "loss": 2.0}\n')
    (tmp_path / "other.jsonl").write_text('{"step": 0, "loss": 2.0}\n')
    with pytest.raises(MetricsError, match="several metrics files") as raised:
        adapters.compare_paths(folder, tmp_path / "other.jsonl")
    assert "eval.jsonl" in raised.value.told()
