"""Patterns for what programs print find the numbers again, and nothing else."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from reprokit.adapters import canonical_records
from reprokit.features.init.printed_metrics import propose_patterns

LOGS = Path(__file__).parents[2] / "adapters" / "logs"


@pytest.mark.parametrize(
    ("printed", "records"),
    [
        (
            "epoch 1 loss: 0.5\nepoch 2 loss: 0.25\n",
            ['{"step": 1, "loss": 0.5}', '{"step": 2, "loss": 0.25}'],
        ),
        ("iter=1,loss=1e-3\niter=2,loss=nan\n", ['{"step": 1, "loss": 0.001}', '{"step": 2, "loss": NaN}']),
        ("accuracy = 0.97\n", ['{"step": 0, "accuracy": 0.97}']),
        ("a 1\na 2\nx: 0.5\rx: 0.25\n", ['{"step": 0, "x": 0.5}', '{"step": 1, "x": 0.25}']),
    ],
)
def test_every_number_that_has_a_name_is_found_again(tmp_path, printed, records):
    log = tmp_path / "stdout.log"
    log.write_text(printed)
    made = canonical_records(tmp_path / "output", logs=[log], printed=propose_patterns(printed), places={})
    assert [line.decode() for line in made.records] == records


def found_again(tmp_path, printed):
    log = tmp_path / "stdout.log"
    log.write_text(printed)
    made = canonical_records(tmp_path / "output", logs=[log], printed=propose_patterns(printed), places={})
    return [json.loads(line) for line in made.records]


def test_of_a_bar_the_last_state_counts(tmp_path):
    log = LOGS / "tqdm" / "stderr.log"
    assert found_again(tmp_path, log.read_bytes().decode()) == [
        {"step": 0, "loss": 0.25},
        {"step": 1, "loss": 0.125},
        {"step": 2, "loss": 0.0833},
    ]


def test_how_often_a_bar_is_drawn_does_not_matter(tmp_path):
    bar = "train: {:3}%|##   | {}/2 [00:01<00:00, {}it/s, loss={}]"
    drawn = [bar.format(0, 0, "?", 0.5), bar.format(50, 1, 9.5, 0.5), bar.format(100, 2, 7.25, 0.25)]
    for several in ([*drawn], drawn[2:], [*drawn, drawn[2]]):
        printed = "\r".join(["", *several]) + "\n"
        patterns = propose_patterns("\r".join(["", *drawn]) + "\n")
        log = tmp_path / "stderr.log"
        log.write_text(printed)
        made = canonical_records(tmp_path / "output", logs=[log], printed=patterns, places={})
        assert [json.loads(line) for line in made.records] == [{"step": 0, "loss": 0.25}]


def test_a_bar_without_metrics_is_none():
    assert (
        propose_patterns(
            "\repoch 1:  50%|##  | 1/2 [00:01<00:01, 1.5it/s]\repoch 1: 100%|####| 2/2 [00:02]\n"
        )
        == ()
    )


def test_keras_prints_a_bar(tmp_path):
    first = "1/9 ━━━━━━ 0s 22ms/step - loss: 2.5\r"
    last = "9/9 ━━━━━━ 0s 3ms/step - accuracy: 0.5 - loss: {}.25\n"
    printed = "".join(f"Epoch {epoch}/2\n{first}{last.format(epoch)}" for epoch in (1, 2))
    assert found_again(tmp_path, printed) == [
        {"step": 0, "accuracy": 0.5, "loss": 1.25},
        {"step": 1, "accuracy": 0.5, "loss": 2.25},
    ]


def test_dictionaries_are_read(tmp_path):
    printed = (
        "{'loss': 0.5, 'grad_norm': '1.5', 'epoch': '1'}\n{'loss': 0.25, 'grad_norm': 'nan', 'epoch': '2'}\n"
    )
    first, second = found_again(tmp_path, printed)
    assert first == {"step": 1, "loss": 0.5, "grad_norm": 1.5}
    assert (second["step"], second["loss"]) == (2, 0.25)


def test_a_table_with_a_name_and_a_number_a_row(tmp_path):
    rows = "-----\n| rollout/ | |\n|    ep_rew_mean | {} |\n|    total_timesteps | {} |\n-----\n"
    assert found_again(tmp_path, rows.format(22.5, 64) + rows.format("1e+03", 128)) == [
        {"step": 0, "ep_rew_mean": 22.5},
        {"step": 64},
        {"step": 2, "ep_rew_mean": 1000.0},
        {"step": 128},
    ]


@pytest.mark.parametrize(
    "printed",
    [
        "epoch  train_loss  time\n0  0.5  00:01\n1  0.25  00:02\n",
        "| epoch | train_loss | time |\n|---|---|---|\n| 0 | 0.5 | 1s |\n| 1 | 0.25 | 2s |\n",
    ],
)
def test_a_table_with_a_header(tmp_path, printed):
    assert found_again(tmp_path, printed) == [{"step": 0, "train_loss": 0.5}, {"step": 1, "train_loss": 0.25}]


@pytest.mark.parametrize("prefix", ["[rank{}]: ", "[default{}]:", "[1,{}]<stdout>:", "Rank {}: "])
def test_mixed_output_of_several_ranks_is_no_source(prefix):
    lines = [f"{prefix.format(rank)}step {step} loss 0.5" for step in (1, 2) for rank in (0, 1)]
    assert propose_patterns("\n".join(lines)) == ()
    assert propose_patterns("\n".join(lines[::2]))


def test_a_line_that_was_made_to_take_long_takes_no_time():
    for part in ("1%|", "1/2 [", "| a ", "a ", "'", "[rank", "1%|" + "|" * 9 + "["):
        begun = time.process_time()
        propose_patterns((part * 2_000 + "\n") * 200)
        assert time.process_time() - begun < 10, part


def test_where_no_number_has_a_name_nothing_is_proposed():
    assert propose_patterns("hello\n1 2 3\n") == ()


@pytest.mark.parametrize(
    "text", ["it is now 1789.5\n", "Python 3.11 on port 8080\ntook 4.5\n", "now 3.5\nnow 4.5\n"]
)
def test_a_word_of_a_sentence_before_a_number_is_no_metric(text):
    assert propose_patterns(text) == ()


def test_the_same_word_with_a_sign_between_is_one():
    assert propose_patterns("up=0.5\nup=0.6\n") != ()
