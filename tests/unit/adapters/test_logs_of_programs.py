"""Logs in the formats of many programs: found in a folder, read, compared, and their clocks named."""

import re
import shlex
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprokit import adapters
from reprokit.adapters import from_printed
from reprokit.adapters.from_printed import _named
from reprokit.cli import main

from .program_logs import FORMATS, allennlp_json, dino_txt, keras_csv, megatron_lines

LOSSES = (0.75, 0.5, 0.375, 0.25, 0.125)
CHANGED = (0.75, 0.5, 0.376, 0.25, 0.125)


@pytest.fixture
def diff(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments):
        with pytest.raises(SystemExit) as ended:
            main(["diff", *map(str, arguments)])
        return ended.value.code, capsys.readouterr().out

    return call


@pytest.fixture(params=FORMATS, ids=lambda writer: writer.__name__)
def log(request, tmp_path):
    """A function that writes a log, and what is expected of it."""

    def make(name, losses=LOSSES, late=0):
        request.param(tmp_path / name, losses, late)
        return tmp_path / name

    return make, FORMATS[request.param]


def test_it_is_found_and_two_equal_ones_are_equal(log, diff):
    make, _ = log
    code, out = diff(make("a"), make("b"))
    assert (code, out.splitlines()[0]) == (0, "IDENTICAL: equal in every value")


def test_one_number_that_changed_is_found_and_named_with_its_step(log, diff):
    make, (metric, step, _) = log
    code, out = diff(make("a"), make("b", CHANGED))
    assert code == 1
    place = re.fullmatch(
        r"DIFFERS: first at (?:step (\S+) \(record \d+\)|record \d+), metric (.+)", out.splitlines()[0]
    )
    assert place is not None
    assert (place[1], place[2]) == (None if step is None else str(step), metric)


def test_clocks_that_differ_alone_are_named_with_the_options_that_leave_them_out(log, diff):
    make, (_, _, clocks) = log
    code, out = diff(make("a"), make("b", late=2))
    if not clocks:
        assert code == 0
        return
    assert code == 1
    options = re.search(r"to leave them out: (.+)", out)[1]
    assert "no other value differs" in out
    assert [one for one in clocks if not re.search(rf"[ :]{re.escape(one)} \(", out)] == []
    assert diff(make("a"), make("b", late=2), *shlex.split(options))[0] == 0
    code, out = diff(make("a"), make("c", CHANGED, late=2), *shlex.split(options))
    assert code == 1


def test_a_number_that_changed_is_named_beside_the_clocks(log, diff):
    make, (metric, step, clocks) = log
    code, out = diff(make("a"), make("b", CHANGED, late=2))
    assert code == 1
    if clocks:
        beside = re.search(r"other metrics that differ: (.+)", out)[1]
        named = metric.partition("[")[0]
        assert beside == (named if step is None else f"{named} (first at step {step})")


def test_it_can_be_drawn_and_counted(log):
    make, (metric, _, _) = log
    named = metric.rpartition(":")[2].partition("[")[0]
    paths = [source.path for source in adapters.find_all(make("a"))]
    assert any(named in adapters.summarise(path).metric_names for path in paths)


def test_files_of_one_epoch_each_are_one_log_however_many_series_there_are(tmp_path):
    for at in (0, 2, 10):
        for name in ("train", "val"):
            path = tmp_path / f"{name}_metrics_{at}.json"
            path.write_text(f'{{"loss": {at}.5}}')
    (tmp_path / "config_1.json").write_text('{"lr": 0.1}')
    (tmp_path / "config_2.json").write_text('{"lr": 0.1}')
    (source,) = adapters.find_all(tmp_path)
    records = [one.record for one in adapters.adapter_named(source.adapter).read(source.path)]
    assert source.name == "{number}.json"
    assert records == [
        {"step": at, "train_metrics_:loss": at + 0.5, "val_metrics_:loss": at + 0.5} for at in (0, 2, 10)
    ]
    assert adapters.source_of(tmp_path).adapter == "json"


