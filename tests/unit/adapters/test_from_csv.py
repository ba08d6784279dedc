"""Tables: header, rows, cells."""

import math

import pytest

from reprokit import adapters
from reprokit.adapters import from_csv
from reprokit.core.comparison import exit_code


def readings(tmp_path, text):
    path = tmp_path / "progress.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(from_csv.read(path))


def words(found):
    return [kind for reading in found for kind, _ in reading.notes]


def test_cells_are_numbers_where_they_are_written_like_numbers(tmp_path):
    (reading,) = readings(tmp_path, "step,a,b,c,d,e\n256,0.5,-1e-3,,x y,007\n")
    assert reading.record == {"step": 256, "a": 0.5, "b": -0.001, "c": None, "d": "x y", "e": 7}
    assert reading.line == 2
    assert type(reading.record["step"]) is int


@pytest.mark.parametrize("text", ["-0", "-00", "-0.0"])
def test_zero_keeps_its_sign(tmp_path, text):
    assert repr(readings(tmp_path, f"a\n{text}\n")[0].record["a"]) == "-0.0"


@pytest.mark.parametrize("text", ["nan", "NaN", "NAN"])
def test_nan_is_a_number_in_any_letters(tmp_path, text):
    assert math.isnan(readings(tmp_path, f"a\n{text}\n")[0].record["a"])


@pytest.mark.parametrize("text", ["inf", "Infinity", "-inf", "+inf"])
def test_infinities_are_numbers(tmp_path, text):
    assert readings(tmp_path, f"a\n{text}\n")[0].record["a"] == float(text)


@pytest.mark.parametrize("text", ["0x10", "1_000", "1,5", "infinite", "tensor(0.5)", "True"])
def test_everything_else_is_text(tmp_path, text):
    assert readings(tmp_path, f'a\n"{text}"\n')[0].record["a"] == text


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("a,b\n1\n", "ragged_row"),
        ("step=0 loss=1.0\nstep=1 loss=0.5\n", "not_a_table"),
        ("epoch 1, loss: 0.5\nepoch 2, loss: 0.4\n", "not_a_table"),
        ("2026-01-01 10:00:00,123 INFO loss 0.5\n2026-01-01 10:00:01,9 INFO loss 0.4\n", "not_a_table"),
        ("starting, please wait\nstep=0 loss=1.0\n", "not_a_table"),
        ("1, loss=0.5\n2, loss=0.4\n", "not_a_table"),
        ("a,b\n1,2,3\n", "ragged_row"),
        ('a\n"1"2\n', "ragged_row"),
        ("a,a\n1,2\n", "duplicate_key"),
        ("a\n\n1\n", "blank_line"),
        ("\na\n1\n", "blank_line"),
        ("a\n1e400\n", "number_overflow"),
        ("a\n" + "9" * 700 + "\n", "integer_too_long"),
        ("", "empty_file"),
        ("a\n1", "no_final_newline"),
        (b"a\n\xff\n", "invalid_utf8"),
    ],
)
def test_what_is_wrong_with_a_table_has_a_word(tmp_path, text, word):
    assert word in words(readings(tmp_path, text))


def test_comments_above_the_header_are_passed_over(tmp_path):
    found = readings(tmp_path, '#{"t_start": 1, "env_id": "CartPole-v1"}\nr,l\n9.0,9\n')
    assert [reading.record for reading in found] == [{"r": 9.0, "l": 9}]


def test_names_have_no_blanks_around_them(tmp_path):
    found = readings(tmp_path, "      epoch,   train/loss\n          1,          0.5\n")
    assert [reading.record for reading in found] == [{"epoch": 1, "train/loss": 0.5}]
    assert words(readings(tmp_path, "a , a\n1,2\n")) == ["duplicate_key"]


def test_a_header_in_the_middle_is_passed_over_and_said(tmp_path):
    found = readings(tmp_path, "step,loss\n0,0.5\nstep,loss\n0,0.5\n1,0.25\n")
    assert [reading.record for reading in found] == [
        {"step": 0, "loss": 0.5},
        {"step": 0, "loss": 0.5},
        {"step": 1, "loss": 0.25},
    ]
    assert [(reading.line, reading.notes) for reading in found if reading.notes] == [
        (4, (("repeated_header", ""),))
    ]


def test_a_header_with_another_column_in_the_middle_names_what_follows(tmp_path):
    found = readings(tmp_path, "step,loss\n0,0.5\nstep,loss,acc\n1,0.25,0.75\n")
    assert [reading.record for reading in found] == [
        {"step": 0, "loss": 0.5},
        {"step": 1, "loss": 0.25, "acc": 0.75},
    ]
    assert words(found) == ["repeated_header"]


def test_a_header_in_the_middle_in_another_order_names_what_follows(tmp_path):
    found = readings(tmp_path, "step,loss,acc\n0,0.5,0.25\nstep,acc,loss\n1,0.75,0.125\n")
    assert [reading.record for reading in found] == [
        {"step": 0, "loss": 0.5, "acc": 0.25},
        {"step": 1, "loss": 0.125, "acc": 0.75},
    ]
    assert words(found) == ["repeated_header"]


