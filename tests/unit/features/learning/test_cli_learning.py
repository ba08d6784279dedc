"""``reprokit runs learning``: words, exit codes and JSON, on run folders written by hand."""

import json
from html import unescape

import pytest

from reprokit import cli

RUN_ID = "20261121T000000Z-0000-seed42-1"


@pytest.fixture
def run(tmp_path, monkeypatch):
    folder = tmp_path / "runs" / "cartpole" / RUN_ID
    folder.mkdir(parents=True)
    config = {"training": {"max_grad_norm": 0.5}}
    (folder / "run.json").write_text(
        json.dumps({"recipe": "cartpole", "seed": 42, "training_config": config})
    )
    write(folder)
    monkeypatch.chdir(tmp_path)
    return folder


def write(folder, **last):
    records = [
        {"step": step, "train/episodic_return": 10.0 + step, "loss/value": 1.0, "optim/grad_norm": 0.25}
        for step in range(1, 11)
    ]
    records.append(
        {**records[-1], "step": 11, **{name.replace("__", "/"): one for name, one in last.items()}}
    )
    (folder / "metrics.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))


def reprokit(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        cli.main(["learning", *map(str, words)])
    told = capsys.readouterr()
    return ended.value.code, told.out, told.err


def test_every_answer_has_its_word_and_what_was_not_asked_says_so(run, capsys):
    code, out, _ = reprokit(capsys, RUN_ID[:12])
    assert code == 0
    assert "fine     Does it learn?\n         return in training 11 → 20, best 20; it stays near" in out
    assert "above max_grad_norm 0.5 in 0% of the records" in out
    assert "unknown  Can it memorise one transition?\n         not checked\n         → `reprokit" in out


def test_a_nan_ends_with_1_and_the_log_names_the_operation(run, capsys):
    write(run, loss__value=float("nan"))
    (run / "stderr.log").write_text(
        "Traceback\nRuntimeError: Function 'LogBackward0' returned nan values in its 0th output.\n"
    )
    code, out, _ = reprokit(capsys, RUN_ID)
    assert code == 1
    assert "loss/value is nan at step 11; anomaly detection says: Function 'LogBackward0' returned nan" in out


def test_json_says_the_same(run, capsys):
    code, out, _ = reprokit(capsys, RUN_ID, "--json")
    found = json.loads(out)
    assert (code, found["exit_code"], found["probe"]) == (0, 0, None)
    assert {one["id"]: one["health"] for one in found["answers"]}["reward"] == "fine"


def test_the_learning_curve_is_a_table_of_evaluations(run, capsys):
    write(run, eval__return_mean=487.25, eval__return_std=12.5)
    _, out, _ = reprokit(capsys, RUN_ID)
    assert "Learning curve: eval/return_mean\n        step        mean         std\n" in out
    assert out.splitlines()[-1].split() == ["11", "487.25", "12.50"]
    (point,) = json.loads(reprokit(capsys, RUN_ID, "--json")[1])["curve"]
    assert point == {"metric": "eval/return_mean", "step": 11, "mean": 487.25, "std": 12.5}


def test_a_run_that_was_killed_is_read_where_it_left_its_metrics(run, capsys):
    (run / "output").mkdir()
    (run / "metrics.jsonl").rename(run / "output" / "metrics.jsonl")
    assert reprokit(capsys, RUN_ID)[0] == 0


def test_a_run_without_metrics_cannot_be_judged(run, capsys):
    (run / "metrics.jsonl").unlink()
    assert reprokit(capsys, RUN_ID)[0] == 4


def test_a_hostile_log_cannot_act_on_the_terminal(run, capsys):
    write(run, **{"loss__\x1b[31mred": float("nan")})
    out = reprokit(capsys, RUN_ID)[1]
    assert "\x1b[31m" not in out


def test_a_plain_command_cannot_be_probed(run, capsys):
    (run / "run.json").write_text(json.dumps({"recipe": "plain-x", "plain_command": ["x"]}))
    code, _, err = reprokit(capsys, RUN_ID, "--probe")
    assert (code, "write a recipe" in err) == (2, True)


def test_a_page_has_every_answer_what_is_wrong_first_and_the_curves(run, capsys, tmp_path):
    write(run, loss__value=float("nan"))
    code, out, err = reprokit(capsys, RUN_ID, "--html", tmp_path / "page.html", "--json")
    text = (tmp_path / "page.html").read_text()
    page = unescape(text)
    assert code == 1
    assert "page.html" in err
    assert page.index("Something is wrong") < page.index("loss/value is nan at step 11")
    for answer in json.loads(out)["answers"]:
        assert answer["question"] in page
    assert text.count("<figure") == 3


def test_hostile_names_on_the_page_are_text(run, capsys, tmp_path):
    name = "<script>alert(1)</script>"
    lines = [json.dumps({"step": step, name: 1.0 / (step + 1)}) for step in range(4)]
    (run / "metrics.jsonl").write_text("".join(f"{line}\n" for line in lines))
    reprokit(capsys, RUN_ID, "--html", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert name not in text
    assert name in unescape(text)