def test_a_log_that_begins_with_an_object_is_read_as_what_most_of_it_is(tmp_path):
    path = tmp_path / "x.log"
    path.write_text('{"lr": 0.1}\nstep 1 loss 0.5\nstep 2 loss 0.25\n')
    assert adapters.source_of(path).adapter == "printed"
    path.write_text('{"lr": 0.1}\n{"step": 1, "loss": 0.5}\n{"step": 2, "lo')
    assert adapters.source_of(path).adapter == "jsonl"
    assert "torn_line" in {one.kind for one in adapters.compare(path, path).problems}


def test_links_of_a_series_are_not_followed(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "outside.json").write_text('{"loss": 9.5}')
    for at in (0, 1):
        (tmp_path / "run" / f"metrics_{at}.json").write_text('{"loss": 0.5}')
    (tmp_path / "run" / "metrics_2.json").symlink_to(tmp_path / "outside.json")
    (source,) = adapters.find_all(tmp_path / "run")
    records = [one.record for one in adapters.adapter_named(source.adapter).read(source.path)]
    assert records == [{"step": 0, "loss": 0.5}, {"step": 1, "loss": 0.5}]


def test_two_files_with_one_number_are_two_documents(tmp_path):
    for name in ("metrics_1.json", "metrics_01.json"):
        (tmp_path / name).write_text('{"loss": 0.5}')
    assert [one.name for one in adapters.find_all(tmp_path)] == ["metrics_01.json", "metrics_1.json"]


def test_an_array_where_a_file_is_one_record_is_an_error(tmp_path):
    for at in (1, 2):
        (tmp_path / f"metrics_{at}.json").write_text('[{"loss": 0.5}, {"loss": 0.25}]')
    (source,) = adapters.find_all(tmp_path)
    readings = list(adapters.adapter_named(source.adapter).read(source.path))
    assert [(one.record, one.notes[0][0]) for one in readings] == [(None, "not_an_object")] * 2


def test_a_document_of_records_or_lists_is_compared_in_place(tmp_path, diff):
    for name, last in (("a", 0.25), ("b", 0.5)):
        (tmp_path / f"{name}.json").write_text(
            f'[{{"epoch": 0, "loss": 0.5}},\n {{"epoch": 1, "loss": {last}}}]'
        )
        (tmp_path / f"{name}-lists.json").write_text(f'{{"loss": [0.5, {last}],\n "x": 1}}')
        (tmp_path / f"{name}-table.json").write_text(f'{{"epoch": [1, 2],\n "loss": [0.5, {last}]}}')
    code, out = diff(tmp_path / "a.json", tmp_path / "b.json")
    assert (code, out.splitlines()[0]) == (1, "DIFFERS: first at step 1 (record 1), metric loss")
    code, out = diff(tmp_path / "a-table.json", tmp_path / "b-table.json")
    assert (code, out.splitlines()[0]) == (1, "DIFFERS: first at step 2 (record 1), metric loss")
    code, out = diff(tmp_path / "a-lists.json", tmp_path / "b-lists.json")
    assert (code, out.splitlines()[0]) == (1, "DIFFERS: first at record 0, metric loss[1]")


