"""`reprokit diff`: exit codes, what people and programs read."""

import json
import os
import re
import xml.etree.ElementTree as ET

import pytest

from reprokit.cli import main

LINE = '{{"step": {}, "loss/policy": {}, "kl": 1.0}}\n'


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def reprokit(capsys):
    def call(*arguments):
        with pytest.raises(SystemExit) as ended:
            main(["diff", *map(str, arguments)])
        captured = capsys.readouterr()
        return ended.value.code, captured.out, captured.err

    return call


def write(path, *values):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(LINE.format(at * 256, value) for at, value in enumerate(values)))
    return path


@pytest.fixture
def pair(tmp_path):
    return write(tmp_path / "a.jsonl", 0.5, 0.25, 0.125, 1, 2, 3, 4, 5), write(
        tmp_path / "b.jsonl", 0.5, 0.25, 0.125, 1, 2.5, 3, 4, 5
    )


def test_equal_files_exit_0(reprokit, pair):
    code, out, err = reprokit(pair[0], pair[0])
    assert code == 0
    assert out.startswith("IDENTICAL: equal in every value\n")
    assert out.endswith("Compared 8 records of 2 metrics.\n")
    assert err == ""


def test_other_files_exit_1_and_show_three_records_on_either_side(reprokit, pair):
    code, out, _ = reprokit(*pair)
    assert code == 1
    assert out.startswith("DIFFERS: first at step 1024 (record 4), metric loss/policy\n")
    assert re.findall(r"^(>| ) +(\d) ", out, flags=re.MULTILINE) == [
        (" ", "1"),
        (" ", "2"),
        (" ", "3"),
        (">", "4"),
        (" ", "5"),
        (" ", "6"),
        (" ", "7"),
    ]
    assert "absolute error 0.5, relative error 25 %" in out
    assert re.search(r"loss/policy +0.5 +0.25 +1 +1024", out)


def test_a_tolerance_can_be_granted(reprokit, pair):
    code, out, _ = reprokit(*pair, "--atol", "0.5")
    assert code == 0
    assert out.startswith("WITHIN TOLERANCE")
    assert reprokit(*pair, "--rtol", "0.1")[0] == 1


@pytest.mark.parametrize("wrong", [("--rtol", "-1"), ("--atol", "nan"), ("--rtol", "inf"), ("--rtol", "x")])
def test_a_tolerance_that_is_nonsense_exits_2(reprokit, pair, wrong):
    code, out, err = reprokit(*pair, *wrong)
    assert code == 2
    assert out == ""
    assert "rtol" in err or "atol" in err


def test_a_metric_can_be_chosen_or_left_out(reprokit, pair):
    assert reprokit(*pair, "--metric", "kl")[0] == 0
    code, out, _ = reprokit(*pair, "--ignore-metric", "loss/*")
    assert code == 0
    assert "'loss/policy' by the pattern 'loss/*'" in out
    assert reprokit(*pair, "--metric", "los/policy")[0] == 2


def test_json_is_the_contract(reprokit, pair):
    code, out, err = reprokit(*pair, "--json")
    found = json.loads(out, parse_constant=pytest.fail)
    assert code == 1
    assert err == ""
    assert found["divergence"]["record"] == 4
    assert found["divergence"]["expected"] == 2
    assert found["per_metric"]["loss/policy"] == {
        "max_abs_error": 0.5,
        "max_rel_error": 0.25,
        "mismatches": 1,
        "first_step": 1024,
    }


@pytest.mark.parametrize(
    ("name", "kind"), [("nothing", "missing_file"), ("folder", "no_metrics_file"), ("pipe", "not_a_file")]
)
def test_what_is_no_file_exits_2_with_the_word_in_json(reprokit, pair, tmp_path, name, kind):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for arguments, side in (((tmp_path / name, pair[1]), "expected"), ((pair[0], tmp_path / name), "actual")):
        code, out, err = reprokit(*arguments)
        assert (code, out) == (2, "")
        assert name in err
        code, out, _ = reprokit(*arguments, "--json")
        assert code == 2
        assert [(one["kind"], one["side"]) for one in json.loads(out)["problems"]] == [(kind, side)]


@pytest.mark.parametrize("content", [b"", b'{"step": 0, "lo', b"\xff\n", b"\n", b"{}\n"])
def test_a_malformed_file_exits_2_even_against_itself(reprokit, tmp_path, content):
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    code, out, _ = reprokit(path, path)
    assert code == 2
    assert out.startswith("CANNOT COMPARE: ")
    code, out, _ = reprokit(path, path, "--json")
    assert code == 2
    assert json.loads(out)["problems"]


