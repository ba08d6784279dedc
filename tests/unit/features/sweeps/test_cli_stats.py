"""``reprokit stats``: tables, JSON and exit codes, on run folders written by hand."""

import contextlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
import scipy.stats

from reprokit import cli
from reprokit.core.records import digest_bytes
from reprokit.core.statistics.windows import KINDS
from reprokit.features.sweeps.verb import stats as command
from support.terminal import Terminal

SEEDS = [489.5, 495.6, 482.1, 487.9, 488.4]


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "recipes").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def finish(place, seed, values, *, recipe="cartpole", metric="eval/return", source=None, **record):
    """A finished run with a record a value."""
    folder = place / "runs" / recipe / f"2026112{seed}T000000Z-0000-seed{seed}-1"
    folder.mkdir(parents=True)
    files = {
        "run.json": json.dumps(
            {
                "schema": 1,
                "recipe": recipe,
                "run_id": folder.name,
                "seed": seed,
                "outcome": "completed",
                "exit_code": 0,
                "digests": {"program": "sha256:1"},
                **record,
            }
        ),
        "metrics.jsonl": "".join(
            f'{{"step": {at}, "{metric}": {value}}}\n' for at, value in enumerate(values, start=1)
        ),
    }
    if source:
        files["environment.json"] = json.dumps({"source": source})
    for name, text in files.items():
        (folder / name).write_text(text)
    listed = {
        name: {"sha256": digest_bytes(text.encode()), "bytes": len(text)} for name, text in files.items()
    }
    (folder / "COMPLETE").write_text(json.dumps({"schema": 1, "files": listed}))
    return folder


def test_a_misspelt_recipe_or_sweep_is_corrected(place, capsys):
    finish(place, 1, [1.0], recipe="train")
    with pytest.raises(SystemExit) as ended:
        cli.main(["stats", "trian"])
    assert (ended.value.code, "did you mean 'train'?" in capsys.readouterr().err) == (2, True)


@pytest.fixture
def cartpole(place):
    """The five results of the document, each at the end of twelve records."""
    for seed, value in enumerate(SEEDS):
        finish(place, seed, [100.0] * 11 + [value])
    return place