def test_what_is_known_by_its_name_is_read_alone(tmp_path):
    (tmp_path / "metrics.jsonl").write_text('{"step": 0, "loss": 0.5}\n')
    (tmp_path / "log.txt").write_text('{"step": 0, "loss": 0.5}\n{"step": 1, "loss": 0.5}\n')
    assert [one.name for one in adapters.find_all(tmp_path)] == ["metrics.jsonl"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("config.json", '{"lr": 0.1, "epochs": 3}'),
        ("report.json", '{"checks": [1, 2], "seconds": 0.5}'),
        ("args.json", '{\n "lr": 0.1\n}'),
        ("requirements.txt", "numpy==2.4.6\nscipy==1.17.0\n"),
        ("notes.txt", "Chapter 1 begins here.\nIt has 3 pages.\n"),
        ("vocab.txt", "a\nb\n1\n2\n"),
        ("empty.log", ""),
    ],
)
def test_settings_and_texts_are_no_logs(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert adapters.find_all(tmp_path) == ()


def test_of_printed_lines_it_is_said_how_many_were_read_and_which_names(tmp_path):
    path = tmp_path / "train.log"
    path.write_text("Hello\nstep 1 loss 0.5\nstep 2 loss 0.25\nSaved.\n")
    *_, last = adapters.adapter_named("printed").read(path)
    assert last.notes == (("printed_lines", "2 of 4 lines hold some: step, loss"),)
    assert "printed_lines" in {one.kind for one in adapters.compare(path, path).problems}


@pytest.mark.parametrize(
    ("line", "record"),
    [
        ("loss=0.5, acc=97.5%, lr=1e-05", {"loss": 0.5, "acc (%)": 97.5, "lr": 1e-05}),
        ("{'loss': 0.5, 'grad_norm': nan, 'epoch': 0.1}", {"loss": 0.5, "grad_norm": "nan", "epoch": 0.1}),
        (
            "Epoch 3/10 [120/500]  loss: -0.5",
            {"Epoch": 3, "Epoch of": 10, "Epoch 2": 120, "Epoch 2 of": 500, "loss": -0.5},
        ),
        ("resnet50 v1.2.3 top5 0.5", {"resnet50 v1.2.3 top5": 0.5}),
        ("Accuracy on 10000 images: 97", {"Accuracy on": 10000, "images": 97}),
        ("rank 3: 1,234,567 tokens, loss 2.5", {"rank": 3, "rank 2": 1234567, "loss": 2.5}),
        ("took 3.5 s at 2.5it/s, 00:05 left", {"took": "3.5 s", "at": "2.5it/s", "time": "00:05"}),
        ("saved to runs/17/model_3.pt, loss 0.5", {"loss": 0.5}),
        ("│         test_acc          │    0.5    │", {"test_acc": 0.5}),
        ("║ test_acc ║ 0.5 ║ 0.25 ║", {"test_acc": 0.5, "test_acc 2": 0.25}),
    ],
)
def test_numbers_in_a_line_are_called_by_the_text_before_them(tmp_path, line, record):
    path = tmp_path / "x.log"
    path.write_text(f"{line}\n")
    (reading,) = adapters.adapter_named("printed").read(path)
    shown = {name: "nan" if value != value else value for name, value in reading.record.items()}
    assert shown == record


RANKS = [(at, rank, 1 / (at + 1) + rank) for at in range(4) for rank in range(2)]


def ranks_log(path, order, last=2.5, late=0):
    rows = [
        f'{{"step": {at}, "rank": {rank}, "loss": {loss}, "timestamp": {at + rank + late}}}'
        for at, rank, loss in order
    ]
    path.write_text("\n".join([*rows, f'{{"step": 9, "loss": {last}}}']) + "\n")
    return path


def test_the_same_records_in_another_order_are_different_and_said_to_be_the_same(tmp_path, diff):
    swapped = [*RANKS[:2], RANKS[3], RANKS[2], *RANKS[4:]]
    a = ranks_log(tmp_path / "a.jsonl", RANKS)
    code, out = diff(a, ranks_log(tmp_path / "b.jsonl", swapped))
    assert code == 1
    assert "warning: other_order, both: both sides hold the same records, in another order" in out
    _, out = diff(a, ranks_log(tmp_path / "b.jsonl", swapped, late=1))
    assert "in another order: except for clocks" in out
    code, out = diff(a, ranks_log(tmp_path / "b.jsonl", RANKS, late=1))
    assert (code, "other_order" in out) == (1, False)
    for other in (
        ranks_log(tmp_path / "c.jsonl", swapped, last=2.75),
        ranks_log(tmp_path / "d.jsonl", RANKS[:-1]),
    ):
        code, out = diff(a, other)
        assert (code, "other_order" in out) == (1, False)
    code, out = diff(a, tmp_path / "c.jsonl", "--ignore-metric", "loss")
    assert (code, "other_order" in out) == (1, True)


def test_steps_that_one_side_repeats_again_and_again_are_one_problem(tmp_path, diff):
    for name, extra in (("a", 0), ("b", 1)):
        rows = [f'{{"step": {at}, "loss": 0.5}}\n' * (2 if at % 2 == extra else 1) for at in range(100)]
        (tmp_path / f"{name}.jsonl").write_text("".join(rows))
    code, out = diff(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert code == 1
    assert out.count("duplicate_step") + out.count("skipped_step") <= 4
    assert "a step comes twice in a row: step 0 (49 more like this)" in out


def test_a_log_that_differs_and_was_not_read_is_named(tmp_path, diff):
    for name, last in (("a", 0.25), ("b", 0.5)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "metrics.csv").write_text("step,loss\n0,0.5\n")
        (folder / "eval.txt").write_text(f'{{"step": 0, "acc": 0.5}}\n{{"step": 1, "acc": {last}}}\n')
        (folder / "train.log").write_text(f"step 1 loss 0.5\nstep 2 loss {last}\n")
        (folder / "same.log").write_text("step 1 loss 0.5\nstep 2 loss 0.5\n")
    code, out = diff(tmp_path / "a", tmp_path / "b")
    assert code == 0
    assert [line.rpartition(": ")[2] for line in out.splitlines() if "not_compared" in line] == [
        "'eval.txt'",
        "'train.log'",
    ]
    code, out = diff(tmp_path / "a" / "eval.txt", tmp_path / "b" / "eval.txt")
    assert (code, out.splitlines()[0]) == (1, "DIFFERS: first at step 1 (record 1), metric acc")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("saved model-acc0.81.pt", "saved model-acc0.82.pt"),
        ("range 0.5-0.7", "range 0.5-0.8"),
        ("loss: - 0.5", "loss: 0.5"),
        ("loss: −0.5", "loss: 0.5"),
        ("loss 0.5epochs", "loss 0.6epochs"),
        ("loss (0.5, 0.25)", "loss (0.5, 0.26)"),
        ("[1.0e-3,2]", "[1.0e-4,2]"),
        ("a 1,234,567", "a 1,234,568"),
        ("lr=1e-05", "lr=1e-06"),
        ("loss=nan", "loss=0.5"),
        ("loss=inf", "loss=-inf"),
        ("acc 97%", "acc 98%"),
        ("1M params", "1K params"),
        ("| loss | 0.5 |", "| loss | 0.6 |"),
        ("tokens 1_298_000", "tokens 1_297_000"),
        ("tokens 1_298_000 | acc 0.5", "tokens 1_297_000 | acc 0.5"),
        ("acc 0.5 | tokens 1_298_000", "acc 0.5 | tokens 1_297_000"),
        ("acc 0.5 lr1e-3", "acc 0.5 lr1e-4"),
        ("acc 0.5 train/loss1e5", "acc 0.5 train/loss1e6"),
        ("acc 0.5 f1_99%", "acc 0.5 f1_98%"),
        ("acc 0.5 of 10³", "acc 0.5 of 10⁴"),
        ("acc 0.5 ½", "acc 0.5 ¼"),
        ("loss -nan", "loss nan"),
        ("acc 0.5 loss -0", "acc 0.5 loss 0"),
        ("acc 0.5 loss -0.0", "acc 0.5 loss 0.0"),
        ("loss: inf ok", "loss: nan ok"),
        ("acc 0.5 tensor(nan)", "acc 0.5 tensor(inf)"),
        ("acc 0.5 loss ５", "acc 0.5 loss ６"),
        ("acc 0.5 loss ٥", "acc 0.5 loss ٦"),
        ("acc 0.5 mask 0b101", "acc 0.5 mask 0b111"),
        ("acc 0.5 md5 " + "a1" * 16, "acc 0.5 md5 " + "a2" * 16),
        ("best5 of best6 | acc 0.5", "best5 of best7 | acc 0.5"),
        ("Verlust 0,512", "Verlust 512"),
        ("saved to runs/exp-1/best_0.81.pt", "saved to runs/exp-1/best_0.82.pt"),
        ("val/17 acc 0.5", "val/18 acc 0.5"),
        ("acc 12/20", "acc 13/20"),
        ("reward in env/level3 12.5", "reward in env/level4 12.5"),
        ("moved to env/level3: nan", "moved to env/level4: nan"),
        ("/val/top1 0.5", "/val/top5 0.5"),
        ("improved to val/loss=3", "improved to val/loss=4"),
        ("rate/x: 5.5", "rate/x: 5.6"),
        ("│ test_loss │ 0.5 │", "│ test_loss │ 0.6 │"),
    ],
)
def test_no_other_number_is_taken_for_equal(tmp_path, diff, one, other):
    for name, text in (("a.log", one), ("b.log", other)):
        (tmp_path / name).write_text(f"step 1 loss 0.5\n{text}\nstep 2 loss 0.25\n")
    assert diff(tmp_path / "a.log", tmp_path / "b.log")[0] == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("saved in /tmp/tmpab12/x_1.pt", "saved in /tmp/tmpcd34/x_1.pt"),
        ("acc 0.5 <Net at 0x7f31aa02b1c0>", "acc 0.5 <Net at 0x7f31aa02b1d0>"),
        ("acc 0.5 http://host1/x", "acc 0.5 http://host2/y"),
        ("acc 0.5 on 10.0.0.1", "acc 0.5 on 10.0.0.2"),
        ("in 20260101T101010Z-5b09-seed0-base", "in 20260101T101012Z-5c0a-seed0-base"),
        ("acc 0.5 in 1m23s", "acc 0.5 in 2m03s"),
        ("acc 0.5 run-20260101_101010-x", "acc 0.5 run-20260102_101011-x"),
        ("saved to runs/exp-17/model_3.pt", "saved to runs/exp-18/model_3.pt"),
        ("saved 'runs/17/model_3.pt' loss 0.5", "saved 'runs/18/model_3.pt' loss 0.5"),
        ("saved outputs/2026-01-02/17-33-00/3.pt", "saved outputs/2026-01-03/18-34-01/3.pt"),
        ("saved to runs/detect/train17", "saved to runs/detect/train"),
        ("Logging to runs/17", "Logging to runs/18"),
        ("wrote ./17/log.csv", "wrote ./18/log.csv"),
        ("wrote /home/u/runs/17/3/log.csv", "wrote /home/u/runs/18/3/log.csv"),
        ("see http://localhost:6006/runs/17?a=3", "see http://localhost:6007/runs/18?a=4"),
        ("id 550e8400-e29b-41d4-a716-446655440000", "id 650e8400-e29b-41d4-a716-446655441111"),
    ],
)
def test_paths_addresses_times_and_ids_in_words_are_no_numbers(tmp_path, diff, one, other):
    for name, text in (("a.log", one), ("b.log", other)):
        (tmp_path / name).write_text(f"step 1 loss 0.5\n{text}\nstep 2 loss 0.25\n")
    assert diff(tmp_path / "a.log", tmp_path / "b.log")[0] == 0