def test_comments_among_the_rows_and_behind_them_are_passed_over_and_said(tmp_path):
    rows = "lp__,theta\n# Step size = 0.9\n-1.5,0.25\nlp__,theta\n# 0.1, 0.2, 0.3\n-1.25,0.5\n"
    found = readings(tmp_path, f"# model = a\n{rows}#\n# Elapsed: 3 s\n")
    assert [reading.record for reading in found] == [
        {"lp__": -1.5, "theta": 0.25},
        {"lp__": -1.25, "theta": 0.5},
    ]
    assert sorted(words(found)) == ["comment_line"] * 4 + ["repeated_header"]
    assert from_csv.unread_comments(tmp_path / "progress.csv").endswith("# Elapsed: 3 s\n")


def test_a_row_whose_first_cell_begins_with_a_number_sign_is_a_row(tmp_path):
    found = readings(tmp_path, "name,loss\n#1,0.5\n#2,0.25\n")
    assert [reading.record for reading in found] == [
        {"name": "#1", "loss": 0.5},
        {"name": "#2", "loss": 0.25},
    ]


def test_a_row_of_numbers_is_no_header_that_comes_again(tmp_path):
    assert [reading.record for reading in readings(tmp_path, "1\n2\n1\n")] == [{"1": 2}, {"1": 1}]
    assert [reading.record for reading in readings(tmp_path, "0.5,1\n0.25,2\n0.5,1\n")] == [
        {"column 1": 0.5, "column 2": 1},
        {"column 1": 0.25, "column 2": 2},
        {"column 1": 0.5, "column 2": 1},
    ]


def test_empty_lines_at_the_end_are_passed_over_and_said(tmp_path):
    found = readings(tmp_path, "a\n1\n2\n\n\n")
    assert [reading.record for reading in found] == [{"a": 1}, {"a": 2}]
    assert words(found) == ["blank_end"]


@pytest.mark.parametrize("mark", ["\t", ";"])
def test_tabs_and_semicolons_stand_between_cells_too(tmp_path, mark):
    found = readings(tmp_path, f"iter{mark}Logloss\n0{mark}0.5\n1{mark}0.25\n")
    assert [reading.record for reading in found] == [
        {"iter": 0, "Logloss": 0.5},
        {"iter": 1, "Logloss": 0.25},
    ]


def test_two_tables_are_compared(tmp_path):
    paths = tmp_path / "a.csv", tmp_path / "b.csv"
    for path, last in zip(paths, ("2.5", "2.75"), strict=True):
        path.write_text(f"step,loss\n0,1.5\n256,{last}\n")
    comparison = adapters.compare(*paths)
    assert (comparison.divergence.step, comparison.divergence.metric) == (256, "loss")
    assert comparison.records_compared == 2
    assert exit_code(adapters.compare(paths[0], paths[0])) == 0


@pytest.mark.parametrize("text", ["", "a,b\n"])
def test_tables_without_rows_cannot_be_compared(tmp_path, text):
    path = tmp_path / "a.csv"
    path.write_text(text)
    assert exit_code(adapters.compare(path, path)) == 2


def test_a_shorter_table_differs(tmp_path):
    paths = tmp_path / "a.csv", tmp_path / "b.csv"
    paths[0].write_text("a\n1\n2\n3\n")
    paths[1].write_text("a\n1\n")
    comparison = adapters.compare(*paths)
    assert exit_code(comparison) == 1
    assert (comparison.divergence.record, comparison.divergence.expected) == (1, {"a": 2})


@pytest.mark.parametrize(
    "text",
    [
        "step,lr=0.1,lr=0.01\n1,0.5,0.4\n",
        "agent 0,agent 1\n0.5,0.25\n",
        "name,value\nseed=1,left\n",
        "0,1\n0.5,0.25\n",
        "step,note\n1,loss 3 is better\n",
        "top-5 acc,layer 2\n,\n",
    ],
)
def test_a_table_with_numbers_in_its_names_or_its_texts_is_a_table(tmp_path, text):
    found = readings(tmp_path, text)
    assert words(found) == []
    assert [reading.record is not None for reading in found] == [True]


@pytest.mark.parametrize("cell", ["1" * 120_000 + "x", "a" + " " * 120_000, "a=" + " " * 120_000])
def test_a_cell_that_was_made_to_take_long_takes_no_time(tmp_path, cell):
    path = tmp_path / "progress.csv"
    path.write_text(f"{cell},b\n{cell},1\n" * 20)
    assert list(adapters.adapter_named("csv").read(path))


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.log"])
def test_a_sparse_file_of_terabytes_is_no_log_and_read_no_further_than_its_first_line(tmp_path, name):
    path = tmp_path / name
    with path.open("wb") as file:
        file.truncate(1 << 43)
    comparison, _ = adapters.compare_paths(path, path)
    assert "line_too_long" in {one.kind for one in comparison.problems}