def reprokit(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        cli.main(["stats", *map(str, words)])
    said = capsys.readouterr()
    return ended.value.code, said.out, said.err


def row_of(out, *beginning):
    (line,) = (one for one in out.splitlines() if one.split()[:2] == list(beginning))
    return line.split()[2:]


def test_a_table_of_the_end_with_what_its_interval_covers(cartpole, capsys):
    code, out, err = reprokit(capsys, "cartpole")
    assert (code, err) == (0, "")
    assert out.startswith("cartpole: 5 seeds (0, 1, 2, 3, 4); the newest inputs\n")
    found = row_of(out, "eval/return", "last")
    assert found == [
        "488.7",
        "[482.728,",
        "494.672]",
        "4.80989",
        "2.15105",
        "488.4",
        "488.6",
        "482.1",
        "495.6",
    ]
    assert row_of(out, "eval/return", "mean_last_10")[0] == "138.87"
    assert (
        "How often a 95 % t-interval over 5 seeds contains the true mean: 95 % where results are normally"
        in out
    )


def test_the_page_shows_what_a_terminal_of_80_columns_does(cartpole, monkeypatch):
    page = (Path(__file__).resolve().parents[4] / "docs/reference/stats.md").read_text()
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    with contextlib.redirect_stdout(Terminal()) as screen, pytest.raises(SystemExit):
        cli.main(["stats", "cartpole"])
    assert f"```\n{screen.getvalue()}```\n" in page


def test_equal_seeds_are_said_to_be_unused_and_no_interval_is_praised(place, capsys):
    for seed in range(5):
        finish(place, seed, [1.0] * 12)
    code, out, _ = reprokit(capsys, "cartpole")
    assert code == 0
    assert "the program may not use its seed" in out
    assert "contains the true mean" not in out


def test_verbose_adds_spread_normality_and_curves(cartpole, capsys):
    code, out, _ = reprokit(capsys, "cartpole", "-v")
    assert code == 0
    assert "score: population standard deviation / mean" in out
    assert "it compares seeds: whether one seed's run can be repeated" in out
    assert "eval/return: mean and 95 % t-interval at single steps, 6 of 12" in out
    expected = scipy.stats.shapiro(SEEDS).pvalue
    assert f"{expected:.6g}" in out


def test_json_has_everything(cartpole, capsys):
    code, out, _ = reprokit(capsys, "cartpole", "--json")
    assert code == 0
    data = json.loads(out)
    (group,) = data["groups"]
    assert (data["exit_code"], group["seeds"], group["left_out"]) == (0, [0, 1, 2, 3, 4], [])
    metric = group["metrics"]["eval/return"]
    assert list(metric["windows"]) == ["last", "mean_last_10", "best_high", "best_low", "auc", "auc_mean"]
    assert metric["curve"]["steps"] == list(range(1, 13))
    last = metric["windows"]["last"]
    assert list(last["values"].values()) == SEEDS
    assert last["summary"]["mean"] == pytest.approx(488.7)
    assert last["intervals"][0]["coverage"]["normal"] > 0.94
    assert last["intervals"][1]["low"] is None
    assert last["intervals"][1]["refused"] == "with so few seeds it covers 84% instead of 95%"
    assert last["variability"]["is_reproducible"] is True
    assert data["score_does_not_say"]


def test_runs_left_out_for_one_reason_are_one_line(cartpole, capsys):
    others = [
        finish(cartpole, seed, [1.0] * 12, digests={"program": "sha256:2"}, modified=["a=1"])
        for seed in (7, 8, 9)
    ]
    code, out, _ = reprokit(capsys, "cartpole", "--window", "last")
    told = " ".join(out.split())
    assert code == 0
    assert told.count("left out: ") == 1
    assert f"left out: 3 runs, {others[0].name} to {others[-1].name}: runs are not comparable" in told


def test_of_many_reasons_the_commonest_are_named_and_the_others_counted(cartpole, capsys):
    values = [other for other in range(6) for _ in range(2 + (other == 5))]
    for seed, other in enumerate(values, start=7):
        finish(cartpole, seed, [1.0] * 12, digests={"program": "sha256:2"}, modified=[f"a={other}"])
    _, out, _ = reprokit(capsys, "cartpole", "--window", "last")
    told = " ".join(out.split())
    assert told.count("left out: 3 runs, ") == 1, told
    assert told.count("left out: ") == 4, told
    assert "left out: 6 more runs, for 3 more reasons (-v names them)" in told
    _, out, _ = reprokit(capsys, "cartpole", "--window", "last", "-v")
    assert " ".join(out.split()).count("left out: ") == 6


def test_what_is_left_out_and_refused_is_said(cartpole, capsys):
    other = finish(cartpole, 7, [1.0] * 12, digests={"program": "sha256:2"}, modified=["a=1"])
    finish(cartpole, 8, [1.0, "torn"])
    code, out, _ = reprokit(capsys, "cartpole", "--window", "last")
    assert code == 0
    assert f"  left out: {other.name}: runs are not comparable: overrides (--set) differ" in out
    assert "cartpole: 6 seeds" in out
    assert "  seed 8: 1 records cannot be read" in out


LINE = ("{python}", "train.py", "--seed", "{seed}")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--lr", "0.1"), "it was run with --args '--lr 0.1'"),
        (("--fast",), "it was run with --args --fast"),
    ],
)
def test_of_a_different_command_line_only_the_words_that_differ_are_named(place, capsys, words, told):
    for seed in range(3):
        finish(place, seed, [1.0 + seed] * 3, command=LINE)
    other = finish(place, 7, [1.0] * 3, command=(*LINE, *words), modified=["command=…"])
    _, out, _ = reprokit(capsys, "cartpole")
    assert f"  left out: {other.name}: {told}\n" in out


def test_of_two_values_of_an_option_both_are_named_and_of_digests_none(place, capsys):
    for seed in range(3):
        finish(place, seed, [1.0 + seed] * 3, command=(*LINE, "--lr", "0.1", "--fast"))
    finish(place, 7, [1.0] * 3, command=(*LINE, "--lr", "0.2", "--fast"), modified=["a=1"])
    finish(place, 8, [1.0] * 3, command=LINE, modified=["a=1"])
    finish(place, 9, [1.0] * 3, command=(*LINE, "--lr", "0.1", "--fast"), digests={"program": "sha256:2"})
    _, out, _ = reprokit(capsys, "cartpole", "--same-inputs-as", "20261120T000000Z-0000-seed0-1")
    assert "its command has '--lr 0.2' in place of '--lr 0.1'\n" in out
    assert "it was run without --args '--lr 0.1 --fast'\n" in out
    assert ": it differs in the program\n" in out
    assert out.startswith("cartpole: 3 seeds (0, 1, 2); the inputs of 20261120T000000Z-0000-seed0-1\n")


