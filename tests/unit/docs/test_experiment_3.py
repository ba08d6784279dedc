"""The script that writes Experiment 3's tables, on runs that were made up, and the page that it wrote."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    path = ROOT / "benchmarks/experiment_3.py"
    spec = importlib.util.spec_from_file_location("experiment_3", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(__import__("sys").modules, "experiment_3", module)
    spec.loader.exec_module(module)
    return module


def cells(lines, name):
    """The cells of the first row of a table that begins with a name."""
    row = next(line for line in lines if line.startswith(f"| {name} |"))
    return [cell.strip() for cell in row.strip("|").split("|")][1:]


def made_up(script, means):
    values = {"final/return_std": 0.0, "final/return_min": 480.0, "final/success_rate": 1.0}
    return {
        seed: script.Run(
            values={**values, "final/return_mean": mean},
            machine="a machine",
            day="2026-11-22",
            duration_s=12.0,
        )
        for seed, mean in zip(script.DOCUMENT.seeds, means, strict=True)
    }


def test_the_documents_numbers_are_recomputed_from_its_own(script):
    lines = list(script.lines(made_up(script, [500.0, 497.5, 500.0, 500.0, 500.0])))
    assert cells(lines, "mean") == ["488.7", "488.70", "499.50"]
    assert cells(lines, "standard deviation, divided by n") == ["4.3", "4.30", "1.00"]
    assert cells(lines, "95 % t-interval of the mean") == [
        "[484.4, 493.0]",
        "[482.73, 494.67]",
        "[498.11, 500.89]",
    ]
    assert cells(lines, "42") == ["489.5 ± 8.2", "500.00 ± 0.00", "480", "1.00"]
    assert "Here 4 of 5 seeds end at 500." in "\n".join(lines)
    assert lines[-1] == "Runs of 2026-11-22 on a machine; 12 to 12 s each, several side by side."


def test_seeds_that_all_ended_alike_have_no_interval(script):
    lines = list(script.lines(made_up(script, [500.0] * 5)))
    assert cells(lines, "95 % t-interval of the mean")[2].startswith("zero variance")


def test_a_run_is_read_with_its_machine(script, tmp_path):
    (tmp_path / "metrics.jsonl").write_text(
        '{"step": 1}\n' + json.dumps(dict.fromkeys(script.METRICS, 1.0)) + "\n"
    )
    (tmp_path / "run.json").write_text(
        json.dumps({"backend": "docker", "started_at": "2026-11-22T20:21:37+00:00", "duration_s": 17.4})
    )
    host = {"cpu": {"model": "a CPU", "usable": 2}, "memory": {"total_bytes": 24 * 2**30}}
    (tmp_path / "environment.json").write_text(json.dumps({"host": host}))
    run = script.read(tmp_path)
    assert (run.machine, run.day) == ("a CPU, 2 cores, 24 GiB, backend docker", "2026-11-22")


def test_the_page_holds_what_the_goldens_of_these_seeds_hold(script):
    """The numbers in the page are those of the recorded runs of the same settings and seeds."""
    page = script.PAGE.read_text(encoding="utf-8").splitlines()
    for seed in script.DOCUMENT.seeds:
        golden = ROOT / f"golden/cartpole_multiseed/cpu-x86_64/seed-{seed}/metrics.jsonl"
        last = json.loads(golden.read_text().splitlines()[-1])
        expected = f"{last['final/return_mean']:.2f} ± {last['final/return_std']:.2f}"
        assert cells(page, str(seed))[1] == expected
    assert re.search(r"^Runs of 20\d\d-", "\n".join(page), flags=re.MULTILINE)
