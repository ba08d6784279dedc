"""Reports of others that are rebuilt: each is what its case.yaml says, or the checker notices."""

import importlib
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml

REPORTS = Path(__file__).parents[2] / "benchmarks" / "reports"

# What the tool's own environment can run, and in less than ten seconds.
QUICK = ["cut_vocabulary", "first_proportions"]
LONGER = [
    "axis_from_zero",
    "first_rate_again",
    "jobs_of_a_search",
    "later_resets",
    "one_seed_of_two",
    "optimizer_built_anew",
    "order_of_arrival",
    "prompts_by_random",
    "second_resume",
    "words_of_a_set",
]


def check(name: str) -> str:
    done = subprocess.run(
        [sys.executable, str(REPORTS / "check.py"), name, "--python", sys.executable],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def checker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The checker, whose only case is a copy of a small one."""
    monkeypatch.syspath_prepend(str(REPORTS))
    for name in ("cases_read", "check"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(importlib.import_module("cases_read"), "CASES", tmp_path)
    shutil.copytree(REPORTS / "cases" / "cut_vocabulary", tmp_path / "cut_vocabulary")
    return importlib.import_module("check")


def said(checker: ModuleType) -> str:
    """What the checker says of the copy: of what it refuses, the reason."""
    reader = importlib.import_module("cases_read")
    try:
        case = reader.read_case("cut_vocabulary")
        answer = checker.check(case, checker.Runs(case, cache=Path("/"), python=Path(sys.executable)))
    except reader.CaseError as error:
        return f"refused: {error}"
    return str(answer)


@pytest.mark.parametrize("name", QUICK)
def test_a_small_rebuilt_report_is_what_it_says(name: str) -> None:
    assert "pairs differ; repaired and twin repeat" in check(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", LONGER)
def test_a_rebuilt_report_is_what_it_says(name: str) -> None:
    assert "pairs differ; repaired and twin repeat" in check(name)


def test_the_copy_passes_as_it_is(checker: ModuleType) -> None:
    assert "refused" not in said(checker)


def test_a_program_that_repeats_is_refused(checker: ModuleType, tmp_path: Path) -> None:
    case = tmp_path / "cut_vocabulary"
    program = (case / "program.py").read_text()
    (case / "program.py").write_text(program.replace("vocabulary(sentences, 18)", "{}"))
    assert "0 of 3 pairs differ" in said(checker)


def test_a_twin_that_differs_is_refused(checker: ModuleType, tmp_path: Path) -> None:
    case = tmp_path / "cut_vocabulary"
    shutil.copy(case / "program.py", case / "twin.py")
    assert "twin.py does not repeat" in said(checker)


def test_a_repair_that_mends_nothing_is_refused(checker: ModuleType, tmp_path: Path) -> None:
    case = tmp_path / "cut_vocabulary"
    patch = (case / "repair.patch").read_text()
    (case / "repair.patch").write_text(patch.replace("(-count[word], word)", "(-count[word], 0)"))
    assert "the repaired program does not repeat" in said(checker)


def test_a_repair_that_does_not_apply_is_refused(checker: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "cut_vocabulary" / "repair.patch").write_text(
        "--- a/program.py\n+++ b/program.py\n@@ -1 +1 @@\n-x\n+y\n"
    )
    assert "does not apply" in said(checker)


def test_another_version_of_a_library_is_refused(checker: ModuleType, tmp_path: Path) -> None:
    case = tmp_path / "cut_vocabulary" / "case.yaml"
    case.write_text(case.read_text().replace("libraries: {}", "libraries: {numpy: 0.1}"))
    assert "pinned" in said(checker)


def test_an_address_that_the_rule_did_not_choose_is_refused(checker: ModuleType, tmp_path: Path) -> None:
    case = tmp_path / "cut_vocabulary" / "case.yaml"
    case.write_text(case.read_text().replace("neuralmonkey/pull/719", "neuralmonkey/pull/1"))
    assert "not in addresses.yaml" in said(checker)


def test_every_third_report_is_held_and_so_is_its_case() -> None:
    chosen = yaml.safe_load((REPORTS / "addresses.yaml").read_text())
    held = [entry["number"] for entry in chosen["sixty"] if entry.get("held")]
    assert held == list(range(3, 61, 3))
    of_address = {entry["address"]: entry.get("held", False) for entry in chosen["sixty"]}
    for path in (REPORTS / "cases").glob("*/case.yaml"):
        case = yaml.safe_load(path.read_text())
        if case["address"] in of_address:
            assert case["held"] == of_address[case["address"]], path
