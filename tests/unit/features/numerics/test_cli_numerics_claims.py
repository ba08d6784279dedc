"""``reprokit env numerics claims``: what it asks for, answers, keeps and draws."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from reprokit import cli
from reprokit.errors import UsageError
from reprokit.features.numerics import determinism_claims, determinism_claims_page
from reprokit.features.numerics.determinism_claims import ClaimsCheck, read_findings
from support.claim_findings import DIFFERS, SAME, findings, row

ROW = row()
LIE = row("liar", deterministic=DIFFERS)


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    """Where findings are kept, of this test alone."""
    monkeypatch.setenv("REPROKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "numerics-claims"


@pytest.fixture
def measured(monkeypatch):
    """What the probe would find, and what it was asked for."""
    asked, answers = [], [findings(ROW)]

    def measure(wanted, **_):
        asked.append(wanted)
        return answers[-1]

    monkeypatch.setattr(determinism_claims, "measure_claims", measure)
    return asked, answers


def run(*words):
    return CliRunner().invoke(cli.root, ["numerics", "claims", *map(str, words)], standalone_mode=False)


def test_options_reach_the_probe(measured):
    asked, _ = measured
    run("--device", "cuda", "--repeats", "5", "--only", "index_*", "--no-compiled", "--backend", "local")
    assert asked == [
        ClaimsCheck(device="cuda", num_repeats=5, only="index_*", compiled=False, backend="local")
    ]


def test_the_exit_code_says_whether_a_claim_is_false(measured):
    _, answers = measured
    held = run()
    assert (held.return_value, "1 not refuted, 0 false" in held.output) == (0, True)
    answers.append(findings(ROW, LIE))
    assert run().return_value == 1


def test_json_is_what_was_found(measured):
    assert json.loads(run("--json").stdout) == findings(ROW)


def test_one_repeat_compares_nothing_and_is_refused(measured):
    assert "2" in str(run("--repeats", "1").exception)
    assert measured[0] == []


def test_findings_are_kept_beside_the_page_which_is_drawn_from_all_of_them(measured, tmp_path):
    page = tmp_path / "claims.md"
    run("--table", page)
    kept = tmp_path / "claims" / "cpu-x86_64_a-cpu_torch-2.13.0.json"
    assert read_findings(kept) == findings(ROW)

    other = tmp_path / "other.json"
    other.write_text(json.dumps(findings(LIE) | {"platform": "cuda-h100"}))
    answer = run("--from", other, "--table", page)
    assert answer.return_value == 1
    assert len(measured[0]) == 1
    assert "## cpu-x86_64: a CPU" in page.read_text()
    assert "## cuda-h100: a CPU" in page.read_text()


def test_a_difference_stays_on_the_page_when_it_was_not_seen_again(measured, tmp_path):
    page = tmp_path / "claims.md"
    _, answers = measured
    answers.append(findings(LIE))
    run("--table", page)
    answers.append(findings(LIE | {"deterministic": SAME}))
    assert run("--table", page).return_value == 0  # of today's measurement
    assert "differs 3/29 (earlier)" in page.read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not json", "cannot be read"),
        ("[]", "holds no findings"),
        ('{"rows": []}', "another format"),
        (json.dumps(findings()), "no operation was measured"),
        (json.dumps(findings(ROW) | {"repeats": 0}), "repeats: "),
        (json.dumps(findings(ROW) | {"platform": "../../.."}), "platform: "),
        (json.dumps(findings(ROW) | {"rows": [{"operation": "mm"}]}), r"rows.0.dtype: "),
        (json.dumps(findings() | {"schema": 9}), "written by a newer version of reprokit"),
        (json.dumps(findings(ROW) | {"schema": True}), "another format. expected schema 1. got schema True"),
        (json.dumps(findings(ROW) | {"schema": 1.0}), "got schema 1.0"),
        (json.dumps(findings(ROW) | {"schema": "a" * 500}), f"got schema {'a' * 79!r}"[:-1]),
        (json.dumps(findings(ROW) | {"threads": 10**4000}), "threads: "),
        (json.dumps(findings({**ROW, "cost": None})), "rows.0: cost is null"),
        (json.dumps(findings(ROW))[:-1] + ', "rows": []}', "the key 'rows' is repeated"),
        (" " * (16 << 20) + "{}", "larger than 16 MiB"),
    ],
    ids=range(15),
)
def test_a_file_of_something_else_is_refused_and_not_kept(tmp_path, cache, text, message):
    path = tmp_path / "other.json"
    path.write_text(text)
    assert message in str(run("--from", path, "--table", tmp_path / "claims.md").exception)
    assert not cache.exists()
    assert not (tmp_path / "claims.md").exists()


def test_what_cannot_be_drawn_is_not_kept(tmp_path, cache, monkeypatch):
    def fail(_):
        raise KeyError("a mistake of the page")

    monkeypatch.setattr(determinism_claims_page, "page", fail)
    other = tmp_path / "other.json"
    other.write_text(json.dumps(findings(LIE)))
    assert isinstance(run("--from", other).exception, KeyError)
    assert not cache.exists()


def test_a_damaged_file_beside_the_page_leaves_the_page_and_its_findings_as_they_were(measured, tmp_path):
    page, folder = tmp_path / "claims.md", tmp_path / "claims"
    run("--table", page)
    (folder / "other.json").write_text("{")
    before = {path: path.read_bytes() for path in (page, *folder.iterdir())}
    measured[1].append(findings(LIE))
    assert "other.json: cannot be read" in str(run("--table", page).exception)
    assert {path: path.read_bytes() for path in (page, *folder.iterdir())} == before


def test_what_came_from_another_machine_is_kept_for_recipes_that_run_there(tmp_path, cache):
    other = tmp_path / "other.json"
    other.write_text(json.dumps(findings(LIE, platform="cuda-h100")))
    assert run("--from", other).return_value == 1
    (kept,) = cache.iterdir()
    assert kept.name.startswith("cuda-h100_")
    assert json.loads(kept.read_text())["rows"] == [LIE]


def test_findings_of_nothing_that_could_be_run_hold_no_claim(measured):
    absent = {**ROW, "default": {"outcome": "unavailable", "message": "no kernel"}}
    measured[1].append(
        findings({key: absent[key] for key in absent if key not in {"deterministic", "warn_only"}})
    )
    answer = run()
    assert answer.return_value == 3
    assert "no claim was measured" in answer.stderr


def test_a_few_operations_measured_again_leave_the_others_on_the_page(measured, tmp_path):
    page = tmp_path / "claims.md"
    measured[1].append(findings(ROW, LIE))
    run("--table", page)
    measured[1].append(findings(ROW))
    assert run("--only", "mm", "--table", page).return_value == 0
    assert "differs 3/29" in page.read_text()


FEWER_REPEATS = findings(ROW, LIE, repeats=5)
FEWER_OPERATIONS = findings(ROW, repeats=40)
ABSENT = {key: ROW[key] for key in ROW if key not in {"deterministic", "warn_only"}} | {
    "default": {"outcome": "unavailable", "message": "no compiler"}
}


@pytest.mark.parametrize(
    ("smaller", "told"),
    [
        (FEWER_REPEATS, ("more repeats", "at least 30 repeats", "got 5 repeats", "--repeats 30")),
        (findings(ROW, repeats=3), ("more repeats", "got 3 repeats")),
        (
            FEWER_OPERATIONS,
            ("more operations", "each of the 3 results", "got 2 of them, without add float32", "--only"),
        ),
        (findings(ABSENT, row("add"), LIE), ("more operations", "without mm float32 forward")),
        (findings(ROW, row("add"), LIE, threads=4), ("another environment", "threads 2", "got threads 4")),
        (findings(ROW, row("add"), LIE, driver="580"), ("another environment", "got driver 580")),
    ],
    ids=("fewer repeats", "a few of both", "fewer operations", "not run today", "threads", "driver"),
)
@pytest.mark.parametrize("from_file", [False, True], ids=["measured", "from a file"])
def test_findings_that_say_less_do_not_replace_those_beside_the_page(
    measured, tmp_path, smaller, told, from_file
):
    page, other = tmp_path / "claims.md", tmp_path / "other.json"
    measured[1].append(findings(ROW, row("add"), LIE))
    run("--table", page)
    before = {path: path.read_bytes() for path in (page, *(tmp_path / "claims").iterdir())}

    measured[1].append(smaller)
    other.write_text(json.dumps(smaller))
    answer = run("--json", "--table", page, *(("--from", other) if from_file else ()))
    assert isinstance(answer.exception, UsageError)
    assert [
        part for part in (*told, "cpu-x86_64_a-cpu_torch-2.13.0.json") if part not in str(answer.exception)
    ] == []
    assert {path: path.read_bytes() for path in (page, *(tmp_path / "claims").iterdir())} == before
    assert json.loads(answer.stdout) == smaller  # what took minutes to measure is shown


def test_more_repeats_of_every_operation_replace_fewer_and_keep_the_differences(measured, tmp_path):
    page = tmp_path / "claims.md"
    measured[1].append(findings(ROW, LIE))
    run("--table", page)
    measured[1].append(findings(ROW, row("liar"), row("new"), repeats=40))
    assert run("--table", page).return_value == 0
    assert "40 repeats." in page.read_text()
    assert "differs 3/29 (earlier)" in page.read_text()


def test_fewer_findings_are_drawn_on_a_page_of_their_own(measured, tmp_path):
    run("--table", tmp_path / "claims.md")
    measured[1].append(FEWER_REPEATS)
    assert run("--table", tmp_path / "mine.md").return_value == 1
    assert "5 repeats." in (tmp_path / "mine.md").read_text()
    assert "30 repeats." in (tmp_path / "claims.md").read_text()