def test_a_header_with_digits_names_its_columns_and_a_log_of_odd_numbers_alone_is_no_log(tmp_path):
    path = tmp_path / "x.log"
    path.write_text("epoch  top1\n1      0.5\ntext: 0.5\n")
    found = [one.record for one in adapters.adapter_named("printed").read(path)]
    assert found == [{"other text": "top1"}, {"epoch": 1, "top1": 0.5}, {"text": 0.5}]
    path.write_text("tokens 1_000\n")
    *_, last = adapters.adapter_named("printed").read(path)
    assert last.notes == (("no_records", "no line holds a number"),)


def test_of_lines_that_are_drawn_over_it_is_said_how_many_were_not_read(tmp_path):
    path = tmp_path / "train.log"
    path.write_text("loss: 0.9\rloss: 0.8\rloss: 0.5\n")
    (reading,) = adapters.adapter_named("printed").read(path)
    assert reading.record == {"loss": 0.5}
    assert reading.notes[0][1].endswith("; 2 states that were drawn over were not read")


@pytest.mark.parametrize(
    "text",
    [
        "| " + " " * 500_000,
        "[" * 500_000 + "1",
        "loss 0.5 " * 50_000,
        "9" * 500_000,
        ": " * 250_000 + "nan x",
        "a=" * 250_000 + "/b",
        "to a/b.c" * 60_000,
        "/a" * 250_000,
    ],
    ids=["box", "brackets", "numbers", "digits", "colons", "equals", "places", "folders"],
)
def test_a_hostile_line_takes_bounded_time(tmp_path, text):
    path = tmp_path / "x.log"
    path.write_text(text + "\n")
    begun = time.process_time()
    assert list(adapters.adapter_named("printed").read(path))
    assert time.process_time() - begun < 15


