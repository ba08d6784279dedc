"""`make test-cuda`: what it does on a GPU host and in which order, and that it never passes without a GPU.

The commands are noted, not run: only a machine with a GPU can run them.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.gpu_host import RECIPES, ROOT, Gpu, find_gpu

FILE = ROOT / "tests" / "cuda" / "run_all.py"
GPU = Gpu(platform="cuda-h200", backend="docker")


@pytest.fixture
def run_all():
    spec = importlib.util.spec_from_file_location("run_all", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Commands:
    """Notes commands; those that hold one of these words end with their code."""

    def __init__(self, **codes: int) -> None:
        self.seen, self.codes = [], codes

    def __call__(self, command) -> int:
        self.seen.append(" ".join(map(str, command[2:])))
        return next((code for word, code in self.codes.items() if word in self.seen[-1]), 0)


def report(root: Path, name: str, verdict: str, *, time: str = "2026-11-23", platform: str = "cuda-h200"):
    folder = root / "reports" / name / time
    folder.mkdir(parents=True)
    (folder / "report.json").write_text(json.dumps({"verdict": verdict, "platform": platform}))
    os.utime(folder / "report.json", (_LATER_S, _LATER_S))
    return folder


_LATER_S = 4_000_000_000  # reports that tests write after the command began


@pytest.fixture
def host(tmp_path):
    """A project in which every recipe was just found to have no golden on this GPU."""
    for name in RECIPES:
        report(tmp_path, name, "NO_GOLDEN")
    return tmp_path


def carried_out(run_all, host, **codes):
    commands = Commands(**codes)
    return run_all.carry_out(GPU, (), run=commands, root=host), commands.seen


def test_tests_come_before_goldens_then_the_table_and_the_cost_of_the_watch(run_all, host):
    code, seen = carried_out(run_all, host)
    assert code == 0
    kinds = ["fetch", "pytest", *["promote"] * len(RECIPES), "claims", "--platform cuda-h200"]
    assert [kind in one for kind, one in zip(kinds, seen, strict=True)] == [True] * len(kinds)
    assert "--device cuda" in seen[-2]
    assert all("first golden on cuda-h200" in one for one in seen if "promote" in one)


@pytest.mark.parametrize(("ended", "code"), [(1, 1), (3, 3), (-9, 3)])
def test_a_watch_that_costs_too_much_or_was_not_measured_is_no_success(run_all, host, ended, code, capsys):
    found, seen = carried_out(run_all, host, **{"--repeats": ended})
    assert found == code
    assert "the watch at level light" in capsys.readouterr().err
    assert "claims" in seen[-2], "goldens and table are made all the same"


def test_a_failed_test_records_nothing(run_all, host):
    code, seen = carried_out(run_all, host, pytest=1)
    assert (code, len(seen)) == (1, 2)


def test_tests_that_were_not_found_record_nothing(run_all, host):
    assert carried_out(run_all, host, pytest=5)[0] == 1


def test_data_that_is_not_there_runs_nothing(run_all, host):
    code, seen = carried_out(run_all, host, fetch=3)
    assert (code, len(seen)) == (3, 1)


def test_a_recipe_that_equals_its_golden_is_not_promoted_again(run_all, host):
    report(host, "char_gpt", "REPRODUCED", time="2026-11-24")
    _, seen = carried_out(run_all, host)
    assert len([one for one in seen if "promote" in one]) == len(RECIPES) - 1


@pytest.mark.parametrize("verdict", ["REGRESSION", "STALE_GOLDEN", "NONDETERMINISTIC", "NOT_RUN"])
def test_another_verdict_than_a_lack_of_a_golden_ends_it(run_all, host, verdict):
    report(host, RECIPES[0], verdict, time="2026-11-24")
    code, seen = carried_out(run_all, host)
    assert code == 1
    assert not [one for one in seen if "promote" in one or "claims" in one]


def test_a_report_of_another_platform_makes_no_golden(run_all, tmp_path):
    for name in RECIPES:
        report(tmp_path, name, "NO_GOLDEN", platform="cpu-x86_64")
    assert carried_out(run_all, tmp_path)[0] == 1


def test_a_report_of_an_earlier_day_makes_no_golden(run_all, host):
    for old in host.glob("reports/*/*/report.json"):
        os.utime(old, (0, 0))
    code, seen = carried_out(run_all, host)
    assert code == 1
    assert not [one for one in seen if "promote" in one]


def test_a_golden_that_is_refused_ends_it(run_all, host):
    code, seen = carried_out(run_all, host, promote=2)
    assert (code, len([one for one in seen if "promote" in one])) == (1, 1)


@pytest.mark.parametrize(("ended", "code"), [(0, 0), (1, 0), (3, 3)])
def test_a_false_claim_is_a_finding_and_no_measurement_is_a_failure(run_all, host, ended, code):
    assert carried_out(run_all, host, claims=ended)[0] == code


needs_no_gpu = pytest.mark.skipif(not isinstance(find_gpu(), str), reason="this machine has a GPU")


@needs_no_gpu
def test_a_host_without_a_gpu_is_told_so_and_the_command_fails():
    done = subprocess.run([sys.executable, FILE], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 3
    assert "nothing was run, because this host has no NVIDIA GPU" in done.stderr


@needs_no_gpu
def test_the_tests_of_gpus_are_skipped_with_their_reason():
    words = ("-m", "pytest", "-q", "-m", "cuda", "-p", "no:cacheprovider", "tests/cuda")
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, cwd=ROOT)
    assert re.search(r"^\d+ skipped in", done.stdout, re.MULTILINE), done.stdout
    assert "needs an NVIDIA GPU" in done.stdout