def test_the_first_line_names_the_commit_and_the_settings_of_the_inputs(place, capsys):
    settings = ["a=1", 'command=["python", "train.py", "--lr", "0.1"]']
    for seed in range(3):
        finish(place, seed, [1.0 + seed] * 3, modified=settings, source={"commit": "7b157535643e1fce"})
    _, out, _ = reprokit(capsys, "cartpole")
    assert out.startswith(
        "cartpole: 3 seeds (0, 1, 2); the newest inputs, commit 7b15753, with a=1, "
        "`python train.py --lr 0.1`\n"
    )


def test_a_nan_is_told_with_its_seed_and_json_stays_json(cartpole, capsys):
    finish(cartpole, 8, ["NaN"] * 12)
    code, out, _ = reprokit(capsys, "cartpole", "--window", "last")
    assert code == 0
    assert not [line for line in out.splitlines() if line.startswith("eval/return")], "no row of dashes"
    assert "not finite: seed 8: eval/return last" in out
    data = json.loads(
        reprokit(capsys, "cartpole", "--json")[1], parse_constant=lambda word: pytest.fail(f"no JSON: {word}")
    )
    assert data["groups"][0]["metrics"]["eval/return"]["windows"]["last"]["values"]["8"] == "NaN"


def test_one_seed_has_no_interval(place, capsys):
    finish(place, 1, [5.0] * 12)
    code, out, _ = reprokit(capsys, "cartpole", "-v")
    assert code == 0
    assert "one seed has no spread: eval/return last" in out
    assert "t-interval over" not in out


def test_equal_results_are_said(place, capsys):
    for seed in range(3):
        finish(place, seed, [500.0] * 12)
    _, out, _ = reprokit(capsys, "cartpole")
    assert "zero variance: all 3 seeds have the same value" in out
    assert row_of(out, "eval/return", "last")[:3] == ["500", "0", "0"], "no column of dashes"


def test_equal_runs_of_a_seed_count_once(cartpole, capsys):
    folder = finish(cartpole, 9, [100.0] * 11 + [SEEDS[0]])
    record = json.loads((folder / "run.json").read_text())
    record["seed"] = 0
    text = json.dumps(record)
    (folder / "run.json").write_text(text)
    marker = json.loads((folder / "COMPLETE").read_text())
    marker["files"]["run.json"] = {"sha256": digest_bytes(text.encode()), "bytes": len(text)}
    (folder / "COMPLETE").write_text(json.dumps(marker))
    assert "  counted once: 1 more run of the same seeds, equal" in reprokit(capsys, "cartpole")[1]


def test_recipes_are_compared_with_the_first(cartpole, capsys):
    for seed, value in enumerate(SEEDS):
        finish(cartpole, seed, [100.0] * 11 + [value + 20], recipe="tuned")
    code, out, _ = reprokit(capsys, "cartpole", "tuned", "--window", "last")
    assert code == 0
    assert "tuned against cartpole" in out
    welch = scipy.stats.ttest_ind(SEEDS, [one + 20 for one in SEEDS], equal_var=False).pvalue
    found = next(line.split() for line in out.splitlines() if line.startswith("eval/return"))
    assert found[:5] == ["eval/return", "last", "1", f"{welch:.6g}", "29%"]
    data = json.loads(reprokit(capsys, "cartpole", "tuned", "--window", "last", "--json")[1])
    (pair,) = data["between"]
    (one,) = pair["metrics"]
    assert (pair["first"], pair["second"], one["improvement"]["probability"]) == ("cartpole", "tuned", 1.0)
    assert [test["name"] for test in one["tests"]][:2] == ["t", "welch"]
    assert len(one["profiles"]) == 2


