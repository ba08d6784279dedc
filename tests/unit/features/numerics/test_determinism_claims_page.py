"""The page about determinism claims says what is false and what is not measured; its files are current."""

from pathlib import Path

import pytest

from reprokit.core import determinism_claims as claims
from reprokit.features.numerics import determinism_claims_page
from reprokit.features.numerics.determinism_claims import read_findings
from reprokit.probes import known_claims

DOCS = Path(__file__).resolve().parents[4] / "docs" / "evidence"
KEPT = sorted((DOCS / "numerics-claims").glob("*.json"))


def row(claim="unlisted", *, name="mm", dtype="float32", phase="forward", **findings):
    same = {"outcome": "same", "digest": "a", "ms": 1.0}
    by_mode = {mode: findings.get(mode, same) for mode in claims.MODES}
    return {
        "operation": name,
        "dtype": dtype,
        "compiled": False,
        "phase": phase,
        "claim": claim,
        **by_mode,
        **({"cost": findings["cost"]} if "cost" in findings else {}),
    }


def findings(*rows, platform="cuda-h100", device="NVIDIA H100", torch="2.11.0", batches=()):
    return {
        "schema": claims.SCHEMA,
        "platform": platform,
        "device": device,
        "torch": torch,
        "repeats": 30,
        "rows": list(rows),
        "batches": {"default": list(batches), "deterministic": []},
    }


DIFFERS = {"outcome": "differs", "digest": "b", "differing": 12, "ms": 2.0}


def test_a_lying_claim_stands_under_the_false_ones_with_what_was_found():
    cost = {"ratio": 2.0, "low": 1.9, "high": 2.25}
    text = determinism_claims_page.page([findings(row("deterministic", deterministic=DIFFERS, cost=cost))])
    section = text.split("### Claims that are false here")[1].split("###")[0]
    said = "false: the result differs and nothing is raised"
    cells = f"same | differs 12/29 | same | {said} | × 2.00 (1.90–2.25) |"
    assert f"| `mm` | forward | float32 | deterministic | {cells}" in section
    assert "1 false" in text


def test_no_difference_is_never_called_deterministic_and_the_bound_is_said():
    text = determinism_claims_page.page([findings(row())])
    assert "| `mm` | forward | float32 | unlisted | same | same | same | not refuted |\n" in text
    assert "bounds the chance of another result at 9.8% per repeat" in text
    assert text.count("None was found.") == 2


def test_dtypes_that_say_the_same_share_a_row():
    text = determinism_claims_page.page([findings(row(), row(dtype="bfloat16"))])
    assert "| `mm` | forward | float32, bfloat16 | unlisted |" in text


def test_what_could_not_be_run_and_what_warned_is_said():
    absent = {
        "operation": "x",
        "dtype": "float16",
        "compiled": True,
        "phase": "backward",
        "claim": "unlisted",
    }
    absent["default"] = {"outcome": "unavailable", "message": "no such | <b>kernel"}
    warned = row(name="put_", warn_only={**DIFFERS, "warned": True})
    text = determinism_claims_page.page([findings(absent, warned)])
    cells = "unavailable (no such &#124; &#60;b>kernel) | – | – | not run |\n"
    assert f"| `x` | backward, compiled | float16 | unlisted | {cells}" in text
    assert "differs 12/29, warned" in text


def test_a_cost_within_the_spread_of_the_measurement_is_none_and_each_dtype_has_its_own():
    within, beyond = {"ratio": 1.1, "low": 0.98, "high": 1.3}, {"ratio": 0.6, "low": 0.5, "high": 0.7}
    rows = (row(cost=within), row(dtype="bfloat16", cost=beyond), row(name="sum"))
    text = determinism_claims_page.page([findings(*rows)])
    assert "| not refuted | none measured, × 0.60 (0.50–0.70) |" in text
    assert "| `sum` | forward | float32 | unlisted | same | same | same | not refuted | – |" in text


def test_findings_without_costs_have_no_column_of_them():
    text = determinism_claims_page.page([findings(row(), platform="cpu-x86_64")])
    assert "| `mm` | forward | float32 | unlisted | same | same | same | not refuted |\n" in text
    assert "| cost |" not in text


def test_batches_are_told_by_size():
    one = {"operation": "linear", "dtype": "float32", "sizes": [1, 2], "others": False}
    odd = {"operation": "odd", "dtype": "float16", "outcome": "raises", "message": "no"}
    text = determinism_claims_page.page([findings(batches=(one, odd))])
    both = findings() | {"batches": {"default": [one], "deterministic": [one]}}
    assert "| `linear` | float32 | 1, 2 | no |" in determinism_claims_page.page([both])
    assert "| `linear` | float32 (default) | 1, 2 | no |" in text
    assert "| `odd` | float16 (default) | could not be computed | – |" in text


def test_the_page_says_that_no_gpu_was_measured_and_that_travelling_is_open():
    text = determinism_claims_page.page([findings(row(), platform="cpu-x86_64")])
    assert "No CUDA device has been measured yet" in text
    assert "Not answered yet" in text


def test_two_gpus_under_one_pytorch_are_compared_bit_by_bit():
    here = findings(row(), row(name="sum"))
    changed = {"outcome": "same", "digest": "x"}
    there = findings(row(), row(name="sum", default=changed), platform="cuda-h200", device="NVIDIA H200")
    text = determinism_claims_page.page([here, there])
    devices = "cuda-h100 (NVIDIA H100) and cuda-h200 (NVIDIA H200)"
    assert f"{devices}, torch 2.11.0: equal bits in 3, different bits in 1;" in text
    assert "- sum float32 forward (default)" in text
    assert "No CUDA device" not in text

    other_version = findings(row(), platform="cuda-h200", torch="2.13.0")
    assert "Not answered yet" in determinism_claims_page.page([here, other_version])


def test_a_terminal_gets_what_differs_and_the_counts():
    lie = row("raises", name="liar")
    batch = {"operation": "linear", "dtype": "float32", "sizes": [1], "others": False}
    lines = list(determinism_claims_page.page_lines(findings(row(), lie, batches=(batch,))))
    assert [line for line in lines if line.startswith("liar")]
    assert not [line for line in lines if line.startswith("mm")]
    assert lines[-1] == "default: rows depend on their batch in linear float32"


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_the_findings_in_the_documentation_are_whole_and_have_the_current_format(path):
    found = read_findings(path)
    assert found["repeats"] >= 30
    names = [claims.row_name(one) for one in found["rows"]]
    assert len(set(names)) == len(names) > 300
    for one in found["rows"]:
        assert one["claim"] in {claims.ACTS, claims.RAISES, claims.UNLISTED}
        assert one["default"]["outcome"] in {claims.SAME, claims.DIFFERS, claims.UNAVAILABLE}
    assert path.name == known_claims.file_name(found)


def test_the_page_in_the_documentation_is_drawn_from_its_findings():
    assert KEPT
    drawn = determinism_claims_page.page([read_findings(path) for path in KEPT])
    assert drawn == (DOCS / "numerics-claims.md").read_text(encoding="utf-8")