WORDS = st.sampled_from(
    ["loss", "val acc", "lr:", "step", "(best)", "[epoch", "|", "of", "took", "epoch_3", "->", "-"]
)
NUMBERS = st.one_of(
    st.integers(0, 99_999).map(str),
    st.floats(-1e6, 1e6).map(lambda value: f"{value:.4f}"),
    st.floats(1e-9, 1e9).map(lambda value: f"{value:.3e}"),
    st.sampled_from(
        ["3/10", "0:01:02", "46ms", "1.2it/s", "97.5%", "1,234", "12k", ".5", "2026-01-03 10:00:01"]
    ),
)
SEPARATORS = st.sampled_from([" ", ": ", "=", ", ", " | ", "\t", "  "])


@given(st.lists(st.tuples(WORDS, SEPARATORS, NUMBERS), min_size=1, max_size=6), st.data())
def test_every_number_that_stands_by_itself_decides_what_is_read(parts, data):
    at = data.draw(st.integers(0, len(parts) - 1))
    word, separator, _ = parts[at]
    other = [*parts[:at], (word, separator, data.draw(NUMBERS)), *parts[at + 1 :]]
    lines = [" ".join("".join(part) for part in one) for one in (parts, other)]
    same = [repr(sorted(_named(line).items(), key=str)) for line in lines]
    values = [_value(one[at][2]) for one in (parts, other)]
    assert same[0] != same[1] or values[0] == values[1]