def test_seeds_without_a_common_step_are_said(place, capsys):
    finish(place, 1, [1.0])
    folder = finish(place, 2, [2.0])
    text = (folder / "metrics.jsonl").read_text().replace('"step": 1', '"step": 5')
    (folder / "metrics.jsonl").write_text(text)
    marker = json.loads((folder / "COMPLETE").read_text())
    marker["files"]["metrics.jsonl"] = {"sha256": digest_bytes(text.encode()), "bytes": len(text)}
    (folder / "COMPLETE").write_text(json.dumps(marker))
    assert "eval/return: the seeds share no step" in reprokit(capsys, "cartpole", "-v")[1]


def test_names_from_files_cannot_act_on_a_terminal(place, capsys):
    finish(place, 1, [1.0] * 12, metric="a\\u001b[31m")
    out = reprokit(capsys, "cartpole")[1]
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["nothing"], 2, "no run has this recipe"),
        (["cartpole", "--window", "end"], 2, "there is no window 'end'"),
        (["cartpole", "--metric", "x"], 2, "no metric matches 'x'"),
        (["cartpole", "--like", "nothing"], 2, "no run in"),
        ([], 2, "Missing argument"),
    ],
)
def test_what_is_wrong_ends_with_its_code(cartpole, capsys, words, code, told):
    ended, out, err = reprokit(capsys, *words)
    assert (ended, out) == (code, "")
    assert told in err


def test_no_finished_run_ends_with_4(cartpole, capsys):
    for marker in (cartpole / "runs").rglob("COMPLETE"):
        marker.unlink()
    code, _, err = reprokit(capsys, "cartpole")
    assert code == 4
    assert "Hint: `reprokit run cartpole --seed N` for each seed" in err


@pytest.mark.parametrize("kind", KINDS)
def test_the_help_names_every_window(kind):
    told = next(one.help for one in command.params if one.name == "windows")
    assert kind.removeprefix("first_step_") in told.replace("…_", "") or kind in told


@pytest.mark.parametrize("words", [["--help"], ["stats", "--help"], ["reproduce", "--help"]])
def test_help_imports_no_scipy(words):
    code = (
        "import sys\nfrom reprokit import cli\n"
        f"try:\n    cli.main({words!r})\nexcept SystemExit:\n    pass\n"
        "sys.exit('scipy' in sys.modules or 'numpy' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr


def test_other_verbs_import_no_scipy():
    code = "import sys\nfrom reprokit import harness\nsys.exit('scipy' in sys.modules)\n"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_page_is_written_beside_what_is_printed(cartpole, capsys):
    plain = reprokit(capsys, "cartpole")[1]
    code, out, err = reprokit(capsys, "cartpole", "--html", cartpole / "seeds.html")
    assert (code, out) == (0, plain)
    assert err == f"Page: {cartpole / 'seeds.html'}\n"
    page = (cartpole / "seeds.html").read_text()
    assert "<svg" in page
    assert "[482.728, 494.672]" in page


def test_a_page_that_cannot_be_written_is_an_error(cartpole, capsys):
    (cartpole / "there").write_text("a file")
    code, _, err = reprokit(capsys, "cartpole", "--html", cartpole / "there" / "seeds.html")
    assert code in {2, 3}
    assert "seeds.html" in err or "there" in err


def test_the_page_says_when_by_which_command_and_on_which_inputs_it_was_made(place, capsys, monkeypatch):
    for seed in range(3):
        finish(place, seed, [1e-5 * (1.5 + seed)] * 3, source={"commit": "7b157535643e1fce"})
    monkeypatch.setattr(sys, "argv", ["reprokit", "stats", "cartpole", "--html", "seeds.html"])
    assert reprokit(capsys, "cartpole", "--html", "seeds.html")[0] == 0
    page = (place / "seeds.html").read_text()
    title = page[page.index("<title>") : page.index("</title>")]
    assert title.endswith(" UTC · reprokit stats cartpole --html seeds.html")
    assert "3 seeds (0, 1, 2); the newest inputs, commit 7b15753" in page
    assert 'class="whole" data-label="mean">2.5e-05<' in page, "no number is broken over two lines"


def test_only_the_seeds_that_are_named_count(cartpole, capsys):
    _, out, _ = reprokit(capsys, "cartpole", "--seeds", "1..2")
    assert out.startswith("cartpole: 2 seeds (1, 2)")
    assert "left out" not in out
    code, _, err = reprokit(capsys, "cartpole", "--seeds", "2")
    assert (code, "name the seeds" in err) == (2, True), err