def test_run_folders_and_goldens_are_compared_by_their_metrics(reprokit, pair, tmp_path):
    for name, file in (("golden", pair[0]), ("run", pair[1])):
        write(tmp_path / name / "metrics.jsonl", 1)
        (tmp_path / name / "metrics.jsonl").write_text(file.read_text())
    assert reprokit(tmp_path / "golden", tmp_path / "run")[0] == 1
    assert reprokit(tmp_path / "golden", pair[0])[0] == 0


def test_folders_of_foreign_logs_are_compared_file_by_file(reprokit, tmp_path):
    for name, value in (("a", 1), ("b", 2)):
        write(tmp_path / name / "x.jsonl", 1)
        (tmp_path / name / "progress.csv").write_text(f"step,loss\n0,{value}\n")
    code, out, _ = reprokit(tmp_path / "a", tmp_path / "b")
    assert code == 1
    assert "metric progress.csv:loss" in out


def test_an_interrupted_run_is_said_to_be_one(reprokit, pair, tmp_path):
    folder = tmp_path / "run"
    write(folder / "metrics.jsonl", 1, 2)
    (folder / "run.json").write_text("{}")
    _, out, err = reprokit(folder, folder, "--json")
    assert "incomplete run" in err
    assert json.loads(out)["identical"]
    (folder / "COMPLETE").write_text("{}")
    assert reprokit(folder, folder)[2] == ""


def test_a_plot_is_a_drawing_that_can_be_read_back(reprokit, pair, tmp_path):
    code, _, err = reprokit(*pair, "--plot", tmp_path / "curves.svg")
    assert code == 1
    assert "curves.svg" in err
    root = ET.parse(tmp_path / "curves.svg").getroot()  # noqa: S314  written by the code under test
    assert root.tag.endswith("svg")
    assert "DIFFERS" in "".join(root.itertext())


def test_a_plot_of_another_format_is_refused_before_anything_is_read(reprokit, tmp_path):
    code, _, err = reprokit("no", "no", "--plot", tmp_path / "curves.png")
    assert code == 2
    assert ".svg" in err


def test_a_plot_without_a_folder_is_refused_before_anything_is_compared(reprokit, pair, tmp_path):
    code, out, err = reprokit(*pair, "--plot", tmp_path / "none" / "curves.svg")
    assert (code, out) == (2, "")
    assert f"the folder for the picture does not exist\nHint: mkdir -p {tmp_path / 'none'}\n" in err


def test_hostile_names_and_values_do_not_reach_the_terminal(reprokit, tmp_path):
    paths = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    for path, value in zip(paths, ("x\x1b[2J\u202e", "y\x07\ud800"), strict=True):
        path.write_text(json.dumps({"step": "\x1b]0;t\x07", "m\x1b[31m\r\n::error::": value}) + "\n")
    code, out, _ = reprokit(*paths)
    assert code == 1
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800]", out)
    assert "\\x1b[31m" in out
    assert reprokit(*paths, "--json")[1].isascii()


def test_colour_only_where_it_is_wanted(reprokit, pair, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert "\x1b[" in reprokit(*pair)[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in reprokit(*pair)[1]


def test_help_has_an_example(reprokit):
    code, out, _ = reprokit("--help")
    assert code == 0
    assert re.search(r"Examples?:\s+reprokit diff ", out)
    assert "Exit codes" in out


@pytest.mark.parametrize("digits", [4_299, 4_301, 20_000])
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_integers_longer_than_python_prints_differ_like_others(reprokit, tmp_path, digits, options):
    long = "1" * digits
    for name, value in (("a", f"{long}"), ("b", f"{long[:-1]}2")):
        (tmp_path / name).with_suffix(".jsonl").write_text(f'{{"step": 1, "a": {value}}}\n')
    code, out, err = reprokit("a.jsonl", "b.jsonl", *options)
    assert (code, err) == (1, "")
    assert json.loads(out)["identical"] is False if options else out.startswith("DIFFERS: first at step 1 ")
    assert reprokit("a.jsonl", "a.jsonl", *options)[0] == 0


def test_values_that_were_taken_out_are_said_to_be_unknown(reprokit, tmp_path):
    for name in ("a", "b"):
        write(tmp_path / name / "other.csv", 1).write_text("step,loss,key\n0,0.5,<redacted>\n1,0.25,x\n")
        (tmp_path / f"{name}.log").write_text("step 1 loss 0.5 secret: <redacted>\nstep 2 loss 0.25\n")
    (tmp_path / "plain.log").write_text("step 1 loss 0.5 secret: 5\nstep 2 loss 0.25\n")
    for sides in (("a.log", "b.log"), ("a", "b")):
        code, out, _ = reprokit(*sides)
        assert code == 0
        assert "redacted_values, both" in out
    assert "redacted_values, expected" in reprokit("a.log", "plain.log")[1]
    assert "redacted_values" not in reprokit("plain.log", "plain.log")[1]