def _value(text):
    try:
        return repr(float(text.replace(",", "")) + 0.0)
    except ValueError:
        return text


def test_what_was_read_by_its_content_is_said(tmp_path, diff):
    for writer, told in (
        (dino_txt, "log.txt as JSON Lines"),
        (megatron_lines, "train.log as printed lines"),
        (allennlp_json, "{number}.json as JSON"),
    ):
        writer(tmp_path / writer.__name__, LOSSES, 0)
        _, out = diff(tmp_path / writer.__name__, tmp_path / writer.__name__)
        assert f"expected: {tmp_path / writer.__name__} (read: {told})" in out
    keras_csv(tmp_path / "known", LOSSES, 0)
    assert "(read:" not in diff(tmp_path / "known", tmp_path / "known")[1]


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("metrics.json", ['{"step": 0, "loss": 0.5}', '{"step": 1, "loss": 0.25}']),
        ("train.log", ["step 0 loss 0.5", "step 1 loss 0.25"]),
        ("log.txt", ["step,loss", "0,0.5", "1,0.25"]),
    ],
)
def test_a_log_that_ended_early_is_compared_with_a_whole_one(tmp_path, diff, name, lines):
    for folder, count in (("whole", len(lines)), ("early", len(lines) - 1), ("empty", 0)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text("".join(f"{line}\n" for line in lines[:count]))
    code, out = diff(tmp_path / "whole" / name, tmp_path / "early" / name)
    assert (code, "missing_record" in out) == (1, True)
    code, out = diff(tmp_path / "whole" / name, tmp_path / "empty" / name)
    assert (code, out.splitlines()[0]) == (2, "CANNOT COMPARE: the file is empty")


def test_a_folder_of_very_many_files_is_a_data_set(tmp_path):
    for at in range(1_001):
        (tmp_path / f"sample{at}.txt").write_text("0 0.5 0.25\n1 0.75 0.5\n")
    assert adapters.find_all(tmp_path) == ()
    (tmp_path / "sample0.txt").unlink()
    assert len(adapters.find_all(tmp_path)) == 1_000


def test_whether_a_log_has_printed_numbers_is_known_from_its_first_lines(tmp_path, monkeypatch):
    class Read(from_printed._Log):
        def take(self, data, number):
            assert b"step 9 " not in data, "read on, though the answer is known"
            return super().take(data, number)

    path = tmp_path / "train.log"
    path.write_text("".join(f"step {step} loss {step / 7:.5f}\n" for step in range(20)))
    monkeypatch.setattr(from_printed, "_Log", Read)
    assert from_printed.reads(path)
