"""``reprokit numerics claims``: what it asks for, answers, keeps and draws."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from reprokit import cli
from reprokit.harness import portability

SAME = {"outcome": "same", "digest": "a", "ms": 1.0}
ROW = {
    "operation": "mm",
    "dtype": "float32",
    "compiled": False,
    "phase": "forward",
    "claim": "unlisted",
    "default": SAME,
    "deterministic": SAME,
    "warn_only": SAME,
}
LIE = ROW | {"operation": "liar", "deterministic": {"outcome": "differs", "digest": "a", "differing": 3}}


def findings(*rows):
    return {
        "schema": 1,
        "platform": "cpu-x86_64",
        "device": "a CPU",
        "torch": "2.13.0",
        "repeats": 30,
        "rows": list(rows),
        "batches": {"default": [], "deterministic": []},
    }


@pytest.fixture
def measured(monkeypatch):
    """What the probe would find, and what it was asked for."""
    asked, answers = [], [findings(ROW)]

    def measure(wanted, **_):
        asked.append(wanted)
        return answers[-1]

    monkeypatch.setattr(portability, "measure_claims", measure)
    return asked, answers


def run(*words):
    return CliRunner().invoke(cli.root, ["numerics", "claims", *map(str, words)], standalone_mode=False)


def test_options_reach_the_probe(measured):
    asked, _ = measured
    run("--device", "cuda", "--repeats", "5", "--only", "index_*", "--no-compiled", "--backend", "local")
    assert asked == [
        portability.ClaimsCheck(device="cuda", num_repeats=5, only="index_*", compiled=False, backend="local")
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
    assert portability.read_findings(kept) == findings(ROW)

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
        ('{"rows": []}', "holds no findings"),
        (json.dumps(findings() | {"schema": 9}), "another format"),
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path, text, message):
    path = tmp_path / "other.json"
    path.write_text(text)
    assert message in str(run("--from", path).exception)
