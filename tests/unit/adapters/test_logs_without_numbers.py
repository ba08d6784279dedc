"""A log that is known by its name and holds no number hides no other that holds some."""

import pytest

from reprokit import adapters
from reprokit.core.comparison import exit_code
from reprokit.errors import MetricsError

PRINTED = "".join(f"iter {at} loss {at}.{{}}\n" for at in range(4))


def write(folder, name, content):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


#: Logs as their libraries leave them that were opened, closed, and given no number.
IDLE = {
    "metrics.csv": "",
    "progress.csv": "step,loss\n",
    "metrics.jsonl": "",
    "events.out.tfevents.1.host": bytes.fromhex(
        "1800000000000000a37f4b2209000000000000f03f1a0d627261696e2e4576656e743a3286bf577a"
    ),
    "wandb/offline-run-20261122_123456-ab12cd34/run-ab12cd34.wandb": bytes.fromhex(
        "3a572642e1be0096f6abb90500019201021003"
    ),
    "notes.csv": "step,note\n0,begun\n1,ended\n",
    "steps.jsonl": '{"step": 0}\n{"step": 1}\n',
}


@pytest.fixture(params=IDLE)
def runs(request, tmp_path):
    folders = tmp_path / "a", tmp_path / "b"
    for folder in folders:
        write(folder, request.param, IDLE[request.param])
    return folders


def test_a_printed_log_beside_one_without_numbers_is_compared(runs):
    for folder in runs:
        write(folder, "train.log", PRINTED.format(5, 5, 5, 5))
    assert exit_code(adapters.compare_runs(*runs)) == 0
    write(runs[1], "train.log", PRINTED.format(5, 5, 5, 6))
    comparison = adapters.compare_runs(*runs)
    assert exit_code(comparison) == 1
    assert comparison.divergence.metric == "train.log:loss"


def test_a_recipe_reads_it_too(runs):
    write(runs[0], "train.log", PRINTED.format(5, 5, 5, 5))
    made = adapters.canonical_records(runs[0], places={})
    assert made.sources["train.log"] == "printed"
    assert any(b'loss": 3.5' in record for record in made.records)


def test_a_text_that_differs_beside_equal_numbers_is_a_difference(tmp_path):
    folders = tmp_path / "a", tmp_path / "b"
    for folder, word in zip(folders, ("begun", "other"), strict=True):
        write(folder, "notes.csv", f"step,note\n0,{word}\n")
        write(folder, "train.log", PRINTED.format(5, 5, 5, 5))
    assert exit_code(adapters.compare_runs(*folders)) == 1


def test_a_log_with_numbers_is_read_alone_as_before(tmp_path):
    write(tmp_path, "metrics.csv", "step,loss\n0,nan\n")
    write(tmp_path, "train.log", PRINTED.format(5, 5, 5, 5))
    assert [source.name for source in adapters.find_all(tmp_path)] == ["metrics.csv"]


def test_a_damaged_log_is_named_and_not_passed_over(tmp_path):
    folders = tmp_path / "a", tmp_path / "b"
    for folder in folders:
        write(folder, "metrics.jsonl", '{"step": 0, "lo')
        write(folder, "train.log", PRINTED.format(5, 5, 5, 5))
    assert exit_code(adapters.compare_runs(*folders)) == 2


def test_numbers_in_a_named_log_of_one_run_alone_are_no_missing_printed_log(tmp_path):
    folders = tmp_path / "a", tmp_path / "b"
    for folder, rows in zip(folders, ("", "0,1.5\n"), strict=True):
        write(folder, "metrics.csv", f"step,loss\n{rows}")
        write(folder, "train.log", PRINTED.format(5, 5, 5, 5))
    comparison = adapters.compare_runs(*folders)
    assert exit_code(comparison) == 2
    assert "train.log" not in "".join(problem.message for problem in comparison.problems)


FOLDER = {
    "metrics.csv": "",
    "README.txt": "nothing to see\n",
    "settings.json": "{}",
    "model.pt": "x",
}


def test_the_error_says_what_was_looked_at_and_why_it_was_no_log(tmp_path):
    write(tmp_path, "README.txt", FOLDER["README.txt"])
    write(tmp_path, "settings.json", FOLDER["settings.json"])
    write(tmp_path, "model.pt", FOLDER["model.pt"])
    with pytest.raises(MetricsError) as error:
        adapters.compare_runs(tmp_path, tmp_path)
    assert "'README.txt' (neither records, nor a table, nor lines that repeat the same names)" in str(
        error.value
    )
    assert "'settings.json' (not named like a file of results)" in str(error.value)
    assert "'model.pt' (no known name)" in str(error.value)


def test_a_recipe_is_told_so_too(tmp_path):
    write(tmp_path, "README.txt", FOLDER["README.txt"])
    with pytest.raises(MetricsError, match=r"README\.txt' \(neither"):
        adapters.canonical_records(tmp_path, places={})
    write(tmp_path, "metrics.csv", "step,loss\n")
    with pytest.raises(MetricsError, match=r"metrics\.csv.*README\.txt' \(neither"):
        adapters.canonical_records(tmp_path, places={})


def test_a_pair_of_empty_logs_says_what_else_was_looked_at(tmp_path):
    for name, content in FOLDER.items():
        write(tmp_path, name, content)
    comparison = adapters.compare_runs(tmp_path, tmp_path)
    assert exit_code(comparison) == 2
    looked_at = [problem.message for problem in comparison.problems if problem.kind == "not_a_log"]
    assert any("'README.txt' (neither" in message for message in looked_at)
